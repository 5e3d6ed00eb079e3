//! `fork`: creates a branch at a checkpoint, and switches to it if asked.

use std::path::PathBuf;

use backstitch_core::model::NodeId;
use backstitch_core::restore::{Goal, Request};
use clap::Args;
use serde_json::json;

use crate::cli::branches::branch::created;
use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, decides, records};
use crate::cli::complete;
use crate::cli::context::{self, CommandContext};
use crate::cli::options::REVISIONS;
use crate::cli::restore::job::RestoreRun;
use crate::cli::restore::options::ConfirmArgs;
use crate::cli::restore::plan;
use crate::cli::restore::run::run;
use crate::query::paths;
use crate::render::{self, BOLD};
use crate::terminal::error::CliResult;
use crate::terminal::out;
use crate::to_protocol;

/// Create a branch at a checkpoint, optionally in its own directory
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch fork t4 idea2                       then `backstitch switch idea2`\n  \
        backstitch fork t4 idea2 --switch\n  \
        backstitch fork @ idea3 --into ../idea3        a directory for a second agent\n\n{REVISIONS}\n\n\
        A directory created with --into shares this history. It holds the tracked files, but neither \
        ignored files nor .git.")
)]
pub struct ForkArgs {
    /// Checkpoint at which the branch starts
    #[arg(add = complete::revisions())]
    pub rev: String,
    /// Name of the new branch
    pub name: String,
    /// Check the branch out in this empty or new directory, outside of the workspace
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
    /// Description of the branch
    #[arg(short = 'm', long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Switch to it; on a terminal you see the plan and are asked
    #[arg(long, conflicts_with = "into")]
    pub switch: bool,
    /// Do not ask before switching
    #[arg(short, long, requires = "switch", visible_alias = "force")]
    pub yes: bool,
}

impl TerminalCommand for ForkArgs {
    fn declared(&self) -> DeclaredCommand {
        if self.switch {
            decides("fork")
        } else {
            records("fork")
        }
    }
}

impl OnHistory for ForkArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        fork(context, &self)
    }
}

fn fork(context: &mut CommandContext, options: &ForkArgs) -> CliResult<()> {
    let from = context.node_now(&options.rev)?;
    let description = options.description.as_deref();
    let Some(dir) = &options.into else {
        if options.switch {
            return fork_and_switch(context, options, from);
        }
        let branch = context
            .engine
            .forks_mut()
            .create_branch(&options.name, from, description)?;
        return created(context, &branch, from);
    };
    let dir = paths::normalize(&context::current_dir()?.join(dir));
    let mut progress = context.out.progress();
    let forked = context.engine.forks_mut().fork_into(
        &options.name,
        from,
        description,
        &dir,
        &mut progress,
    )?;
    drop(progress);
    if context.out.json {
        let mut answer = to_protocol::branch(&forked.branch);
        answer.root = Some(to_protocol::path(&forked.root));
        let written = &forked.written;
        let gaps: Vec<_> = written.gaps.iter().map(to_protocol::gap).collect();
        return out::answer(json!({ "branch": answer, "files": written.files, "gaps": gaps }));
    }
    context
        .out
        .text(&plan::gaps(&forked.written.gaps, context.out.paint))?;
    let files = usize::try_from(forked.written.files).unwrap_or(usize::MAX);
    context.out.remark(&format!(
        "{} is branch {} from {from}: {}. Changes there are recorded in this history, too.\n",
        forked.root.display(),
        context
            .out
            .paint
            .on(BOLD, &render::clean(&forked.branch.name)),
        render::plural(files, "file", "files"),
    ))
}

/// Creates a branch and switches to it, after one question. Nothing is created if it is declined.
fn fork_and_switch(
    context: &mut CommandContext,
    options: &ForkArgs,
    from: NodeId,
) -> CliResult<()> {
    let request = Request::new(Goal::Fork {
        name: options.name.clone(),
        from,
        description: options.description.clone(),
    });
    run(
        context,
        RestoreRun {
            before: None,
            conversation: None,
            request,
            rev: Some(options.name.clone()),
            options: &ConfirmArgs::only(options.yes),
            keeps_uncertain: false,
        },
    )
}
