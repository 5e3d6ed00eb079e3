//! What goes wrong in a request: the words, the next step, and a stable name for programs.

use backstitch_core::ErrorKind;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode};

#[derive(Clone, Debug)]
pub struct Failure {
    /// Stable: `data.kind`.
    pub kind: &'static str,
    pub message: String,
    pub hint: Option<String>,
    /// The answer as far as it went: a plan with its conflicts.
    pub answer: Option<Value>,
}

pub type Outcome<T> = Result<T, Box<Failure>>;

impl Failure {
    pub fn new(kind: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            kind,
            message: message.into(),
            hint: None,
            answer: None,
        })
    }

    pub fn usage(message: impl Into<String>) -> Box<Self> {
        Self::new("usage", message)
    }

    /// Somebody chose not to go on.
    pub fn cancelled() -> Box<Self> {
        Self::new("cancelled", "cancelled; nothing was changed")
    }

    pub fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    pub fn answer(mut self: Box<Self>, answer: Value) -> Box<Self> {
        self.answer = Some(answer);
        self
    }

    /// For people: what, and what to do next.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}. {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

impl From<backstitch_core::Error> for Box<Failure> {
    fn from(error: backstitch_core::Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Refused if matches!(error, backstitch_core::Error::Conflicts { .. }) => {
                "conflict"
            }
            ErrorKind::Refused => "refused",
            ErrorKind::Usage => "usage",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Store => "store",
            ErrorKind::Other => "failed",
        };
        let mut failure = Failure::new(kind, error.to_string());
        failure.hint = error.hint();
        failure
    }
}

impl From<Box<Failure>> for Error {
    fn from(failure: Box<Failure>) -> Self {
        let code = match failure.kind {
            "usage" | "not_found" => ErrorCode::InvalidParams,
            "cancelled" => ErrorCode::RequestCancelled,
            // LSP: the request was right and could not be done all the same
            _ => ErrorCode::ServerError(-32803),
        };
        let mut error = Self::new(code);
        error.message = failure.message.clone().into();
        let data = json!({
            "kind": failure.kind,
            "hint": failure.hint,
            "answer": failure.answer,
        });
        error.data = Some(data);
        error
    }
}
