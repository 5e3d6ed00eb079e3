//! `verify`: the integrity of the store.

use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, Traits, reads};
use crate::cli::context::CommandContext;
use crate::render::{self, BOLD, GREEN};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out;

/// Check the integrity of the store
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch verify")]
pub struct VerifyArgs;

impl TerminalCommand for VerifyArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("verify")
    }
}

impl OnHistory for VerifyArgs {
    fn traits(&self) -> Traits {
        Traits {
            explain: Some(unverified),
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        verify(context)
    }
}

fn verify(context: &mut CommandContext) -> CliResult<()> {
    let mut progress = context.out.progress();
    let mut verified = context.engine.verifier().verify(&mut progress)?;
    drop(progress);
    match context.control().and_then(|control| {
        let problems = control.map(|control| control.verify()).transpose()?;
        Ok(problems.unwrap_or_default())
    }) {
        Ok(problems) => verified
            .problems
            .extend(problems.into_iter().map(|problem| problem.0)),
        Err(error) => verified.problems.push(format!("control.db: {error}")),
    }
    let answer = json!({
        "ok": verified.problems.is_empty(),
        "contents": verified.blobs,
        "checkpoints": verified.nodes,
        "changes": verified.changes,
        "problems": verified.problems,
    });
    if !verified.problems.is_empty() {
        for problem in &verified.problems {
            context.out.note("problem", &render::clean(problem));
        }
        let count = render::plural(verified.problems.len(), "problem", "problems");
        return Err(
            CliError::new(ExitKind::Store, format!("{count} in the store"))
                .hint(
                    "everything not listed above is intact and can be read, shown and materialized",
                )
                .answer(answer),
        );
    }
    if context.out.json {
        return out::answer(answer);
    }
    let paint = context.out.paint;
    context.out.remark(&format!(
        "{} {} checkpoints, {} changes, {} contents\n",
        paint.on(GREEN.bold(), "intact:"),
        paint.on(BOLD, &verified.nodes.to_string()),
        paint.on(BOLD, &verified.changes.to_string()),
        paint.on(BOLD, &verified.blobs.to_string()),
    ))
}

/// Replaces a hint to run `verify` if `verify` itself cannot read the store.
fn unverified(error: CliError) -> CliError {
    let circular = |hint: &String| hint.contains("backstitch verify");
    if error.hint.as_ref().is_some_and(circular) {
        error.hint(
            "the history cannot be read; your files are untouched. Move the store away to start a new \
             history, or restore the store from a backup",
        )
    } else {
        error
    }
}
