//! Words the errors about the arguments of commands and requests. `backstitch_protocol` declares the arguments and
//! checks them. Pure.

use backstitch_protocol::{ArgumentError, Expected, Problem};
use serde_json::Value;

use super::failure::Failure;
use crate::lsp::messages::arguments as messages;

/// `name`: of the command or request.
pub fn failure(name: &str, error: &ArgumentError) -> Box<Failure> {
    let known: Vec<&str> = error.known.iter().map(String::as_str).collect();
    let takes = messages::takes(&known);
    match &error.problem {
        Problem::NoObject(given) => {
            Failure::usage(messages::one_object(name, &shown(given))).hint(takes)
        }
        Problem::Unknown(unknown) => {
            let unknown: Vec<&str> = unknown.iter().map(String::as_str).collect();
            Failure::usage(messages::not_taken(name, &unknown)).hint(takes)
        }
        Problem::Wrong {
            argument,
            expected,
            given,
        } => {
            let message = messages::wrong(name, argument, describe(*expected), &shown(given));
            Failure::usage(message).hint(takes)
        }
        Problem::Missing { argument, expected } => {
            Failure::usage(messages::missing(name, argument, describe(*expected))).hint(takes)
        }
        Problem::NoneOf(all) => {
            Failure::usage(messages::none_of(name, all)).hint(messages::NONE_OF_HINT)
        }
        Problem::SeveralOf { all, given } => {
            Failure::usage(messages::too_many(name, all, given)).hint(messages::TOO_MANY_HINT)
        }
        Problem::Unreadable(error) => {
            tracing::info!("{name}: {error}");
            Failure::usage(messages::unreadable(name)).hint(messages::UNREADABLE_HINT)
        }
    }
}

fn describe(expected: Expected) -> &'static str {
    match expected {
        Expected::Name => messages::A_NAME,
        Expected::Text => messages::A_TEXT,
        Expected::Flag => messages::A_FLAG,
        Expected::Names => messages::NAMES,
        Expected::Count => messages::A_COUNT,
        Expected::Lines => messages::LINES,
        Expected::Edit => messages::AN_EDIT,
        Expected::Json => messages::A_VALUE,
        Expected::Texts => messages::TEXTS,
        Expected::Fields => messages::FIELDS,
    }
}

/// Formats a value as it was written, shortened if it is long.
fn shown(value: &Value) -> String {
    crate::render::cut(&crate::render::clean(&value.to_string()), 40)
}

#[cfg(test)]
mod tests {
    use backstitch_protocol::{Command, CustomRequest};
    use serde_json::json;

    use super::*;

    fn message(name: &str, given: Value) -> String {
        let wrong = match CustomRequest::parse(name, given.clone()) {
            Some(request) => request.err(),
            None => Command::parse(name, given).expect("a command").err(),
        };
        failure(name, &wrong.expect("wrong")).message
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
}
