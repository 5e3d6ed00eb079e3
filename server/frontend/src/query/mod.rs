//! Questions on the history that several front ends ask: references, paths, times and lines as typed, and the answers as
//! documents. Prints nothing.

pub mod blame;
pub mod diff;
pub mod line_range;
pub mod paths;
pub mod revs;
pub mod show;
pub mod when;

use backstitch_core::{Error, ErrorKind, Hint};

use crate::terminal::error::CliError;

/// A question that has no answer.
#[derive(Debug)]
pub struct QueryError {
    pub kind: ErrorKind,
    pub message: String,
    pub hint: Option<Hint>,
    /// The workspace has no history yet.
    pub is_unrecorded: bool,
}

pub type QueryResult<T> = Result<T, QueryError>;

impl QueryError {
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Usage,
            message: message.into(),
            hint: None,
            is_unrecorded: false,
        }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<Hint>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl From<Error> for QueryError {
    fn from(error: Error) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
            hint: error.hint(),
            is_unrecorded: matches!(error, Error::NoStore(_)),
        }
    }
}

impl From<QueryError> for CliError {
    fn from(error: QueryError) -> Self {
        let hint = error.hint.as_ref();
        Self::of_engine(error.kind, error.is_unrecorded, error.message, hint)
    }
}
