//! Errors of the command line: the exit code, and the message on stderr and in JSON.

use std::fmt;

use backstitch_core::{ErrorKind, Hint};

use super::hints;

/// A failure with its kind and an optional hint at the next step.
#[derive(Debug)]
pub struct CliError {
    pub kind: ExitKind,
    pub message: String,
    pub hint: Option<String>,
    /// Partial answer for JSON, such as a plan with its conflicts.
    pub answer: Option<Box<serde_json::Value>>,
    /// True if its JSON document is one line, as the others of its command are.
    pub is_line: bool,
}

pub type CliResult<T, E = CliError> = std::result::Result<T, E>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// The current state does not allow it.
    Refused,
    /// The user was asked, and did not confirm.
    Declined,
    /// The plan has open conflicts.
    Conflict,
    /// A check failed, or a file could not be read or written.
    Failed,
    Usage,
    NotFound,
    /// The workspace has no history yet.
    Unrecorded,
    /// The store is damaged or made by a newer version.
    Store,
    /// The reader closed the pipe.
    Closed,
}

impl ExitKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused | Self::Declined => "refused",
            Self::Conflict => "conflict",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::NotFound | Self::Unrecorded => "not_found",
            Self::Store => "store",
            Self::Closed => "closed",
        }
    }

    pub fn exit_code(self) -> u8 {
        match self {
            Self::Closed => 0,
            Self::Refused | Self::Declined | Self::Conflict | Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound | Self::Unrecorded => 3,
            Self::Store => 4,
        }
    }
}

impl CliError {
    pub fn new(kind: ExitKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            answer: None,
            is_line: false,
        }
    }

    /// An error of the engine. `is_unrecorded`: the workspace has no history yet.
    pub fn of_engine(
        kind: ErrorKind,
        is_unrecorded: bool,
        message: String,
        hint: Option<&Hint>,
    ) -> Self {
        Self {
            hint: hint.map(hints::text),
            ..Self::new(exit_kind(kind, is_unrecorded), message)
        }
    }

    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Refused, message)
    }

    /// The user answered no.
    pub fn declined() -> Self {
        Self::new(ExitKind::Declined, "Nothing was changed.")
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Failed, message)
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Usage, message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ExitKind::NotFound, message)
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    #[must_use]
    pub fn answer(self, answer: serde_json::Value) -> Self {
        Self {
            answer: Some(Box::new(answer)),
            ..self
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CliError {}

impl From<backstitch_core::Error> for CliError {
    fn from(error: backstitch_core::Error) -> Self {
        let is_unrecorded = matches!(error, backstitch_core::Error::NoStore(_));
        let hint = error.hint();
        Self::of_engine(
            error.kind(),
            is_unrecorded,
            error.to_string(),
            hint.as_ref(),
        )
    }
}

fn exit_kind(kind: ErrorKind, is_unrecorded: bool) -> ExitKind {
    match kind {
        _ if is_unrecorded => ExitKind::Unrecorded,
        ErrorKind::Refused => ExitKind::Refused,
        ErrorKind::Usage => ExitKind::Usage,
        ErrorKind::NotFound => ExitKind::NotFound,
        ErrorKind::Store => ExitKind::Store,
        ErrorKind::Other => ExitKind::Failed,
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::BrokenPipe => ExitKind::Closed,
            _ => ExitKind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<anyhow::Error> for CliError {
    fn from(error: anyhow::Error) -> Self {
        let closed = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
        if error.root_cause().downcast_ref().is_some_and(closed) {
            return Self::new(ExitKind::Closed, "the reader closed the pipe");
        }
        Self::failed(format!("{error:#}"))
    }
}
