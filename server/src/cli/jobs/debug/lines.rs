//! Lines of `job debug`: typed in a terminal, with history, or those of a script.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use backstitch_job::session::{JobSession, value_text};
use backstitch_job::step::stop::StopRequest;
use backstitch_job::template::schema::TemplateSchema;
use serde_json::{Map, Value};

use crate::cli::control::repl::ReplLine;
use crate::jobs::words::{PAUSE, completions};
use crate::terminal::error::CliResult;

/// Source of lines.
pub enum StepLines {
    Typed(Box<ReplLine>),
    Script(ScriptLines),
}

impl StepLines {
    pub fn new(stop: StopRequest) -> CliResult<StepLines> {
        if std::io::stdin().is_terminal() {
            let line = ReplLine::new(Vec::new(), Value::Null)?;
            Ok(StepLines::Typed(Box::new(line)))
        } else {
            Ok(StepLines::Script(ScriptLines::read(stop)?))
        }
    }

    /// True for lines that are typed on a terminal.
    pub fn is_typed(&self) -> bool {
        matches!(self, StepLines::Typed(_))
    }

    /// The next line; none at their end. In a terminal the words, the steps and the contexts of the session complete.
    pub fn next(&mut self, session: &mut JobSession) -> CliResult<Option<String>> {
        match self {
            StepLines::Typed(line) => {
                line.complete(completions(session), contexts(session));
                line.next("job> ", "")
            }
            StepLines::Script(lines) => Ok(lines.next()?),
        }
    }
}

/// The contexts of expressions, for the names in them.
fn contexts(session: &mut JobSession) -> Value {
    let mut all = Map::new();
    for name in TemplateSchema::of_steps().contexts {
        let text = session.evaluate(&format!("toJSON({name})"));
        let text = text.map(|text| value_text(&text)).unwrap_or_default();
        all.insert(
            name.to_owned(),
            serde_json::from_str(&text).unwrap_or_default(),
        );
    }
    Value::Object(all)
}

/// Lines that a thread reads ahead, since `pause` is for the step that runs meanwhile.
pub struct ScriptLines {
    shared: Arc<(Mutex<Ahead>, Condvar)>,
    stop: StopRequest,
}

#[derive(Default)]
struct Ahead {
    lines: VecDeque<io::Result<String>>,
    /// A line was taken, and is carried out.
    is_busy: bool,
    has_ended: bool,
}

impl Ahead {
    /// True if the step of the line that is carried out is to be frozen.
    fn pauses(&self) -> bool {
        let next = self.lines.front();
        self.is_busy && next.is_some_and(|line| line.as_ref().is_ok_and(|line| is_pause(line)))
    }
}

impl ScriptLines {
    fn read(stop: StopRequest) -> io::Result<ScriptLines> {
        let lines = ScriptLines {
            shared: Arc::default(),
            stop,
        };
        let (shared, stop) = (Arc::clone(&lines.shared), lines.stop.clone());
        thread::Builder::new()
            .name("lines".to_owned())
            .spawn(move || {
                for line in io::stdin().lock().split(b'\n') {
                    // a byte that is not UTF-8 spoils its line alone
                    let text = |line: Vec<u8>| String::from_utf8_lossy(&line).into_owned();
                    let line = line.map(text);
                    let mut ahead = lock(&shared.0);
                    ahead.lines.push_back(line);
                    if ahead.lines.len() == 1 && ahead.pauses() {
                        stop.freeze_next();
                    }
                    shared.1.notify_one();
                }
                lock(&shared.0).has_ended = true;
                shared.1.notify_one();
            })?;
        Ok(lines)
    }

    fn next(&mut self) -> io::Result<Option<String>> {
        let mut ahead = lock(&self.shared.0);
        loop {
            if ahead.pauses() && !self.stop.forget_freeze() {
                // the step of the line before has heeded it
                ahead.lines.pop_front();
                ahead.is_busy = false;
                continue;
            }
            ahead.is_busy = false;
            if let Some(line) = ahead.lines.pop_front() {
                ahead.is_busy = true;
                if ahead.pauses() {
                    self.stop.freeze_next();
                }
                return line.map(Some);
            }
            if ahead.has_ended {
                return Ok(None);
            }
            let waited = self.shared.1.wait(ahead);
            ahead = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn is_pause(line: &str) -> bool {
    line.trim() == PAUSE
}

fn lock(ahead: &Mutex<Ahead>) -> MutexGuard<'_, Ahead> {
    ahead.lock().unwrap_or_else(PoisonError::into_inner)
}
