//! Decisions as answers to an agent. Pure.

use backstitch_core::capture::EventKind;
use backstitch_core::control::{Ability, CallMoment, PauseDecision};

use super::words;
use crate::agents::{Answer, AnswerPart, Gated, ToolDecision};

/// Returns the decisions that an agent can be told at one of its events.
pub fn abilities(agent: &dyn Gated, event: &str, moment: CallMoment) -> Vec<Ability> {
    let abilities = agent.abilities();
    let taken = abilities.taken_at(event);
    let takes = |part: AnswerPart| taken.contains(&part);
    let can_deny = takes(AnswerPart::Deny);
    let is_before = moment == CallMoment::Before;
    let mut can = vec![Ability::Continue];
    if is_before && can_deny {
        can.extend([Ability::Deny, Ability::Skip]);
    }
    if is_before && takes(AnswerPart::Input) {
        can.push(Ability::Change);
    }
    // where the turn cannot be ended, a denial asks the model to end it
    if takes(AnswerPart::Stop) || is_before && can_deny {
        can.push(Ability::Stop);
    }
    if takes(AnswerPart::Note) {
        can.push(Ability::Inject);
    }
    if is_before && takes(AnswerPart::Ask) && agent.is_attended() {
        can.push(Ability::Ask);
    }
    if is_before && can_deny || takes(AnswerPart::Note) {
        can.push(Ability::Back);
    }
    can
}

/// Returns the answer that carries out a decision. `why`: the reason of the pause, for the agent's own question.
pub fn answer(
    agent: &dyn Gated,
    event: &str,
    moment: CallMoment,
    decision: &PauseDecision,
    why: &str,
) -> Answer {
    let abilities = agent.abilities();
    let taken = abilities.taken_at(event);
    let ends_turns = taken.contains(&AnswerPart::Stop);
    let denied = |message: String| Answer {
        decision: Some(ToolDecision::Deny(message)),
        ..Answer::default()
    };
    match (decision, moment) {
        (PauseDecision::Continue, _) => Answer::default(),
        (PauseDecision::Change { input }, _) => Answer {
            input: Some(input.clone()),
            note: taken
                .contains(&AnswerPart::Note)
                .then(|| words::changed(input)),
            ..Answer::default()
        },
        (PauseDecision::Ask, _) => Answer {
            decision: Some(ToolDecision::Ask(words::asked(why))),
            ..Answer::default()
        },
        (PauseDecision::Stop { message }, CallMoment::Before) => {
            let text = message.clone().unwrap_or_else(words::stopped);
            Answer {
                stop: ends_turns.then(|| text.clone()),
                ..denied(text)
            }
        }
        (PauseDecision::Stop { message }, CallMoment::After) => Answer {
            stop: Some(message.clone().unwrap_or_else(words::stopped)),
            ..Answer::default()
        },
        (PauseDecision::Deny { message } | PauseDecision::Back { message }, CallMoment::Before) => {
            denied(message.clone())
        }
        (PauseDecision::Deny { message } | PauseDecision::Back { message }, CallMoment::After) => {
            Answer {
                note: Some(message.clone()),
                ..Answer::default()
            }
        }
        (PauseDecision::Skip | PauseDecision::Replace { .. }, _) => denied(words::skipped()),
    }
}

/// True if the decision keeps the call from running.
pub fn prevents(decision: &PauseDecision, moment: CallMoment) -> bool {
    moment == CallMoment::Before
        && matches!(
            decision,
            PauseDecision::Deny { .. }
                | PauseDecision::Skip
                | PauseDecision::Replace { .. }
                | PauseDecision::Stop { .. }
                | PauseDecision::Back { .. }
        )
}

/// True for an event at which calls are held.
pub fn moment_of(kind: &EventKind) -> Option<CallMoment> {
    match kind {
        EventKind::Before(_) => Some(CallMoment::Before),
        EventKind::After { .. } => Some(CallMoment::After),
        _ => None,
    }
}
