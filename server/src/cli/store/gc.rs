//! `gc`: squashes old checkpoints and frees disk space.

use backstitch_core::retention::{Collected, Limits, SuspectAges};
use clap::Args;
use serde_json::{Value, json};

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, decides_unless, records};
use crate::cli::context::CommandContext;
use crate::cli::history::entry_words;
use crate::render::{self, BLUE, DIM};
use crate::terminal::error::CliResult;
use crate::terminal::line::TextLine;
use crate::terminal::{out, questions};
use crate::to_protocol;

/// Reasons why checkpoints remain; `retention/plan.rs` has the rules.
const RETAINED: &str = "the first checkpoint, heads and starts of branches, tags, pins and restores with the edits that they moved \
     remain, each with its whole turn. So do the newest turn of each session with an event in the last 12 hours, and one \
     checkpoint between each of them";

/// Squash old checkpoints and free disk space; runs by itself once a day
///
/// Neighboring checkpoints become one checkpoint with their combined changes. These stay: heads and starts of
/// branches, tagged and pinned checkpoints, checkpoints whose changes a remaining rewind moved, whole turns, and
/// checkpoints younger than `store.keepDays`. Above `checkpoints.max` checkpoints or `store.maxBytes` bytes,
/// younger ones are squashed too, the oldest first. This cannot be undone; files of the workspace are not touched.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    backstitch gc --dry-run\n  \
    backstitch gc --keep-days 90\n  \
    backstitch gc --keep 500 --max-bytes 1000000000")]
pub struct GcArgs {
    /// Show what would be squashed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Keep checkpoints younger than N days; 0 keeps only those that must stay [default: `store.keepDays`]
    #[arg(long, value_name = "N")]
    pub keep_days: Option<u64>,
    /// Squash the oldest checkpoints beyond the N newest, of all branches together; 0 means no limit [default:
    /// `checkpoints.max`]
    #[arg(long, value_name = "N")]
    pub keep: Option<u64>,
    /// Squash the oldest until the store is below N bytes; 0 means no limit [default: `store.maxBytes`]
    #[arg(long, value_name = "N")]
    pub max_bytes: Option<u64>,
    /// Also squash checkpoints that are too old by the clock alone: it may have been wrong where a long gap is
    #[arg(long)]
    pub trust_clock: bool,
    /// Run only if it is due, and print nothing
    #[arg(long, hide = true)]
    pub if_due: bool,
}

impl TerminalCommand for GcArgs {
    fn declared(&self) -> DeclaredCommand {
        if self.if_due {
            // a hook runs it in the background when it is due
            records("gc")
        } else {
            decides_unless(self.dry_run, "gc")
        }
    }
}

impl OnHistory for GcArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        run(context, &self)
    }
}

fn run(context: &mut CommandContext, options: &GcArgs) -> CliResult<()> {
    let mut limits = context.engine.retention().limits()?;
    if options.if_due
        && let Some(control) = context.control()?
    {
        control.gc_if_due(limits.days, limits.bytes)?;
    }
    if options.if_due && !context.engine.retention().gc_is_due()? {
        return Ok(());
    }
    limits.days = options.keep_days.or(limits.days);
    limits.checkpoints = options.keep.or(limits.checkpoints);
    limits.bytes = match options.max_bytes {
        Some(0) => None,
        Some(bytes) => Some(bytes),
        None => limits.bytes,
    };
    limits.early = options.if_due;
    limits.trust_clock = options.trust_clock;
    let done = collect_asking(context, options, limits)?;
    if let (Some(control), false) = (context.control()?, options.dry_run) {
        control.gc(limits.days, limits.bytes)?;
    }
    if options.if_due {
        return Ok(context.engine.retention().gc_was_done()?);
    }
    if context.out.json {
        return out::answer(document(&done, options.dry_run));
    }
    print(context, &done, options.dry_run)?;
    notes(context, &done, limits, options.dry_run);
    Ok(())
}

/// Returns the JSON document of a collection.
fn document(done: &Collected, is_dry: bool) -> Value {
    let made = done.made.iter().map(|(node, squashed)| {
        json!({ "checkpoint": node.to_string(), "squashed": to_protocol::squashed(squashed) })
    });
    json!({
        "dry_run": is_dry,
        "gone": done.gone,
        "made": made.collect::<Vec<_>>(),
        "contents": done.contents,
        "bytes_before": done.before,
        "bytes_after": done.after,
        "over_limit": done.is_over,
        "too_many": done.too_many,
        "stuck": done.stuck,
        "suspect": done.suspect.map(|suspect| json!({
            "checkpoints": suspect.checkpoints,
            "days": suspect.days,
            "before": suspect.before.map(|node| node.to_string()),
        })),
    })
}

/// Notes the checkpoints that remain although they are too many, too large, or perhaps too old.
fn notes(context: &CommandContext, done: &Collected, limits: Limits, is_dry: bool) {
    if let Some(suspect) = &done.suspect {
        let text = suspect_text(suspect);
        let verb = if is_dry { "would stay" } else { "stay" };
        let note = format!("{text} They {verb}; `--trust-clock` squashes them, too");
        context.out.note("note", &note);
    }
    if done.stuck > 0 {
        let stuck = usize::try_from(done.stuck).unwrap_or(usize::MAX);
        context.out.note(
            "warning",
            &format!(
                "{} could not be squashed because of inconsistent data; \
                 `backstitch verify` looks for damage",
                render::plural(stuck, "checkpoint", "checkpoints")
            ),
        );
    }
    if let (Some(left), Some(most)) = (done.too_many, limits.checkpoints) {
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        context.out.note(
            "note",
            &format!(
                "{} remain, more than the limit of {most}: {RETAINED}. Raise `checkpoints.max`, or delete branches, tags and pins",
                render::plural(left, "checkpoint", "checkpoints"),
            ),
        );
    }
    if done.is_over {
        let limit = limits.bytes.unwrap_or(0);
        context.out.note(
            "note",
            &format!(
                "the store is above its limit of {}: {RETAINED}. Raise `store.maxBytes`, or delete branches, tags and pins",
                render::bytes(limit)
            ),
        );
    }
}

/// Collects, and asks about checkpoints that only the clock says to be too old.
fn collect_asking(
    context: &mut CommandContext,
    options: &GcArgs,
    limits: Limits,
) -> CliResult<Collected> {
    let first = collect(context, options, limits)?;
    let can_ask = !(options.if_due || options.dry_run || context.out.json) && questions::can_ask();
    let Some(suspect) = first.suspect.filter(|_| can_ask) else {
        return Ok(first);
    };
    if !questions::ask(&format!("{} Squash them, too?", suspect_text(&suspect)))? {
        return Ok(first);
    }
    let trusting = Limits {
        trust_clock: true,
        ..limits
    };
    let second = collect(context, options, trusting)?;
    Ok(Collected {
        before: first.before,
        gone: first.gone + second.gone,
        contents: first.contents + second.contents,
        ..second
    })
}

fn collect(context: &mut CommandContext, options: &GcArgs, limits: Limits) -> CliResult<Collected> {
    let mut progress = context.out.progress();
    Ok(if options.dry_run {
        context.engine.retention().gc_dry(limits, &mut progress)?
    } else {
        context.engine.retention_mut().gc(limits, &mut progress)?
    })
}

/// Says why checkpoints that the clock says are too old may be young.
fn suspect_text(suspect: &SuspectAges) -> String {
    let count = usize::try_from(suspect.checkpoints).unwrap_or(usize::MAX);
    let checkpoints = render::plural(count, "checkpoint", "checkpoints");
    let seems = if count == 1 { "seems" } else { "seem" };
    let days = usize::try_from(suspect.days).unwrap_or(usize::MAX);
    let days = render::plural(days, "day", "days");
    let gap = match suspect.before {
        Some(node) => format!("there is a gap of {days} before {node}"),
        None => format!("there is a gap of {days} before now"),
    };
    format!(
        "{checkpoints} {seems} too old only by the clock: {gap}, and the clock may have been wrong."
    )
}

fn print(context: &CommandContext, done: &Collected, dry: bool) -> CliResult<()> {
    let paint = context.out.paint;
    let count = |n: u64, one: &str, many: &str| {
        render::plural(usize::try_from(n).unwrap_or(usize::MAX), one, many)
    };
    if done.made.is_empty() && done.contents == 0 {
        let text = if done.is_over || done.too_many.is_some() || done.stuck > 0 {
            "Nothing more can be squashed.\n"
        } else {
            "Nothing to squash.\n"
        };
        return context.out.remark(text);
    }
    let mut text = String::new();
    for (node, squashed) in &done.made {
        let line = TextLine::new()
            .column(BLUE, &node.to_string(), 8)
            .plain(entry_words::squashed_text(squashed))
            .add(DIM, "")
            .right(paint.ago(squashed.since));
        text.push_str(&line.draw(paint));
    }
    let (gone, contents) = (
        count(done.gone, "checkpoint", "checkpoints"),
        count(done.contents, "content", "contents"),
    );
    let (before, after) = (render::bytes(done.before), render::bytes(done.after));
    let (verb, takes) = if dry {
        ("would be removed", "would take")
    } else {
        ("were removed", "takes")
    };
    let size = match (before == after, dry) {
        (true, true) => format!("would still take {after}"),
        (true, false) => format!("still takes {after}"),
        (false, _) => format!("{takes} {after} instead of {before}"),
    };
    let end = format!("{gone} and {contents} {verb}; the store {size}.\n");
    text.push_str(&end);
    if !done.made.is_empty() {
        text.push_str(if dry {
            "This could not be undone.\n"
        } else {
            "This cannot be undone.\n"
        });
    }
    context.out.text(&text)
}
