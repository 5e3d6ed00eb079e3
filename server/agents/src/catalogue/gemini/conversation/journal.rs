//! The journal of Gemini CLI, folded. `{"$set": …}` changes fields or all messages. A message with a known id replaces that one.
//! `{"$rewindTo": id}` removes a message and all after it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::SPEC;
use crate::conversations::{Anchor, RecordedPrompt, Unreadable};
use crate::gemini_family::{self as family, GeminiPart};

/// Beginning of the id of a message with a summary. The agent keeps ids.
pub const SUMMARY_ID: &str = "backstitch-summary-";

/// Beginnings of user messages that are not prompts: the agent's context, its summary after a compaction, and its commands. It
/// does not send commands.
const NOT_PROMPTS: [&str; 4] = [
    "<session_context>",
    "<hook_context>",
    "<state_snapshot>",
    "/",
];

/// A message of the record.
#[derive(Debug)]
pub struct JournalMessage<'a> {
    pub id: String,
    pub json: &'a RawValue,
    pub is_prompt: bool,
    /// The line that has its newest form.
    pub line: Range<usize>,
}

/// The messages of a branch, by their numbers, in order.
#[derive(Clone, Debug, Default)]
pub struct JournalBranch {
    pub messages: Vec<usize>,
    /// Number of prompts that the agent itself has summed up before them.
    pub earlier: usize,
}

/// A record.
#[derive(Debug, Default)]
pub struct Journal<'a> {
    pub all: Vec<JournalMessage<'a>>,
    pub open: JournalBranch,
    /// Branches of which prompts were removed, the newest first.
    pub removed: Vec<JournalBranch>,
    pub project: Option<String>,
    pub kind: Option<String>,
}

/// A message, as far as its author and its contents matter.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadMessage<'a> {
    #[serde(rename = "type", default, borrow)]
    pub kind: Cow<'a, str>,
    #[serde(default, borrow)]
    pub timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub tool_calls: Vec<JournalCall<'a>>,
    pub tokens: Option<JournalTokens>,
}

/// A call, with its result.
#[derive(Debug, Deserialize)]
pub struct JournalCall<'a> {
    #[serde(default, borrow)]
    pub name: Cow<'a, str>,
    #[serde(default)]
    pub args: serde_json::Value,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub struct JournalTokens {
    pub total: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordLine<'a> {
    #[serde(rename = "$set", borrow)]
    set: Option<JournalHead<'a>>,
    #[serde(rename = "$rewindTo")]
    rewind_to: Option<String>,
    id: Option<String>,
    project_hash: Option<String>,
    kind: Option<String>,
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct JournalHead<'a> {
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct JournalId {
    id: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JournalContent<'a> {
    Text(Cow<'a, str>),
    Parts(#[serde(borrow)] Vec<GeminiPart<'a>>),
}

/// Returns the parts of a content: a text, or a list.
pub fn parts(content: &RawValue) -> Vec<GeminiPart<'_>> {
    match serde_json::from_str::<JournalContent<'_>>(content.get()) {
        Ok(JournalContent::Parts(parts)) => parts,
        Ok(JournalContent::Text(text)) => vec![GeminiPart {
            text: Some(text),
            ..GeminiPart::default()
        }],
        Err(_) => Vec::new(),
    }
}

impl JournalMessage<'_> {
    /// Returns the message. None: it has another form.
    pub fn read(&self) -> Option<ReadMessage<'_>> {
        serde_json::from_str(self.json.get()).ok()
    }

    pub fn text(&self) -> String {
        let message = self.read();
        let content = message.and_then(|message| message.content);
        content.map_or_else(String::new, |content| family::text(&parts(content)))
    }
}

/// Reads a record. A last line without its end, and lines that are damaged, are left out.
pub fn read(record: &[u8]) -> Result<Journal<'_>, Unreadable> {
    let mut fold = Fold::default();
    let mut at = 0;
    while let Some(length) = record[at..].iter().position(|byte| *byte == b'\n') {
        let line = at..at + length;
        at = line.end + 1;
        fold.add(&record[line.clone()], line);
    }
    let journal = fold.end();
    let is_known =
        |message: &JournalMessage<'_>| message.is_prompt || message.id.starts_with(SUMMARY_ID);
    if !journal.all.iter().any(is_known) {
        return Err(Unreadable::NoPrompts { agent: SPEC.title });
    }
    Ok(journal)
}

/// A journal while it is read.
#[derive(Default)]
struct Fold<'a> {
    journal: Journal<'a>,
    numbers: HashMap<String, usize>,
    /// The branch before the agent began its list anew, as it does at each start.
    before_start: JournalBranch,
}

impl<'a> Fold<'a> {
    fn add(&mut self, line: &'a [u8], range: Range<usize>) {
        let Ok(row) = serde_json::from_slice::<RecordLine<'a>>(line) else {
            return;
        };
        if let Some(id) = row.rewind_to {
            let known = self.numbers.get(&id);
            let open = &self.journal.open.messages;
            let from = open.iter().position(|number| Some(number) == known);
            let kept = open[..from.unwrap_or_default()].to_vec();
            self.replace(kept, self.journal.open.earlier);
        } else if row.id.is_some() {
            if let Ok(json) = serde_json::from_slice::<&RawValue>(line) {
                self.append(json, &range);
            }
        } else if let Some(set) = row.set {
            if let Some(messages) = set.messages {
                self.set(&messages, &range);
            }
        } else {
            let journal = &mut self.journal;
            journal.project = row.project_hash.or(journal.project.take());
            journal.kind = row.kind.or(journal.kind.take());
            for json in row.messages.into_iter().flatten() {
                self.append(json, &range);
            }
        }
    }

    /// Keeps a message. Returns its number.
    fn keep(&mut self, json: &'a RawValue, line: &Range<usize>) -> Option<usize> {
        let JournalId { id } = serde_json::from_str(json.get()).ok()?;
        let message = JournalMessage {
            is_prompt: !id.starts_with(SUMMARY_ID) && is_prompt(json),
            id,
            json,
            line: line.clone(),
        };
        let all = &mut self.journal.all;
        if let Some(number) = self.numbers.get(&message.id) {
            all[*number] = message;
            return Some(*number);
        }
        self.numbers.insert(message.id.clone(), all.len());
        all.push(message);
        Some(all.len() - 1)
    }

    fn append(&mut self, json: &'a RawValue, line: &Range<usize>) {
        let known = self.journal.all.len();
        let Some(number) = self.keep(json, line) else {
            return;
        };
        let open = &mut self.journal.open.messages;
        // the newest forms of a message come soon after it
        if number >= known || !open.iter().rev().any(|one| *one == number) {
            open.push(number);
        }
    }

    /// The agent sets all messages: it does so at its start, and when it compacts.
    fn set(&mut self, messages: &[&'a RawValue], line: &Range<usize>) {
        let mut seen = HashSet::new();
        let mut new: Vec<usize> = Vec::with_capacity(messages.len());
        for json in messages {
            new.extend(self.keep(json, line).filter(|number| seen.insert(*number)));
        }
        let has_prompts = |journal: &Journal<'_>, all: &[usize]| {
            all.iter().any(|number| journal.all[*number].is_prompt)
        };
        let old = if has_prompts(&self.journal, &self.journal.open.messages) {
            self.journal.open.clone()
        } else {
            std::mem::take(&mut self.before_start)
        };
        let is_start = new.len() <= 1 && !has_prompts(&self.journal, &new);
        // prompts before the first one that stays are in a summary
        let gone = old
            .messages
            .iter()
            .take_while(|number| !(seen.contains(number) && self.journal.all[**number].is_prompt));
        let gone = gone
            .filter(|number| self.journal.all[**number].is_prompt)
            .count();
        let earlier = if is_start { 0 } else { old.earlier + gone };
        self.replace(new, earlier);
        self.before_start = if is_start {
            old
        } else {
            JournalBranch::default()
        };
    }

    fn replace(&mut self, messages: Vec<usize>, earlier: usize) {
        let new = JournalBranch { messages, earlier };
        let old = std::mem::replace(&mut self.journal.open, new);
        let removed = &mut self.journal.removed;
        // the list at a start has all of the one before
        if removed
            .last()
            .is_some_and(|last| old.messages.starts_with(&last.messages))
        {
            removed.pop();
        }
        removed.push(old);
    }

    fn end(mut self) -> Journal<'a> {
        let journal = &mut self.journal;
        journal.removed.reverse();
        let mut known: HashSet<usize> = journal.open.messages.iter().copied().collect();
        let all = &journal.all;
        journal.removed.retain(|branch| {
            let new = branch
                .messages
                .iter()
                .filter(|number| known.insert(**number));
            new.filter(|number| all[**number].is_prompt).count() > 0
        });
        self.journal
    }
}

impl Journal<'_> {
    fn branches(&self) -> impl Iterator<Item = &JournalBranch> {
        std::iter::once(&self.open).chain(&self.removed)
    }

    /// Returns the prompts of all branches, each once.
    pub fn prompts(&self) -> Vec<RecordedPrompt> {
        let mut known = HashSet::new();
        let mut prompts = Vec::new();
        for (number, branch) in self.branches().enumerate() {
            let all = branch.messages.iter().map(|message| &self.all[*message]);
            for (place, message) in all.filter(|message| message.is_prompt).enumerate() {
                if !known.insert(&message.id) {
                    continue;
                }
                let read = message.read();
                let time = read.and_then(|read| read.timestamp?.parse::<jiff::Timestamp>().ok());
                prompts.push(RecordedPrompt {
                    anchor: Anchor {
                        row: message.id.clone(),
                        native: None,
                    },
                    text: message.text(),
                    time: time.map(jiff::Timestamp::as_microsecond),
                    branch: number,
                    before: branch.earlier + place,
                });
            }
        }
        prompts
    }

    /// Returns the branch of a prompt, and its place there.
    pub fn find(&self, anchor: &Anchor) -> Option<(&JournalBranch, usize)> {
        self.branches().find_map(|branch| {
            let mut messages = branch.messages.iter().map(|number| &self.all[*number]);
            let place =
                messages.position(|message| message.is_prompt && message.id == anchor.row)?;
            Some((branch, place))
        })
    }
}

/// True if a message is one that a person sent.
fn is_prompt(json: &RawValue) -> bool {
    let Ok(message) = serde_json::from_str::<ReadMessage<'_>>(json.get()) else {
        return false;
    };
    let parts = message.content.map(parts).unwrap_or_default();
    let text = family::text(&parts);
    let text = text.trim_start();
    message.kind == "user"
        && !text.is_empty()
        && !parts.iter().any(|part| part.function_response.is_some())
        && !NOT_PROMPTS.iter().any(|start| text.starts_with(start))
}
