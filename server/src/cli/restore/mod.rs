//! Commands that restore files: from the request to the plan, the question and the outcome. The engine decides what a restore
//! does.

pub mod conversation;
pub mod job;
pub mod materialize;
pub mod options;
mod outcome;
pub mod plan;
pub mod redo;
pub mod revert;
pub mod rewind;
pub mod run;
pub mod summarize;
pub mod undo;
