//! `stats`: statistics of the history.

use std::path::Path;

use backstitch_core::model::Kind;
use backstitch_core::{LineTotals, Stats};
use backstitch_job::place::disk_size;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, Traits, reads};
use crate::cli::context::{self, CommandContext};
use crate::jobs;
use crate::render::{self, DIM, Paint};
use crate::terminal::error::CliResult;
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};
use crate::to_protocol;

/// Show statistics of the history: checkpoints, sessions, lines, sizes
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch stats\n  backstitch stats --json")]
pub struct StatsArgs;

impl TerminalCommand for StatsArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("stats")
    }
}

impl OnHistory for StatsArgs {
    fn traits(&self) -> Traits {
        Traits {
            empty: Some(|global, out| nothing(&JobStats::of(&context::find(global)?.root), out)),
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        stats(context)
    }
}

/// Runs of CI jobs that are kept.
struct JobStats {
    runs: usize,
    /// Bytes on disk.
    bytes: u64,
}

impl JobStats {
    fn of(root: &Path) -> Self {
        let runs = jobs::runs_of(root);
        Self {
            runs: runs.len(),
            bytes: runs.iter().map(|run| disk_size(&run.dir)).sum(),
        }
    }

    /// Draws a row, unless there are none.
    fn row(&self, paint: Paint) -> String {
        if self.runs == 0 {
            return String::new();
        }
        let runs = render::plural(self.runs, "run", "runs");
        TextLine::new()
            .column(DIM, "jobs", 13)
            .plain(format!("{runs}, {} on disk", render::bytes(self.bytes)))
            .draw(paint)
    }
}

/// Prints the statistics of a workspace without a store.
fn nothing(jobs: &JobStats, out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(answer(&Stats::default(), jobs));
    }
    out.text(&format!(
        "Nothing has been recorded in this workspace yet.\n{}",
        jobs.row(out.paint)
    ))
}

fn stats(context: &mut CommandContext) -> CliResult<()> {
    let mut progress = context.out.progress();
    let stats = context.engine.stats(&mut progress)?;
    drop(progress);
    let jobs = JobStats::of(&context.workspace.root);
    if context.out.json {
        return out::answer(answer(&stats, &jobs));
    }
    if stats.newest.is_none() {
        return nothing(&jobs, context.out);
    }
    let mut text = text(&stats, context.out.paint);
    text.push_str(&jobs.row(context.out.paint));
    context.out.drawn(&text)
}

fn answer(stats: &Stats, jobs: &JobStats) -> Value {
    let kinds: Map<String, Value> = Kind::ALL
        .iter()
        .map(|kind| {
            let starts = if *kind == Kind::Manual {
                stats.starts
            } else {
                0
            };
            let count = of(&stats.checkpoints, *kind) - starts;
            (kind.name().to_owned(), count.into())
        })
        .chain([("start".to_owned(), stats.starts.into())])
        .collect();
    let sessions: Map<String, Value> = stats
        .sessions
        .iter()
        .map(|(agent, count)| (agent.clone(), (*count).into()))
        .collect();
    let lines = |lines: &LineTotals| json!({ "added": lines.added, "removed": lines.removed });
    let sizes = &stats.sizes;
    json!({
        "checkpoints": total(stats),
        "kinds": kinds,
        "turns": stats.turns,
        "steps": of(&stats.checkpoints, Kind::Step),
        "calls": stats.calls,
        "sessions": sessions,
        "branches": stats.branches,
        "tags": stats.tags,
        "files": stats.files,
        "changes": stats.changes,
        "lines": {
            "agents": lines(&stats.by_agents),
            "user": lines(&stats.by_user),
            "unknown": lines(&stats.by_unknown),
        },
        "store_bytes": {
            "contents": sizes.contents,
            "database": sizes.database,
            "log": sizes.log,
            "total": sizes.contents + sizes.database + sizes.log,
        },
        "job_runs": { "count": jobs.runs, "bytes": jobs.bytes },
        "oldest": stats.oldest.map(to_protocol::time),
        "newest": stats.newest.map(to_protocol::time),
    })
}

fn of(kinds: &[(Kind, i64)], wanted: Kind) -> i64 {
    let found = kinds.iter().find(|(kind, _)| *kind == wanted);
    found.map_or(0, |(_, count)| *count)
}

fn total(stats: &Stats) -> i64 {
    stats.checkpoints.iter().map(|(_, count)| count).sum()
}

fn text(stats: &Stats, paint: Paint) -> String {
    let mut text = String::new();
    let paint = Paint {
        width: usize::MAX,
        ..paint
    };
    let mut row = |name: &str, value: String| {
        text.push_str(
            &TextLine::new()
                .column(DIM, name, 13)
                .plain(value)
                .draw(paint),
        );
    };
    let size = |n: i64| usize::try_from(n).unwrap_or_default();
    let by_hand = |kind: Kind| kind == Kind::Manual;
    let kinds = stats.checkpoints.iter().filter_map(|(kind, count)| {
        let count = size(*count - if by_hand(*kind) { stats.starts } else { 0 });
        if count == 0 {
            return None;
        }
        Some(match kind {
            Kind::Turn => render::plural(count, "turn", "turns"),
            Kind::Step => render::plural(count, "step", "steps"),
            Kind::External => render::plural(count, "edit of yours", "edits of yours"),
            Kind::Manual => format!("{count} by hand"),
            Kind::Rewind => render::plural(count, "rewind", "rewinds"),
            Kind::Squash => format!("{count} squashed"),
            Kind::Import => format!("{count} imported"),
        })
    });
    let starts = (stats.starts > 0).then(|| "the start".to_owned());
    let kinds = kinds.chain(starts).collect::<Vec<_>>().join(" · ");
    row("checkpoints", format!("{}  {kinds}", total(stats)));
    let sessions = stats
        .sessions
        .iter()
        .map(|(agent, count)| format!("{} {count}", render::clean(agent)));
    let sessions: Vec<String> = sessions.collect();
    if !sessions.is_empty() {
        let calls = render::plural(size(stats.calls), "tool call", "tool calls");
        row("sessions", format!("{} · {calls}", sessions.join(" · ")));
    }
    let mut named = vec![render::plural(size(stats.branches), "branch", "branches")];
    if stats.tags > 0 {
        named.push(render::plural(size(stats.tags), "tag", "tags"));
    }
    row("names", named.join(" · "));
    let changes = render::plural(size(stats.changes), "change", "changes");
    let files = render::plural(size(stats.files), "file", "files");
    row("changed", format!("{files} · {changes}"));
    for (name, lines) in [
        ("by agents", stats.by_agents),
        ("by you", stats.by_user),
        ("by unknown", stats.by_unknown),
    ] {
        if lines != LineTotals::default() {
            let counts = paint.counts(size(lines.added), size(lines.removed));
            row(name, format!("{counts} lines"));
        }
    }
    let sizes = &stats.sizes;
    row(
        "store",
        format!(
            "{}  contents {} · database {} · log {}",
            render::bytes(sizes.contents + sizes.database + sizes.log),
            render::bytes(sizes.contents),
            render::bytes(sizes.database),
            render::bytes(sizes.log),
        ),
    );
    if let (Some(oldest), Some(newest)) = (stats.oldest, stats.newest) {
        let span = format!("{} … {}", paint.ago(oldest), paint.ago(newest));
        row("recorded", span);
    }
    text
}
