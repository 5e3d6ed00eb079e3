//! `branch`: lists, creates, renames and deletes branches.

use backstitch_core::model::NodeId;
use backstitch_core::{BranchInfo, BranchStart};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::branches::names::{name_width, named};
use crate::cli::branches::switch::{self, SwitchArgs};
use crate::cli::command::{
    DeclaredCommand, OnHistory, TerminalCommand, Traits, decides, decides_unless, reads, records,
};
use crate::cli::complete;
use crate::cli::context::{self, CommandContext};
use crate::conversation::{branch_conversation, command_text};
use crate::render::{self, BLUE, BOLD, DIM, GREEN, PLAIN};
use crate::terminal::error::CliResult;
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};
use crate::to_protocol;

/// List, create, rename or delete branches
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
        backstitch branch\n  \
        backstitch branch create idea2 --from t4\n  \
        backstitch branch t4 idea2                the same\n  \
        backstitch branch --from t4 --name idea2  the same\n  \
        backstitch branch rename idea2 better-idea\n  \
        backstitch branch delete idea2            its checkpoints stay"
)]
pub struct BranchArgs {
    /// Checkpoint at which the new branch starts
    #[arg(requires = "name", add = complete::revisions())]
    pub rev: Option<String>,
    /// Name of the new branch
    pub name: Option<String>,
    /// The same, as an option
    #[arg(long, value_name = "REV", requires = "new", conflicts_with = "rev", add = complete::revisions())]
    pub from: Option<String>,
    /// The same, as an option
    #[arg(long = "name", value_name = "NAME", conflicts_with_all = ["rev", "name"])]
    pub new: Option<String>,
    #[command(subcommand)]
    pub command: Option<BranchCommand>,
}

impl BranchArgs {
    fn lists(&self) -> bool {
        let creates = self.rev.is_some() || self.new.is_some();
        !creates && matches!(self.command, Some(BranchCommand::List { .. }) | None)
    }
}

#[derive(Debug, Subcommand)]
pub enum BranchCommand {
    /// List all branches, deleted ones last
    List {
        /// With --json: add the ids of all checkpoints of each branch
        #[arg(long)]
        checkpoints: bool,
    },
    /// Create a branch
    Create {
        /// Name of the new branch
        name: String,
        /// Checkpoint at which it starts
        #[arg(long, value_name = "REV", default_value = "@", add = complete::revisions())]
        from: String,
        /// Description of the branch
        #[arg(short = 'm', long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Switch to a branch
    Switch(SwitchArgs),
    /// Rename a branch
    Rename {
        /// Branch to rename
        #[arg(add = complete::branches())]
        from: String,
        /// Its new name
        to: String,
    },
    /// Delete a branch; its checkpoints stay, under their ids
    Delete {
        /// Branch to delete
        #[arg(add = complete::branches())]
        name: String,
    },
}

impl TerminalCommand for BranchArgs {
    fn declared(&self) -> DeclaredCommand {
        match &self.command {
            None if self.lists() => reads("branch"),
            None => records("branch"),
            Some(BranchCommand::List { .. }) => reads("branch list"),
            Some(BranchCommand::Create { .. }) => records("branch create"),
            Some(BranchCommand::Switch(options)) => {
                decides_unless(options.confirm.dry_run, "branch switch")
            }
            Some(BranchCommand::Rename { .. }) => decides("branch rename"),
            Some(BranchCommand::Delete { .. }) => decides("branch delete"),
        }
    }
}

impl OnHistory for BranchArgs {
    fn traits(&self) -> Traits {
        if !self.lists() {
            return Traits::default();
        }
        Traits {
            paged: true,
            empty: Some(|_, out| only_main(out)),
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        run(context, &self)
    }
}

fn run(context: &mut CommandContext, options: &BranchArgs) -> CliResult<()> {
    match (&options.command, &options.rev, &options.name) {
        (
            Some(BranchCommand::Create {
                name,
                from,
                description,
            }),
            ..,
        ) => create(context, name, from, description.as_deref()),
        (Some(BranchCommand::Switch(options)), ..) => switch::switch(context, options),
        (Some(BranchCommand::Rename { from, to }), ..) => {
            let branch = context.engine.forks_mut().rename_branch(from, to)?;
            if context.out.json {
                return out::answer(json!({ "branch": to_protocol::branch(&branch) }));
            }
            let (from, to) = (render::clean(from), render::clean(to));
            context
                .out
                .remark(&format!("Branch {from} is now called {to}.\n"))
        }
        (Some(BranchCommand::Delete { name }), ..) => {
            let deleted = context.engine.forks_mut().delete_branch(name)?;
            if context.out.json {
                return out::answer(json!({ "branch": to_protocol::branch(&deleted) }));
            }
            let head = deleted
                .head
                .map(|head| head.to_string())
                .unwrap_or_default();
            let name = render::clean(name);
            context.out.remark(&format!(
                "Deleted branch {name}. Its checkpoints stay: `backstitch branch {head} {}` restores it.\n",
                render::argument(&name)
            ))
        }
        (None, Some(rev), Some(name)) => create(context, name, rev, None),
        _ if options.new.is_some() => {
            let (name, from) = (options.new.as_deref(), options.from.as_deref());
            create(context, name.unwrap_or_default(), from.unwrap_or("@"), None)
        }
        (Some(BranchCommand::List { checkpoints }), ..) => list(context, *checkpoints),
        (None, ..) => list(context, false),
    }
}

fn create(
    context: &mut CommandContext,
    name: &str,
    from: &str,
    description: Option<&str>,
) -> CliResult<()> {
    let from = context.node_now(from)?;
    let branch = context.engine.forks_mut().create_branch(&BranchStart {
        description,
        ..BranchStart::new(name, from)
    })?;
    created(context, &branch, from)
}

/// Confirms a new branch.
pub fn created(context: &CommandContext, branch: &BranchInfo, from: NodeId) -> CliResult<()> {
    if context.out.json {
        return out::answer(json!({ "branch": to_protocol::branch(branch) }));
    }
    let paint = context.out.paint;
    let name = render::clean(&branch.name);
    context.out.remark(&format!(
        "Created branch {} at {from}. To switch: {}\n",
        paint.on(BOLD, &name),
        paint.on(
            BOLD,
            &format!("backstitch switch {}", render::argument(&name))
        ),
    ))
}

/// `checkpoints`: the JSON has the ids of all checkpoints of each branch.
fn list(context: &CommandContext, checkpoints: bool) -> CliResult<()> {
    let branches = context.engine.history().branches()?;
    if context.out.json {
        let all: Vec<Value> = branches
            .iter()
            .map(|branch| {
                let mut shape = to_protocol::value(&to_protocol::branch(branch));
                if checkpoints {
                    let ids = context.engine.forks().nodes_of(branch.id)?;
                    shape["checkpoints"] = ids.iter().map(|id| json!(id.to_string())).collect();
                }
                Ok(shape)
            })
            .collect::<CliResult<_>>()?;
        return out::answer(json!({ "branches": all }));
    }
    let width = name_width(branches.iter().map(|b| b.name.as_str()));
    let paint = context.out.paint;
    let here = context::current_dir()?;
    let mut text = String::new();
    let (live, deleted): (Vec<_>, Vec<_>) = branches.iter().partition(|b| !b.deleted);
    for branch in live.into_iter().chain(deleted) {
        let dim = |style| if branch.deleted { DIM } else { style };
        let style = dim(if branch.current { GREEN } else { PLAIN });
        let mut what = String::new();
        if let (Some(parent), Some(point)) = (&branch.parent, branch.fork_point) {
            what = format!("from {point} of {}", named(parent));
        }
        if let Some(description) = &branch.description {
            what = format!("{what}  {}", render::clean(description));
        }
        if let Some(dir) = &branch.root {
            what = format!("{what}  in {}", dir.display());
        }
        if branch.deleted {
            what = format!("deleted  {what}");
        }
        let head = branch.head.map(|head| head.to_string());
        let line = TextLine::new()
            .add(style, if branch.current { "* " } else { "  " })
            .column(style, &named(&branch.name), width + 2)
            .column(dim(BLUE), &head.unwrap_or_default(), 8)
            .add(dim(PLAIN), what.trim_start().to_owned())
            .right(paint.ago(branch.created));
        text.push_str(&line.draw(paint));
        if context.out.verbose
            && !branch.deleted
            && let Some(command) = branch_conversation(&context.engine, branch)?
        {
            let shown = format!("    {}", command_text(&command, &here));
            text.push_str(&TextLine::new().add(DIM, shown).draw(paint));
        }
    }
    context.out.text(&text)
}

/// Prints the branches of a workspace without checkpoints: the one that the first will be on.
fn only_main(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "branches": [{
            "name": "main", "head": null, "parent": null, "fork_point": null, "created": null,
            "description": null, "current": true, "deleted": false, "root": null,
        }] }));
    }
    let line = TextLine::new().add(GREEN, "* main  ");
    out.text(&line.add(DIM, "nothing recorded yet").draw(out.paint))
}
