//! Restore: planning a rewind, revert, undo, redo or switch as a value, and applying it. An application may be interrupted
//! at any point, and is finished later.

mod apply;
mod collisions;
pub(crate) mod directories;
mod exchange;
mod file_merge;
mod goal;
mod hand_over;
mod journal;
mod last_turn;
mod line_check;
mod marker_label;
mod not_captured;
mod pending_save;
mod plan;
mod record;
mod replay;
mod returns;
mod switch;
#[cfg(test)]
pub(crate) mod tests;
mod times;
mod types;
mod unsaved;
mod work;

use crate::engine::Engine;
pub use goal::Reversible;
pub use hand_over::{Handed, RequestOutcome};
pub use last_turn::LastTurn;
pub(crate) use not_captured::gap_of;
pub use times::{TimeMark, Times};
pub use types::{
    Action, ActionKind, Applied, BufferEdit, COME_BACK, Conflict, ConflictSpan, ConversationHalf,
    Gap, GapKind, Goal, OnConflict, OpenDoc, Plan, Request, Resolution, Scope,
};
pub use work::{PlannedTurn, PlannedWork};

/// Plans restores, applies them, and finishes interrupted ones. `E` is `&Engine` for questions, `&mut Engine` for the rest.
#[derive(Clone, Copy, Debug)]
pub struct Restore<E> {
    engine: E,
}

impl Engine {
    /// Rewind, revert, undo, redo and switch: questions.
    pub fn restore(&self) -> Restore<&Self> {
        Restore { engine: self }
    }

    /// Rewind, revert, undo, redo and switch.
    pub fn restore_mut(&mut self) -> Restore<&mut Self> {
        Restore { engine: self }
    }
}
