//! Ignore rules and version control of paths that are reached without a walk, and the directories with which a walk begins.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{RelPath, bytes_path};
use crate::system::read_small;
use crate::vcs;
use crate::worktree::disk::Root;
use crate::worktree::ignore_rules::{self, Excludes, Rules};

/// True if a path is one of these directories or in one.
pub(super) fn is_in_any(path: &RelPath, dirs: &[RelPath]) -> bool {
    dirs.iter().any(|dir| path.within(dir.bytes()))
}

/// True if a path is one of these directories or in one.
pub(super) fn is_in_any_of(path: &RelPath, dirs: &FxHashSet<RelPath>) -> bool {
    let above = || std::iter::successors(Some(path.clone()), RelPath::parent);
    !dirs.is_empty() && above().any(|dir| dirs.contains(&dir))
}

pub(super) struct WalkDir {
    pub path: Vec<u8>,
    pub rules: Arc<Rules>,
}

/// Ignore rules of paths that are reached without a walk.
pub(super) struct PathRules<'a> {
    pub root: &'a Root,
    pub base: Arc<Rules>,
    /// The .gitignore files that have been read.
    read: FxHashMap<RelPath, Option<Vec<u8>>>,
    /// The directories of which it is known if they are git's.
    git_dirs: FxHashMap<Vec<u8>, bool>,
}

impl<'a> PathRules<'a> {
    pub(super) fn new(root: &'a Root, excludes: &Excludes) -> Self {
        Self {
            root,
            base: Rules::base(excludes),
            read: FxHashMap::default(),
            git_dirs: FxHashMap::default(),
        }
    }

    /// Returns the directory of version control that a path lies in, or is.
    pub(super) fn vcs_dir(&mut self, path: &RelPath) -> Option<Vec<u8>> {
        let (root, git_dirs) = (self.root, &mut self.git_dirs);
        root.vcs.dir_with(path.bytes(), |dir| {
            if let Some(known) = git_dirs.get(dir) {
                return *known;
            }
            let is_git = vcs::is_git_dir_path(&root.path.join(bytes_path(dir)));
            git_dirs.insert(dir.to_vec(), is_git);
            is_git
        })
    }

    /// Returns a directory to walk. None: it does not exist or is ignored.
    pub(super) fn to(&mut self, dir: &RelPath) -> Option<WalkDir> {
        if self.vcs_dir(dir).is_some() {
            return None;
        }
        let (root, read) = (self.root, &mut self.read);
        let mut text = |file: &RelPath| Self::text(root, read, file);
        let rules = ignore_rules::down_to(&self.base, dir.bytes(), &mut text)?;
        let is_open = root.is_dir(dir.bytes());
        // one that cannot be opened is noted by the walk
        let is_there = (is_open || root.dir_mode(dir).is_some()) && root.is_exact_dir(dir.bytes());
        is_there.then(|| WalkDir {
            path: dir.bytes().to_vec(),
            rules,
        })
    }

    pub(super) fn ignored(&mut self, path: &RelPath) -> bool {
        let (root, read) = (self.root, &mut self.read);
        let mut text = |file: &RelPath| Self::text(root, read, file);
        ignore_rules::was_ignored(&self.base, path, &mut text)
    }

    fn text(
        root: &Root,
        read: &mut FxHashMap<RelPath, Option<Vec<u8>>>,
        file: &RelPath,
    ) -> Option<Vec<u8>> {
        let text = || read_small(&root.path.join(file.to_path()), false);
        read.entry(file.clone()).or_insert_with(text).clone()
    }
}
