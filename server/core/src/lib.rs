//! The engine of Backstitch: store, capture, restore, history.
//!
//! Synchronous. Knows no editor protocol, no agent payload and never prints.

mod blame;
pub mod capture;
pub mod chat_history;
mod clear;
pub mod command_words;
mod compare;
pub mod config;
mod content;
mod conversations;
pub mod diff;
mod documents;
mod engine;
mod error;
mod fault;
mod forks;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod git;
pub mod health;
mod hint;
mod history;
pub mod launch;
pub mod merge;
pub mod model;
mod open;
mod owner;
mod places;
pub mod process;
mod raw_stat;
mod recorder;
pub mod restore;
pub mod retention;
mod review;
mod roots;
pub mod shell_word;
pub mod sqlite;
mod stats;
mod status;
mod store;
mod system;
pub mod vcs;
mod verify;
mod workspace;
mod worktree;

pub use blame::{Against, AgentWork, Author, Blame, BlameRun, By};
pub use clear::Clearing;
pub use compare::{Delta, as_patch};
pub use conversations::{
    Conversation, ConversationHow, ConversationNote, ConversationRecords, ConversationTurn,
};
pub use documents::{
    EditorInfo, EditorLease, Followed, InEditor, News, OpenText, Orphan, PendingChoice,
    PendingOutcome, PendingSave, Unsaved,
};
pub use engine::{Engine, OpenOptions, Progress};
pub use error::{Context, Error, ErrorKind, Result};
pub use fault::point as fault_point;
pub use forks::{BranchStart, Forked, WrittenTree};
pub use hint::{Hint, Listed};
pub use history::{
    BranchInfo, CallEvents, Entry, EntryChange, FileCheckpoints, LAST_TURN, LogFilter, NamedState,
    OpKind, OpState, Operation, OperationSubject, RestoreLimits, RunningCall, SessionFacts,
    SessionTurn, ShellCommand, Tag, Tree,
};
pub use open::record_gap;
pub use owner::check as check_owner;
pub use places::{
    Workspace, WorkspaceKind, data_dir, is_linked_worktree, jobs_dir, state_dir, user_config,
};
pub use recorder::{Recorder, RecorderStatus, Recording};
pub use restore::{Handed, RequestOutcome};
pub use review::{
    KeptBase, KeptSince, ReviewAuthor, ReviewDocument, ReviewFile, ReviewHunk, ReviewSelection,
    ShownState,
};
pub use shell_word::{is_plain as is_plain_in_shells, shell_word};
pub use stats::{LineTotals, Sizes, Stats};
pub use status::Status;
pub use system::{copy_attributes_of, program_on_path, read_settings, read_settings_lossy};
pub use verify::Verified;
pub use workspace::{Locate, RUN_FILES};
