//! What the protocol's types say, in the engine's words. Pure.

use std::path::PathBuf;

use tower_lsp::gen_lsp_types::{InitializeParams, WorkspaceFolder};

use super::uri;

pub fn folders(folders: &[WorkspaceFolder]) -> Vec<PathBuf> {
    let folders = folders.iter();
    folders
        .filter_map(|folder| uri::to_path(folder.uri.as_str()))
        .collect()
}

/// The folders that a client opened; an older one names a single root.
#[allow(deprecated)] // the older form is what Emacs and Helix still send beside the newer one
pub fn opened(params: &InitializeParams) -> Vec<PathBuf> {
    let several = params.workspace_folders_initialize_params.workspace_folders.as_ref();
    if let Some(several) = several.and_then(|w| w.as_ref()) {
        return folders(several);
    }
    let root = params.root_uri.as_ref().and_then(|root| uri::to_path(root.as_str()));
    let path = || params.root_path.as_ref().and_then(|path| path.as_ref()).map(PathBuf::from);
    root.or_else(path).into_iter().collect()
}
