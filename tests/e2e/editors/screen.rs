//! An editor on a terminal: a test sends keys, and waits for text on the screen.

use std::fs::File;
use std::io::Write as _;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, fs};

use super::film::Film;
use vt100::{Callbacks, Color, Parser, Screen};

use crate::support::limits::EVENT_TIMEOUT;
use crate::support::{World, pty, skip};

const ROWS: u16 = 20;
const COLUMNS: u16 = 90;
/// With `BACKSTITCH_RENEW_SCREENS`: a screen is recorded after it was unchanged for this long.
const STABLE_FOR: Duration = Duration::from_secs(1);

/// Path of an installed editor, or None where it is missing and may be.
pub fn installed(test: &str, program: &str) -> Option<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = env::var_os("BACKSTITCH_TEST_EDITORS")
        .map_or_else(|| tests.join(".cache/editors"), PathBuf::from);
    let path = folder.join("bin").join(program);
    if path.exists() {
        return Some(path);
    }
    let reason = format!("{program} is not installed (tests/editors/install.sh)");
    skip(&format!("editors::{test}"), &reason);
    None
}

pub struct Editor {
    /// Name of the editor in the names of its screens, such as `helix`.
    name: &'static str,
    version: String,
    root: PathBuf,
    child: Child,
    keyboard: File,
    output: Receiver<Vec<u8>>,
    terminal: Parser<Answers>,
    columns: u16,
    film: Option<Film>,
}

/// The terminal's answers to queries, for which editors wait when they start.
#[derive(Default)]
struct Answers(Vec<u8>);

impl Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        let number = params.first().and_then(|p| p.first()).copied();
        match (first, last, number) {
            (None, 'c', _) => self.0.extend(b"\x1b[?62;22c"),
            (None, 'n', Some(5)) => self.0.extend(b"\x1b[0n"),
            (None, 'n', Some(6)) => {
                let (row, column) = screen.cursor_position();
                let here = format!("\x1b[{};{}R", row + 1, column + 1);
                self.0.extend(here.as_bytes());
            }
            _ => {}
        }
    }
}

impl Editor {
    pub fn start(world: &World, name: &'static str, program: &Path, args: &[&str]) -> Self {
        Self::sized(world, name, program, args, (ROWS, COLUMNS))
    }

    pub fn sized(
        world: &World,
        name: &'static str,
        program: &Path,
        args: &[&str],
        (rows, columns): (u16, u16),
    ) -> Self {
        let version = world.command(program).arg("--version").output();
        let version = String::from_utf8(version.expect("a version").stdout).expect("UTF-8");
        let version = version.lines().next().unwrap_or_default().to_owned();
        let (keyboard, theirs) = pty::open();
        pty::resize(&theirs, rows, columns);
        // a controlling terminal, not only its streams: Emacs opens /dev/tty
        let mut command: Command = world.command("setsid");
        command.arg("--ctty").arg(program).args(args);
        command
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(theirs.try_clone().expect("a terminal"))
            .stdout(theirs.try_clone().expect("a terminal"))
            .stderr(theirs);
        let child = command.spawn().expect("the editor starts");
        drop(command);
        let size = (NonZeroU16::new(rows), NonZeroU16::new(columns));
        let terminal = Parser::new_with_callbacks(
            size.0.expect("some"),
            size.1.expect("some"),
            0,
            Answers::default(),
        );
        Self {
            name,
            version,
            root: world.root.clone(),
            child,
            output: pty::output(&keyboard),
            keyboard,
            terminal,
            columns,
            film: Film::start(name, rows, columns),
        }
    }

    pub fn keys(&mut self, keys: &str) {
        if let Some(film) = &mut self.film {
            film.keys(keys);
        }
        self.keyboard
            .write_all(keys.as_bytes())
            .expect("a keyboard");
    }

    /// The screen, with everything masked that differs from run to run.
    pub fn screen(&self) -> String {
        let rows = self.terminal.screen().rows(0, self.columns);
        let root = self.root.to_string_lossy();
        let rows = rows.map(|row| without_ages(&row.replace(&*root, "ROOT")));
        let text: Vec<String> = rows.collect();
        text.join("\n").trim_end().to_owned() + "\n"
    }

    fn take(&mut self, bytes: &[u8]) {
        self.terminal.process(bytes);
        if let Some(film) = &mut self.film {
            film.output(bytes);
        }
    }

    /// Reads what the editor draws next; false if there was nothing within this time.
    #[track_caller]
    fn draw(&mut self, timeout: Duration) -> bool {
        match self.output.recv_timeout(timeout) {
            Ok(bytes) => {
                self.take(&bytes);
                let answers = std::mem::take(&mut self.terminal.callbacks_mut().0);
                self.keyboard.write_all(&answers).expect("a keyboard");
                true
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                panic!("{} ended:\n{}", self.name, self.screen())
            }
        }
    }

    #[track_caller]
    pub fn until(&mut self, what: &str, seen: impl Fn(&str) -> bool) {
        let until = Instant::now() + EVENT_TIMEOUT;
        while !seen(&self.screen()) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                self.draw(left),
                "{}: not seen: {what}\n{}",
                self.name,
                self.screen()
            );
        }
    }

    /// Waits until the program has ended.
    #[track_caller]
    pub fn ends(&mut self) {
        let until = Instant::now() + EVENT_TIMEOUT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => panic!("no end:\n{}", self.screen()),
            }
        }
    }

    /// Child processes of the editor, where the system lists them.
    pub fn children(&self) -> Vec<String> {
        let id = self.child.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap_or_default();
        children.split_whitespace().map(str::to_owned).collect()
    }

    /// Background of the first character of a text on the screen.
    #[track_caller]
    pub fn background(&self, text: &str) -> Color {
        let screen = self.terminal.screen();
        let mut rows = screen.rows(0, self.columns).enumerate();
        let found = rows.find_map(|(row, line)| {
            Some((row, line.find(text).map(|at| &line[..at])?.chars().count()))
        });
        let (row, column) =
            found.unwrap_or_else(|| panic!("{text} is not seen\n{}", self.screen()));
        let cell = screen.cell(
            u16::try_from(row).expect("a row"),
            u16::try_from(column).expect("a column"),
        );
        cell.expect("a cell").bgcolor()
    }

    /// Waits until this text is on the screen.
    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    /// Presses keys until `text` appears. Presses them again while `not_yet` shows that the server has not started.
    #[track_caller]
    pub fn keys_until(&mut self, keys: &str, text: &str, not_yet: &str) {
        loop {
            self.keys(keys);
            self.until(text, |screen| {
                screen.contains(text) || screen.contains(not_yet)
            });
            if self.screen().contains(text) {
                return;
            }
            self.keys("\x1b");
            self.until("a message gone", |screen| !screen.contains(not_yet));
        }
    }

    /// With `BACKSTITCH_RENEW_SCREENS`: the screen, once it is unchanged.
    pub fn renewed(&mut self) -> Option<&Screen> {
        env::var_os("BACKSTITCH_RENEW_SCREENS")?;
        while self.draw(STABLE_FOR) {}
        Some(self.terminal.screen())
    }

    /// Waits until the screen equals the recorded one of this name. For another version of the editor only `text` is
    /// expected. `BACKSTITCH_RENEW_SCREENS=1` records the screen.
    #[track_caller]
    pub fn is_like(&mut self, step: &str, text: &str) {
        self.shows(text);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/editors/screens");
        let path = folder.join(format!("{}-{step}.txt", self.name));
        let head = format!("# {}\n", self.version);
        if self.renewed().is_some() {
            fs::write(&path, head + &self.screen()).expect("written");
            return;
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        let Some(kept) = kept.strip_prefix(&head) else {
            eprintln!(
                "NOT COMPARED: {} is not of {}; BACKSTITCH_RENEW_SCREENS=1 renews it",
                path.display(),
                self.version
            );
            return;
        };
        let kept = kept.lines().map(|row| without_ages(row) + "\n");
        let kept: String = kept.collect();
        self.until(&format!("{}\n{kept}-- but:", path.display()), |screen| {
            screen == kept
        });
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // it may have ended already
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Replaces the start of a REPL session in its title.
fn without_start(row: &str) -> String {
    const SINCE: &str = " since ";
    const LENGTH: usize = "2026-11-25 14:03".len();
    let start = row.find(SINCE).map(|at| at + SINCE.len());
    let time = start.and_then(|at| row.get(at..at + LENGTH));
    let is_time = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | ' ');
    match time.filter(|time| time.starts_with("20") && time.chars().all(is_time)) {
        Some(time) => row.replace(time, "TIME"),
        None => row.to_owned(),
    }
}

/// Replaces `just now` and `7 s ago` by AGE, and so `now` and `7m` at the end of a row of the timeline, even if a float
/// hides their start. The padding of the row after that, or up to the next window, is normalized, and so is the scroll
/// bar of a menu.
fn without_ages(row: &str) -> String {
    let mut row = without_start(row).replace("just now", "AGE");
    while let Some(at) = row.find(" s ago") {
        let number = row[..at].trim_end_matches(|c: char| c.is_ascii_digit());
        let number = number.len();
        row.replace_range(number..at + " s ago".len(), "AGE");
    }
    while let Some(at) = row.find("AGE  ") {
        row.remove(at + "AGE ".len());
    }
    let bare = row.trim_end().trim_end_matches('▐').trim_end();
    let Some((rest, _)) = bare
        .rfind([' ', '│'])
        .map(|at| bare.split_at(bare.ceil_char_boundary(at + 1)))
        .filter(|(rest, last)| rest.contains('│') && is_short_age(rest, last))
    else {
        return bare.to_owned();
    };
    // its width moves the words before it
    let words: Vec<&str> = rest.split(' ').filter(|word| !word.is_empty()).collect();
    let gap = if rest.ends_with(' ') { " " } else { "" };
    format!("{}{gap}AGE", words.join(" "))
}

fn is_short_age(rest: &str, last: &str) -> bool {
    let is_minutes = |word: &str| {
        let digits = word.strip_suffix('m').unwrap_or("x");
        digits.bytes().all(|b| b.is_ascii_digit())
    };
    if rest.ends_with('│') {
        return matches!(last, "ow" | "w" | "AGE") || is_minutes(last);
    }
    let stands_alone = rest.ends_with("· ") || rest.ends_with("  ") || rest.ends_with("start ");
    stands_alone && (matches!(last, "now" | "AGE") || last != "m" && is_minutes(last))
}

#[test]
fn ages_are_masked() {
    assert_eq!(without_ages("a · just now | 12 s ago b"), "a · AGE | AGE b");
    assert_eq!(without_ages("a · just now   ▐"), "a · AGE");
    assert_eq!(without_ages("a · 7 s ago     │b"), "a · AGE │b");
    assert_eq!(without_ages("a · just now    │b"), "a · AGE │b");
    assert_eq!(without_ages("│ t1   +1 −1 · now"), "│ t1 +1 −1 · AGE");
    assert_eq!(without_ages("│ t1  +1 −1 · 12m"), "│ t1 +1 −1 · AGE");
    assert_eq!(without_ages("│ start         3m"), "│ start AGE");
    assert_eq!(without_ages("│ start AGE"), "│ start AGE");
    assert_eq!(without_ages("a  ╭─╮ │ow"), "a ╭─╮ │AGE");
    assert_eq!(without_ages("│  not now"), "│  not now");
    let since = "a · since 2026-11-25 14:03   K value";
    assert_eq!(without_ages(since), "a · since TIME   K value");
}
