//! The state of a workspace at a glance.

use std::path::PathBuf;

use crate::documents::Orphan;
use crate::engine::{Engine, disk_use};
use crate::error::Result;
use crate::model::{Coverage, EditorId, NodeId, OpId, RelPath};
use crate::places::Workspace;
use crate::store;
use crate::store::tables::editor::EditorInfo;
use crate::store::tables::{call, node, operation, root, session, turn};
use crate::worktree::cookie;
use crate::worktree::file_state;
use crate::worktree::pending_saves::PendingSave;

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
    /// Counts the calls that no event has closed, but for those whose agent is gone or was interrupted.
    fn running_calls(&self) -> Result<i64> {
        let open = call::count_open(&self.store.conn, i64::MIN)?;
        if open == 0 {
            return Ok(0);
        }
        let over = self.capture().interrupted()?.len();
        Ok(open
            .saturating_sub(i64::try_from(over).unwrap_or(i64::MAX))
            .max(0))
    }

    pub fn status(&self) -> Result<Status> {
        let _moment = self.store.reading()?;
        let conn = &self.store.conn;
        let last = root::scan::last(conn, self.here.root)?;
        Ok(Status {
            root: self.root.path.clone(),
            store: self.store.dir.clone(),
            store_bytes: disk_use(&self.store.dir),
            live_bytes: self.retention().live_bytes()?,
            branch: self.history().branch_name()?,
            head: self.history().head()?,
            nodes: node::count(conn)?,
            turns: turn::count(conn)?,
            sessions: session::count(conn)?,
            tracked_files: file_state::count(conn, self.here.root)?,
            last_scan: last.scanned,
            coverage: last.coverage,
            open_calls: self.running_calls()?,
            open_operation: operation::exchanging(conn)?,
            gaps: store::gaps::peek(&self.store.dir),
            recorder: cookie::holder(&self.store.dir, self.here.root),
            editors: self.documents().editors()?,
            unsaved: self.documents().unsaved()?,
            orphans: self.documents().orphan_buffers()?,
            pending_saves: self.documents().pending_saves()?,
        })
    }
}
