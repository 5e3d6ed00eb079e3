//! Result of a gc, as a value.

use crate::model::{NodeId, Squashed};

/// Result of a gc, or of its dry run.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Number of checkpoints that were squashed into those of `made`.
    pub gone: u64,
    /// Squashed checkpoints, oldest first.
    pub made: Vec<(NodeId, Squashed)>,
    /// Number of deleted contents.
    pub contents: u64,
    /// Size of the store before, in bytes.
    pub before: u64,
    /// Size of the store after, in bytes.
    pub after: u64,
    /// True if the store is still above its size limit.
    pub is_over: bool,
    /// Number of remaining checkpoints, if they are still more than the limit.
    pub too_many: Option<u64>,
    /// Number of checkpoints that could not be squashed because their records are inconsistent.
    pub stuck: u64,
    /// Checkpoints that stay because only the clock says that they are too old.
    pub suspect: Option<SuspectAges>,
}

/// Checkpoints that are too old by the clock, but not by the time between checkpoints: the clock may have been wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectAges {
    pub checkpoints: u64,
    /// The longest gap between two of them, in days.
    pub days: u64,
    /// The checkpoint after the gap. None: it is the gap up to now.
    pub before: Option<NodeId>,
}
