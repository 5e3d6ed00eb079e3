//! Rows of a record, in the order of the file: their places in the chain, and what else a cut needs. The text of a row stays in
//! the record. Only the needed fields are parsed, since a record has 50 MB and more.

use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Beginnings of user rows that no person sent: the agent wrote them. Only needed where the row does not say its source.
const NOT_PROMPTS: [&str; 6] = [
    "[Request interrupted",
    "<local-command-",
    "<command-name>",
    "<command-message>",
    "<bash-",
    "Caveat: The messages below",
];

/// The kinds of row that the model's request is made of. All others are left out of a new conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    User,
    Assistant,
    Attachment,
    System,
    /// A row with a place in the chain, but not kept.
    Other,
}

/// A row with a place in the chain.
#[derive(Debug)]
pub struct LinkedRow<'a> {
    /// The line in the record, without its end.
    pub range: Range<usize>,
    pub kind: RowKind,
    pub id: &'a str,
    /// Number of the row that is named as parent.
    pub parent: Parent,
    /// Number of the row before it in the history, where the chain begins anew: the end of what a compaction kept or replaced.
    pub earlier: Option<usize>,
    /// Numbers of the rows that a compaction kept, behind that of the row after which the agent puts them.
    pub preserved: Option<(usize, Vec<usize>)>,
    pub is_prompt: bool,
    pub is_summary: bool,
    pub prompt_id: Option<&'a str>,
    pub timestamp: Option<&'a str>,
    pub version: Option<&'a str>,
    pub message: Option<&'a RawValue>,
    pub attachment: Option<&'a RawValue>,
    /// Another row with the same id has another text.
    pub is_contradicted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    None,
    Row(usize),
    /// The record has no such row, or the row names none.
    Missing,
}

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

/// The parent that a row names. A row that names none is not the same as one that says that it has none.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum NamedParent<'a> {
    Id(&'a str),
    Null(()),
    #[default]
    #[serde(skip)]
    Unnamed,
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

/// Returns the lines of a record, as ranges without their ends. A last line without its end is being written: it is left out.
pub fn lines(record: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = record[at..].iter().position(|byte| *byte == b'\n')?;
        let line = at..at + length;
        at += length + 1;
        Some(line)
    })
}

/// Reads the rows with a place in the main chain. Other lines, and lines that are damaged, are left out: a row whose parent was on
/// one of these has [`Parent::Missing`].
pub fn read(record: &[u8]) -> Vec<LinkedRow<'_>> {
    let mut rows = Vec::new();
    let mut links = Vec::new();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for range in lines(record) {
        let Ok(line) = std::str::from_utf8(&record[range.clone()]) else {
            continue;
        };
        // most rows without a place in the chain are long: do not parse them
        if !line.contains("\"uuid\"") {
            continue;
        }
        let Ok(mut raw) = serde_json::from_str::<RawRow<'_>>(line) else {
            continue;
        };
        let Some(id) = raw.uuid.filter(|_| !raw.is_sidechain) else {
            continue;
        };
        if let Some(number) = numbers.get(id) {
            let first: &mut LinkedRow<'_> = &mut rows[*number];
            first.is_contradicted |= record[first.range.clone()] != record[range];
            continue;
        }
        numbers.insert(id, rows.len());
        links.push((
            std::mem::take(&mut raw.parent_uuid),
            raw.logical_parent_uuid,
            raw.compact_metadata,
        ));
        rows.push(row(range, id, &raw));
    }
    for (row, (parent, logical, compaction)) in rows.iter_mut().zip(links) {
        row.parent = match parent {
            NamedParent::Null(()) => Parent::None,
            NamedParent::Id(id) => numbers
                .get(id)
                .map_or(Parent::Missing, |at| Parent::Row(*at)),
            NamedParent::Unnamed => Parent::Missing,
        };
        row.earlier = logical.and_then(|id| numbers.get(id).copied());
        match compaction.map(|raw| preserved(raw, &numbers)) {
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
        prompt_id: raw.prompt_id,
        timestamp: raw.timestamp,
        version: raw.version,
        message: raw.message,
        attachment: raw.attachment,
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
