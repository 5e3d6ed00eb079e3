//! Steps that are chosen: by their names, and with another one that runs alone.

use crate::builtin::Builtin;
use crate::template::TokenKind;
use crate::workflow::{StepAction, WorkflowStep};

use super::uses::UsesText;

/// True if a step is meant by its id, its name, or its place from 1.
pub fn step_matches(step: &WorkflowStep, place: usize, only: &str) -> bool {
    let name = match step.name.as_ref().map(|token| &token.kind) {
        Some(TokenKind::Text(text)) => text.as_str(),
        _ => "",
    };
    step.id == only || name == only || only.parse() == Ok(place + 1)
}

/// True for a step that runs where one runs alone: that one, and the checkouts before it, which bring its files.
pub(super) fn runs_with(
    steps: &[WorkflowStep],
    step: &WorkflowStep,
    place: usize,
    only: &str,
) -> bool {
    let mut later = steps.iter().enumerate().skip(place.saturating_add(1));
    step_matches(step, place, only)
        || is_checkout(step) && later.any(|(place, step)| step_matches(step, place, only))
}

fn is_checkout(step: &WorkflowStep) -> bool {
    let StepAction::Uses { uses, .. } = &step.action else {
        return false;
    };
    let UsesText::Remote(action) = UsesText::parse(&uses.value) else {
        return false;
    };
    Builtin::find(&action.name()) == Some(Builtin::Checkout)
}
