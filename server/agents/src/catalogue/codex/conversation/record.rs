//! A record of Codex: rows in the order in which they happened, each turn between its beginning and the next. A forked thread's
//! record begins where its turns begin, and names the record that it continues.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A turn of a record.
#[derive(Debug)]
pub struct RolloutTurn<'a> {
    pub id: &'a str,
    /// Its rows in the record, from its beginning to that of the next turn.
    pub range: Range<usize>,
    /// The prompt. None: the agent began it itself, as for a compaction.
    pub prompt: Option<String>,
    pub timestamp: Option<&'a str>,
    pub items: Vec<Item<'a>>,
    /// The agent compacted the conversation in it.
    pub is_compaction: bool,
    pub tokens: Option<u64>,
}

/// A row of the model's conversation.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a>(pub &'a RawValue);

/// The turns of a record, and the facts about its thread.
#[derive(Debug, Default)]
pub struct Record<'a> {
    pub turns: Vec<RolloutTurn<'a>>,
    pub version: Option<String>,
    pub model: Option<String>,
}

#[derive(Deserialize)]
struct RolloutRow<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    timestamp: Option<&'a str>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RolloutEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    turn_id: Option<&'a str>,
    #[serde(borrow)]
    item: Option<EventItem<'a>>,
    info: Option<TokenInfo>,
}

#[derive(Deserialize)]
struct EventItem<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TokenInfo {
    last_token_usage: Option<TokenUsage>,
}

#[derive(Deserialize)]
struct TokenUsage {
    total_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct ThreadMeta {
    cli_version: Option<String>,
    history_base: Option<HistoryBase>,
}

/// The record that a forked thread continues.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct HistoryBase {
    pub thread_id: String,
    pub end_byte_offset: usize,
}

#[derive(Deserialize)]
struct TurnContext {
    model: Option<String>,
}

/// Returns the record that this one continues.
pub fn base(record: &[u8]) -> Option<HistoryBase> {
    let end = record.iter().position(|byte| *byte == b'\n')?;
    let row: RolloutRow<'_> = serde_json::from_slice(&record[..end]).ok()?;
    let meta = (row.kind == "session_meta").then_some(row.payload?)?;
    let meta: ThreadMeta = serde_json::from_str(meta.get()).ok()?;
    meta.history_base
}

/// Reads a record. A last line without its end, and lines that are damaged, are left out.
pub fn read(record: &[u8]) -> Record<'_> {
    let mut whole = Record::default();
    let mut at = 0;
    while let Some(length) = record[at..].iter().position(|byte| *byte == b'\n') {
        let line = at..at + length;
        at = line.end + 1;
        let Ok(row) = serde_json::from_slice::<RolloutRow<'_>>(&record[line.clone()]) else {
            continue;
        };
        if let Some(payload) = row.payload {
            whole.add(&row, payload, line);
        }
        if let Some(turn) = whole.turns.last_mut() {
            turn.range.end = at;
        }
    }
    whole
}

impl<'a> Record<'a> {
    fn add(&mut self, row: &RolloutRow<'a>, payload: &'a RawValue, line: Range<usize>) {
        match &*row.kind {
            "session_meta" => {
                if let Ok(meta) = serde_json::from_str::<ThreadMeta>(payload.get()) {
                    self.version = meta.cli_version.or(self.version.take());
                }
            }
            "turn_context" => {
                if let Ok(context) = serde_json::from_str::<TurnContext>(payload.get()) {
                    self.model = context.model.or(self.model.take());
                }
            }
            "response_item" => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.items.push(Item(payload));
                }
            }
            "compacted" => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.is_compaction = true;
                }
            }
            "event_msg" => self.add_event(row, payload, line),
            _ => {}
        }
    }

    fn add_event(&mut self, row: &RolloutRow<'a>, payload: &'a RawValue, line: Range<usize>) {
        let Ok(event) = serde_json::from_str::<RolloutEvent<'a>>(payload.get()) else {
            return;
        };
        let turn = self.turns.last_mut();
        match (&*event.kind, turn) {
            ("task_started", turn) => {
                let Some(id) = event.turn_id else { return };
                // a turn that continues is announced again
                if turn.is_none_or(|turn| turn.id != id) {
                    self.turns.push(RolloutTurn {
                        id,
                        range: line,
                        prompt: None,
                        timestamp: row.timestamp,
                        items: Vec::new(),
                        is_compaction: false,
                        tokens: None,
                    });
                }
            }
            ("item_completed", Some(turn)) => {
                let Some(item) = event.item.filter(|item| item.kind == "UserMessage") else {
                    return;
                };
                // a text sent while the agent works is part of the running turn
                if turn.prompt.is_none() && event.turn_id.is_none_or(|id| id == turn.id) {
                    turn.prompt = Some(item.content.map(texts).unwrap_or_default());
                }
            }
            ("token_count", Some(turn)) => {
                let usage = event.info.and_then(|info| info.last_token_usage);
                turn.tokens = usage.and_then(|usage| usage.total_tokens).or(turn.tokens);
            }
            _ => {}
        }
    }

    /// Returns the number of a turn. None: it is not there, or twice.
    pub fn number(&self, id: &str) -> Option<usize> {
        let mut found = self
            .turns
            .iter()
            .enumerate()
            .filter(|(_, turn)| turn.id == id);
        let (number, _) = found.next()?;
        found.next().is_none().then_some(number)
    }

    /// Returns the id of a turn that the record has twice.
    pub fn doubled(&self, turns: &[RolloutTurn<'a>]) -> Option<&'a str> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for turn in &self.turns {
            *counts.entry(turn.id).or_default() += 1;
        }
        let mut ids = turns.iter().map(|turn| turn.id);
        ids.find(|id| counts.get(id).is_some_and(|count| *count > 1))
    }
}

/// Returns the texts of a message's parts, one after the other.
pub fn texts(content: &RawValue) -> String {
    let parts: Vec<Value> = serde_json::from_str(content.get()).unwrap_or_default();
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    texts.join("\n")
}
