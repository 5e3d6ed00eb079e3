//! Answers of tools: a document and a short text, or a failure that names the thing, the reason and the next step.

use backstitch_core::ErrorKind;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::{hints, lean};
use crate::query::QueryError;
use crate::render;

/// Maximum length of the text beside a document, in bytes.
const MAX_TEXT: usize = 32 << 10;

#[derive(Clone, Debug)]
pub struct ToolAnswer {
    pub document: Value,
    pub text: String,
    /// The sentence that the document has as `message`: some clients show their model the document alone. None: the text.
    pub message: Option<String>,
}

impl ToolAnswer {
    /// An answer whose text says what was done, and what to do next.
    pub fn new(document: Value, text: impl Into<String>) -> Self {
        Self {
            document,
            text: text.into(),
            message: None,
        }
    }

    /// An answer whose document has everything that the text has.
    pub fn listing(document: Value, text: String, message: impl Into<String>) -> Self {
        Self {
            document,
            text,
            message: Some(message.into()),
        }
    }
}

#[derive(Clone, Debug)]
pub struct ToolError {
    /// As in the command line's `--json`.
    pub kind: &'static str,
    pub message: String,
    pub hint: Option<String>,
    /// Partial answer: a plan with its conflicts.
    pub document: Option<Box<Value>>,
}

pub type ToolResult = Result<ToolAnswer, ToolError>;

impl ToolError {
    fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            document: None,
        }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new("usage", message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new("not_found", message)
    }

    pub fn refused(message: impl Into<String>) -> Self {
        Self::new("refused", message)
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new("conflict", message)
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new("failed", message)
    }

    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    pub fn document(self, document: Value) -> Self {
        Self {
            document: Some(Box::new(document)),
            ..self
        }
    }

    /// The message and the next step.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}. Next: {hint}.", self.message),
            None => format!("{}.", self.message),
        }
    }
}

impl From<QueryError> for ToolError {
    fn from(error: QueryError) -> Self {
        let kind = match error.kind {
            ErrorKind::Refused => "refused",
            ErrorKind::Usage => "usage",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Store => "store",
            ErrorKind::Other => "failed",
        };
        Self {
            hint: error.hint.as_ref().map(hints::text),
            ..Self::new(kind, error.message)
        }
    }
}

impl From<backstitch_core::Error> for ToolError {
    fn from(error: backstitch_core::Error) -> Self {
        Self::from(QueryError::from(error))
    }
}

/// Returns the result of a call as the protocol has it.
pub fn call_result(result: ToolResult) -> CallToolResult {
    let (text, document, is_error) = match result {
        Ok(answer) => {
            let mut document = answer.document;
            lean::trim(&mut document);
            let message = answer.message.as_deref().unwrap_or(&answer.text);
            lean::set_message(&mut document, message);
            (answer.text, document, false)
        }
        Err(error) => {
            let text = error.text();
            let mut document = error
                .document
                .map_or_else(|| json!({}), |document| *document);
            lean::trim(&mut document);
            lean::set_message(&mut document, &text);
            document["error"] = json!({ "kind": error.kind, "message": error.message });
            if let Some(hint) = &error.hint {
                document["error"]["hint"] = json!(hint);
            }
            (text, document, true)
        }
    };
    let mut result = if is_error {
        CallToolResult::structured_error(document)
    } else {
        CallToolResult::structured(document)
    };
    result.content = vec![ContentBlock::text(shortened(&render::visible(&text)))];
    result
}

/// Cuts a text at the end of a line.
fn shortened(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(MAX_TEXT)];
    let end = head.rfind('\n').map_or(head.len(), |at| at + 1);
    format!(
        "{}… {} more bytes; name fewer files or lines to see the rest\n",
        &head[..end],
        text.len() - end
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_ends_with_a_line() {
        let text = "ä line\n".repeat(10_000);
        let short = shortened(&text);
        assert!(short.len() < MAX_TEXT + 100, "{}", short.len());
        assert!(short.contains("more bytes"), "{short}");
        assert_eq!(shortened("a\n"), "a\n");
    }
}
