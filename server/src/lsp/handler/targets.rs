//! Targets of commands and requests: the workspace, the paths and the options that a client names.

use std::path::PathBuf;
use std::sync::Arc;

use backstitch_core::model::RelPath;
use backstitch_core::restore::{Goal, OnConflict, Request, Scope};
use backstitch_protocol::{Choices, Where};

use super::failure::{Failure, Reply};
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::documents::document;
use crate::lsp::documents::uri;
use crate::lsp::messages::refusal;
use crate::lsp::session::{ServerState, Workspaces};

/// Returns the workspace of the document, the named one, or the only one.
pub fn workspace_handle(server: &ServerState, here: &Where) -> Reply<Arc<WorkspaceHandle>> {
    if let Some(uri) = &here.uri {
        if let Some(place) = server.documents.get(uri).and_then(|d| d.place) {
            return Ok(place.handle);
        }
        if let Some(document) = uri::Virtual::parse(uri) {
            return Ok(server.handle_of(&document.root)?);
        }
        if let Some(path) = uri::to_path(uri) {
            // the directory may have been deleted with the file
            let there = path.ancestors().skip(1).find(|dir| dir.is_dir());
            return Ok(server.handle_of(there.unwrap_or(&path))?);
        }
    }
    if let Some(root) = &here.workspace {
        let path = uri::to_path(root).unwrap_or_else(|| PathBuf::from(&**root));
        if !path.is_dir() {
            return Err(
                Failure::usage(refusal::no_directory(&path)).hint(refusal::NO_DIRECTORY_HINT)
            );
        }
        return Ok(server.handle_of(&path)?);
    }
    match candidates(&server.workspaces).as_slice() {
        [handle] => Ok(handle.clone()),
        [] => Err(Failure::usage(refusal::NO_WORKSPACE).hint(refusal::NO_WORKSPACE_HINT)),
        _ => {
            Err(Failure::usage(refusal::SEVERAL_WORKSPACES).hint(refusal::SEVERAL_WORKSPACES_HINT))
        }
    }
}

/// Returns the candidates if no workspace is named: those with a history, if there are any.
pub fn candidates(workspaces: &Workspaces) -> Vec<Arc<WorkspaceHandle>> {
    let handles = workspaces.all();
    let recorded = |handle: &&Arc<WorkspaceHandle>| handle.has_history();
    let with_history: Vec<Arc<WorkspaceHandle>> =
        handles.iter().filter(recorded).cloned().collect();
    if with_history.is_empty() {
        handles
    } else {
        with_history
    }
}

/// Reads a path argument: a URI, or a path relative to the root.
pub fn path(handle: &WorkspaceHandle, typed: &str) -> Reply<RelPath> {
    let found = rel_path(handle, typed);
    found.ok_or_else(|| Failure::usage(refusal::no_path(typed, handle.root())))
}

/// As `path`. None: it names no path of the workspace.
pub fn rel_path(handle: &WorkspaceHandle, typed: &str) -> Option<RelPath> {
    match uri::to_path(typed) {
        Some(full) => {
            // a document is the file that its link points to
            let real = document::resolve_links(&full);
            let inside = real
                .iter()
                .chain([&full])
                .find_map(|p| p.strip_prefix(handle.root()).ok());
            inside.and_then(RelPath::from_path)
        }
        None => RelPath::new(typed),
    }
}

/// Reads the options of a restore; the goal is set later.
pub fn request(handle: &WorkspaceHandle, typed: &Choices) -> Reply<Request> {
    let mut request = Request::new(Goal::Redo);
    if let Some(typed) = typed.scope.as_deref() {
        let scope = Scope::from_name(typed);
        request.scope = scope.ok_or_else(|| Failure::usage(refusal::scope(typed)))?;
    }
    request.session.clone_from(&typed.session);
    request.all_sessions = typed.all_sessions;
    request.hunks.clone_from(&typed.hunks);
    let paths = typed.paths.iter().map(|typed| path(handle, typed));
    request.paths = paths.collect::<Reply<_>>()?;
    request.take_uncertain = match typed.uncertain.as_deref() {
        None | Some("keep") => false,
        Some("take") => true,
        Some(other) => {
            return Err(Failure::usage(refusal::uncertain(other)));
        }
    };
    request.on_conflict = on_conflict(typed.on_conflict.as_deref())?;
    Ok(request)
}

/// Reads the option for conflicts.
pub fn on_conflict(typed: Option<&str>) -> Reply<OnConflict> {
    Ok(match typed {
        None | Some("fail") => OnConflict::Fail,
        Some("markers") => OnConflict::Markers,
        Some("current") => OnConflict::Current,
        Some("target") => OnConflict::Target,
        Some(other) => return Err(Failure::usage(refusal::on_conflict(other))),
    })
}
