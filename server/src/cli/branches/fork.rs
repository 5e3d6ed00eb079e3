//! `fork`: creates a branch at a checkpoint, and switches to it if asked.

use std::path::{Path, PathBuf};

use backstitch_core::model::NodeId;
use backstitch_core::restore::{Goal, Request, Scope};
use backstitch_core::{BranchInfo, BranchStart, ConversationHow, Forked};
use clap::Args;
use serde_json::{Value, json};

use crate::cli::branches::branch::created;
use crate::cli::choice;
use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, decides, records};
use crate::cli::complete;
use crate::cli::context::{self, CommandContext};
use crate::cli::options::REVISIONS;
use crate::cli::restore::conversation::{ConversationRun, planned};
use crate::cli::restore::job::RestoreRun;
use crate::cli::restore::options::ConfirmArgs;
use crate::cli::restore::plan;
use crate::cli::restore::run::run;
use crate::conversation::ConversationWanted;
use crate::query::paths;
use crate::render::{self, BOLD};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out;
use crate::to_protocol;

/// Create a branch at a checkpoint, optionally in its own directory
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch fork t4 idea2                       then `backstitch switch idea2`\n  \
        backstitch fork t4 idea2 --switch\n  \
        backstitch fork @ idea3 --into ../idea3        a directory for a second agent\n  \
        backstitch fork t4 idea4 --into ../idea4 --scope both   the agent's conversation, too\n\n{REVISIONS}\n\n\
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
    /// Fork the files, or the agent's conversation with them
    #[arg(long, default_value = "code", value_parser = choice::one_of(&Scope::ALL, Scope::name))]
    pub scope: Scope,
    /// Continue the agent's conversation in this terminal afterwards
    #[arg(long)]
    pub open: bool,
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
    let dir = match &options.into {
        Some(dir) => Some(paths::normalize(&context::current_dir()?.join(dir))),
        None => None,
    };
    let mut conversation = conversation(context, options, from, dir.as_deref())?;
    if options.switch {
        return fork_and_switch(context, options, from, conversation);
    }
    let made = match &mut conversation {
        Some(run) => Some(run.make(context)?),
        None => None,
    };
    let new = BranchStart {
        name: &options.name,
        from,
        description: options.description.as_deref(),
        conversation: made,
    };
    let done = match &dir {
        None => {
            let branch = context.engine.forks_mut().create_branch(&new);
            branch.map_err(CliError::from).map(ForkDone::Branch)
        }
        Some(dir) => {
            let mut progress = context.out.progress();
            let mut forks = context.engine.forks_mut();
            let forked = forks.fork_into(&new, dir, &mut progress);
            forked.map_err(CliError::from).map(ForkDone::Directory)
        }
    };
    if done.is_err()
        && let Some(made) = conversation.as_ref().and_then(|run| run.made.as_ref())
    {
        made.remove(&mut context.engine)?;
    }
    match done? {
        ForkDone::Branch(branch) if context.out.json => {
            let branch = to_protocol::branch(&branch);
            answer(json!({ "branch": branch }), conversation.as_ref())
        }
        ForkDone::Branch(branch) => {
            created(context, &branch, from)?;
            show_opening(context, conversation.as_ref())
        }
        ForkDone::Directory(forked) => {
            show_forked(context, &forked, from, conversation.as_ref())?;
            show_opening(context, conversation.as_ref())
        }
    }
}

/// A branch, or a directory with a branch.
enum ForkDone {
    Branch(BranchInfo),
    Directory(Forked),
}

/// Plans the conversation of a fork, if one is wanted.
fn conversation(
    context: &mut CommandContext,
    options: &ForkArgs,
    from: NodeId,
    dir: Option<&Path>,
) -> CliResult<Option<ConversationRun>> {
    match options.scope {
        Scope::Code if options.open => Err(CliError::usage(
            "--open: files have no conversation to continue",
        )
        .hint("--scope both forks the agent's conversation, too")),
        Scope::Code => Ok(None),
        Scope::Conversation => Err(CliError::usage(
            "a branch has files: its conversation cannot be forked alone",
        )
        .hint(
            "--scope both forks both; `backstitch rewind --scope conversation` leaves the files",
        )),
        Scope::Both => {
            let wanted = ConversationWanted {
                into: dir,
                ..ConversationWanted::of(ConversationHow::Fork)
            };
            planned(context, from, &wanted, options.open).map(Some)
        }
    }
}

fn show_opening(context: &CommandContext, conversation: Option<&ConversationRun>) -> CliResult<()> {
    match conversation {
        Some(run) => run.show_opening(context),
        None => Ok(()),
    }
}

/// Prints the answer for scripts.
fn answer(mut document: Value, conversation: Option<&ConversationRun>) -> CliResult<()> {
    if let Some(run) = conversation {
        document["conversation"] = run.json();
    }
    out::answer(document)
}

/// Shows a directory that was forked off.
fn show_forked(
    context: &CommandContext,
    forked: &Forked,
    from: NodeId,
    conversation: Option<&ConversationRun>,
) -> CliResult<()> {
    if context.out.json {
        let mut branch = to_protocol::branch(&forked.branch);
        branch.root = Some(to_protocol::path(&forked.root));
        let written = &forked.written;
        let gaps: Vec<_> = written.gaps.iter().map(to_protocol::gap).collect();
        let document = json!({ "branch": branch, "files": written.files, "gaps": gaps });
        return answer(document, conversation);
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
    conversation: Option<ConversationRun>,
) -> CliResult<()> {
    let mut request = Request::new(Goal::Fork {
        name: options.name.clone(),
        from,
        description: options.description.clone(),
    });
    request.conversation = conversation.as_ref().map(ConversationRun::half);
    run(
        context,
        RestoreRun {
            before: None,
            conversation,
            request,
            rev: Some(options.name.clone()),
            options: &ConfirmArgs::only(options.yes),
            keeps_uncertain: false,
        },
    )
}
