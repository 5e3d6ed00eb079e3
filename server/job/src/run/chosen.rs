//! Steps that are chosen: by their names, and with another one that runs alone.

use crate::builtin::Builtin;
use crate::template::TokenKind;
use crate::workflow::{StepAction, WorkflowStep};

use super::uses::UsesText;

/// True if a step is meant by its id, its name, or its place from 1.
pub fn step_matches(step: &WorkflowStep, place: usize, only: &str) -> bool {
    let name = plain_name(step);
    step.id == only || name.as_deref() == Some(only) || only.parse() == Ok(place + 1)
}

/// The name of a step as a run shows it. None: it depends on values of the run.
pub fn plain_name(step: &WorkflowStep) -> Option<String> {
    match step.name.as_ref().map(|token| &token.kind) {
        None => Some(name_of_action(step)),
        Some(TokenKind::Text(name)) if name.trim().is_empty() => Some(name_of_action(step)),
        Some(TokenKind::Text(name)) => Some(first_line(name).to_owned()),
        Some(_) => None,
    }
}

/// The name of a step that has none in its file.
pub(super) fn name_of_action(step: &WorkflowStep) -> String {
    let text = match &step.action {
        StepAction::Run { script, .. } => match &script.kind {
            TokenKind::Text(text) => text.as_str(),
            TokenKind::Expression(expression) => &expression.source,
            _ => "",
        },
        StepAction::Uses { uses, .. } => &uses.value,
        StepAction::Background(key) => &key.value,
    };
    format!("Run {}", first_line(text))
}

/// The first line of a text that has something in it.
pub(super) fn first_line(text: &str) -> &str {
    text.trim_start().lines().next().unwrap_or("").trim_end()
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
