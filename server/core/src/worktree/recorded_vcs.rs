//! Files of version control among recorded paths. Versions before this rule recorded git directories of other names than
//! `.git` as files of the project; none of them is restored.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::Connection;

use crate::error::Result;
use crate::model::{Here, RelPath};
use crate::vcs;
use crate::worktree::disk::Root;
use crate::worktree::file_state;

/// Finds the directories of version control that recorded paths lie in.
pub(crate) struct RecordedVcs<'a> {
    conn: &'a Connection,
    root: &'a Root,
    here: Here,
}

impl<'a> RecordedVcs<'a> {
    pub(crate) fn new(conn: &'a Connection, root: &'a Root, here: Here) -> Self {
        Self { conn, root, here }
    }

    /// Returns those of the paths that are version control's, each with the directory: by its name, by what is on disk, or
    /// by what these paths and the records show of it.
    pub(crate) fn dirs_of(&self, paths: &BTreeSet<RelPath>) -> Result<BTreeMap<RelPath, RelPath>> {
        let mut is_git: HashMap<Vec<u8>, bool> = HashMap::new();
        let mut failed = None;
        let mut found = BTreeMap::new();
        for path in paths {
            let dir = self.root.vcs.dir_with(path.bytes(), |dir| {
                if let Some(known) = is_git.get(dir) {
                    return *known;
                }
                let known = self.is_git_dir(dir, paths).unwrap_or_else(|error| {
                    failed.get_or_insert(error);
                    false
                });
                is_git.insert(dir.to_vec(), known);
                known
            });
            if let Some(dir) = dir.and_then(RelPath::new) {
                found.insert(path.clone(), dir);
            }
        }
        failed.map_or(Ok(found), Err)
    }

    fn is_git_dir(&self, dir: &[u8], paths: &BTreeSet<RelPath>) -> Result<bool> {
        let vcs = self.root.vcs;
        let on_disk = self
            .root
            .open_dir(dir)
            .is_some_and(|dir| vcs.is_git_dir_at(dir));
        if on_disk {
            return Ok(true);
        }
        let (conn, root) = (self.conn, self.here.root);
        let mut failed = None;
        let mut is_known = |path: &[u8]| {
            let Some(path) = RelPath::new(path) else {
                return false;
            };
            paths.contains(&path)
                || match file_state::get(conn, root, &path) {
                    Ok(row) => row.is_some(),
                    Err(error) => {
                        failed.get_or_insert(error);
                        false
                    }
                }
        };
        let mut also_failed = None;
        let mut any_below = |dir: &[u8]| {
            let Some(dir) = RelPath::new(dir) else {
                return false;
            };
            let is_planned = paths
                .iter()
                .any(|path| *path != dir && path.within(dir.bytes()));
            is_planned
                || match file_state::directory_known(conn, root, &dir) {
                    Ok(known) => known,
                    Err(error) => {
                        also_failed.get_or_insert(error);
                        false
                    }
                }
        };
        let is_git = vcs::is_recorded_git_dir(dir, &mut is_known, &mut any_below);
        match failed.or(also_failed) {
            Some(error) => Err(error),
            None => Ok(is_git),
        }
    }
}
