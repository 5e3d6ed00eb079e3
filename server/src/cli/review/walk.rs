//! `review -i`: goes through the work to review hunk by hunk, as `git add -p` does. An answer is carried out at once.

use backstitch_core::restore::{ActionKind, Goal, Plan, Request};
use backstitch_core::{ReviewFile, ReviewHunk, ReviewSelection};

use super::{LinesAround, at_hunk, hunk, lines_of, name, of_file, of_turn};
use crate::cli::context::CommandContext;
use crate::file_changes::FileChange;
use crate::render::{self, BOLD, DIM};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::questions;

/// Lines that are shown before and after a change, as by `diff`.
const AROUND: usize = 3;
const HELP: &str = "\
k - keep: mark this change as reviewed
u - undo this change in the file
n - leave it for later, and go to the next
p - go back to the previous
K - keep all changes in this file
f - go to the next file
q - quit; what is left stays to review
? - show this help
";

/// A stop of the walk: a file, and one of its hunks. A file that cannot be compared by lines has one place.
#[derive(Clone, Copy, Debug)]
struct Stop {
    file: usize,
    hunk: Option<usize>,
}

/// Numbers of what was done.
#[derive(Debug, Default)]
struct Done {
    kept: usize,
    undone: usize,
}

pub fn run(
    context: &mut CommandContext,
    selection: &ReviewSelection,
    turn: Option<i64>,
) -> CliResult<()> {
    if context.out.json {
        return Err(CliError::usage("--interactive asks, and prints no JSON")
            .hint("`backstitch review --json` lists the changes"));
    }
    let mut done = Done::default();
    let mut at = 0;
    loop {
        let found = context.engine.reviews_mut().review(selection)?;
        let found = of_turn(found, turn);
        let places = places(&found);
        if places.is_empty() {
            break;
        }
        if at >= places.len() {
            break;
        }
        let place = places[at];
        let file = &found[place.file];
        show(context, file, place, (at, places.len()))?;
        let Some(answer) =
            questions::key_to("Keep, undo, next, previous, quit [k,u,n,p,K,f,q,?]?")?
        else {
            break;
        };
        match answer.trim() {
            "k" => {
                let one = place.hunk.map(|n| at_hunk(file, &file.hunks[n]));
                let one = one.unwrap_or_else(|| of_file(file));
                done.kept += keep(context, one)?;
            }
            "K" => done.kept += keep(context, of_file(file))?,
            "u" => match undo(context, file, place.hunk.map(|n| &file.hunks[n])) {
                Ok(()) => done.undone += 1,
                // the reason, and the same change again
                Err(error) => refused(context, &error),
            },
            "n" | "" => at += 1,
            "p" => at = at.saturating_sub(1),
            "f" => {
                let next = places.iter().position(|other| other.file > place.file);
                at = next.unwrap_or(places.len());
            }
            "q" => break,
            _ => context.out.text(HELP)?,
        }
    }
    end(context, selection, turn, &done)
}

fn places(found: &[ReviewFile]) -> Vec<Stop> {
    let of_file = |(file, review): (usize, &ReviewFile)| {
        let hunks: Vec<Option<usize>> = match review.hunks.len() {
            0 => vec![None],
            count => (0..count).map(Some).collect(),
        };
        hunks.into_iter().map(move |hunk| Stop { file, hunk })
    };
    found.iter().enumerate().flat_map(of_file).collect()
}

fn show(
    context: &CommandContext,
    file: &ReviewFile,
    place: Stop,
    (at, of): (usize, usize),
) -> CliResult<()> {
    let out = context.out;
    let count = format!("({}/{of}) ", at + 1);
    out.text(&out.paint.on(BOLD, &count))?;
    if let Some(n) = place.hunk {
        let one = &file.hunks[n];
        let around = around(context, file, one);
        return out.bytes(&hunk(file, one, &around, out));
    }
    let why = if file.line_ends {
        "only line ends differ"
    } else {
        "it cannot be shown by lines"
    };
    let why = out.paint.on(DIM, &format!("  {why}"));
    out.text(&format!("{}{why}\n", name(file)))
}

/// Returns the lines around a hunk. Without its content, there are none.
fn around(context: &CommandContext, file: &ReviewFile, hunk: &ReviewHunk) -> LinesAround {
    let id = file.delta.new.as_ref().and_then(|new| new.image.content());
    let text = id.and_then(|id| context.engine.content(&id).ok());
    let text = text.unwrap_or_default();
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let (start, end) = (
        hunk.new.start.min(lines.len()),
        hunk.new.end.min(lines.len()),
    );
    let owned = |lines: &[&[u8]]| lines.iter().map(|line| line.to_vec()).collect();
    LinesAround {
        before: owned(&lines[start.saturating_sub(AROUND)..start]),
        after: owned(&lines[end..(end + AROUND).min(lines.len())]),
    }
}

fn keep(context: &mut CommandContext, selection: Option<ReviewSelection>) -> CliResult<usize> {
    let Some(selection) = selection else {
        return Ok(0);
    };
    let kept = context.engine.reviews_mut().keep_reviewed(&selection)?;
    let hunks = |file: &ReviewFile| file.hunks.len().max(1);
    Ok(kept.iter().map(hunks).sum())
}

/// Reverts the turn that made a hunk, at its lines only.
fn undo(
    context: &mut CommandContext,
    file: &ReviewFile,
    hunk: Option<&ReviewHunk>,
) -> CliResult<()> {
    let name = name(file);
    let by_hand = |why: &str| {
        CliError::refused(format!("{name}: {why}")).hint(
            "`backstitch revert` undoes a whole turn; `backstitch rewind` goes back to before it",
        )
    };
    let author = hunk.and_then(|hunk| hunk.author.as_ref());
    let (Some(hunk), Some(author)) = (hunk, author) else {
        return Err(by_hand("this change cannot be undone by itself"));
    };
    let rev = match &author.turn {
        Some((number, _)) => format!("t{number}"),
        None => author.node.to_string(),
    };
    let node = context.node(&rev)?;
    let mut request = Request::new(Goal::Revert(vec![node]));
    request.paths = of_file(file).map(|one| one.paths).unwrap_or_default();
    let plan = context.engine.restore_mut().plan(&request)?;
    request.hunks = hunks_at(context, &plan, hunk)?;
    if request.hunks.is_empty() {
        return Err(by_hand("later changes of the same lines stand in the way"));
    }
    let plan = context.engine.restore_mut().plan(&request)?;
    let mut progress = context.out.progress();
    let applied =
        context
            .engine
            .restore_mut()
            .apply(&request, Some(&plan.fingerprint), &mut progress)?;
    drop(progress);
    let operation = applied.operation.map(|op| format!(" ({op})"));
    context.out.remark(&format!(
        "Undone in {name}{}. To bring it back: backstitch undo\n",
        operation.unwrap_or_default()
    ))
}

/// Returns the ids of a plan's hunks at the lines of a hunk to review.
fn hunks_at(context: &CommandContext, plan: &Plan, hunk: &ReviewHunk) -> CliResult<Vec<String>> {
    let mut actions = plan.actions.iter().filter(|a| a.kind != ActionKind::Skip);
    let Some(action) = actions.next() else {
        return Ok(Vec::new());
    };
    let changed = FileChange::planned(&context.engine, plan, action)?;
    Ok(changed.hunks_at(&lines_of(hunk)))
}

fn refused(context: &CommandContext, error: &CliError) {
    context.out.note("error", &error.message);
    if let Some(hint) = &error.hint {
        context.out.note("hint", hint);
    }
}

/// Says what was done, and what is left.
fn end(
    context: &mut CommandContext,
    selection: &ReviewSelection,
    turn: Option<i64>,
    done: &Done,
) -> CliResult<()> {
    let left = of_turn(context.engine.reviews_mut().review(selection)?, turn);
    let left = places(&left).len();
    let left = match left {
        0 => "nothing is left to review".to_owned(),
        left => format!(
            "{} left to review",
            render::plural(left, "change is", "changes are")
        ),
    };
    let (kept, undone) = (
        render::plural(done.kept, "change", "changes"),
        render::plural(done.undone, "change", "changes"),
    );
    let text = match (done.kept, done.undone) {
        (0, 0) => format!("Nothing was changed; {left}.\n"),
        (_, 0) => format!("Kept {kept}; {left}.\n"),
        (0, _) => format!("Undid {undone}; {left}.\n"),
        _ => format!("Kept {kept}, undid {undone}; {left}.\n"),
    };
    context.out.remark(&text)
}
