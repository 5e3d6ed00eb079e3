//! `fork`, `branch`, `tag`, `ancestor`: names of checkpoints and branches.

use backstitch_core::BranchInfo;
use backstitch_core::model::NodeId;
use serde_json::{Value, json};

use super::args::{self, BranchCommand};
use super::context::{self, CommandContext};
use super::plan;
use super::restore;
use crate::query::paths;
use crate::render::{self, BLUE, BOLD, DIM, GREEN, PLAIN};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};
use crate::to_protocol;

pub fn fork(context: &mut CommandContext, options: &args::ForkArgs) -> CliResult<()> {
    let from = context.node_now(&options.rev)?;
    let description = options.description.as_deref();
    let Some(dir) = &options.into else {
        if options.switch {
            return restore::fork_and_switch(context, options, from);
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

pub fn run(context: &mut CommandContext, options: &args::BranchArgs) -> CliResult<()> {
    match (&options.command, &options.rev, &options.name) {
        (
            Some(BranchCommand::Create {
                name,
                from,
                description,
            }),
            ..,
        ) => create(context, name, from, description.as_deref()),
        (Some(BranchCommand::Switch(options)), ..) => restore::switch(context, options),
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
        (Some(BranchCommand::List) | None, ..) => list(context),
    }
}

fn create(
    context: &mut CommandContext,
    name: &str,
    from: &str,
    description: Option<&str>,
) -> CliResult<()> {
    let from = context.node_now(from)?;
    let branch = context
        .engine
        .forks_mut()
        .create_branch(name, from, description)?;
    created(context, &branch, from)
}

fn created(context: &CommandContext, branch: &BranchInfo, from: NodeId) -> CliResult<()> {
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

fn list(context: &CommandContext) -> CliResult<()> {
    let branches = context.engine.history().branches()?;
    if context.out.json {
        let all: Vec<Value> = branches
            .iter()
            .map(|branch| {
                let mut shape = to_protocol::value(&to_protocol::branch(branch));
                let ids = context.engine.forks().nodes_of(branch.id)?;
                shape["checkpoints"] = ids.iter().map(|id| json!(id.to_string())).collect();
                Ok(shape)
            })
            .collect::<CliResult<_>>()?;
        return out::answer(json!({ "branches": all }));
    }
    let width = name_width(branches.iter().map(|b| b.name.as_str()));
    let paint = context.out.paint;
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
    }
    context.out.text(&text)
}

/// Maximum columns of a name in a list.
const NAME_WIDTH: usize = 32;

/// Returns a name as a list shows it.
fn named(name: &str) -> String {
    render::cut(&render::clean(name), NAME_WIDTH)
}

fn name_width<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    names
        .map(|name| render::columns(&named(name)))
        .max()
        .unwrap_or(0)
}

/// Prints the branches of a workspace without checkpoints: the one that the first will be on.
pub fn only_main(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "branches": [{
            "name": "main", "head": null, "parent": null, "fork_point": null, "created": null,
            "description": null, "current": true, "deleted": false, "root": null, "checkpoints": [],
        }] }));
    }
    let line = TextLine::new().add(GREEN, "* main  ");
    out.text(&line.add(DIM, "nothing recorded yet").draw(out.paint))
}

pub fn no_tags(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "tags": [] }));
    }
    out.text("No tags yet: `backstitch tag NAME` creates the first.\n")
}

pub fn tag(context: &mut CommandContext, options: &args::TagArgs) -> CliResult<()> {
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

pub fn ancestor(context: &CommandContext, a: &str, b: &str) -> CliResult<()> {
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
