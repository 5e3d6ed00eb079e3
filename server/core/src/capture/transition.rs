//! The transition of a path from one recorded version to the next.

use super::calls::Attribution;
use crate::model::{FileId, FileVersion, NodeId};
use crate::worktree::disk::Stat;
use crate::worktree::file_state;

/// The transition of one path, ready to be recorded.
pub(crate) struct Transition {
    pub file: Option<FileId>,
    pub before: FileVersion,
    pub after: FileVersion,
    pub stat: Option<Stat>,
    pub since: Option<NodeId>,
    pub attribution: Attribution,
    pub made_dirs: u32,
    pub observed_by: file_state::Observed,
}
