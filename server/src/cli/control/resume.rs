//! `resume`: lets a held call run.

use clap::Args;

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides};
use crate::cli::control::decide::{HeldArgs, InputArgs, continue_call};
use crate::cli::control_context::ControlContext;
use crate::terminal::error::CliResult;

/// Let a held call run, as it is or with another input
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        backstitch resume\n  \
        backstitch inspect --json | jq .pause.input > input.json\n  \
        backstitch resume p7 --input input.json\n\n\
        The agent's own rules still hold: it may ask as well.")]
pub struct ResumeArgs {
    #[command(flatten)]
    pub held: HeldArgs,
    #[command(flatten)]
    pub input: InputArgs,
}

impl TerminalCommand for ResumeArgs {
    fn declared(&self) -> DeclaredCommand {
        decides("resume")
    }
}

impl OnCalls for ResumeArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        resume(context, &self)
    }
}

fn resume(context: &ControlContext, options: &ResumeArgs) -> CliResult<()> {
    let held = (
        options.held.pause.as_deref(),
        options.held.session.as_deref(),
    );
    continue_call(context, held, &options.input, None)
}
