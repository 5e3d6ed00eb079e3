//! Failure of a request: its message, the next step, and a stable kind for programs.

use backstitch_core::ErrorKind;
use backstitch_protocol::{Conflict, FailureData, FailureKind, Offer, Plan};
use tower_lsp::jsonrpc::{Error, ErrorCode};

use crate::lsp::messages::{hint, refusal};
use crate::render;
use crate::terminal::error::{CliError, ExitKind};
use crate::to_protocol;

#[derive(Clone, Debug)]
pub struct Failure {
    /// `data.kind`.
    pub kind: FailureKind,
    pub message: String,
    pub hint: Option<String>,
    /// Partial answer: a plan with its conflicts.
    pub answer: Option<Plan>,
    /// Next steps that commands take.
    pub offers: Vec<Offer>,
    /// Conflicts of a merge that has no plan.
    pub conflicts: Option<Vec<Conflict>>,
}

pub type Reply<T> = Result<T, Box<Failure>>;

impl Failure {
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            kind,
            message: message.into(),
            hint: None,
            answer: None,
            offers: Vec::new(),
            conflicts: None,
        })
    }

    pub fn usage(message: impl Into<String>) -> Box<Self> {
        Self::new(FailureKind::Usage, message)
    }

    /// The user chose not to continue.
    pub fn cancelled() -> Box<Self> {
        Self::new(FailureKind::Cancelled, refusal::CANCELLED)
    }

    pub fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    pub fn answer(mut self: Box<Self>, answer: Plan) -> Box<Self> {
        self.answer = Some(answer);
        self
    }

    pub fn conflicts(mut self: Box<Self>, conflicts: Vec<Conflict>) -> Box<Self> {
        self.conflicts = Some(conflicts);
        self
    }

    /// Returns the message and the next step, for people.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}. {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

impl From<CliError> for Box<Failure> {
    fn from(error: CliError) -> Self {
        let kind = match error.kind {
            ExitKind::Refused | ExitKind::Closed => FailureKind::Refused,
            ExitKind::Declined => FailureKind::Cancelled,
            ExitKind::Conflict => FailureKind::Conflict,
            ExitKind::Failed => FailureKind::Failed,
            ExitKind::Usage => FailureKind::Usage,
            ExitKind::NotFound | ExitKind::Unrecorded => FailureKind::NotFound,
            ExitKind::Store => FailureKind::Store,
        };
        let mut failure = Failure::new(kind, error.message);
        failure.hint = error.hint.map(|hint| hint::of_terminal(&hint));
        failure
    }
}

impl From<backstitch_core::Error> for Box<Failure> {
    fn from(error: backstitch_core::Error) -> Self {
        if matches!(error, backstitch_core::Error::CalledOff) {
            return Failure::cancelled();
        }
        let kind = match error.kind() {
            ErrorKind::Refused if matches!(error, backstitch_core::Error::Conflicts { .. }) => {
                FailureKind::Conflict
            }
            ErrorKind::Refused if matches!(error, backstitch_core::Error::Resumed { .. }) => {
                FailureKind::AlreadyResumed
            }
            _ if matches!(error, backstitch_core::Error::MissingField(_)) => {
                FailureKind::MissingField
            }
            _ if matches!(error, backstitch_core::Error::UnknownPause(_)) => {
                FailureKind::UnknownPause
            }
            _ if matches!(error, backstitch_core::Error::UnknownSession(_)) => {
                FailureKind::UnknownSession
            }
            _ if matches!(error, backstitch_core::Error::SessionClosed { .. }) => {
                FailureKind::SessionClosed
            }
            _ if matches!(error, backstitch_core::Error::EvalTimeout { .. }) => {
                FailureKind::EvalTimeout
            }
            ErrorKind::Refused => FailureKind::Refused,
            ErrorKind::Usage => FailureKind::Usage,
            ErrorKind::NotFound => FailureKind::NotFound,
            ErrorKind::Store => FailureKind::Store,
            ErrorKind::Other => FailureKind::Failed,
        };
        let mut failure = Failure::new(kind, error.to_string());
        failure.hint = error.hint().as_ref().map(hint::text);
        failure.offers = error.hint().as_ref().map(hint::offers).unwrap_or_default();
        failure
    }
}

impl From<Box<Failure>> for Error {
    fn from(failure: Box<Failure>) -> Self {
        let code = match failure.kind {
            FailureKind::Usage
            | FailureKind::NotFound
            | FailureKind::MissingField
            | FailureKind::UnknownPause
            | FailureKind::UnknownSession => ErrorCode::InvalidParams,
            FailureKind::Cancelled => ErrorCode::RequestCancelled,
            // LSP's `RequestFailed`: the request was valid and could not be carried out
            _ => ErrorCode::ServerError(-32803),
        };
        let mut error = Self::new(code);
        error.message = render::visible(&failure.message).into();
        let data = FailureData {
            kind: failure.kind,
            hint: failure.hint,
            answer: failure.answer.map(Box::new),
            offers: failure.offers,
            conflicts: failure.conflicts,
        };
        error.data = Some(to_protocol::value(&data));
        error
    }
}
