//! Changes of the history that move no file: branches, tags, checkpoints.

use std::path::PathBuf;
use std::sync::Arc;

use backstitch_core::Entry;
use backstitch_protocol::ForkResult;

use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::uri;
use crate::lsp::handler::failure::Reply;
use crate::lsp::session::ServerState;
use crate::to_protocol;

/// Creates a branch at a revision; generates a name if there is none.
pub async fn fork(
    handle: &Arc<WorkspaceHandle>,
    rev: String,
    name: Option<String>,
    into: Option<PathBuf>,
    server: &Arc<ServerState>,
) -> Reply<ForkResult> {
    let root = handle.root().to_path_buf();
    let into = into.map(|dir| {
        let named = dir.to_str().and_then(uri::to_path);
        root.join(named.unwrap_or(dir))
    });
    let forked = handle.act(false, move |WriteAccess { engine, .. }| {
        let from = engine.history().resolve(&rev)?;
        let name = match name {
            Some(name) => name,
            None => free_name(engine, &rev)?,
        };
        match &into {
            None => {
                let branch = engine.forks_mut().create_branch(&name, from, None)?;
                Ok(ForkResult {
                    branch: to_protocol::branch(&branch),
                    into: None,
                    files: None,
                    gaps: None,
                })
            }
            Some(dir) => {
                let forked = engine
                    .forks_mut()
                    .fork_into(&name, from, None, dir, &mut |_| {})?;
                let gaps = forked.written.gaps.iter().map(to_protocol::gap);
                Ok(ForkResult {
                    branch: to_protocol::branch(&forked.branch),
                    into: Some(to_protocol::path(&forked.root)),
                    files: Some(forked.written.files),
                    gaps: Some(gaps.collect()),
                })
            }
        }
    });
    let forked = forked.await?;
    server.changed(handle);
    Ok(forked)
}

/// Returns `fork-t4`, or `fork-t4-2` if that is taken.
fn free_name(engine: &backstitch_core::Engine, rev: &str) -> backstitch_core::Result<String> {
    let plain: String = rev
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect();
    let base = format!("fork-{}", plain.trim_matches('-'));
    let taken = engine.history().branches()?;
    let free = |name: &String| taken.iter().all(|branch| branch.name != *name);
    let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
    let mut names = std::iter::once(base.clone()).chain(numbered);
    Ok(names.find(free).unwrap_or(base))
}

/// Tags a checkpoint, and returns its id.
pub async fn tag(handle: &WorkspaceHandle, rev: String, name: String) -> Reply<String> {
    let tagged = handle.act(false, move |WriteAccess { engine, .. }| {
        let node = engine.history().resolve(&rev)?;
        engine.forks_mut().tag(&name, node)?;
        Ok(node.to_string())
    });
    Ok(tagged.await?)
}

/// Pins or unpins a checkpoint, and returns its id.
pub async fn pin(handle: &WorkspaceHandle, rev: String, pinned: bool) -> Reply<String> {
    let done = handle.act(false, move |WriteAccess { engine, .. }| {
        let node = engine.history().resolve(&rev)?;
        engine.forks_mut().pin(node, pinned)?;
        Ok(node.to_string())
    });
    Ok(done.await?)
}

/// Records the current state by hand. Starts the history if there is none.
pub async fn checkpoint(
    handle: &WorkspaceHandle,
    label: Option<String>,
    description: Option<String>,
) -> Reply<Entry> {
    let made = handle.act(true, move |WriteAccess { engine, .. }| {
        let node = engine
            .capture_mut()
            .checkpoint_about(label.as_deref(), description.as_deref())?;
        engine.history().entry(node)
    });
    Ok(made.await?)
}
