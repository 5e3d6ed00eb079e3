//! `debug`: waits for held calls, shows each, and decides by one key, as a debugger in a terminal does. A script writes
//! the same keys to its stdin, a line for each, and reads one JSON document per line with `--json`.

use std::collections::VecDeque;
use std::io::{BufRead as _, IsTerminal as _};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use backstitch_core::control::{Control, Pause, PauseDecision, PauseFilter, PauseId, PauseState};
use backstitch_core::restore::OnConflict;
use backstitch_core::{Engine, OpenOptions};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use serde_json::{Value, json};

use super::control_args::DebugArgs;
use super::control_context::{ControlContext, FACE};
use super::error::{CliError, CliResult};
use super::held;
use super::held_text::{self, HeldExtent};
use crate::control::details::{self, Around};
use crate::control::predict::read_disk;
use crate::control::{acts, view, words};
use crate::launch;
use crate::render::{self, DIM};

/// Interval at which it looks for held calls.
const WAIT: Duration = Duration::from_millis(100);

const HELP: &str = "\
c  continue: the call goes on            d [REASON]  deny it, with a reason for the model
n  step: go on, hold the next call       k  skip it; the agent goes on without it
s  step into: hold the next of any thread  b [N]  take the last N steps out, and deny it
o  step out of the subagent, or the turn  x [REASON]  deny it, and stop the turn
e  edit its input in $EDITOR             i TEXT  tell the model something
r  show it again                         q  quit; it stays held
";

/// The next thing to do.
enum Next {
    /// Show the call that is held now.
    Show,
    /// Ask again.
    Ask,
    Quit,
}

/// The keys that the user typed.
enum Typed {
    Terminal(Box<DefaultEditor>),
    /// Lines of a pipe or a file, read beside, so that its end is noticed while no call is held.
    Lines {
        lines: Receiver<String>,
        /// Lines that came while no call was held.
        early: VecDeque<String>,
    },
}

impl Typed {
    fn new() -> CliResult<Self> {
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

    /// Waits for a line. None: there are no more.
    fn next(&mut self, prompt: &str) -> CliResult<Option<String>> {
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

    /// True if no line can come any more.
    fn is_over(&mut self) -> bool {
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

fn failed(error: &ReadlineError) -> CliError {
    CliError::failed(format!("the terminal: {error}"))
}

struct Debugger<'a> {
    context: &'a ControlContext<'a>,
    control: Control,
    typed: Typed,
    /// The input as the user changed it, of this held call.
    changed: Option<(PauseId, Value)>,
    session: Option<String>,
}

pub fn run(context: &ControlContext, options: &DebugArgs) -> CliResult<()> {
    context.guard()?;
    let mut debugger = Debugger {
        context,
        control: context.create()?,
        typed: Typed::new()?,
        changed: None,
        session: context.known_session(options.session.as_deref())?,
    };
    while let Some(pause) = debugger.next_held()? {
        debugger.show(&pause)?;
        loop {
            let Some(line) = debugger.typed.next(&format!("({}) ", pause.id))? else {
                return Ok(());
            };
            match debugger.act(&pause, line.trim()) {
                Ok(Next::Show) => break debugger.tell_decided(pause.id)?,
                Ok(Next::Ask) => {}
                Ok(Next::Quit) => return Ok(()),
                Err(error) => {
                    debugger.tell_error(&error)?;
                    let now = debugger.control.pause(pause.id)?;
                    if now.is_none_or(|now| now.state != PauseState::Held) {
                        break;
                    }
                }
            }
        }
    }
    Ok(())
}

impl Debugger<'_> {
    /// Writes a JSON document in a line.
    fn answer(&self, mut document: Value) -> CliResult<()> {
        document["schema"] = 1.into();
        self.context.out.json_line(&document)
    }

    fn tell_decided(&self, id: PauseId) -> CliResult<()> {
        match self.control.pause(id)? {
            Some(pause) if self.context.out.json => {
                let decision = pause.decision.as_ref();
                let outcome = decision.map(|decision| decision.outcome().name());
                self.answer(json!({ "pause": view::pause(&pause), "outcome": outcome }))
            }
            _ => Ok(()),
        }
    }

    fn tell_error(&self, error: &CliError) -> CliResult<()> {
        if self.context.out.json {
            return self.answer(super::error_fields(error));
        }
        self.context.out.note("error", &error.message);
        if let Some(hint) = &error.hint {
            self.context.out.note("hint", hint);
        }
        Ok(())
    }

    /// Waits for a call that is held. None: nobody can decide on one any more.
    fn next_held(&mut self) -> CliResult<Option<Pause>> {
        let mut is_told = false;
        loop {
            let held = self.control.pauses(PauseFilter::Open)?;
            let session = self.session.as_deref();
            let held = held
                .into_iter()
                .find(|pause| pause.state == PauseState::Held && held::is_of(pause, session));
            if let Some(pause) = held {
                let face = format!("{FACE} {}", std::process::id());
                self.control.acknowledge(pause.id, &face)?;
                return Ok(Some(pause));
            }
            if self.typed.is_over() {
                return Ok(None);
            }
            if !is_told {
                let text = "Waiting for a held call. Ctrl-C ends it.\n";
                self.context
                    .out
                    .remark(&self.context.out.paint.on(DIM, text))?;
                is_told = true;
            }
            std::thread::sleep(WAIT);
        }
    }

    fn show(&self, pause: &Pause) -> CliResult<()> {
        let mut shown = details::details(pause, Around::default(), &read_disk);
        if let Some((_, input)) = self.changed.as_ref().filter(|(id, _)| *id == pause.id) {
            let changed = details::predicted(pause, input.clone(), &read_disk);
            (shown.input, shown.predicted) = (changed.input, changed.predicted);
        }
        if self.context.out.json {
            let shown = serde_json::to_value(&shown)
                .map_err(|error| CliError::failed(error.to_string()))?;
            return self.answer(shown);
        }
        let is_changed = self.changed.as_ref().is_some_and(|(id, _)| *id == pause.id);
        let extent = if is_changed {
            HeldExtent::WithInput
        } else {
            HeldExtent::Short
        };
        let text = held_text::text(&shown, extent, self.context.out.paint);
        self.context.out.text(&text)?;
        self.context
            .out
            .remark("c continue · n step · d deny · k skip · e edit · h help\n")
    }

    fn act(&mut self, pause: &Pause, line: &str) -> CliResult<Next> {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        let message = || (!rest.is_empty()).then(|| rest.to_owned());
        let decision = match key {
            "c" | "continue" => match self.changed.clone().filter(|(id, _)| *id == pause.id) {
                Some((_, input)) => {
                    let checked = acts::changed(pause, input);
                    let failed = |problem: acts::InputProblem| {
                        CliError::refused(problem.reason).hint("e edits it again")
                    };
                    checked.map_err(failed)?.0
                }
                None => PauseDecision::Continue,
            },
            "n" | "step" => return self.step(pause, "over"),
            "s" => return self.step(pause, "into"),
            "o" => return self.step(pause, "out"),
            "d" | "deny" => PauseDecision::Deny {
                message: message().unwrap_or_else(words::refused),
            },
            "k" | "skip" => PauseDecision::Skip,
            "x" | "stop" => PauseDecision::Stop { message: message() },
            "b" | "back" => return self.back(pause, rest),
            "e" | "edit" => {
                self.edit(pause)?;
                self.show(pause)?;
                return Ok(Next::Ask);
            }
            "i" | "inject" => {
                let (agent, session) = (&pause.call.agent, &pause.call.session);
                self.control
                    .inject(Some(agent), Some(session), rest, FACE)?;
                return Ok(Next::Ask);
            }
            "r" => {
                self.show(pause)?;
                return Ok(Next::Ask);
            }
            "q" | "quit" => return Ok(Next::Quit),
            "" => return Ok(Next::Ask),
            "h" | "help" | "?" => {
                if self.context.out.json {
                    self.answer(json!({ "help": HELP }))?;
                } else {
                    self.context.out.text(HELP)?;
                }
                return Ok(Next::Ask);
            }
            other => {
                return Err(CliError::usage(format!(
                    "`{}` is not a key here",
                    render::clean(other)
                ))
                .hint("h lists the keys"));
            }
        };
        self.decide(pause, &decision)
    }

    fn decide(&mut self, pause: &Pause, decision: &PauseDecision) -> CliResult<Next> {
        self.control.decide(pause.id, decision, None, FACE)?;
        Ok(Next::Show)
    }

    fn step(&mut self, pause: &Pause, how: &str) -> CliResult<Next> {
        let until = acts::step_until(pause, how);
        self.control
            .decide(pause.id, &PauseDecision::Continue, until.as_ref(), FACE)?;
        Ok(Next::Show)
    }

    fn back(&mut self, pause: &Pause, typed: &str) -> CliResult<Next> {
        let steps = match typed {
            "" => 1,
            number => number.parse().map_err(|_| {
                CliError::usage(format!(
                    "`{}` is not a number of steps",
                    render::clean(number)
                ))
            })?,
        };
        let workspace = &self.context.workspace;
        let mut engine = Engine::open_with(workspace, OpenOptions::COMMAND.existing())?;
        acts::back(
            &mut engine,
            &self.control,
            pause,
            steps,
            OnConflict::Fail,
            FACE,
        )?;
        Ok(Next::Show)
    }

    /// Has the user edit the input as JSON.
    fn edit(&mut self, pause: &Pause) -> CliResult<()> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            CliError::failed(format!("{what}: {error}"))
        };
        if matches!(self.typed, Typed::Lines { .. }) {
            return Err(CliError::usage("an editor needs a terminal".to_owned())
                .hint("`backstitch resume --input FILE` goes on with another input"));
        }
        let known = self.changed.clone().filter(|(id, _)| *id == pause.id);
        let input = known.map_or_else(|| details::input(pause), |(_, input)| input);
        let text = serde_json::to_string_pretty(&input).unwrap_or_default();
        let file = tempfile::Builder::new()
            .prefix("backstitch-input-")
            .suffix(".json")
            .tempfile()
            .map_err(|error| failed("a file for the input", &error))?;
        std::fs::write(file.path(), text + "\n")
            .map_err(|error| failed("a file for the input", &error))?;
        let editor = std::env::var("VISUAL")
            .or_else(|_| std::env::var("EDITOR"))
            .unwrap_or_else(|_| "vi".to_owned());
        let status = launch::shell(&format!("{editor} \"$1\""))
            .arg("sh")
            .arg(file.path())
            .status()
            .map_err(|error| failed(&editor, &error))?;
        if !status.success() {
            return Err(CliError::failed(format!(
                "{editor} failed; the input stays as it was"
            )));
        }
        let text = std::fs::read_to_string(file.path())
            .map_err(|error| failed("the changed input", &error))?;
        let input: Value = serde_json::from_str(&text)
            .map_err(|error| CliError::usage(format!("the changed input is not JSON: {error}")))?;
        self.changed = Some((pause.id, input));
        self.control.touch(pause.id)?;
        Ok(())
    }
}
