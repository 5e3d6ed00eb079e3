//! `clear`: deletes the whole history.

use backstitch_control::Control;
use backstitch_core::Clearing;
use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, Traits, decides};
use crate::cli::context::CommandContext;
use crate::render;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out::{self, Out};
use crate::terminal::questions;

/// Delete the whole history of this workspace; its files stay
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch clear\n  backstitch clear --yes\n\n\
        This cannot be undone."
)]
pub struct ClearArgs {
    /// Do not ask, even if an agent is at work or other directories share the history
    #[arg(short, long, visible_alias = "force")]
    pub yes: bool,
}

impl TerminalCommand for ClearArgs {
    fn declared(&self) -> DeclaredCommand {
        decides("clear")
    }
}

impl OnHistory for ClearArgs {
    fn traits(&self) -> Traits {
        Traits {
            empty: Some(|_, out| nothing_to_clear(out)),
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        clear(context, &self)
    }
}

fn nothing_to_clear(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "checkpoints": 0, "turns": 0, "sessions": 0, "bytes": 0 }));
    }
    out.remark("Nothing has been recorded in this workspace: there is nothing to delete.\n")
}

fn clear(context: &mut CommandContext, options: &ClearArgs) -> CliResult<()> {
    let control = context.control()?;
    let held = control.as_ref().map_or(Ok(0), Control::held)?;
    if held > 0 {
        let calls = render::plural(held, "call is", "calls are");
        return Err(
            CliError::refused(format!("{calls} held now; nothing was deleted"))
                .hint("`backstitch pauses` lists them; decide on them first"),
        );
    }
    let clearing = context.engine.clearing()?;
    if !options.yes {
        let warnings = warnings(&clearing);
        if !context.out.json && questions::can_ask() {
            for warning in warnings {
                context.out.note("warning", &warning);
            }
            let root = clearing.status.root.display();
            context.out.text(&format!(
                "This deletes {} permanently. The files stay as they are.\n",
                amount(&clearing)
            ))?;
            if !questions::ask(&format!("Delete the history of {root}?"))? {
                return Err(CliError::refused("not confirmed; nothing was deleted"));
            }
        } else {
            let hint = match warnings.first() {
                Some(_) => "--yes deletes it anyway; the files stay as they are",
                None => "--yes deletes it; the files stay as they are",
            };
            let why = warnings.into_iter().next();
            let why =
                why.unwrap_or_else(|| format!("this deletes {} permanently", amount(&clearing)));
            return Err(CliError::refused(why).hint(hint));
        }
    }
    let removed = context.engine.clear()?;
    if let Some(control) = control {
        control.clear()?;
    }
    let after = context.engine.status()?.store_bytes;
    if context.out.json {
        return out::answer(json!({
            "checkpoints": removed.status.nodes,
            "turns": removed.status.turns,
            "sessions": removed.status.sessions,
            "bytes": removed.status.store_bytes.saturating_sub(after),
        }));
    }
    context.out.remark(&format!(
        "Deleted {}. The files are unchanged; a new history starts with the next recording.\n",
        amount(&removed)
    ))
}

/// Returns reasons not to delete the history.
fn warnings(clearing: &Clearing) -> Vec<String> {
    let mut warnings = Vec::new();
    if !clearing.others.is_empty() {
        let others: Vec<String> = clearing
            .others
            .iter()
            .map(|dir| dir.display().to_string())
            .collect();
        warnings.push(format!(
            "{} shares this history and would lose it too",
            others.join(", ")
        ));
    }
    if clearing.open_calls > 0 {
        let calls = usize::try_from(clearing.open_calls).unwrap_or_default();
        let calls = render::plural(calls, "tool call is", "tool calls are");
        warnings.push(format!("an agent is at work: {calls} under way"));
    }
    warnings
}

fn amount(clearing: &Clearing) -> String {
    let status = &clearing.status;
    let count =
        |n: i64, one, many| render::plural(usize::try_from(n).unwrap_or_default(), one, many);
    format!(
        "{}, {} and {} ({})",
        count(status.nodes, "checkpoint", "checkpoints"),
        count(status.turns, "turn", "turns"),
        count(status.sessions, "session", "sessions"),
        render::bytes(status.store_bytes)
    )
}
