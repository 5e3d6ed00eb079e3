//! `workspace/executeCommand`: delegates each command. A command without a target asks
//! the user for one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use backstitch_core::model::Kind;
use backstitch_core::{Entry, LogFilter};
use backstitch_protocol::{
    COMMANDS, Checkpoint, Choices, Command, FailureKind, ForkParams, ForkResult,
    NewCheckpointParams, PinParams, PinResult, RewindParams, TagParams, TagResult, Text, Where,
};
use serde_json::Value;
use tower_lsp::gen_lsp_types::MessageType;

use super::arguments;
use super::ask::must_ask;
use super::buffers;
use super::control;
use super::disk_merge;
use super::failure::{Failure, Reply};
use super::messages::{self, Now, choice, refusal};
use super::mutations;
use super::restore::{self, RestoreCommand};
use super::session::ServerState;
use super::targets::{candidates, workspace_handle};
use super::verb::Verb;
use super::views;
use crate::host::workspace::WorkspaceHandle;
use crate::to_protocol;

/// Maximum number of turns that a question offers.
const MAX_OFFERED: usize = 6;

pub async fn run(server: &Arc<ServerState>, name: &str, arguments: Value) -> Reply<Value> {
    use to_protocol::value;
    let Some(command) = Command::parse(name, arguments) else {
        let all: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        return Err(Failure::usage(refusal::no_command(name)).hint(refusal::there_are(&all)));
    };
    let command = command.map_err(|error| arguments::failure(name, &error))?;
    server.check_effect(command.effect(), name).await?;
    let handle = find_workspace(server, &command.place()).await?;
    Ok(match command {
        Command::Rewind(typed) => rewind(server, handle, typed).await?,
        Command::Revert(typed) => {
            let choices = typed.choices();
            let rev = match typed.turn.or(typed.step) {
                Some(rev) => rev.into(),
                None => ask_turn(server, &handle, messages::WHICH_REVERT).await?,
            };
            run_restore(server, handle, Verb::Revert, Some(rev), &choices).await?
        }
        Command::Undo(typed) => {
            let choices = typed.choices();
            let op = typed.op.map(String::from);
            run_restore(server, handle, Verb::Undo, op, &choices).await?
        }
        Command::Redo(typed) => {
            run_restore(server, handle, Verb::Redo, None, &typed.choices()).await?
        }
        Command::Switch(typed) => {
            let choices = typed.choices();
            let branch = match typed.branch {
                Some(branch) => branch.into(),
                None => ask_branch(server, &handle).await?,
            };
            let carry = typed.carry.unwrap_or_default();
            let verb = Verb::Switch { carry };
            run_restore(server, handle, verb, Some(branch), &choices).await?
        }
        Command::Fork(typed) => value(&fork(server, handle, typed).await?),
        Command::Tag(typed) => value(&tag(server, handle, typed).await?),
        Command::Pin(typed) => value(&pin(server, handle, typed).await?),
        Command::Checkpoint(typed) => value(&checkpoint(server, handle, typed).await?),
        Command::Diff(typed) => value(&views::diff(server, handle, typed).await?),
        Command::Timeline(typed) => {
            value(&views::timeline(server, handle, typed.uri.as_deref()).await?)
        }
        Command::Merge(typed) => value(&disk_merge::run(server, &handle, typed).await?),
        Command::Review(_) => value(&views::review(server, handle).await?),
        Command::AddBreakpoint(typed) => value(&control::add(server, &handle, typed).await?),
        Command::EditBreakpoint(typed) => value(&control::edit(server, &handle, typed).await?),
        Command::RemoveBreakpoint(typed) => value(&control::remove(server, &handle, &typed).await?),
        Command::EnableBreakpoint(typed) => {
            value(&control::enable(server, &handle, &typed, true).await?)
        }
        Command::DisableBreakpoint(typed) => {
            value(&control::enable(server, &handle, &typed, false).await?)
        }
        Command::ClearBreakpoints(_) => value(&control::clear(server, &handle).await?),
        Command::ListBreakpoints(_) => value(&control::list(server, &handle).await?),
        Command::ToggleBreakpoint(typed) => value(&control::toggle(server, &handle, &typed).await?),
        Command::Pause(typed) => value(&control::pause(server, &handle, typed).await?),
        Command::Resume(typed) => value(&control::resume(server, &handle, typed).await?),
        Command::Step(typed) => value(&control::step(server, &handle, typed).await?),
        Command::Skip(typed) => value(&control::skip(server, &handle, typed).await?),
        Command::Deny(typed) => value(&control::deny(server, &handle, typed).await?),
        Command::Stop(typed) => value(&control::stop(server, &handle, typed).await?),
        Command::Inject(typed) => value(&control::inject(server, &handle, typed).await?),
        Command::Back(typed) => value(&control::back(server, &handle, typed).await?),
        Command::ReplStart(typed) => value(&control::repl::start(server, &handle, typed).await?),
        Command::ReplEval(typed) => value(&control::repl::eval(&handle, typed).await?),
        Command::ReplClose(typed) => value(&control::repl::close(server, &handle, typed).await?),
        Command::ReplList(typed) => value(&control::repl::list(server, typed).await?),
        Command::Inspect(typed) => value(&control::inspect(server, &handle, typed).await?),
    })
}

async fn rewind(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    typed: RewindParams,
) -> Reply<Value> {
    let choices = typed.choices();
    let rev = match typed.rev {
        Some(rev) => rev.into(),
        None => ask_turn(server, &handle, messages::WHICH_REWIND).await?,
    };
    let mut job = RestoreCommand::new(server, handle, Verb::Rewind, Some(rev), &choices)?;
    if let (Some(uri), Some(lines)) = (&typed.uri, typed.lines) {
        let (first, end) = *lines;
        job = job.at_lines(server, uri, first..end).await?;
    }
    Ok(to_protocol::value(&restore::run(server, job).await?))
}

async fn run_restore(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    verb: Verb,
    rev: Option<String>,
    choices: &Choices,
) -> Reply<Value> {
    let job = RestoreCommand::new(server, handle, verb, rev, choices)?;
    Ok(to_protocol::value(&restore::run(server, job).await?))
}

/// Like `workspace_handle`, for a command: asks the user if several workspaces are possible.
async fn find_workspace(server: &ServerState, here: &Where) -> Reply<Arc<WorkspaceHandle>> {
    let candidates = candidates(server);
    if here.uri.is_some() || here.workspace.is_some() || candidates.len() < 2 {
        return workspace_handle(server, here);
    }
    let offered = candidates.iter().take(MAX_OFFERED);
    let offered = offered.map(|handle| {
        let root = handle.root().display().to_string();
        (root.clone(), root)
    });
    let chosen = choose(server, messages::WHICH_WORKSPACE, offered.collect()).await?;
    let chosen = Path::new(&chosen);
    let mut found = candidates
        .into_iter()
        .filter(|handle| handle.root() == chosen);
    found.next().ok_or_else(Failure::cancelled)
}

/// Asks the user to choose one of the newest turns.
async fn ask_turn(server: &ServerState, handle: &WorkspaceHandle, question: &str) -> Reply<String> {
    let turns = handle
        .ask(|engine| {
            engine.history().log(&LogFilter {
                kind: Some(Kind::Turn),
                limit: Some(MAX_OFFERED),
                ..LogFilter::default()
            })
        })
        .await?;
    let now = Now::read();
    let title = |entry: &Entry| {
        let turn = entry.turn.as_ref()?;
        let title = messages::offered(turn, &now.ago(entry.node.time));
        Some((title, format!("t{}", turn.number)))
    };
    let offered: Vec<(String, String)> = turns.iter().filter_map(title).collect();
    if offered.is_empty() {
        return Err(Failure::new(FailureKind::NotFound, refusal::NO_TURN));
    }
    choose(server, question, offered).await
}

async fn ask_branch(server: &ServerState, handle: &WorkspaceHandle) -> Reply<String> {
    let branches = handle.ask(|engine| engine.history().branches()).await?;
    let others = branches.iter().filter(|b| !b.current && !b.deleted);
    let offered: Vec<(String, String)> = others
        .map(|branch| (branch.name.clone(), branch.name.clone()))
        .collect();
    if offered.is_empty() {
        return Err(
            Failure::new(FailureKind::NotFound, refusal::NO_BRANCH).hint(refusal::NO_BRANCH_HINT)
        );
    }
    choose(server, messages::WHICH_BRANCH, offered).await
}

async fn choose(
    server: &ServerState,
    question: &str,
    offered: Vec<(String, String)>,
) -> Reply<String> {
    let mut titles: Vec<&str> = offered.iter().map(|(title, _)| title.as_str()).collect();
    titles.push(choice::CANCEL);
    let chosen = must_ask(server, MessageType::Info, question, &titles).await?;
    let chosen = chosen.ok_or_else(Failure::cancelled)?;
    let found = offered.into_iter().find(|(title, _)| *title == chosen);
    found.map(|(_, value)| value).ok_or_else(Failure::cancelled)
}

async fn fork(
    server: &Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    typed: ForkParams,
) -> Reply<ForkResult> {
    let rev = match typed.rev {
        Some(rev) => rev.into(),
        None => ask_turn(server, &handle, messages::WHICH_FORK).await?,
    };
    let mut switch = typed.switch.unwrap_or_default();
    if typed.name.is_none() && typed.into.is_none() && typed.confirm.unwrap_or(true) {
        let answers = [choice::FORK, choice::FORK_SWITCH, choice::CANCEL];
        let question = messages::fork_question(&rev);
        let chosen = must_ask(server, MessageType::Info, &question, &answers).await?;
        match chosen.as_deref() {
            Some(choice::FORK) => {}
            Some(choice::FORK_SWITCH) => switch = true,
            _ => return Err(Failure::cancelled()),
        }
    }
    let into = typed.into.map(|into| PathBuf::from(String::from(into)));
    buffers::record_all(server, &handle, false).await;
    let forked = mutations::fork(&handle, rev, typed.name, into, server).await?;
    let name = &forked.branch.name;
    let message = match forked.into.as_ref().and_then(Text::plain) {
        Some(into) => messages::forked_into(name, into),
        None => messages::forked(name),
    };
    server.report(message);
    if switch {
        let (branch, verb) = (name.clone(), Verb::Switch { carry: false });
        let job = RestoreCommand::new(server, handle, verb, Some(branch), &Choices::default())?;
        restore::run(server, job).await?;
    }
    Ok(forked)
}

/// Asks for a tag's name. LSP has no text input, so some names are offered.
async fn ask_tag(server: &ServerState, handle: &WorkspaceHandle) -> Reply<String> {
    let taken = handle.ask(|engine| engine.forks().tags()).await?;
    let free = |base: &str| {
        let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        names.find(|name| taken.iter().all(|tag| tag.name != *name))
    };
    let names = messages::TAGS.iter().filter_map(|base| free(base));
    let offered = names.map(|name| (name.clone(), name)).collect();
    choose(server, messages::WHICH_TAG, offered).await
}

async fn tag(
    server: &ServerState,
    handle: Arc<WorkspaceHandle>,
    typed: TagParams,
) -> Reply<TagResult> {
    let name = match typed.name {
        Some(name) => name,
        None => ask_tag(server, &handle).await?,
    };
    let rev = typed.rev.map_or_else(|| "@".into(), String::from);
    buffers::record_all(server, &handle, false).await;
    let tagged = mutations::tag(&handle, rev, name.clone()).await?;
    server.report(messages::tagged(&tagged, &name));
    Ok(TagResult {
        tag: name,
        checkpoint: tagged,
    })
}

async fn pin(
    server: &ServerState,
    handle: Arc<WorkspaceHandle>,
    typed: PinParams,
) -> Reply<PinResult> {
    let rev = typed.rev.map_or_else(|| "@".into(), String::from);
    let pinned = typed.pinned.unwrap_or(true);
    buffers::record_all(server, &handle, false).await;
    let checkpoint = mutations::pin(&handle, rev, pinned).await?;
    server.report(messages::pinned(&checkpoint, pinned));
    Ok(PinResult { checkpoint, pinned })
}

async fn checkpoint(
    server: &ServerState,
    handle: Arc<WorkspaceHandle>,
    typed: NewCheckpointParams,
) -> Reply<Checkpoint> {
    // text typed until this moment is part of it
    buffers::record_all(server, &handle, true).await;
    let entry = mutations::checkpoint(&handle, typed.label, typed.description).await?;
    let age = messages::Now::read().ago(entry.node.time);
    server.report(messages::checkpoint_made(entry.node.id, &age));
    Ok(to_protocol::checkpoint(&entry))
}
