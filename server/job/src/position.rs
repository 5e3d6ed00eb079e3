//! Places in a file, and problems that stand at one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Line and column, both from 1. A column counts UTF-16 code units, as GitHub's parser and editors do.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct FilePosition {
    pub line: u32,
    pub column: u32,
}

/// Part of a file. The end is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Range {
    pub start: FilePosition,
    pub end: FilePosition,
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Located<T> {
    pub value: T,
    pub range: Range,
}

/// An error in a file, in GitHub's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowProblem {
    /// Path of the file, relative to the repository.
    pub file: String,
    /// None for a problem of the whole file.
    pub range: Option<Range>,
    pub message: String,
}

impl fmt::Display for WorkflowProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.range {
            Some(Range { start, .. }) => write!(
                f,
                "{} (Line: {}, Col: {}): {}",
                self.file, start.line, start.column, self.message
            ),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}
