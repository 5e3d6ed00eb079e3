//! `blame`: the author of each line of a file.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anstyle::Style;
use backstitch_core::model::{Certainty, SessionId};
use backstitch_core::{Against, AgentWork, Author, Blame, BlameRun, By};
use clap::Args;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, Traits, reads};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::options::REVISIONS;
use crate::query::blame::{documents, line_count, within};
use crate::query::line_range::TypedLines;
use crate::render::{self, CYAN, DIM, GREEN, MAGENTA, PLAIN, Paint, YELLOW};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::{self, Out};
use crate::to_protocol;

/// Bytes that are written at once.
const CHUNK: usize = 32 << 10;

/// Show who wrote each line of a file: which agent, in which turn, with which tool, or you
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch blame src/main.rs\n  \
        backstitch blame src/main.rs t4           as it was before turn 4\n  \
        backstitch blame src/main.rs -L 10,20     these lines; also 10,+5 and 10\n  \
        backstitch blame src/main.rs --contents - < buffer    text that is not saved yet\n  \
        backstitch blame src/main.rs --json | jq '.lines[9] as $l | .runs[$l.run].prompt'\n\n{REVISIONS}\n\n\
        A line that a rewind, undo, redo or revert restores keeps its author. An author is an agent's turn \
        (`?` if uncertain), `you` or `unknown`. `you` also stands for changes on disk that are not recorded yet. \
        Lines that are older than the history have `before Backstitch`.\n\n\
        JSON: `lines` has line, text, by (agent, user, unknown, before), checkpoint, turn, and the index \
        of its run. `runs`, consecutive lines of one author, have start, count, by, recorded, checkpoint, \
        time, agent, session, session_certainty, step_certainty, turn, prompt, tool, iteration, subagent.")
)]
pub struct BlameArgs {
    /// File to annotate
    pub path: OsString,
    /// Checkpoint to annotate [default: the file on disk]
    #[arg(add = complete::revisions())]
    pub rev: Option<String>,
    /// Annotate this text instead, as if the file held it, such as text that an editor has not saved; `-`
    /// reads it from stdin
    #[arg(long, value_name = "FILE", conflicts_with = "rev")]
    pub contents: Option<PathBuf>,
    /// Show only these lines: from,to or from,+count or from
    #[arg(short = 'L', value_name = "LINES")]
    pub lines: Option<String>,
}

impl TerminalCommand for BlameArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("blame")
    }
}

impl OnHistory for BlameArgs {
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

fn run(context: &mut CommandContext, options: &BlameArgs) -> CliResult<()> {
    let range = options
        .lines
        .as_deref()
        .map(TypedLines::parse)
        .transpose()?;
    let shown = options.path.to_string_lossy();
    let path = context.path(&options.path)?.ok_or_else(|| {
        CliError::usage(format!("{shown} is a directory")).hint("`blame` takes one file")
    })?;
    let contents = options.contents.as_deref().map(contents).transpose()?;
    let (against, name) = match (&options.rev, &contents) {
        (Some(rev), _) => {
            let node = context.node(rev)?;
            (Against::Node(node), node.to_string())
        }
        (None, Some(text)) => (Against::Text(text), "text".to_owned()),
        (None, None) => (Against::Disk, "disk".to_owned()),
    };
    if contents.is_none() {
        context.require(&path)?;
    }
    let blame = context.engine.blamer().blame(&path, against)?;
    let count = line_count(&blame);
    let lines = match range {
        Some(range) => range.within(count, &path.display())?,
        None => 1..=count,
    };
    if !context.out.json {
        return table(&blame, &lines, context.out);
    }
    let mut document = json!({ "path": to_protocol::text(path.bytes()), "against": name });
    let (shown, runs) = documents(&blame, &lines);
    document["lines"] = shown.into();
    document["runs"] = runs.into();
    out::answer(document)
}

/// Reads the text to annotate from a file or stdin.
fn contents(from: &Path) -> CliResult<Vec<u8>> {
    let mut text = Vec::new();
    let read = if from == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(from)
    };
    read.map_err(|e| {
        let kind = match e.kind() {
            std::io::ErrorKind::NotFound => ExitKind::NotFound,
            _ => ExitKind::Failed,
        };
        CliError::new(kind, format!("cannot read {}: {e}", from.display()))
    })
}

/// Columns of a line that describe its author.
struct BlameRow {
    checkpoint: String,
    who: (Style, String),
    age: String,
}

impl BlameRow {
    fn of(author: &Author, has_sessions: bool, paint: Paint) -> Self {
        let unrecorded = match &author.by {
            By::Before => "",
            By::Unsaved => "not saved",
            _ => "not recorded",
        };
        Self {
            checkpoint: author.node.map_or_else(|| "-".into(), |id| id.to_string()),
            who: who(&author.by, has_sessions),
            age: author
                .time
                .map_or_else(|| unrecorded.to_owned(), |time| paint.ago(time)),
        }
    }
}

/// `has_sessions`: lines of several sessions are shown, so that each is named by its letter.
fn who(by: &By, has_sessions: bool) -> (Style, String) {
    match by {
        By::Agent(work) => {
            let letter = work.session.id.letter();
            let letter = if has_sessions {
                letter + " "
            } else {
                String::new()
            };
            (agent_style(work), letter + &agent_name(work))
        }
        By::User | By::Unsaved => (GREEN, "you".to_owned()),
        By::Unknown => (YELLOW, "unknown".to_owned()),
        By::Before => (DIM, "before Backstitch".to_owned()),
    }
}

fn agent_style(work: &AgentWork) -> Style {
    match work.session_certainty {
        Certainty::Uncertain => YELLOW,
        Certainty::Certain | Certainty::Group if work.subagent.is_some() => MAGENTA,
        Certainty::Certain | Certainty::Group => CYAN,
    }
}

/// Returns `t4 Edit`, or the agent if the turn is unknown, with `?` if the session is uncertain.
fn agent_name(work: &AgentWork) -> String {
    let first = match &work.turn {
        Some(turn) => format!("t{}", turn.number),
        None => render::clean(&work.session.agent),
    };
    let tool = work.tool.as_deref().map(render::clean);
    let name = [Some(first), tool].into_iter().flatten();
    let mut name = name.collect::<Vec<_>>().join(" ");
    if work.session_certainty == Certainty::Uncertain {
        name.push_str(" ?");
    }
    name
}

fn table(blame: &Blame, lines: &RangeInclusive<usize>, to: &Out) -> CliResult<()> {
    let paint = to.paint;
    let runs = within(blame, lines);
    let session = |(run, _): &(&BlameRun, _)| match &run.author.by {
        By::Agent(work) => Some(work.session.id),
        _ => None,
    };
    let sessions: BTreeSet<SessionId> = runs.iter().filter_map(session).collect();
    let has_sessions = sessions.len() > 1;
    let rows: Vec<BlameRow> = runs
        .iter()
        .map(|(run, _)| BlameRow::of(&run.author, has_sessions, paint))
        .collect();
    let widest =
        |cell: fn(&BlameRow) -> &str| rows.iter().map(|row| cell(row).width()).max().unwrap_or(0);
    let checkpoints = widest(|row| &row.checkpoint);
    let names = widest(|row| &row.who.1);
    let ages = widest(|row| &row.age);
    let numbers = lines.end().to_string().len();
    let mut text = blame.lines().skip(lines.start() - 1);
    let mut out = Vec::with_capacity(2 * CHUNK);
    // line numbers are consecutive
    let mut count = format!("{:>numbers$}", lines.start() - 1).into_bytes();
    let number = if paint.color {
        (DIM.to_string(), format!("{DIM:#}"))
    } else {
        Default::default()
    };
    for ((_, shown), row) in runs.iter().zip(&rows) {
        // later lines of the same run are dimmed
        let named = |style: fn(Style) -> Style| {
            let cells = [
                cell(paint, style(YELLOW), &row.checkpoint, checkpoints),
                cell(paint, style(row.who.0), &row.who.1, names),
                cell(paint, style(PLAIN), &row.age, ages),
            ];
            cells.join("  ") + "  "
        };
        let mut name = named(|style| style);
        for line in shown.clone() {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(number.0.as_bytes());
            count_up(&mut count);
            out.extend_from_slice(&count);
            out.extend_from_slice(number.1.as_bytes());
            out.extend_from_slice(b"  ");
            let content = text.next().map_or(&b""[..], |(_, content, _)| content);
            let content = content.strip_suffix(b"\n").unwrap_or(content);
            let content = content.strip_suffix(b"\r").unwrap_or(content);
            out.extend_from_slice(&to.content(content));
            out.push(b'\n');
            if out.len() > CHUNK {
                to.bytes(&out)?;
                out.clear();
            }
            if line == *shown.start() && paint.color {
                name = named(|_| DIM);
            }
        }
    }
    to.bytes(&out)
}

/// Increments a right-aligned number. Formatting each number anew dominates the cost of a long table.
fn count_up(digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        match digit {
            b'9' => *digit = b'0',
            b' ' => {
                *digit = b'1';
                return;
            }
            _ => {
                *digit += 1;
                return;
            }
        }
    }
}

fn cell(paint: Paint, style: Style, text: &str, width: usize) -> String {
    let fill = " ".repeat(width.saturating_sub(text.width()));
    paint.on(style, text) + &fill
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ranges_are_parsed() {
        let parse = |typed: &str| TypedLines::parse(typed).ok().map(|l| (l.from, l.to));
        assert_eq!(parse("10,20"), Some((10, Some(20))));
        assert_eq!(parse("10,+5"), Some((10, Some(14))));
        assert_eq!(parse("10"), Some((10, None)));
        assert_eq!(parse("10,"), Some((10, None)));
        assert_eq!(parse(",3"), Some((1, Some(3))));
        for wrong in [
            "", ",", "0", "0,3", "3,2", "3,+0", "a", "1,b", "-1", "1,2,3",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_count_up_in_their_column() {
        let mut count = b"   0".to_vec();
        for number in 1..=1234 {
            count_up(&mut count);
            assert_eq!(count, format!("{number:>4}").into_bytes());
        }
    }

    #[test]
    fn lines_end_with_the_file() {
        let within = |typed: &str| TypedLines::parse(typed)?.within(5, "f");
        assert_eq!(within("2,9").unwrap(), 2..=5);
        assert_eq!(within("5").unwrap(), 5..=5);
        let message = within("6").unwrap_err().message;
        assert_eq!(message, "there is no line 6: f has 5 lines");
    }
}
