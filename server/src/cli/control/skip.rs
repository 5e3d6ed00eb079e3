//! `skip`: does not run a held call.

use backstitch_control::PauseDecision;
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides};
use crate::cli::control::decide::{HeldArgs, decide};
use crate::cli::control_context::ControlContext;
use crate::terminal::error::CliResult;

/// Do not run a held call; the agent continues without it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch skip\n  backstitch skip p7")]
pub struct SkipArgs {
    #[command(flatten)]
    pub held: HeldArgs,
    /// Return the value of this expression instead (paused programs, in their language)
    #[arg(long, value_name = "EXPR")]
    pub value: Option<String>,
}

impl TerminalCommand for SkipArgs {
    fn declared(&self) -> DeclaredCommand {
        decides("skip")
    }
}

impl OnCalls for SkipArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        let decision = match self.value {
            Some(value) => PauseDecision::Replace { value },
            None => PauseDecision::Skip,
        };
        decide(context, &self.held, &decision)
    }
}
