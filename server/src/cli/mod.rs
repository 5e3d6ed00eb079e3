//! The command line: parses arguments, dispatches each command on the history to its module and reports failures.
//! The engine makes every decision about the history.

pub mod args;
mod blame;
mod branch;
mod breakpoint;
mod breakpoint_args;
mod choice;
mod complete;
pub mod context;
mod control_args;
mod control_context;
mod debug;
mod diff;
mod effect;
mod files;
mod gc;
mod graph;
mod groups;
mod held;
mod held_text;

mod log;
mod options;
mod plan;

mod repl;
mod restore;
mod review;
mod settings;
mod show;
mod stats;
mod store;

use std::path::Path;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use backstitch_protocol::Effect;
use clap::{CommandFactory, Parser};

use args::{Cli, CliCommand, GlobalArgs, HeldCommand, HistoryCommand};
use context::CommandContext;

use crate::control::guard::{self, Face};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::{self, Out};
use crate::terminal::pager::Pager;
use crate::terminal::report::error_fields;

/// Answers a shell that asks for completions. Returns false if this is an ordinary run.
pub fn complete() -> bool {
    complete::answer(Cli::command)
}

/// Parses the arguments of this process. If they are wrong, or ask for help, prints that and returns the exit code.
pub fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| usage_error(&groups::grouped(error)))
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

/// Makes a directory a workspace.
pub fn init(dir: Option<&Path>, global: &GlobalArgs, out: &Out) -> CliResult<()> {
    store::init(global, dir, out)
}

/// Shows the workspace, its store, and what is not captured.
pub fn status(global: &GlobalArgs, out: &Out) -> CliResult<()> {
    store::status(global, out)
}

/// Prints a shell's completions.
pub fn completions(shell: clap_complete::Shell) -> CliResult<()> {
    out::content(&complete::script(shell)?)
}

/// Runs a command about breakpoints and held calls.
pub fn run_held(command: HeldCommand, global: &GlobalArgs, out: &Out) -> CliResult<()> {
    held::run(command, global, out)
}

/// Runs a command on the history.
pub fn run_history(command: HistoryCommand, global: &GlobalArgs, out: &Out) -> CliResult<()> {
    let traits = Traits::of(&command);
    let verifies = matches!(command, HistoryCommand::Verify);
    let is_log = matches!(command, HistoryCommand::Log(_));
    if traits.paged {
        out.page();
    }
    let outcome = CommandContext::open(global, traits.records, out).and_then(|mut context| {
        let outcome = run_in_workspace(command, &mut context);
        context.engine.tidy();
        outcome
    });
    let paged = out.end_paging();
    match (outcome.and(paged), traits.empty) {
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

/// Properties of a command on the history.
#[derive(Default)]
struct Traits {
    /// It only shows something that may be long.
    paged: bool,
    /// It creates the history of a workspace that has none.
    records: bool,
    /// Prints its empty list, where it lists something before anything is recorded.
    empty: Option<fn(&Out) -> CliResult<()>>,
}

impl Traits {
    fn of(command: &HistoryCommand) -> Self {
        let plain = Self::default();
        let paged = Self {
            paged: true,
            ..Self::default()
        };
        let list = |empty: fn(&Out) -> CliResult<()>, paged| Self {
            paged,
            empty: Some(empty),
            ..Self::default()
        };
        match command {
            HistoryCommand::Log(_) => list(log::nothing, true),
            HistoryCommand::Oplog => list(store::no_operations, true),
            HistoryCommand::Stats => list(stats::nothing, false),
            HistoryCommand::Clear(_) => list(stats::nothing_to_clear, false),
            HistoryCommand::Review(options) => {
                let acts = options.keep || options.unkeep || options.interactive;
                list(review::nothing, !acts)
            }
            HistoryCommand::Branch(options) if options.lists() => list(branch::only_main, true),
            HistoryCommand::Tag(options) if options.lists() => list(branch::no_tags, true),
            HistoryCommand::Checkpoint(options) if options.lists() => {
                list(store::no_checkpoints, true)
            }
            HistoryCommand::Checkpoint(options) => Self {
                records: options.records(),
                ..plain
            },
            HistoryCommand::Scan => Self {
                records: true,
                ..plain
            },
            HistoryCommand::Show(_) | HistoryCommand::Diff(_) | HistoryCommand::Blame(_) => paged,
            HistoryCommand::Branch(_)
            | HistoryCommand::Tag(_)
            | HistoryCommand::Cat { .. }
            | HistoryCommand::Rewind(_)
            | HistoryCommand::Revert(_)
            | HistoryCommand::Undo(_)
            | HistoryCommand::Redo(_)
            | HistoryCommand::Fork(_)
            | HistoryCommand::Switch(_)
            | HistoryCommand::Ancestor { .. }
            | HistoryCommand::Materialize { .. }
            | HistoryCommand::Verify
            | HistoryCommand::Gc(_) => plain,
        }
    }
}

/// Runs a command that needs an opened workspace.
fn run_in_workspace(command: HistoryCommand, context: &mut CommandContext) -> CliResult<()> {
    match command {
        HistoryCommand::Checkpoint(options) => store::checkpoint(context, options),
        HistoryCommand::Log(options) => log::run(context, &options),
        HistoryCommand::Show(options) => show::run(context, &options),
        HistoryCommand::Diff(options) => diff::run(context, &options),
        HistoryCommand::Cat {
            rev,
            path,
            unsaved: None,
        } => show::cat(context, &rev, &path),
        HistoryCommand::Cat {
            rev,
            path,
            unsaved: Some(number),
        } => show::cat_unsaved(context, &rev, &path, number),
        HistoryCommand::Blame(options) => blame::run(context, &options),
        HistoryCommand::Review(options) => review::run(context, &options),
        HistoryCommand::Rewind(options) => restore::rewind(context, &options),
        HistoryCommand::Revert(options) => restore::revert(context, &options),
        HistoryCommand::Undo(options) => restore::undo(context, &options),
        HistoryCommand::Redo(options) => restore::redo(context, &options),
        HistoryCommand::Fork(options) => branch::fork(context, &options),
        HistoryCommand::Switch(options) => restore::switch(context, &options),
        HistoryCommand::Branch(options) => branch::run(context, &options),
        HistoryCommand::Tag(options) => branch::tag(context, &options),
        HistoryCommand::Ancestor { a, b } => branch::ancestor(context, &a, &b),
        HistoryCommand::Oplog => store::oplog(context),
        HistoryCommand::Materialize { rev, into } => store::materialize(context, &rev, &into),
        HistoryCommand::Verify => store::verify(context),
        HistoryCommand::Gc(options) => gc::run(context, &options),
        HistoryCommand::Stats => stats::stats(context),
        HistoryCommand::Clear(options) => stats::clear(context, &options),
        HistoryCommand::Scan => Ok(context.engine.capture_mut().continue_scan()?),
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
