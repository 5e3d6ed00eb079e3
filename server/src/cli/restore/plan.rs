//! Text of a restore's plan and outcome: the action at each path, the conflicts, and the skipped paths.
//! Decides nothing.

use std::collections::BTreeMap;

use anstyle::Style;
use backstitch_core::Engine;
use backstitch_core::model::{GitHead, RelPath};
use backstitch_core::restore::{Action, ActionKind, Conflict, Gap, GapKind, Plan, Resolution};

use crate::cli::files::{self, Difference};
use crate::render::{self, CYAN, DIM, GREEN, MAGENTA, PLAIN, Paint, RED, YELLOW};
use crate::restore_plan::ShownPlan;
use crate::terminal::line::TextLine;
use crate::terminal::width::wrapped_lines;

/// Paths listed for one kind of gap.
const GAP_PATHS: usize = 4;

/// Returns the whole plan. A moved git HEAD comes first, because the rest may make no sense then.
pub fn text(engine: &Engine, shown: &ShownPlan, paint: Paint) -> String {
    let plan = &shown.plan;
    let mut text = String::new();
    if let Some((then, now)) = &plan.git_moved {
        text.push_str(&git_moved(then, now, paint));
    }
    if !plan.actions.is_empty() || !plan.conflicts.is_empty() {
        let count = plan
            .actions
            .iter()
            .filter(|a| a.kind != ActionKind::Skip)
            .count();
        let files = match count {
            0 => String::new(),
            _ => format!("  {}", render::plural(count, "file", "files")),
        };
        text.push_str(
            &TextLine::new()
                .add(render::BOLD, shown.title.clone())
                .add(DIM, files)
                .draw(Paint {
                    width: usize::MAX,
                    ..paint
                }),
        );
        for sentence in &shown.sentences.after_title {
            text.push_str(&paint.on(DIM, &format!("  {sentence}\n")));
        }
        // a call under way was named before
        if let Some(warning) = shown.warning.filter(|_| !shown.is_agent_at_work) {
            text.push_str(&paint.on(YELLOW, &format!("  {warning}\n")));
        }
        text.push_str(&actions(engine, plan, paint));
    }
    let uncarried = plan.uncarried();
    if !uncarried.is_empty() {
        let files = render::plural(uncarried.len(), "file", "files");
        let words = format!("  carried edits are removed from {files} of this branch\n");
        text.push_str(&paint.on(DIM, &words));
    }
    for path in plan.replaced() {
        let path = render::path(path.bytes());
        let words = format!("  {path}: unsaved text is replaced; undo restores it\n");
        text.push_str(&paint.on(YELLOW, &words));
    }
    text.push_str(&conflicts(&plan.conflicts, paint));
    text.push_str(&gaps(&plan.gaps, paint));
    // rows of files are cut to the width before
    wrapped_lines(&text, paint.width)
}

fn git_moved(then: &GitHead, now: &GitHead, paint: Paint) -> String {
    let at = |git: &GitHead| {
        let commit = git
            .head
            .as_deref()
            .map_or("no commit", |h| h.get(..8).unwrap_or(h));
        let branch = git.branch.as_deref().unwrap_or("detached");
        render::clean(&format!("{branch} {commit}"))
    };
    TextLine::new()
        .add(YELLOW, "! git moved since: ")
        .plain(format!("{} → {}", at(then), at(now)))
        .add(DIM, "  only files change, not git's own state")
        .draw(Paint {
            width: usize::MAX,
            ..paint
        })
}

fn actions(engine: &Engine, plan: &Plan, paint: Paint) -> String {
    let actions = &plan.actions;
    let name = |action: &Action| {
        files::name(
            action.path.bytes(),
            action.from.as_ref().map(RelPath::bytes),
        )
    };
    let width = files::name_width(actions.iter().map(name), paint);
    let mut text = String::new();
    for action in actions {
        let line = TextLine::new()
            .plain("  ")
            .column(style(action.kind), verb(action), 10)
            .column(PLAIN, &render::cut(&name(action), width), width + 2);
        let (_, differing) = files::difference(engine, plan, action);
        let line = match (action.kind, differing) {
            (ActionKind::Skip | ActionKind::Chmod, _) | (_, Difference::Unknown) => line,
            (_, Difference::Lines(added, removed)) => {
                files::with_counts(line, false, (added, removed))
            }
            (_, Difference::Binary) => files::with_counts(line, true, (0, 0)),
        };
        let line = match (&action.reason, action.kind) {
            (Some(reason), _) => line.add(DIM, format!("  {}", render::clean(reason))),
            (None, kind) => match resolution_at(plan, &action.path) {
                Some(resolution) => line.add(YELLOW, format!("  {}", outcome(resolution))),
                None if kind == ActionKind::Merge => line.add(DIM, "  keeping the other edits"),
                None => line,
            },
        };
        let in_editor = plan.edits.iter().any(|e| e.path == action.path);
        let line = if in_editor {
            line.add(YELLOW, "  in the editor, not saved yet")
        } else {
            line
        };
        text.push_str(&line.draw(paint));
    }
    text
}

/// Returns the resolution of the conflicts at a path, if it has any.
fn resolution_at(plan: &Plan, path: &RelPath) -> Option<Resolution> {
    let conflict = plan.conflicts.iter().find(|c| c.path == *path)?;
    conflict.resolution
}

/// Describes the effect of a resolution on the file.
fn outcome(resolution: Resolution) -> &'static str {
    match resolution {
        Resolution::Markers => "conflict markers are written",
        Resolution::Current => "current lines stay at conflicts",
        Resolution::Target => "target's lines are taken at conflicts",
        Resolution::Left => "left as it is",
    }
}

/// Returns the action's verb. A file that only moves is renamed, not restored.
fn verb(action: &Action) -> &'static str {
    let moves = action.from.is_some() && action.before == action.after;
    match action.kind {
        _ if moves => "rename",
        ActionKind::Write => "restore",
        ActionKind::Create => "recreate",
        kind => kind.name(),
    }
}

fn style(kind: ActionKind) -> Style {
    match kind {
        ActionKind::Write => YELLOW,
        ActionKind::Delete => RED,
        ActionKind::Create => GREEN,
        ActionKind::Merge => CYAN,
        ActionKind::Chmod => MAGENTA,
        ActionKind::Skip => DIM,
    }
}

fn conflicts(conflicts: &[Conflict], paint: Paint) -> String {
    let mut text = String::new();
    if !conflicts.is_empty() {
        text.push_str(&TextLine::new().add(RED.bold(), "conflicts").draw(paint));
    }
    for conflict in conflicts {
        let lines: Vec<String> = conflict
            .hunks
            .iter()
            .map(|hunk| match hunk.kept {
                (start, end) if end > start + 1 => format!("{}–{end}", start + 1),
                (start, _) => (start + 1).to_string(),
            })
            .collect();
        let mut line = TextLine::new()
            .plain("  ")
            .plain(render::path(conflict.path.bytes()));
        line = line.add(DIM, format!("  {}", render::clean(&conflict.reason)));
        if let Some(resolution) = conflict.resolution {
            line = line.add(YELLOW, format!(": {}", outcome(resolution)));
        }
        if !lines.is_empty() {
            line = line.add(DIM, format!(" (line {})", lines.join(", ")));
        }
        text.push_str(&line.draw(Paint {
            width: usize::MAX,
            ..paint
        }));
    }
    text
}

/// Returns the gaps, one line for each kind and reason. `text` reports a moved git HEAD at the top.
pub fn gaps(gaps: &[Gap], paint: Paint) -> String {
    let mut grouped: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for gap in gaps.iter().filter(|gap| gap.kind != GapKind::GitHead) {
        let paths = grouped.entry((gap.kind.name(), &gap.detail)).or_default();
        paths.extend(gap.path.as_deref().map(render::path));
    }
    let mut text = String::new();
    if !grouped.is_empty() {
        text.push_str(&TextLine::new().add(YELLOW.bold(), "skipped").draw(paint));
    }
    for ((kind, detail), paths) in grouped {
        let mut named = paths
            .iter()
            .take(GAP_PATHS)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        if let Some(more) = paths.len().checked_sub(GAP_PATHS).filter(|more| *more > 0) {
            named = format!("{named} and {more} more");
        }
        let mut line = TextLine::new()
            .plain("  ")
            .column(YELLOW, &kind.replace('_', " "), 12)
            .plain(named);
        if !detail.is_empty() {
            let space = if paths.is_empty() { "" } else { "  " };
            let option = if kind == GapKind::Uncertain.name() {
                " (--uncertain take includes it)"
            } else {
                ""
            };
            line = line.add(DIM, format!("{space}{}{option}", render::clean(detail)));
        }
        text.push_str(&line.draw(Paint {
            width: usize::MAX,
            ..paint
        }));
    }
    text
}

#[cfg(test)]
mod tests {
    use backstitch_core::restore::ConflictSpan;

    use super::*;

    const PAINT: Paint = Paint {
        color: false,
        width: 80,
        now: 0,
    };

    #[test]
    fn gaps_of_one_kind_share_a_line() {
        let gap = |path: &str, kind| Gap {
            path: Some(path.as_bytes().to_vec()),
            kind,
            detail: "above 10 MiB".into(),
        };
        let list: Vec<Gap> = ["a", "b", "c", "d", "e"]
            .into_iter()
            .map(|path| gap(path, GapKind::TooLarge))
            .chain([gap("", GapKind::GitHead)])
            .collect();
        assert_eq!(
            gaps(&list, PAINT),
            "skipped\n  too large   a, b, c, d and 1 more  above 10 MiB\n"
        );
        assert_eq!(gaps(&[], PAINT), "");
    }

    #[test]
    fn conflict_lists_its_lines() {
        let span = |start, end| ConflictSpan {
            target: (0, 0),
            kept: (start, end),
        };
        let conflict = Conflict {
            path: RelPath::new("a.rs").unwrap(),
            reason: "both changed these lines".into(),
            hunks: vec![span(0, 1), span(4, 6)],
            resolution: None,
            is_fixed: false,
        };
        assert_eq!(
            conflicts(&[conflict], PAINT),
            "conflicts\n  a.rs  both changed these lines (line 1, 5–6)\n"
        );
    }

    #[test]
    fn moved_git_head_comes_first() {
        let at = |head: &str| GitHead {
            head: Some(head.into()),
            branch: Some("main".into()),
        };
        let text = git_moved(&at("0123456789"), &GitHead::default(), PAINT);
        assert!(
            text.starts_with("! git moved since: main 01234567 → detached no commit"),
            "{text}"
        );
    }
}
