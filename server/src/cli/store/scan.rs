//! `scan`: finishes a scan that ran out of time.

use clap::Args;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, Traits, records};
use crate::cli::context::CommandContext;
use crate::terminal::error::CliResult;

/// Finish a scan that ran out of time
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct ScanArgs;

impl TerminalCommand for ScanArgs {
    fn declared(&self) -> DeclaredCommand {
        records("scan")
    }
}

impl OnHistory for ScanArgs {
    fn traits(&self) -> Traits {
        Traits {
            records: true,
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        Ok(context.engine.capture_mut().continue_scan()?)
    }
}
