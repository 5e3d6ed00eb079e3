//! A workspace under a real engine, and beside it the model: what the engine must know after each event.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use backstitch_core::model::NodeId;
use backstitch_core::{Engine, Locate, Workspace};
use tempfile::TempDir;

use super::model::{
    Entry, Files, Sure, Token, Who, differences, hides, is_token, tokens_in, unlike,
};
use super::ops::Mix;

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
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        self.rewinds += other.rewinds;
        self.conflicts += other.conflicts;
        self.undone += other.undone;
        self.reverts += other.reverts;
        self.lines_kept += other.lines_kept;
        self.lines_gone += other.lines_gone;
    }
}

pub struct World {
    _dir: TempDir,
    pub root: PathBuf,
    pub(super) workspace: Workspace,
    pub engine: Engine,
    pub mix: Mix,
    /// Lines are few and recur, instead of each being the only one of its kind.
    pub alike: bool,
    /// What the engine must know to be on disk.
    pub seen: Files,
    /// The same at every node of the history.
    pub expected: BTreeMap<NodeId, Files>,
    /// Paths that came into sight, with the node from which on they are known.
    pub adopted: Vec<(String, NodeId)>,
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
        let engine = Engine::open(&workspace).expect("a new store");
        Self {
            root: workspace.root.clone(),
            _dir: dir,
            workspace,
            engine,
            mix,
            alike,
            seen: Files::new(),
            expected: BTreeMap::new(),
            adopted: Vec::new(),
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
        self.engine.look().map_err(|e| format!("look: {e}"))?;
        self.scanned();
        self.settled("start")
    }

    pub(super) fn is_reserved(&self, path: &str) -> bool {
        self.calls.iter().any(|c| c.names.as_deref() == Some(path))
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
            .any(|(p, since)| p == path && *since > node)
    }

    /// The event is over: takes note of the nodes it made, and checks what they hold.
    pub fn settled(&mut self, what: &str) -> Checked {
        let Some(head) = self.head()? else {
            return Ok(());
        };
        let last = self.expected.keys().next_back().copied();
        for (_, since) in &mut self.adopted {
            if since.0 == i64::MAX {
                *since = head;
            }
        }
        let mut before = last.map(|l| self.expected[&l].clone()).unwrap_or_default();
        for id in last.map_or(1, |l| l.0 + 1)..=head.0 {
            let node = NodeId(id);
            let tree = if node == head {
                self.seen.clone()
            } else {
                self.recorded(node)?
            };
            self.attribute(last, node, &before, &tree)?;
            self.expected.insert(node, tree.clone());
            before = tree;
        }
        // what came into sight without a node belongs to the head as it is
        if last == Some(head) {
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
        if last == Some(head) && self.expected[&head] != self.seen {
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
    fn recorded(&self, node: NodeId) -> Checked<Files> {
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
                Image::Absent | Image::Opaque(_) => continue,
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
            .compare(last.max(NodeId(node.0 - 1)), node)
            .map_err(|e| format!("compare: {e}"))?;
        for delta in deltas {
            let lines = |files: &Files, state: &backstitch_core::model::FileState| {
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
<<<<<<< HEAD

// ---- a file of regions, for the property about edits that are apart ----

impl World {
    pub fn put(&mut self, path: &str, text: &str) {
        self.write(path, text.as_bytes());
    }

    /// Changes lines inside one region of `file.txt`, by its owner's usual way.
    pub fn edit_region(
        &mut self,
        who: Who,
        shell: bool,
        (region, at, gone, n): (u8, u8, u8, u8),
    ) -> Checked {
        const FILE: &str = "file.txt";
        let call = match (who, shell) {
            (Who::User, _) => None,
            (_, true) => Some(self.open(who, None)?),
            (_, false) => Some(self.open(who, Some(FILE.to_owned()))?),
        };
        let text = fs::read_to_string(self.root.join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let border = |region: u8, n: u8| format!("between {region} {n}\n");
        let find = |line: String| lines.iter().position(|l| *l == line);
        let start = match region.checked_sub(1) {
            None => 0,
            Some(above) => find(border(above, 2)).ok_or("a border is lost")? + 1,
        };
        let end = find(border(region, 0)).ok_or("a border is lost")?;
        let from = start + usize::from(at) % (end - start + 1);
        let to = (from + usize::from(gone)).min(end);
        let new = self.lines(who, call.as_ref(), FILE, n, 0);
        lines.splice(from..to, new);
        self.write(FILE, lines.concat().as_bytes());
        match call {
            Some(call) => self.close(&call, Told::default(), false),
            None => Ok(()),
        }
    }
}

// ---- events ----

impl World {
    fn event(&self, who: Who, kind: EventKind) -> AgentEvent {
        AgentEvent {
            agent: "generated".into(),
            session: who.session().into(),
            transcript: None,
            prompt_id: None,
            subagent: None,
            cwd: Some(self.root.clone()),
            name: "event".into(),
            kind,
        }
    }

    fn tell(&mut self, who: Who, kind: EventKind) -> Checked {
        let event = self.event(who, kind);
        let made = self
            .engine
            .record(&event)
            .map_err(|e| format!("{event:?}: {e}"))?;
        if made.pending {
            return Err(format!("{event:?}: a scan of so few files ran out of time"));
        }
        Ok(())
    }

    fn tool(&self, call: &Call) -> ToolCall {
        ToolCall {
            id: Some(format!("call-{}", call.number)),
            tool: if call.names.is_some() { "Edit" } else { "Bash" }.into(),
            input: b"{}".to_vec(),
            effect: match &call.names {
                Some(path) => Effect::Names(vec![self.root.join(path)]),
                None => Effect::Any { background: false },
            },
        }
    }

    /// A call begins.
    fn open(&mut self, who: Who, names: Option<String>) -> Checked<Call> {
        self.counter += 1;
        let mut call = Call {
            number: self.counter,
            who,
            names,
            rival: false,
        };
        self.tell(who, EventKind::Before(self.tool(&call)))?;
        match &call.names {
            None => self.scanned(),
            Some(path) => {
                let disk = self.disk();
                let path = path.clone();
                if !self.is_reserved(&path) {
                    if !self.seen.contains_key(&path)
                        && disk.contains_key(&path)
                        && hides(self.rules_scanned.as_ref(), &path)
                    {
                        self.adopted.push((path.clone(), NodeId(i64::MAX)));
                    }
                    self.look_at(&path, &disk);
                }
            }
        }
        for other in &mut self.calls {
            let meet = match (&other.names, &call.names) {
                (Some(a), Some(b)) => a == b,
                _ => other.who != who,
            };
            if meet {
                other.rival = true;
                call.rival = true;
            }
        }
        self.calls.push(call.clone());
        self.settled("before a call")?;
        Ok(call)
    }

    /// A call reports its end.
    fn close(&mut self, call: &Call, told: Told, failed: bool) -> Checked {
        let kind = EventKind::After {
            call: self.tool(call),
            told,
            failed,
        };
        self.tell(call.who, kind)?;
        let call = self
            .calls
            .iter()
            .position(|c| c.number == call.number)
            .map(|at| self.calls.remove(at))
            .ok_or("the model lost a call")?;
        let sure = match &call.names {
            None => true,
            Some(_) => !call.rival && !failed && self.background.is_empty(),
        };
        for token in self.tokens.values_mut() {
            if token.sure == Sure::When(call.number) {
                token.sure = if sure { Sure::Yes } else { Sure::No };
            }
        }
        match &call.names {
            None => self.scanned(),
            Some(path) => {
                let disk = self.disk();
                self.look_at(path, &disk);
            }
        }
        self.settled("after a call")
    }

    /// A session's calls that never reported are over.
    fn presumed(&mut self, who: Who) -> bool {
        let (over, open) = std::mem::take(&mut self.calls)
            .into_iter()
            .partition::<Vec<_>, _>(|c| c.who == who);
        self.calls = open;
        for token in self.tokens.values_mut() {
            if over.iter().any(|c| token.sure == Sure::When(c.number)) {
                token.sure = Sure::No;
            }
        }
        // what the user wrote and nobody has looked at yet is found together with theirs
        if over.iter().any(|c| c.names.is_none()) {
            for token in self.tokens.values_mut().filter(|t| t.node.is_none()) {
                token.sure = Sure::No;
            }
        }
        !over.is_empty()
    }

    /// Carries out one operation, other than those that restore.
    pub fn run(&mut self, op: &Op) -> Checked {
        match op {
            Op::User(edits) => {
                for edit in edits {
                    self.edit(edit, Who::User, None);
                }
                Ok(())
            }
            Op::Named { who, edit, told } => {
                let Some(path) = self.subject(edit, &self.disk()) else {
                    return Ok(());
                };
                let call = self.open(*who, Some(path.clone()))?;
                let found = self
                    .disk()
                    .get(&path)
                    .and_then(Entry::text)
                    .map(str::to_owned);
                self.edit(edit, *who, Some(&call));
                let wrote = self
                    .disk()
                    .get(&path)
                    .and_then(Entry::text)
                    .map(str::to_owned);
                let told = match (told, wrote) {
                    (true, Some(wrote)) => Told {
                        found,
                        wrote: Some(Wrote::Whole(wrote)),
                    },
                    _ => Told::default(),
                };
                self.close(&call, told, false)
            }
            Op::Shell { who, edits } => {
                let call = self.open(*who, None)?;
                for edit in edits {
                    self.edit(edit, *who, Some(&call));
                }
                self.close(&call, Told::default(), false)
            }
            Op::Open { who, edit } => {
                let names = match edit {
                    Some(edit) => match self.subject(edit, &self.disk()) {
                        None => return Ok(()),
                        named => named,
                    },
                    None => None,
                };
                self.open(*who, names).map(|_| ())
            }
            Op::Work { call, edits } => {
                let Some(call) = self.nth_call(*call) else {
                    return Ok(());
                };
                for edit in edits {
                    let subject = self.subject(edit, &self.disk());
                    if call.names.is_none()
                        || (call.names == subject && !matches!(edit, Edit::Rename { .. }))
                    {
                        self.edit(edit, call.who, Some(&call));
                    }
                }
                Ok(())
            }
            Op::Close { call, failed } => match self.nth_call(*call) {
                Some(call) => self.close(&call, Told::default(), *failed),
                None => Ok(()),
            },
            Op::Prompt(who) => {
                let text = "a prompt".to_owned();
                self.tell(
                    *who,
                    EventKind::Prompt {
                        text,
                        synthetic: false,
                    },
                )?;
                self.presumed(*who);
                self.scanned();
                self.settled("a prompt")
            }
            Op::Stop { who, background } => {
                let background = *background;
                self.tell(*who, EventKind::Stop { background })?;
                if self.presumed(*who) {
                    self.scanned();
                }
                if background {
                    // what nobody has looked at yet may be that command's
                    for token in self.tokens.values_mut().filter(|t| t.node.is_none()) {
                        token.sure = Sure::No;
                    }
                    self.background.insert(*who);
                } else {
                    self.background.remove(who);
                }
                self.settled("a stop")
            }
            Op::Look => {
                self.engine.look().map_err(|e| format!("look: {e}"))?;
                self.asked();
                self.settled("a look")
            }
            Op::Checkpoint => {
                self.engine
                    .checkpoint(None)
                    .map_err(|e| format!("checkpoint: {e}"))?;
                self.asked();
                self.settled("a checkpoint")
            }
            Op::Reopen => {
                self.engine = Engine::open(&self.workspace).map_err(|e| format!("open: {e}"))?;
                self.settled("opened again")
            }
            Op::Rewind(_)
            | Op::Revert { .. }
            | Op::RevertBoth { .. }
            | Op::Undo { .. }
            | Op::Redo => self.restore_op(op),
        }
    }

    fn nth_call(&self, n: u8) -> Option<Call> {
        (!self.calls.is_empty()).then(|| self.calls[usize::from(n) % self.calls.len()].clone())
    }
}
=======
>>>>>>> oracle
