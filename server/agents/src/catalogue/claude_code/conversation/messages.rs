//! Messages of rows: their texts, calls and results.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{MessageBlock, MessageContent};
use crate::conversations::{Excerpts, MessageAuthor, PlainCall, PlainMessage};
use crate::row_chain::{LinkedRow, RowKind};

#[derive(Default, Deserialize)]
struct MessageHead<'a> {
    #[serde(default, borrow)]
    id: Option<&'a str>,
    usage: Option<Usage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(rename = "input_tokens")]
    fresh: u64,
    #[serde(rename = "cache_creation_input_tokens")]
    cached_now: u64,
    #[serde(rename = "cache_read_input_tokens")]
    cached_before: u64,
    #[serde(rename = "output_tokens")]
    output: u64,
}

/// Returns the id of the model's message that a row is a part of.
pub fn message_id<'a>(row: &LinkedRow<'a>) -> Option<&'a str> {
    let head: MessageHead<'a> = serde_json::from_str(row.message?.get()).ok()?;
    head.id
}

/// Returns the tokens that the agent counted for the conversation up to this message.
pub fn tokens(row: &LinkedRow<'_>) -> Option<u64> {
    let head: MessageHead<'_> = serde_json::from_str(row.message?.get()).ok()?;
    let usage = head.usage?;
    let parts = [
        usage.fresh,
        usage.cached_now,
        usage.cached_before,
        usage.output,
    ];
    let total = parts.into_iter().fold(0, u64::saturating_add);
    (total > 0).then_some(total)
}

/// Returns the text of a row.
pub fn text(row: &LinkedRow<'_>) -> String {
    let content = row.message.and_then(MessageContent::read);
    content.map_or_else(String::new, |content| content.text().into_owned())
}

/// Returns the kind of an attachment.
pub fn attachment_kind(attachment: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct MessageHead<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    let head: MessageHead<'_> = serde_json::from_str(attachment.get()).ok()?;
    Some(head.kind)
}

/// Returns a row as a plain message. None: it has nothing to read.
pub fn plain(row: &LinkedRow<'_>) -> Option<PlainMessage> {
    let role = match row.kind {
        RowKind::User if row.is_summary => MessageAuthor::Summary,
        RowKind::User => MessageAuthor::User,
        RowKind::Assistant => MessageAuthor::Assistant,
        RowKind::Attachment | RowKind::System | RowKind::Other => return None,
    };
    let content = MessageContent::read(row.message?)?;
    let blocks = content.blocks().iter();
    let calls = blocks.clone().filter(|block| block.kind == "tool_use");
    let results = blocks.filter(|block| block.kind == "tool_result");
    let message = PlainMessage {
        role,
        text: content.text().into_owned(),
        calls: calls.map(call).collect(),
        results: results.map(result).collect(),
    };
    let is_empty =
        message.text.is_empty() && message.calls.is_empty() && message.results.is_empty();
    (!is_empty).then_some(message)
}

fn call(block: &MessageBlock<'_>) -> PlainCall {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct CallFields {
        file_path: Option<String>,
        notebook_path: Option<String>,
        path: Option<String>,
        command: Option<String>,
    }
    let input = block.input.map(RawValue::get).unwrap_or_default();
    let input: CallFields = serde_json::from_str(input).unwrap_or_default();
    let path = input.file_path.or(input.notebook_path).or(input.path);
    let command = input
        .command
        .and_then(|command| command.lines().next().map(str::to_owned));
    PlainCall {
        name: block.name.to_string(),
        target: path.or(command),
    }
}

fn result(block: &MessageBlock<'_>) -> String {
    let content = block.content.and_then(MessageContent::of);
    content.map_or_else(String::new, |content| Excerpts::result(&content.text()))
}
