//! Values that a person sets, and expressions that they may ask for.

use serde::{Deserialize, Serialize};

use crate::expr::{self, Allowed};

/// Contexts that an expression may have at a step.
const CONTEXTS: [&str; 11] = [
    "env", "github", "inputs", "job", "matrix", "needs", "runner", "secrets", "steps", "strategy",
    "vars",
];

/// Functions beside those that hold everywhere, with their least and greatest numbers of arguments.
const FUNCTIONS: [(&str, usize, usize); 5] = [
    ("always", 0, 0),
    ("cancelled", 0, 0),
    ("failure", 0, 0),
    ("success", 0, 0),
    ("hashFiles", 1, 255),
];

/// A value that a person has set since the last step ran. A step that runs again with the files of now has it, too.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ByHand {
    Variable(String, String),
    Unset(String),
    /// The id of a step, the name of its output, and the value.
    Output(String, String, String),
}

/// Err: GitHub's sentence about an expression that no step may have.
pub(super) fn check_expression(text: &str) -> Result<(), String> {
    let allowed = Allowed {
        contexts: CONTEXTS.to_vec(),
        functions: FUNCTIONS.to_vec(),
    };
    let text = text.trim();
    let inner = text.strip_prefix("${{");
    let inner = inner.and_then(|inner| inner.strip_suffix("}}"));
    let checked = expr::check(inner.unwrap_or(text), &allowed);
    checked.map_err(|error| error.message)
}
