//! Checks of an input that a user changed: it has the shape of the call's own, and the tool takes it. Pure.

use backstitch_control::HeldCall;
use backstitch_protocol::PredictedFile;
use serde_json::Value;

use super::predict::{CallForm, form};
use crate::render;

/// The reason why a changed input is not sent, and the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputProblem {
    pub reason: String,
    pub hint: &'static str,
}

const WHOLE: &str = "`backstitch inspect --json` prints the whole input; --force sends it as it is";
const EXACT: &str =
    "change that field, too, or resume the call as it is; --force sends the nearest value";
const CHANGE: &str = "change the input, or add --force; the call stays held";

/// Optional fields of edit tools.
const OF_EDITS: &[&str] = &["replace_all", "replaceAll", "allow_multiple"];
/// Optional fields of shells.
const OF_SHELLS: &[&str] = &[
    "timeout",
    "timeout_ms",
    "description",
    "run_in_background",
    "is_background",
    "workdir",
    "cwd",
    "dir_path",
    "directory",
    "with_escalated_permissions",
    "justification",
    "yield_time_ms",
    "max_output_tokens",
    "login",
];
/// Optional fields of tools that read.
const OF_READERS: &[&str] = &[
    "offset",
    "limit",
    "pages",
    "path",
    "glob",
    "type",
    "output_mode",
    "head_limit",
    "multiline",
    "-A",
    "-B",
    "-C",
    "-i",
    "-n",
    "include",
    "exclude",
];

/// Returns the reason why a changed input is not sent unless its user insists: the tool would refuse it, or it lacks fields of
/// the call's own, has others, or has them in another type. `predicted`: with the changed input.
pub fn problem(
    call: &HeldCall,
    (own, input): (&Value, &Value),
    predicted: &[PredictedFile],
) -> Option<InputProblem> {
    let problem = |reason: String, hint| Some(InputProblem { reason, hint });
    if !input.is_object() {
        return problem("the input of a tool is a JSON object".to_owned(), WHOLE);
    }
    let left_out = left_out(own, input);
    if !left_out.is_empty() {
        let fields = render::clean(&left_out.join("`, `"));
        return problem(
            format!(
                "this input has no `{fields}`, which the call has: the agent takes it as a whole"
            ),
            WHOLE,
        );
    }
    if let Some(place) = super::input::inexact(&call.input, own, input) {
        let place = render::clean(&place);
        return problem(
            format!(
                "`{place}` of the call has a number or a text that a changed input does not keep exactly"
            ),
            EXACT,
        );
    }
    if let Some(place) = other_type(own, input, String::new()) {
        let place = render::clean(&place);
        return problem(
            format!("`{place}` of this input has another type than that of the call"),
            WHOLE,
        );
    }
    if let Some(place) = unknown_field(&call.tool, own, input) {
        let (place, tool) = (render::clean(&place), render::clean(&call.tool));
        return problem(
            format!("the call has no `{place}`, and {tool} is not known to take it"),
            CHANGE,
        );
    }
    if let Some(file) = predicted.iter().find(|file| file.fails) {
        let why = file.why.as_deref().unwrap_or("it gives no reason");
        let tool = render::clean(&call.tool);
        return problem(
            format!("{tool} will refuse this input: {}", render::clean(why)),
            CHANGE,
        );
    }
    None
}

/// Returns the fields of a call's own input that another input leaves out, and its agent with it.
fn left_out(own: &Value, input: &Value) -> Vec<String> {
    let (Value::Object(own), Value::Object(other)) = (own, input) else {
        return Vec::new();
    };
    let missing = own.keys().filter(|name| !other.contains_key(*name));
    missing.cloned().collect()
}

fn place(of: &str, name: &str) -> String {
    if of.is_empty() {
        name.to_owned()
    } else {
        format!("{of}.{name}")
    }
}

/// Returns the first place at which a value has another type. A value that was null has none.
fn other_type(own: &Value, input: &Value, at: String) -> Option<String> {
    match (own, input) {
        (Value::Null, _) => None,
        (Value::Object(own), Value::Object(input)) => own
            .iter()
            .find_map(|(name, value)| other_type(value, input.get(name)?, place(&at, name))),
        // elements are alike
        (Value::Array(own), Value::Array(input)) => {
            let first = own.first()?;
            let mut elements = input.iter().enumerate();
            elements.find_map(|(number, value)| {
                let own = own.get(number).unwrap_or(first);
                other_type(own, value, format!("{at}[{number}]"))
            })
        }
        _ => (std::mem::discriminant(own) != std::mem::discriminant(input)).then_some(at),
    }
}

/// Returns a field that the call does not have, and that its tool is not known to take.
fn unknown_field(tool: &str, own: &Value, input: &Value) -> Option<String> {
    let optional: &[&str] = match form(tool, own) {
        CallForm::Replace(_) => OF_EDITS,
        CallForm::Shell(_) | CallForm::ShellPatch(_) => OF_SHELLS,
        CallForm::Other | CallForm::Read => OF_READERS,
        CallForm::Write(_)
        | CallForm::Blocks
        | CallForm::Insert
        | CallForm::Notebook
        | CallForm::Patch(_)
        | CallForm::Texts(_)
        | CallForm::Several(_) => &[],
    };
    unknown_in(own, input, optional, "")
}

fn unknown_in(own: &Value, input: &Value, optional: &[&str], at: &str) -> Option<String> {
    match (own, input) {
        (Value::Object(own), Value::Object(input)) => {
            input.iter().find_map(|(name, value)| match own.get(name) {
                Some(known) => unknown_in(known, value, optional, &place(at, name)),
                None if optional.contains(&name.as_str()) => None,
                None => Some(place(at, name)),
            })
        }
        (Value::Array(own), Value::Array(input)) => {
            let first = own.first()?;
            let mut elements = input.iter().enumerate();
            elements.find_map(|(number, value)| {
                let own = own.get(number).unwrap_or(first);
                unknown_in(own, value, optional, &format!("{at}[{number}]"))
            })
        }
        _ => None,
    }
}
