//! The engine of Backstitch: store, capture, restore, history.
//!
//! Synchronous. Knows no editor protocol, no agent payload and never prints.

mod blame;
pub mod capture;
mod clear;
mod compare;
pub mod config;
pub mod diff;
mod documents;
mod engine;
mod error;
mod fault;
mod forks;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod health;
mod hint;
mod history;
pub mod merge;
pub mod model;
pub mod restore;
pub mod retention;
mod roots;
mod stats;
mod store;
mod verify;
mod workspace;
mod worktree;

pub use blame::{Against, Author, Blame, BlameRun, By, Work};
pub use clear::Clearing;
pub use compare::Delta;
pub use documents::{
    Answer, EditorInfo, EditorLease, Followed, Handed, InEditor, News, OpenText, Orphan,
    PendingSave, Settle, Settled, Unsaved,
};
pub use engine::{Engine, Progress, Status, Tree, record_gap};
pub use error::{Error, ErrorKind, Result};
pub use forks::{Forked, Written};
pub use hint::{Hint, Listed};
pub use history::{
    BranchInfo, Entry, EntryChange, LogFilter, OfFile, OpKind, OpState, Operation, Tag,
};
pub use stats::{Lines, Sizes, Stats};
pub use verify::Verified;
pub use workspace::{Locate, Workspace, state_dir};
pub use worktree::recorder::{Recorder, Recording, Standing};
