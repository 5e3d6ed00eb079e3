//! Output of the commands: stdout with or without color, one JSON document, or stderr. Owns the choice
//! of color and width, not the content.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use backstitch_core::Progress;
use serde_json::{Map, Value};

use super::error::CliResult;
use super::pager::{self, Pager};
use super::paint::{self, Paint};
use super::safe_text;
use super::width::{width, wrapped, wrapped_lines};

/// Tasks shorter than this show no progress.
const PROGRESS_AFTER: Duration = Duration::from_millis(300);
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Options for the output of every command.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct OutOptions {
    /// When to use color.
    pub color: ColorChoice,
    /// Print one JSON document.
    pub json: bool,
    /// Print only the requested output.
    pub quiet: bool,
    /// Print more details.
    pub verbose: bool,
    /// Do not show long output in a pager.
    pub no_pager: bool,
}

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct Out {
    pub json: bool,
    pub quiet: bool,
    pub verbose: bool,
    choice: ColorChoice,
    err_choice: ColorChoice,
    pub paint: Paint,
    signs: Signs,
    no_pager: bool,
    /// True if stdout is a terminal, on which no content may act.
    terminal: bool,
    paging: RefCell<Option<Pager>>,
}

/// Characters that the locale can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signs {
    All,
    Ascii,
}

impl Out {
    pub fn new(options: OutOptions) -> Self {
        let decide = |auto: ColorChoice| {
            if options.color == ColorChoice::Auto {
                auto
            } else {
                options.color
            }
        };
        let choice = decide(AutoStream::choice(&std::io::stdout()));
        let err_choice = decide(AutoStream::choice(&std::io::stderr()));
        Self {
            json: options.json,
            quiet: options.quiet,
            verbose: options.verbose,
            choice,
            err_choice,
            paint: Paint {
                color: choice != ColorChoice::Never,
                width: width(),
                now: now_micros(),
            },
            signs: signs(|name| std::env::var(name).ok()),
            no_pager: options.no_pager,
            terminal: std::io::stdout().is_terminal(),
            paging: RefCell::default(),
        }
    }

    /// Shows what is written from now on in a pager, if it is longer than the screen.
    pub fn page(&self) {
        if !self.json && !self.no_pager {
            *self.paging.borrow_mut() = Pager::new();
        }
    }

    /// Writes what was held back for the pager, or waits until the user leaves it.
    pub fn end_paging(&self) -> CliResult<()> {
        let Some(pager) = self.paging.take() else {
            return Ok(());
        };
        let (left, notes) = pager.end();
        let written = left.map_or(Ok(()), |text| self.bytes(&text));
        for (word, text) in notes {
            self.note(word, &text);
        }
        written
    }

    /// Writes text to stdout.
    pub fn text(&self, text: &str) -> CliResult<()> {
        self.bytes(text.as_bytes())
    }

    /// Writes text with drawn lines and signs to stdout, in ASCII if the locale needs it.
    pub fn drawn(&self, text: &str) -> CliResult<()> {
        if self.signs == Signs::Ascii {
            self.text(&plain_signs(text))
        } else {
            self.text(text)
        }
    }

    /// Writes a confirmation, unless `-q` or `--json` is given.
    pub fn remark(&self, text: &str) -> CliResult<()> {
        if self.quiet || self.json {
            return Ok(());
        }
        self.text(&wrapped_lines(text, width()))
    }

    /// Writes bytes to stdout. Without color they stay untouched: nothing needs to be stripped, and escape
    /// codes belong to the content.
    pub fn bytes(&self, bytes: &[u8]) -> CliResult<()> {
        clear_progress();
        let shown = if self.terminal {
            safe_text::drawn(bytes)
        } else {
            Cow::Borrowed(bytes)
        };
        let bytes = shown.as_ref();
        if let Some(pager) = self.paging.borrow_mut().as_mut() {
            return Ok(pager.write(bytes)?);
        }
        let stdout = std::io::stdout().lock();
        if self.paint.color {
            let mut stdout = AutoStream::new(stdout, self.choice);
            stdout.write_all(bytes)?;
            return Ok(stdout.flush()?);
        }
        write(stdout, bytes)
    }

    /// Returns a file's content for our own drawn text: on a terminal with everything written out that would act on it, and
    /// else as it is.
    pub fn content<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.terminal {
            safe_text::content(bytes)
        } else {
            Cow::Borrowed(bytes)
        }
    }

    /// Writes a document of JSON as one line.
    pub fn json_line(document: &Value) -> CliResult<()> {
        clear_progress();
        self::document(&format!("{document}\n"))
    }

    /// Writes a line to stderr, such as a warning. Ignores a failure to write.
    pub fn note(&self, word: &'static str, text: &str) {
        let text = &paint::visible(text);
        if let Some(pager) = self.paging.borrow_mut().as_mut() {
            pager.note(word, text);
            return;
        }
        clear_progress();
        let mut stderr = AutoStream::new(std::io::stderr().lock(), self.err_choice);
        let style = paint::word_style(word);
        let size = terminal_size::terminal_size_of(std::io::stderr());
        let text = match size {
            Some((columns, _)) => wrapped(text, columns.0.into(), word.len() + 2),
            None => text.to_owned(),
        };
        let _ = writeln!(stderr, "{style}{word}{style:#}: {text}");
    }

    /// Returns the output of a task that writes while it runs.
    pub fn live(&self) -> LiveOut {
        LiveOut {
            terminal: self.terminal,
            progress: !self.quiet && !self.json && self.terminal && can_redraw(),
            last: None,
        }
    }

    /// Returns a callback that shows the progress of a long task on a terminal.
    pub fn progress(&self) -> impl FnMut(Progress) + use<> {
        let shown = !self.quiet && !self.json && can_redraw();
        let mut line = ProgressLine::default();
        move |progress: Progress| {
            if shown && !pager::is_running() {
                line.update(&progress);
            }
        }
    }
}

/// Columns of the progress line on the terminal; 0 without one. The next output clears it first.
static PROGRESS_SHOWN: AtomicUsize = AtomicUsize::new(0);
/// Number of questions that the user was asked. The time until an answer is not progress time.
pub(super) static QUESTIONS: AtomicUsize = AtomicUsize::new(0);

/// Width of a progress line on a terminal that has room for it.
const WIDTH: usize = 60;

/// Draws a progress line over the one before. It never reaches the last column, from which a terminal may go to the next line.
fn draw_progress(text: &str) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    let columns = size.map_or(WIDTH, |(columns, _)| usize::from(columns.0).max(2) - 1);
    let width = WIDTH.min(columns);
    let text = paint::cut(text, width);
    let _ = write!(std::io::stderr(), "\r{text:width$}");
    PROGRESS_SHOWN.store(width, Ordering::Relaxed);
}

pub(super) fn clear_progress() {
    let width = PROGRESS_SHOWN.swap(0, Ordering::Relaxed);
    if width > 0 {
        let _ = write!(std::io::stderr(), "\r{:width$}\r", "");
    }
}

/// True if a line on this terminal can be drawn over.
fn can_redraw() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Output of a task that writes while it runs, from any thread.
#[derive(Debug)]
pub struct LiveOut {
    terminal: bool,
    progress: bool,
    last: Option<Instant>,
}

impl LiveOut {
    /// Writes bytes to stdout at once, after the progress line is cleared.
    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        clear_progress();
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// A program's output as it may be written: on a terminal nothing in it acts.
    pub fn content<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.terminal {
            safe_text::content(bytes)
        } else {
            Cow::Borrowed(bytes)
        }
    }

    /// Shows the progress of the task in one line of the terminal, at most ten times a second.
    pub fn show_progress(&mut self, text: &str) {
        let is_due = self
            .last
            .is_none_or(|last| last.elapsed() >= PROGRESS_EVERY);
        if self.progress && is_due {
            self.last = Some(Instant::now());
            draw_progress(text);
        }
    }

    /// Removes the progress line.
    pub fn end_progress(&mut self) {
        clear_progress();
    }
}

#[derive(Default)]
struct ProgressLine {
    /// Start, name and progress of the current task. Time between two tasks belongs to the user.
    task: Option<(Instant, &'static str, u64)>,
    questions: usize,
    last: Option<Instant>,
}

impl ProgressLine {
    fn update(&mut self, progress: &Progress) {
        let continues = |(_, what, done): &(Instant, &str, u64)| {
            *what == progress.what && *done <= progress.done
        };
        let questions = QUESTIONS.load(Ordering::Relaxed);
        let same = std::mem::replace(&mut self.questions, questions) == questions;
        let began = match self.task.filter(continues).filter(|_| same) {
            Some((began, ..)) => began,
            None => Instant::now(),
        };
        self.task = Some((began, progress.what, progress.done));
        if began.elapsed() > PROGRESS_AFTER {
            self.show(progress);
        }
    }

    fn show(&mut self, progress: &Progress) {
        if self
            .last
            .is_some_and(|last| last.elapsed() < PROGRESS_EVERY)
        {
            return;
        }
        self.last = Some(Instant::now());
        let of = progress
            .total
            .map(|total| format!(" of {total}"))
            .unwrap_or_default();
        draw_progress(&format!("{} {}{of}", progress.what, progress.done));
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        clear_progress();
    }
}

/// Writes a file's content to stdout, without regard to color. On a terminal it is written out.
pub fn content(bytes: &[u8]) -> CliResult<()> {
    let stdout = std::io::stdout();
    if stdout.is_terminal() {
        return write(stdout.lock(), &safe_text::content(bytes));
    }
    write(stdout.lock(), bytes)
}

/// Writes a document of JSON to stdout. On a terminal its texts are escaped.
fn document(text: &str) -> CliResult<()> {
    let stdout = std::io::stdout();
    if stdout.is_terminal() {
        return write(stdout.lock(), safe_text::json(text).as_bytes());
    }
    write(stdout.lock(), text.as_bytes())
}

fn write(mut stdout: impl Write, bytes: &[u8]) -> CliResult<()> {
    stdout.write_all(bytes)?;
    Ok(stdout.flush()?)
}

fn shown_json(text: &str) -> Cow<'_, str> {
    if std::io::stdout().is_terminal() {
        safe_text::json(text)
    } else {
        Cow::Borrowed(text)
    }
}

/// Writes the JSON document of an answer, with its schema version first.
pub fn answer(fields: Value) -> CliResult<()> {
    let mut whole = Map::new();
    whole.insert("schema".into(), 1.into());
    if let Value::Object(fields) = fields {
        whole.extend(fields);
    }
    document(&format!("{:#}\n", Value::Object(whole)))
}

/// The JSON document of an answer whose first field is a long list, written as it is read.
#[derive(Debug)]
pub struct ListAnswer<W: Write> {
    to: W,
    is_empty: bool,
}

impl ListAnswer<std::io::BufWriter<std::io::StdoutLock<'static>>> {
    pub fn begin(name: &str) -> CliResult<Self> {
        Self::to(std::io::BufWriter::new(std::io::stdout().lock()), name)
    }
}

impl<W: Write> ListAnswer<W> {
    fn to(mut to: W, name: &str) -> CliResult<Self> {
        write!(to, "{{\n  \"schema\": 1,\n  \"{name}\": [")?;
        Ok(Self { to, is_empty: true })
    }

    /// Adds an item of the list.
    pub fn item(&mut self, item: &Value) -> CliResult<()> {
        let comma = if self.is_empty { "" } else { "," };
        self.is_empty = false;
        // a text has no line end of its own in JSON
        let item = format!("{item:#}").replace('\n', "\n    ");
        Ok(write!(self.to, "{comma}\n    {}", shown_json(&item))?)
    }

    /// Ends the list, and adds the other fields.
    pub fn end(mut self, fields: Value) -> CliResult<()> {
        self.to
            .write_all(if self.is_empty { b"]" } else { b"\n  ]" })?;
        if let Value::Object(fields) = fields {
            for (name, value) in fields {
                let value = format!("{value:#}").replace('\n', "\n  ");
                write!(self.to, ",\n  \"{name}\": {}", shown_json(&value))?;
            }
        }
        self.to.write_all(b"\n}\n")?;
        Ok(self.to.flush()?)
    }
}

/// Returns `Ascii` only if the locale names an encoding other than UTF-8. Without a locale, terminals use UTF-8.
fn signs(variable: impl Fn(&str) -> Option<String>) -> Signs {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()));
    let locale = locale
        .unwrap_or_else(|| "UTF-8".into())
        .to_ascii_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") {
        Signs::All
    } else {
        Signs::Ascii
    }
}

/// Replaces each sign by one ASCII character, so that columns stay aligned.
fn plain_signs(text: &str) -> String {
    let plain = |c| match c {
        '●' => '*',
        '○' => 'o',
        '◇' => '%',
        '◆' => '#',
        '⟲' | '◀' => '<',
        '▪' => '=',
        '◈' => '&',
        '├' | '│' | '┆' => '|',
        '╰' => '`',
        '╭' | '╮' => '.',
        '╯' => '\'',
        '─' | '┄' | '·' => '-',
        '▶' | '→' => '>',
        '…' => '~',
        '“' | '”' => '"',
        other => other,
    };
    text.chars().map(plain).collect()
}

fn now_micros() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_as_the_whole_document_is() {
        for items in [
            vec![],
            vec![serde_json::json!({"a": "x\ny", "b": []})],
            vec![1.into(), serde_json::json!({"c": {"d": [1, 2]}})],
        ] {
            let mut written = Vec::new();
            let mut list = ListAnswer::to(&mut written, "items").expect("written");
            for item in &items {
                list.item(item).expect("written");
            }
            let others = serde_json::json!({"head": null, "list": [{"e": 1}]});
            list.end(others).expect("written");
            let whole = serde_json::json!(
                {"schema": 1, "items": items, "head": null, "list": [{"e": 1}]}
            );
            let written = String::from_utf8(written).expect("UTF-8");
            assert_eq!(written, format!("{whole:#}\n"));
        }
    }

    #[test]
    fn locale_selects_signs() {
        let of = |set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(n, _)| *n == name);
            signs(|name| value(name).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(of(&[]), Signs::All);
        assert_eq!(of(&[("LANG", "de_DE.UTF-8")]), Signs::All);
        assert_eq!(
            of(&[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")]),
            Signs::All
        );
        assert_eq!(of(&[("LANG", "C")]), Signs::Ascii);
        assert_eq!(of(&[("LC_ALL", "POSIX"), ("LANG", "C.utf8")]), Signs::Ascii);
        assert_eq!(plain_signs("├─○ “é” …"), "|-o \"é\" ~");
    }
}
