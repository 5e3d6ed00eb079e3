//! `tag`: lists, creates and deletes tags.

use clap::Args;
use serde_json::json;

use crate::cli::branches::names::{name_width, named};
use crate::cli::command::{
    DeclaredCommand, OnHistory, TerminalCommand, Traits, decides, reads, records,
};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::options::REVISIONS;
use crate::render::{self, BLUE, BOLD, DIM};
use crate::terminal::error::CliResult;
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};
use crate::to_protocol;

/// List, create or delete tags
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch tag\n  \
        backstitch tag works            the newest checkpoint\n  \
        backstitch tag works t4\n  \
        backstitch tag --delete works\n\n{REVISIONS}")
)]
pub struct TagArgs {
    /// Name of the new tag
    pub name: Option<String>,
    /// Checkpoint to tag [default: @]
    #[arg(requires = "name", add = complete::revisions())]
    pub rev: Option<String>,
    /// Delete this tag; its checkpoint stays
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "rev"], add = complete::tag_names())]
    pub delete: Option<String>,
}

impl TerminalCommand for TagArgs {
    fn declared(&self) -> DeclaredCommand {
        match (&self.delete, &self.name) {
            (Some(_), _) => decides("tag --delete"),
            (None, Some(_)) => records("tag"),
            (None, None) => reads("tag"),
        }
    }
}

impl OnHistory for TagArgs {
    fn traits(&self) -> Traits {
        if self.name.is_some() || self.delete.is_some() {
            return Traits::default();
        }
        Traits {
            paged: true,
            empty: Some(|_, out| no_tags(out)),
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        tag(context, &self)
    }
}

fn tag(context: &mut CommandContext, options: &TagArgs) -> CliResult<()> {
    if let Some(name) = &options.delete {
        let node = context.engine.forks_mut().untag(name)?;
        if context.out.json {
            return out::answer(json!({ "tag": name, "checkpoint": node.to_string() }));
        }
        let name = render::clean(name);
        return context
            .out
            .remark(&format!("Deleted tag {name}, which was at {node}.\n"));
    }
    let Some(name) = &options.name else {
        return tags(context);
    };
    let node = context.node_now(options.rev.as_deref().unwrap_or("@"))?;
    context.engine.forks_mut().tag(name, node)?;
    if context.out.json {
        return out::answer(json!({ "tag": name, "checkpoint": node.to_string() }));
    }
    context
        .out
        .remark(&format!("Tagged {node} as {}.\n", render::clean(name)))
}

fn tags(context: &CommandContext) -> CliResult<()> {
    let tags = context.engine.forks().tags()?;
    if context.out.json {
        let tags = tags.iter().map(|tag| {
            json!({ "name": tag.name, "checkpoint": tag.node.to_string(), "created": to_protocol::time(tag.created) })
        });
        return out::answer(json!({ "tags": tags.collect::<Vec<_>>() }));
    }
    if tags.is_empty() {
        return no_tags(context.out);
    }
    let width = name_width(tags.iter().map(|tag| tag.name.as_str()));
    let paint = context.out.paint;
    let mut text = String::new();
    for tag in &tags {
        let line = TextLine::new()
            .column(BOLD, &named(&tag.name), width + 2)
            .add(BLUE, tag.node.to_string())
            .add(DIM, "")
            .right(paint.ago(tag.created));
        text.push_str(&line.draw(paint));
    }
    context.out.text(&text)
}

fn no_tags(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "tags": [] }));
    }
    out.text("No tags yet: `backstitch tag NAME` creates the first.\n")
}
