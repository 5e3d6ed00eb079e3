//! Restore: planning a rewind, revert, undo, redo or switch as a value, applying it so that it may be interrupted
//! at any point, and finishing it after an interruption.

mod apply;
mod collisions;
mod exchange;
mod file_merge;
mod goal;
mod hand_over;
mod journal;
mod line_check;
mod plan;
mod record;
mod replay;
mod switch;
#[cfg(test)]
pub(crate) mod tests;
mod types;
mod unsaved;

pub use hand_over::{Handed, RequestOutcome};
pub(crate) use plan::gap_of;
pub use types::{
    Action, ActionKind, Applied, BufferEdit, Conflict, ConflictSpan, Gap, GapKind, Goal,
    OnConflict, OpenDoc, Plan, Request, Resolution, Scope,
};
