//! `back`: reverts the last steps of a held call's session.

use backstitch_core::Engine;
use backstitch_core::restore::OnConflict;
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides};
use crate::cli::control::decide::{HeldWord, carried_out, held, say};
use crate::cli::control_context::{CLIENT, ControlContext};
use crate::cli::{choice, complete};
use crate::control::acts::{self, Back, OwnEditor};
use crate::control::shown;
use crate::opening;
use crate::terminal::error::CliResult;

/// Revert the last steps of a held call's session, refuse the call, and tell the model
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch back\n  backstitch back p7 3")]
pub struct BackArgs {
    /// Held call: p7 [default: the only one]. Number of steps [default: 1]
    #[arg(value_name = "PAUSE|STEPS", num_args = 0..=2, value_parser = HeldWord::parser(steps))]
    pub words: Vec<HeldWord<usize>>,
    /// The same as PAUSE
    #[arg(long, value_name = "PAUSE", hide = true)]
    pub pause: Option<String>,
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// Resolve conflicts this way
    #[arg(long, value_name = "HOW", default_value = "fail", value_parser = choice::resolution())]
    pub on_conflict: OnConflict,
}

impl TerminalCommand for BackArgs {
    fn declared(&self) -> DeclaredCommand {
        decides("back")
    }
}

impl OnCalls for BackArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        back(context, &self)
    }
}

fn steps(typed: &str) -> Result<usize, String> {
    let number = typed.parse();
    number.map_err(|_| "neither a held call, as p7, nor a number of steps".to_owned())
}

fn back(context: &ControlContext, options: &BackArgs) -> CliResult<()> {
    let (pause, steps) = HeldWord::read(&options.words, options.pause.as_deref())?;
    let pause = held(context, pause.as_deref(), options.session.as_deref())?;
    let mut engine = Engine::open_with(&context.workspace, opening::COMMAND.existing())?;
    let control = context.required()?;
    let summary = shown::summary(&pause);
    let back = Back {
        steps: steps.unwrap_or(1),
        on_conflict: options.on_conflict,
        face: CLIENT,
    };
    let editor = OwnEditor::default();
    let (undone, _) = acts::back(&mut engine, &control, &pause, &back, &editor)?;
    let decided = carried_out(&control, &context.workspace, undone)?;
    say(context, &pause, &summary, &decided, None)
}
