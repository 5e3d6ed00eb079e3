//! Opens and closes the workspaces that folders and documents need.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use backstitch_core::model::RelPath;
use backstitch_core::{Result, Workspace};

use super::client_capabilities::ClientFeatures;
use super::state::ServerState;
use super::workspaces;
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::documents::document::{self, DocumentPath};

/// Directories whose files are never recorded.
const VERSION_CONTROL: [&str; 3] = [".git", ".jj", ".hg"];

impl ServerState {
    /// Called once, by `initialize`.
    pub fn begin(&self, features: ClientFeatures, folders: Vec<PathBuf>) {
        self.client.begin(features);
        self.workspaces.set_folders(folders);
        for folder in self.workspaces.folders() {
            self.open_folder(&folder);
        }
    }

    pub fn change_folders(&self, added: Vec<PathBuf>, removed: &[PathBuf]) {
        self.workspaces.change_folders(&added, removed);
        for folder in added {
            self.open_folder(&folder);
        }
        for uri in self.documents.uris() {
            self.update_place(&uri);
        }
        self.close_unused();
        self.client.refresh_lenses();
        self.renew_problems();
    }

    /// Returns the workspace of a directory, for as long as the caller holds it. If neither a folder nor a document
    /// opened it, its store is not watched.
    pub fn handle_of(&self, dir: &Path) -> Result<Arc<WorkspaceHandle>> {
        let workspace = self.workspace_of(dir)?;
        match self.workspaces.at(&workspace.root) {
            Some(handle) => Ok(handle),
            None => Ok(Arc::new(WorkspaceHandle::open(
                workspace,
                &self.client.features().name,
            )?)),
        }
    }

    fn workspace_of(&self, dir: &Path) -> Result<Workspace> {
        workspaces::find(dir, self.store_dir().as_deref())
    }

    /// Opens a workspace, and watches its store until `close_unused` closes it.
    fn open_workspace(&self, workspace: Workspace) -> Result<Arc<WorkspaceHandle>> {
        if let Some(handle) = self.workspaces.at(&workspace.root) {
            return Ok(handle);
        }
        let handle = self
            .workspaces
            .open(workspace, &self.client.features().name)?;
        self.publish_settings(&handle);
        self.check_settings(&handle);
        self.workspaces.announce(handle.clone());
        Ok(handle)
    }

    /// Opens the workspace of a folder, so that its store is watched before any of its files is opened.
    fn open_folder(&self, folder: &Path) {
        let opened = self
            .workspace_of(folder)
            .and_then(|w| self.open_workspace(w));
        if let Err(error) = opened {
            tracing::info!("{}: {error}", folder.display());
        }
    }

    /// Closes the workspaces that no folder and no document needs.
    pub fn close_unused(&self) {
        let folders = self.workspaces.folders();
        let of_folders = folders.iter().filter_map(|f| self.workspace_of(f).ok());
        let of_folders: Vec<PathBuf> = of_folders.map(|workspace| workspace.root).collect();
        let is_needed = |root: &Path| {
            of_folders.iter().any(|folder| folder == root) || self.documents.any_of(root)
        };
        self.workspaces.retain(is_needed);
    }

    /// Returns the file of an open workspace that a path names, if any. A workspace is open if a folder is in it or
    /// around it; without folders, if a document of it is open.
    pub fn place(&self, path: &Path) -> Option<DocumentPath> {
        let full = document::resolve_links(path)?;
        let dir = full.ancestors().skip(1).find(|dir| dir.is_dir())?;
        let workspace = self.workspace_of(dir).ok()?;
        let folders = self.workspaces.folders();
        let opens = |folder: &PathBuf| {
            let around =
                document::resolve_links(folder).is_some_and(|folder| dir.starts_with(folder));
            let within = || {
                self.workspace_of(folder)
                    .is_ok_and(|w| w.root == workspace.root)
            };
            around || within()
        };
        if !folders.is_empty() && !folders.iter().any(opens) {
            return None;
        }
        let handle = self.open_workspace(workspace).ok()?;
        let inside = full.strip_prefix(handle.root()).ok()?;
        // files of a version control system, such as a commit message
        let is_its_own = |part: &OsStr| VERSION_CONTROL.iter().any(|dir| part == *dir);
        if inside.iter().any(is_its_own) {
            return None;
        }
        let path = RelPath::from_path(inside)?;
        Some(DocumentPath { handle, path })
    }
}
