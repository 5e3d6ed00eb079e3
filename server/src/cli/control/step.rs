//! `step`: lets a held call run, and holds the next one.

use clap::Args;

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides};
use crate::cli::complete;
use crate::cli::control::decide::{InputArgs, StepHow, go_on};
use crate::cli::control_context::ControlContext;
use crate::terminal::error::CliResult;

/// Let a held call run, and hold the next one
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch step\n  backstitch step into\n  backstitch step file"
)]
pub struct StepArgs {
    /// The next call to hold
    #[arg(default_value = "over")]
    pub how: StepHow,
    #[command(flatten)]
    pub input: InputArgs,
    /// Held call: p7 [default: the only one]
    #[arg(long, value_name = "PAUSE")]
    pub pause: Option<String>,
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
}

impl TerminalCommand for StepArgs {
    fn declared(&self) -> DeclaredCommand {
        decides("step")
    }
}

impl OnCalls for StepArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        let held = (self.pause.as_deref(), self.session.as_deref());
        go_on(context, held, &self.input, Some(self.how))
    }
}
