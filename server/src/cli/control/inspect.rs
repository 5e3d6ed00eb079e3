//! `inspect`: a held call with its input.

use backstitch_protocol::PauseDetails;
use clap::Args;
use serde_json::{Value, json};

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, reads};
use crate::cli::control::decide::HeldArgs;
use crate::cli::control::held_text::{self, HeldExtent};
use crate::cli::control_context::ControlContext;
use crate::control::details::{self, Around};
use crate::control::predict::read_disk;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out;

/// Print a held call with its input
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch inspect\n  backstitch inspect p7 --json")]
pub struct InspectArgs {
    #[command(flatten)]
    pub held: HeldArgs,
}

impl TerminalCommand for InspectArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("inspect")
    }
}

impl OnCalls for InspectArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        inspect(context, &self.held)
    }
}

fn inspect(context: &ControlContext, options: &HeldArgs) -> CliResult<()> {
    let control = context.required()?;
    let pause = control.pauses().open(
        options.pause.as_deref(),
        context
            .known_session(options.session.as_deref())?
            .as_deref(),
    )?;
    let shown = details::details(&pause, Around::default(), &read_disk);
    if context.out.json {
        return out::answer(json!({ "pause": document(&shown)? }));
    }
    context.out.text(&held_text::text(
        &shown,
        HeldExtent::WithInput,
        context.out.paint,
    ))
}

/// A held call in one document: the fields of its row, and those of its details beside them.
fn document(shown: &PauseDetails) -> CliResult<Value> {
    let failed = |error: serde_json::Error| CliError::failed(error.to_string());
    let mut document = serde_json::to_value(&shown.pause).map_err(failed)?;
    let details = serde_json::to_value(shown).map_err(failed)?;
    if let (Value::Object(row), Value::Object(details)) = (&mut document, details) {
        let left_out = ["pause", "seq", "recent", "others"];
        let details = details.into_iter();
        row.extend(details.filter(|(name, _)| !left_out.contains(&name.as_str())));
    }
    Ok(document)
}
