//! Conditions: `if` of steps, jobs and posts.

use crate::expr::{Contexts, evaluate};

/// Evaluates a condition. The error is a sentence.
pub(super) fn holds(condition: &str, contexts: &dyn Contexts) -> Result<bool, String> {
    let value = evaluate(condition, contexts);
    value
        .map(|value| value.is_truthy())
        .map_err(|error| error.message)
}
