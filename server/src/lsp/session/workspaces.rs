//! The folders and the workspaces that are open.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use backstitch_core::{Locate, Result, Workspace};
use dashmap::DashMap;
use tokio::sync::mpsc::UnboundedSender;

use crate::host::store_watcher::{self, StoreEvent};
use crate::host::workspace::WorkspaceHandle;

/// The open workspaces, and the tasks that get their events.
#[derive(Debug)]
pub struct Workspaces {
    folders: RwLock<Vec<PathBuf>>,
    handles: DashMap<PathBuf, Arc<WorkspaceHandle>>,
    store_events: UnboundedSender<StoreEvent>,
    /// Receives each workspace that is opened.
    opened: UnboundedSender<Arc<WorkspaceHandle>>,
}

impl Workspaces {
    pub fn new(
        store_events: UnboundedSender<StoreEvent>,
        opened: UnboundedSender<Arc<WorkspaceHandle>>,
    ) -> Self {
        Self {
            folders: RwLock::default(),
            handles: DashMap::new(),
            store_events,
            opened,
        }
    }

    pub fn folders(&self) -> Vec<PathBuf> {
        self.folders.read().map(|f| f.clone()).unwrap_or_default()
    }

    pub fn set_folders(&self, folders: Vec<PathBuf>) {
        if let Ok(mut own) = self.folders.write() {
            *own = folders;
        }
    }

    pub fn change_folders(&self, added: &[PathBuf], removed: &[PathBuf]) {
        if let Ok(mut folders) = self.folders.write() {
            folders.retain(|folder| !removed.contains(folder));
            folders.extend(added.iter().cloned());
        }
    }

    /// Returns the open workspaces, sorted by their roots.
    pub fn all(&self) -> Vec<Arc<WorkspaceHandle>> {
        let mut handles: Vec<Arc<WorkspaceHandle>> =
            self.handles.iter().map(|r| r.value().clone()).collect();
        handles.sort_by(|a, b| a.root().cmp(b.root()));
        handles
    }

    pub fn at(&self, root: &Path) -> Option<Arc<WorkspaceHandle>> {
        self.handles.get(root).map(|handle| handle.clone())
    }

    /// Opens a workspace, and watches its store until it is closed. `announce` sends it to the tasks of workspaces.
    pub fn open(&self, workspace: Workspace, editor: &str) -> Result<Arc<WorkspaceHandle>> {
        let handle = Arc::new(WorkspaceHandle::open(workspace, editor)?);
        if let Err(error) = store_watcher::listen(&handle, self.store_events.clone()) {
            tracing::warn!(
                "the store of {} is not watched: {error}",
                handle.root().display()
            );
        }
        self.handles
            .insert(handle.root().to_path_buf(), handle.clone());
        Ok(handle)
    }

    pub fn announce(&self, handle: Arc<WorkspaceHandle>) {
        self.opened.send(handle).ok();
    }

    /// Closes the workspaces that are not needed.
    pub fn retain(&self, is_needed: impl Fn(&Path) -> bool) {
        self.handles.retain(|root, _| is_needed(root));
    }
}

/// Returns the workspace of a directory. `store_dir`: the directory of all stores, if it is set.
pub fn find(dir: &Path, store_dir: Option<&Path>) -> Result<Workspace> {
    Workspace::find(&Locate {
        workspace: None,
        store_dir,
        cwd: dir,
    })
}
