//! `stop`: refuses a held call, and ends the turn.

use backstitch_control::PauseDecision;
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides};
use crate::cli::control::decide::{HeldArgs, decide};
use crate::cli::control_context::ControlContext;
use crate::terminal::error::CliResult;

/// Refuse a held call, and end the agent's turn
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch stop\n  backstitch stop -m \"this is the wrong file\""
)]
pub struct StopArgs {
    #[command(flatten)]
    pub held: HeldArgs,
    /// Reason for the model
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,
}

impl TerminalCommand for StopArgs {
    fn declared(&self) -> DeclaredCommand {
        decides("stop")
    }
}

impl OnCalls for StopArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        let decision = PauseDecision::Stop {
            message: self.message,
        };
        decide(context, &self.held, &decision)
    }
}
