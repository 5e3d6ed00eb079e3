//! Restores on a real terminal: a plan is shown and confirmed, and then carried out as shown or not at all.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::editors::film::Film;
use crate::support::limits::EVENT_TIMEOUT;
use crate::support::scenarios::{SEVEN_LINES, an_edit_and_a_new_file, two_sessions};
use crate::support::tree::assert_same;
use crate::support::{World, pty};

const QUESTION: &str = "? [y/N, d: diff] ";

/// A program whose standard streams are a terminal, and the output on it.
pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    /// End of the text that `expect_next` found last.
    found: usize,
    film: Option<Film>,
}

impl Terminal {
    /// Starts the program on a new terminal.
    pub fn run(command: Command) -> Self {
        Self::with(command, |command, end| {
            command.stdin(end()).stdout(end()).stderr(end());
        })
    }

    /// Starts the program on a new terminal of this size.
    pub fn sized(command: Command, rows: u16, columns: u16) -> Self {
        Self::with(command, |command, end| {
            pty::resize(&end(), rows, columns);
            command.stdin(end()).stdout(end()).stderr(end());
        })
    }

    /// The same, with a film of this name.
    pub fn filmed(command: Command, name: &str, rows: u16, columns: u16) -> Self {
        let mut terminal = Self::sized(command, rows, columns);
        terminal.film = Film::start(name, rows, columns);
        terminal
    }

    /// Starts the program with a terminal on the streams that `put` chooses.
    fn with(mut command: Command, put: impl FnOnce(&mut Command, &dyn Fn() -> File)) -> Self {
        let (keyboard, theirs) = pty::open();
        put(&mut command, &|| theirs.try_clone().expect("a terminal"));
        let child = command.spawn().expect("the binary runs");
        // both hold the program's end open
        drop((command, theirs));
        let screen = pty::output(&keyboard);
        Self {
            child,
            keyboard,
            screen,
            seen: String::new(),
            found: 0,
            film: None,
        }
    }

    /// Reads the next output; `false` at the end.
    #[track_caller]
    fn take(&mut self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        match self.screen.recv_timeout(left) {
            Ok(chunk) => {
                self.seen.push_str(&String::from_utf8_lossy(&chunk));
                if let Some(film) = &mut self.film {
                    film.output(&chunk);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => panic!("nothing more than: {}", self.seen),
        }
        true
    }

    /// Waits until this text is shown.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        let until = Instant::now() + EVENT_TIMEOUT;
        while !self.seen.contains(text) {
            assert!(self.take(until), "ended without {text:?}: {}", self.seen);
        }
    }

    /// Waits for a text after the one that was found last.
    #[track_caller]
    pub fn expect_next(&mut self, text: &str) {
        let until = Instant::now() + EVENT_TIMEOUT;
        loop {
            if let Some(at) = self.seen[self.found..].find(text) {
                self.found += at + text.len();
                return;
            }
            assert!(self.take(until), "ended without {text:?}: {}", self.seen);
        }
    }

    pub fn type_in(&mut self, keys: &str) {
        if let Some(film) = &mut self.film {
            film.keys(keys);
        }
        self.keyboard
            .write_all(keys.as_bytes())
            .expect("a keyboard");
    }

    /// Waits for the end. Returns the exit status, and all output.
    #[track_caller]
    pub fn end(self) -> (i32, String) {
        let (code, seen) = self.end_raw();
        (code, seen.replace('\r', ""))
    }

    /// The same, with the output as the terminal got it.
    #[track_caller]
    pub fn end_raw(mut self) -> (i32, String) {
        let until = Instant::now() + EVENT_TIMEOUT;
        while self.take(until) {}
        let status = self.child.wait().expect("an end");
        let code = status.code().or(status.signal().map(|n| 128 + n));
        (code.expect("a status"), std::mem::take(&mut self.seen))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // it may have ended already
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// `a.txt` after the turn.
fn edited() -> String {
    SEVEN_LINES.replace("one", "ONE")
}

fn on_terminal(world: &World, args: &[&str]) -> Terminal {
    let mut command = world.backstitch();
    command.args(args);
    Terminal::run(command)
}

fn operations(world: &World) -> usize {
    let oplog = world.json(["oplog"]);
    oplog["operations"].as_array().expect("a list").len()
}

/// S2-064, S3-050: the plan is shown, then confirmed; any answer but yes changes nothing.
#[test]
fn a_rewind_asks_and_no_means_no() {
    let world = an_edit_and_a_new_file();
    let before = world.tree();
    // the last is the end of the input, as ^D sends it
    for answer in ["n\n", "\n", "yess\n", "\u{4}"] {
        let mut terminal = on_terminal(&world, &["rewind", "t1"]);
        terminal.expect(QUESTION);
        for shown in ["Rewind to before", "a.txt", "b.txt"] {
            assert!(terminal.seen.contains(shown), "{}", terminal.seen);
        }
        assert_same(&world.tree(), &before);
        terminal.type_in(answer);
        let (code, shown) = terminal.end();
        assert_eq!(code, 1, "{answer:?}: {shown}");
        assert!(shown.contains("Nothing was changed."), "{shown}");
        assert!(!shown.contains("error"), "{shown}");
        assert_same(&world.tree(), &before);
    }
    assert_eq!(operations(&world), 0);
}

/// S2-064: yes carries out the plan, for undo as well.
#[test]
fn a_yes_does_what_was_shown() {
    let world = an_edit_and_a_new_file();
    let after = world.tree();
    for (args, answer) in [(&["rewind", "t1"][..], "y\n"), (&["undo"], "Yes\n")] {
        let mut terminal = on_terminal(&world, args);
        terminal.expect(QUESTION);
        terminal.type_in(answer);
        let (code, shown) = terminal.end();
        assert_eq!(code, 0, "{shown}");
        assert!(shown.contains(": checkpoint c"), "{shown}");
        // shown once, before the question
        assert_eq!(shown.matches("b.txt").count(), 1, "{shown}");
        if args == ["undo"] {
            assert_same(&world.tree(), &after);
        } else {
            assert_eq!(world.read("a.txt"), SEVEN_LINES);
            assert!(!world.exists("b.txt"));
        }
    }
    assert_eq!(operations(&world), 2);
}

/// While a question waits for its answer, no progress is shown, and the line stays clean.
#[test]
fn no_progress_is_shown_while_a_question_waits() {
    let world = an_edit_and_a_new_file();
    let mut terminal = on_terminal(&world, &["rewind", "t1"]);
    terminal.expect(QUESTION);
    // longer than any work runs without showing progress
    let silence = terminal.screen.recv_timeout(Duration::from_millis(500));
    assert_eq!(silence, Err(RecvTimeoutError::Timeout));
    terminal.type_in("y\n");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert!(
        !shown.contains("looking") && !shown.contains('\u{1b}'),
        "{shown}"
    );
}

/// U-19: a file that changes between question and answer is not overwritten.
#[test]
fn a_file_that_changes_before_the_answer_is_left_alone() {
    for (path, content) in [("a.txt", "mine\n"), ("b.txt", "b\nmine\n")] {
        let world = an_edit_and_a_new_file();
        let mut terminal = on_terminal(&world, &["rewind", "t1"]);
        terminal.expect(QUESTION);
        world.write(path, content);
        let before = world.tree();
        terminal.type_in("y\n");
        let (code, shown) = terminal.end();
        assert_eq!(code, 1, "{shown}");
        assert_same(&world.tree(), &before);
        assert_eq!(operations(&world), 0, "{shown}");
        world.ok(["verify"]);
    }
}

/// Files outside the plan may change while a question waits.
#[test]
fn other_files_may_change_before_the_answer() {
    let world = an_edit_and_a_new_file();
    let mut terminal = on_terminal(&world, &["rewind", "t1"]);
    terminal.expect(QUESTION);
    world.write("c.txt", "mine\n");
    terminal.type_in("y\n");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    assert_eq!(world.read("c.txt"), "mine\n");
}

/// U-19: conflicts are shown, and no question is asked that could not be carried out.
#[test]
fn conflicts_are_shown_without_a_question() {
    let world = an_edit_and_a_new_file();
    world.write("a.txt", "mine\n");
    let before = world.tree();
    let (code, shown) = on_terminal(&world, &["rewind", "t1"]).end();
    assert_eq!(code, 1, "{shown}");
    assert!(!shown.contains("[y/N]"), "{shown}");
    for word in ["a.txt", "conflicts in 1 file", "--on-conflict"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert_same(&world.tree(), &before);

    // once decided, there is something to ask
    let mut terminal = on_terminal(&world, &["rewind", "t1", "--on-conflict", "target"]);
    terminal.expect(QUESTION);
    terminal.type_in("y\n");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
}

/// The question itself mentions that git has moved.
#[test]
fn the_question_says_that_git_has_moved() {
    let world = an_edit_and_a_new_file();
    world.git_ok(["commit", "-q", "-a", "-m", "next"]);
    let mut terminal = on_terminal(&world, &["rewind", "t1"]);
    terminal.expect("git's HEAD has moved since. Change ");
    terminal.expect(" anyway? [y/N, d: diff] ");
    terminal.type_in("n\n");
    assert_eq!(terminal.end().0, 1);
    assert_eq!(world.read("a.txt"), edited());
}

/// S2-064: no question is asked where nothing is to be done, in a dry run, or without a terminal.
#[test]
fn nothing_is_asked_without_need_or_terminal() {
    let world = an_edit_and_a_new_file();
    let unasked = |args: &[&str], put: &dyn Fn(&mut Command, &dyn Fn() -> File)| {
        let mut command = world.backstitch();
        command.args(args).stdin(Stdio::null());
        let (code, shown) = Terminal::with(command, put).end();
        assert_eq!(code, 0, "{args:?}: {shown}");
        assert!(!shown.contains("[y/N]"), "{args:?}: {shown}");
        shown
    };
    let all = |command: &mut Command, end: &dyn Fn() -> File| {
        command.stdin(end()).stdout(end()).stderr(end());
    };
    let shown = unasked(&["rewind", "t1", "--dry-run"], &all);
    assert!(shown.contains("Nothing was changed"), "{shown}");
    unasked(&["rewind", "t1", "--yes"], &all);
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    let shown = unasked(&["rewind", "t1"], &all);
    assert!(shown.contains("Nothing to do"), "{shown}");
    unasked(&["--json", "undo"], &all);
    assert_eq!(world.read("a.txt"), edited());
    unasked(&["rewind", "t1"], &|command, end| {
        command.stdout(end()).stderr(end());
    });
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    unasked(&["undo"], &|command, end| {
        command.stdin(end()).stdout(Stdio::null()).stderr(end());
    });
    assert_eq!(world.read("a.txt"), edited());
}

/// S4-035: `clear` says what it removes, and any answer but yes keeps it.
#[test]
fn clear_asks_first() {
    let world = an_edit_and_a_new_file();
    for (answer, left) in [("n\n", 4), ("y\n", 0)] {
        let mut terminal = on_terminal(&world, &["clear"]);
        terminal.expect("4 checkpoints, 1 turn and 1 session");
        terminal.expect("[y/N] ");
        terminal.type_in(answer);
        terminal.end();
        assert_eq!(world.json(["status"])["checkpoints"], left);
    }
}

/// `fork --switch` asks as `switch` does. After a no there is no branch, and every file is as it was.
#[test]
fn a_fork_with_a_switch_asks() {
    let world = an_edit_and_a_new_file();
    let before = world.tree();
    let mut terminal = on_terminal(&world, &["fork", "t1", "idea", "--switch"]);
    terminal.expect(QUESTION);
    terminal.type_in("n\n");
    let (code, shown) = terminal.end();
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("Nothing was changed."), "{shown}");
    assert!(!shown.contains("error"), "{shown}");
    assert_same(&before, &world.tree());
    // neither has a command that is ended at its question left anything
    let mut terminal = on_terminal(&world, &["fork", "t1", "idea", "--switch"]);
    terminal.expect(QUESTION);
    drop(terminal);
    let branches = world.json(["branch"]);
    assert_eq!(branches["branches"].as_array().map(Vec::len), Some(1));
    assert_eq!(operations(&world), 0);
    // the same command once more
    let mut terminal = on_terminal(&world, &["fork", "t1", "idea", "--switch"]);
    terminal.expect(QUESTION);
    terminal.type_in("y\n");
    assert_eq!(terminal.end().0, 0);
    assert!(!world.exists("b.txt"));
    let unasked = on_terminal(&world, &["fork", "main", "idea3", "--switch", "--yes"]);
    assert_eq!(unasked.end().0, 0);
    assert_same(&before, &world.tree());
}

/// A hook that a person starts records nothing, and says so.
#[test]
fn a_hook_by_hand_records_nothing() {
    let world = an_edit_and_a_new_file();
    let head = world.json(["log", "-n", "1"])["head"].clone();
    for args in [&["hook"][..], &["hook", "claude-code"]] {
        let (code, shown) = on_terminal(&world, args).end();
        assert_eq!(code, 1, "{shown}");
        assert!(shown.contains("nothing was recorded"), "{shown}");
    }
    // without an agent's name there is no event, whoever calls
    let none = world.run(["hook"]).expect_code(0);
    assert!(none.stderr.contains("nothing was recorded"), "{none}");
    assert_eq!(world.json(["log", "-n", "1"])["head"], head);
    let mut agent = world.agent();
    agent.prompt("the next event");
    let log = world.ok(["log"]).stdout;
    assert!(!log.contains("not recorded"), "{log}");
}

/// The question names the number of files again, since a long plan has scrolled away.
#[test]
fn the_question_after_a_plan_names_the_number_of_files() {
    let world = an_edit_and_a_new_file();
    let mut terminal = on_terminal(&world, &["rewind", "t1"]);
    terminal.expect("Change 2 files? [y/N, d: diff] ");
    terminal.type_in("n\n");
    assert_eq!(terminal.end().0, 1);
}

/// The changes of a plan are shown at the question, which is asked again.
#[test]
fn the_question_after_a_plan_shows_its_changes() {
    let world = an_edit_and_a_new_file();
    let mut terminal = on_terminal(&world, &["--no-pager", "rewind", "t1"]);
    for _ in 0..2 {
        terminal.expect(QUESTION);
        terminal.type_in("d\n");
        terminal.expect("--- a/a.txt");
        terminal.expect("+++ /dev/null");
    }
    terminal.expect(QUESTION);
    terminal.type_in("y\n");
    assert_eq!(terminal.end().0, 0);
    assert!(!world.exists("b.txt"));
}

/// `undo` where nothing can be undone offers the agent's last turn.
#[test]
fn undo_with_nothing_to_undo_offers_the_last_turn() {
    let world = an_edit_and_a_new_file();
    let mut terminal = on_terminal(&world, &["undo"]);
    terminal.expect(QUESTION);
    terminal.type_in("y\n");
    let (code, said) = terminal.end();
    assert_eq!(code, 0, "{said}");
    for words in ["this undoes the agent's last turn", "Rewound to before “"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    assert!(!world.exists("b.txt"));
}

/// A rewind that leaves the work of another session takes it along at one key.
#[test]
fn one_key_takes_the_work_of_other_sessions_along() {
    let world = two_sessions();
    let mut terminal = on_terminal(&world, &["rewind", "t1"]);
    terminal.expect("Change 1 file? [y/N, d: diff, a: theirs too] ");
    terminal.type_in("a\n");
    terminal.expect("Change 2 files? [y/N, d: diff] ");
    terminal.type_in("y\n");
    let (code, said) = terminal.end();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("Keeps turn “change it”"), "{said}");
    for path in ["a.txt", "b.txt"] {
        assert!(!world.read(path).contains("changed"), "{path}");
    }
}

/// A plan warns of a turn that has not ended.
#[test]
fn a_turn_that_has_not_ended_is_named() {
    let world = an_edit_and_a_new_file();
    let mut agent = world.agent();
    agent.prompt("And then?");
    let said = world.ok(["rewind", "t1", "--dry-run"]).stdout;
    assert!(said.contains("A turn has not ended yet"), "{said}");
}

/// `undo` after a switch and a turn says so, and offers to undo the switch. In a script it is refused.
#[test]
fn undo_offers_the_last_operation_where_a_turn_came_after_it() {
    let world = an_edit_and_a_new_file();
    world.ok(["fork", "t1", "idea", "--switch"]);
    let on_idea = world.tree();
    let mut agent = world.agent();
    agent.prompt("And then?");
    agent.stop();
    let refused = world.run(["undo"]).expect_code(1);
    for words in [
        "turn t2 began after the last operation, the switch op",
        "backstitch revert t2",
    ] {
        assert!(refused.stderr.contains(words), "{refused}");
    }
    for (answer, code) in [("n\n", 1), ("y\n", 0)] {
        let mut terminal = on_terminal(&world, &["undo"]);
        terminal.expect(QUESTION);
        terminal.type_in(answer);
        let (ended, said) = terminal.end();
        assert_eq!(ended, code, "{said}");
        assert!(said.contains("the switch op"), "{said}");
        assert!(said.contains("Undo the switch to idea"), "{said}");
        if code == 1 {
            assert_same(&world.tree(), &on_idea);
        }
    }
    assert_eq!(world.json(["log", "-n", "1"])["branch"], "main");
}
