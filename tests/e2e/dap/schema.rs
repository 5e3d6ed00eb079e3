//! The JSON schema of the Debug Adapter Protocol. `tests/dap/install.sh` makes it of the protocol's declarations; where it is
//! missing, messages are not held against it, which one test says. With `CI=true` that is a failure.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::skip;

/// The directory of the packages.
pub fn packages() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = env::var_os("BACKSTITCH_TEST_DAP");
    folder.map_or_else(|| tests.join(".cache/dap"), PathBuf::from)
}

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// It has nothing but what the protocol declares.
    ToClient,
    /// A client may say more, such as the arguments of a launch.
    ToAdapter,
}

/// The schema, with a validator for each kind of message that was seen.
struct ProtocolSchema {
    definitions: Value,
    open_definitions: Value,
    validators: Mutex<BTreeMap<(Direction, String), Arc<Validator>>>,
}

static SCHEMA: LazyLock<Option<ProtocolSchema>> = LazyLock::new(|| {
    let text = fs::read_to_string(packages().join("schema.json")).ok()?;
    let schema: Value = serde_json::from_str(&text).expect("a schema");
    let mut definitions = schema["definitions"].clone();
    for (name, body) in [
        ("BackstitchStepEvent", step_schema()),
        ("BackstitchJobEvent", job_schema()),
    ] {
        definitions[name] = object(&json!({
            "seq": {"type": "integer"}, "type": {"const": "event"}, "event": {"type": "string"}, "body": body,
        }));
    }
    definitions["BackstitchChangesRequest"] = json!({
        "type": "object", "required": ["seq", "type", "command"], "properties": {
            "seq": {"type": "integer"}, "type": {"const": "request"}, "command": {"type": "string"},
            "arguments": {"type": "object", "properties": {"frameId": {"type": "integer"}}},
        },
    });
    definitions["BackstitchChangesResponse"] = object(&json!({
        "seq": {"type": "integer"}, "type": {"const": "response"}, "request_seq": {"type": "integer"},
        "success": {"const": true}, "command": {"type": "string"}, "body": changes_schema(),
    }));
    let mut open_definitions = definitions.clone();
    open(&mut open_definitions);
    Some(ProtocolSchema {
        definitions,
        open_definitions,
        validators: Mutex::default(),
    })
});

/// An object with all of these properties, and no other.
fn object(properties: &Value) -> Value {
    let names: Vec<&String> = properties.as_object().expect("an object").keys().collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

const RESULTS: [&str; 4] = ["success", "failure", "cancelled", "skipped"];

/// The body of `backstitchStep`.
fn step_schema() -> Value {
    object(&json!({
        "path": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "index": {"type": "integer", "minimum": 0}, "id": {"type": "string"}, "name": {"type": "string"},
        "attempt": {"type": ["integer", "null"], "minimum": 1}, "checkpoint": {"type": ["integer", "null"], "minimum": 0},
        "outcome": {"enum": RESULTS}, "conclusion": {"enum": RESULTS},
        "ms": {"type": "integer", "minimum": 0}, "reason": {"type": ["string", "null"]},
    }))
}

/// The body of `backstitchJob`.
fn job_schema() -> Value {
    object(&json!({
        "id": {"type": "string"}, "name": {"type": "string"}, "result": {"enum": RESULTS},
        "ms": {"type": "integer", "minimum": 0}, "reason": {"type": ["string", "null"]}, "directory": {"type": ["string", "null"]},
    }))
}

/// The body of the answer to `backstitchChanges`.
fn changes_schema() -> Value {
    let reference = json!({"type": "integer", "minimum": 0});
    let file = object(&json!({
        "path": {"type": "string"}, "status": {"enum": ["added", "modified", "deleted"]}, "before": reference, "after": reference,
    }));
    object(&json!({"title": {"type": "string"}, "files": {"type": "array", "items": file}}))
}

fn open(part: &mut Value) {
    match part {
        Value::Object(all) => {
            all.retain(|name, value| name != "additionalProperties" || *value != false);
            all.values_mut().for_each(open);
        }
        Value::Array(all) => all.iter_mut().for_each(open),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl ProtocolSchema {
    fn validator(&self, direction: Direction, name: &str) -> Option<Arc<Validator>> {
        let mut validators = self
            .validators
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let key = (direction, name.to_owned());
        if let Some(known) = validators.get(&key) {
            return Some(Arc::clone(known));
        }
        let definitions = match direction {
            Direction::ToClient => &self.definitions,
            Direction::ToAdapter => &self.open_definitions,
        };
        definitions.get(name)?;
        let schema = json!({"$ref": format!("#/definitions/{name}"), "definitions": definitions});
        let validator = jsonschema::draft7::new(&schema).expect("a schema");
        let validator = Arc::new(validator);
        validators.insert(key, Arc::clone(&validator));
        Some(validator)
    }
}

/// Holds a message against the protocol. Err: a sentence.
pub fn check(direction: Direction, message: &Value) -> Result<(), String> {
    let Some(schema) = &*SCHEMA else {
        return Ok(());
    };
    let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
    let name = match (message["type"].as_str(), direction) {
        (Some("event"), Direction::ToClient) => format!("{}Event", capital(&text("event"))),
        (Some("response"), Direction::ToClient) if message["success"] == true => {
            format!("{}Response", capital(&text("command")))
        }
        (Some("response"), Direction::ToClient) => "ErrorResponse".to_owned(),
        (Some("response"), Direction::ToAdapter) => "Response".to_owned(),
        (Some("request"), _) => format!("{}Request", capital(&text("command"))),
        (other, _) => return Err(format!("a message of the type {other:?}: {message}")),
    };
    let validator = schema.validator(direction, &name);
    let validator = validator.ok_or_else(|| format!("the protocol has no {name}: {message}"))?;
    let errors = validator.iter_errors(message);
    let errors: Vec<String> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(format!("{name}: {}: {message:#}", errors.join("; ")))
    }
}

fn capital(word: &str) -> String {
    let mut all = word.chars();
    let first = all.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(all).collect()
}

/// The schema refuses messages with a wrong type, without a field, with another field, and of no kind.
#[test]
fn the_schema_is_there_and_refuses_wrong_messages() {
    if SCHEMA.is_none() {
        let reason = "the protocol's declarations are not installed (tests/dap/install.sh)";
        return skip(
            "dap::schema::the_schema_is_there_and_refuses_wrong_messages",
            reason,
        );
    }
    let stop = json!({"seq": 1, "type": "event", "event": "stopped", "body": {"reason": "step", "threadId": 1}});
    assert_eq!(check(Direction::ToClient, &stop), Ok(()));
    for (place, value) in [
        ("/body/threadId", json!("1")),
        ("/body/threadId", json!(1.5)),
        ("/body", json!({"threadId": 1})),
        ("/body", json!({"reason": "step", "thread": 1})),
        ("/event", json!("stops")),
        ("/type", json!("other")),
    ] {
        let mut wrong = stop.clone();
        *wrong.pointer_mut(place).expect("a place") = value;
        assert!(check(Direction::ToClient, &wrong).is_err(), "{wrong}");
    }
    let launch = json!({"seq": 1, "type": "request", "command": "launch", "arguments": {"workflow": "x", "noDebug": true}});
    assert_eq!(check(Direction::ToAdapter, &launch), Ok(()));
    let wrong = json!({"seq": 1, "type": "request", "command": "next", "arguments": {}});
    assert!(check(Direction::ToAdapter, &wrong).is_err());
}

/// The page has each field of the events that are ours.
#[test]
fn the_page_has_the_fields_of_our_events() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/docs/dap.md"));
    let page = page.expect("a page");
    for (event, schema) in [
        ("backstitchStep", step_schema()),
        ("backstitchJob", job_schema()),
    ] {
        let after = page.split(&format!("`{event}` tells")).nth(1).expect(event);
        // the first ones of each event, up to the full stop
        let paragraph = after.split("\n\n").next().expect("a paragraph");
        let sentence = paragraph.split(". ").next().expect("a sentence");
        let shown = sentence.split('`').skip(1).step_by(2);
        let shown: std::collections::BTreeSet<&str> = shown.collect();
        let fields = schema["required"].as_array().expect("names").iter();
        let fields = fields.map(|name| name.as_str().expect("a name")).collect();
        assert_eq!(shown, fields, "{event}");
    }
}
