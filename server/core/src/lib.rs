//! The engine of Backstitch: store, capture, restore, history.
//!
//! Synchronous. Knows no editor protocol, no agent payload and never prints.

mod blame;
pub mod capture;
mod clear;
mod compare;
pub mod config;
pub mod diff;
mod disk;
mod editors;
mod engine;
mod error;
mod fault;
mod forks;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod gc;
mod git;
pub mod health;
mod hint;
mod history;
mod known;
mod lent;
pub mod merge;
pub mod model;
mod recorder;
mod renamed;
pub mod restore;
mod roots;
mod rules;
mod scan;
mod seen;
mod stats;
mod store;
mod verify;
mod workspace;

pub use blame::{Against, Author, Blame, BlameRun, By, Work};
pub use clear::Clearing;
pub use compare::Delta;
pub use editors::{
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
pub use recorder::{Recorder, Recording, Standing};
pub use stats::{Lines, Sizes, Stats};
pub use verify::Verified;
pub use workspace::{Locate, Workspace, state_dir};
