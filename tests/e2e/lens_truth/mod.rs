//! Lenses are true: a story of more than 42 kinds of event (agents, users, the command line, the editor, git), after each of which
//! the lenses in an editor agree with `backstitch blame`. Owns the story; `nvim/lens_truth.rs` and `lsp/lens_truth.rs` own
//! the editors. The time from each event to the right lenses is measured and printed; it decides nothing.

mod story;

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use backstitch_protocol::REWIND_LENS;
use serde_json::Value;

use crate::support::World;

pub use story::{FILES, play};

/// A lens: its line from 0, and its turn.
pub type Lens = (usize, String);

/// An action of the user in an editor.
#[derive(Clone, Copy, Debug)]
pub enum Action<'a> {
    /// Opens another file.
    Open(&'a str),
    /// Follows the shown file to its new path.
    Follow(&'a str),
    /// Types a line below the last one.
    Append(&'a str),
    /// Types a line above the first one.
    Prepend(&'a str),
    /// Replaces text in a line.
    Replace(&'a str, &'a str),
    Save,
    /// Undoes the last change of the text.
    UndoKey,
    /// Looks if a file was changed by other programs.
    CheckDisk,
    /// Rewind, revert, undo or redo, with the turn.
    Restore(&'a str, &'a str),
    /// Undoes the change at the line with this text, compared with this turn.
    TakeBack(&'a str, &'a str),
    /// Keeps all changes since this turn.
    Keep(&'a str),
    /// Reads the file again.
    Reload,
    /// Closes the file and opens it again.
    Reopen,
    /// Starts the server again.
    Restart,
}

/// An editor that shows lenses.
pub trait View {
    /// Performs an action. Returns when it took effect, or was triggered.
    fn act(&mut self, action: Action<'_>) -> SystemTime;

    /// Waits until the shown lenses are these. Returns when they became so, or none if the editor has saved a restored text
    /// meanwhile: then others are expected.
    fn settle(&mut self, event: &str, expected: &[Lens]) -> Option<SystemTime>;

    /// Runs the command line, while the editor answers the server.
    #[track_caller]
    fn command_line(&mut self, world: &World, args: &[&str]) {
        world.ok(args);
    }
}

/// The story so far.
pub struct Story<'w, V: View> {
    pub world: &'w World,
    pub view: V,
    /// The file that is shown.
    pub file: String,
    /// Number of unsaved lines above the first line of the file.
    pub unsaved_above: usize,
    times: Vec<(String, Duration)>,
}

impl<'w, V: View> Story<'w, V> {
    pub fn new(world: &'w World, view: V) -> Self {
        Self {
            world,
            view,
            file: FILES[0].0.to_owned(),
            unsaved_above: 0,
            times: Vec::new(),
        }
    }

    /// An event outside of the editor, and the lenses after it.
    #[track_caller]
    pub fn then(&mut self, event: &str, happens: impl FnOnce(&World)) {
        happens(self.world);
        self.check(event, SystemTime::now());
    }

    /// A command line, and the lenses after it.
    #[track_caller]
    pub fn command(&mut self, event: &str, args: &[&str]) {
        self.view.command_line(self.world, args);
        self.check(&format!("command line: {event}"), SystemTime::now());
    }

    /// Actions of the user in the editor, and the lenses after them.
    #[track_caller]
    pub fn user(&mut self, event: &str, actions: &[Action<'_>]) {
        let mut at = SystemTime::now();
        for action in actions {
            at = self.view.act(*action);
        }
        self.check(event, at);
    }

    #[track_caller]
    fn check(&mut self, event: &str, at: SystemTime) {
        let right = loop {
            let expected = self.expected();
            if let Some(right) = self.view.settle(event, &expected) {
                break right;
            }
        };
        let took = right.duration_since(at).unwrap_or_default();
        self.times.push((event.to_owned(), took));
    }

    /// Lenses by the blame of the file on disk.
    fn expected(&self) -> Vec<Lens> {
        let blame = self.world.json(["blame", &self.file]);
        let mut lenses = Vec::new();
        let mut before = None;
        for line in blame["lines"].as_array().expect("lines") {
            let turn = line["turn"].as_str().filter(|_| line["by"] == "agent");
            if let Some(turn) = turn.filter(|turn| before != Some(*turn)) {
                let number = line["line"].as_u64().and_then(|n| usize::try_from(n).ok());
                let number = number.expect("a number") - 1 + self.unsaved_above;
                lenses.push((number, turn.to_owned()));
            }
            before = turn;
        }
        lenses
    }

    /// Prints the times. Returns the number of events.
    pub fn report(self, editor: &str) -> usize {
        let mut table = format!("{editor}: milliseconds from each event to the right lenses\n");
        for (event, took) in &self.times {
            writeln!(table, "{:>6}  {event}", took.as_millis()).expect("text");
        }
        let mut sorted: Vec<Duration> = self.times.iter().map(|(_, took)| *took).collect();
        sorted.sort();
        let late = sorted.iter().filter(|took| took.as_millis() > 200).count();
        let median = sorted[sorted.len() / 2].as_millis();
        let last = sorted.last().expect("some").as_millis();
        let count = sorted.len();
        eprintln!(
            "{table}{count} events, median {median} ms, latest {last} ms, {late} above 200 ms"
        );
        count
    }
}

/// The turn in a lens's title, as `t4`.
pub fn turn_of(title: &str) -> Option<String> {
    let number = title.strip_prefix(REWIND_LENS)?.strip_prefix(" · turn ")?;
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("t{digits}"))
}

/// The turn that a command names.
pub fn turn(value: &Value) -> Option<String> {
    value["arguments"][0]["rev"].as_str().map(str::to_owned)
}
