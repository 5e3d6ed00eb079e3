//! The commands of `workspace/executeCommand`, each with its handler. A new command does not compile without one.

use std::sync::Arc;

use backstitch_protocol::{COMMANDS, Command};
use serde_json::Value;

use crate::lsp::commands::questions::find_workspace;
use crate::lsp::commands::{checkpoints, conversation, rewinds};
use crate::lsp::control;
use crate::lsp::features::views;
use crate::lsp::handler::arguments;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::messages::refusal;
use crate::lsp::session::ServerState;
use crate::lsp::unsaved::disk_merge;
use crate::to_protocol::value;

pub async fn run(server: &Arc<ServerState>, name: &str, arguments: Value) -> Reply<Value> {
    let Some(command) = Command::parse(name, arguments) else {
        let all: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        return Err(Failure::usage(refusal::no_command(name)).hint(refusal::there_are(&all)));
    };
    let command = command.map_err(|error| arguments::failure(name, &error))?;
    server.check_effect(command.effect(), name).await?;
    let handle = find_workspace(server, &command.place()).await?;
    Ok(match command {
        Command::Rewind(typed) => value(&rewinds::rewind(server, handle, typed).await?),
        Command::Revert(typed) => value(&rewinds::revert(server, handle, typed).await?),
        Command::Undo(typed) => value(&rewinds::undo(server, handle, typed).await?),
        Command::Redo(typed) => value(&rewinds::redo(server, handle, typed).await?),
        Command::Switch(typed) => value(&rewinds::switch(server, handle, typed).await?),
        Command::Fork(typed) => value(&checkpoints::fork(server, handle, typed).await?),
        Command::Conversation(typed) => value(&conversation::last(&handle, typed).await?),
        Command::Summarize(typed) => value(&conversation::summarize(server, &handle, typed).await?),
        Command::Tag(typed) => value(&checkpoints::tag(server, handle, typed).await?),
        Command::Pin(typed) => value(&checkpoints::pin(server, handle, typed).await?),
        Command::Checkpoint(typed) => value(&checkpoints::checkpoint(server, handle, typed).await?),
        Command::Diff(typed) => value(&views::diff(server, handle, typed).await?),
        Command::Timeline(typed) => {
            value(&views::timeline(server, handle, typed.uri.as_deref()).await?)
        }
        Command::Merge(typed) => value(&disk_merge::run(server, &handle, typed).await?),
        Command::Review(_) => value(&views::review(server, handle).await?),
        Command::AddBreakpoint(typed) => value(&control::add(server, &handle, typed).await?),
        Command::EditBreakpoint(typed) => {
            value(&control::edit(&server.client, &handle, typed).await?)
        }
        Command::RemoveBreakpoint(typed) => {
            value(&control::remove(&server.client, &handle, &typed).await?)
        }
        Command::EnableBreakpoint(typed) => {
            value(&control::enable(&server.client, &handle, &typed, true).await?)
        }
        Command::DisableBreakpoint(typed) => {
            value(&control::enable(&server.client, &handle, &typed, false).await?)
        }
        Command::ClearBreakpoints(_) => value(&control::clear(&server.client, &handle).await?),
        Command::ListBreakpoints(_) => value(&control::list(server, &handle).await?),
        Command::ToggleBreakpoint(typed) => value(&control::toggle(server, &handle, &typed).await?),
        Command::Pause(typed) => value(&control::pause(&server.client, &handle, typed).await?),
        Command::Resume(typed) => value(&control::resume(&server.client, &handle, typed).await?),
        Command::Step(typed) => value(&control::step(&server.client, &handle, typed).await?),
        Command::Skip(typed) => value(&control::skip(&server.client, &handle, typed).await?),
        Command::Deny(typed) => value(&control::deny(&server.client, &handle, typed).await?),
        Command::Stop(typed) => value(&control::stop(&server.client, &handle, typed).await?),
        Command::Inject(typed) => value(&control::inject(&server.client, &handle, typed).await?),
        Command::Back(typed) => value(&control::back(server, &handle, typed).await?),
        Command::ReplStart(typed) => {
            value(&control::repl::start(&server.client, &handle, typed).await?)
        }
        Command::ReplEval(typed) => value(&control::repl::eval(&handle, typed).await?),
        Command::ReplClose(typed) => {
            value(&control::repl::close(&server.client, &handle, typed).await?)
        }
        Command::ReplList(typed) => value(&control::repl::list(server, typed).await?),
        Command::Inspect(typed) => value(&control::inspect(server, &handle, typed).await?),
    })
}
