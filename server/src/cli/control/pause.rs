//! `pause`: holds the next call of an agent.

use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides};
use crate::cli::complete;
use crate::cli::control_context::{CLIENT, ControlContext};
use crate::control::view;
use crate::terminal::error::CliResult;
use crate::terminal::out;

/// Hold the next call of an agent
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch pause\n  backstitch pause --all")]
pub struct PauseArgs {
    /// Only this session [default: the next call of any]
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// Hold calls of subagents, too
    #[arg(long)]
    pub all: bool,
}

impl TerminalCommand for PauseArgs {
    fn declared(&self) -> DeclaredCommand {
        decides("pause")
    }
}

impl OnCalls for PauseArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        pause(context, &self)
    }
}

fn pause(context: &ControlContext, options: &PauseArgs) -> CliResult<()> {
    let control = context.create()?;
    let made = control.pauses().hold_next(
        context
            .known_session(options.session.as_deref())?
            .as_deref(),
        options.all,
        CLIENT,
    )?;
    if context.out.json {
        return out::answer(json!({ "breakpoint": view::breakpoint(&made) }));
    }
    context.out.remark(&format!(
        "The next call is held. `backstitch pauses --watch` shows it; `backstitch breakpoint remove {}` cancels the pause.\n",
        made.id
    ))
}
