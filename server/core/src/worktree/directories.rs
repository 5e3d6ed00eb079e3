//! Directories that files alone do not tell: those without a file, and those with other permission bits than usual. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::model::{DirChange, NodeId, RelPath};

/// Maximum number of noted directories. A tree with more has its modes from elsewhere, and none is noted.
const MAX_NOTED: usize = 2000;

/// The noted directories of a root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotedDirs {
    /// Permission bits of a directory that is not noted: those of the root at its first scan, in a run those of a new one.
    pub usual: u32,
    dirs: Vec<(RelPath, u32)>,
    /// True if there were more than can be noted.
    #[serde(default)]
    is_too_long: bool,
    /// Changes of the list since the last checkpoint, none of which deserved one of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<DirChange>,
    /// Linked worktrees of git in the root, whose directories are not listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<RelPath>,
    /// Entries of version control in the root: its directories, and links to them. None is recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vcs: Vec<RelPath>,
    /// The head when the list was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<NodeId>,
}

impl NotedDirs {
    /// `is_run`: these are all directories of a CI job's run.
    pub(crate) fn new(
        usual: u32,
        dirs: impl IntoIterator<Item = (RelPath, u32)>,
        is_run: bool,
    ) -> Self {
        let dirs: BTreeMap<RelPath, u32> = dirs.into_iter().collect();
        // a step back in a run sets the bits of all
        let fits = is_run || dirs.len() <= MAX_NOTED;
        Self {
            usual,
            dirs: dirs.into_iter().filter(|_| fits).collect(),
            is_too_long: !fits,
            pending: Vec::new(),
            worktrees: Vec::new(),
            vcs: Vec::new(),
            head: None,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&RelPath, u32)> {
        self.dirs.iter().map(|(path, mode)| (path, *mode))
    }

    pub(crate) fn mode(&self, dir: &RelPath) -> Option<u32> {
        let at = self.dirs.binary_search_by(|(path, _)| path.cmp(dir)).ok()?;
        Some(self.dirs[at].1)
    }

    /// Returns the difference of two lists. None: not in the list.
    pub(crate) fn differences_to(&self, now: &Self) -> Vec<DirChange> {
        if self.is_too_long || now.is_too_long {
            return Vec::new();
        }
        let paths: BTreeSet<&RelPath> = self.dirs.iter().chain(&now.dirs).map(|(p, _)| p).collect();
        let change = |path: &RelPath| DirChange {
            path: path.clone(),
            before: self.mode(path),
            after: now.mode(path),
        };
        let changes = paths.into_iter().map(change);
        changes.filter(|c| c.before != c.after).collect()
    }

    /// Returns the changes from these directories to others. `was_there`: a directory that is not noted was there before.
    /// `mode_now`: the permission bits of a directory on disk.
    pub(crate) fn changes_to(
        &self,
        now: &Self,
        mut was_there: impl FnMut(&RelPath) -> bool,
        mut mode_now: impl FnMut(&RelPath) -> Option<u32>,
    ) -> Vec<DirChange> {
        if self.is_too_long || now.is_too_long {
            return Vec::new();
        }
        let mut changes = Vec::new();
        for (path, after) in now.iter() {
            let before = match self.mode(path) {
                Some(before) => Some(before),
                None => was_there(path).then_some(self.usual),
            };
            changes.push((path, before, Some(after)));
        }
        for (path, before) in self.iter() {
            if now.mode(path).is_none() {
                changes.push((path, Some(before), mode_now(path)));
            }
        }
        let mut changes: Vec<DirChange> = changes
            .into_iter()
            .filter(|(_, before, after)| before != after)
            .map(|(path, before, after)| DirChange {
                path: path.clone(),
                before,
                after,
            })
            .collect();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes
    }

    /// Notes the entries of version control, as many as can be noted.
    pub(crate) fn set_vcs(&mut self, entries: impl IntoIterator<Item = RelPath>) {
        let entries: BTreeSet<RelPath> = entries.into_iter().collect();
        self.vcs = entries.into_iter().take(MAX_NOTED).collect();
    }

    /// Notes a directory as it is now. `mode`: its permission bits; None: it is gone.
    pub(crate) fn set(&mut self, dir: RelPath, mode: Option<u32>, is_bare: bool) {
        let noted = mode.filter(|mode| is_bare || *mode != self.usual);
        match (
            self.dirs.binary_search_by(|(path, _)| path.cmp(&dir)),
            noted,
        ) {
            (Ok(at), Some(mode)) => self.dirs[at].1 = mode,
            (Ok(at), None) => drop(self.dirs.remove(at)),
            (Err(at), Some(mode)) => self.dirs.insert(at, (dir, mode)),
            (Err(_), None) => {}
        }
    }

    /// True if the list is whole: no directory is left out.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_too_long
    }
}

/// Joins changes that follow one another to one for each directory.
pub(crate) fn joined(changes: impl IntoIterator<Item = DirChange>) -> Vec<DirChange> {
    let mut joined: BTreeMap<RelPath, DirChange> = BTreeMap::new();
    for change in changes {
        joined
            .entry(change.path.clone())
            .and_modify(|first| first.after = change.after)
            .or_insert(change);
    }
    let changes = joined.into_values();
    changes.filter(|c| c.before != c.after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> RelPath {
        RelPath::new(path).expect("a path")
    }

    fn noted(dirs: &[(&str, u32)]) -> NotedDirs {
        let dirs = dirs.iter().map(|(at, mode)| (path(at), *mode));
        NotedDirs::new(0o755, dirs, false)
    }

    fn change(at: &str, before: Option<u32>, after: Option<u32>) -> DirChange {
        DirChange {
            path: path(at),
            before,
            after,
        }
    }

    #[test]
    fn made_removed_and_changed_directories_are_told_from_those_that_lost_or_got_files() {
        let before = noted(&[
            ("logs", 0o755),
            ("gets", 0o755),
            ("odd", 0o700),
            ("gone", 0o700),
        ]);
        let now = noted(&[
            ("new", 0o755),
            ("lost", 0o755),
            ("keep", 0o700),
            ("odd", 0o750),
        ]);
        let had_files = |dir: &RelPath| ["lost", "keep"].contains(&dir.display().as_str());
        let mode_now = |dir: &RelPath| (dir.display() == "gets").then_some(0o755);
        assert_eq!(
            before.changes_to(&now, had_files, mode_now),
            [
                change("gone", Some(0o700), None),
                change("keep", Some(0o755), Some(0o700)),
                change("logs", Some(0o755), None),
                change("new", None, Some(0o755)),
                change("odd", Some(0o700), Some(0o750)),
            ]
        );
    }

    #[test]
    fn differences_name_what_came_into_the_list_and_left_it() {
        let before = noted(&[("gone", 0o755), ("odd", 0o700), ("same", 0o755)]);
        let now = noted(&[("new", 0o755), ("odd", 0o750), ("same", 0o755)]);
        assert_eq!(
            before.differences_to(&now),
            [
                change("gone", Some(0o755), None),
                change("new", None, Some(0o755)),
                change("odd", Some(0o700), Some(0o750)),
            ]
        );
        let many = (0..=MAX_NOTED).map(|n| (path(&format!("d{n}")), 0o755));
        let too_many = NotedDirs::new(0o755, many.clone(), false);
        assert_eq!(before.differences_to(&too_many), []);
        assert!(NotedDirs::new(0o755, many, true).is_whole());
    }

    #[test]
    fn changes_that_cancel_each_other_out_are_none() {
        let all = [
            change("a", None, Some(0o755)),
            change("b", Some(0o755), Some(0o700)),
            change("a", Some(0o755), None),
            change("b", Some(0o700), Some(0o750)),
        ];
        assert_eq!(joined(all), [change("b", Some(0o755), Some(0o750))]);
    }
}
