//! `revert`: undoes turns or steps and keeps later ones.

use backstitch_core::restore::Goal;
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, decides_unless};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::options::REVISIONS;
use crate::cli::restore::job::RestoreRun;
use crate::cli::restore::options::{RestoreArgs, SelectionArgs, request};
use crate::cli::restore::run::run;
use crate::terminal::error::CliResult;

/// Undo the changes of one turn or step and keep later ones
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch revert t4\n  \
        backstitch revert c12 c14 --dry-run\n\n{REVISIONS}")
)]
pub struct RevertArgs {
    /// Turns or steps to revert
    #[arg(required = true, value_name = "REV", add = complete::revisions())]
    pub revs: Vec<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub restore: RestoreArgs,
}

impl TerminalCommand for RevertArgs {
    fn declared(&self) -> DeclaredCommand {
        decides_unless(self.restore.confirm.dry_run, "revert")
    }
}

impl OnHistory for RevertArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        revert(context, &self)
    }
}

fn revert(context: &mut CommandContext, options: &RevertArgs) -> CliResult<()> {
    let nodes = options
        .revs
        .iter()
        .map(|rev| context.node_now(rev))
        .collect::<CliResult<_>>()?;
    let request = request(
        context,
        Goal::Revert(nodes),
        Some(&options.selection),
        &options.restore,
    )?;
    run(
        context,
        RestoreRun {
            before: None,
            conversation: None,
            request,
            rev: Some(options.revs.join(" ")),
            options: &options.restore.confirm,
            keeps_uncertain: options.selection.keeps_uncertain(),
        },
    )
}
