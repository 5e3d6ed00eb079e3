//! Paths that were touched and not scanned since. Pure.

use std::collections::BTreeMap;

use crate::model::RelPath;
use crate::worktree::changed_paths::ChangedPaths;

/// Above this many entries everything counts as touched: a walk is faster.
const LIMIT: usize = 4096;

/// Touched paths, each with the moment of its last touch. A path leaves when a scan finds it unchanged, unless it was
/// touched after the scan began.
#[derive(Debug)]
pub(crate) struct Dirty {
    moment: u64,
    /// Set if everything may have changed.
    all: Option<u64>,
    paths: BTreeMap<RelPath, u64>,
    trees: BTreeMap<RelPath, u64>,
}

/// Part of the tree to scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    Only(ChangedPaths),
}

impl Dirty {
    /// State of a tree that was never scanned.
    pub(crate) fn all() -> Self {
        Self {
            moment: 1,
            all: Some(1),
            paths: BTreeMap::new(),
            trees: BTreeMap::new(),
        }
    }

    pub(crate) fn path(&mut self, path: RelPath) {
        self.moment += 1;
        self.paths.insert(path, self.moment);
        self.limit();
    }

    pub(crate) fn tree(&mut self, dir: RelPath) {
        self.moment += 1;
        self.trees.insert(dir, self.moment);
        self.limit();
    }

    pub(crate) fn everything(&mut self) {
        self.moment += 1;
        self.all = Some(self.moment);
        self.paths.clear();
        self.trees.clear();
    }

    fn limit(&mut self) {
        if self.paths.len() + self.trees.len() > LIMIT {
            self.everything();
        }
    }

    pub(crate) fn moment(&self) -> u64 {
        self.moment
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.all.is_none() && self.paths.is_empty() && self.trees.is_empty()
    }

    pub(crate) fn extent(&self) -> Extent {
        if self.all.is_some() {
            return Extent::All;
        }
        Extent::Only(ChangedPaths {
            paths: self.paths.keys().cloned().collect(),
            trees: self.trees.keys().cloned().collect(),
        })
    }

    /// Removes the entries that a scan covered. The scan began at `moment`; the paths in `differ` stay.
    pub(crate) fn scanned(&mut self, moment: u64, differ: impl IntoIterator<Item = RelPath>) {
        if self.all.is_some_and(|at| at > moment) {
            return;
        }
        self.all = None;
        self.paths.retain(|_, at| *at > moment);
        self.trees.retain(|_, at| *at > moment);
        for path in differ {
            self.paths.entry(path).or_insert(moment);
        }
        self.limit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(p: &str) -> RelPath {
        RelPath::new(p.as_bytes()).expect("a path")
    }

    fn only(dirty: &Dirty) -> Vec<String> {
        match dirty.extent() {
            Extent::All => vec!["all".into()],
            Extent::Only(touched) => {
                let all = touched.paths.iter().chain(&touched.trees);
                all.map(RelPath::display).collect()
            }
        }
    }

    #[test]
    fn paths_touched_after_the_scan_began_stay() {
        let mut dirty = Dirty::all();
        let began = dirty.moment();
        dirty.path(path("late"));
        dirty.scanned(began, [path("open")]);
        assert_eq!(only(&dirty), ["late", "open"]);
        let began = dirty.moment();
        dirty.path(path("late"));
        dirty.tree(path("d"));
        dirty.scanned(began, []);
        assert_eq!(only(&dirty), ["late", "d"]);
        dirty.scanned(dirty.moment(), []);
        assert!(dirty.is_clean());
    }

    #[test]
    fn too_many_entries_mean_everything() {
        let mut dirty = Dirty::all();
        dirty.scanned(dirty.moment(), []);
        let began = dirty.moment();
        for n in 0..=LIMIT {
            dirty.path(path(&format!("f{n}")));
        }
        assert_eq!(dirty.extent(), Extent::All);
        dirty.scanned(began, []);
        assert_eq!(dirty.extent(), Extent::All, "the scan began before");
        dirty.scanned(dirty.moment(), []);
        assert!(dirty.is_clean());
    }
}
