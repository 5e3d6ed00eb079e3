//! `stats` and `clear`: statistics of the history, and its deletion.

use backstitch_control::Control;
use backstitch_core::model::Kind;
use backstitch_core::{Clearing, LineTotals, Stats};
use serde_json::{Map, Value, json};

use super::args;
use super::context::CommandContext;
use crate::render::{self, DIM, Paint};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};
use crate::terminal::questions;
use crate::to_protocol;

/// Prints the statistics of a workspace without a store.
pub fn nothing(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(answer(&Stats::default()));
    }
    out.text("Nothing has been recorded in this workspace yet.\n")
}

pub fn stats(context: &mut CommandContext) -> CliResult<()> {
    let mut progress = context.out.progress();
    let stats = context.engine.stats(&mut progress)?;
    drop(progress);
    if context.out.json {
        return out::answer(answer(&stats));
    }
    if stats.newest.is_none() {
        return nothing(context.out);
    }
    context.out.drawn(&text(&stats, context.out.paint))
}

fn answer(stats: &Stats) -> Value {
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

pub fn nothing_to_clear(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "checkpoints": 0, "turns": 0, "sessions": 0, "bytes": 0 }));
    }
    out.remark("Nothing has been recorded in this workspace: there is nothing to delete.\n")
}

pub fn clear(context: &mut CommandContext, options: &args::ClearArgs) -> CliResult<()> {
    let control = context.control()?;
    let held = control.as_ref().map_or(Ok(0), Control::held)?;
    if held > 0 {
        let calls = render::plural(held, "call is", "calls are");
        return Err(
            CliError::refused(format!("{calls} held now; nothing was deleted"))
                .hint("`backstitch pauses` lists them; decide on them first"),
        );
    }
    let clearing = context.engine.clearing()?;
    if !options.yes {
        let warnings = warnings(&clearing);
        if !context.out.json && questions::can_ask() {
            for warning in warnings {
                context.out.note("warning", &warning);
            }
            let root = clearing.status.root.display();
            context.out.text(&format!(
                "This deletes {} permanently. The files stay as they are.\n",
                amount(&clearing)
            ))?;
            if !questions::ask(&format!("Delete the history of {root}?"))? {
                return Err(CliError::refused("not confirmed; nothing was deleted"));
            }
        } else {
            let hint = match warnings.first() {
                Some(_) => "--yes deletes it anyway; the files stay as they are",
                None => "--yes deletes it; the files stay as they are",
            };
            let why = warnings.into_iter().next();
            let why =
                why.unwrap_or_else(|| format!("this deletes {} permanently", amount(&clearing)));
            return Err(CliError::refused(why).hint(hint));
        }
    }
    let removed = context.engine.clear()?;
    if let Some(control) = control {
        control.clear()?;
    }
    let after = context.engine.status()?.store_bytes;
    if context.out.json {
        return out::answer(json!({
            "checkpoints": removed.status.nodes,
            "turns": removed.status.turns,
            "sessions": removed.status.sessions,
            "bytes": removed.status.store_bytes.saturating_sub(after),
        }));
    }
    context.out.remark(&format!(
        "Deleted {}. The files are unchanged; a new history starts with the next recording.\n",
        amount(&removed)
    ))
}

/// Returns reasons not to delete the history.
fn warnings(clearing: &Clearing) -> Vec<String> {
    let mut warnings = Vec::new();
    if !clearing.others.is_empty() {
        let others: Vec<String> = clearing
            .others
            .iter()
            .map(|dir| dir.display().to_string())
            .collect();
        warnings.push(format!(
            "{} shares this history and would lose it too",
            others.join(", ")
        ));
    }
    if clearing.open_calls > 0 {
        let calls = usize::try_from(clearing.open_calls).unwrap_or_default();
        let calls = render::plural(calls, "tool call is", "tool calls are");
        warnings.push(format!("an agent is at work: {calls} under way"));
    }
    warnings
}

fn amount(clearing: &Clearing) -> String {
    let status = &clearing.status;
    let count =
        |n: i64, one, many| render::plural(usize::try_from(n).unwrap_or_default(), one, many);
    format!(
        "{}, {} and {} ({})",
        count(status.nodes, "checkpoint", "checkpoints"),
        count(status.turns, "turn", "turns"),
        count(status.sessions, "session", "sessions"),
        render::bytes(status.store_bytes)
    )
}
