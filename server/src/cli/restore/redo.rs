//! `redo`: redoes the operation that was undone last.

use backstitch_core::restore::Goal;
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, decides_unless};
use crate::cli::context::CommandContext;
use crate::cli::restore::job::RestoreRun;
use crate::cli::restore::options::{RestoreArgs, request};
use crate::cli::restore::run::run;
use crate::terminal::error::CliResult;

/// Redo the operation that was undone last
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch redo\n  backstitch redo --dry-run")]
pub struct RedoArgs {
    #[command(flatten)]
    pub restore: RestoreArgs,
}

impl TerminalCommand for RedoArgs {
    fn declared(&self) -> DeclaredCommand {
        decides_unless(self.restore.confirm.dry_run, "redo")
    }
}

impl OnHistory for RedoArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        redo(context, &self)
    }
}

fn redo(context: &mut CommandContext, options: &RedoArgs) -> CliResult<()> {
    let request = request(context, Goal::Redo, None, &options.restore)?;
    run(
        context,
        RestoreRun {
            before: None,
            conversation: None,
            request,
            rev: None,
            options: &options.restore.confirm,
            keeps_uncertain: false,
        },
    )
}
