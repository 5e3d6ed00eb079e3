//! Execution of the directories of an operation: made before the files, removed after the record.

use std::collections::BTreeSet;
use std::ops::Deref;

use crate::engine::Engine;
use crate::error::Result;
use crate::history;
use crate::model::{DirChange, OpId, RelPath};
use crate::restore::Restore;
use crate::restore::journal::JournalEntry;
use crate::restore::types::{Gap, GapKind};
use crate::store;
use crate::store::tables::operation;
use crate::store::tables::root::scan;
use crate::worktree::directories::{NotedDirs, joined};
use crate::worktree::file_state;

/// Bits with which the owner of a directory can change its entries.
pub(super) const OWNER_CHANGES: u32 = 0o300;

/// Lists of directories after a restore.
pub(in crate::restore) struct FinishedDirs {
    pub noted: NotedDirs,
    /// Changes of the noted directories.
    pub changes: Vec<DirChange>,
    /// Directories without a file, separated by NUL.
    pub bare: Vec<u8>,
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Makes and changes the directories of an operation that files or others are to be made in, or all of them. None is
    /// removed before the outcome is recorded, and until then their owner can change them. Returns those that could not be made
    /// or changed: they do not stop the others.
    pub(in crate::restore) fn make_dirs(&self, op: OpId, for_files: bool) -> Result<Vec<Gap>> {
        let mut failed = Vec::new();
        for change in operation::directories(&self.engine.store.conn, op)? {
            let Some(mode) = change.after else { continue };
            let now = self.engine.root.dir_mode(&change.path);
            let is_wanted = !for_files || is_open(mode);
            let mode = mode | OWNER_CHANGES;
            if is_wanted
                && now != Some(mode)
                && (now == change.before || change.before.is_none())
                && let Err(error) = self.engine.root.make_dir(&change.path, mode)
            {
                failed.push(Gap {
                    path: Some(change.path.bytes().to_vec()),
                    kind: GapKind::Directory,
                    detail: error.to_string(),
                });
            }
        }
        Ok(failed)
    }

    /// Returns the changes of directories that an operation makes, but those that files tell.
    pub(in crate::restore) fn told_dirs(&self, op: OpId) -> Result<Vec<DirChange>> {
        let conn = &self.engine.store.conn;
        let mut changes = operation::directories(conn, op)?;
        if let Some(noted) = scan::noted_dirs::<NotedDirs>(conn, self.engine.here.root)? {
            changes.retain(|c| c.after.is_some() || noted.mode(&c.path).is_some());
        }
        Ok(changes)
    }

    /// Takes back what `make_dirs` did.
    pub(in crate::restore) fn unmake_dirs(&self, op: OpId) -> Result<()> {
        let root = &self.engine.root;
        for change in operation::directories(&self.engine.store.conn, op)?
            .iter()
            .rev()
        {
            match (change.before, root.dir_mode(&change.path)) {
                (None, Some(_)) => drop(root.remove_dir(&change.path)),
                (Some(before), Some(now)) if before != now => {
                    root.make_dir(&change.path, before)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes the directories of a recorded operation, unless they hold something by now. Closes those that their owner cannot
    /// change at the goal. Returns the lists of directories afterwards. They are as a scan would find them, so that none counts as a
    /// change of the user. None: nothing of it has changed.
    pub(in crate::restore) fn finish_dirs(
        &self,
        op: OpId,
        lines: &[JournalEntry],
    ) -> Result<Option<FinishedDirs>> {
        let (conn, root) = (&self.engine.store.conn, &self.engine.root);
        let here = self.engine.here.root;
        let changes = operation::directories(conn, op)?;
        let is_switch = history::operation(conn, op)?.to_branch.is_some();
        // the innermost first
        for change in changes.iter().rev().filter(|c| c.after.is_none()) {
            if is_switch {
                root.remove_empty_dirs(&change.path);
            } else {
                root.remove_dir(&change.path);
            }
        }
        for change in changes.iter().rev() {
            if let Some(mode) = change.after.filter(|mode| !is_open(*mode))
                && root.dir_mode(&change.path) == Some(mode | OWNER_CHANGES)
                && let Err(error) = root.make_dir(&change.path, mode)
            {
                store::gaps::append(&self.engine.store.dir, &error.to_string());
            }
        }
        let Some(mut noted) = scan::noted_dirs::<NotedDirs>(conn, here)? else {
            return Ok(None);
        };
        let before = noted.clone();
        let mut touched: BTreeSet<RelPath> = changes.into_iter().map(|c| c.path).collect();
        for path in lines.iter().map(|line| &line.path) {
            // a file may have taken the place of a directory
            touched.extend(noted.mode(path).map(|_| path.clone()));
            let mut at = path.parent();
            while let Some(dir) = at {
                at = dir.parent();
                if !touched.insert(dir) {
                    break;
                }
            }
        }
        let bare_before = scan::last(conn, here)?.bare_dirs;
        let mut bare: BTreeSet<RelPath> = bare_before
            .split(|byte| *byte == 0)
            .filter_map(RelPath::new)
            .collect();
        for dir in touched {
            let mode = root.dir_mode(&dir);
            let is_bare = mode.is_some() && file_state::count_below(conn, here, &dir)? == 0;
            if is_bare {
                bare.insert(dir.clone());
            } else {
                bare.remove(&dir);
            }
            noted.set(dir, mode, is_bare);
        }
        let bare: Vec<&[u8]> = bare.iter().map(RelPath::bytes).collect();
        let bare = bare.join(&0);
        let mut list = before.differences_to(&noted);
        if is_switch {
            // they are those of the other branch
            noted.pending.clear();
        } else {
            let is_moved = |c: &DirChange| list.iter().any(|moved| moved.path == c.path);
            let (first, rest) = std::mem::take(&mut noted.pending)
                .into_iter()
                .partition(is_moved);
            noted.pending = rest;
            list = joined([first, list].concat());
        }
        let is_changed = noted != before || bare != bare_before;
        Ok(is_changed.then_some(FinishedDirs {
            noted,
            changes: list,
            bare,
        }))
    }
}

/// True if the owner of a directory with these bits can change its entries.
pub(super) fn is_open(mode: u32) -> bool {
    mode & OWNER_CHANGES == OWNER_CHANGES
}
