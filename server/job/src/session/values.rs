//! Values that a person sets, and expressions that they may ask for.

use serde::{Deserialize, Serialize};

use crate::expr;
use crate::template::schema::TemplateSchema;

/// A value that a person has set since the last step ran. A step that runs again with the files of now has it, too.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ByHand {
    Variable(String, String),
    Unset(String),
    /// A directory at the front of PATH.
    Directory(String),
    /// The id of a step, the name of its output, and the value.
    Output(String, String, String),
    /// A value of `vars`.
    Var(String, String),
    /// An input of the workflow, or of the composite action in which the job stands.
    Input(String, String),
    /// All directories before PATH.
    Path(Vec<String>),
}

/// Err: GitHub's sentence about an expression that no step may have.
pub(super) fn check_expression(text: &str) -> Result<(), String> {
    let allowed = TemplateSchema::of_steps();
    let text = text.trim();
    let inner = text.strip_prefix("${{");
    let inner = inner.and_then(|inner| inner.strip_suffix("}}"));
    let checked = expr::check(inner.unwrap_or(text), &allowed);
    checked.map_err(|error| error.message)
}
