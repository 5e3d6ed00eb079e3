//! `switch`: makes another branch current.

use backstitch_core::restore::{Goal, Request};
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, decides_unless};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::restore::job::RestoreRun;
use crate::cli::restore::options::ConfirmArgs;
use crate::cli::restore::run::run;
use crate::terminal::error::CliResult;

/// Switch to another branch; the current files are recorded first
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
        backstitch switch idea2\n  \
        backstitch switch main --carry      carry over your edits since the last checkpoint\n  \
        backstitch undo                     switch back")]
pub struct SwitchArgs {
    /// Branch to switch to
    #[arg(add = complete::branches())]
    pub name: String,
    /// Take your newest edits along: those since you switched to this branch, and after its newest checkpoint
    /// that is not yours
    #[arg(long)]
    pub carry: bool,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
}

impl TerminalCommand for SwitchArgs {
    fn declared(&self) -> DeclaredCommand {
        decides_unless(self.confirm.dry_run, "switch")
    }
}

impl OnHistory for SwitchArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        switch(context, &self)
    }
}

/// Switches to a branch, after one question.
pub fn switch(context: &mut CommandContext, options: &SwitchArgs) -> CliResult<()> {
    let mut request = Request::new(Goal::Switch {
        branch: options.name.clone(),
        carry: options.carry,
    });
    request.on_conflict = options.confirm.on_conflict;
    run(
        context,
        RestoreRun {
            before: None,
            conversation: None,
            request,
            rev: Some(options.name.clone()),
            options: &options.confirm,
            keeps_uncertain: false,
        },
    )
}
