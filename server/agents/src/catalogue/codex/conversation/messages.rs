//! Items of the model's conversation as plain messages.

use serde_json::Value;

use super::record::{Item, RolloutTurn};
use crate::conversations::{Excerpts, MessageAuthor, PlainCall, PlainMessage};
use crate::patch_headers;

/// Fields of an item that belong to the thread in which it was made.
const OWN_FIELDS: &str = "internal_";

/// Returns the messages of turns, in order.
pub fn plain(turns: &[RolloutTurn<'_>]) -> Vec<PlainMessage> {
    let mut messages = Vec::new();
    for turn in turns {
        messages.extend(
            turn.prompt
                .clone()
                .map(|text| message(MessageAuthor::User, text)),
        );
        messages.extend(turn.items.iter().filter_map(item));
    }
    messages
}

fn message(role: MessageAuthor, text: String) -> PlainMessage {
    PlainMessage {
        role,
        text,
        calls: Vec::new(),
        results: Vec::new(),
    }
}

fn item(item: &Item<'_>) -> Option<PlainMessage> {
    let item: Value = serde_json::from_str(item.0.get()).ok()?;
    let empty = || message(MessageAuthor::Assistant, String::new());
    match item["type"].as_str()? {
        // the user's messages are those of the turns; others are the agent's own
        "message" if item["role"] == "assistant" => {
            let parts = item["content"].as_array()?.iter();
            let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
            Some(message(MessageAuthor::Assistant, texts.join("\n")))
        }
        "function_call" | "custom_tool_call" => {
            let call = PlainCall {
                name: item["name"].as_str()?.to_owned(),
                target: target(&item),
            };
            Some(PlainMessage {
                calls: vec![call],
                ..empty()
            })
        }
        "function_call_output" | "custom_tool_call_output" => {
            let output = &item["output"];
            let text = output
                .as_str()
                .map_or_else(|| output.to_string(), str::to_owned);
            Some(PlainMessage {
                results: vec![Excerpts::result(&text)],
                ..message(MessageAuthor::User, String::new())
            })
        }
        _ => None,
    }
}

/// Returns the file of a patch, or the first line of a command.
fn target(call: &Value) -> Option<String> {
    if let Some(patch) = call["input"].as_str() {
        let path = patch_headers::paths(patch).into_iter().next();
        let path = path.map(|path| path.display().to_string());
        return path.or_else(|| patch.lines().next().map(str::to_owned));
    }
    let input: Value = serde_json::from_str(call["arguments"].as_str()?).ok()?;
    let command = ["cmd", "command", "path"]
        .iter()
        .find_map(|key| input[key].as_str());
    command.and_then(|command| command.lines().next().map(str::to_owned))
}

/// Returns an item for another thread.
pub fn injected(item: &Item<'_>) -> Option<Value> {
    let mut item: Value = serde_json::from_str(item.0.get()).ok()?;
    let fields = item.as_object_mut()?;
    fields.retain(|name, _| !name.starts_with(OWN_FIELDS));
    Some(item)
}
