//! A workspace under a real engine, and beside it the model: what the engine must know after each event.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use backstitch_core::model::NodeId;
use std::sync::mpsc::channel;
use std::time::Duration;

use backstitch_core::{Engine, Locate, LogFilter, Recorder, RecorderStatus, Recording, Workspace};
use tempfile::TempDir;

use super::model::{
    Entry, Files, Sure, Token, Who, differences, hides, is_token, tokens_in, unlike,
};
use super::ops::Mix;
use crate::support::patience::PATIENCE;

/// Why a law does not hold.
pub type Checked<T = ()> = Result<T, String>;

pub const RULES_FILE: &str = ".gitignore";

/// A call that has not reported its end.
#[derive(Clone, Debug)]
pub struct Call {
    pub number: usize,
    pub who: Who,
    /// The file it names; None: it may write anything.
    pub names: Option<String>,
    /// That file, and what it leads to where it is a link.
    pub reserved: Vec<String>,
    /// Somebody else may have written what it names.
    pub rival: bool,
}

/// How much was put to the test.
#[derive(Debug, Default)]
pub struct Counts {
    /// Default rewinds, and those of them that were refused.
    pub rewinds: usize,
    pub conflicts: usize,
    pub undone: usize,
    pub reverts: usize,
    /// Lines that a rewind had to keep, and lines that it had to take out and did.
    pub lines_kept: usize,
    pub lines_gone: usize,
    /// Without and with the user's edits.
    pub switches: [usize; 2],
    /// Lines of which blame had to name the author and did.
    pub lines_blamed: usize,
    /// Walks over the tree that the recorder spared.
    pub spared: usize,
    /// Checkpoints that became others.
    pub collected: usize,
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        self.rewinds += other.rewinds;
        self.conflicts += other.conflicts;
        self.undone += other.undone;
        self.reverts += other.reverts;
        self.lines_kept += other.lines_kept;
        self.lines_gone += other.lines_gone;
        for (all, of) in self.switches.iter_mut().zip(other.switches) {
            *all += of;
        }
        self.lines_blamed += other.lines_blamed;
        self.spared += other.spared;
        self.collected += other.collected;
    }
}

pub struct World {
    _dir: TempDir,
    pub root: PathBuf,
    pub(super) workspace: Workspace,
    recorder: Option<Recorder>,
    pub engine: Engine,
    pub mix: Mix,
    /// Lines are few and recur, instead of each being the only one of its kind.
    pub alike: bool,
    /// What the engine must know to be on disk.
    pub seen: Files,
    /// The same at every node of the history.
    pub expected: BTreeMap<NodeId, Files>,
    /// The parent of every node.
    pub parents: BTreeMap<NodeId, Option<NodeId>>,
    /// The branch that the disk is on, and all names given.
    pub branch: String,
    pub branches: Vec<String>,
    /// The newest node when the disk came to its branch; None: that is not followed.
    pub came: Option<NodeId>,
    pub tags: Vec<(String, NodeId)>,
    pub(super) other: Option<super::elsewhere::Elsewhere>,
    /// Work of another branch was taken over: the numbers of nodes say nothing of what came first.
    pub mixed: bool,
    /// Paths that came into sight, with the node from which on they are known.
    pub adopted: Vec<(String, NodeId)>,
    /// Checkpoints that stand for several.
    pub squashes: BTreeSet<NodeId>,
    pub tokens: BTreeMap<String, Token>,
    pub calls: Vec<Call>,
    pub background: BTreeSet<Who>,
    /// The rules as the last whole scan saw them.
    pub(super) rules_scanned: Option<Entry>,
    pub(super) counter: usize,
    pub counts: Counts,
}

impl World {
    pub fn new(mix: Mix, alike: bool) -> Self {
        let shm = Path::new("/dev/shm");
        let dir = if shm.is_dir() {
            TempDir::new_in(shm)
        } else {
            TempDir::new()
        }
        .expect("a temporary directory");
        let root = dir.path().join("w");
        fs::create_dir(&root).expect("a new directory");
        let workspace = Workspace::find(&Locate {
            workspace: Some(&root),
            store_dir: Some(&dir.path().join("s")),
            cwd: &root,
        })
        .expect("a workspace");
        let mut engine = Engine::open(&workspace).expect("a new store");
        // the model knows of looks at everything; `undisturbed` says that less comes to the same
        engine.set_always_scan();
        Self {
            root: workspace.root.clone(),
            _dir: dir,
            workspace,
            recorder: None,
            engine,
            mix,
            alike,
            seen: Files::new(),
            expected: BTreeMap::new(),
            parents: BTreeMap::new(),
            branch: "main".into(),
            branches: vec!["main".into()],
            came: Some(NodeId(0)),
            tags: Vec::new(),
            other: None,
            mixed: false,
            adopted: Vec::new(),
            squashes: BTreeSet::new(),
            tokens: BTreeMap::new(),
            calls: Vec::new(),
            background: BTreeSet::new(),
            rules_scanned: None,
            counter: 0,
            counts: Counts::default(),
        }
    }

    /// The first look, at two files of the user.
    pub fn begin(&mut self) -> Checked {
        for path in ["a.txt", "d/e.txt"] {
            let lines = self.lines(Who::User, None, path, 7, 0);
            self.write(path, lines.concat().as_bytes());
        }
        self.engine
            .record_changes()
            .map_err(|e| format!("look: {e}"))?;
        self.scanned();
        self.settled("start")
    }

    /// From now on a recorder looks on, and spares the engine to walk the tree.
    pub fn watched(&mut self) -> Checked {
        let (told, hear) = channel();
        let recording = Recording {
            records: false,
            quiet: Duration::ZERO,
        };
        let tell = move |standing| {
            told.send(standing).ok();
        };
        let recorder = Recorder::start(&self.workspace, recording, tell);
        self.recorder = Some(recorder.map_err(|e| format!("recorder: {e}"))?);
        loop {
            match hear.recv_timeout(PATIENCE) {
                Ok(RecorderStatus::Waiting) => {}
                Ok(RecorderStatus::Watching { .. }) => break,
                other => return Err(format!("the recorder: {other:?}")),
            }
        }
        self.engine.wait_for_recorder(PATIENCE);
        Ok(())
    }

    pub(super) fn is_reserved(&self, path: &str) -> bool {
        self.calls
            .iter()
            .any(|c| c.reserved.iter().any(|p| p == path))
    }

    /// The engine has looked at the whole tree at an agent's event: what a call has reserved is left to it.
    pub fn scanned(&mut self) {
        self.looked(false);
    }

    /// The engine has looked at the whole tree because it was asked to.
    pub fn asked(&mut self) {
        self.looked(true);
    }

    fn looked(&mut self, everywhere: bool) {
        let disk = self.disk();
        let rules = disk.get(RULES_FILE).cloned();
        let paths: BTreeSet<String> = self.seen.keys().chain(disk.keys()).cloned().collect();
        let first = self.expected.is_empty();
        for path in paths {
            let known = self.seen.contains_key(&path);
            if (self.is_reserved(&path) && !everywhere) || (!known && hides(rules.as_ref(), &path))
            {
                continue;
            }
            if !known && !first && hides(self.rules_scanned.as_ref(), &path) {
                self.adopted.push((path.clone(), NodeId(i64::MAX)));
            }
            self.look_at(&path, &disk);
        }
        self.rules_scanned = rules;
    }

    pub fn look_at(&mut self, path: &str, disk: &Files) {
        match disk.get(path) {
            Some(entry) => self.seen.insert(path.to_owned(), entry.clone()),
            None => self.seen.remove(path),
        };
    }

    /// Whether the state of a path is not known at a node.
    pub fn unknown_at(&self, path: &str, node: NodeId) -> bool {
        self.adopted
            .iter()
            .any(|(p, since)| p == path && !self.stands_on(node, *since))
    }

    /// Whether a node is this one or comes after it on a chain, by walking.
    pub fn stands_on(&self, node: NodeId, ancestor: NodeId) -> bool {
        self.chain(node).any(|n| n == ancestor)
    }

    /// A node and all above it.
    pub fn chain(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |n| self.parents.get(n).copied().flatten())
    }

    /// The event is over: takes note of the nodes it made, and checks what they hold.
    pub fn settled(&mut self, what: &str) -> Checked {
        let Some(head) = self.head()? else {
            return Ok(());
        };
        let newest = self.expected.keys().next_back().map_or(0, |n| n.0);
        let filter = LogFilter {
            limit: Some(1),
            all_branches: true,
            ..LogFilter::default()
        };
        let all = self.engine.log(&filter).map_err(|e| format!("log: {e}"))?;
        let last = all.first().map_or(0, |entry| entry.node.id.0);
        for (_, since) in &mut self.adopted {
            if since.0 == i64::MAX {
                *since = head;
            }
        }
        for node in (newest + 1..=last).map(NodeId) {
            let entry = self.engine.entry(node);
            let parent = entry.map_err(|e| format!("entry {node}: {e}"))?.node.parent;
            self.parents.insert(node, parent);
            let before = parent
                .map(|p| self.expected[&p].clone())
                .unwrap_or_default();
            let tree = if node == head {
                self.seen.clone()
            } else {
                self.recorded(node)?
            };
            self.attribute(parent, node, &before, &tree)?;
            self.expected.insert(node, tree);
        }
        // what came into sight without a node belongs to the head as it is
        if last == newest {
            let adopted: Vec<String> = self
                .adopted
                .iter()
                .filter(|(_, since)| *since == head)
                .map(|(p, _)| p.clone())
                .collect();
            for path in adopted {
                if let (Some(entry), Some(tree)) =
                    (self.seen.get(&path), self.expected.get_mut(&head))
                {
                    for line in entry.text().unwrap_or_default().lines() {
                        if let Some(token) = self.tokens.get_mut(line) {
                            token.node.get_or_insert(head);
                        }
                    }
                    tree.insert(path, entry.clone());
                }
            }
        }
        self.holds(head).map_err(|e| format!("{what}: {e}"))?;
        if last == newest && self.expected[&head] != self.seen {
            return Err(format!(
                "{what}: a change without a node: {:?}",
                unlike(&self.expected[&head], &self.seen)
            ));
        }
        Ok(())
    }

    pub fn head(&self) -> Checked<Option<NodeId>> {
        self.engine.head().map_err(|e| format!("head: {e}"))
    }

    /// What the engine itself says of a node that was passed over within one event.
    pub(super) fn recorded(&self, node: NodeId) -> Checked<Files> {
        let tree = self
            .engine
            .tree_at(node)
            .map_err(|e| format!("tree at {node}: {e}"))?;
        let mut files = Files::new();
        for (path, image) in tree {
            use backstitch_core::model::Image;
            let bytes = |id| {
                self.engine
                    .content(&id)
                    .map_err(|e| format!("content of {path:?}: {e}"))
            };
            let entry = match image {
                Image::File { mode, content, .. } => Entry::File {
                    mode,
                    bytes: bytes(content)?,
                },
                Image::Symlink { content } => Entry::Link {
                    target: bytes(content)?,
                },
                Image::Absent | Image::InGit { .. } | Image::Opaque(_) => continue,
            };
            files.insert(path.display(), entry);
        }
        Ok(files)
    }

    /// Law E: the recorded tree is the one that was there.
    pub fn holds(&self, node: NodeId) -> Checked {
        let tree = self
            .engine
            .tree_at(node)
            .map_err(|e| format!("tree at {node}: {e}"))?;
        let wrong = differences(&self.expected[&node], &tree, &|p| self.unknown_at(p, node));
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(format!("E: {node} is not as it was: {wrong:#?}"))
        }
    }

    /// Law E for all nodes, and the store's own check.
    pub fn all_hold(&self) -> Checked {
        for node in self.expected.keys() {
            self.holds(*node)?;
        }
        self.names_hold()?;
        let wrong = self
            .engine
            .inconsistent_edits()
            .map_err(|e| format!("the timeline: {e}"))?;
        if !wrong.is_empty() {
            return Err(format!(
                "in force or not, edit by edit and as a set: {wrong:?}"
            ));
        }
        let verified = self
            .engine
            .verify(&mut |_| {})
            .map_err(|e| format!("verify: {e}"))?;
        if verified.problems.is_empty() {
            Ok(())
        } else {
            Err(format!("verify: {:#?}", verified.problems))
        }
    }

    /// Notes in which node each line turned up, and which lines somebody has carried elsewhere since: those
    /// are that one's now, whatever they say.
    fn attribute(
        &mut self,
        last: Option<NodeId>,
        node: NodeId,
        before: &Files,
        after: &Files,
    ) -> Checked {
        for line in tokens_in(after).keys() {
            if let Some(token) = self.tokens.get_mut(line)
                && token.node.is_none()
            {
                token.node = Some(node);
            }
        }
        let Some(last) = last else { return Ok(()) };
        let deltas = self
            .engine
            .compare(last, node)
            .map_err(|e| format!("compare: {e}"))?;
        for delta in deltas {
            let lines = |files: &Files, state: &backstitch_core::model::FileVersion| {
                let path = state.as_ref().map(|p| p.path.display());
                let entry = path.and_then(|p| files.get(&p).cloned());
                let text = entry.as_ref().and_then(Entry::text).unwrap_or_default();
                text.lines()
                    .filter(|l| is_token(l))
                    .map(str::to_owned)
                    .collect::<BTreeSet<String>>()
            };
            for line in lines(after, &delta.new).difference(&lines(before, &delta.old)) {
                if let Some(token) = self.tokens.get_mut(line)
                    && token.node.is_some_and(|n| n < node)
                {
                    token.sure = Sure::No;
                }
            }
        }
        Ok(())
    }
}
