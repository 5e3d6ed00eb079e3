//! `deny`: refuses a held call, with a reason for the model.

use backstitch_control::PauseDecision;
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides};
use crate::cli::control::decide::{HeldArgs, decide};
use crate::cli::control_context::ControlContext;
use crate::terminal::error::CliResult;

/// Refuse a held call, with a reason for the model
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch deny -m \"use the helper in util.rs\"")]
pub struct DenyArgs {
    #[command(flatten)]
    pub held: HeldArgs,
    /// Reason for the model
    #[arg(short, long, value_name = "TEXT")]
    pub message: String,
}

impl TerminalCommand for DenyArgs {
    fn declared(&self) -> DeclaredCommand {
        decides("deny")
    }
}

impl OnCalls for DenyArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        let decision = PauseDecision::Deny {
            message: self.message,
        };
        decide(context, &self.held, &decision)
    }
}
