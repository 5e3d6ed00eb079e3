//! The keys that the user of `debug` typed: at a prompt, or as lines of a pipe or a file.

use std::collections::VecDeque;
use std::io::{BufRead as _, IsTerminal as _};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::terminal::error::{CliError, CliResult};

/// The keys that the user typed.
pub enum Typed {
    Terminal(Box<DefaultEditor>),
    /// Lines of a pipe or a file, read beside, so that its end is noticed while no call is held.
    Lines {
        lines: Receiver<String>,
        /// Lines that came while no call was held.
        early: VecDeque<String>,
    },
}

impl Typed {
    pub fn new() -> CliResult<Self> {
        if std::io::stdin().is_terminal() {
            let editor = DefaultEditor::new().map_err(|error| failed(&error))?;
            return Ok(Self::Terminal(Box::new(editor)));
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
        Ok(Self::Lines {
            lines,
            early: VecDeque::new(),
        })
    }

    /// Waits for a line. None: the input has ended.
    pub fn next(&mut self, prompt: &str) -> CliResult<Option<String>> {
        match self {
            Self::Lines { lines, early } => Ok(early.pop_front().or_else(|| lines.recv().ok())),
            Self::Terminal(editor) => loop {
                match editor.readline(prompt) {
                    Ok(line) => {
                        editor.add_history_entry(line.as_str()).ok();
                        return Ok(Some(line));
                    }
                    Err(ReadlineError::Interrupted) => {}
                    Err(ReadlineError::Eof) => return Ok(None),
                    Err(error) => return Err(failed(&error)),
                }
            },
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

/// Converts an error of the prompt.
pub fn failed(error: &ReadlineError) -> CliError {
    CliError::failed(format!("the terminal: {error}"))
}
