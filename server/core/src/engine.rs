//! The engine: one opened store of one workspace. The command line and the language server use only this.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::{OptionalExtension, params};

use crate::config::{Config, Sources};
use crate::documents::Orphan;
use crate::error::{Error, Result};
use crate::history::{self, Ancestry, BranchInfo, Entry, LogFilter, Operation};
use crate::model::Here;
use crate::model::{
    BranchId, ContentId, Coverage, EditorId, FileId, FileVersion, Image, NodeId, OpId, Placed,
    RelPath, RootId, os_bytes,
};
use crate::restore::Plan;
use crate::roots;
use crate::store::owner::{self, Owner};
use crate::store::tables::editor::EditorInfo;
use crate::store::{self, Durable, Store};
use crate::workspace::Workspace;
use crate::worktree::disk::Root;
use crate::worktree::file_state;
use crate::worktree::git::backed_content;
use crate::worktree::pending_saves::PendingSave;
use crate::worktree::recorder;

pub type Tree = BTreeMap<RelPath, Image>;

/// Progress of a long operation.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub what: &'static str,
    pub done: u64,
    pub total: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Status {
    pub root: PathBuf,
    pub store: PathBuf,
    pub store_bytes: u64,
    /// Bytes in use. The rest of `store_bytes` is free space that the store can reuse.
    pub live_bytes: u64,
    pub branch: String,
    pub head: Option<NodeId>,
    pub nodes: i64,
    pub turns: i64,
    pub sessions: i64,
    pub tracked_files: i64,
    /// Microseconds since 1970.
    pub last_scan: Option<i64>,
    pub coverage: Coverage,
    pub open_calls: i64,
    pub open_operation: Option<OpId>,
    /// Gaps that hooks could not record and that are in no node yet.
    pub gaps: Vec<String>,
    /// Process id of the recorder that watches the files, if one runs.
    pub recorder: Option<u32>,
    /// Running language servers.
    pub editors: Vec<EditorInfo>,
    /// Documents with unsaved text.
    pub unsaved: Vec<(EditorId, RelPath)>,
    /// Unsaved text of editors that died.
    pub orphans: Vec<Orphan>,
    /// Files whose restored text an editor has not saved yet.
    pub pending_saves: Vec<PendingSave>,
}

#[derive(Debug)]
pub struct Engine {
    pub(crate) store: Store,
    pub(crate) root: Root,
    pub(crate) here: Here,
    pub(crate) progress: ProgressSink,
    /// Maximum time to wait for a recorder's answer.
    pub(crate) recorder_timeout: Duration,
    /// Number of walks of the tree that a recorder made unnecessary.
    pub(crate) walks_avoided: u64,
    /// Disables planning without a full scan.
    pub(crate) always_scan: bool,
    notice: Option<String>,
}

/// Progress callback and cancellation flag.
#[derive(Default)]
pub(crate) struct ProgressSink {
    callback: Option<Box<dyn FnMut(Progress) + Send>>,
    off: Option<Arc<AtomicBool>>,
}

impl ProgressSink {
    pub(crate) fn call(&mut self, progress: Progress) {
        if let Some(callback) = &mut self.callback {
            callback(progress);
        }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.off
            .as_ref()
            .is_some_and(|off| off.load(Ordering::Relaxed))
    }

    /// Returns the cancellation flag.
    pub(crate) fn off(&self) -> Option<Arc<AtomicBool>> {
        self.off.clone()
    }
}

impl std::fmt::Debug for ProgressSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProgressSink({})", self.callback.is_some())
    }
}

impl Status {
    /// Status of a workspace without a store.
    pub fn nothing(workspace: &Workspace) -> Self {
        Self {
            root: workspace.root.clone(),
            store: workspace.store_dir.clone(),
            store_bytes: 0,
            live_bytes: 0,
            branch: "main".into(),
            head: None,
            nodes: 0,
            turns: 0,
            sessions: 0,
            tracked_files: 0,
            last_scan: None,
            coverage: Coverage::default(),
            open_calls: 0,
            open_operation: None,
            gaps: store::gaps::peek(&workspace.store_dir),
            recorder: None,
            editors: Vec::new(),
            unsaved: Vec::new(),
            orphans: Vec::new(),
            pending_saves: Vec::new(),
        }
    }
}

impl Engine {
    /// Opens the store of a workspace, and creates it the first time. Work that a process left unfinished when it
    /// died is finished or rolled back first.
    pub fn open(workspace: &Workspace) -> Result<Self> {
        Self::open_or_make(workspace, true)
    }

    fn open_or_make(workspace: &Workspace, make: bool) -> Result<Self> {
        let root = Root::open(&workspace.root, Arc::new(Sources::of(workspace)))?;
        if workspace.shared && !Store::exists(&workspace.store_dir)? {
            return Err(Error::NotFound {
                what: "the history that this directory was forked from, store",
                name: workspace.store_dir.display().to_string(),
            });
        }
        let owner = owner::check(&workspace.store_dir, &workspace.root)?;
        let store = Store::open(&workspace.store_dir)?;
        if owner == Owner::Unstamped {
            store.adopt()?;
        }
        crate::forks::finish_left(&store, &workspace.root)?;
        let identity = root.identity();
        if !roots::reconcile(&store, workspace, identity)? {
            let found_again = workspace.again()?;
            return if found_again == *workspace {
                Err(interrupted_fork(workspace))
            } else if make || Store::exists(&found_again.store_dir)? {
                Self::open_or_make(&found_again, make)
            } else {
                Err(Error::NoStore(found_again.root))
            };
        }
        let path = os_bytes(workspace.root.as_os_str());
        let found = |conn: &rusqlite::Connection| -> Result<Option<(RootId, Option<BranchId>)>> {
            Ok(conn
                .prepare_cached("SELECT id, branch FROM root WHERE path = ?1")?
                .query_row([&path], |r| Ok((r.get(0)?, r.get(1)?)))
                .optional()?)
        };
        let branch_lost = || {
            Error::refused(
                format!(
                    "another directory took over the branch of {}, and its last checkpoint is not known",
                    workspace.root.display()
                ),
                "move the files you need elsewhere, remove the directory, and fork again",
            )
        };
        let mut new_branch = None;
        let here = match found(&store.conn)? {
            Some((root, Some(branch))) => Here { root, branch },
            Some((_, None)) => store.write(Durable::Power, |conn| match found(conn)? {
                // another process may have done this first
                Some((root, Some(branch))) => Ok(Here { root, branch }),
                Some((root, None)) => {
                    let branch = roots::branch_again(conn, root)?.ok_or_else(branch_lost)?;
                    new_branch = Some(branch);
                    Ok(Here { root, branch })
                }
                None => Err(branch_lost()),
            })?,
            None if workspace.shared => {
                return Err(interrupted_fork(workspace));
            }
            None => store.write(Durable::Power, |conn| {
                // another process may have done this first
                if let Some((root, Some(branch))) = found(conn)? {
                    return Ok(Here { root, branch });
                }
                conn.execute(
                    "INSERT OR IGNORE INTO branch (name, created) VALUES ('main', ?1)",
                    [store::now()],
                )?;
                let main = "SELECT id FROM branch WHERE name = 'main'";
                let branch: BranchId = conn.query_row(main, [], |r| r.get(0))?;
                conn.execute(
                    "INSERT INTO root (path, branch, inode, btime) VALUES (?1,?2,?3,?4)",
                    params![
                        path,
                        branch,
                        identity.map(|i| i.inode),
                        identity.map(|i| i.btime)
                    ],
                )?;
                Ok(Here {
                    root: RootId(conn.last_insert_rowid()),
                    branch,
                })
            })?,
        };
        let mut engine = Self {
            store,
            root,
            here,
            progress: ProgressSink::default(),
            recorder_timeout: recorder::ANSWER_TIMEOUT,
            walks_avoided: 0,
            always_scan: false,
            notice: None,
        };
        engine.recover()?;
        if new_branch.is_some() {
            engine.notice = Some(format!(
                "another directory took over the branch of this one, which is now on {}",
                engine.branch_name()?
            ));
        }
        Ok(engine)
    }

    /// Like `open`, but creates no store.
    pub fn open_existing(workspace: &Workspace) -> Result<Self> {
        if Store::exists(&workspace.store_dir)? {
            Self::open_or_make(workspace, false)
        } else {
            Err(Error::NoStore(workspace.root.clone()))
        }
    }

    /// Reads the current branch and settings again, since another process may have switched. Call it before a write,
    /// with a lock held that prevents a switch.
    pub fn refresh(&mut self) -> Result<()> {
        self.here.branch = self
            .store
            .conn
            .prepare_cached("SELECT branch FROM root WHERE id = ?1")?
            .query_row([self.here.root], |r| r.get(0))?;
        self.root.settings();
        Ok(())
    }

    /// Returns the current settings.
    pub fn config(&self) -> Arc<Config> {
        self.root.settings()
    }

    /// Sets a callback for the progress of scans.
    pub fn on_progress(&mut self, callback: impl FnMut(Progress) + Send + 'static) {
        self.progress.callback = Some(Box::new(callback));
    }

    /// Sets a cancellation flag: scans end with `Error::CalledOff` once it is set. A restore that has begun to change
    /// files is finished all the same.
    pub fn call_off_with(&mut self, off: Arc<AtomicBool>) {
        self.progress.off = Some(off);
    }

    /// Removes the progress callback and the cancellation flag.
    pub fn clear_progress(&mut self) {
        self.progress = ProgressSink::default();
    }

    /// For tests: sets the maximum time to wait for a recorder's answer.
    #[doc(hidden)]
    pub fn wait_for_recorder(&mut self, recorder_timeout: Duration) {
        self.recorder_timeout = recorder_timeout;
    }

    /// For tests: number of walks of the tree that a recorder made unnecessary.
    pub fn walks_avoided(&self) -> u64 {
        self.walks_avoided
    }

    /// Message for the user about something that happened when the store was opened.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    pub fn root(&self) -> &Path {
        &self.root.path
    }

    pub fn head(&self) -> Result<Option<NodeId>> {
        history::head(&self.store.conn, self.here.branch)
    }

    pub fn branch_name(&self) -> Result<String> {
        Ok(self.store.conn.query_row(
            "SELECT name FROM branch WHERE id = ?1",
            [self.here.branch],
            |r| r.get(0),
        )?)
    }

    pub fn branches(&self) -> Result<Vec<BranchInfo>> {
        history::branches::list(&self.store.conn, self.here)
    }

    /// The timeline, newest first.
    pub fn log(&self, filter: &LogFilter) -> Result<Vec<Entry>> {
        if filter.text.is_some() {
            history::full_text::update(&self.store, &mut |_, _| {})?;
        }
        let moment = self.store.reading()?;
        let (entries, counts) = history::log(&self.store, self.here, filter)?;
        drop(moment);
        counts.keep(&self.store);
        Ok(entries)
    }

    /// Brings the full-text index up to date and reports progress. A search does so, too.
    pub fn read_words(&mut self) -> Result<()> {
        let progress = &mut self.progress;
        history::full_text::update(&self.store, &mut |done, total| {
            progress.call(Progress {
                what: "indexing text",
                done,
                total: Some(total),
            });
        })
    }

    pub fn entry(&self, id: NodeId) -> Result<Entry> {
        let moment = self.store.reading()?;
        let (entry, counts) = history::entry(&self.store, self.here, id)?;
        drop(moment);
        counts.keep(&self.store);
        Ok(entry)
    }

    /// For tests: returns edits whose state in the timeline of a branch differs from its set in force.
    #[doc(hidden)]
    pub fn inconsistent_edits(&self) -> Result<Vec<crate::model::ChangeId>> {
        let _moment = self.store.reading()?;
        let heads = self.branches()?.into_iter().filter_map(|b| b.head);
        let wrong: Vec<Vec<_>> = heads
            .map(|head| history::inconsistent_edits(&self.store.conn, head))
            .collect::<Result<_>>()?;
        Ok(wrong.concat())
    }

    /// Resolves a reference to a node: `c12`, `c12^`, `t4`, `@`, `@~2`, a tag, a branch, a label.
    pub fn resolve(&self, rev: &str) -> Result<NodeId> {
        history::resolve(&self.store.conn, self.here, rev)
    }

    /// True if a reference is relative to the head of the current branch: `@`, `@~2`, the branch's name.
    pub fn names_head(&self, rev: &str) -> Result<bool> {
        let recorded = self.head()?.is_some();
        Ok(recorded && history::names_head(rev, &self.branch_name()?))
    }

    pub fn resolve_op(&self, op: &str) -> Result<OpId> {
        history::resolve_op(&self.store.conn, op)
    }

    /// Operations, newest first.
    pub fn operations(&self) -> Result<Vec<Operation>> {
        let _moment = self.store.reading()?;
        history::operations(&self.store.conn)
    }

    /// Returns the step nodes of this node's turn, oldest first.
    pub fn turn_steps(&self, node: NodeId) -> Result<Vec<NodeId>> {
        let mut select = self.store.conn.prepare_cached(
            "SELECT id FROM node WHERE turn = (SELECT turn FROM node WHERE id = ?1) AND kind = 'step'
             ORDER BY id",
        )?;
        let rows = select.query_map([node], |r| r.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    pub fn content(&self, id: &ContentId) -> Result<Vec<u8>> {
        self.store.content(id)
    }

    /// Reads a content, a large one in pieces. The bytes are verified only if this returns `Ok`.
    pub fn read(&self, id: &ContentId, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.store.read(id, take)
    }

    /// Returns a content of a plan: one that it creates, or one from the store.
    pub fn text_of(&self, plan: &Plan, id: &ContentId) -> Result<Vec<u8>> {
        match plan.content(id) {
            Some(made) => Ok(made.to_vec()),
            None => self.content(id),
        }
    }

    /// Returns the whole tracked tree at a node, without files that were not known at the time.
    pub fn tree_at(&self, id: NodeId) -> Result<Tree> {
        let _moment = self.store.reading()?;
        let (conn, root) = (&self.store.conn, self.here.root);
        let placed = self.placed_at(id)?.into_iter();
        placed
            .map(|(path, (image, _))| {
                let image = backed_content::materialize(conn, root, &path, image)?;
                Ok((path, image))
            })
            .collect()
    }

    /// Returns all paths of the tracked tree at a node.
    pub fn paths_at(&self, id: NodeId) -> Result<Vec<RelPath>> {
        let _moment = self.store.reading()?;
        Ok(self.placed_at(id)?.into_keys().collect())
    }

    /// Like `tree_at`, but leaves contents that only git has as `Image::InGit`.
    pub(crate) fn placed_at(
        &self,
        id: NodeId,
    ) -> Result<BTreeMap<RelPath, (Image, Option<FileId>)>> {
        let conn = &self.store.conn;
        let ancestry = Ancestry::new(conn);
        let mut tree: BTreeMap<RelPath, (Image, Option<FileId>)> = BTreeMap::new();
        for (path, row) in file_state::all(conn, self.here.root)? {
            let known_then = match (row.file, row.since) {
                (None, Some(since)) => ancestry.is_ancestor(since, id)?,
                _ => true,
            };
            if known_then {
                tree.insert(path, (row.image, row.file));
            }
        }
        for (path, row) in file_state::adopted_elsewhere(conn, self.here.root)? {
            if row
                .since
                .map_or(Ok(false), |since| ancestry.is_ancestor(since, id))?
            {
                tree.entry(path).or_insert((row.image, None));
            }
        }
        let Some(head) = self.head()? else {
            return Ok(tree);
        };
        let mut moved = self.files_between(&ancestry, head, id)?;
        moved.extend(self.adopted_between(&ancestry, head, id)?);
        tree.retain(|_, (_, file)| file.is_none_or(|f| !moved.contains(&f)));
        for file in moved {
            if !self.known_at(&ancestry, file, id)? {
                continue;
            }
            if let Some(Placed { path, image }) = history::state_at(&ancestry, file, id)? {
                tree.insert(path, (image, Some(file)));
            }
        }
        Ok(tree)
    }

    /// True if a file's state was known at a node.
    pub(crate) fn known_at(
        &self,
        ancestry: &Ancestry<'_>,
        file: FileId,
        node: NodeId,
    ) -> Result<bool> {
        // an exact rewind may have brought it here from the branch on which it was first captured
        Ok(self.seen_at(ancestry, file, node)? || history::is_changed(ancestry, file, node)?)
    }

    /// True if a file was first captured at an ancestor of a node, or was always known.
    pub(crate) fn seen_at(
        &self,
        ancestry: &Ancestry<'_>,
        file: FileId,
        node: NodeId,
    ) -> Result<bool> {
        match history::since(&self.store.conn, file)? {
            Some(since) => ancestry.is_ancestor(since, node),
            None => Ok(true),
        }
    }

    /// Returns a file's state at a node, or none if it was not known there.
    pub(crate) fn state_known(
        &self,
        ancestry: &Ancestry<'_>,
        file: FileId,
        node: NodeId,
    ) -> Result<FileVersion> {
        if self.known_at(ancestry, file, node)? {
            history::state_at(ancestry, file, node)
        } else {
            Ok(None)
        }
    }

    /// Returns files with changes between two nodes.
    pub(crate) fn files_between(
        &self,
        ancestry: &Ancestry<'_>,
        a: NodeId,
        b: NodeId,
    ) -> Result<BTreeSet<FileId>> {
        self.named_between(ancestry, (a, b), "SELECT file FROM change WHERE node = ?1")
    }

    /// Returns files with an identity that were first captured between two nodes.
    pub(crate) fn adopted_between(
        &self,
        ancestry: &Ancestry<'_>,
        a: NodeId,
        b: NodeId,
    ) -> Result<BTreeSet<FileId>> {
        self.named_between(ancestry, (a, b), "SELECT file FROM adopted WHERE node = ?1")
    }

    fn named_between(
        &self,
        ancestry: &Ancestry<'_>,
        (a, b): (NodeId, NodeId),
        of_node: &str,
    ) -> Result<BTreeSet<FileId>> {
        let common = ancestry.common(a, b)?;
        let mut files = BTreeSet::new();
        let mut select = self.store.conn.prepare_cached(of_node)?;
        for node in ancestry
            .after(common, a)?
            .into_iter()
            .chain(ancestry.after(common, b)?)
        {
            for file in select.query_map([node], |r| r.get(0))? {
                files.insert(file?);
            }
        }
        Ok(files)
    }

    pub fn image_at(&self, id: NodeId, path: &RelPath) -> Result<Image> {
        let tree = self.placed_at(id)?;
        let image = tree.get(path).map_or(Image::Absent, |(image, _)| *image);
        backed_content::materialize(&self.store.conn, self.here.root, path, image)
    }

    /// True if a path that is tracked now was first captured after a node.
    pub fn is_unknown_at(&self, path: &RelPath, node: NodeId) -> Result<bool> {
        let row = file_state::get(&self.store.conn, self.here.root, path)?;
        let ancestry = Ancestry::new(&self.store.conn);
        row.and_then(|row| row.since)
            .map_or(Ok(false), |since| Ok(!ancestry.is_ancestor(since, node)?))
    }

    pub fn status(&self) -> Result<Status> {
        let _moment = self.store.reading()?;
        let conn = &self.store.conn;
        let count = |sql: &str| -> Result<i64> { Ok(conn.query_row(sql, [], |r| r.get(0))?) };
        let (last_scan, coverage): (Option<i64>, String) = conn.query_row(
            "SELECT scanned, coverage FROM root WHERE id = ?1",
            [self.here.root],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )?;
        Ok(Status {
            root: self.root.path.clone(),
            store: self.store.dir.clone(),
            store_bytes: disk_use(&self.store.dir),
            live_bytes: self.live_bytes()?,
            branch: self.branch_name()?,
            head: self.head()?,
            nodes: count("SELECT COUNT(*) FROM node")?,
            turns: count("SELECT COUNT(*) FROM turn")?,
            sessions: count("SELECT COUNT(*) FROM session")?,
            tracked_files: conn.query_row(
                "SELECT COUNT(*) FROM file_state WHERE root = ?1",
                [self.here.root],
                |r| r.get(0),
            )?,
            last_scan,
            coverage: file_state::coverage_from(conn, self.here.root, &coverage)?,
            open_calls: count("SELECT COUNT(*) FROM call WHERE closed IS NULL")?,
            open_operation: conn
                .query_row(
                    "SELECT id FROM operation WHERE state IN ('open','backwards')",
                    [],
                    |r| r.get(0),
                )
                .optional()?,
            gaps: store::gaps::peek(&self.store.dir),
            recorder: recorder::holder(&self.store.dir, self.here.root),
            editors: self.editors()?,
            unsaved: self.unsaved()?,
            orphans: self.orphan_buffers()?,
            pending_saves: self.pending_saves()?,
        })
    }

    /// Does housekeeping that a hook has no time for.
    pub fn tidy(&mut self) {
        self.store.tidy();
    }

    pub(crate) const RESTORE_WAIT: Duration = Duration::from_secs(10);
}

/// Notes a gap when the store cannot be used. Returns `false` if that fails, too.
pub fn record_gap(workspace: &Workspace, what: &str) -> bool {
    let refused = owner::check(&workspace.store_dir, &workspace.root);
    // nothing is written to a store that is not the user's; on a full disk there is space set aside
    !matches!(refused, Err(Error::Refused { .. }))
        && store::gaps::append(&workspace.store_dir, what)
}

fn interrupted_fork(workspace: &Workspace) -> Error {
    Error::refused(
        format!("the fork into {} was interrupted", workspace.root.display()),
        "remove that directory and fork again",
    )
}

pub(crate) fn disk_use(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    entries
        .flatten()
        .map(|e| match e.metadata() {
            Ok(m) if m.is_dir() => disk_use(&e.path()),
            Ok(m) => m.len(),
            Err(_) => 0,
        })
        .sum()
}
