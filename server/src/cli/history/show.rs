//! `show`: one checkpoint.

use backstitch_control::Control;
use backstitch_core::model::{Call, Kind};
use backstitch_core::{Entry, Unsaved};
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, Traits, reads};
use crate::cli::context::CommandContext;
use crate::cli::control::pauses;
use crate::cli::history::entry_words;
use crate::cli::history::log::timeline;
use crate::cli::options::REVISIONS;
use crate::cli::{complete, files};
use crate::query::show::{ShownCheckpoint, changes};
use crate::render::{self, BOLD, DIM, Paint, YELLOW};
use crate::terminal::error::CliResult;
use crate::terminal::line::TextLine;
use crate::terminal::out;
use crate::to_protocol;

/// Show one checkpoint: turn, prompt, agent, tool, changes, coverage
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch show c12\n  \
        backstitch show t4 --patch\n  \
        backstitch show @ --name-status\n\n{REVISIONS}")
)]
pub struct ShowArgs {
    /// Checkpoint to show
    #[arg(add = complete::revisions())]
    pub rev: String,
    #[command(flatten)]
    pub form: ShowForm,
}

#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub struct ShowForm {
    /// List changed files with line counts (the default)
    #[arg(long)]
    pub stat: bool,
    /// Show the changes as a patch
    #[arg(long, short)]
    pub patch: bool,
    /// List changed files with A, M, D, R
    #[arg(long)]
    pub name_status: bool,
}

impl TerminalCommand for ShowArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("show")
    }
}

impl OnHistory for ShowArgs {
    fn traits(&self) -> Traits {
        Traits {
            paged: true,
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        run(context, &self)
    }
}

fn run(context: &mut CommandContext, options: &ShowArgs) -> CliResult<()> {
    let mut shown = ShownCheckpoint::find(&context.engine, &options.rev)?;
    if context.out.json {
        let files = options.form.patch.then(|| shown.files(&context.engine));
        return out::answer(shown.document(files.transpose()?.as_deref()));
    }
    entry_words::name_targets(&context.engine, std::slice::from_mut(&mut shown.entry));
    if options.form.name_status || options.form.patch {
        let changed = shown.files(&context.engine)?;
        return if options.form.patch {
            files::patches(&changed, context.out)
        } else {
            context
                .out
                .text(&files::name_status(&changed, context.out.paint))
        };
    }
    let ShownCheckpoint { entry, steps } = shown;
    let mut text = head(&entry, context.out.paint);
    if entry.node.kind == Kind::Turn {
        text.push('\n');
        text.push_str(&timeline::rows(&steps, context.out.paint, usize::MAX));
        text.push_str(&denied(context, &entry)?);
    } else if !entry.changes.is_empty() {
        text.push('\n');
        text.push_str(&files::stat(
            &changes(&context.engine, &entry)?,
            context.out.paint,
        ));
    }
    if !entry.unsaved.is_empty() {
        text.push('\n');
        text.push_str(&unsaved(&entry.unsaved, context.out.paint));
    }
    context.out.text(&text)
}

/// Returns rows of the calls of a turn that breakpoints denied by themselves.
fn denied(context: &CommandContext, entry: &Entry) -> CliResult<String> {
    let (Some(turn), Some(session)) = (&entry.turn, &entry.session) else {
        return Ok(String::new());
    };
    let Some(control) = Control::open_existing(&context.workspace)? else {
        return Ok(String::new());
    };
    let paint = context.out.paint;
    let hits = control
        .hits()
        .denied(Some(&session.native), Some(turn.number), pauses::DENIED)?;
    Ok(hits
        .iter()
        .map(|hit| pauses::denied_line(hit, paint))
        .collect())
}

/// Returns rows of the text that editors had not saved.
fn unsaved(all: &[Unsaved], paint: Paint) -> String {
    let mut text = String::new();
    for unsaved in all {
        let line = TextLine::new()
            .add(YELLOW, "  U  ")
            .plain(render::path(unsaved.path.bytes()))
            .plain("  ");
        let line = files::with_counts(line, false, (unsaved.added, unsaved.removed));
        let note = format!("  not saved, in {}", render::clean(&unsaved.editor));
        text.push_str(&line.add(DIM, note).draw(Paint {
            width: usize::MAX,
            ..paint
        }));
    }
    text
}

/// Returns a checkpoint's name, and a row for each of its facts.
fn head(entry: &Entry, paint: Paint) -> String {
    let node = &entry.node;
    let mut title = TextLine::new()
        .add(BOLD, entry_words::node_name(entry))
        .plain("  ")
        .plain(node.kind.name());
    if entry_words::is_undone(entry) {
        title = title.faded(true);
    }
    let mut text = title.right(paint.ago(node.time)).draw(paint);
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            let line = TextLine::new()
                .plain("  ")
                .column(DIM, name, 12)
                .plain(value);
            text.push_str(&line.draw(Paint {
                width: usize::MAX,
                ..paint
            }));
        }
    };
    let time = to_protocol::time(node.time);
    row("checkpoint", node.id.to_string());
    row(
        "parent",
        node.parent.map(|id| id.to_string()).unwrap_or_default(),
    );
    row("time", time.0.unwrap_or_default());
    row("branch", render::clean(&entry.branch));
    row("tags", render::clean(&entry.tags.join(", ")));
    if let Some(squashed) = &node.squashed {
        row("replaces", entry_words::squashed_text(squashed));
        row(
            "since",
            to_protocol::time(squashed.since).0.unwrap_or_default(),
        );
        row("agents", render::clean(&squashed.agents.join(", ")));
    }
    let kept = if entry.pinned {
        "kept however old it becomes"
    } else {
        ""
    };
    row("pinned", kept.to_owned());
    row(
        "label",
        node.label.as_deref().map(render::clean).unwrap_or_default(),
    );
    let description = node.description.as_deref().map(render::clean);
    row("description", description.unwrap_or_default());
    if let Some(session) = &entry.session {
        row("agent", render::clean(&session.agent));
        let id = render::clean(&session.native);
        row("session", format!("{} ({id})", session.id.letter()));
    }
    if let Some(turn) = &entry.turn {
        row("turn", format!("t{}", turn.number));
        row("prompt", render::clean(&turn.prompt));
    }
    if let Some(call) = &entry.call {
        call_rows(entry, call, &mut row);
    }
    row("directories", entry_words::directories(entry));
    let operation = entry.operation.as_ref();
    row(
        "operation",
        operation.map_or_else(String::new, |_| entry_words::operation_text(entry)),
    );
    if let Some(head) = &node.git.head {
        let branch = node.git.branch.as_deref().unwrap_or("detached");
        row(
            "git",
            render::clean(&format!("{} ({branch})", head.get(..12).unwrap_or(head))),
        );
    }
    text.push_str(&coverage(entry, paint));
    text
}

/// Adds the rows of a tool call.
fn call_rows(entry: &Entry, call: &Call, row: &mut impl FnMut(&str, String)) {
    row("tool", render::clean(&call.tool));
    if let Some(command) = &entry.command {
        let description = command.description.as_deref().map(render::clean);
        row("about", description.unwrap_or_default());
        row(
            "command",
            render::visible(command.text.trim()).replace('\n', "\n              "),
        );
    }
    row(
        "exit status",
        match call.exit {
            Some(exit) => exit.to_string(),
            None if call.failed => "failed".to_owned(),
            None => String::new(),
        },
    );
    row("iteration", call.iteration.to_string());
    let subagent = call.subagent.as_deref().map(render::clean);
    row("subagent", subagent.unwrap_or_default());
}

fn coverage(entry: &Entry, paint: Paint) -> String {
    let coverage = &entry.node.coverage;
    let mut text = String::new();
    if coverage.ignored > 0 {
        let ignored = usize::try_from(coverage.ignored).unwrap_or(usize::MAX);
        let ignored = render::plural(ignored, "path", "paths");
        let note = format!("  {ignored} left out by ignore rules");
        text.push_str(&TextLine::new().add(DIM, note).draw(paint));
    }
    for item in &coverage.items {
        let reason = item.reason.name().replace('_', " ");
        let mut line = TextLine::new()
            .add(YELLOW, "  ! not captured: ")
            .plain(render::path(&item.path));
        line = line.add(DIM, format!(" ({reason})"));
        if !item.detail.is_empty() {
            line = line.add(DIM, format!(" {}", render::clean(&item.detail)));
        }
        text.push_str(&line.draw(paint));
    }
    if coverage.pending {
        text.push_str(&paint.on(YELLOW, "  ! a scan is still running in the background\n"));
    }
    text
}
