//! `ancestor`: the nearest common ancestor of two checkpoints.

use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, reads};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::options::REVISIONS;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out;

/// Print the nearest common ancestor of two checkpoints
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch ancestor main idea2\n  \
        backstitch diff $(backstitch ancestor main idea2) idea2\n\n{REVISIONS}")
)]
pub struct AncestorArgs {
    /// Checkpoint or branch
    #[arg(add = complete::revisions())]
    pub a: String,
    /// Another checkpoint or branch
    #[arg(add = complete::revisions())]
    pub b: String,
}

impl TerminalCommand for AncestorArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("ancestor")
    }
}

impl OnHistory for AncestorArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        ancestor(context, &self.a, &self.b)
    }
}

fn ancestor(context: &CommandContext, a: &str, b: &str) -> CliResult<()> {
    let (x, y) = (context.node(a)?, context.node(b)?);
    let Some(node) = context.engine.forks().ancestor(x, y)? else {
        return Err(
            CliError::not_found(format!("{a} and {b} have no common ancestor"))
                .hint("their histories began separately"),
        );
    };
    if context.out.json {
        return out::answer(json!({ "ancestor": node.to_string() }));
    }
    context.out.text(&format!("{node}\n"))
}
