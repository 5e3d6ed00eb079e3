//! Decisions as answers to an agent. Pure.

use backstitch_agents::{Answer, AnswerPart, Gated, ToolDecision};
use backstitch_control::{Ability, CallMoment, PauseDecision};
use backstitch_core::capture::EventKind;

use crate::control::words;

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

/// Returns the decision as it can be carried out at one of an agent's events. One that the agent cannot be told becomes a
/// denial with the reason where the call has not run, never a call that runs otherwise than decided.
pub fn possible(
    agent: &dyn Gated,
    event: &str,
    moment: CallMoment,
    decision: PauseDecision,
) -> PauseDecision {
    let abilities = agent.abilities();
    let needed = match (&decision, moment) {
        (PauseDecision::Change { .. }, CallMoment::Before) => AnswerPart::Input,
        (PauseDecision::Ask, CallMoment::Before) => AnswerPart::Ask,
        (PauseDecision::Change { .. } | PauseDecision::Ask, CallMoment::After)
        | (
            PauseDecision::Continue
            | PauseDecision::Deny { .. }
            | PauseDecision::Skip
            | PauseDecision::Replace { .. }
            | PauseDecision::Stop { .. }
            | PauseDecision::Back { .. },
            CallMoment::Before | CallMoment::After,
        ) => return decision,
    };
    if abilities.taken_at(event).contains(&needed) {
        return decision;
    }
    PauseDecision::Deny {
        message: words::not_possible(&decision),
    }
}

/// Returns the answer that carries out a decision, which is possible. `why`: the reason of the pause, for the agent's own
/// question.
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
        // a call that has run is not changed, nor asked about
        (PauseDecision::Continue, _)
        | (PauseDecision::Change { .. } | PauseDecision::Ask, CallMoment::After) => {
            Answer::default()
        }
        (PauseDecision::Change { input }, CallMoment::Before) => Answer {
            input: Some(input.clone()),
            note: taken
                .contains(&AnswerPart::Note)
                .then(|| words::changed(input)),
            ..Answer::default()
        },
        (PauseDecision::Ask, CallMoment::Before) => Answer {
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
        EventKind::SessionStart { .. }
        | EventKind::Prompt { .. }
        | EventKind::Announced { .. }
        | EventKind::Starts(_)
        | EventKind::BatchEnd
        | EventKind::SubagentStop
        | EventKind::Stop { .. }
        | EventKind::SessionEnd
        | EventKind::Compact
        | EventKind::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backstitch_agents as agents;

    /// A change that an agent takes at none of its events becomes a denial before the call, also where it was stored all the same.
    #[test]
    fn a_change_that_is_not_taken_denies() {
        let input = serde_json::json!({ "command": "make" });
        for agent in agents::AGENTS {
            for (event, taken) in agent.abilities().taken {
                let decision = PauseDecision::Change {
                    input: input.clone(),
                };
                let before = possible(agent, event, CallMoment::Before, decision.clone());
                let is_denied = matches!(before, PauseDecision::Deny { .. });
                assert_eq!(is_denied, !taken.contains(&AnswerPart::Input), "{event}");
                let after = answer(agent, event, CallMoment::After, &decision, "");
                assert_eq!(after, Answer::default(), "it has run");
            }
        }
    }
}
