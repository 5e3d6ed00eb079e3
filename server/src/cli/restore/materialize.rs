//! `materialize`: writes the tree of a checkpoint to an empty directory.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, reads};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::options::REVISIONS;
use crate::cli::restore::plan;
use crate::terminal::error::CliResult;
use crate::terminal::out;
use crate::{render, to_protocol};

/// Write the whole tree of a checkpoint to an empty directory
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch materialize t4 --into /tmp/before\n\n{REVISIONS}")
)]
pub struct MaterializeArgs {
    /// Checkpoint to write
    #[arg(add = complete::revisions())]
    pub rev: String,
    /// Directory to write to: empty, or not there yet
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
}

impl TerminalCommand for MaterializeArgs {
    fn declared(&self) -> DeclaredCommand {
        // into an empty directory, with the rights of its caller
        reads("materialize")
    }
}

impl OnHistory for MaterializeArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        materialize(context, &self.rev, &self.into)
    }
}

fn materialize(context: &mut CommandContext, rev: &str, into: &Path) -> CliResult<()> {
    let id = context.node_now(rev)?;
    let mut progress = context.out.progress();
    let written = context
        .engine
        .forks()
        .materialize(id, into, &mut progress)?;
    drop(progress);
    if context.out.json {
        let into = to_protocol::path(into);
        let gaps: Vec<_> = written.gaps.iter().map(to_protocol::gap).collect();
        return out::answer(json!({
            "checkpoint": id.to_string(), "into": into, "files": written.files, "gaps": gaps,
        }));
    }
    context
        .out
        .text(&plan::gaps(&written.gaps, context.out.paint))?;
    let files = usize::try_from(written.files).unwrap_or_default();
    let count = render::plural(files, "file", "files");
    context
        .out
        .remark(&format!("{count} of {id} written to {}\n", into.display()))
}
