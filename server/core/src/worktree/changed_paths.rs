//! Paths that may differ from their rows, and directories with everything below them. Pure.

use std::collections::BTreeSet;

use crate::model::RelPath;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedPaths {
    pub paths: BTreeSet<RelPath>,
    pub trees: BTreeSet<RelPath>,
}

impl ChangedPaths {
    /// Adds a path that may be a file or a directory.
    pub(crate) fn add(&mut self, path: RelPath) {
        self.trees.insert(path.clone());
        self.paths.insert(path);
    }

    /// Returns the directories that are in none of the others.
    pub(crate) fn tops(&self) -> impl Iterator<Item = &RelPath> {
        self.trees.iter().filter(|dir| !self.above(dir))
    }

    /// True if a path is, or is in, one of the directories.
    pub(crate) fn covers(&self, path: &RelPath) -> bool {
        self.trees.contains(path) || self.above(path)
    }

    /// True if a path is in one of the directories.
    pub(crate) fn above(&self, path: &RelPath) -> bool {
        let mut at = path.parent();
        while let Some(dir) = at {
            if self.trees.contains(&dir) {
                return true;
            }
            at = dir.parent();
        }
        false
    }

    /// The paths and directories, with all directories above them.
    pub(crate) fn with_parents(&self) -> BTreeSet<RelPath> {
        let mut all = BTreeSet::new();
        for path in self.paths.iter().chain(&self.trees) {
            let mut at = Some(path.clone());
            while let Some(path) = at.filter(|path| !all.contains(path)) {
                at = path.parent();
                all.insert(path);
            }
        }
        all
    }

    /// True if a path is in one of the paths: what was a directory there may be something else now.
    pub(crate) fn passes_through(&self, path: &RelPath) -> bool {
        let mut above = std::iter::successors(path.parent(), RelPath::parent);
        above.any(|dir| self.paths.contains(&dir))
    }

    /// Appends the bytes that `read` parses. No path holds a NUL.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for (kind, all) in [(b'p', &self.paths), (b't', &self.trees)] {
            for path in all {
                out.push(kind);
                out.extend_from_slice(path.bytes());
                out.push(0);
            }
        }
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut touched = Self::default();
        for entry in bytes.split_inclusive(|b| *b == 0) {
            let (kind, path) = entry.strip_suffix(b"\0")?.split_first()?;
            let path = RelPath::new(path)?;
            match kind {
                b'p' => touched.paths.insert(path),
                b't' => touched.trees.insert(path),
                _ => return None,
            };
        }
        Some(touched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> BTreeSet<RelPath> {
        let path = |p: &&str| RelPath::new(p.as_bytes()).expect("a path");
        paths.iter().map(path).collect()
    }

    #[test]
    fn directories_cover_what_is_below_them() {
        let touched = ChangedPaths {
            paths: set(&["x"]),
            trees: set(&["a/b", "a/b/c", "ab"]),
        };
        let tops: Vec<String> = touched.tops().map(RelPath::display).collect();
        assert_eq!(tops, ["a/b", "ab"]);
        let covers = |p: &str| touched.covers(&RelPath::new(p.as_bytes()).expect("a path"));
        assert!(covers("a/b") && covers("a/b/x/y") && covers("ab/z"));
        assert!(!covers("a") && !covers("a/bc") && !covers("x"));
    }

    #[test]
    fn round_trips() {
        let touched = ChangedPaths {
            paths: set(&["a b", "new\nline", "\u{fc}"]),
            trees: set(&["d", "d/e"]),
        };
        let mut bytes = Vec::new();
        touched.write(&mut bytes);
        assert_eq!(ChangedPaths::read(&bytes), Some(touched));
        assert_eq!(ChangedPaths::read(b""), Some(ChangedPaths::default()));
        assert_eq!(ChangedPaths::read(b"pcut off"), None);
        assert_eq!(ChangedPaths::read(b"x?\0"), None);
        assert_eq!(ChangedPaths::read(b"p../out\0"), None);
    }
}
