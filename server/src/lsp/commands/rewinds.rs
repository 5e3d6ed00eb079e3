//! Commands that restore files: rewind, revert, undo, redo and switch. `restore` carries them out.

use std::sync::Arc;

use backstitch_protocol::{
    Choices, RedoParams, RestoreResult, RevertParams, RewindParams, SwitchParams, UndoParams,
};

use super::questions::{ask_branch, ask_turn};
use super::restore::{self, RestoreCommand};
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::handler::failure::Reply;
use crate::lsp::messages;
use crate::lsp::session::ServerState;
use crate::lsp::verb::Verb;

pub async fn rewind(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    typed: RewindParams,
) -> Reply<RestoreResult> {
    let choices = typed.choices();
    let rev = match typed.rev {
        Some(rev) => rev.into(),
        None => ask_turn(&server.client, &handle, messages::WHICH_REWIND).await?,
    };
    let mut job = RestoreCommand::new(server, handle, Verb::Rewind, Some(rev), &choices)?;
    if let (Some(uri), Some(lines)) = (&typed.uri, typed.lines) {
        let (first, end) = *lines;
        job = job.at_lines(server, uri, first..end).await?;
    }
    restore::run(server, job).await
}

pub async fn revert(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    typed: RevertParams,
) -> Reply<RestoreResult> {
    let choices = typed.choices();
    let rev = match typed.turn.or(typed.step) {
        Some(rev) => rev.into(),
        None => ask_turn(&server.client, &handle, messages::WHICH_REVERT).await?,
    };
    run(server, handle, Verb::Revert, Some(rev), &choices).await
}

pub async fn undo(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    typed: UndoParams,
) -> Reply<RestoreResult> {
    let choices = typed.choices();
    let op = typed.op.map(String::from);
    run(server, handle, Verb::Undo, op, &choices).await
}

pub async fn redo(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    typed: RedoParams,
) -> Reply<RestoreResult> {
    run(server, handle, Verb::Redo, None, &typed.choices()).await
}

pub async fn switch(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    typed: SwitchParams,
) -> Reply<RestoreResult> {
    let choices = typed.choices();
    let branch = match typed.branch {
        Some(branch) => branch.into(),
        None => ask_branch(&server.client, &handle).await?,
    };
    let carry = typed.carry.unwrap_or_default();
    let verb = Verb::Switch { carry };
    run(server, handle, verb, Some(branch), &choices).await
}

async fn run(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    verb: Verb,
    rev: Option<String>,
    choices: &Choices,
) -> Reply<RestoreResult> {
    let job = RestoreCommand::new(server, handle, verb, rev, choices)?;
    restore::run(server, job).await
}
