//! States of a file at the heads of the two branches of a switch.

use std::collections::BTreeSet;
use std::ops::Deref;

use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry};
use crate::model::{FileId, FileVersion, NodeId, RelPath};
use crate::restore::Restore;

/// States of a file on both branches.
#[derive(Debug)]
pub(super) struct BranchPath {
    pub file: FileId,
    pub before: FileVersion,
    /// None: the file is not known on the other branch.
    pub after: Option<FileVersion>,
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Returns the files whose file state a switch changes.
    pub(super) fn ways(&self, from: NodeId, to: NodeId) -> Result<Vec<BranchPath>> {
        let _moment = self.engine.store.reading()?;
        let ancestry = Ancestry::new(&self.engine.store.conn);
        let mut files = self.engine.history().files_between(&ancestry, from, to)?;
        files.extend(self.engine.history().adopted_between(&ancestry, from, to)?);
        let file = |file| self.branch_path(&ancestry, file, from, to);
        files.into_iter().map(file).collect()
    }

    /// Returns the states of a file at the heads of both branches.
    pub(super) fn branch_path(
        &self,
        ancestry: &Ancestry<'_>,
        file: FileId,
        from: NodeId,
        to: NodeId,
    ) -> Result<BranchPath> {
        let known_there = self.engine.history().known_at(ancestry, file, to)?;
        let after = known_there.then(|| history::state_at(ancestry, file, to));
        Ok(BranchPath {
            file,
            before: self.engine.history().state_known(ancestry, file, from)?,
            after: after.transpose()?,
        })
    }
}

/// Paths that a file leaves in the switch. Content found at such a path belongs to the file that leaves, even if an
/// arriving file has equal content.
pub(super) fn vacated_paths(files: &[BranchPath]) -> BTreeSet<RelPath> {
    let vacated = |file: &BranchPath| {
        let from = &file.before.as_ref()?.path;
        let after = file.after.as_ref()?.as_ref();
        let stays = after.is_some_and(|to| to.path == *from);
        (!stays).then(|| from.clone())
    };
    files.iter().filter_map(vacated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentId, Image, Placed};

    fn at(path: &str) -> FileVersion {
        let image = Image::Symlink {
            content: ContentId([1; 32]),
        };
        RelPath::new(path).map(|path| Placed { path, image })
    }

    #[test]
    fn a_path_is_vacated_by_a_file_that_is_elsewhere_or_deleted_on_the_other_branch() {
        let file = |before, after| BranchPath {
            file: FileId(1),
            before,
            after,
        };
        let files = [
            file(at("stays"), Some(at("stays"))),
            file(at("moves"), Some(at("moved"))),
            file(at("deleted"), Some(None)),
            file(at("unknown there"), None),
            file(None, Some(at("arrives"))),
        ];
        let vacated = vacated_paths(&files);
        let vacated: Vec<_> = vacated.iter().map(RelPath::display).collect();
        assert_eq!(vacated, ["deleted", "moves"]);
    }
}
