//! The transition of a path from one recorded version to the next.

use super::calls::Attribution;
use crate::model::{FileId, FileVersion, Image, NodeId, Placed, RelPath};
use crate::worktree::disk::Stat;
use crate::worktree::file_state::{FileState, Observed};

/// The transition of one path, ready to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transition {
    pub file: Option<FileId>,
    pub before: FileVersion,
    pub after: FileVersion,
    pub stat: Option<Stat>,
    pub since: Option<NodeId>,
    pub attribution: Attribution,
    pub made_dirs: u32,
    pub observed_by: Observed,
}

impl Transition {
    /// Returns the transition of a path from its row to this image. Only a created file can have
    /// directories that were made for it.
    pub(super) fn new(
        path: &RelPath,
        row: Option<&FileState>,
        (image, stat): (Image, Option<Stat>),
        attribution: Attribution,
        made_dirs: u32,
        observed_by: Observed,
    ) -> Self {
        let placed = |image: Image| {
            (!image.is_absent()).then(|| Placed {
                path: path.clone(),
                image,
            })
        };
        Self {
            file: row.and_then(|r| r.file),
            since: row.and_then(|r| r.since),
            before: placed(row.map_or(Image::Absent, |r| r.image)),
            after: placed(image),
            stat,
            attribution,
            made_dirs: if row.is_some() { 0 } else { made_dirs },
            observed_by,
        }
    }
}
