//! Contents of messages: a text, or blocks.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Content of a message, not yet in the form of a text.
#[derive(Debug)]
pub enum MessageContent<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<MessageBlock<'a>>),
}

#[derive(Debug, Deserialize)]
pub struct MessageBlock<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(default, borrow)]
    pub text: Cow<'a, str>,
    #[serde(default, borrow)]
    pub id: Cow<'a, str>,
    #[serde(default, borrow)]
    pub name: Cow<'a, str>,
    #[serde(default, borrow)]
    pub tool_use_id: Cow<'a, str>,
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl<'a> MessageContent<'a> {
    pub fn read(message: &'a RawValue) -> Option<Self> {
        let message: RawMessage<'a> = serde_json::from_str(message.get()).ok()?;
        Self::of(message.content?)
    }

    pub fn of(content: &'a RawValue) -> Option<Self> {
        let json = content.get();
        match json.as_bytes().first()? {
            b'"' => {
                let text = serde_json::from_str::<JsonText<'a>>(json).ok()?;
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

    pub fn blocks(&self) -> &[MessageBlock<'a>] {
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
struct JsonText<'a>(#[serde(borrow)] Cow<'a, str>);
