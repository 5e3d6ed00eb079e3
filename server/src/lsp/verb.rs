//! The kinds of restores that a client can request.

/// Kind of restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Rewind,
    Revert,
    Undo,
    Redo,
    Switch { carry: bool },
}
