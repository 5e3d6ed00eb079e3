//! Paths that no walk visits: known ones that it did not meet, and those that a request names.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashSet;

use super::Scan;
use super::path_rules::{PathRules, is_in_any, is_in_any_of};
use crate::model::{Image, RelPath};
use crate::vcs::{self, VcsFiles};
use crate::worktree::changed_paths::ChangedPaths;
use crate::worktree::linked_worktrees::LinkedWorktrees;

impl Scan<'_> {
    /// Examines the known paths that the walk did not visit: they are gone, or ignored by now and still tracked.
    pub(super) fn examine_unvisited(
        &self,
        path_rules: &mut PathRules<'_>,
        late: &(dyn Fn() -> bool + Sync),
    ) {
        let visited = std::mem::take(&mut self.gather().visited);
        if visited.len() >= self.known.len() {
            return;
        }
        let visited: FxHashSet<&RelPath> = visited.into_iter().collect();
        let mut worktrees = LinkedWorktrees::new(self.root, self.gather().worktrees.clone());
        let unvisited = self.known.keys().filter(|path| !visited.contains(path));
        let unvisited: Vec<&RelPath> = unvisited.collect();
        let vcs_dirs = self.vcs_dirs(&unvisited);
        for path in unvisited {
            if self.expired.load(Ordering::Relaxed) || late() {
                self.expired.store(true, Ordering::Relaxed);
                break;
            }
            // files of version control that an older version recorded stay as they are
            let is_vcs = match self.only {
                None => self.root.vcs.has_named(path) || is_in_any_of(path, &vcs_dirs),
                Some(_) => self.is_in_vcs(path, path_rules),
            };
            if is_vcs || is_in_any(path, self.others) || worktrees.have(path) {
                continue;
            }
            let stat = self.root.stat(path);
            if self.only.is_none() && stat.is_some() {
                self.gather().out.unvisited.push(path.clone());
            }
            let read = |image: &Image| self.root.reread_entry(path, image);
            self.examine(path.clone(), stat, &read);
        }
    }

    /// Returns the directories of version control: those that the walk met, and those that the records show. An older version
    /// took them for files of the project.
    fn vcs_dirs(&self, unvisited: &[&RelPath]) -> FxHashSet<RelPath> {
        let mut dirs = self.gather().vcs_dirs.clone();
        if self.root.vcs == VcsFiles::Recorded {
            return dirs;
        }
        let heads = unvisited.iter().filter(|path| path.split().1 == b"HEAD");
        let heads: Vec<RelPath> = heads.filter_map(|path| path.parent()).collect();
        if heads.is_empty() {
            return dirs;
        }
        let known: BTreeSet<&[u8]> = unvisited.iter().map(|path| path.bytes()).collect();
        let mut is_known = |path: &[u8]| known.contains(path);
        let mut any_below = |dir: &[u8]| {
            let below = [dir, b"/"].concat();
            let next = known.range(below.as_slice()..).next();
            next.is_some_and(|path| path.starts_with(&below))
        };
        for dir in heads {
            if vcs::is_recorded_git_dir(dir.bytes(), &mut is_known, &mut any_below) {
                dirs.insert(dir);
            }
        }
        dirs
    }

    /// True if a path that was reached without a walk is version control's, which is noted.
    fn is_in_vcs(&self, path: &RelPath, path_rules: &mut PathRules<'_>) -> bool {
        let dir = path_rules.vcs_dir(path);
        if let Some(dir) = &dir
            && !vcs::is_top(dir.rsplit(|b| *b == b'/').next().unwrap_or(dir))
        {
            self.note_vcs(dir);
        }
        dir.is_some()
    }

    /// Examines the named paths that are not known and not in a directory that was walked.
    pub(super) fn examine_named(&self, touched: &ChangedPaths, path_rules: &mut PathRules<'_>) {
        let mut worktrees = LinkedWorktrees::new(self.root, Vec::new());
        for path in &touched.paths {
            if worktrees.have(path) {
                continue;
            }
            let new = !self.known.contains_key(path) && !touched.above(path);
            if new
                && !is_in_any(path, self.others)
                && !self.is_in_vcs(path, path_rules)
                && !path_rules.ignored(path)
            {
                let stat = self.root.stat(path);
                if stat.is_none() {
                    self.gather().out.absent.push(path.clone());
                }
                let read = |image: &Image| self.root.reread_entry(path, image);
                self.examine(path.clone(), stat, &read);
            }
        }
    }
}
