//! Conditions: `if` of steps, jobs and posts.

use crate::contexts::At;
use crate::expr::{Contexts, evaluate};
use crate::state::StepOutcome;
use crate::template::expand_bool;
use crate::workflow::StepsBody;

/// Evaluates a condition. The error is a sentence.
pub(super) fn holds(condition: &str, contexts: &dyn Contexts) -> Result<bool, String> {
    let value = evaluate(condition, contexts);
    value
        .map(|value| value.is_truthy())
        .map_err(|error| error.message)
}

/// The reason why a condition does not hold. Most conditions imply `success()`; then what was before is the reason, and not the text.
pub(super) fn reason(condition: &str, status: StepOutcome, before: &str) -> String {
    let implies_success = condition == "success()" || condition.starts_with("success() && ");
    match status {
        StepOutcome::Failure if implies_success => before.to_owned(),
        StepOutcome::Cancelled if implies_success => "the job was cancelled".to_owned(),
        _ => format!("its condition does not hold: {condition}"),
    }
}

/// True if a failure of the job does not count for the workflow.
pub(super) fn continues(body: &StepsBody, at: &At) -> bool {
    let token = body.continue_on_error.as_ref();
    token.is_some_and(|token| expand_bool(token, at).unwrap_or_default())
}
