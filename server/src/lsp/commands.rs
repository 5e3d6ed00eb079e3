//! `workspace/executeCommand`: reads the arguments of each command and delegates it. A command without a target asks
//! the user for one.

use std::path::Path;
use std::sync::Arc;

use backstitch_core::model::{Kind, RelPath};
use backstitch_core::restore::{Goal, OnConflict, Request};
use backstitch_core::{Entry, LogFilter};
use backstitch_protocol::{
    Checkpoint, Choices, FailureKind, ForkParams, ForkResult, NewCheckpointParams, PinParams,
    PinResult, RedoParams, RevertParams, RewindParams, SwitchParams, TagParams, TagResult, Text,
    UndoParams, Where,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_lsp::gen_lsp_types::MessageType;

use super::arguments;
use super::ask::must_ask;
use super::buffers;
use super::failure::{Failure, Reply};
use super::messages::{self, Now, arguments as argument_messages, choice, refusal};
use super::restore::{self, RestoreCommand, Verb};
use super::session::ServerState;
use super::views;
use super::{document, mutations, uri};
use crate::host::workspace::WorkspaceHandle;
use crate::to_protocol;

/// Commands that `executeCommandProvider` lists; some clients run no others.
pub const COMMANDS: [&str; 11] = [
    "backstitch.rewind",
    "backstitch.undo",
    "backstitch.redo",
    "backstitch.revert",
    "backstitch.fork",
    "backstitch.switch",
    "backstitch.tag",
    "backstitch.pin",
    "backstitch.checkpoint",
    "backstitch.diff",
    "backstitch.timeline",
];

/// Maximum number of turns that a question offers.
const MAX_OFFERED: usize = 6;

pub async fn run(server: &Arc<ServerState>, name: &str, arguments: Value) -> Reply<Value> {
    if !COMMANDS.contains(&name) {
        return Err(Failure::usage(refusal::no_command(name)).hint(refusal::there_are(&COMMANDS)));
    }
    let arguments = arguments::checked(name, arguments)?;
    let here: Where = read(name, &arguments)?;
    let handle = find_workspace(server, &here).await?;
    let answer = match name {
        "backstitch.rewind" => {
            let typed: RewindParams = read(name, &arguments)?;
            let rev = match typed.rev {
                Some(rev) => rev,
                None => ask_turn(server, &handle, messages::WHICH_REWIND).await?,
            };
            let mut job =
                RestoreCommand::new(server, handle, Verb::Rewind, Some(rev), &typed.choices)?;
            if let (Some(uri), Some((first, end))) = (&here.uri, typed.lines) {
                job = job.at_lines(server, uri, first..end).await?;
            }
            to_protocol::value(&restore::run(server, job).await?)
        }
        "backstitch.revert" => {
            let typed: RevertParams = read(name, &arguments)?;
            let rev = match typed.turn.or(typed.step) {
                Some(rev) => rev,
                None => ask_turn(server, &handle, messages::WHICH_REVERT).await?,
            };
            run_restore(server, handle, Verb::Revert, Some(rev), &typed.choices).await?
        }
        "backstitch.undo" => {
            let typed: UndoParams = read(name, &arguments)?;
            run_restore(server, handle, Verb::Undo, typed.op, &typed.choices).await?
        }
        "backstitch.redo" => {
            let typed: RedoParams = read(name, &arguments)?;
            run_restore(server, handle, Verb::Redo, None, &typed.choices).await?
        }
        "backstitch.switch" => {
            let typed: SwitchParams = read(name, &arguments)?;
            let branch = match typed.branch {
                Some(branch) => branch,
                None => ask_branch(server, &handle).await?,
            };
            let verb = Verb::Switch { carry: typed.carry };
            run_restore(server, handle, verb, Some(branch), &typed.choices).await?
        }
        "backstitch.fork" => {
            to_protocol::value(&fork(server, handle, read(name, &arguments)?).await?)
        }
        "backstitch.tag" => {
            to_protocol::value(&tag(server, handle, read(name, &arguments)?).await?)
        }
        "backstitch.pin" => {
            to_protocol::value(&pin(server, handle, read(name, &arguments)?).await?)
        }
        "backstitch.checkpoint" => {
            to_protocol::value(&checkpoint(server, handle, read(name, &arguments)?).await?)
        }
        "backstitch.diff" => {
            to_protocol::value(&views::diff(server, handle, read(name, &arguments)?).await?)
        }
        "backstitch.timeline" => {
            to_protocol::value(&views::timeline(server, handle, here.uri.as_deref()).await?)
        }
        _ => return Err(Failure::usage(refusal::no_command(name))),
    };
    Ok(answer)
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

/// Arguments of every restore, apart from its target.
pub const RESTORE_KEYS: [&str; 9] = [
    "scope",
    "exact",
    "paths",
    "hunks",
    "session",
    "uncertain",
    "onConflict",
    "plan",
    "confirm",
];
/// Arguments of every command and request.
const WORKSPACE_KEYS: [&str; 2] = ["uri", "workspace"];

/// Returns the arguments of one of our commands or requests; None if there is none of this name.
pub fn keys(name: &str) -> Option<[&'static [&'static str]; 2]> {
    let none: &[&str] = &[];
    Some(match name {
        "backstitch.rewind" => [&["rev", "lines"], &RESTORE_KEYS],
        "backstitch.revert" => [&["turn", "step"], &RESTORE_KEYS],
        "backstitch.undo" => [&["op"], &RESTORE_KEYS],
        "backstitch.redo" => [none, &RESTORE_KEYS],
        "backstitch.switch" => [&["branch", "carry"], &RESTORE_KEYS],
        "backstitch.fork" => [&["rev", "name", "into", "switch", "confirm"], none],
        "backstitch.tag" => [&["name", "rev"], none],
        "backstitch.pin" => [&["rev", "pinned"], none],
        "backstitch.checkpoint" => [&["label", "description"], none],
        "backstitch.diff" => [&["rev", "rev2", "turn"], none],
        "backstitch.timeline"
        | "backstitch/content"
        | "backstitch/blame"
        | "backstitch/sessions" => [none, none],
        "backstitch/plan" => [
            &[
                "rev", "turn", "step", "op", "undo", "redo", "branch", "carry", "texts",
            ],
            &RESTORE_KEYS,
        ],
        "backstitch/timeline" => [
            &[
                "limit",
                "before",
                "session",
                "agent",
                "kind",
                "text",
                "branch",
                "allBranches",
            ],
            none,
        ],
        "backstitch/checkpoint" => [&["rev"], none],
        "backstitch/diff" => [&["from", "to"], none],
        "backstitch/turnBegin" => [&["agent", "session", "prompt"], none],
        "backstitch/turnEnd" => [&["agent", "session"], none],
        "backstitch/applyEdit" => [&["agent", "session", "label", "edit"], none],
        _ => return None,
    })
}

/// Refuses unknown arguments: a misspelled one must not mean “everything”.
pub fn refuse_unknown(name: &str, arguments: &Value, keys: &[&[&str]; 2]) -> Reply<()> {
    let known: Vec<&str> = keys.concat().into_iter().chain(WORKSPACE_KEYS).collect();
    let given = arguments.as_object().into_iter().flat_map(|all| all.keys());
    let unknown = given.filter(|key| !known.contains(&key.as_str()));
    let unknown: Vec<&str> = unknown.map(String::as_str).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(argument_messages::not_taken(name, &unknown))
        .hint(argument_messages::takes(&known)))
}

pub fn read<T: DeserializeOwned>(name: &str, arguments: &Value) -> Reply<T> {
    T::deserialize(arguments).map_err(|error| {
        tracing::info!("{name}: {error}");
        Failure::usage(argument_messages::unreadable(name)).hint(argument_messages::UNREADABLE_HINT)
    })
}

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
        let path = uri::to_path(root).unwrap_or_else(|| root.into());
        if !path.is_dir() {
            return Err(
                Failure::usage(refusal::no_directory(&path)).hint(refusal::NO_DIRECTORY_HINT)
            );
        }
        return Ok(server.handle_of(&path)?);
    }
    match candidates(server).as_slice() {
        [handle] => Ok(handle.clone()),
        [] => Err(Failure::usage(refusal::NO_WORKSPACE).hint(refusal::NO_WORKSPACE_HINT)),
        _ => {
            Err(Failure::usage(refusal::SEVERAL_WORKSPACES).hint(refusal::SEVERAL_WORKSPACES_HINT))
        }
    }
}

/// Returns the candidates if no workspace is named: those with a history, if there are any.
fn candidates(server: &ServerState) -> Vec<Arc<WorkspaceHandle>> {
    let handles = server.handles();
    let recorded = |handle: &&Arc<WorkspaceHandle>| handle.has_history();
    let with_history: Vec<Arc<WorkspaceHandle>> =
        handles.iter().filter(recorded).cloned().collect();
    if with_history.is_empty() {
        handles
    } else {
        with_history
    }
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

/// Reads a path argument: a URI, or a path relative to the root.
pub fn path(handle: &WorkspaceHandle, typed: &str) -> Reply<RelPath> {
    let found = match uri::to_path(typed) {
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
    };
    found.ok_or_else(|| Failure::usage(refusal::no_path(typed, handle.root())))
}

/// Reads the options of a restore; the goal is set later.
pub fn request(handle: &WorkspaceHandle, typed: &Choices) -> Reply<Request> {
    if let Some(scope) = typed.scope.as_deref().filter(|scope| *scope != "code") {
        return Err(
            Failure::new(FailureKind::Refused, refusal::scope(scope)).hint(refusal::SCOPE_HINT)
        );
    }
    let mut request = Request::new(Goal::Redo);
    request.session.clone_from(&typed.session);
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
    request.on_conflict = match typed.on_conflict.as_deref() {
        None | Some("fail") => OnConflict::Fail,
        Some("markers") => OnConflict::Markers,
        Some("current") => OnConflict::Current,
        Some("target") => OnConflict::Target,
        Some(other) => {
            return Err(Failure::usage(refusal::on_conflict(other)));
        }
    };
    Ok(request)
}

/// Asks the user to choose one of the newest turns.
async fn ask_turn(server: &ServerState, handle: &WorkspaceHandle, question: &str) -> Reply<String> {
    let turns = handle
        .ask(|engine| {
            engine.log(&LogFilter {
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
    let branches = handle.ask(|engine| engine.branches()).await?;
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
        Some(rev) => rev,
        None => ask_turn(server, &handle, messages::WHICH_FORK).await?,
    };
    let mut switch = typed.switch;
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
    let into = typed.into.map(std::path::PathBuf::from);
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
    let taken = handle.ask(|engine| engine.tags()).await?;
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
    let rev = typed.rev.unwrap_or_else(|| "@".into());
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
    let rev = typed.rev.unwrap_or_else(|| "@".into());
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
