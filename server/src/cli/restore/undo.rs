//! `undo`: undoes the last operation.

use backstitch_core::Hint;
use backstitch_core::restore::Goal;
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, decides_unless};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::restore::job::RestoreRun;
use crate::cli::restore::options::{RestoreArgs, request};
use crate::cli::restore::rewind::name_skipped;
use crate::cli::restore::run::run;
use crate::restore_plan;
use crate::terminal::error::CliResult;
use crate::terminal::questions;

/// Undo the last operation, such as a rewind, revert or switch
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch undo\n  backstitch undo op3 --dry-run")]
pub struct UndoArgs {
    /// Operation to undo [default: the newest that is not undone]
    #[arg(add = complete::operations())]
    pub op: Option<String>,
    #[command(flatten)]
    pub restore: RestoreArgs,
}

impl TerminalCommand for UndoArgs {
    fn declared(&self) -> DeclaredCommand {
        decides_unless(self.restore.confirm.dry_run, "undo")
    }
}

impl OnHistory for UndoArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        undo(context, &self)
    }
}

fn undo(context: &mut CommandContext, options: &UndoArgs) -> CliResult<()> {
    let op = options
        .op
        .as_deref()
        .map(|op| context.engine.history().resolve_op(op))
        .transpose()?;
    let mut request = request(context, Goal::Undo(op), None, &options.restore)?;
    let mut rev = options.op.clone();
    let confirm = &options.restore.confirm;
    if op.is_none() && !confirm.yes && !confirm.dry_run && !context.out.json && questions::can_ask()
    {
        // the plan is shown and confirmed anyway
        let refusal = context.engine.restore_mut().plan(&request).err();
        if let Some(refusal) = &refusal
            && let Some(Hint::UndoBefore { op, .. }) = refusal.hint()
        {
            context
                .out
                .note("note", &format!("{refusal}, which is undone here"));
            request.goal = Goal::Undo(Some(op));
            rev = Some(op.to_string());
        } else if let Some(refusal) = &refusal
            && matches!(refusal.hint(), Some(Hint::NothingToUndo))
            && let Ok(last) = restore_plan::last_turn(&mut context.engine, &request)
        {
            let note = format!("{refusal}; this undoes the agent's last turn");
            context.out.note("note", &note);
            name_skipped(context, &last.skipped);
            request.goal = Goal::Rewind(last.start);
        }
    }
    run(
        context,
        RestoreRun {
            before: None,
            conversation: None,
            request,
            rev,
            options: confirm,
            keeps_uncertain: false,
        },
    )
}
