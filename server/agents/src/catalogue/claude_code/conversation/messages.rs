//! Messages of rows: their texts, calls and results.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::rows::{Kind, Row};
use crate::conversations::{Excerpts, Message, Role, ToolCall};

/// Content of a message, not yet in the form of a text.
#[derive(Debug)]
pub enum Content<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

#[derive(Debug, Deserialize)]
pub struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Cow<'a, str>,
    #[serde(default, borrow)]
    id: Cow<'a, str>,
    #[serde(default, borrow)]
    name: Cow<'a, str>,
    #[serde(default, borrow)]
    tool_use_id: Cow<'a, str>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct Head<'a> {
    #[serde(default, borrow)]
    id: Option<&'a str>,
    usage: Option<Usage>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
}

impl<'a> Content<'a> {
    pub fn read(message: &'a RawValue) -> Option<Self> {
        let message: RawMessage<'a> = serde_json::from_str(message.get()).ok()?;
        Self::of(message.content?)
    }

    fn of(content: &'a RawValue) -> Option<Self> {
        let json = content.get();
        match json.as_bytes().first()? {
            b'"' => {
                let text = serde_json::from_str::<Text<'a>>(json).ok()?;
                Some(Self::Text(text.0))
            }
            b'[' => Some(Self::Blocks(serde_json::from_str(json).ok()?)),
            _ => None,
        }
    }

    /// Returns the texts, one after the other. Borrowed if there is one without escapes.
    pub fn text(&self) -> Cow<'_, str> {
        let blocks = match self {
            Self::Text(text) => return Cow::Borrowed(text),
            Self::Blocks(blocks) => blocks,
        };
        let mut texts = blocks.iter().filter(|block| block.kind == "text");
        let first = texts.next().map_or("", |block| &*block.text);
        texts.fold(Cow::Borrowed(first), |whole, block| {
            Cow::Owned(format!("{whole}\n{}", block.text))
        })
    }

    fn blocks(&self) -> &[Block<'a>] {
        match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }

    pub fn has_results(&self) -> bool {
        self.results().next().is_some()
    }

    /// Ids of the calls whose results it has.
    pub fn results(&self) -> impl Iterator<Item = &str> {
        let results = self.blocks().iter();
        let results = results.filter(|block| block.kind == "tool_result");
        results.map(|block| &*block.tool_use_id)
    }

    /// Ids of its calls.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        let calls = self.blocks().iter();
        let calls = calls.filter(|block| block.kind == "tool_use");
        calls.map(|block| &*block.id)
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns the id of the model's message that a row is a part of.
pub fn message_id<'a>(row: &Row<'a>) -> Option<&'a str> {
    let head: Head<'a> = serde_json::from_str(row.message?.get()).ok()?;
    head.id
}

/// Returns the tokens that the agent counted for the conversation up to this message.
pub fn tokens(row: &Row<'_>) -> Option<u64> {
    let head: Head<'_> = serde_json::from_str(row.message?.get()).ok()?;
    let usage = head.usage?;
    let parts = [
        usage.input_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
        usage.output_tokens,
    ];
    let total = parts.into_iter().fold(0, u64::saturating_add);
    (total > 0).then_some(total)
}

/// Returns the text of a row.
pub fn text(row: &Row<'_>) -> String {
    let content = row.message.and_then(Content::read);
    content.map_or_else(String::new, |content| content.text().into_owned())
}

/// Returns the kind of an attachment.
pub fn attachment_kind(attachment: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    let head: Head<'_> = serde_json::from_str(attachment.get()).ok()?;
    Some(head.kind)
}

/// Returns a row as a plain message. None: it has nothing to read.
pub fn plain(row: &Row<'_>) -> Option<Message> {
    let role = match row.kind {
        Kind::User if row.is_summary => Role::Summary,
        Kind::User => Role::User,
        Kind::Assistant => Role::Assistant,
        Kind::Attachment | Kind::System | Kind::Other => return None,
    };
    let content = Content::read(row.message?)?;
    let blocks = content.blocks().iter();
    let calls = blocks.clone().filter(|block| block.kind == "tool_use");
    let results = blocks.filter(|block| block.kind == "tool_result");
    let message = Message {
        role,
        text: content.text().into_owned(),
        calls: calls.map(call).collect(),
        results: results.map(result).collect(),
    };
    let is_empty =
        message.text.is_empty() && message.calls.is_empty() && message.results.is_empty();
    (!is_empty).then_some(message)
}

fn call(block: &Block<'_>) -> ToolCall {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Input {
        file_path: Option<String>,
        notebook_path: Option<String>,
        path: Option<String>,
        command: Option<String>,
    }
    let input = block.input.map(RawValue::get).unwrap_or_default();
    let input: Input = serde_json::from_str(input).unwrap_or_default();
    let path = input.file_path.or(input.notebook_path).or(input.path);
    let command = input
        .command
        .and_then(|command| command.lines().next().map(str::to_owned));
    ToolCall {
        name: block.name.to_string(),
        target: path.or(command),
    }
}

fn result(block: &Block<'_>) -> String {
    let content = block.content.and_then(Content::of);
    content.map_or_else(String::new, |content| Excerpts::result(&content.text()))
}
