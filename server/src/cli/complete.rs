//! Completion of revisions, branches, sessions, held calls and other names in a shell. Opens the history as a command would,
//! and completes nothing if that fails.

mod line;
mod shells;

use std::ffi::OsStr;
use std::path::PathBuf;

use backstitch_control::{Breakpoint, Control, Pause, PauseFilter, ReplFilter, ReplSession};
use backstitch_core::model::Kind;
use backstitch_core::{Engine, Locate, LogFilter, Workspace};
use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use shells::{TypedLine, VARIABLE};

use crate::control::shown;
use crate::opening;
use crate::render;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out;

/// Turns, checkpoints and sessions that are offered, newest first.
const OFFERED: usize = 200;
/// Columns of a prompt beside a candidate.
const HELP_WIDTH: usize = 60;

/// Answers a shell that asks for completions. Returns false if this is an ordinary run. `command` gets true if the completed
/// word follows `--`.
pub fn answer(command: fn(bool) -> Command) -> bool {
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty()) {
        return false;
    }
    // a shell shows no error while the user types
    let Some(line) = TypedLine::of_process() else {
        return true;
    };
    let words = line.words();
    let last = words.len() - 1;
    let cwd = std::env::current_dir().ok();
    let mut command = command(line.is_after_separator());
    let found = clap_complete::engine::complete(&mut command, words, last, cwd.as_deref());
    let answer = line.answer(&found.unwrap_or_default());
    // a shell that no longer reads needs nothing
    out::content(answer.as_bytes()).ok();
    true
}

/// Returns the script that a shell has to load.
pub fn script(shell: clap_complete::Shell) -> CliResult<Vec<u8>> {
    let program = std::env::args_os().next().unwrap_or_default();
    let mut program = PathBuf::from(program);
    if program.components().count() > 1 {
        program = std::path::absolute(program)?;
    }
    let script = shells::script(shell, &program.to_string_lossy())?;
    script.ok_or_else(|| CliError::usage(format!("there are no completions for {shell}")))
}

pub fn revisions() -> ArgValueCompleter {
    completer(|engine, typed| {
        let mut found = vec![candidate("@", "the newest checkpoint")];
        found.extend(turns(engine));
        found.extend(tags(engine));
        found.extend(branches_of(engine));
        // too many to be listed beside the rest
        if typed.starts_with('c') {
            found.extend(checkpoints(engine));
        }
        found
    })
}

pub fn branches() -> ArgValueCompleter {
    completer(|engine, _| branches_of(engine))
}

pub fn tag_names() -> ArgValueCompleter {
    completer(|engine, _| tags(engine))
}

pub fn sessions() -> ArgValueCompleter {
    completer(|engine, typed| {
        // an id only where one is begun: a letter is shorter, and is what the log shows
        let by_id = typed.starts_with(|first: char| !first.is_ascii_uppercase());
        let mut found: Vec<CompletionCandidate> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for entry in entries(engine, Some(Kind::Turn), true) {
            if let (Some(session), Some(turn)) = (&entry.session, &entry.turn)
                && !names.contains(&session.native)
            {
                let help = format!("{}, {}: {}", session.agent, turn_name(&entry), turn.prompt);
                let letter = session.id.letter();
                let name = if by_id { &session.native } else { &letter };
                found.push(candidate(name, &help));
                names.push(session.native.clone());
            }
        }
        found
    })
}

pub fn operations() -> ArgValueCompleter {
    completer(|engine, _| {
        let operations = engine.history().operations().unwrap_or_default();
        let operations = operations.iter().take(OFFERED);
        operations
            .map(|operation| {
                let about = format!("{} {}", operation.kind.name(), operation.target);
                candidate(&operation.id.to_string(), &about)
            })
            .collect()
    })
}

pub fn pauses() -> ArgValueCompleter {
    controlled(|control| {
        let open = control.pauses().list(PauseFilter::Open).unwrap_or_default();
        let named = |pause: &Pause| {
            let about = format!("{} {}", pause.call.agent, shown::summary(pause));
            candidate(&pause.id.to_string(), &about)
        };
        open.iter().map(named).collect()
    })
}

pub fn breakpoints() -> ArgValueCompleter {
    controlled(|control| {
        let all = control.breakpoints().all().unwrap_or_default();
        let named = |one: &Breakpoint| {
            let about = format!("{} {}", one.spec.kind(), one.spec.summary());
            candidate(&one.id.to_string(), &about)
        };
        all.iter().map(named).collect()
    })
}

pub fn repl_sessions() -> ArgValueCompleter {
    controlled(|control| {
        let filter = ReplFilter {
            limit: OFFERED,
            ..ReplFilter::default()
        };
        let (sessions, _) = control.repls().list(&filter).unwrap_or_default();
        let named = |session: &ReplSession| {
            let about = format!("{} at {}", session.function, session.pause);
            candidate(&session.id, &about)
        };
        sessions.iter().map(named).collect()
    })
}

/// Completes one of these words.
pub fn words(all: Vec<&'static str>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let mut words: Vec<&str> = all.clone();
        words.sort_unstable();
        words.dedup();
        beginning(
            typed,
            words.into_iter().map(CompletionCandidate::new).collect(),
        )
    })
}

fn controlled(
    find: impl Fn(&Control) -> Vec<CompletionCandidate> + Send + Sync + 'static,
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let control = workspace().and_then(|workspace| Control::open_existing(&workspace).ok()?);
        beginning(
            typed,
            control.map_or_else(Vec::new, |control| find(&control)),
        )
    })
}

/// Returns the candidates that begin as typed, in their order.
fn beginning(typed: &OsStr, found: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else {
        return Vec::new();
    };
    let found = found.into_iter().enumerate();
    found
        .map(|(at, candidate)| candidate.display_order(Some(at)))
        .filter(|candidate| {
            let value = candidate.get_value().to_string_lossy();
            value.starts_with(typed)
        })
        .collect()
}

fn completer(
    find: impl Fn(&Engine, &str) -> Vec<CompletionCandidate> + Send + Sync + 'static,
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let (Some(typed), Some(engine)) = (typed.to_str(), open()) else {
            return Vec::new();
        };
        beginning(OsStr::new(typed), find(&engine, typed))
    })
}

/// Opens the history that the typed line is about.
fn open() -> Option<Engine> {
    Engine::open_with(&workspace()?, opening::COMMAND.existing()).ok()
}

/// Finds the workspace that the typed line is about.
fn workspace() -> Option<Workspace> {
    let line = TypedLine::of_process()?;
    let option = |name: &str| line.option(name).map(PathBuf::from);
    let cwd = std::env::current_dir().ok()?;
    let workspace = Workspace::find(&Locate {
        workspace: option("--workspace").as_deref(),
        store_dir: option("--store-dir").as_deref(),
        cwd: &cwd,
    });
    workspace.ok()
}

fn candidate(value: &str, help: &str) -> CompletionCandidate {
    let help = render::cut(&render::clean(help), HELP_WIDTH);
    CompletionCandidate::new(value).help((!help.is_empty()).then(|| help.into()))
}

fn entries(engine: &Engine, kind: Option<Kind>, all_branches: bool) -> Vec<backstitch_core::Entry> {
    let filter = LogFilter {
        limit: Some(OFFERED),
        kind,
        all_branches,
        ..LogFilter::default()
    };
    engine.history().log(&filter).unwrap_or_default()
}

/// Returns a turn as a user types it.
fn turn_name(entry: &backstitch_core::Entry) -> String {
    let number = entry.turn.as_ref().map(|turn| turn.number);
    format!("t{}", number.unwrap_or_default())
}

fn turns(engine: &Engine) -> Vec<CompletionCandidate> {
    let turns = entries(engine, Some(Kind::Turn), false);
    let prompt = |entry: &backstitch_core::Entry| {
        let turn = entry.turn.as_ref();
        turn.map(|turn| turn.prompt.clone()).unwrap_or_default()
    };
    turns
        .iter()
        .map(|entry| candidate(&turn_name(entry), &prompt(entry)))
        .collect()
}

fn checkpoints(engine: &Engine) -> Vec<CompletionCandidate> {
    let about = |entry: &backstitch_core::Entry| {
        let named = entry.node.label.clone();
        let tool = entry.call.as_ref().map(|call| call.tool.clone());
        let prompt = entry.turn.as_ref().map(|turn| turn.prompt.clone());
        let words = named.or_else(|| {
            Some(
                [tool, prompt]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(": "),
            )
        });
        words
            .filter(|words| !words.is_empty())
            .unwrap_or_else(|| entry.node.kind.name().to_owned())
    };
    entries(engine, None, false)
        .iter()
        .map(|entry| candidate(&entry.node.id.to_string(), &about(entry)))
        .collect()
}

fn tags(engine: &Engine) -> Vec<CompletionCandidate> {
    let tags = engine.forks().tags().unwrap_or_default();
    tags.iter()
        .map(|tag| candidate(&tag.name, &format!("tag at {}", tag.node)))
        .collect()
}

fn branches_of(engine: &Engine) -> Vec<CompletionCandidate> {
    let branches = engine.history().branches().unwrap_or_default();
    let live = branches.iter().filter(|branch| !branch.deleted);
    live.map(|branch| {
        let about = if branch.current {
            "the current branch"
        } else {
            branch.description.as_deref().unwrap_or("branch")
        };
        candidate(&branch.name, about)
    })
    .collect()
}
