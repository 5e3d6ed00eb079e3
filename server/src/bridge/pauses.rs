//! Pauses of a program: the wait for a decision, and its way to the program.

use std::time::{Duration, Instant};

use backstitch_control::{Control, Pause, PauseDecision, PauseId, PauseOutcome, PauseState};
use serde::Deserialize;
use serde_json::{Value, json};

use super::rpc::{self, Refusal};
use super::session::{BridgeShared, Connected, Outcome, call_of, locked};
use crate::control::silence::{HoldEnd, SilenceLimits, age};

/// Maximum time of a poll.
pub(super) const MAX_WAIT: Duration = Duration::from_mins(1);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Poll {
    pub pause: String,
    #[serde(default)]
    pub wait_ms: u64,
    /// The program says if it could evaluate the expressions of a decision, which is open until then.
    #[serde(default)]
    pub confirms: bool,
}

#[derive(Deserialize)]
pub(super) struct PauseRefuse {
    pub pause: String,
    pub error: String,
}

#[derive(Deserialize)]
pub(super) struct PauseParams {
    pub pause: String,
}

fn pause_id(name: &str) -> Result<PauseId, Refusal> {
    let number = name.strip_prefix('p').unwrap_or(name).parse();
    number.map(PauseId).map_err(|_| Refusal {
        code: rpc::UNKNOWN,
        message: format!("there is no pause `{name}`"),
    })
}

impl BridgeShared {
    /// Returns the pause that a bridge opened for the same request before it died, and holds it from here on.
    pub(super) fn opened_before(
        &self,
        program: &Connected,
        key: Option<&str>,
    ) -> Result<Option<PauseId>, Refusal> {
        let Some(key) = key else {
            return Ok(None);
        };
        let control = locked(&self.control);
        let found = control
            .programs()
            .pause_of((&program.language, &program.session), &call_of(key))?;
        let Some(id) = found else {
            return Ok(None);
        };
        if !self.is_own(id)
            && let Some((_, hold)) = control.programs().take_over(id)?
        {
            locked(&self.state).holds.insert(id, hold);
        }
        Ok(Some(id))
    }

    fn is_own(&self, id: PauseId) -> bool {
        locked(&self.state).holds.contains_key(&id)
    }

    /// Takes a pause over from a bridge that died.
    pub(super) fn pause_take(&self, take: &PauseParams) -> Outcome {
        let id = self.own_pause(&take.pause)?.id;
        if self.is_own(id) {
            let held = format!("{:?}", PauseState::Held);
            return Ok(json!({ "pause": id.to_string(), "state": held }));
        }
        let control = locked(&self.control);
        let (pause, hold) = control
            .programs()
            .take_over(id)?
            .ok_or_else(|| backstitch_core::Error::UnknownPause(id.to_string()))?;
        locked(&self.state).holds.insert(id, hold);
        Ok(json!({ "pause": id.to_string(), "state": format!("{:?}", pause.state) }))
    }

    /// The program has evaluated the expressions of a decision, and continues.
    pub(super) fn pause_confirm(&self, confirmed: &PauseParams) -> Outcome {
        let pause = self.own_pause(&confirmed.pause)?;
        self.keep(pause.id)?;
        if let Some(decision) = &pause.decision {
            self.answered(pause.id, decision.outcome())?;
        }
        Ok(json!({}))
    }

    /// The program could not evaluate the expressions of a decision, and is held as before.
    pub(super) fn pause_refuse(&self, refused: &PauseRefuse) -> Outcome {
        let pause = self.own_pause(&refused.pause)?;
        self.keep(pause.id)?;
        locked(&self.state).refusals += 1;
        let is_held = locked(&self.control)
            .programs()
            .refuse_decision(pause.id, &refused.error)?;
        Ok(json!({ "held": is_held }))
    }

    /// Holds a pause that another bridge had when it died.
    fn keep(&self, id: PauseId) -> Result<(), Refusal> {
        if !self.is_own(id)
            && let Some((_, hold)) = locked(&self.control).programs().take_over(id)?
        {
            locked(&self.state).holds.insert(id, hold);
        }
        Ok(())
    }

    /// Finds a pause of this program.
    pub(super) fn own_pause(&self, name: &str) -> Result<Pause, Refusal> {
        let program = self.program()?;
        let id = pause_id(name)?;
        let is_its_own = |there: &Pause| {
            (&there.call.agent, &there.call.session) == (&program.language, &program.session)
        };
        let pause = locked(&self.control).pauses().get(id)?.filter(is_its_own);
        Ok(pause.ok_or_else(|| backstitch_core::Error::UnknownPause(id.to_string()))?)
    }

    /// Ends a pause that the program needs no more: its task was cancelled.
    pub(super) fn pause_withdraw(&self, withdrawn: &PauseParams) -> Outcome {
        let id = self.own_pause(&withdrawn.pause)?.id;
        let control = locked(&self.control);
        let ended = control
            .pauses()
            .end(id, PauseState::Ended, Some(PauseOutcome::Ended))?;
        drop(control);
        self.forget(id);
        Ok(json!({ "withdrawn": ended }))
    }

    /// Waits for the decision on a pause.
    pub(super) fn pause_poll(&self, poll: &Poll) -> Outcome {
        let pause = self.own_pause(&poll.pause)?;
        let id = pause.id;
        let control = Control::open_for_hook(&self.workspace)?;
        let until = Instant::now() + Duration::from_millis(poll.wait_ms).min(MAX_WAIT);
        let end = if let Some(decision) = pause.decision {
            HoldEnd::Decided(decision)
        } else {
            let limits = self.limits(&control, &pause);
            limits.hold(&control, (id, &pause.call), Some(until), |until| {
                control.wait_for_decision(id, until)
            })?
        };
        Ok(match end {
            HoldEnd::Decided(decision) => {
                if !(poll.confirms && decision.is_evaluated()) {
                    self.answered(id, decision.outcome())?;
                }
                json!({ "action": action(&decision) })
            }
            HoldEnd::Ended => {
                self.forget(id);
                json!({ "action": { "kind": "continue" } })
            }
            HoldEnd::TimedOut | HoldEnd::Parked { .. } | HoldEnd::AgentGone => {
                json!({ "action": null })
            }
        })
    }

    /// The limits of a pause, with the rule of its breakpoint.
    fn limits(&self, control: &Control, pause: &Pause) -> SilenceLimits {
        let breakpoints = control.breakpoints().all().unwrap_or_default();
        let own = breakpoints
            .iter()
            .find(|one| Some(one.id) == pause.call.breakpoint);
        let unattended = own.and_then(|one| one.unattended);
        // another bridge may have held it before
        let now = Instant::now();
        let began = now.checked_sub(age(pause.made)).unwrap_or(now);
        SilenceLimits::new(&self.workspace, unattended, began, None)
    }

    /// Notes that the program has the decision.
    fn answered(&self, id: PauseId, outcome: PauseOutcome) -> Result<(), Refusal> {
        let control = locked(&self.control);
        control
            .pauses()
            .end(id, PauseState::Answered, Some(outcome))?;
        drop(control);
        self.forget(id);
        Ok(())
    }

    fn forget(&self, id: PauseId) {
        let mut state = locked(&self.state);
        state.holds.remove(&id);
        if let Some(sessions) = state.served.remove(&id) {
            for session in sessions {
                rpc::notify("repl/closed", &json!({ "session": session }));
            }
        }
    }
}

/// A decision as the program carries it out.
fn action(decision: &PauseDecision) -> Value {
    match decision {
        PauseDecision::Change { input } => json!({ "kind": "modify", "args": input }),
        PauseDecision::Replace { value } => json!({ "kind": "replace", "value": value }),
        PauseDecision::Skip => json!({ "kind": "skip" }),
        PauseDecision::Deny { message } => json!({ "kind": "raise", "error": message }),
        PauseDecision::Stop { message } => {
            json!({ "kind": "raise", "error": message.as_deref().unwrap_or("stopped") })
        }
        PauseDecision::Back { .. } | PauseDecision::Ask | PauseDecision::Continue => {
            json!({ "kind": "continue" })
        }
    }
}
