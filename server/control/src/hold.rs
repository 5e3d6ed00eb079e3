//! Waiting for the decision on a held call.

use std::time::Instant;

use super::Control;
use super::pause::{PauseDecision, PauseId, PauseState};
use super::wait::Wakeup;
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
    Ended(PauseState),
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
        let watch = control.watch();
        loop {
            if self.lock.is_none() {
                // the first hook of this event may have died
                self.lock = control.try_lock(self.id)?;
            }
            match control.pauses().get(self.id)? {
                None => return Ok(WaitResult::Ended(PauseState::Ended)),
                Some(pause) => match (pause.state, pause.decision) {
                    (
                        PauseState::Held | PauseState::Decided | PauseState::Answered,
                        Some(decision),
                    ) => return Ok(WaitResult::Decided(decision)),
                    (PauseState::Held | PauseState::Decided, None) => {
                        if self.evaluates
                            && self.lock.is_some()
                            && control.repls().has_eval(self.id)?
                        {
                            return Ok(WaitResult::Eval);
                        }
                    }
                    (state, _) => return Ok(WaitResult::Ended(state)),
                },
            }
            if until.is_some_and(|at| at <= Instant::now()) {
                return Ok(WaitResult::Timeout);
            }
            if watch.wait_beside_reader(until) == Wakeup::HangUp {
                return Ok(WaitResult::AgentGone);
            }
        }
    }
}
