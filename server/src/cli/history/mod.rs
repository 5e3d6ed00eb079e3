//! Commands that show and record the history.

pub mod blame;
pub mod cat;
pub mod checkpoint;
pub mod conversation;
pub mod diff;
pub mod entry_words;
mod graph;
pub mod log;
pub mod oplog;
pub mod show;
