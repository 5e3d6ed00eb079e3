//! Documents for a model, which reads every byte: without empty fields, and with short names. Pure.

use serde_json::{Map, Value, json};

/// Maximum length of a message in bytes.
const MAX_MESSAGE: usize = 2000;
/// A prompt in a list is cut to this length in bytes.
const MAX_PROMPT: usize = 120;

/// Fields of a checkpoint that a list leaves out: `show` has them.
const LEFT_OUT_OF_LISTS: [&str; 5] = ["parent", "iteration", "git", "command", "branch"];

/// Removes from a document what says nothing: null, false, and empty texts, lists and objects below its own fields. The
/// session's letter takes the place of its id, and the paths that were not captured that of the coverage.
pub fn trim(document: &mut Value) {
    let Value::Object(fields) = document else {
        return;
    };
    if is_checkpoint(fields) {
        shorten(fields);
    }
    for value in fields.values_mut() {
        trim_below(value);
    }
    fields.retain(|_, value| !value.is_null());
}

/// Makes a checkpoint of a list as short as its row.
pub fn shorten_row(row: &mut Value) {
    let Value::Object(fields) = row else {
        return;
    };
    fields.retain(|name, _| !LEFT_OUT_OF_LISTS.contains(&name.as_str()));
    if fields.get("kind").and_then(Value::as_str) == Some("step") {
        fields.shift_remove("prompt");
    }
    if let Some(Value::String(prompt)) = fields.get_mut("prompt")
        && prompt.len() > MAX_PROMPT
    {
        prompt.truncate(prompt.floor_char_boundary(MAX_PROMPT));
        prompt.push('…');
    }
    for change in list(fields, "changes") {
        if let Value::Object(change) = change {
            change.shift_remove("origin");
            if change.get("kind").and_then(Value::as_str) == Some("modify") {
                change.shift_remove("kind");
            }
        }
    }
    if let Some(Value::Object(operation)) = fields.get_mut("operation") {
        operation.retain(|name, _| ["id", "title", "undone_by"].contains(&name.as_str()));
    }
}

/// Makes a run of lines of one author as short as a row: the beginning of a session's id names it.
pub fn shorten_author(run: &mut Value) {
    const ID: usize = 8;
    let Value::Object(fields) = run else {
        return;
    };
    for certain in ["session_certainty", "step_certainty"] {
        if fields.get(certain).and_then(Value::as_str) == Some("certain") {
            fields.shift_remove(certain);
        }
    }
    if fields.get("recorded") == Some(&json!(true)) {
        fields.shift_remove("recorded");
    }
    fields.shift_remove("iteration");
    for (name, limit) in [("session", ID), ("prompt", MAX_PROMPT)] {
        if let Some(Value::String(text)) = fields.get_mut(name) {
            text.truncate(text.floor_char_boundary(limit.min(text.len())));
        }
    }
}

/// Adds the sentence that says what was done and what to do next, as the first field.
pub fn set_message(document: &mut Value, message: &str) {
    let message = message.trim_end();
    let cut = message.floor_char_boundary(MAX_MESSAGE.min(message.len()));
    if let Value::Object(fields) = document {
        fields.shift_insert(0, "message".to_owned(), json!(message[..cut]));
    }
}

fn list<'a>(fields: &'a mut Map<String, Value>, name: &str) -> impl Iterator<Item = &'a mut Value> {
    let items = fields.get_mut(name).and_then(Value::as_array_mut);
    items.into_iter().flatten()
}

fn is_checkpoint(fields: &Map<String, Value>) -> bool {
    fields.contains_key("coverage")
        || fields.contains_key("session") && fields.contains_key("letter")
}

fn trim_below(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(trim_below),
        Value::Object(fields) => {
            if is_checkpoint(fields) {
                shorten(fields);
            }
            for field in fields.values_mut() {
                trim_below(field);
            }
            // an empty line is a text, too
            fields.retain(|name, value| name == "text" || !is_empty(value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// Gives a checkpoint, or a session, its short names.
fn shorten(fields: &mut Map<String, Value>) {
    if let Some(letter @ Value::String(_)) = fields.shift_remove("letter") {
        fields.insert("session".to_owned(), letter);
    }
    if let Some(Value::String(time)) = fields.get_mut("time")
        && let Some(dot) = time.find('.')
        && let Some(zone) = time[dot..].find(['Z', '+', '-'])
    {
        time.replace_range(dot..dot + zone, "");
    }
    if let Some(coverage) = fields.shift_remove("coverage") {
        let item = |item: &Value| {
            let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
            let (reason, detail) = (text("reason").replace('_', " "), text("detail"));
            let why = if detail.is_empty() {
                reason
            } else {
                format!("{reason}: {detail}")
            };
            match item["path"].as_str() {
                Some(path) => json!(format!("{path} ({why})")),
                None => json!({ "path": item["path"], "why": why }),
            }
        };
        let items = coverage["items"].as_array().into_iter().flatten();
        let items: Vec<Value> = items.map(item).collect();
        if !items.is_empty() {
            fields.insert("not_captured".to_owned(), json!(items));
        }
        if coverage["pending"] == json!(true) {
            fields.insert("scan_is_pending".to_owned(), json!(true));
        }
    }
    for change in list(fields, "changes") {
        let Value::Object(change) = change else {
            continue;
        };
        // the checkpoint has the author; only doubts are news
        let is_certain = change.get("origin").is_some_and(|origin| {
            origin["session_certainty"] == "certain" && origin["step_certainty"] == "certain"
        });
        if is_certain {
            change.shift_remove("origin");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_nothing_twice_and_nothing_empty() {
        let mut document = json!({
            "checkpoints": [],
            "head": null,
            "one": {
                "session": "0b9ff6a6-4b0c-4b0c-8b0c-0b9ff6a64b0c", "letter": "A", "time": "2026-11-26T10:00:00.123456Z",
                "agent": "codex", "tags": [], "label": null, "pinned": false, "exit": 0,
                "coverage": { "captured": 1, "pending": false, "items": [{ "path": ".env", "reason": "ignored", "detail": "removed" }] },
                "changes": [
                    { "path": "a", "added": 1, "origin": { "session_certainty": "certain", "step_certainty": "certain" } },
                    { "path": "b", "added": 0, "origin": { "session_certainty": "uncertain", "step_certainty": "uncertain" } },
                ],
            },
        });
        trim(&mut document);
        set_message(&mut document, "done\n");
        assert_eq!(
            document,
            json!({
                "message": "done",
                "checkpoints": [],
                "one": {
                    "session": "A", "time": "2026-11-26T10:00:00Z", "agent": "codex", "exit": 0,
                    "not_captured": [".env (ignored: removed)"],
                    "changes": [
                        { "path": "a", "added": 1 },
                        { "path": "b", "added": 0, "origin": { "session_certainty": "uncertain", "step_certainty": "uncertain" } },
                    ],
                },
            })
        );
    }
}
