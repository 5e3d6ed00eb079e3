//! `checkpoint`: records, pins and lists checkpoints.

use backstitch_core::LogFilter;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::command::{
    DeclaredCommand, OnHistory, TerminalCommand, Traits, decides, reads, records,
};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::history::entry_words;
use crate::render::{self, BLUE, DIM};
use crate::terminal::error::CliResult;
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};
use crate::to_protocol;

/// Record the current state
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        backstitch checkpoint -m \"before the refactoring\"\n  \
        backstitch checkpoint create green\n  \
        backstitch checkpoint list\n  \
        backstitch checkpoint list --all          of every branch"
)]
pub struct CheckpointArgs {
    /// Label to find it by
    #[arg(short = 'm', long = "message", value_name = "LABEL")]
    pub label: Option<String>,
    /// Longer description, shown by `show` and found by `log --text`
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Keep it however old it becomes
    #[arg(long)]
    pub pin: bool,
    #[command(subcommand)]
    pub command: Option<CheckpointCommand>,
}

#[derive(Debug, Subcommand)]
pub enum CheckpointCommand {
    /// Record the current state
    Create {
        /// Label to find it by
        label: Option<String>,
        /// Longer description, shown by `show` and found by `log --text`
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Keep it however old it becomes
        #[arg(long)]
        pin: bool,
    },
    /// Keep a checkpoint however old it becomes, as a tag does
    Pin {
        /// Checkpoint to pin [default: the newest]
        #[arg(add = complete::revisions())]
        rev: Option<String>,
    },
    /// Let a pinned checkpoint be squashed again when it is old
    Unpin {
        /// Checkpoint to unpin [default: the newest]
        #[arg(add = complete::revisions())]
        rev: Option<String>,
    },
    /// List the checkpoints of this branch, newest first
    List {
        /// List every branch
        #[arg(long)]
        all: bool,
        /// List only this session
        #[arg(short, long, value_name = "ID", add = complete::sessions())]
        session: Option<String>,
    },
}

impl TerminalCommand for CheckpointArgs {
    fn declared(&self) -> DeclaredCommand {
        match &self.command {
            None | Some(CheckpointCommand::Create { .. }) => records("checkpoint"),
            Some(CheckpointCommand::Pin { .. }) => records("checkpoint pin"),
            // it may be squashed then
            Some(CheckpointCommand::Unpin { .. }) => decides("checkpoint unpin"),
            Some(CheckpointCommand::List { .. }) => reads("checkpoint list"),
        }
    }
}

impl OnHistory for CheckpointArgs {
    fn traits(&self) -> Traits {
        match &self.command {
            None | Some(CheckpointCommand::Create { .. }) => Traits {
                records: true,
                ..Traits::default()
            },
            Some(CheckpointCommand::List { .. }) => Traits {
                paged: true,
                empty: Some(|_, out| no_checkpoints(out)),
                ..Traits::default()
            },
            Some(CheckpointCommand::Pin { .. } | CheckpointCommand::Unpin { .. }) => {
                Traits::default()
            }
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        checkpoint(context, self)
    }
}

fn checkpoint(context: &mut CommandContext, options: CheckpointArgs) -> CliResult<()> {
    match options.command {
        Some(CheckpointCommand::List { all, session }) => list(context, all, session),
        Some(CheckpointCommand::Create {
            label,
            description,
            pin,
        }) => create(context, label.as_deref(), description.as_deref(), pin),
        Some(CheckpointCommand::Pin { rev }) => pin(context, rev.as_deref(), true),
        Some(CheckpointCommand::Unpin { rev }) => pin(context, rev.as_deref(), false),
        None => create(
            context,
            options.label.as_deref(),
            options.description.as_deref(),
            options.pin,
        ),
    }
}

fn create(
    context: &mut CommandContext,
    label: Option<&str>,
    description: Option<&str>,
    pin: bool,
) -> CliResult<()> {
    let id = context
        .engine
        .capture_mut()
        .checkpoint_about(label, description)?;
    if pin {
        context.engine.forks_mut().pin(id, true)?;
    }
    let entry = context.engine.history().entry(id)?;
    if context.out.json {
        return out::answer(to_protocol::value(&to_protocol::checkpoint(&entry)));
    }
    let named = label
        .map(|label| format!(" “{}”", render::clean(label)))
        .unwrap_or_default();
    context.out.text(&format!(
        "{}{named}\n",
        context.out.paint.on(BLUE, &id.to_string())
    ))?;
    if let Some(note) = entry_words::coverage_note(&entry.node.coverage) {
        context.out.note("note", &note);
    }
    Ok(())
}

fn pin(context: &mut CommandContext, rev: Option<&str>, pinned: bool) -> CliResult<()> {
    let node = context.node_now(rev.unwrap_or("@"))?;
    let changed = context.engine.forks_mut().pin(node, pinned)?;
    if context.out.json {
        return out::answer(json!({ "checkpoint": node.to_string(), "pinned": pinned }));
    }
    context.out.remark(&match (pinned, changed) {
        (true, true) => format!("{node} is pinned: it is kept however old it becomes.\n"),
        (true, false) => format!("{node} is already pinned.\n"),
        (false, true) => format!("{node} is no longer pinned.\n"),
        (false, false) => format!("{node} was not pinned.\n"),
    })
}

fn no_checkpoints(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "checkpoints": [] }));
    }
    out.text("No checkpoints yet.\n")
}

fn list(context: &mut CommandContext, all: bool, session: Option<String>) -> CliResult<()> {
    let filter = LogFilter {
        all_branches: all,
        session,
        ..LogFilter::default()
    };
    let entries = context.engine.history().log(&filter)?;
    if context.out.json {
        let checkpoints: Vec<_> = entries.iter().map(to_protocol::checkpoint).collect();
        return out::answer(json!({ "checkpoints": checkpoints }));
    }
    if entries.is_empty() {
        return no_checkpoints(context.out);
    }
    let mut text = String::new();
    for entry in &entries {
        let what = match (&entry.node.label, &entry.turn, &entry.call) {
            (Some(label), _, _) => format!("“{}”", render::clean(label)),
            (None, _, Some(call)) => render::clean(&call.tool),
            (None, Some(turn), None) => {
                format!("t{}  {}", turn.number, render::clean(&turn.prompt))
            }
            (None, None, None) => String::new(),
        };
        let line = TextLine::new()
            .column(BLUE, &entry.node.id.to_string(), 8)
            .column(DIM, entry.node.kind.name(), 10)
            .plain(what)
            .right(context.out.paint.ago(entry.node.time))
            .faded(entry_words::is_undone(entry));
        text.push_str(&line.draw(context.out.paint));
    }
    context.out.text(&text)
}
