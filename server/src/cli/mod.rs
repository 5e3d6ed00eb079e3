//! The command line: parses arguments and runs the commands on the history and on held calls, each in its own module.
//! The engine makes every decision about the history.

pub mod args;
mod branches;
mod choice;
pub mod command;
mod complete;
mod completers;
mod completions;
pub mod context;
mod control;
mod control_context;
mod empty;
mod files;
pub mod front_ends;
mod help;
mod history;
pub mod jobs;
pub mod options;
mod restore;
mod review;
pub mod store;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use backstitch_job::place::holder;
use backstitch_protocol::Effect;
use clap::{CommandFactory, FromArgMatches};

use args::{Cli, CliCommand, HeldCommand, HistoryCommand};
use command::{OnCalls, OnHistory, TerminalCommand};
use context::CommandContext;
use control_context::ControlContext;
use options::GlobalArgs;

use crate::control::guard::{self, Face};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::{self, Out};
use crate::terminal::pager::Pager;
use crate::terminal::report::error_fields;

/// Answers a shell that asks for completions. Returns false if this is an ordinary run.
pub fn complete() -> bool {
    complete::answer(|after_separator| {
        let command = completers::with_completers(Cli::command());
        if after_separator {
            completers::after_separator(command)
        } else {
            command
        }
    })
}

/// Parses the arguments of this process. If they are wrong, or ask for help, prints that and returns the exit code.
pub fn parse() -> Result<Cli, ExitCode> {
    let mut command = Cli::command();
    let parsed = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| {
        empty::check(&mut command, &matches)?;
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    });
    parsed.map_err(|error| usage_error(&help::shown(error)))
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

/// Runs a command about breakpoints and held calls.
pub fn run_held(command: HeldCommand, global: &GlobalArgs, out: &Out) -> CliResult<()> {
    command.run(&ControlContext::open(global, out)?)
}

/// Refuses to change the files or the history of a run that a debugger holds: its state is that of the files.
fn refuse_held_run(command: &HistoryCommand, global: &GlobalArgs) -> CliResult<()> {
    if command.declared().effect != Effect::Decides {
        return Ok(());
    }
    let workspace = context::find(global)?;
    let Some(dir) = workspace.run_dir() else {
        return Ok(());
    };
    let Some(pid) = holder(dir)? else {
        return Ok(());
    };
    let id = dir.file_name().unwrap_or_default().to_string_lossy();
    let text = format!("process {pid} steps through the run {id}, whose files these are");
    let hint = "use its words there (`b`, `:undo`), or end it; then give the command again";
    Err(CliError::new(ExitKind::Refused, text).hint(hint))
}

/// Runs a command on the history.
pub fn run_history(command: HistoryCommand, global: &GlobalArgs, out: &Out) -> CliResult<()> {
    refuse_held_run(&command, global)?;
    let traits = command.traits();
    if traits.paged {
        out.page();
    }
    let outcome = CommandContext::open(global, traits.records, out).and_then(|mut context| {
        let outcome = command.run(&mut context);
        context.engine.tidy();
        outcome
    });
    let paged = out.end_paging();
    match (outcome.and(paged), traits.empty) {
        (Err(error), Some(list)) if error.kind == ExitKind::Unrecorded => list(global, out),
        (outcome, _) => outcome.map_err(|error| match traits.explain {
            Some(explain) => explain(error),
            None => error,
        }),
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
        // the missing arguments stand in the lines below
        let first = text.split("\n\n").next().unwrap_or_default();
        let words: Vec<&str> = first.split_whitespace().collect();
        let message = words.join(" ");
        let message = message.trim_start_matches("error: ");
        let _ = out::answer(error_fields(&CliError::usage(message)));
    }
    ExitCode::from(ExitKind::Usage.exit_code())
}
