//! The keys that the user of `debug` typed: single ones on a terminal, or the lines of a pipe or a file.

use std::collections::VecDeque;
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::cli::control::repl;
use crate::terminal::error::CliResult;
use crate::terminal::keys::{KeyPress, Keys, Waited};
use crate::terminal::questions;

/// The keys that the user typed.
pub enum Typed {
    /// The code returns the line for which a key stands.
    Terminal(Keys, fn(KeyPress) -> Option<String>),
    /// Lines of a pipe or a file, read beside, so that its end is noticed while no call is held.
    Lines {
        lines: Receiver<String>,
        /// Lines that came while no call was held.
        early: VecDeque<String>,
    },
}

/// The end of a wait at the prompt.
pub enum Input<T> {
    Line(String),
    News(T),
    /// No input can come any longer.
    End,
}

impl Typed {
    /// `line_of`: the line for which a key of a terminal stands.
    pub fn new(line_of: fn(KeyPress) -> Option<String>) -> Self {
        if let Some(keys) = Keys::of_terminal() {
            return Self::Terminal(keys, line_of);
        }
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                if line.is_ok_and(|line| sender.send(line).is_ok()) {
                    continue;
                }
                return;
            }
        });
        Self::Lines {
            lines,
            early: VecDeque::new(),
        }
    }

    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(..))
    }

    /// Waits for a line, or for a key of a terminal, which then stands for a line. `news` ends a wait at a terminal.
    /// Without a prompt, no key is shown.
    pub fn next<T>(
        &mut self,
        prompt: &str,
        mut news: impl FnMut() -> CliResult<Option<T>>,
    ) -> CliResult<Input<T>> {
        match self {
            Self::Lines { lines, early } => {
                let line = early.pop_front().or_else(|| lines.recv().ok());
                Ok(line.map_or(Input::End, Input::Line))
            }
            Self::Terminal(keys, line_of) => {
                let mut unseen = prompt;
                loop {
                    let show = || questions::prompt(std::mem::take(&mut unseen));
                    let line = match keys.wait(show, &mut news)? {
                        Waited::News(news) => {
                            if !prompt.is_empty() {
                                questions::empty_line()?;
                            }
                            return Ok(Input::News(news));
                        }
                        Waited::Key(KeyPress::End) => {
                            questions::echo("")?;
                            return Ok(Input::End);
                        }
                        Waited::Key(key) => line_of(key),
                    };
                    if let Some(line) = line {
                        if !prompt.is_empty() {
                            questions::echo(&line)?;
                        }
                        return Ok(Input::Line(line));
                    }
                }
            }
        }
    }

    /// Drops the keys of a terminal that were pressed before the user saw what they would act on.
    pub fn forget(&mut self) {
        if let Self::Terminal(keys, _) = self {
            keys.forget();
        }
    }

    /// Asks for the rest of a line at a terminal. None: the user called it off.
    pub fn ask(&self, question: &str, begun: &str) -> CliResult<Option<String>> {
        if !self.is_terminal() {
            return Ok(Some(begun.to_owned()));
        }
        let mut editor = DefaultEditor::new().map_err(|error| repl::failed(&error))?;
        match editor.readline_with_initial(question, (begun, "")) {
            Ok(line) => Ok(Some(line)),
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => Ok(None),
            Err(error) => Err(repl::failed(&error)),
        }
    }

    /// True if no line can come any longer.
    pub fn is_over(&mut self) -> bool {
        let Self::Lines { lines, early } = self else {
            return false;
        };
        loop {
            match lines.try_recv() {
                Ok(line) => early.push_back(line),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return early.is_empty(),
            }
        }
    }
}
