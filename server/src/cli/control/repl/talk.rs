//! The conversation at a pause: inputs that are typed, or given as arguments.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use backstitch_control::{Control, Pause, PauseState, ReplEntry, ReplSession};
use backstitch_core::Error;
use backstitch_core::config::Config;
use serde_json::{Value, json};

use super::output::output;
use super::typed::ReplLine;
use super::words::{self, Went};
use crate::cli::control_context::{CLIENT, ControlContext};
use crate::control::{evaluate, shown, view};
use crate::render::{self, DIM};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out;

/// Shown at a Python program, whose frames take no assignment from outside.
const ASSIGNED: &str = "Names that you assign are this REPL's own: the program keeps its values. Objects change in place.\n";

/// `inputs`: those to evaluate; without any, they are typed.
pub fn talk(context: &ControlContext, pause: Option<&str>, inputs: &[String]) -> CliResult<()> {
    let pause = context.required()?.pauses().open(pause, None)?;
    let talk = Talk::start(context, &pause, out::answer, Interrupts::catch()?)?;
    let outcome = if inputs.is_empty() {
        talk.converse(&pause)
    } else {
        inputs.iter().try_for_each(|input| talk.must(input))
    };
    talk.end()?;
    outcome
}

/// Ctrl-C while no key is read. The program catches the signal from the first session on.
#[derive(Clone, Debug)]
pub struct Interrupts {
    is_pressed: Arc<AtomicBool>,
}

impl Interrupts {
    pub fn catch() -> CliResult<Self> {
        let is_pressed = Arc::new(AtomicBool::new(false));
        if std::io::stdin().is_terminal() {
            // while a line is typed, the editor reads the key itself
            signal_hook::flag::register(signal_hook::consts::SIGINT, is_pressed.clone())
                .map_err(|error| CliError::failed(format!("Ctrl-C: {error}")))?;
        }
        Ok(Self { is_pressed })
    }

    pub fn is_pressed(&self) -> bool {
        self.is_pressed.load(Ordering::Relaxed)
    }

    /// Returns whether the key was pressed, and forgets it.
    pub fn take(&self) -> bool {
        self.is_pressed.swap(false, Ordering::Relaxed)
    }
}

/// A session of the terminal at a pause.
pub struct Talk<'a> {
    context: &'a ControlContext<'a>,
    control: Control,
    session: ReplSession,
    /// Writes an entry as JSON.
    answer: fn(Value) -> CliResult<()>,
    interrupts: Interrupts,
}

impl<'a> Talk<'a> {
    pub fn start(
        context: &'a ControlContext<'a>,
        pause: &Pause,
        answer: fn(Value) -> CliResult<()>,
        interrupts: Interrupts,
    ) -> CliResult<Self> {
        let control = context.required()?;
        if pause.state != PauseState::Held {
            return Err(CliError::refused(format!("{} is not held", pause.id))
                .hint("`backstitch repl list` has what was asked before"));
        }
        let face = format!("{CLIENT} {}", std::process::id());
        control.pauses().acknowledge(pause.id, &face)?;
        let session = control.repls().start(pause.id, CLIENT)?;
        Ok(Self {
            context,
            control,
            session,
            answer,
            interrupts,
        })
    }

    /// Closes the session, if a decision that was taken here has not.
    pub fn end(&self) -> CliResult<()> {
        let closed = self.control.repls().known(&self.session.id)?.closed;
        if closed.is_none() {
            self.control
                .repls()
                .close(&self.session.id, "its terminal left", CLIENT)?;
        }
        Ok(())
    }

    /// Returns the line in which inputs are typed.
    pub fn line(&self, pause: &Pause) -> CliResult<ReplLine> {
        let document = evaluate::document(&self.context.workspace, pause);
        ReplLine::new(words::completions(), document)
    }

    /// Reads inputs and carries them out until the user leaves, or the pause is over.
    pub fn converse(&self, pause: &Pause) -> CliResult<()> {
        let out = self.context.out;
        let mut typed = self.line(pause)?;
        let what = shown::summary(pause);
        out.remark(&out.paint.on(
            DIM,
            &format!(
                "{} at {}: {what}. A line that ends with \\ continues in the next. :help lists words, Ctrl-D leaves.\n",
                self.session.language, pause.id
            ),
        ))?;
        if self.session.language == "python" {
            out.remark(&out.paint.on(DIM, ASSIGNED))?;
        }
        let prompt = format!("{}> ", pause.id);
        while let Some(input) = typed.next(&prompt, "")? {
            if input.trim().is_empty() {
                continue;
            }
            match self.answer(pause, &input) {
                Ok(Went::Over) => return Ok(()),
                Ok(_) => {}
                Err(error) => {
                    let now = self.control.repls().known(&self.session.id)?;
                    if now.closed.is_some() || !std::io::stdin().is_terminal() {
                        return Err(error);
                    }
                    out.note("error", &error.message);
                    if let Some(hint) = &error.hint {
                        out.note("hint", hint);
                    }
                }
            }
        }
        Ok(())
    }

    /// Carries out an input that was typed.
    pub fn answer(&self, pause: &Pause, input: &str) -> CliResult<Went> {
        let went = words::run(self.context, pause, input)?;
        if !matches!(went, Went::Evaluated) {
            return Ok(went);
        }
        let entry = self.ask(input)?;
        if entry.is_error && !std::io::stdin().is_terminal() {
            return Err(failed_input(input));
        }
        Ok(Went::On)
    }

    /// As `ask`, for an input of a script: the next command may rest on it.
    fn must(&self, input: &str) -> CliResult<()> {
        // a document says it by itself
        if self.ask(input)?.is_error && !self.context.out.json {
            return Err(failed_input(input));
        }
        Ok(())
    }

    fn ask(&self, input: &str) -> CliResult<ReplEntry> {
        let timeout = Config::of(&self.context.workspace).eval_timeout();
        let id = self.control.repls().ask(&self.session.id, input, timeout)?;
        self.interrupts.take();
        let answer = self
            .control
            .repls()
            .answer_to(id, &|| self.interrupts.is_pressed());
        self.interrupts.take();
        let entry = match answer {
            Err(Error::CalledOff) => {
                return Err(CliError::refused("stopped").hint(
                    "a shell command and jq have ended; code of a program may continue in it",
                ));
            }
            entry => entry?,
        };
        if self.context.out.json {
            let session = &self.session.id;
            (self.answer)(json!({ "session": session, "entry": view::entry(&entry) }))?;
            return Ok(entry);
        }
        let cut = std::io::stdout().is_terminal().then_some(&*self.session.id);
        self.context
            .out
            .text(&output(self.context.out.paint, &entry, cut))?;
        Ok(entry)
    }
}

/// The end of a script: its input failed, and nothing after it was evaluated.
fn failed_input(input: &str) -> CliError {
    CliError::failed(format!("`{}` failed", render::clean(input)))
        .hint("nothing after it was evaluated, and the call is held as before")
}
