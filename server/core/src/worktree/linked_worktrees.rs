//! Linked worktrees of git inside a root. Each is a separate workspace: no scan enters it, and no restore changes it.

use std::path::PathBuf;

use rustc_hash::FxHashMap;

use crate::git;
use crate::model::{RelPath, bytes_path};
use crate::system::read_small;
use crate::worktree::disk::Root;

/// Answers for paths that are reached without a walk, by the directories on disk.
pub(crate) struct LinkedWorktrees<'a> {
    root: &'a Root,
    /// The worktree that each directory is in, or is.
    known: FxHashMap<Vec<u8>, Option<RelPath>>,
}

impl<'a> LinkedWorktrees<'a> {
    pub(crate) fn new(root: &'a Root, found: Vec<RelPath>) -> Self {
        let found = found.into_iter();
        Self {
            root,
            known: found.map(|dir| (dir.bytes().to_vec(), Some(dir))).collect(),
        }
    }

    /// True if a path is below a worktree.
    pub(crate) fn have(&mut self, path: &RelPath) -> bool {
        self.above(path).is_some()
    }

    /// Returns the worktree that a path is below.
    pub(crate) fn above(&mut self, path: &RelPath) -> Option<RelPath> {
        let above = path.bytes().iter().rposition(|b| *b == b'/')?;
        self.at(&path.bytes()[..above])
    }

    /// Returns the outermost worktree that a path is in, or is.
    pub(crate) fn holding(&mut self, path: &RelPath) -> Option<RelPath> {
        self.at(path.bytes())
    }

    fn at(&mut self, dir: &[u8]) -> Option<RelPath> {
        if let Some(known) = self.known.get(dir) {
            return known.clone();
        }
        let above = dir.iter().rposition(|b| *b == b'/');
        let is_one = || {
            let path = self.root.path.join(bytes_path(dir));
            self.root.vcs.is_worktree(&path)
        };
        let found = match above.and_then(|at| self.at(&dir[..at])) {
            Some(outer) => Some(outer),
            None if is_one() => RelPath::new(dir),
            None => None,
        };
        self.known.insert(dir.to_vec(), found.clone());
        found
    }
}

/// Returns the worktrees inside a root that its repository knows.
pub(crate) fn of_repository(root: &Root) -> Vec<RelPath> {
    let Some(common) = git::common_dir(&root.path) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(common.join("worktrees")) else {
        return Vec::new();
    };
    let places = entries.filter_map(Result::ok).filter_map(|entry| {
        let text = read_small(&entry.path().join("gitdir"), false)?;
        // relative to the directory that names it, or absolute
        let link: PathBuf = entry.path().join(bytes_path(text.trim_ascii_end()));
        let dir = link.parent()?.canonicalize().ok()?;
        RelPath::from_path(dir.strip_prefix(&root.path).ok()?)
    });
    let is_one = |dir: &RelPath| root.vcs.is_worktree(&root.path.join(dir.to_path()));
    places.filter(is_one).collect()
}
