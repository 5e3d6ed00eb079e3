//! A workspace on a real engine, and the model: what the engine must know after each event.

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
use crate::support::limits::EVENT_TIMEOUT;

/// Result of a check, with the reason why a law does not hold.
pub type Checked<T = ()> = Result<T, String>;

pub const RULES_FILE: &str = ".gitignore";

/// A call that has not reported its end.
#[derive(Clone, Debug)]
pub struct Call {
    pub number: usize,
    pub who: Who,
    /// File that it names; None if it may write any file.
    pub names: Option<String>,
    /// That file and, if it is a link, its target.
    pub reserved: Vec<String>,
    /// True if another writer may have written the named file.
    pub rival: bool,
}

/// Numbers of checked cases.
#[derive(Debug, Default)]
pub struct Counts {
    /// Default rewinds, and the refused ones among them.
    pub rewinds: usize,
    pub conflicts: usize,
    pub undone: usize,
    pub reverts: usize,
    /// Lines that a rewind had to keep, and lines that it had to take out.
    pub lines_kept: usize,
    pub lines_gone: usize,
    /// Without and with the user's edits.
    pub switches: [usize; 2],
    /// Lines whose author blame had to name.
    pub lines_blamed: usize,
    /// Walks over the tree that the recorder saved.
    pub spared: usize,
    /// Checkpoints that were squashed.
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
    /// True if lines are few and repeated, instead of unique.
    pub alike: bool,
    /// Files on disk that the engine must know.
    pub seen: Files,
    /// The same for every node of the history.
    pub expected: BTreeMap<NodeId, Files>,
    /// Parent of every node.
    pub parents: BTreeMap<NodeId, Option<NodeId>>,
    /// Branch of the disk, and all names.
    pub branch: String,
    pub branches: Vec<String>,
    /// Newest node when the disk came to its branch; None if that is not tracked.
    pub came: Option<NodeId>,
    /// Head of that branch before edits were carried to it.
    pub arrived: Option<NodeId>,
    pub tags: Vec<(String, NodeId)>,
    pub(super) other: Option<super::elsewhere::Elsewhere>,
    /// True if work of another branch was taken over: node numbers no longer give the order.
    pub mixed: bool,
    /// Adopted paths, with the first node at which they are known.
    pub adopted: Vec<(String, NodeId)>,
    /// Squashed checkpoints.
    pub squashes: BTreeSet<NodeId>,
    pub tokens: BTreeMap<String, Token>,
    pub calls: Vec<Call>,
    pub background: BTreeSet<Who>,
    /// Ignore rules at the last whole scan.
    pub(super) rules_scanned: Option<Entry>,
    pub(super) counter: usize,
    /// True while files are found that come back as they were: their lines keep their authors.
    pub(super) comes_back: bool,
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
        // the model assumes scans of everything; `undisturbed` checks that smaller scans give the same result
        engine.capture_mut().set_always_scan();
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
            arrived: None,
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
            comes_back: false,
            counts: Counts::default(),
        }
    }

    /// Runs the first scan, of two files of the user.
    pub fn begin(&mut self) -> Checked {
        for path in ["a.txt", "d/e.txt"] {
            let lines = self.lines(Who::User, None, path, 7, 0);
            self.write(path, lines.concat().as_bytes());
        }
        self.engine
            .capture_mut()
            .record_changes()
            .map_err(|e| format!("look: {e}"))?;
        self.scanned();
        self.settled("start")
    }

    /// Starts a recorder, which saves the engine the walk over the tree.
    pub fn watched(&mut self) -> Checked {
        let (told, hear) = channel();
        let recording = Recording {
            records: false,
            quiet: Duration::ZERO,
            ..Recording::default()
        };
        let tell = move |standing| {
            told.send(standing).ok();
        };
        let recorder = Recorder::start(&self.workspace, recording, tell);
        self.recorder = Some(recorder.map_err(|e| format!("recorder: {e}"))?);
        loop {
            match hear.recv_timeout(EVENT_TIMEOUT) {
                Ok(RecorderStatus::Waiting) => {}
                Ok(RecorderStatus::Watching { .. }) => break,
                other => return Err(format!("the recorder: {other:?}")),
            }
        }
        self.engine.wait_for_recorder(EVENT_TIMEOUT);
        Ok(())
    }

    pub(super) fn is_reserved(&self, path: &str) -> bool {
        self.calls
            .iter()
            .any(|c| c.reserved.iter().any(|p| p == path))
    }

    /// Updates the model after a scan at an agent's event: paths reserved by a call are left to that call.
    pub fn scanned(&mut self) {
        self.looked(false);
    }

    /// Updates the model after a requested scan.
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

    /// True if the state of a path is unknown at a node.
    pub fn unknown_at(&self, path: &str, node: NodeId) -> bool {
        self.adopted
            .iter()
            .any(|(p, since)| p == path && !self.stands_on(node, *since))
    }

    /// True if a node is this ancestor or comes after it, found by walking.
    pub fn stands_on(&self, node: NodeId, ancestor: NodeId) -> bool {
        self.chain(node).any(|n| n == ancestor)
    }

    /// A node and all its ancestors.
    pub fn chain(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(Some(node), |n| self.parents.get(n).copied().flatten())
    }

    /// Ends an event: adds its nodes to the model, and checks their trees.
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
        let all = self
            .engine
            .history()
            .log(&filter)
            .map_err(|e| format!("log: {e}"))?;
        let last = all.first().map_or(0, |entry| entry.node.id.0);
        for (_, since) in &mut self.adopted {
            if since.0 == i64::MAX {
                *since = head;
            }
        }
        for node in (newest + 1..=last).map(NodeId) {
            let entry = self.engine.history().entry(node);
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
        // files adopted without a node belong to the current head
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
        self.engine
            .history()
            .head()
            .map_err(|e| format!("head: {e}"))
    }

    /// The engine's own tree of a node that was not the last one of its event.
    pub(super) fn recorded(&self, node: NodeId) -> Checked<Files> {
        let tree = self
            .engine
            .history()
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

    /// Law E: the recorded tree equals the files at that time.
    pub fn holds(&self, node: NodeId) -> Checked {
        let tree = self
            .engine
            .history()
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
            .history()
            .inconsistent_edits()
            .map_err(|e| format!("the timeline: {e}"))?;
        if !wrong.is_empty() {
            return Err(format!(
                "in force or not, edit by edit and as a set: {wrong:?}"
            ));
        }
        let verified = self
            .engine
            .verifier()
            .verify(&mut |_| {})
            .map_err(|e| format!("verify: {e}"))?;
        if verified.problems.is_empty() {
            Ok(())
        } else {
            Err(format!("verify: {:#?}", verified.problems))
        }
    }

    /// Records the first node of each line, and the lines that another writer has moved: those now belong to that
    /// writer, whatever their name says.
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
        if self.comes_back {
            return Ok(());
        }
        let deltas = self
            .engine
            .comparer()
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
