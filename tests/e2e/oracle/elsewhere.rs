//! A second directory on the same history, with its own agent: nothing crosses over.

use std::fs;
use std::path::{Path, PathBuf};

use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use backstitch_core::model::NodeId;
use backstitch_core::restore::{Goal, Request};
use backstitch_core::{BranchStart, Engine, ErrorKind, Locate, Workspace};

use super::model::{Entry, on_disk, unlike};
use super::ops::PATHS;
use super::restore::exact;
use super::world::{Checked, World};

pub struct Elsewhere {
    root: PathBuf,
    engine: Engine,
    name: String,
}

impl World {
    /// Forks into a directory, once; later calls let its agent work there.
    pub(super) fn elsewhere(&mut self, node: u16, path: u8, how: u8) -> Checked {
        let node = self.nth_node(node);
        self.counter += 1;
        // records pending changes here, so that they are not mistaken for changes there
        self.engine
            .capture_mut()
            .record_changes()
            .map_err(|e| format!("look: {e}"))?;
        self.asked();
        self.settled("before work elsewhere")?;
        let here = self.disk();
        let Some(mut there) = self.other.take() else {
            return self.fork_into(node);
        };
        let head = there.engine.history().head();
        let head = head.map_err(|e| format!("elsewhere: {e}"))?;
        let path = PATHS[usize::from(path) % PATHS.len()];
        let at = |e: backstitch_core::Error| format!("elsewhere: {e}");
        match how % 4 {
            0 => {
                let done = there
                    .engine
                    .restore_mut()
                    .apply(&exact(node), None, &mut |_| {});
                self.settle_elsewhere(&there)?;
                match done {
                    Ok(applied) => {
                        let named = |path: &str| {
                            let gaps = applied.plan.gaps.iter();
                            let mut paths = gaps.filter_map(|gap| gap.path.as_deref());
                            paths.any(|gap| gap == path.as_bytes())
                        };
                        let now = on_disk(&there.root).0;
                        let wanted = &self.expected[&node];
                        let differs = |p: &&String| {
                            !self.unknown_at(p, node) && !named(p) && now.get(*p) != wanted.get(*p)
                        };
                        if let Some(path) = wanted.keys().find(differs) {
                            return Err(format!("L7: elsewhere, {path} is not as in {node}"));
                        }
                    }
                    Err(e) if e.kind() == ErrorKind::Refused => {}
                    Err(e) => return Err(at(e)),
                }
            }
            1 => {
                let done = there.engine.restore_mut().apply(
                    &Request::new(Goal::Undo(None)),
                    None,
                    &mut |_| {},
                );
                self.settle_elsewhere(&there)?;
                match done {
                    Err(e) if e.kind() != ErrorKind::Refused => return Err(at(e)),
                    _ => {}
                }
            }
            shell => {
                let call = ToolCall {
                    id: Some(format!("elsewhere-{}", self.counter)),
                    tool: "Any".into(),
                    input: b"{}".to_vec(),
                    effect: if shell == 2 {
                        Effect::Any { background: false }
                    } else {
                        Effect::Names(vec![there.root.join(path)])
                    },
                };
                let event = |kind| AgentEvent {
                    agent: "claude-code".into(),
                    session: "session-elsewhere".into(),
                    transcript: None,
                    prompt_id: None,
                    subagent: None,
                    cwd: None,
                    process: None,
                    other_hooks: None,
                    name: String::new(),
                    kind,
                };
                there
                    .engine
                    .capture_mut()
                    .record(&event(EventKind::Before(call.clone())))
                    .map_err(at)?;
                let full = there.root.join(path);
                let free = full
                    .ancestors()
                    .skip(1)
                    .all(|dir| dir.is_dir() || !dir.exists());
                if full.is_file() && self.counter.is_multiple_of(3) {
                    fs::remove_file(&full).expect("a removal");
                } else if free && !full.is_dir() && !full.is_symlink() {
                    fs::create_dir_all(full.parent().expect("a parent")).expect("directories");
                    let old = fs::read(&full).unwrap_or_default();
                    let line = format!("elsewhere {}\n", self.counter);
                    fs::write(&full, [line.as_bytes(), &old].concat()).expect("a write");
                }
                let told = ToolReport::default();
                let after = EventKind::After {
                    call,
                    report: told,
                    failed: false,
                };
                there
                    .engine
                    .capture_mut()
                    .record(&event(after))
                    .map_err(at)?;
                self.settle_elsewhere(&there)?;
                Self::only_its_own(&there, head)?;
            }
        }
        let wrong = unlike(&here, &self.disk());
        if !wrong.is_empty() {
            return Err(format!("L8: work elsewhere changed files here: {wrong:#?}"));
        }
        self.other = Some(there);
        Ok(())
    }

    fn fork_into(&mut self, node: NodeId) -> Checked {
        let name = "elsewhere".to_owned();
        let root = self.root.with_file_name("elsewhere");
        let made =
            self.engine
                .forks_mut()
                .fork_into(&BranchStart::new(&name, node), &root, &mut |_| {});
        made.map_err(|e| format!("fork into: {e}"))?;
        let store = self
            .workspace
            .store_dir
            .parent()
            .expect("a parent")
            .to_owned();
        let workspace = Workspace::find(&Locate {
            workspace: None,
            store_dir: Some(&store),
            cwd: &root,
        });
        let workspace = workspace.map_err(|e| format!("the fork: {e}"))?;
        let mut engine = Engine::open(&workspace).map_err(|e| format!("the fork: {e}"))?;
        engine.capture_mut().set_always_scan();
        let found = on_disk(&root).0;
        let wrong = unlike(&self.expected[&node], &found);
        let impossible = super::laws::is_impossible(&self.expected[&node]);
        if !wrong.is_empty()
            && !impossible
            && !self.adopted.iter().any(|(p, _)| self.unknown_at(p, node))
        {
            return Err(format!("L8: the fork at {node} differs: {wrong:#?}"));
        }
        self.other = Some(Elsewhere { root, engine, name });
        Ok(())
    }

    /// Adds the nodes made there to the model, and checks that they equal the files there.
    fn settle_elsewhere(&mut self, there: &Elsewhere) -> Checked {
        let seen = self.seen.clone();
        self.settled("work elsewhere")?;
        self.seen = seen;
        let head = there
            .engine
            .history()
            .head()
            .map_err(|e| format!("elsewhere: {e}"))?;
        let Some(head) = head else { return Ok(()) };
        let disk = on_disk(&there.root).0;
        // a file below another one can stand nowhere: only one of them was scanned where it was forked from
        let impossible = super::laws::is_impossible(&self.expected[&head]);
        for (path, image) in there
            .engine
            .history()
            .tree_at(head)
            .map_err(|e| format!("elsewhere: {e}"))?
        {
            let path = path.display();
            let below_a_file = Path::new(&path).ancestors().skip(1);
            let below_a_file = below_a_file.filter_map(Path::to_str);
            if impossible && below_a_file.clone().any(|above| disk.contains_key(above)) {
                continue;
            }
            if !disk
                .get(&path)
                .is_some_and(|entry: &Entry| entry.is(&image))
            {
                return Err(format!(
                    "E: elsewhere, {path} at {head} is not what is there"
                ));
            }
        }
        // it looks the same from here
        self.holds(head)
    }

    /// Checks that its step is on its own branch, of its own session, and of nobody else. A change that rules hide has
    /// no step.
    fn only_its_own(there: &Elsewhere, before: Option<NodeId>) -> Checked {
        let head = there
            .engine
            .history()
            .head()
            .map_err(|e| format!("elsewhere: {e}"))?;
        let Some(head) = head.filter(|head| Some(*head) != before) else {
            return Ok(());
        };
        let entry = there
            .engine
            .history()
            .entry(head)
            .map_err(|e| format!("elsewhere: {e}"))?;
        let sure = |c: &backstitch_core::EntryChange| !c.change.origin.is_uncertain();
        if entry.call.is_some() && (entry.branch != there.name || !entry.changes.iter().all(sure)) {
            return Err(format!("L8: {head}, made elsewhere, is {entry:#?}"));
        }
        Ok(())
    }
}
