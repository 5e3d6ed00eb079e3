//! Changes of the history that move no file: branches, tags, checkpoints.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use backstitch_core::model::NodeId;
use backstitch_core::{BranchStart, ConversationHow, Engine, Entry};
use backstitch_protocol::ForkResult;

use crate::conversation::{
    ConversationPlan, ConversationWanted, MadeConversation, ReadConversation, remove_left,
};
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::uri;
use crate::lsp::handler::failure::Reply;
use crate::lsp::session::ServerState;
use crate::terminal::error::CliResult;
use crate::to_protocol;

/// A branch as it is asked for.
#[derive(Debug)]
pub struct WantedFork {
    pub rev: String,
    /// None: it is generated.
    pub name: Option<String>,
    pub into: Option<PathBuf>,
    /// True if the agent's conversation is forked, too.
    pub forks_conversation: bool,
}

/// Creates a branch at a revision.
pub async fn fork(
    handle: &Arc<WorkspaceHandle>,
    wanted: WantedFork,
    server: &Arc<ServerState>,
) -> Reply<ForkResult> {
    let root = handle.root().to_path_buf();
    let WantedFork {
        rev,
        name,
        into,
        forks_conversation,
    } = wanted;
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
        let conversation = if forks_conversation {
            match forked_conversation(engine, from, into.as_deref()) {
                Ok(conversation) => Some(conversation),
                Err(error) => return Ok(Err(error)),
            }
        } else {
            None
        };
        let new = BranchStart {
            conversation: conversation.as_ref().map(|(_, made)| made.id),
            ..BranchStart::new(&name, from)
        };
        let forked = fork_now(engine, &new, into.as_deref());
        if let (Err(_), Some((_, made))) = (&forked, &conversation)
            && let Err(error) = made.remove(engine)
        {
            return Ok(Err(error));
        }
        Ok(Ok(ForkResult {
            conversation: conversation.map(|(plan, made)| made.shape(&plan)),
            ..forked?
        }))
    });
    let forked = forked.await??;
    server.changed(handle);
    Ok(forked)
}

/// Plans and makes the conversation of a fork.
fn forked_conversation(
    engine: &mut Engine,
    from: NodeId,
    into: Option<&Path>,
) -> CliResult<(ConversationPlan, MadeConversation)> {
    remove_left(engine)?;
    let read = ReadConversation::at(engine, from)?;
    let wanted = ConversationWanted {
        into,
        ..ConversationWanted::of(ConversationHow::Fork)
    };
    let plan = ConversationPlan::of(engine, read, &wanted)?;
    let made = plan.make(engine)?;
    Ok((plan, made))
}

fn fork_now(
    engine: &mut Engine,
    new: &BranchStart<'_>,
    into: Option<&Path>,
) -> backstitch_core::Result<ForkResult> {
    let Some(dir) = into else {
        let branch = engine.forks_mut().create_branch(new)?;
        return Ok(ForkResult {
            branch: to_protocol::branch(&branch),
            into: None,
            files: None,
            gaps: None,
            conversation: None,
        });
    };
    let forked = engine.forks_mut().fork_into(new, dir, &mut |_| {})?;
    let gaps = forked.written.gaps.iter().map(to_protocol::gap);
    Ok(ForkResult {
        branch: to_protocol::branch(&forked.branch),
        into: Some(to_protocol::path(&forked.root)),
        files: Some(forked.written.files),
        gaps: Some(gaps.collect()),
        conversation: None,
    })
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
