//! `review`: the work of agents that the user has not reviewed yet. `walk` goes through it hunk by hunk.

mod walk;

use std::ffi::OsString;
use std::ops::Range;

use backstitch_core::model::{NodeId, RelPath};
use backstitch_core::{ReviewFile, ReviewHunk, ReviewSelection};
use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, Traits, decides, reads};
use crate::cli::context::CommandContext;
use crate::cli::{complete, files};
use crate::query::line_range::TypedLines;
use crate::render::{self, CYAN, DIM, GREEN, PLAIN, Paint, PathChange, RED};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};
use crate::to_protocol;

/// Show the work of agents that you have not reviewed yet, and mark it as reviewed
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        backstitch review                               files that agents changed since you last looked\n  \
        backstitch review src/main.rs                   its hunks, with turn and prompt\n  \
        backstitch review --turn t4                     the hunks of one turn, in all files\n  \
        backstitch review -i                            keep or undo them one by one\n  \
        backstitch review src/main.rs --keep            mark it as reviewed\n  \
        backstitch review src/main.rs --keep -L 10,20   only its hunks at these lines\n  \
        backstitch review --keep                        mark everything as reviewed\n  \
        backstitch review src/main.rs --unkeep          undo the last --keep; again: the one before\n\n\
        Your own edits and rewound changes are never listed. A file that was never kept is compared with its \
        state before the first recorded change.\n\n\
        JSON: `files`, each with path, kind, from, added, removed, binary, hunks, and unreviewed (their number). \
        Also shown (the state, for --shown) and line_ends (true: only line ends differ). A hunk has old and new as \
        [first line from 1, count], removed, added, agent, session, turn, prompt, checkpoint.")]
pub struct ReviewArgs {
    /// Files or directories [default: all]
    #[arg(value_name = "PATH")]
    pub paths: Vec<OsString>,
    /// Mark the current state as reviewed
    #[arg(long, conflicts_with = "unkeep")]
    pub keep: bool,
    /// Undo the last --keep of each file; again: the one before
    #[arg(long)]
    pub unkeep: bool,
    /// Only the hunks of this turn
    #[arg(long, value_name = "TURN", conflicts_with = "unkeep", add = complete::revisions())]
    pub turn: Option<String>,
    /// Go through the hunks one by one: keep, undo, next, previous, quit
    #[arg(short, long, conflicts_with_all = ["keep", "unkeep", "lines", "shown"])]
    pub interactive: bool,
    /// Only the hunks at these lines of the file: from,to or from,+count or from
    #[arg(short = 'L', long, value_name = "LINES")]
    pub lines: Option<String>,
    /// With --keep: keep the state that --json listed as `shown`, not later changes
    #[arg(long, value_name = "STATE", requires = "keep")]
    pub shown: Option<String>,
}

impl ReviewArgs {
    /// True if the command changes what is reviewed.
    fn acts(&self) -> bool {
        self.keep || self.unkeep || self.interactive
    }
}

impl TerminalCommand for ReviewArgs {
    fn declared(&self) -> DeclaredCommand {
        if self.acts() {
            decides("review")
        } else {
            reads("review")
        }
    }
}

impl OnHistory for ReviewArgs {
    fn traits(&self) -> Traits {
        Traits {
            paged: !self.acts(),
            empty: Some(|_, out| nothing(out)),
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        run(context, &self)
    }
}

/// Prints the answer for a workspace without unreviewed work.
fn nothing(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "files": [] }));
    }
    out.text("Nothing to review\n")
}

fn run(context: &mut CommandContext, options: &ReviewArgs) -> CliResult<()> {
    let paths = context.paths(&options.paths)?;
    for path in &paths {
        context.require(path)?;
    }
    let with_hunks = !paths.is_empty() || options.turn.is_some();
    let turn = options.turn.as_deref().map(|rev| turn(context, rev));
    let turn = turn.transpose()?;
    let selection = selection(paths, options)?;
    if options.interactive {
        return walk::run(context, &selection, turn);
    }
    let engine = &mut context.engine;
    let found = if let (Some(turn), true) = (turn, options.keep) {
        keep_turn(context, &selection, turn)?
    } else if options.keep {
        engine.reviews_mut().keep_reviewed(&selection)?
    } else if options.unkeep {
        engine.reviews_mut().unkeep_reviewed(&selection)?
    } else {
        of_turn(engine.reviews_mut().review(&selection)?, turn)
    };
    let out = context.out;
    if out.json {
        let found = found.iter();
        let found: Vec<_> = found.map(|f| to_protocol::review_file(f, true)).collect();
        return out::answer(json!({ "files": found }));
    }
    if found.is_empty() && options.unkeep {
        return out.text("Nothing to undo: no --keep is left.\n");
    }
    if found.is_empty() {
        return nothing(out);
    }
    if options.keep {
        let kept = match &options.lines {
            None if turn.is_none() => render::plural(found.len(), "file", "files"),
            _ => {
                let hunks = found.iter().map(|file| file.hunks.len()).sum();
                render::plural(hunks, "hunk", "hunks")
            }
        };
        return out.remark(&format!(
            "Marked {kept} as reviewed. To undo: backstitch review --unkeep\n"
        ));
    }
    if options.unkeep {
        out.remark("Undid the last --keep. Left to review:\n")?;
    }
    out.text(&table(&found, out.paint))?;
    if with_hunks {
        for file in &found {
            out.bytes(&hunks(file, out))?;
        }
    }
    Ok(())
}

/// Returns the part of the work that the options select.
fn selection(paths: Vec<RelPath>, options: &ReviewArgs) -> CliResult<ReviewSelection> {
    let lines = options
        .lines
        .as_deref()
        .map(TypedLines::parse)
        .transpose()?;
    for (option, is_given) in [
        ("--lines", lines.is_some()),
        ("--shown", options.shown.is_some()),
    ] {
        if is_given && paths.len() != 1 {
            return Err(CliError::usage(format!("{option} is about one file"))
                .hint("name the file: `backstitch review src/main.rs --keep --lines 10,20`"));
        }
    }
    let shown = options.shown.as_deref().map(|name| {
        to_protocol::read_shown_state(name).ok_or_else(|| {
            CliError::usage(format!("{name} is not the `shown` of a file"))
                .hint("`backstitch review PATH --json` lists it")
        })
    });
    Ok(ReviewSelection {
        paths,
        lines: lines.map(|lines| lines.from - 1..lines.to.unwrap_or(usize::MAX)),
        shown: shown.transpose()?,
        ..ReviewSelection::default()
    })
}

/// Returns the number of a turn.
fn turn(context: &CommandContext, rev: &str) -> CliResult<i64> {
    let node: NodeId = context.node(rev)?;
    let entry = context.engine.history().entry(node)?;
    let turn = entry.turn.map(|turn| turn.number);
    turn.ok_or_else(|| {
        CliError::usage(format!("{rev} is not a turn"))
            .hint("`backstitch log --kind turn` lists the turns, such as t4")
    })
}

/// Returns the hunks of one turn, and the files that have some.
fn of_turn(mut found: Vec<ReviewFile>, turn: Option<i64>) -> Vec<ReviewFile> {
    let Some(turn) = turn else {
        return found;
    };
    let is_its = |hunk: &ReviewHunk| {
        let author = hunk.author.as_ref().and_then(|author| author.turn.as_ref());
        author.is_some_and(|(number, _)| *number == turn)
    };
    for file in &mut found {
        file.hunks.retain(is_its);
    }
    found.retain(|file| !file.hunks.is_empty());
    found
}

/// Marks the hunks of one turn as reviewed. Returns them.
fn keep_turn(
    context: &mut CommandContext,
    selection: &ReviewSelection,
    turn: i64,
) -> CliResult<Vec<ReviewFile>> {
    let found = of_turn(context.engine.reviews_mut().review(selection)?, Some(turn));
    for file in &found {
        for hunk in &file.hunks {
            let Some(hunk) = at_hunk(file, hunk) else {
                continue;
            };
            context.engine.reviews_mut().keep_reviewed(&hunk)?;
        }
    }
    Ok(found)
}

/// Selects one hunk.
fn at_hunk(file: &ReviewFile, hunk: &ReviewHunk) -> Option<ReviewSelection> {
    Some(ReviewSelection {
        lines: Some(lines_of(hunk)),
        ..of_file(file)?
    })
}

/// Selects one file, as it was shown.
fn of_file(file: &ReviewFile) -> Option<ReviewSelection> {
    let (path, _) = render::place(&file.delta.old, &file.delta.new);
    Some(ReviewSelection {
        paths: vec![RelPath::new(path)?],
        shown: Some(file.shown),
        ..ReviewSelection::default()
    })
}

/// Returns the lines of a hunk in the current text; at least one.
fn lines_of(hunk: &ReviewHunk) -> Range<usize> {
    hunk.new.start..hunk.new.end.max(hunk.new.start + 1)
}

fn name(file: &ReviewFile) -> String {
    let (path, from) = render::place(&file.delta.old, &file.delta.new);
    files::name(path, from)
}

/// Returns a row for each file, and the total.
fn table(found: &[ReviewFile], paint: Paint) -> String {
    let width = files::name_width(found.iter().map(name), paint);
    let mut text = String::new();
    let (mut added, mut removed, mut count) = (0, 0, 0);
    for file in found {
        let what = PathChange::of(&file.delta.old, &file.delta.new);
        let lines = |lines: fn(&ReviewHunk) -> usize| file.hunks.iter().map(lines).sum::<usize>();
        let (plus, minus) = (lines(|h| h.added.len()), lines(|h| h.removed.len()));
        added += plus;
        removed += minus;
        count += file.hunks.len();
        let hunks = match file.hunks.len() {
            0 if file.line_ends => "line ends".to_owned(),
            0 => String::new(),
            hunks => render::plural(hunks, "hunk", "hunks"),
        };
        let line = TextLine::new()
            .plain("  ")
            .add(what.style(), what.letter().to_string())
            .plain("  ")
            .column(PLAIN, &render::cut(&name(file), width), width + 2)
            .column(DIM, &hunks, 10);
        text.push_str(&files::with_counts(line, file.binary, (plus, minus)).draw(paint));
    }
    let of_files = render::plural(found.len(), "file", "files");
    let of_hunks = render::plural(count, "hunk", "hunks");
    let sum = paint.counts(added, removed);
    let of_hunks = match count {
        0 => String::new(),
        _ => format!(", {of_hunks}"),
    };
    text.push_str(format!("  {of_files}{of_hunks} to review  {sum}").trim_end());
    text.push('\n');
    text
}

/// Returns the hunks of a file, each with its first line, turn and prompt.
fn hunks(file: &ReviewFile, out: &Out) -> Vec<u8> {
    let mut text = Vec::new();
    for one in &file.hunks {
        text.push(b'\n');
        text.extend(hunk(file, one, &LinesAround::default(), out));
    }
    text
}

/// True if several sessions wrote the hunks of a file, so that each is named by its letter.
fn is_of_several_sessions(file: &ReviewFile) -> bool {
    let mut authors = file.hunks.iter().filter_map(|hunk| hunk.author.as_ref());
    let first = authors.next().map(|author| &author.session);
    authors.any(|author| Some(&author.session) != first)
}

/// The unchanged lines before and after a hunk, with their terminators.
#[derive(Debug, Default)]
struct LinesAround {
    before: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
}

/// Returns one hunk with its first line, turn and prompt.
fn hunk(file: &ReviewFile, hunk: &ReviewHunk, around: &LinesAround, out: &Out) -> Vec<u8> {
    let paint = out.paint;
    let mut text = Vec::new();
    let place = format!("{}:{}", name(file), hunk.new.start + 1);
    text.extend(paint.on(CYAN, &place).bytes());
    if let Some(author) = &hunk.author {
        let who = match &author.turn {
            Some((number, prompt)) => {
                let prompt = render::clean(prompt);
                // cut where lines are cut
                let width = paint.width.saturating_sub(place.len() + 10).max(20);
                format!("t{number} {}", render::cut(&prompt, width))
            }
            None => render::clean(&author.agent),
        };
        let who = if is_of_several_sessions(file) {
            format!("  {} {who}", author.letter)
        } else {
            format!("  {who}")
        };
        text.extend(paint.on(DIM, &who).bytes());
    }
    text.push(b'\n');
    for (sign, style, lines) in [
        (b' ', PLAIN, &around.before),
        (b'-', RED, &hunk.removed),
        (b'+', GREEN, &hunk.added),
        (b' ', PLAIN, &around.after),
    ] {
        for line in lines {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            if paint.color {
                text.extend(style.render().to_string().bytes());
            }
            text.push(sign);
            text.extend_from_slice(&out.content(line));
            if paint.color {
                text.extend(style.render_reset().to_string().bytes());
            }
            text.push(b'\n');
        }
    }
    text
}
