//! Conversions from the protocol's types to the engine's. Pure.

use std::path::PathBuf;

use tower_lsp::gen_lsp_types::{InitializeParams, RootPath, WorkspaceFolder, WorkspaceFolders};

use crate::lsp::documents::uri;

pub fn folders(folders: &[WorkspaceFolder]) -> Vec<PathBuf> {
    let folders = folders.iter();
    folders
        .filter_map(|folder| uri::to_path(folder.uri.as_ref()))
        .collect()
}

/// Returns the folders that a client opened; an older client names a single root.
#[allow(deprecated)] // the older form is what some clients still send
pub fn opened(params: &InitializeParams) -> Vec<PathBuf> {
    let several = &params.workspace_folders_initialize_params.workspace_folders;
    if let Some(WorkspaceFolders::WorkspaceFolderList(several)) = several {
        return folders(several);
    }
    let root = params.root_uri.as_ref();
    let root = root.and_then(|root| uri::to_path(root.as_ref()));
    let path = || match &params.root_path {
        Some(RootPath::String(path)) => Some(PathBuf::from(path)),
        _ => None,
    };
    root.or_else(path).into_iter().collect()
}
