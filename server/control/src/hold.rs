//! Waiting for the decision on a held call.

use std::time::Instant;

use super::Control;
use super::pause::{PauseDecision, PauseId, PauseState};
use super::wait::{BellWatch, Wakeup};
use backstitch_core::Result;
use backstitch_core::sqlite::Lock;

/// A call that this process holds, or waits for beside the hook that does.
#[derive(Debug)]
pub struct Hold {
    pub id: PauseId,
    /// True if this process evaluates what is asked at the pause.
    pub evaluates: bool,
    /// Taken while this process is the holder. The kernel frees it when the process dies.
    lock: Option<Lock>,
}

/// The end of a wait.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitResult {
    Decided(PauseDecision),
    /// An input waits for its evaluation.
    Eval,
    /// The time is up.
    Timeout,
    /// The agent no longer reads the answer.
    AgentGone,
    /// The pause was ended by another process.
    Ended,
}

impl Hold {
    pub(super) fn new(id: PauseId, lock: Option<Lock>) -> Self {
        Self {
            id,
            evaluates: false,
            lock,
        }
    }

    /// Waits for the decision. `until`: the wait ends then without one.
    pub fn wait(&mut self, control: &Control, until: Option<Instant>) -> Result<WaitResult> {
        let id = self.id;
        wait(control, id, until, BellWatch::wait_beside_reader, || {
            if self.lock.is_none() {
                // the first hook of this event may have died
                self.lock = control.try_lock(id)?;
            }
            Ok(self.evaluates && self.lock.is_some() && control.repls().has_eval(id)?)
        })
    }
}

impl Control {
    /// Waits for the decision on a pause whose [`Hold`] this process has elsewhere.
    pub fn wait_for_decision(&self, id: PauseId, until: Option<Instant>) -> Result<WaitResult> {
        wait(self, id, until, BellWatch::wait_as_holder, || Ok(false))
    }
}

/// The wait for the decision on a pause: its row, the bell, the deadline. `has_input`: asked at each look.
fn wait(
    control: &Control,
    id: PauseId,
    until: Option<Instant>,
    sleep: impl Fn(&BellWatch, Option<Instant>) -> Wakeup,
    mut has_input: impl FnMut() -> Result<bool>,
) -> Result<WaitResult> {
    let watch = control.watch();
    loop {
        let has_input = has_input()?;
        let Some(pause) = control.pauses().get(id)? else {
            return Ok(WaitResult::Ended);
        };
        let is_waited_for = pause.state.has_holder();
        match pause.decision {
            Some(decision) if is_waited_for || pause.state == PauseState::Answered => {
                return Ok(WaitResult::Decided(decision));
            }
            None if is_waited_for && has_input => return Ok(WaitResult::Eval),
            None if is_waited_for => {}
            Some(_) | None => return Ok(WaitResult::Ended),
        }
        if until.is_some_and(|at| at <= Instant::now()) {
            return Ok(WaitResult::Timeout);
        }
        if sleep(&watch, until) == Wakeup::HangUp {
            return Ok(WaitResult::AgentGone);
        }
    }
}
