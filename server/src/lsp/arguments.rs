//! Our commands, and the arguments of commands and requests: their types, which are required, and which exclude each
//! other. Pure.
//! Checked arguments always deserialize.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::failure::{Failure, Reply};
use super::messages::arguments as messages;

/// Commands that `executeCommandProvider` lists; some clients run no others.
pub const COMMANDS: [&str; 11] = [
    "backstitch.rewind",
    "backstitch.undo",
    "backstitch.redo",
    "backstitch.revert",
    "backstitch.fork",
    "backstitch.switch",
    "backstitch.tag",
    "backstitch.pin",
    "backstitch.checkpoint",
    "backstitch.diff",
    "backstitch.timeline",
];

/// Arguments of every restore, apart from its target.
const RESTORE_KEYS: [&str; 9] = [
    "scope",
    "exact",
    "paths",
    "hunks",
    "session",
    "uncertain",
    "onConflict",
    "plan",
    "confirm",
];
/// Arguments of every command and request.
const WORKSPACE_KEYS: [&str; 2] = ["uri", "workspace"];

/// Returns the arguments of one of our commands or requests; None if there is none of this name.
pub fn keys(name: &str) -> Option<[&'static [&'static str]; 2]> {
    let none: &[&str] = &[];
    Some(match name {
        "backstitch.rewind" => [&["rev", "lines"], &RESTORE_KEYS],
        "backstitch.revert" => [&["turn", "step"], &RESTORE_KEYS],
        "backstitch.undo" => [&["op"], &RESTORE_KEYS],
        "backstitch.redo" => [none, &RESTORE_KEYS],
        "backstitch.switch" => [&["branch", "carry"], &RESTORE_KEYS],
        "backstitch.fork" => [&["rev", "name", "into", "switch", "confirm"], none],
        "backstitch.tag" => [&["name", "rev"], none],
        "backstitch.pin" => [&["rev", "pinned"], none],
        "backstitch.checkpoint" => [&["label", "description"], none],
        "backstitch.diff" => [&["rev", "rev2", "turn"], none],
        "backstitch.timeline"
        | "backstitch/content"
        | "backstitch/blame"
        | "backstitch/sessions" => [none, none],
        "backstitch/plan" => [
            &[
                "rev", "turn", "step", "op", "undo", "redo", "branch", "carry", "texts",
            ],
            &RESTORE_KEYS,
        ],
        "backstitch/timeline" => [
            &[
                "limit",
                "before",
                "session",
                "agent",
                "kind",
                "text",
                "branch",
                "allBranches",
            ],
            none,
        ],
        "backstitch/checkpoint" => [&["rev"], none],
        "backstitch/diff" => [&["from", "to"], none],
        "backstitch/review" => [&["action", "lines"], none],
        "backstitch/turnBegin" => [&["agent", "session", "prompt"], none],
        "backstitch/turnEnd" => [&["agent", "session"], none],
        "backstitch/applyEdit" => [&["agent", "session", "label", "edit"], none],
        _ => return None,
    })
}

/// Refuses unknown arguments: a misspelled one must not mean “everything”.
fn refuse_unknown(name: &str, arguments: &Value, keys: &[&[&str]; 2]) -> Reply<()> {
    let known: Vec<&str> = keys.concat().into_iter().chain(WORKSPACE_KEYS).collect();
    let given = arguments.as_object().into_iter().flat_map(|all| all.keys());
    let unknown = given.filter(|key| !known.contains(&key.as_str()));
    let unknown: Vec<&str> = unknown.map(String::as_str).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(messages::not_taken(name, &unknown)).hint(messages::takes(&known)))
}

/// Deserializes the arguments of a command or request.
pub fn read<T: DeserializeOwned>(name: &str, arguments: &Value) -> Reply<T> {
    T::deserialize(arguments).map_err(|error| {
        tracing::info!("{name}: {error}");
        Failure::usage(messages::unreadable(name)).hint(messages::UNREADABLE_HINT)
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentKind {
    /// Names something; never empty.
    Name,
    Text,
    Flag,
    Names,
    Count,
    Lines,
    Edit,
}

impl ArgumentKind {
    /// Returns the kind of an argument, which is the same for every command.
    fn of(argument: &str) -> Self {
        match argument {
            "exact" | "carry" | "pinned" | "switch" | "confirm" | "allBranches" | "undo"
            | "redo" | "texts" => Self::Flag,
            "paths" | "hunks" => Self::Names,
            "limit" => Self::Count,
            "lines" => Self::Lines,
            "edit" => Self::Edit,
            "label" | "description" | "prompt" | "text" | "name" => Self::Text,
            _ => Self::Name,
        }
    }

    fn takes(self, value: &Value) -> bool {
        let is_name = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        match self {
            Self::Name => is_name(value),
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            // an empty list would mean all, as if it were left out
            Self::Names => value
                .as_array()
                .is_some_and(|all| !all.is_empty() && all.iter().all(is_name)),
            Self::Count => value.is_u64(),
            Self::Lines => match value.as_array().map(Vec::as_slice) {
                Some([first, end]) => first.as_u64().is_some_and(|f| Some(f) < end.as_u64()),
                _ => false,
            },
            Self::Edit => value.is_object(),
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Name => messages::A_NAME,
            Self::Text => messages::A_TEXT,
            Self::Flag => messages::A_FLAG,
            Self::Names => messages::NAMES,
            Self::Count => messages::A_COUNT,
            Self::Lines => messages::LINES,
            Self::Edit => messages::AN_EDIT,
        }
    }
}

/// Returns the required arguments.
fn needed(name: &str, given: &Value) -> &'static [&'static str] {
    match name {
        "backstitch.rewind" | "backstitch/review" if given.get("lines").is_some() => &["uri"],
        "backstitch/content" | "backstitch/blame" => &["uri"],
        "backstitch/checkpoint" => &["rev"],
        "backstitch/diff" => &["from"],
        "backstitch/turnBegin" => &["agent", "session"],
        "backstitch/applyEdit" => &["edit"],
        _ => &[],
    }
}

/// Returns groups of arguments of which at most one may be given, and true if one is required.
fn alternatives(name: &str) -> (&'static [&'static [&'static str]], bool) {
    match name {
        "backstitch/plan" => (
            &[&["rev", "turn", "step", "branch", "op", "undo", "redo"]],
            true,
        ),
        "backstitch.revert" => (&[&["turn", "step"]], false),
        "backstitch.rewind" => (&[&["lines", "hunks"], &["lines", "paths"]], false),
        "backstitch.diff" => (&[&["turn", "rev"], &["turn", "rev2"]], false),
        _ => (&[], false),
    }
}

/// Returns the arguments without null values, or the failure if they are wrong.
pub fn checked(name: &str, given: Value) -> Reply<Value> {
    let mut given = match given {
        Value::Null => Map::new(),
        Value::Object(given) => given,
        other => {
            let message = messages::one_object(name, &shown(&other));
            return Err(Failure::usage(message).hint(accepted(name)));
        }
    };
    given.retain(|_, value| !value.is_null());
    let given = Value::Object(given);
    if let Some(keys) = keys(name) {
        refuse_unknown(name, &given, &keys)?;
    }
    kinds(name, &given)?;
    for argument in needed(name, &given) {
        if given.get(argument).is_none() {
            let message = messages::missing(name, argument, ArgumentKind::of(argument).describe());
            return Err(Failure::usage(message).hint(accepted(name)));
        }
    }
    let (alternatives, needed) = alternatives(name);
    for all in alternatives {
        one_of(name, &given, all, needed)?;
    }
    Ok(given)
}

fn kinds(name: &str, given: &Value) -> Reply<()> {
    for (argument, value) in given.as_object().into_iter().flatten() {
        let kind = ArgumentKind::of(argument);
        if !kind.takes(value) {
            let message = messages::wrong(name, argument, kind.describe(), &shown(value));
            return Err(Failure::usage(message).hint(accepted(name)));
        }
    }
    Ok(())
}

fn one_of(name: &str, given: &Value, all: &[&str], needed: bool) -> Reply<()> {
    let is_given = |argument: &&&str| given.get(**argument).is_some_and(|value| value != false);
    let named: Vec<&str> = all.iter().filter(is_given).copied().collect();
    match named.len() {
        0 if needed => {
            Err(Failure::usage(messages::none_of(name, all)).hint(messages::NONE_OF_HINT))
        }
        0 | 1 => Ok(()),
        _ => {
            Err(Failure::usage(messages::too_many(name, all, &named)).hint(messages::TOO_MANY_HINT))
        }
    }
}

fn accepted(name: &str) -> String {
    let keys = keys(name).map(|keys| keys.concat());
    let keys = keys.unwrap_or_default();
    messages::takes(&[keys.as_slice(), &["uri", "workspace"]].concat())
}

/// Formats a value as it was written, shortened if it is long.
fn shown(value: &Value) -> String {
    crate::render::cut(&crate::render::clean(&value.to_string()), 40)
}

/// Describes the library's error about parameters of LSP itself, without Rust's type names.
pub fn unreadable(method: &str, message: &str) -> Box<Failure> {
    Failure::usage(messages::lsp_unreadable(method, message)).hint(messages::LSP_HINT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(name: &str, given: Value) -> String {
        checked(name, given).expect_err("wrong").message
    }

    #[test]
    fn errors_name_the_argument() {
        for (name, given, words) in [
            ("backstitch.rewind", json!(1), "takes one object"),
            ("backstitch.rewind", json!({ "rev": 1 }), "`rev` of"),
            (
                "backstitch.rewind",
                json!({ "exact": "yes" }),
                "true or false; it is \"yes\"",
            ),
            (
                "backstitch/timeline",
                json!({ "limit": -1 }),
                "0 or more; it is -1",
            ),
            (
                "backstitch.rewind",
                json!({ "lines": [3, 3] }),
                "it is [3,3]",
            ),
            (
                "backstitch.rewind",
                json!({ "rev": "t1", "hunks": [] }),
                "with at least one",
            ),
            (
                "backstitch.rewind",
                json!({ "lines": [3, 4] }),
                "needs `uri`",
            ),
            (
                "backstitch.diff",
                json!({ "turn": "t4", "rev2": "@" }),
                "one of turn, rev2",
            ),
            ("backstitch/blame", json!({}), "needs `uri`"),
            ("backstitch/diff", json!({ "from": null }), "needs `from`"),
            ("backstitch/plan", json!({}), "needs one of rev, turn"),
            (
                "backstitch/plan",
                json!({ "rev": "t1", "turn": "t1" }),
                "got `rev`, `turn`",
            ),
        ] {
            let message = message(name, given);
            assert!(message.contains(words), "{words} in {message}");
        }
    }

    #[test]
    fn null_counts_as_left_out() {
        let given = json!({ "limit": null, "before": "c4" });
        let read = checked("backstitch/timeline", given).expect("right");
        assert_eq!(read, json!({ "before": "c4" }));
        assert_eq!(
            checked("backstitch/timeline", Value::Null).expect("right"),
            json!({})
        );
    }
}
