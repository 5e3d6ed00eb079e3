//! Systems that jobs ask for by `runs-on`.

use crate::contexts::At;
use crate::expr::Value;
use crate::template::{TemplateToken, expand};

use super::facts::system;

/// The label of another system in a `runs-on`. None if its value is not known.
pub(super) fn other_system(runs_on: &TemplateToken, at: &At<'_>) -> Option<String> {
    let labels = match expand(runs_on, at).ok()? {
        Value::String(label) => vec![label.to_string()],
        Value::Array(labels) => labels.iter().map(Value::to_text).collect(),
        Value::Object(mapping) => match mapping.get("labels") {
            Some(Value::Array(labels)) => labels.iter().map(Value::to_text).collect(),
            Some(label) => vec![label.to_text()],
            None => Vec::new(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    };
    labels
        .into_iter()
        .find(|label| system_of(label).is_some_and(|other| other != system()))
}

/// The system that a label of a hosted runner stands for.
fn system_of(label: &str) -> Option<&'static str> {
    let label = label.to_ascii_lowercase();
    let names = [
        ("ubuntu", "Linux"),
        ("linux", "Linux"),
        ("macos", "macOS"),
        ("windows", "Windows"),
    ];
    names
        .into_iter()
        .find(|(name, _)| label.starts_with(name))
        .map(|(_, system)| system)
}
