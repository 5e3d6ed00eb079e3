//! Texts about a restore: its plan, the question about it, its result.

use std::fmt::Write as _;

use backstitch_core::OperationSubject;
use backstitch_core::model::RelPath;
use backstitch_core::restore::{ActionKind, Applied, GapKind, OnConflict, Plan};
use backstitch_core::shell_word;
use backstitch_protocol::PlannedConversation;

use crate::lsp::verb::Verb;
use crate::render;
use crate::restore_plan::ShownPlan;
use crate::restore_words;

/// Maximum number of paths that are named.
const MAX_NAMED: usize = 3;

/// Verb before the target.
fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Rewind => "rewind to",
        Verb::Revert => "revert",
        Verb::Undo => "undo",
        Verb::Redo => "redo",
        Verb::Switch { .. } => "switch to",
    }
}

/// Answer that confirms the restore.
pub fn yes(verb: Verb) -> &'static str {
    match verb {
        Verb::Rewind => "Rewind",
        Verb::Revert => "Revert",
        Verb::Undo => "Undo",
        Verb::Redo => "Redo",
        Verb::Switch { .. } => "Switch",
    }
}

/// Formats `rewind to t4`.
pub fn title(what: Verb, rev: &str) -> String {
    format!("{} {rev}", verb(what))
}

pub fn looking(what: Verb, rev: Option<&str>) -> String {
    format!("Planning: {}", title(what, rev.unwrap_or_default()))
        .trim_end()
        .to_owned()
}

pub fn doing(what: Verb, rev: Option<&str>) -> String {
    capital(&title(what, rev.unwrap_or_default()))
        .trim_end()
        .to_owned()
}

pub fn nothing(title: &str, plan: &Plan) -> String {
    let text = restore_words::nothing_done(plan).text;
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_lowercase().to_string());
    format!("{title}: {}{}", first.unwrap_or_default(), chars.as_str())
}

pub fn conflict(files: usize) -> String {
    format!(
        "conflicts with your edits in {}; nothing was changed",
        render::plural(files, "file", "files")
    )
}

/// Formats `Rewind to before “…”: 3 files (1 merged, 1 deleted). Conflicts with your edits in a.rs. Cannot be restored: 2 uncertain.`
pub fn question(shown: &ShownPlan, decided: OnConflict) -> String {
    let plan = &shown.plan;
    let mut text = String::new();
    if plan.git_moved.is_some() {
        text.push_str("Git is at another commit or branch than then; only files change. ");
    }
    write!(
        text,
        "{}: {}",
        shown.title,
        files(plan, ["file changes", "files change"], 0)
    )
    .ok();
    for sentence in shown.after_title() {
        write!(text, " {sentence}").ok();
    }
    if !plan.conflicts.is_empty() {
        let paths: Vec<String> = plan.conflicts.iter().map(|c| c.path.display()).collect();
        write!(text, " Conflicts with your edits in {}", some(&paths)).ok();
        text.push_str(match decided {
            OnConflict::Fail => ".",
            OnConflict::Markers => ": both are written, between conflict markers.",
            OnConflict::Current => ": the lines there are now stay.",
            OnConflict::Target => {
                ": the target's lines take the place of those there are now, yours included."
            }
        });
    }
    let replaced: Vec<String> = plan.replaced().into_iter().map(RelPath::display).collect();
    if !replaced.is_empty() {
        let paths = some(&replaced);
        write!(
            text,
            " In {paths}, unsaved text is replaced; undo restores it."
        )
        .ok();
    }
    let gaps: Vec<String> = gaps(plan);
    if !gaps.is_empty() {
        write!(text, " Cannot be restored: {}.", gaps.join(", ")).ok();
    }
    text
}

/// `unsaved`: number of files that are still to be saved.
fn files(plan: &Plan, [one, many]: [&str; 2], unsaved: usize) -> String {
    let count = |kind| plan.actions.iter().filter(|a| a.kind == kind).count();
    let moved = plan.actions.iter().filter(|a| a.kind != ActionKind::Skip);
    let parts = [
        (count(ActionKind::Merge), "merged with your edits"),
        (count(ActionKind::Create), "created"),
        (count(ActionKind::Delete), "deleted"),
        (unsaved, "to save"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let noun = render::plural(moved.count(), one, many);
    if parts.is_empty() {
        format!("{noun}.")
    } else {
        format!("{noun} ({}).", parts.join(", "))
    }
}

/// Counts what a restore does not reach, by kind. It never reaches git's own state.
fn kinds(plan: &Plan) -> Vec<(GapKind, usize)> {
    let mut kinds: Vec<(GapKind, usize)> = Vec::new();
    for gap in plan.gaps.iter().filter(|gap| gap.kind != GapKind::GitHead) {
        match kinds.iter_mut().find(|(kind, _)| *kind == gap.kind) {
            Some((_, count)) => *count += 1,
            None => kinds.push((gap.kind, 1)),
        }
    }
    kinds
}

fn gaps(plan: &Plan) -> Vec<String> {
    kinds(plan)
        .into_iter()
        .map(|(kind, count)| {
            let files = render::plural(count, "file", "files");
            match kind {
                GapKind::Uncertain => {
                    let edits = render::plural(count, "edit", "edits");
                    format!("{edits} of unknown author")
                }
                GapKind::Unsaved => {
                    let left = if count == 1 { "it is" } else { "they are" };
                    format!("{files} with unsaved text, left as {left}")
                }
                GapKind::Unknown => format!("{files} whose state then is unknown"),
                GapKind::TooLarge
                | GapKind::Outside
                | GapKind::Excluded
                | GapKind::Unreadable
                | GapKind::Special
                | GapKind::Failed
                | GapKind::Pending
                | GapKind::HardLink
                | GapKind::GitHead
                | GapKind::Attributes
                | GapKind::Directory
                | GapKind::VersionControl
                | GapKind::Ignored => format!("{files} ({})", plain(kind)),
            }
        })
        .collect()
}

/// Formats the gaps as shortly as possible.
fn short_gaps(plan: &Plan) -> Vec<String> {
    let kinds = kinds(plan).into_iter();
    kinds
        .map(|(kind, count)| format!("{count} {}", plain(kind)))
        .collect()
}

fn plain(kind: GapKind) -> String {
    kind.name().replace('_', " ")
}

fn some(paths: &[String]) -> String {
    let named: Vec<&str> = paths.iter().take(MAX_NAMED).map(String::as_str).collect();
    match paths.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        Some(more) => format!("{} and {more} more", named.join(", ")),
        None => named.join(", "),
    }
}

/// `unsaved`: edited documents whose files are still to be saved.
pub fn done(subject: &OperationSubject, applied: &Applied, unsaved: &[RelPath]) -> String {
    // short: an editor has one line for it
    let mut text = format!(
        "{}: {}",
        restore_words::done(subject),
        files(&applied.plan, ["file", "files"], unsaved.len())
    );
    let gaps = short_gaps(&applied.plan);
    if !gaps.is_empty() {
        write!(text, " Cannot be restored: {}.", gaps.join(", ")).ok();
    }
    if !applied.incomplete.is_empty() {
        let left: Vec<String> = applied.incomplete.iter().map(RelPath::display).collect();
        let why = match left.len() {
            1 => "it was, since something wrote to it",
            _ => "they were, since something wrote to them",
        };
        write!(text, " Left as {why}: {}.", some(&left)).ok();
    }
    if !applied.saved.is_empty() {
        let saved: Vec<String> = applied.saved.iter().map(RelPath::display).collect();
        write!(
            text,
            " The text of another process was saved as {}.",
            some(&saved)
        )
        .ok();
    }
    text
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// The question before a conversation goes back alone.
pub fn conversation_question(planned: &PlannedConversation) -> String {
    let notes = planned.notes.iter().map(|note| format!(" {note}"));
    format!(
        "Make this conversation? {}. The files stay as they are.{}",
        planned.line,
        notes.collect::<String>()
    )
}

/// The way to continue a conversation that was made.
pub fn continue_with(made: &PlannedConversation) -> String {
    let (Some(argv), Some(cwd)) = (&made.argv, &made.cwd) else {
        return String::new();
    };
    let words: Vec<_> = argv.iter().map(|word| shell_word(word)).collect();
    let place = cwd.plain().unwrap_or_default();
    format!(
        " Continue with: cd {} && {}",
        shell_word(place),
        words.join(" ")
    )
}
