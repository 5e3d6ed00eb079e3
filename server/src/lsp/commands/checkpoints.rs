//! Commands that change the history and move no file: fork, tag, pin and checkpoint, with their questions and reports.
//! `mutations` carries them out.

use std::path::PathBuf;
use std::sync::Arc;

use backstitch_protocol::{
    Checkpoint, Choices, ForkParams, ForkResult, NewCheckpointParams, PinParams, PinResult,
    TagParams, TagResult, Text,
};
use tower_lsp::gen_lsp_types::MessageType;

use super::mutations::{self, WantedFork};
use super::questions::{ask_tag, ask_turn};
use super::restore::{self, RestoreCommand};
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::handler::ask::must_ask;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::messages::{self, choice, refusal};
use crate::lsp::session::ServerState;
use crate::lsp::unsaved::buffers;
use crate::lsp::verb::Verb;
use crate::to_protocol;

pub async fn fork(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    typed: ForkParams,
) -> Reply<ForkResult> {
    let rev = match typed.rev {
        Some(rev) => rev.into(),
        None => ask_turn(&server.client, &handle, messages::WHICH_FORK).await?,
    };
    let mut switch = typed.switch.unwrap_or_default();
    if typed.name.is_none() && typed.into.is_none() && typed.confirm.unwrap_or(true) {
        let answers = [choice::FORK, choice::FORK_SWITCH, choice::CANCEL];
        let question = messages::fork_question(&rev);
        let chosen = must_ask(&server.client, MessageType::Info, &question, &answers).await?;
        match chosen.as_deref() {
            Some(choice::FORK) => {}
            Some(choice::FORK_SWITCH) => switch = true,
            _ => return Err(Failure::cancelled()),
        }
    }
    let into = typed.into.map(|into| PathBuf::from(String::from(into)));
    buffers::record_all(server, &handle, false).await;
    let forks_conversation = match typed.scope.as_deref() {
        None | Some("code") => false,
        Some("both") => true,
        Some(other) => return Err(Failure::usage(refusal::fork_scope(other))),
    };
    let wanted = WantedFork {
        rev,
        name: typed.name,
        into,
        forks_conversation,
    };
    let forked = mutations::fork(&handle, wanted, server).await?;
    let name = &forked.branch.name;
    let message = match forked.into.as_ref().and_then(Text::plain) {
        Some(into) => messages::forked_into(name, into),
        None => messages::forked(name),
    };
    let message = match &forked.conversation {
        Some(made) => message + &messages::plan::continue_with(made),
        None => message,
    };
    server.client.report(message);
    if switch {
        let (branch, verb) = (name.clone(), Verb::Switch { carry: false });
        let job = RestoreCommand::new(server, handle, verb, Some(branch), &Choices::default())?;
        restore::run(server, job).await?;
    }
    Ok(forked)
}

pub async fn tag(
    server: &ServerState,
    handle: Arc<WorkspaceHandle>,
    typed: TagParams,
) -> Reply<TagResult> {
    let name = match typed.name {
        Some(name) => name,
        None => ask_tag(&server.client, &handle).await?,
    };
    let rev = typed.rev.map_or_else(|| "@".into(), String::from);
    buffers::record_all(server, &handle, false).await;
    let tagged = mutations::tag(&handle, rev, name.clone()).await?;
    server.client.report(messages::tagged(&tagged, &name));
    Ok(TagResult {
        tag: name,
        checkpoint: tagged,
    })
}

pub async fn pin(
    server: &ServerState,
    handle: Arc<WorkspaceHandle>,
    typed: PinParams,
) -> Reply<PinResult> {
    let rev = typed.rev.map_or_else(|| "@".into(), String::from);
    let pinned = typed.pinned.unwrap_or(true);
    buffers::record_all(server, &handle, false).await;
    let checkpoint = mutations::pin(&handle, rev, pinned).await?;
    server.client.report(messages::pinned(&checkpoint, pinned));
    Ok(PinResult { checkpoint, pinned })
}

pub async fn checkpoint(
    server: &ServerState,
    handle: Arc<WorkspaceHandle>,
    typed: NewCheckpointParams,
) -> Reply<Checkpoint> {
    // text typed until this moment is part of it
    buffers::record_all(server, &handle, true).await;
    let entry = mutations::checkpoint(&handle, typed.label, typed.description).await?;
    let age = messages::Now::read().ago(entry.node.time);
    server
        .client
        .report(messages::checkpoint_made(entry.node.id, &age));
    Ok(to_protocol::checkpoint(&entry))
}
