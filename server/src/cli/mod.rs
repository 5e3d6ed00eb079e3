//! The command line: parses arguments, dispatches each command on the history to its module and reports failures.
//! The engine makes every decision about the history.

pub mod args;
mod blame;
mod branch;
mod breakpoint;
mod complete;
pub mod context;
mod control_args;
mod control_context;
mod debug;
mod diff;
mod effect;
pub mod error;
mod files;
mod gc;
mod graph;
mod held;
mod held_text;
mod hints;

mod line;
mod log;
pub mod out;
mod pager;
mod plan;

mod repl;
mod restore;
mod review;
mod settings;
mod show;
mod stats;
mod store;

use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use backstitch_protocol::Effect;
use clap::{CommandFactory, Parser};
use serde_json::json;

use args::{Cli, CliCommand, GlobalArgs};
use context::CommandContext;
use error::{CliError, CliResult, ExitKind};
use out::Out;
use pager::Pager;

use crate::control::guard::{self, Face};

/// Answers a shell that asks for completions. Returns false if this is an ordinary run.
pub fn complete() -> bool {
    complete::answer(Cli::command)
}

/// Parses the arguments of this process. If they are wrong, or ask for help, prints that and returns the exit code.
pub fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| usage_error(&error))
}

/// Refuses a command that decides, from inside an agent.
pub fn refuse_agents(command: &CliCommand, global: &GlobalArgs) -> CliResult<()> {
    let declared = command.declared();
    if declared.effect != Effect::Decides {
        return Ok(());
    }
    // outside of a workspace, too: hooks are the user's
    let workspace = context::find(global).ok();
    match guard::refuse(workspace.as_ref(), Face::Terminal, declared.name)? {
        None => Ok(()),
        Some(refusal) => Err(CliError::refused(refusal.reason).hint(refusal.hint)),
    }
}

/// Runs a command on the history.
pub fn run(command: CliCommand, global: &GlobalArgs, out: &Out) -> CliResult<()> {
    let command = match held::run(command, global, out) {
        Ok(outcome) => return outcome,
        Err(other) => *other,
    };
    match command {
        CliCommand::Init { dir } => store::init(global, dir.as_deref(), out),
        CliCommand::Completions { shell } => out::content(&complete::script(shell)?),
        CliCommand::Status => store::status(global, out),
        command => {
            let verifies = matches!(command, CliCommand::Verify);
            let lists = empty_list(&command);
            let is_log = matches!(command, CliCommand::Log(_));
            if is_paged(&command) {
                out.page();
            }
            let outcome =
                CommandContext::open(global, records(&command), out).and_then(|mut context| {
                    let outcome = run_in_workspace(command, &mut context);
                    context.engine.tidy();
                    outcome
                });
            let paged = out.end_paging();
            let outcome = outcome.and(paged);
            match (outcome, lists) {
                (Err(error), Some(list)) if error.kind == ExitKind::Unrecorded => {
                    if is_log {
                        log::note_turned_away(global, out)?;
                    }
                    list(out)
                }
                (Err(error), _) if verifies => Err(unverified(error)),
                (outcome, _) => outcome,
            }
        }
    }
}

/// Replaces a hint to run `verify` if `verify` itself cannot read the store.
fn unverified(error: CliError) -> CliError {
    let circular = |hint: &String| hint.contains("backstitch verify");
    if error.hint.as_ref().is_some_and(circular) {
        error.hint(
            "the history cannot be read; your files are untouched. Move the store away to start a new \
             history, or restore the store from a backup",
        )
    } else {
        error
    }
}

/// Returns the printer of an empty list, for commands that list something before anything is recorded.
fn empty_list(command: &CliCommand) -> Option<fn(&Out) -> CliResult<()>> {
    match command {
        CliCommand::Log(_) => Some(log::nothing),
        CliCommand::Oplog => Some(store::no_operations),
        CliCommand::Stats => Some(stats::nothing),
        CliCommand::Review(_) => Some(review::nothing),
        CliCommand::Clear(_) => Some(stats::nothing_to_clear),
        CliCommand::Branch(options) if options.lists() => Some(branch::only_main),
        CliCommand::Tag(options) if options.name.is_none() && options.delete.is_none() => {
            Some(branch::no_tags)
        }
        CliCommand::Checkpoint(options) if options.lists() => Some(store::no_checkpoints),
        _ => None,
    }
}

/// True if a command only shows something that may be long.
fn is_paged(command: &CliCommand) -> bool {
    match command {
        CliCommand::Log(_)
        | CliCommand::Show(_)
        | CliCommand::Diff(_)
        | CliCommand::Blame(_)
        | CliCommand::Oplog => true,
        CliCommand::Review(options) => !(options.keep || options.unkeep || options.interactive),
        CliCommand::Branch(options) => options.lists(),
        CliCommand::Tag(options) => options.name.is_none() && options.delete.is_none(),
        CliCommand::Checkpoint(options) => options.lists(),
        _ => false,
    }
}

/// True if a command creates the history of a workspace that has none.
fn records(command: &CliCommand) -> bool {
    match command {
        CliCommand::Checkpoint(options) => options.records(),
        CliCommand::Scan => true,
        _ => false,
    }
}

/// Runs a command that needs an opened workspace.
fn run_in_workspace(command: CliCommand, context: &mut CommandContext) -> CliResult<()> {
    match command {
        CliCommand::Checkpoint(options) => store::checkpoint(context, options),
        CliCommand::Log(options) => log::run(context, &options),
        CliCommand::Show(options) => show::run(context, &options),
        CliCommand::Diff(options) => diff::run(context, &options),
        CliCommand::Cat {
            rev,
            path,
            unsaved: None,
        } => show::cat(context, &rev, &path),
        CliCommand::Cat {
            rev,
            path,
            unsaved: Some(number),
        } => show::cat_unsaved(context, &rev, &path, number),
        CliCommand::Blame(options) => blame::run(context, &options),
        CliCommand::Review(options) => review::run(context, &options),
        CliCommand::Rewind(options) => restore::rewind(context, &options),
        CliCommand::Revert(options) => restore::revert(context, &options),
        CliCommand::Undo(options) => restore::undo(context, &options),
        CliCommand::Redo(options) => restore::redo(context, &options),
        CliCommand::Fork(options) => branch::fork(context, &options),
        CliCommand::Switch(options) => restore::switch(context, &options),
        CliCommand::Branch(options) => branch::run(context, &options),
        CliCommand::Tag(options) => branch::tag(context, &options),
        CliCommand::Ancestor { a, b } => branch::ancestor(context, &a, &b),
        CliCommand::Oplog => store::oplog(context),
        CliCommand::Materialize { rev, into } => store::materialize(context, &rev, &into),
        CliCommand::Verify => store::verify(context),
        CliCommand::Gc(options) => gc::run(context, &options),
        CliCommand::Stats => stats::stats(context),
        CliCommand::Clear(options) => stats::clear(context, &options),
        CliCommand::Scan => Ok(context.engine.capture_mut().continue_scan()?),
        CliCommand::Breakpoint(_)
        | CliCommand::Pauses(_)
        | CliCommand::Pause(_)
        | CliCommand::Resume(_)
        | CliCommand::Step(_)
        | CliCommand::Skip(_)
        | CliCommand::Deny(_)
        | CliCommand::Stop(_)
        | CliCommand::Inject(_)
        | CliCommand::Back(_)
        | CliCommand::Inspect(_)
        | CliCommand::Debug(_)
        | CliCommand::Repl(_)
        | CliCommand::Demo(_)
        | CliCommand::Setup(_)
        | CliCommand::Lsp(_)
        | CliCommand::Bridge
        | CliCommand::Mcp
        | CliCommand::Acp { .. }
        | CliCommand::Status
        | CliCommand::Doctor
        | CliCommand::Init { .. }
        | CliCommand::Completions { .. }
        | CliCommand::Hook { .. } => Ok(()),
    }
}

fn usage_error(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let paged = std::env::args_os().all(|arg| arg != "--no-pager");
        let pager = if paged { Pager::new() } else { None };
        let shown = pager.is_some_and(|mut pager| {
            let text = error.render();
            let text = if AutoStream::choice(&std::io::stdout()) == ColorChoice::Never {
                text.to_string()
            } else {
                text.ansi().to_string()
            };
            let written = pager.write(text.as_bytes());
            let (left, _) = pager.end();
            written.is_ok() && left.is_none()
        });
        if !shown {
            let _ = error.print();
        }
        return ExitCode::SUCCESS;
    }
    let _ = error.print();
    if std::env::args_os().any(|arg| arg == "--json") {
        let text = error.to_string();
        let message = text
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        let _ = out::answer(error_fields(&CliError::usage(message)));
    }
    ExitCode::from(ExitKind::Usage.exit_code())
}

/// Prints an error and returns its exit code.
pub fn report(mut error: CliError, out: &Out) -> ExitCode {
    let code = ExitCode::from(error.kind.exit_code());
    match error.kind {
        ExitKind::Closed => return code,
        // the user's own answer is no error
        ExitKind::Declined if !out.json => {
            let _ = out.remark(&format!("{}\n", error.message));
            return code;
        }
        _ => out.note("error", &error.message),
    }
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
        let _ = if error.is_line {
            answer["schema"] = 1.into();
            Out::json_line(&answer)
        } else {
            out::answer(answer)
        };
    }
    code
}

/// Returns an error as a field of a JSON document.
pub fn error_fields(error: &CliError) -> serde_json::Value {
    json!({ "error": {
        "kind": error.kind.name(),
        "message": error.message,
        "hint": error.hint,
    }})
}
