//! The command line: parses, hands each command to its file, reports failures. Decides nothing about
//! the history; the engine does.

mod args;
mod blame;
mod branch;
mod context;
mod diff;
mod doctor;
mod error;
mod files;
mod gc;
mod graph;
mod hints;

mod line;
mod log;
mod out;
mod plan;

mod restore;
mod settings;
mod setup;
mod show;
mod stats;
mod store;
mod when;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use serde_json::json;

use crate::{demo, hook};
use args::{Cli, Command, Global};
use context::Desk;
use error::{Error, Kind, Result};
use out::Out;

pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return wrong_use(&error),
    };
    let out = Out::new(&cli.global);
    match run(cli, &out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(error, &out),
    }
}

fn run(cli: Cli, out: &Out) -> Result<()> {
    let global = &cli.global;
    if !matches!(cli.command, Command::Lsp(_)) {
        backstitch_core::config::read_once();
    }
    match cli.command {
        Command::Demo(options) => show_demo(options, out),
        Command::Setup(options) => setup::run(&options, global, out),
        Command::Init { dir } => store::init(global, dir.as_deref(), out),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "backstitch", &mut script);
            out::content(&script)
        }
        Command::Hook { agent } => {
            hook::run(hook_args(global, agent));
            Ok(())
        }
        Command::Lsp(options) => {
            if let Some(dir) = global.workspace.as_ref().filter(|dir| !dir.is_dir()) {
                let dir = dir.display();
                return Err(
                    Error::usage(format!("--workspace {dir}: there is no such directory"))
                        .hint("the editor names its folders; leave it out"),
                );
            }
            Ok(crate::lsp::run(&crate::lsp::Options {
                store_dir: global.store_dir.clone(),
                log: options.log,
                level: options.log_level,
            })?)
        }
        Command::Status => store::status(global, out),
        Command::Doctor => doctor::run(global, out),
        command => {
            let verifies = matches!(command, Command::Verify);
            let lists = empty_list(&command);
            let outcome = Desk::open(global, records(&command), out).and_then(|mut desk| {
                let outcome = at_desk(command, &mut desk);
                desk.engine.tidy();
                outcome
            });
            match (outcome, lists) {
                (Err(error), Some(list)) if error.kind == Kind::Unrecorded => list(out),
                (Err(error), _) if verifies => Err(unverified(error)),
                (outcome, _) => outcome,
            }
        }
    }
}

/// What is to be done where not even `verify` can read the store; others point to it.
fn unverified(error: Error) -> Error {
    let circular = |hint: &String| hint.contains("backstitch verify");
    if error.hint.as_ref().is_some_and(circular) {
        error.hint(
            "the history cannot be read; your files are untouched. Move the store aside, or bring it \
             back from a backup: recording then begins anew",
        )
    } else {
        error
    }
}

/// What a list of something is where nothing was ever recorded.
fn empty_list(command: &Command) -> Option<fn(&Out) -> Result<()>> {
    match command {
        Command::Log(_) => Some(log::nothing),
        Command::Oplog => Some(store::no_operations),
        Command::Stats => Some(stats::nothing),
        Command::Clear(_) => Some(stats::nothing_to_clear),
        Command::Branch(options) if options.lists() => Some(branch::only_main),
        Command::Tag(options) if options.name.is_none() && options.delete.is_none() => {
            Some(branch::no_tags)
        }
        Command::Checkpoint(options) if options.lists() => Some(store::no_checkpoints),
        _ => None,
    }
}

/// Whether a command begins the history of a workspace that has none.
fn records(command: &Command) -> bool {
    match command {
        Command::Checkpoint(options) => options.records(),
        Command::Scan => true,
        _ => false,
    }
}

/// The commands that work on an opened workspace.
fn at_desk(command: Command, desk: &mut Desk) -> Result<()> {
    match command {
        Command::Checkpoint(options) => store::checkpoint(desk, options),
        Command::Log(options) => log::run(desk, &options),
        Command::Show(options) => show::run(desk, &options),
        Command::Diff(options) => diff::run(desk, &options),
        Command::Cat {
            rev,
            path,
            unsaved: None,
        } => show::cat(desk, &rev, &path),
        Command::Cat {
            rev,
            path,
            unsaved: Some(number),
        } => show::cat_unsaved(desk, &rev, &path, number),
        Command::Blame(options) => blame::run(desk, &options),
        Command::Rewind(options) => restore::rewind(desk, &options),
        Command::Revert(options) => restore::revert(desk, &options),
        Command::Undo(options) => restore::undo(desk, &options),
        Command::Redo(options) => restore::redo(desk, &options),
        Command::Fork(options) => branch::fork(desk, &options),
        Command::Switch(options) => restore::switch(desk, &options),
        Command::Branch(options) => branch::run(desk, &options),
        Command::Tag(options) => branch::tag(desk, &options),
        Command::Ancestor { a, b } => branch::ancestor(desk, &a, &b),
        Command::Oplog => store::oplog(desk),
        Command::Materialize { rev, into } => store::materialize(desk, &rev, &into),
        Command::Verify => store::verify(desk),
        Command::Gc(options) => gc::run(desk, &options),
        Command::Stats => stats::stats(desk),
        Command::Clear(options) => stats::clear(desk, &options),
        Command::Scan => Ok(desk.engine.continue_scan()?),
        Command::Demo(_)
        | Command::Setup(_)
        | Command::Lsp(_)
        | Command::Status
        | Command::Doctor
        | Command::Init { .. }
        | Command::Completions { .. }
        | Command::Hook { .. } => Ok(()),
    }
}

fn show_demo(options: args::Demo, out: &Out) -> Result<()> {
    let report = demo::run(&demo::Options {
        dir: options.dir,
        keep: options.keep,
        color: out.paint.color,
        silent: out.json || out.quiet,
    })?;
    if !out.json {
        return Ok(());
    }
    out::answer(json!({
        "workspace": report.workspace.to_string_lossy(),
        "store": report.store.to_string_lossy(),
        "kept": report.kept,
        "checks": report.checks,
    }))
}

/// Global options stand before the word `hook` when the parser is asked.
fn hook_args(global: &Global, agent: String) -> impl Iterator<Item = std::ffi::OsString> {
    let mut args = vec![agent.into()];
    for (name, dir) in [
        ("--workspace", &global.workspace),
        ("--store-dir", &global.store_dir),
    ] {
        if let Some(dir) = dir {
            args.extend([name.into(), dir.clone().into_os_string()]);
        }
    }
    args.into_iter()
}

fn wrong_use(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    if std::env::args_os().any(|arg| arg == "--json") {
        let text = error.to_string();
        let message = text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        let _ = out::answer(error_fields(&Error::usage(message)));
    }
    ExitCode::from(Kind::Usage.exit_code())
}

fn report(mut error: Error, out: &Out) -> ExitCode {
    let code = ExitCode::from(error.kind.exit_code());
    if error.kind == Kind::Closed {
        return code;
    }
    out.note("error", &error.message);
    if let Some(hint) = &error.hint {
        out.note("hint", hint);
    }
    if out.json {
        let fields = error_fields(&error);
        let mut answer = error
            .answer
            .take()
            .map_or_else(|| json!({}), |answer| *answer);
        answer["error"] = fields["error"].clone();
        let _ = out::answer(answer);
    }
    code
}

fn error_fields(error: &Error) -> serde_json::Value {
    json!({ "error": {
        "kind": error.kind.name(),
        "message": error.message,
        "hint": error.hint,
    }})
}
