//! Decisions of `debug` on the call that it shows, and inputs of the REPL there.

use backstitch_control::{Decided, Pause, PauseDecision, PauseState, Subject, Undone};
use backstitch_core::Engine;
use backstitch_core::restore::OnConflict;

use super::debugger::{Debugger, Next, Talking};
use crate::cli::control::decide;
use crate::cli::control::repl::{Interrupts, Talk, Went};
use crate::cli::control_context::CLIENT;
use crate::control::acts::{self, Back, ContinueObstacle, ContinueRequest, OwnEditor, StepHow};
use crate::control::shown;
use crate::opening;
use crate::render;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::questions;

/// Signs with which an input of the REPL begins: a shell command, jq, a word.
const INPUTS: [char; 3] = ['!', '.', ':'];

/// True if a line is an input of the REPL.
pub fn is_input(line: &str) -> bool {
    line.starts_with(INPUTS)
}

impl<'a> Debugger<'a> {
    pub(super) fn decide(&mut self, pause: &Pause, decision: &PauseDecision) -> CliResult<Next> {
        let summary = shown::summary(pause);
        let undone = self
            .control
            .pauses()
            .decide(pause.id, decision, None, CLIENT)?;
        let decided = self.carried_out(undone)?;
        let told = decide::outcome_line(pause, &summary, &decided.decision, None);
        Ok(Next::Show(told))
    }

    /// Waits until a decision is carried out, or for Ctrl-C: the decision stands then.
    fn carried_out(&self, undone: Undone) -> CliResult<Decided> {
        let interrupts = self.interrupts.as_ref();
        let is_over = || interrupts.is_some_and(Interrupts::is_pressed);
        decide::carried_out_until(&self.control, &self.context.workspace, undone, &is_over)
    }

    /// Lets the call continue as it was shown.
    pub(super) fn continue_call(
        &mut self,
        pause: &Pause,
        step: Option<StepHow>,
        force: bool,
    ) -> CliResult<Next> {
        if self
            .rejected
            .as_ref()
            .is_some_and(|(id, _)| *id == pause.id)
        {
            let message = format!("your edit of {} was not taken, and would not run", pause.id);
            return Err(CliError::refused(message).hint("e continues with it; u drops it"));
        }
        let shown = self.shown.clone().filter(|(id, _)| *id == pause.id);
        let wish = ContinueRequest {
            input: None,
            fingerprint: shown.map(|(_, fingerprint)| fingerprint),
            force,
        };
        let refused = |obstacle: ContinueObstacle| match obstacle {
            ContinueObstacle::Stale => CliError::refused(format!(
                "the input of {} or its files changed since it was shown",
                pause.id
            ))
            .hint("look at it as it is now"),
            ContinueObstacle::Input(problem) => {
                CliError::refused(problem.reason).hint("e edits it again; c! sends it as it is")
            }
            obstacle @ ContinueObstacle::Error(_) => decide::refusal(pause, obstacle),
        };
        let continued = acts::check_continue(pause, &wish).map_err(refused)?;
        let until = step.map(|how| how.until(pause));
        let decided = acts::continue_call(&self.control, pause, &continued, until.as_ref(), CLIENT);
        let decided = self.carried_out(decided.map_err(refused)?)?;
        let summary = &continued.shown.summary;
        Ok(Next::Show(decide::outcome_line(
            pause,
            summary,
            &decided.decision,
            step,
        )))
    }

    pub(super) fn back(&mut self, pause: &Pause, typed: &str) -> CliResult<Next> {
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
        let mut engine = Engine::open_with(workspace, opening::COMMAND.existing())?;
        let summary = shown::summary(pause);
        let back = Back {
            steps,
            on_conflict: OnConflict::Fail,
            face: CLIENT,
        };
        let editor = OwnEditor::default();
        let (undone, _) = acts::back(&mut engine, &self.control, pause, &back, &editor)?;
        let decided = self.carried_out(undone)?;
        let told = decide::outcome_line(pause, &summary, &decided.decision, None);
        Ok(Next::Show(told))
    }

    pub(super) fn inject(&mut self, pause: &Pause, text: &str) -> CliResult<Next> {
        let (agent, session) = (&pause.call.agent, &pause.call.session);
        self.control
            .messages()
            .inject(Some(agent), Some(session), text, CLIENT)?;
        Ok(Next::Ask)
    }

    /// Evaluates one input. On a terminal its first sign was typed, and the rest follows.
    pub(super) fn evaluate(&mut self, pause: &Pause, line: &str) -> CliResult<Next> {
        if pause.call.subject == Subject::Program && !line.starts_with(':') {
            return Err(
                CliError::usage("a program evaluates its own language").hint("p opens its REPL")
            );
        }
        let is_terminal = self.typed.is_terminal();
        let talking = self.talking(pause)?;
        let mut input = line.to_owned();
        if is_terminal {
            questions::take_echo_back()?;
            let prompt = format!("({}) ", pause.id);
            input = talking.line.next(&prompt, &input)?.unwrap_or_default();
        }
        if input.trim().is_empty() {
            return Ok(Next::Ask);
        }
        match talking.talk.answer(pause, &input)? {
            Went::Over => self.after_talk(pause),
            Went::Evaluated | Went::On => Ok(Next::Ask),
        }
    }

    /// Opens the REPL until the user leaves it.
    pub(super) fn converse(&mut self, pause: &Pause) -> CliResult<Next> {
        if !self.typed.is_terminal() {
            return Err(CliError::usage("the REPL needs a terminal")
                .hint("a line that begins with !, . or : is evaluated"));
        }
        self.talking(pause)?.talk.converse(pause)?;
        self.after_talk(pause)
    }

    /// A word of the REPL may have decided, and has said so.
    fn after_talk(&self, pause: &Pause) -> CliResult<Next> {
        let now = self.control.pauses().get(pause.id)?;
        let is_held = now.is_some_and(|now| now.state == PauseState::Held);
        Ok(if is_held { Next::Ask } else { Next::Gone })
    }

    /// Returns the session at this call, which begins with its first input.
    fn talking(&mut self, pause: &Pause) -> CliResult<&mut Talking<'a>> {
        if self
            .talking
            .as_ref()
            .is_some_and(|one| one.pause != pause.id)
        {
            self.end_talk()?;
        }
        let talking = if let Some(talking) = self.talking.take() {
            talking
        } else {
            let interrupts = match self.interrupts.take() {
                Some(interrupts) => interrupts,
                None => Interrupts::catch()?,
            };
            let interrupts = self.interrupts.insert(interrupts).clone();
            let talk = Talk::start(self.context, pause, Self::answer, interrupts)?;
            let line = talk.line(pause)?;
            let pause = pause.id;
            Talking { pause, talk, line }
        };
        Ok(self.talking.insert(talking))
    }

    pub(super) fn end_talk(&mut self) -> CliResult<()> {
        match self.talking.take() {
            Some(talking) => talking.talk.end(),
            None => Ok(()),
        }
    }
}
