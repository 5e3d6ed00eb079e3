//! The pager of long output on a terminal, chosen and called as git does. Owns no text of its own.

use std::ffi::OsStr;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::paint;
use backstitch_core::launch;

/// True while a pager owns the screen.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Characters that only a shell understands.
const SHELL: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', '#', '~', '=', '%',
];

pub fn is_running() -> bool {
    RUNNING.load(Ordering::Relaxed)
}

/// Output that is held back until it is longer than the screen, and then goes to a pager.
#[derive(Debug)]
pub struct Pager {
    command: String,
    screen: Screen,
    state: State,
    /// Words and texts for stderr, which the pager would overwrite.
    notes: Vec<(&'static str, String)>,
}

#[derive(Debug)]
enum State {
    /// It still fits on the screen.
    Held {
        text: Vec<u8>,
        rows: usize,
    },
    Running(Child),
}

#[derive(Clone, Copy, Debug)]
struct Screen {
    rows: usize,
    columns: usize,
}

impl Pager {
    /// Returns the user's pager, if stdout is a terminal and there is a pager.
    pub fn new() -> Option<Self> {
        if !std::io::stdout().is_terminal() {
            return None;
        }
        let (columns, rows) = terminal_size::terminal_size_of(std::io::stdout())?;
        let command = choose(setting, is_program)?;
        Some(Self {
            command,
            screen: Screen {
                rows: rows.0.into(),
                columns: columns.0.into(),
            },
            state: State::Held {
                text: Vec::new(),
                rows: 0,
            },
            notes: Vec::new(),
        })
    }

    pub fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if let State::Held { text, rows } = &mut self.state {
            text.extend_from_slice(bytes);
            *rows += self.screen.rows_of(bytes);
            // the last row of the screen is for the shell's prompt
            if *rows < self.screen.rows {
                return Ok(());
            }
            let text = std::mem::take(text);
            match start(&self.command) {
                Ok(child) => self.state = State::Running(child),
                Err(error) => {
                    // held to the end, and then written without a pager
                    self.screen.rows = usize::MAX;
                    let why = format!("cannot run the pager `{}`: {error}", self.command);
                    self.notes.push(("warning", why));
                }
            }
            return self.write(&text);
        }
        match &mut self.state {
            State::Running(child) => match child.stdin.as_mut() {
                Some(stdin) => stdin.write_all(bytes),
                None => Err(ErrorKind::BrokenPipe.into()),
            },
            State::Held { .. } => Ok(()),
        }
    }

    pub fn note(&mut self, word: &'static str, text: &str) {
        self.notes.push((word, text.to_owned()));
    }

    /// Waits for the user to leave the pager. Returns text that fits on the screen, and the notes.
    pub fn end(self) -> (Option<Vec<u8>>, Vec<(&'static str, String)>) {
        let text = match self.state {
            State::Held { text, .. } => Some(text),
            State::Running(mut child) => {
                drop(child.stdin.take());
                child.wait().ok();
                RUNNING.store(false, Ordering::Relaxed);
                None
            }
        };
        (text, self.notes)
    }
}

impl Screen {
    /// Returns the rows that a text takes, at least one for each line end.
    fn rows_of(self, text: &[u8]) -> usize {
        let rows = |line: &[u8]| {
            let columns = paint::columns(&String::from_utf8_lossy(line));
            columns.saturating_sub(1) / self.columns.max(1)
        };
        let ends = text.split(|byte| *byte == b'\n').count() - 1;
        if ends >= self.rows {
            return ends;
        }
        ends + text.split(|byte| *byte == b'\n').map(rows).sum::<usize>()
    }
}

/// Returns the command of the pager, from the variables that git reads, without git's configuration.
fn choose(
    variable: impl Fn(&str) -> Option<String>,
    is_program: impl Fn(&str) -> bool,
) -> Option<String> {
    if variable("TERM").is_none_or(|term| term == "dumb") {
        return None;
    }
    let names = ["BACKSTITCH_PAGER", "GIT_PAGER", CORE_PAGER, "PAGER"];
    let named = names.into_iter().find_map(&variable);
    let command = match named {
        Some(named) => named,
        None => "less".to_owned(),
    };
    let command = command.trim();
    let first = command.split_whitespace().next()?;
    let found = command.contains(SHELL) || is_program(first);
    (command != "cat" && found).then(|| command.to_owned())
}

/// The user's setting of git, as its configuration names it.
const CORE_PAGER: &str = "core.pager";

/// Returns a variable of the environment, or the user's setting of git. That of a repository counts for nothing: it may be a
/// stranger's.
fn setting(name: &str) -> Option<String> {
    if name != CORE_PAGER {
        return std::env::var(name).ok();
    }
    let mut git = launch::git_of_user(std::env::home_dir()).ok()?;
    let found = git
        .args(["config", "--null", "--show-scope", "--get-all", name])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    users_value(&found.stdout)
}

/// Returns the value that counts in git's list of `SCOPE NUL VALUE NUL`, without those of a repository.
fn users_value(listed: &[u8]) -> Option<String> {
    let listed = std::str::from_utf8(listed).ok()?;
    let parts: Vec<&str> = listed.split('\0').collect();
    let (pairs, _) = parts.as_chunks::<2>();
    let is_users = |scope: &str| ["system", "global", "command"].contains(&scope);
    let mut own = pairs.iter().filter(|[scope, _]| is_users(scope));
    own.next_back()
        .map(|[_, value]| value.trim_end().to_owned())
}

/// True if the shell would find this program.
fn is_program(name: &str) -> bool {
    if Path::new(name).components().count() > 1 {
        return Path::new(name).is_file();
    }
    launch::on_path(name).is_some()
}

fn start(command: &str) -> std::io::Result<Child> {
    let mut words = command.split_whitespace();
    let mut process = if command.contains(SHELL) {
        launch::shell(command)
    } else {
        let mut program = launch::program(words.next().unwrap_or_default())?;
        program.args(words);
        program
    };
    // as git has them: F ends it if all fits on the screen, R shows colors, X leaves the text there
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if std::env::var_os(name)
            .as_deref()
            .is_none_or(OsStr::is_empty)
        {
            process.env(name, value);
        }
    }
    // ^C is for the pager; ended without it, this process would leave it behind on the terminal
    let interrupted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted)?;
    let child = process.stdin(Stdio::piped()).spawn()?;
    RUNNING.store(true, Ordering::Relaxed);
    Ok(child)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pager_is_chosen_as_git_does() {
        let of = |set: &[(&str, &str)], programs: &[&str]| {
            let value = |name: &str| {
                let set = set.iter().chain(&[("TERM", "xterm")]);
                let mut found = set.filter(|(n, _)| *n == name);
                found.next().map(|(_, v)| (*v).to_owned())
            };
            choose(value, |name| programs.contains(&name))
        };
        let all = &["less", "more", "bat"];
        assert_eq!(of(&[], all).as_deref(), Some("less"));
        assert_eq!(of(&[], &[]), None);
        assert_eq!(of(&[("PAGER", "more -s")], all).as_deref(), Some("more -s"));
        let both = &[("PAGER", "more"), ("BACKSTITCH_PAGER", "bat -p")];
        assert_eq!(of(both, all).as_deref(), Some("bat -p"));
        let gits = &[("PAGER", "more"), ("GIT_PAGER", "bat -p")];
        assert_eq!(of(gits, all).as_deref(), Some("bat -p"));
        let set_in_git = &[("PAGER", "more"), ("core.pager", "less -S")];
        assert_eq!(of(set_in_git, all).as_deref(), Some("less -S"));
        assert_eq!(of(&[("PAGER", "cat")], all), None);
        assert_eq!(of(&[("PAGER", "")], all), None);
        assert_eq!(of(&[("PAGER", "gone")], all), None);
        assert_eq!(of(&[("TERM", "dumb")], all), None);
        let shell = "sed 's/a/b/' | less";
        assert_eq!(of(&[("PAGER", shell)], &[]).as_deref(), Some(shell));
    }

    #[test]
    fn a_repository_names_no_pager() {
        let of = |listed: &str| users_value(listed.as_bytes());
        assert_eq!(
            of("global\0less -S\0local\0evil\0").as_deref(),
            Some("less -S")
        );
        assert_eq!(of("system\0more\0global\0bat\0").as_deref(), Some("bat"));
        assert_eq!(of("local\0evil\0worktree\0evil\0"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn wrapped_lines_take_several_rows() {
        let screen = Screen {
            rows: 24,
            columns: 10,
        };
        assert_eq!(
            screen.rows_of(b"0123456789\n\x1b[31m01234\x1b[0m56789\n"),
            2
        );
        assert_eq!(screen.rows_of(b"0123456789a\nb\n"), 3);
        assert_eq!(screen.rows_of(b""), 0);
    }
}
