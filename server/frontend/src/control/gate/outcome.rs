//! The gate's word on an event, and the answers of which it is made.

use backstitch_agents::Answer;
use backstitch_control::{
    Ability, CallMoment, Control, HeldCall, Hold, PauseDecision, PauseId, PauseOutcome,
};
use backstitch_core::Workspace;
use backstitch_core::capture::EventKind;

use super::answers;
use super::event::GateCheck;
use crate::control::{shown, words};

/// The gate's word on an event.
#[derive(Debug, Default)]
pub struct GateOutcome {
    pub answer: Answer,
    /// The call does not run, so that it is not recorded.
    pub prevented: bool,
    /// The payload to record instead: the user changed the input.
    pub payload: Option<Vec<u8>>,
    /// Its agent reports no end of the turn: the hook has to record it.
    pub ends_turn: bool,
    /// The agent gave up: nothing is answered, nothing recorded.
    pub abandoned: bool,
    /// The pause that is over once the agent has the answer.
    pub(super) pause: Option<(PauseId, PauseOutcome)>,
    /// Kept until the agent has the answer: a pause whose lock is free counts as lost.
    pub(super) hold: Option<Hold>,
    /// For the user, in one line.
    pub warning: Option<String>,
}

impl GateOutcome {
    /// True if the call is not left to the next gate.
    pub fn is_decided(&self) -> bool {
        self.prevented
            || self.abandoned
            || self.payload.is_some()
            || !self.answer.parts().is_empty()
    }

    /// Notes that the agent has the answer.
    pub fn answered(&mut self, workspace: &Workspace) {
        if let Some((id, outcome)) = self.pause
            && let Ok(control) = Control::open_for_hook(workspace)
        {
            let _ = control.pauses().end(id, outcome.state(), Some(outcome));
        }
        self.hold = None;
    }
}

impl GateCheck<'_> {
    /// A call that a breakpoint denies.
    pub(super) fn denied(&self, message: &str) -> GateOutcome {
        if matches!(self.event.kind, EventKind::After { .. }) {
            // a change that nobody could predict: the model is told what it should not have done
            return GateOutcome {
                answer: self.denial(CallMoment::After, message),
                ..GateOutcome::default()
            };
        }
        let refused = self.refused(message);
        GateOutcome {
            // the user asked for it
            warning: None,
            ..refused
        }
    }

    /// A call that cannot be checked or held does not run.
    pub(super) fn refused(&self, message: &str) -> GateOutcome {
        let can = answers::abilities(self.agent, &self.event.name, CallMoment::Before);
        let is_before = matches!(self.event.kind, EventKind::Before(_));
        let prevented = is_before && can.contains(&Ability::Deny);
        GateOutcome {
            answer: if prevented {
                self.denial(CallMoment::Before, message)
            } else {
                Answer::default()
            },
            prevented,
            warning: Some(message.to_owned()),
            ..GateOutcome::default()
        }
    }

    pub(super) fn not_held(&self, error: &backstitch_core::Error) -> GateOutcome {
        self.refused(&words::cannot_hold(&error.to_string()))
    }

    /// A call that is denied until it is tried again.
    pub(super) fn parked(&self, id: PauseId, message: &str) -> GateOutcome {
        GateOutcome {
            pause: Some((id, PauseOutcome::Parked)),
            warning: None,
            ..self.refused(message)
        }
    }

    /// A decision as the answer that carries it out.
    pub(super) fn decided(
        &self,
        id: PauseId,
        decision: &PauseDecision,
        held: &HeldCall,
    ) -> GateOutcome {
        let (moment, event) = (held.moment, &self.event.name);
        let mut decision = decision.clone();
        if let PauseDecision::Change { input } = &mut decision {
            *input = shown::as_it_runs(held, input.take());
        }
        let decision = &answers::possible(self.agent, event, moment, decision);
        let answer = answers::answer(self.agent, event, moment, decision, &held.why);
        let payload = if let PauseDecision::Change { input } = decision {
            self.agent.with_input(self.payload, input)
        } else {
            None
        };
        GateOutcome {
            ends_turn: matches!(decision, PauseDecision::Stop { .. }) && answer.stop.is_some(),
            answer,
            prevented: answers::prevents(decision, moment),
            payload,
            pause: Some((id, decision.outcome())),
            ..GateOutcome::default()
        }
    }

    fn denial(&self, moment: CallMoment, message: &str) -> Answer {
        let decision = PauseDecision::Deny {
            message: message.to_owned(),
        };
        answers::answer(self.agent, &self.event.name, moment, &decision, "")
    }
}
