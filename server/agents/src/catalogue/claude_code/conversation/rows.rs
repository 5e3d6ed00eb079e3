//! Rows of Claude Code. Only the needed fields are parsed.

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::row_chain::{LinkedRow, NamedParent, Parent, RowKind, RowLinks, link};

/// Beginnings of user rows that no person sent: the agent wrote them. Only needed where the row does not say its source.
const NOT_PROMPTS: [&str; 6] = [
    "[Request interrupted",
    "<local-command-",
    "<command-name>",
    "<command-message>",
    "<bash-",
    "Caveat: The messages below",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRow<'a> {
    uuid: Option<&'a str>,
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    #[serde(default, borrow)]
    parent_uuid: NamedParent<'a>,
    logical_parent_uuid: Option<&'a str>,
    #[serde(default)]
    is_sidechain: bool,
    is_meta: Option<bool>,
    is_compact_summary: Option<bool>,
    prompt_id: Option<&'a str>,
    prompt_source: Option<IgnoredAny>,
    interrupted_message_id: Option<IgnoredAny>,
    #[serde(rename = "sourceToolAssistantUUID")]
    source_tool: Option<IgnoredAny>,
    timestamp: Option<&'a str>,
    version: Option<&'a str>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    attachment: Option<&'a RawValue>,
    #[serde(borrow)]
    compact_metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactMetadata<'a> {
    #[serde(borrow)]
    preserved_messages: Option<Preserved<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Preserved<'a> {
    anchor_uuid: Option<&'a str>,
    #[serde(default, borrow)]
    uuids: Vec<&'a str>,
    #[serde(default, borrow)]
    all_uuids: Vec<&'a str>,
}

/// Reads the rows with a place in the main chain.
pub fn read(record: &[u8]) -> Vec<LinkedRow<'_>> {
    let (mut rows, numbers) = link(record, |range, line| {
        let mut raw = serde_json::from_str::<RawRow<'_>>(line).ok()?;
        let id = raw.uuid.filter(|_| !raw.is_sidechain)?;
        let links = RowLinks {
            parent: std::mem::take(&mut raw.parent_uuid),
            logical_parent: raw.logical_parent_uuid,
        };
        Some((row(range, id, &raw), links))
    });
    for row in &mut rows {
        match row.compaction.map(|raw| preserved(raw, &numbers)) {
            Some(Ok(Some(kept))) => {
                row.earlier = kept.1.last().copied().or(row.earlier);
                row.preserved = Some(kept);
            }
            // it kept a row that is not there
            Some(Err(())) => row.parent = Parent::Missing,
            Some(Ok(None)) | None => {}
        }
    }
    rows
}

fn row<'a>(range: Range<usize>, id: &'a str, raw: &RawRow<'a>) -> LinkedRow<'a> {
    let kind = match raw.kind {
        Some("user") => RowKind::User,
        Some("assistant") => RowKind::Assistant,
        Some("attachment") => RowKind::Attachment,
        Some("system") => RowKind::System,
        _ => RowKind::Other,
    };
    let is_summary = raw.is_compact_summary == Some(true);
    let is_own = raw.is_meta == Some(true)
        || is_summary
        || raw.source_tool.is_some()
        || raw.interrupted_message_id.is_some();
    let is_prompt = kind == RowKind::User
        && !is_own
        && raw
            .message
            .is_some_and(|message| is_prompt(message, raw.prompt_source.is_some()));
    LinkedRow {
        range,
        kind,
        id,
        parent: Parent::Missing,
        earlier: None,
        preserved: None,
        is_prompt,
        is_summary,
        replaces_earlier: false,
        prompt_id: raw.prompt_id,
        timestamp: raw.timestamp,
        version: raw.version,
        message: raw.message,
        extra: raw.attachment,
        compaction: raw.compact_metadata,
        is_contradicted: false,
    }
}

/// True if a message of a user is a prompt: it has no result of a tool, and the agent did not write it.
fn is_prompt(message: &RawValue, says_source: bool) -> bool {
    let Some(message) = super::content::MessageContent::read(message) else {
        return false;
    };
    let text = message.text();
    !message.has_results()
        && (says_source || !NOT_PROMPTS.iter().any(|start| text.starts_with(start)))
}

/// Returns the row behind which a compaction puts the rows that it kept, and these. An error: one of them is missing.
fn preserved(
    raw: &RawValue,
    numbers: &HashMap<&str, usize>,
) -> Result<Option<(usize, Vec<usize>)>, ()> {
    let metadata: CompactMetadata<'_> = serde_json::from_str(raw.get()).map_err(drop)?;
    let Some(kept) = metadata.preserved_messages else {
        return Ok(None);
    };
    let ids = if kept.all_uuids.is_empty() {
        kept.uuids
    } else {
        kept.all_uuids
    };
    if ids.is_empty() {
        return Ok(None);
    }
    let number = |id: &str| numbers.get(id).copied().ok_or(());
    let rows: Result<Vec<usize>, ()> = ids.into_iter().map(number).collect();
    Ok(Some((number(kept.anchor_uuid.ok_or(())?)?, rows?)))
}
