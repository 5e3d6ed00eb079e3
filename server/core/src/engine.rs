//! The engine: one opened store of one workspace. The faces talk to this alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::{OptionalExtension, params};

use crate::config::{Config, Sources};
use crate::documents::{EditorInfo, Orphan, PendingSave};
use crate::error::{Error, Result};
use crate::history::{self, Ancestry, BranchInfo, Entry, Here, LogFilter, Operation};
use crate::model::{
    BranchId, ContentId, Coverage, EditorId, FileId, FileVersion, Image, NodeId, OpId, Placed,
    RelPath, RootId, os_bytes,
};
use crate::restore::Plan;
use crate::roots;
use crate::store::owner::{self, Owner};
use crate::store::{self, Durable, Store};
use crate::workspace::Workspace;
use crate::worktree::disk::Root;
use crate::worktree::file_state;
use crate::worktree::git::backed_content;
use crate::worktree::recorder;

pub type Tree = BTreeMap<RelPath, Image>;

/// How far a long piece of work is.
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
    /// Of it what is needed; the rest is room to be filled again.
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
    /// What hooks could not record and no node has taken up yet.
    pub gaps: Vec<String>,
    /// The process that watches the files, if one does.
    pub recorder: Option<u32>,
    /// Language servers at work.
    pub editors: Vec<EditorInfo>,
    /// The documents that they have not saved.
    pub unsaved: Vec<(EditorId, RelPath)>,
    /// Text that editors left unsaved when they died.
    pub orphans: Vec<Orphan>,
    /// Files that wait for a save.
    pub pending_saves: Vec<PendingSave>,
}

#[derive(Debug)]
pub struct Engine {
    pub(crate) store: Store,
    pub(crate) root: Root,
    pub(crate) here: Here,
    pub(crate) progress: ProgressSink,
    /// How long to wait for a recorder's answer.
    pub(crate) recorder_timeout: Duration,
    /// How many walks over the tree a recorder has walks_avoided.
    pub(crate) walks_avoided: u64,
    /// Not to plan by looking at what a plan concerns alone.
    pub(crate) always_scan: bool,
    notice: Option<String>,
}

/// Who wants to hear how far a piece of work is, and may not want it any more.
#[derive(Default)]
pub(crate) struct ProgressSink {
    tell: Option<Box<dyn FnMut(Progress) + Send>>,
    off: Option<Arc<AtomicBool>>,
}

impl ProgressSink {
    pub(crate) fn call(&mut self, progress: Progress) {
        if let Some(tell) = &mut self.tell {
            tell(progress);
        }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.off
            .as_ref()
            .is_some_and(|off| off.load(Ordering::Relaxed))
    }

    /// What says that it is called off.
    pub(crate) fn off(&self) -> Option<Arc<AtomicBool>> {
        self.off.clone()
    }
}

impl std::fmt::Debug for ProgressSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Told({})", self.tell.is_some())
    }
}

impl Status {
    /// Of a workspace without a store.
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
    /// Opens the store of a workspace, which is made at the first time. What a process left half done
    /// when it died is finished or undone before anything else.
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
        if !roots::settle(&store, workspace, identity)? {
            let again = workspace.again()?;
            return if again == *workspace {
                Err(cut_off(workspace))
            } else if make || Store::exists(&again.store_dir)? {
                Self::open_or_make(&again, make)
            } else {
                Err(Error::NoStore(again.root))
            };
        }
        let path = os_bytes(workspace.root.as_os_str());
        let found = |conn: &rusqlite::Connection| -> Result<Option<(RootId, Option<BranchId>)>> {
            Ok(conn
                .prepare_cached("SELECT id, branch FROM root WHERE path = ?1")?
                .query_row([&path], |r| Ok((r.get(0)?, r.get(1)?)))
                .optional()?)
        };
        let gone_on = || {
            Error::refused(
                format!(
                    "the branch of {} went on elsewhere, and where it stood is not known",
                    workspace.root.display()
                ),
                "move what you need of it elsewhere, remove it, and fork again",
            )
        };
        let mut went_on = None;
        let here = match found(&store.conn)? {
            Some((root, Some(branch))) => Here { root, branch },
            Some((_, None)) => store.write(Durable::Power, |conn| match found(conn)? {
                // another process may have been first
                Some((root, Some(branch))) => Ok(Here { root, branch }),
                Some((root, None)) => {
                    let branch = roots::branch_again(conn, root)?.ok_or_else(gone_on)?;
                    went_on = Some(branch);
                    Ok(Here { root, branch })
                }
                None => Err(gone_on()),
            })?,
            None if workspace.shared => {
                return Err(cut_off(workspace));
            }
            None => store.write(Durable::Power, |conn| {
                // another process may have been first
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
            recorder_timeout: recorder::PATIENCE,
            walks_avoided: 0,
            always_scan: false,
            notice: None,
        };
        engine.recover()?;
        if went_on.is_some() {
            engine.notice = Some(format!(
                "the branch of this directory went on elsewhere; here it goes on as {}",
                engine.branch_name()?
            ));
        }
        Ok(engine)
    }

    /// As `open`, for who only asks: a workspace without a store stays without one.
    pub fn open_existing(workspace: &Workspace) -> Result<Self> {
        if Store::exists(&workspace.store_dir)? {
            Self::open_or_make(workspace, false)
        } else {
            Err(Error::NoStore(workspace.root.clone()))
        }
    }

    /// Another process may have switched to another branch. Before something is done, to be asked with a lock
    /// held that keeps it from doing so again.
    pub fn refresh(&mut self) -> Result<()> {
        self.here.branch = self
            .store
            .conn
            .prepare_cached("SELECT branch FROM root WHERE id = ?1")?
            .query_row([self.here.root], |r| r.get(0))?;
        self.root.settings();
        Ok(())
    }

    /// The settings as they are now.
    pub fn config(&self) -> Arc<Config> {
        self.root.settings()
    }

    /// Has scans tell how far they are.
    pub fn on_progress(&mut self, tell: impl FnMut(Progress) + Send + 'static) {
        self.progress.tell = Some(Box::new(tell));
    }

    /// From now on, scans end with `Error::CalledOff` once this is set. What has begun to change files is carried
    /// through all the same.
    pub fn call_off_with(&mut self, off: Arc<AtomicBool>) {
        self.progress.off = Some(off);
    }

    /// Nobody waits for this any more.
    pub fn tell_nobody(&mut self) {
        self.progress = ProgressSink::default();
    }

    /// For tests: how long to wait for a recorder's answer.
    #[doc(hidden)]
    pub fn wait_for_recorder(&mut self, recorder_timeout: Duration) {
        self.recorder_timeout = recorder_timeout;
    }

    /// How many walks over the tree a recorder has walks_avoided this one.
    pub fn walks_spared(&self) -> u64 {
        self.walks_avoided
    }

    /// What happened when it was opened that the user should know.
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
            history::full_text::follow(&self.store, &mut |_, _| {})?;
        }
        let moment = self.store.reading()?;
        let (entries, counts) = history::log(&self.store, self.here, filter)?;
        drop(moment);
        counts.keep(&self.store);
        Ok(entries)
    }

    /// Takes up what a search for words has not seen yet. Searching does so too; here it tells how far it is.
    pub fn read_words(&mut self) -> Result<()> {
        let progress = &mut self.progress;
        history::full_text::follow(&self.store, &mut |done, total| {
            progress.call(Progress {
                what: "reading words",
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

    /// A check for tests: edits of which the timeline of any branch would say something else than its sets in
    /// force do.
    #[doc(hidden)]
    pub fn misjudged(&self) -> Result<Vec<crate::model::ChangeId>> {
        let _moment = self.store.reading()?;
        let heads = self.branches()?.into_iter().filter_map(|b| b.head);
        let wrong: Vec<Vec<_>> = heads
            .map(|head| history::misjudged(&self.store.conn, head))
            .collect::<Result<_>>()?;
        Ok(wrong.concat())
    }

    /// The node that a reference means: `c12`, `c12^`, `t4`, `@`, `@~2`, a tag, a branch, a label.
    pub fn resolve(&self, rev: &str) -> Result<NodeId> {
        history::resolve(&self.store.conn, self.here, rev)
    }

    /// Whether a reference goes by the head of the current branch: `@`, `@~2`, the branch's name.
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

    /// The nodes of steps that belong to the turn of this node, oldest first.
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

    /// Reads a content, a large one piece by piece. Only where it ends well was it what was asked for.
    pub fn read(&self, id: &ContentId, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.store.read(id, take)
    }

    /// A content that a plan speaks of: one that it makes, or one of the store.
    pub fn text_of(&self, plan: &Plan, id: &ContentId) -> Result<Vec<u8>> {
        match plan.content(id) {
            Some(made) => Ok(made.to_vec()),
            None => self.content(id),
        }
    }

    /// The whole tracked tree at a node. What was not known at the time is not in it.
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

    /// All paths of the tracked tree at a node.
    pub fn paths_at(&self, id: NodeId) -> Result<Vec<RelPath>> {
        let _moment = self.store.reading()?;
        Ok(self.placed_at(id)?.into_keys().collect())
    }

    /// The same as `tree_at`, but for contents that are git's still.
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
        for (path, row) in file_state::seen_elsewhere(conn, self.here.root)? {
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

    /// Whether a file's state was known at a node.
    pub(crate) fn known_at(
        &self,
        ancestry: &Ancestry<'_>,
        file: FileId,
        node: NodeId,
    ) -> Result<bool> {
        // an exact rewind may have brought it here from the branch on which it came into sight
        Ok(self.seen_at(ancestry, file, node)? || history::is_changed(ancestry, file, node)?)
    }

    /// Whether a file was in sight on the way to a node, or always.
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

    /// A file's state at a node; nothing, where it was not known.
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

    /// Files with changes on the way from one node to another.
    pub(crate) fn files_between(
        &self,
        ancestry: &Ancestry<'_>,
        a: NodeId,
        b: NodeId,
    ) -> Result<BTreeSet<FileId>> {
        self.named_between(ancestry, (a, b), "SELECT file FROM change WHERE node = ?1")
    }

    /// Files that came into sight on the way from one node to another, and have an identity.
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

    /// Whether a path that is tracked now was first known after a node.
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

    /// Housekeeping that a hook has no time for.
    pub fn tidy(&mut self) {
        self.store.tidy();
    }

    pub(crate) const RESTORE_WAIT: Duration = Duration::from_secs(10);
}

/// Notes a gap where the store itself cannot be used. `false`: not even that was possible.
pub fn record_gap(workspace: &Workspace, what: &str) -> bool {
    let refused = owner::check(&workspace.store_dir, &workspace.root);
    // nothing is written to a store that is not the user's; on a full disk there is space set aside
    !matches!(refused, Err(Error::Refused { .. }))
        && store::gaps::append(&workspace.store_dir, what)
}

fn cut_off(workspace: &Workspace) -> Error {
    Error::refused(
        format!("the fork into {} was cut off", workspace.root.display()),
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
