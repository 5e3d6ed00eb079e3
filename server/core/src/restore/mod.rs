//! Restore: what a rewind, revert, undo or redo would do (a pure plan), doing it so that it can be cut
//! off anywhere, and finishing what was cut off.

mod apply;
mod collisions;
mod exchange;
mod goal;
mod journal;
mod plan;
mod record;
mod replay;
mod switch;
#[cfg(test)]
pub(crate) mod tests;
mod types;
mod unsaved;

pub(crate) use plan::gap_of;
pub use types::{
    Action, ActionKind, Applied, BufferEdit, Conflict, ConflictSpan, Gap, GapKind, Goal,
    OnConflict, OpenDoc, Plan, Request, Resolution,
};
