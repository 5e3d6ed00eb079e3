//! Words about a checkpoint: its name, its operation, its directories, and paths that it could not capture. Pure but for the
//! look-up of names.

use std::fmt::Write as _;

use backstitch_core::model::{Coverage, CoverageItem, Kind, Reason, Squashed};
use backstitch_core::{Engine, Entry};

use crate::{render, restore_words};

/// Maximum number of directories that a row names.
const MAX_DIRECTORIES: usize = 4;

/// Returns `t4` for the turn's own node; its steps follow below it.
pub fn turn_name(entry: &Entry) -> String {
    let turn = entry
        .turn
        .as_ref()
        .filter(|_| entry.node.kind == Kind::Turn);
    turn.map(|turn| format!("t{}", turn.number))
        .unwrap_or_default()
}

/// Returns a checkpoint's name as a person would type it: its turn, if it is one.
pub fn node_name(entry: &Entry) -> String {
    let turn = turn_name(entry);
    if turn.is_empty() {
        entry.node.id.to_string()
    } else {
        turn
    }
}

/// True if the entry is not in force: its edits were taken out, or it is an operation that was undone.
pub fn is_undone(entry: &Entry) -> bool {
    match &entry.operation {
        Some(operation) => operation.undone_by.is_some(),
        None => entry.taken_out,
    }
}

/// Replaces the targets of operations by the names of turns.
pub fn name_targets(engine: &Engine, entries: &mut [Entry]) {
    for operation in entries
        .iter_mut()
        .filter_map(|entry| entry.operation.as_mut())
    {
        operation.target = target_name(engine, &operation.target);
    }
}

/// Names checkpoints as a person would type them: `t2` rather than its first checkpoint `c6`.
pub fn target_name(engine: &Engine, target: &str) -> String {
    let name = |word: &str| -> Option<String> {
        let digits = word.strip_prefix('c')?;
        digits.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
        Some(node_name(
            &engine
                .history()
                .entry(engine.history().resolve(word).ok()?)
                .ok()?,
        ))
    };
    let words = target.split(' ');
    let words: Vec<String> = words
        .map(|w| name(w).unwrap_or_else(|| render::clean(w)))
        .collect();
    words.join(" ")
}

/// Describes the operation of a rewind node: `rewind to before “Add a cart”  op1`.
pub fn operation_text(entry: &Entry) -> String {
    match (&entry.operation, &entry.subject) {
        (Some(operation), Some(subject)) => {
            format!("{}  {}", restore_words::noun(subject), operation.id)
        }
        _ => "rewind".to_owned(),
    }
}

/// Returns one line about paths that a checkpoint could not capture.
pub fn coverage_note(coverage: &Coverage) -> Option<String> {
    let mut notes = Vec::new();
    let (ignored, items): (Vec<_>, Vec<_>) = coverage
        .items
        .iter()
        .partition(|item| item.reason == Reason::Ignored);
    for change in ["removed", "changed"] {
        let is_told = |item: &&&CoverageItem| {
            // the entries of an ignored directory change all the time
            let is_of_a_cache = item.detail == "changed" && item.path.ends_with(b"/");
            item.detail.starts_with(change) && !is_of_a_cache
        };
        let paths: Vec<String> = ignored
            .iter()
            .filter(is_told)
            .map(|i| render::path(&i.path))
            .collect();
        if !paths.is_empty() {
            let count = render::plural(paths.len(), "ignored path", "ignored paths");
            let mut named = paths[..paths.len().min(3)].join(", ");
            if paths.len() > 3 {
                named = format!("{named} and {} more", paths.len() - 3);
            }
            notes.push(format!("{count} {change}, not recorded: {named}"));
        }
    }
    if let Some(first) = items.first() {
        let reason = first.reason.name().replace('_', " ");
        let count = items.len();
        let path = render::path(&first.path);
        let named = if path.is_empty() || path == "." {
            render::clean(&first.detail)
        } else {
            path
        };
        let more = if count > 1 {
            format!(" and {} more", count - 1)
        } else {
            String::new()
        };
        notes.push(format!("not captured: {named} ({reason}){more}"));
    }
    if coverage.pending {
        notes.push("a scan is still running".to_owned());
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Names the directories that a checkpoint made, removed or gave other permission bits; empty if none.
pub fn directories(entry: &Entry) -> String {
    let all = &entry.node.coverage.directories;
    let named = all.iter().take(MAX_DIRECTORIES).map(|change| {
        let path = render::path(change.path.bytes());
        match (change.before, change.after) {
            (None, _) => format!("made {path}/"),
            (Some(_), None) => format!("removed {path}/"),
            (Some(before), Some(after)) => format!("{path}/ {before:o} → {after:o}"),
        }
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if let Some(more) = all.len().checked_sub(MAX_DIRECTORIES).filter(|n| *n > 0) {
        write!(text, " and {more} more").ok();
    }
    text
}

/// Describes the checkpoints that were squashed into one.
pub fn squashed_text(squashed: &Squashed) -> String {
    let count = |n: u64, one: &str, many: &str| {
        render::plural(usize::try_from(n).unwrap_or(usize::MAX), one, many)
    };
    let checkpoints = count(squashed.checkpoints, "checkpoint", "checkpoints");
    match squashed.turns {
        0 => format!("{checkpoints}, squashed"),
        turns => format!(
            "{checkpoints} of {}, squashed",
            count(turns, "turn", "turns")
        ),
    }
}
