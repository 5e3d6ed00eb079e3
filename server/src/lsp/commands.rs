//! `workspace/executeCommand`: what each command is called with, and who does it. A command called without
//! arguments asks.

use std::sync::Arc;

use backstitch_core::model::{Kind, RelPath};
use backstitch_core::restore::{Goal, OnConflict, Request};
use backstitch_core::{Entry, LogFilter};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower_lsp::gen_lsp_types::MessageType;

use super::ask::ask;
use super::failure::{Failure, Outcome};
use super::restore::{self, Job};
use super::room::Room;
use super::session::Session;
use super::views;
use super::words::{self, Now, choice};
use super::{document, uri, writes};
use crate::{render, shape};

/// What `executeCommandProvider` lists: some clients run nothing else.
pub const COMMANDS: [&str; 10] = [
    "backstitch.rewind",
    "backstitch.undo",
    "backstitch.redo",
    "backstitch.revert",
    "backstitch.fork",
    "backstitch.switch",
    "backstitch.tag",
    "backstitch.checkpoint",
    "backstitch.diff",
    "backstitch.timeline",
];

/// Turns that a question offers.
const OFFERED: usize = 6;

/// Which workspace is meant; every command takes it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Where {
    pub uri: Option<String>,
    /// A workspace's root, as a path or URI.
    pub workspace: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Restoring {
    pub rev: Option<String>,
    pub turn: Option<String>,
    pub step: Option<String>,
    pub op: Option<String>,
    pub branch: Option<String>,
    pub carry: bool,
    pub scope: Option<String>,
    pub exact: bool,
    pub paths: Vec<String>,
    pub hunks: Vec<String>,
    pub session: Option<String>,
    pub uncertain: Option<String>,
    pub on_conflict: Option<String>,
    pub plan: Option<String>,
    pub confirm: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Naming {
    rev: Option<String>,
    name: Option<String>,
    into: Option<String>,
    label: Option<String>,
    switch: bool,
}

pub async fn run(session: &Arc<Session>, name: &str, arguments: Value) -> Outcome<Value> {
    let arguments = if arguments.is_null() {
        json!({})
    } else {
        arguments
    };
    if let Some(keys) = keys(name) {
        only(name, &arguments, &keys)?;
    }
    let here: Where = read(name, &arguments)?;
    let room = room(session, &here)?;
    match name {
        "backstitch.rewind" => {
            let mut typed: Restoring = read(name, &arguments)?;
            if typed.rev.is_none() {
                typed.rev = Some(a_turn(session, &room, "Rewind to before which turn?").await?);
            }
            restore::run(session, rewind(room, &typed)?).await
        }
        "backstitch.revert" => {
            let mut typed: Restoring = read(name, &arguments)?;
            if typed.turn.is_none() && typed.step.is_none() {
                typed.turn = Some(a_turn(session, &room, "Take out which turn?").await?);
            }
            restore::run(session, revert(room, &typed)?).await
        }
        "backstitch.undo" => {
            let typed: Restoring = read(name, &arguments)?;
            let job = Job::new(room, "undo", typed.op.clone(), &typed)?;
            restore::run(session, job).await
        }
        "backstitch.redo" => {
            let typed: Restoring = read(name, &arguments)?;
            let job = Job::new(room, "redo", None, &typed)?;
            restore::run(session, job).await
        }
        "backstitch.switch" => {
            let mut typed: Restoring = read(name, &arguments)?;
            if typed.branch.is_none() {
                typed.branch = Some(a_branch(session, &room).await?);
            }
            let job = Job::new(room, "switch to", typed.branch.clone(), &typed)?;
            restore::run(session, job).await
        }
        "backstitch.fork" => fork(session, room, read(name, &arguments)?).await,
        "backstitch.tag" => tag(session, room, read(name, &arguments)?).await,
        "backstitch.checkpoint" => checkpoint(session, room, read(name, &arguments)?).await,
        "backstitch.diff" => views::diff(session, room, read(name, &arguments)?).await,
        "backstitch.timeline" => views::timeline(session, room, here.uri.as_deref()).await,
        _ => Err(Failure::usage(format!("there is no command `{name}`"))),
    }
}

/// What every restore takes beside what it is to restore.
pub const RESTORING: [&str; 9] = [
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
/// What everything takes.
const WHERE: [&str; 2] = ["uri", "workspace"];

/// What a command takes; None: there is no such command.
fn keys(name: &str) -> Option<[&'static [&'static str]; 2]> {
    let none: &[&str] = &[];
    Some(match name {
        "backstitch.rewind" => [&["rev"], &RESTORING],
        "backstitch.revert" => [&["turn", "step"], &RESTORING],
        "backstitch.undo" => [&["op"], &RESTORING],
        "backstitch.redo" => [none, &RESTORING],
        "backstitch.switch" => [&["branch", "carry"], &RESTORING],
        "backstitch.fork" => [&["rev", "name", "into", "switch"], none],
        "backstitch.tag" => [&["name", "rev"], none],
        "backstitch.checkpoint" => [&["label"], none],
        "backstitch.diff" => [&["rev", "rev2"], none],
        "backstitch.timeline" => [none, none],
        _ => return None,
    })
}

/// Refuses what nobody would look at: a word written wrong is not to mean everything.
pub fn only(name: &str, arguments: &Value, keys: &[&[&str]; 2]) -> Outcome<()> {
    let known: Vec<&str> = keys.concat().into_iter().chain(WHERE).collect();
    let given = arguments.as_object().into_iter().flat_map(|all| all.keys());
    let unknown = given.filter(|key| !known.contains(&key.as_str()));
    let unknown: Vec<String> = unknown.map(|key| format!("`{key}`")).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let unknown = unknown.join(", ");
    Err(Failure::usage(format!("{name} does not take {unknown}"))
        .hint(format!("it takes {}", known.join(", "))))
}

pub fn read<T: DeserializeOwned>(name: &str, arguments: &Value) -> Outcome<T> {
    T::deserialize(arguments)
        .map_err(|error| Failure::usage(format!("the arguments of {name}: {error}")))
}

/// The workspace that is meant: of the document, as named, or the only one.
pub fn room(session: &Session, here: &Where) -> Outcome<Arc<Room>> {
    if let Some(uri) = &here.uri {
        if let Some(place) = session.documents.get(uri).and_then(|d| d.place) {
            return Ok(place.room);
        }
        if let Some(document) = uri::Virtual::parse(uri) {
            return Ok(session.room_of(&document.root)?);
        }
        if let Some(path) = uri::to_path(uri) {
            return Ok(session.room_of(path.parent().unwrap_or(&path))?);
        }
    }
    if let Some(root) = &here.workspace {
        let path = uri::to_path(root).unwrap_or_else(|| root.into());
        return Ok(session.room_of(&path)?);
    }
    let rooms = session.rooms();
    let recorded = |room: &&Arc<Room>| room.has_history();
    let with_history: Vec<&Arc<Room>> = rooms.iter().filter(recorded).collect();
    match (rooms.as_slice(), with_history.as_slice()) {
        ([room], _) => Ok(room.clone()),
        (_, [room]) => Ok((*room).clone()),
        ([], _) => Err(Failure::usage("no workspace is open")
            .hint("open a file of the one that is meant, or name it with `workspace`")),
        _ => Err(Failure::usage("several workspaces are open")
            .hint("name a document with `uri`, or a root with `workspace`")),
    }
}

/// A path as commands name it: a URI, or counted from the root.
pub fn path(room: &Room, typed: &str) -> Outcome<RelPath> {
    let found = match uri::to_path(typed) {
        Some(full) => {
            // a document is the file that its link leads to
            let real = document::real(&full);
            let inside = real
                .iter()
                .chain([&full])
                .find_map(|p| p.strip_prefix(room.root()).ok());
            inside.and_then(RelPath::from_path)
        }
        None => RelPath::new(typed),
    };
    found.ok_or_else(|| Failure::usage(format!("{typed} is no path in {}", room.root().display())))
}

fn rewind(room: Arc<Room>, typed: &Restoring) -> Outcome<Job> {
    Job::new(room, "rewind to", typed.rev.clone(), typed)
}

fn revert(room: Arc<Room>, typed: &Restoring) -> Outcome<Job> {
    let rev = typed.turn.clone().or_else(|| typed.step.clone());
    Job::new(room, "revert", rev, typed)
}

/// A request without its goal, as typed.
pub fn request(room: &Room, typed: &Restoring) -> Outcome<Request> {
    if let Some(scope) = typed.scope.as_deref().filter(|scope| *scope != "code") {
        return Err(Failure::new(
            "refused",
            format!(
                "scope {scope}: rewinding the conversation is not supported for this agent yet"
            ),
        )
        .hint("scope `code` rewinds the files alone; nothing was changed"));
    }
    let mut request = Request::new(Goal::Redo);
    request.exact = typed.exact;
    request.session.clone_from(&typed.session);
    request.hunks.clone_from(&typed.hunks);
    let paths = typed.paths.iter().map(|typed| path(room, typed));
    request.paths = paths.collect::<Outcome<_>>()?;
    request.take_uncertain = match typed.uncertain.as_deref() {
        None | Some("keep") => false,
        Some("take") => true,
        Some(other) => {
            return Err(Failure::usage(format!(
                "uncertain: `{other}` is neither keep nor take"
            )));
        }
    };
    request.on_conflict = match typed.on_conflict.as_deref() {
        None | Some("fail") => OnConflict::Fail,
        Some("markers") => OnConflict::Markers,
        Some("current") => OnConflict::Current,
        Some("target") => OnConflict::Target,
        Some(other) => {
            return Err(Failure::usage(format!(
                "onConflict: `{other}` is none of fail, markers, current, target"
            )));
        }
    };
    Ok(request)
}

/// Has the user choose one of the newest turns.
async fn a_turn(session: &Session, room: &Room, question: &str) -> Outcome<String> {
    let turns = room
        .ask(|engine| {
            engine.log(&LogFilter {
                kind: Some(Kind::Turn),
                limit: Some(OFFERED),
                ..LogFilter::default()
            })
        })
        .await?;
    let now = Now::read();
    let title = |entry: &Entry| {
        let turn = entry.turn.as_ref()?;
        let prompt = render::cut(&render::clean(&turn.prompt), 40);
        let age = now.ago(entry.node.time);
        Some((
            format!("t{} “{prompt}” · {age}", turn.number),
            format!("t{}", turn.number),
        ))
    };
    let offered: Vec<(String, String)> = turns.iter().filter_map(title).collect();
    if offered.is_empty() {
        return Err(Failure::new(
            "not_found",
            "no turn of an agent has been recorded yet",
        ));
    }
    one_of(session, question, offered).await
}

async fn a_branch(session: &Session, room: &Room) -> Outcome<String> {
    let branches = room.ask(|engine| engine.branches()).await?;
    let others = branches.iter().filter(|b| !b.current && !b.deleted);
    let offered: Vec<(String, String)> = others
        .map(|branch| (branch.name.clone(), branch.name.clone()))
        .collect();
    if offered.is_empty() {
        return Err(Failure::new("not_found", "there is no other branch").hint("`fork` makes one"));
    }
    one_of(session, "Switch to which branch?", offered).await
}

async fn one_of(
    session: &Session,
    question: &str,
    offered: Vec<(String, String)>,
) -> Outcome<String> {
    let mut titles: Vec<&str> = offered.iter().map(|(title, _)| title.as_str()).collect();
    titles.push(choice::CANCEL);
    let chosen = ask(session, MessageType::Info, question, &titles).await;
    let chosen = chosen.ok_or_else(Failure::cancelled)?;
    let found = offered.into_iter().find(|(title, _)| *title == chosen);
    found.map(|(_, value)| value).ok_or_else(Failure::cancelled)
}

async fn fork(session: &Arc<Session>, room: Arc<Room>, typed: Naming) -> Outcome<Value> {
    let rev = match typed.rev {
        Some(rev) => rev,
        None => a_turn(session, &room, "Fork from before which turn?").await?,
    };
    let into = typed.into.map(std::path::PathBuf::from);
    let forked = writes::fork(&room, rev, typed.name, into, session).await?;
    let name = forked["branch"]["name"].as_str().unwrap_or_default();
    let said = match forked["into"].as_str() {
        Some(into) => format!("Branch {name} was made, with its files in {into}."),
        None => format!("Branch {name} was made. `backstitch.switch` goes there."),
    };
    session.say(MessageType::Info, said);
    if typed.switch {
        let switching = Restoring {
            branch: Some(name.to_owned()),
            ..Restoring::default()
        };
        let job = Job::new(room, "switch to", switching.branch.clone(), &switching)?;
        restore::run(session, job).await?;
    }
    Ok(forked)
}

async fn tag(session: &Session, room: Arc<Room>, typed: Naming) -> Outcome<Value> {
    let Some(name) = typed.name else {
        return Err(Failure::usage("backstitch.tag needs a `name`"));
    };
    let rev = typed.rev.unwrap_or_else(|| "@".into());
    let tagged = writes::tag(&room, rev, name.clone()).await?;
    session.say(MessageType::Info, format!("{tagged} is tagged {name}."));
    Ok(json!({ "tag": name, "checkpoint": tagged }))
}

async fn checkpoint(session: &Session, room: Arc<Room>, typed: Naming) -> Outcome<Value> {
    let entry = writes::checkpoint(&room, typed.label).await?;
    let age = words::Now::read().ago(entry.node.time);
    session.say(
        MessageType::Info,
        format!("Checkpoint {} was made {age}.", entry.node.id),
    );
    Ok(shape::checkpoint(&entry))
}
