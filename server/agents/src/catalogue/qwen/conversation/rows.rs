//! Rows of Qwen Code. All rows of the chain stay: some hold what the agent itself continues from, and none is large.

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::conversations::{MessageAuthor, PlainMessage};
use crate::gemini_family::{self as family, GeminiPart};
use crate::row_chain::{LinkedRow, NamedParent, Parent, RowIds, RowKind, RowLinks, link};

/// The kind of system row by which the agent sums up what was said before. It is shown the model in place of that.
const COMPACTION: &str = "chat_compression";

/// Source of a row that a person sent.
const PERSON: &str = "real_user";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QwenRow<'a> {
    uuid: Option<&'a str>,
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    subtype: Option<&'a str>,
    #[serde(default, borrow)]
    parent_uuid: NamedParent<'a>,
    provenance: Option<&'a str>,
    /// The agent does not know this field. It marks the summary of a conversation that was cut.
    #[serde(default)]
    is_compact_summary: bool,
    timestamp: Option<&'a str>,
    version: Option<&'a str>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    system_payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RowMessage<'a> {
    #[serde(default, borrow)]
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenCounts {
    total_token_count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactionPayload<'a> {
    #[serde(default, borrow)]
    compressed_history: Vec<RowMessage<'a>>,
}

/// Reads the rows with a place in the chain.
pub fn read(record: &[u8]) -> Vec<LinkedRow<'_>> {
    let (rows, _) = link(record, |range, line| {
        let mut raw = serde_json::from_str::<QwenRow<'_>>(line).ok()?;
        let id = raw.uuid?;
        let links = RowLinks {
            parent: std::mem::take(&mut raw.parent_uuid),
            logical_parent: None,
        };
        Some((row(range, id, &raw), links))
    });
    rows
}

fn row<'a>(range: Range<usize>, id: &'a str, raw: &QwenRow<'a>) -> LinkedRow<'a> {
    let kind = match raw.kind {
        Some("user" | "tool_result") => RowKind::User,
        Some("assistant") => RowKind::Assistant,
        Some(_) => RowKind::System,
        None => RowKind::Other,
    };
    let is_person = raw.provenance.is_none_or(|source| source == PERSON);
    let replaces_earlier = raw.kind == Some("system") && raw.subtype == Some(COMPACTION);
    let is_prompt = raw.kind == Some("user")
        && is_person
        && !raw.is_compact_summary
        && raw
            .message
            .and_then(parts)
            .is_some_and(|parts| !parts.iter().any(|part| part.function_response.is_some()));
    LinkedRow {
        range,
        kind,
        id,
        parent: Parent::Missing,
        earlier: None,
        preserved: None,
        is_prompt,
        is_summary: raw.is_compact_summary,
        replaces_earlier,
        prompt_id: None,
        timestamp: raw.timestamp,
        version: raw.version,
        message: raw.message,
        extra: raw.usage_metadata,
        compaction: raw.system_payload.filter(|_| replaces_earlier),
        is_contradicted: false,
    }
}

fn parts(message: &RawValue) -> Option<Vec<GeminiPart<'_>>> {
    let message: RowMessage<'_> = serde_json::from_str(message.get()).ok()?;
    Some(message.parts)
}

pub fn text(row: &LinkedRow<'_>) -> String {
    let parts = row.message.and_then(parts);
    parts.map_or_else(String::new, |parts| family::text(&parts))
}

/// Returns the tokens that the agent counted for the conversation up to this message.
pub fn tokens(row: &LinkedRow<'_>) -> Option<u64> {
    let usage: TokenCounts = serde_json::from_str(row.extra?.get()).ok()?;
    usage.total_token_count.filter(|count| *count > 0)
}

/// Returns the ids of calls and results. Parts of one message are in one row.
pub fn ids(row: &LinkedRow<'_>) -> RowIds {
    let parts = row.message.and_then(parts).unwrap_or_default();
    let calls = parts.iter().filter_map(|part| part.function_call.as_ref());
    let results = parts
        .iter()
        .filter_map(|part| part.function_response.as_ref());
    RowIds {
        message: None,
        calls: calls.map(|call| call.id.clone()).collect(),
        results: results.map(|result| result.id.clone()).collect(),
    }
}

/// Returns a row as a plain message. None: it has nothing to read.
pub fn plain(row: &LinkedRow<'_>) -> Option<PlainMessage> {
    if let Some(compaction) = row.compaction {
        let compaction: CompactionPayload<'_> = serde_json::from_str(compaction.get()).ok()?;
        let texts = compaction.compressed_history.iter();
        let texts: Vec<String> = texts.map(|message| family::text(&message.parts)).collect();
        return Some(PlainMessage {
            role: MessageAuthor::Summary,
            text: texts.join("\n"),
            calls: Vec::new(),
            results: Vec::new(),
        });
    }
    let role = match row.kind {
        RowKind::User if row.is_summary => MessageAuthor::Summary,
        RowKind::User => MessageAuthor::User,
        RowKind::Assistant => MessageAuthor::Assistant,
        RowKind::Attachment | RowKind::System | RowKind::Other => return None,
    };
    family::plain(role, &parts(row.message?)?)
}
