//! The holder of a call: waits for the decision, and has inputs of REPLs evaluated meanwhile.

use std::time::{Duration, Instant};

use backstitch_control::{
    CALLED_OFF, Control, HeldCall, Hold, PauseDecision, PauseId, PauseOutcome, PauseState,
    WaitResult,
};
use backstitch_core::config::Unattended;
use backstitch_core::{Result, Workspace};

use super::event::CallOff;
use crate::control::evaluate::Evaluation;
use crate::control::silence::{HoldEnd, SilenceLimits};
use crate::control::words;

/// Interval at which a running evaluation is looked at.
const EVALUATION_TICK: Duration = Duration::from_millis(5);

/// A held call and the limits of its wait.
pub(super) struct Holder<'a> {
    pub workspace: &'a Workspace,
    pub control: &'a Control,
    pub held: &'a HeldCall,
    /// The breakpoint's own rule for calls that nobody sees.
    pub unattended: Option<Unattended>,
    /// The time after which the agent would hear no answer.
    pub last_moment: Instant,
    pub call_off: Option<&'a CallOff>,
}

impl Holder<'_> {
    pub fn wait(&self, hold: &mut Hold) -> Result<HoldEnd> {
        let limit = Some(self.last_moment);
        let limits = SilenceLimits::new(self.workspace, self.unattended, Instant::now(), limit);
        let id = hold.id;
        hold.evaluates = true;
        if self.call_off.is_some_and(CallOff::is_called) {
            let message = words::refused();
            let denied = PauseDecision::Deny { message };
            self.control
                .pauses()
                .decide_alone(id, &denied, CALLED_OFF)?;
        }
        let mut running = None;
        let end = limits.hold(self.control, (id, self.held), None, |until| {
            self.wait_evaluating(hold, &mut running, until)
        })?;
        if end == HoldEnd::AgentGone {
            self.abandon(id);
        }
        Ok(end)
    }

    /// A decision ends an evaluation that is under way.
    fn wait_evaluating(
        &self,
        hold: &mut Hold,
        running: &mut Option<Evaluation>,
        until: Option<Instant>,
    ) -> Result<WaitResult> {
        loop {
            let tick = running.is_some().then(|| Instant::now() + EVALUATION_TICK);
            let waited = hold.wait(self.control, tick.into_iter().chain(until).min())?;
            *running = running.take().and_then(|one| one.advance(self.control));
            let is_early = until.is_none_or(|until| Instant::now() < until);
            match waited {
                WaitResult::Eval => *running = self.start_evaluation(hold.id)?,
                WaitResult::Timeout if is_early => {}
                WaitResult::Decided(_)
                | WaitResult::Timeout
                | WaitResult::AgentGone
                | WaitResult::Ended => return Ok(waited),
            }
        }
    }

    fn start_evaluation(&self, id: PauseId) -> Result<Option<Evaluation>> {
        let Some(request) = self.control.repls().take_eval(id)? else {
            return Ok(None);
        };
        let pause = self.control.pauses().get(id)?;
        Ok(
            pause
                .and_then(|pause| Evaluation::start(self.workspace, self.control, &pause, request)),
        )
    }

    fn abandon(&self, id: PauseId) {
        let outcome = Some(PauseOutcome::Ended);
        let _ = self.control.pauses().end(id, PauseState::Ended, outcome);
    }
}
