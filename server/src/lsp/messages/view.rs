//! Texts of shown documents: their names, and the rows of a plan, of the timeline and of a review.

use std::fmt::Write as _;

use backstitch_core::model::Kind;
use backstitch_core::restore::{Action, ActionKind, Conflict, Gap, GapKind};
use backstitch_core::{Entry, ReviewFile, ReviewHunk};

use super::Now;
use crate::file_changes::Difference;
use crate::render;

pub const TIMELINE_HEAD: &str = "Newest first. `backstitch.rewind` undoes everything after one of these; tN is the state before turn N.\n\n";
pub const PLAN_NAME: &str = "plan.txt";
pub const REVIEW_HEAD: &str = "Work of agents that you have not reviewed. `backstitch review PATH --keep` in a terminal marks a file as reviewed.\n";
pub const REVIEW_NAME: &str = "review.txt";
const CONFLICTS: &str = "Conflicts with your edits";
const NOT_REACHED: &str = "Not reached";

/// `file`: the only file that is shown.
pub fn diff_name(file: Option<&str>, from: &str, to: &str) -> String {
    format!("{} {from}..{to}.diff", file.unwrap_or("changes"))
}

/// Name of a document with the changes of one turn.
pub fn turn_name(file: Option<&str>, turn: &str) -> String {
    format!("{} {turn} only.diff", file.unwrap_or("changes"))
}

pub fn timeline_name(file: Option<&str>) -> String {
    format!("{}.timeline", file.unwrap_or("timeline"))
}

pub fn unsaved_name(file: &str) -> String {
    format!("not saved {file}")
}

/// Formats one path of a plan.
pub fn action(action: &Action, lines: Difference) -> String {
    let lines = match lines {
        _ if action.kind == ActionKind::Skip => String::new(),
        Difference::Lines(added, removed) => format!("  +{added} -{removed}"),
        Difference::Binary => "  binary".to_owned(),
        Difference::Unknown => String::new(),
    };
    let from = action.from.as_ref();
    let from = from.map(|from| format!("{} → ", render::path(from.bytes())));
    let reason = action.reason.as_ref().map(|reason| format!("  {reason}"));
    format!(
        "{:<8}{}{}{lines}{}\n",
        action.kind.name(),
        from.unwrap_or_default(),
        render::path(action.path.bytes()),
        reason.unwrap_or_default(),
    )
}

pub fn conflicts(all: &[Conflict]) -> String {
    let row = |c: &Conflict| format!("{}  {}\n", render::path(c.path.bytes()), c.reason);
    section(CONFLICTS, all.iter().map(row).collect())
}

pub fn gaps(all: &[Gap]) -> String {
    let row = |gap: &Gap| {
        let path = gap.path.as_deref().map(String::from_utf8_lossy);
        let path = path.unwrap_or_default();
        let is_choice = gap.kind == GapKind::Uncertain;
        let more = if is_choice {
            " (`uncertain: take` includes it)"
        } else {
            ""
        };
        format!("{:<12}{path}  {}{more}\n", gap.kind.name(), gap.detail)
    };
    section(NOT_REACHED, all.iter().map(row).collect())
}

/// Formats a section; empty if it has no rows.
fn section(head: &str, rows: String) -> String {
    if rows.is_empty() {
        rows
    } else {
        format!("\n{head}\n{rows}")
    }
}

fn agent(entry: &Entry) -> String {
    let session = entry.session.as_ref();
    session.map_or_else(String::new, |session| render::clean(&session.agent))
}

/// Names a checkpoint without turn, operation and label.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::External => "you",
        Kind::Manual => "checkpoint",
        kind => kind.name(),
    }
}

/// Formats one checkpoint of the timeline. `whole`: the rows of turns are left out, so each row names its turn and
/// agent.
pub fn row(entry: &Entry, now: Now, whole: bool) -> String {
    let what = match (&entry.turn, &entry.call, &entry.operation) {
        (_, _, Some(operation)) => format!("{} {}", operation.kind.name(), operation.target),
        (Some(turn), Some(call), _) if whole => format!(
            "t{} {} · {} {}",
            turn.number,
            render::cut(&render::clean(&turn.prompt), 40),
            agent(entry),
            render::clean(&call.tool),
        ),
        (_, Some(call), _) => format!("  {}", render::clean(&call.tool)),
        (Some(turn), None, _) => format!(
            "t{} {} · {}",
            turn.number,
            render::cut(&render::clean(&turn.prompt), 60),
            agent(entry),
        ),
        _ => entry
            .node
            .label
            .as_deref()
            .map_or_else(|| kind(entry.node.kind).to_owned(), render::clean),
    };
    let out = if entry.taken_out { "  (undone)" } else { "" };
    let mut text = format!(
        "{:<6} {what}{out}  {}\n",
        entry.node.id.to_string(),
        now.ago(entry.node.time)
    );
    for change in &entry.changes {
        let (path, from) = render::place(&change.change.before, &change.change.after);
        let what = render::PathChange::of(&change.change.before, &change.change.after);
        let from = from.map(|from| format!("{} → ", render::path(from)));
        writeln!(
            text,
            "         {} {}{}  +{} -{}",
            what.letter(),
            from.unwrap_or_default(),
            render::path(path),
            change.added,
            change.removed
        )
        .ok();
    }
    text
}

/// Formats a file with unreviewed work, without its hunks.
pub fn review_file(file: &ReviewFile) -> String {
    let (path, from) = render::place(&file.delta.old, &file.delta.new);
    let from = from.map(|from| format!("{} → ", render::path(from)));
    let count = |lines: fn(&ReviewHunk) -> usize| file.hunks.iter().map(lines).sum::<usize>();
    let lines = if file.binary {
        "binary".to_owned()
    } else if file.line_ends {
        "line ends".to_owned()
    } else {
        let (added, removed) = (count(|h| h.added.len()), count(|h| h.removed.len()));
        format!("+{added} -{removed}")
    };
    format!(
        "\n{} {}{}  {lines}\n",
        render::PathChange::of(&file.delta.old, &file.delta.new).letter(),
        from.unwrap_or_default(),
        render::path(path),
    )
}

/// Formats an unreviewed hunk: its first line, the turn that it comes from, and its age.
pub fn review_hunk(hunk: &ReviewHunk, age: Option<&str>) -> String {
    let by = hunk.author.as_ref().map(|author| match &author.turn {
        Some((number, prompt)) => {
            let prompt = render::cut(&render::clean(prompt), 60);
            format!("t{number} {prompt} · {}", render::clean(&author.agent))
        }
        None => render::clean(&author.agent),
    });
    let text = format!(
        "{:>6}  +{} -{}  {}  {}",
        hunk.new.start + 1,
        hunk.added.len(),
        hunk.removed.len(),
        by.as_deref().unwrap_or("unknown author"),
        age.unwrap_or_default(),
    );
    format!("{}\n", text.trim_end())
}
