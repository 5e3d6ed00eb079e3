//! `step`: lets a held call run, and holds the next one.

use clap::Args;

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides};
use crate::cli::complete;
use crate::cli::control::decide::{HeldWord, InputArgs, continue_call};
use crate::cli::control_context::ControlContext;
use crate::control::acts::StepHow;
use crate::terminal::error::CliResult;

/// Let a held call run, and hold the next one
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch step\n  backstitch step into\n  backstitch step p7 file"
)]
pub struct StepArgs {
    /// Held call: p7 [default: the only one]. The next call to hold: `over`, `into`, `out`, `file`, `turn` [default: over]
    #[arg(value_name = "PAUSE|HOW", num_args = 0..=2, value_parser = HeldWord::parser(how))]
    pub words: Vec<HeldWord<StepHow>>,
    #[command(flatten)]
    pub input: InputArgs,
    /// The same as PAUSE
    #[arg(long, value_name = "PAUSE", hide = true)]
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
        let (pause, how) = HeldWord::read(&self.words, self.pause.as_deref())?;
        let held = (pause.as_deref(), self.session.as_deref());
        continue_call(
            context,
            held,
            &self.input,
            Some(how.unwrap_or(StepHow::Over)),
        )
    }
}

fn how(typed: &str) -> Result<StepHow, String> {
    StepHow::named(typed).map_err(|all| {
        let all = all.join(", ");
        format!("neither a held call, as p7, nor one of {all}")
    })
}
