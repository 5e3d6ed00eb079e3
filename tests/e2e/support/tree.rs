//! Files on disk, as a value that can be compared.

use std::collections::BTreeMap;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

/// Every path below a directory, relative to it.
pub type Tree = BTreeMap<PathBuf, Entry>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Symlink,
    Other,
}

/// One path: its kind, its permission bits (0 for a link) and its content (a link's target).
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub mode: u32,
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(&self.bytes);
        write!(f, "{:?} {:o} {text:?}", self.kind, self.mode)
    }
}

/// All files of `.git`, and the time when its index was last written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDigest {
    pub files: Tree,
    /// Seconds and nanoseconds.
    pub index_mtime: Option<(i64, i64)>,
}

/// All files below a directory, except those in a `.git`.
pub fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    walk(root, root, &|name| name != ".git", &mut found);
    found
}

/// All files below a `.git` directory.
pub fn git_digest(git: &Path) -> GitDigest {
    let mut files = Tree::new();
    if git.is_dir() {
        walk(git, git, &|_| true, &mut files);
    }
    let index = git.join("index").symlink_metadata().ok();
    let index_mtime = index.map(|m| (m.mtime(), m.mtime_nsec()));
    GitDigest { files, index_mtime }
}

fn walk(
    root: &Path,
    directory: &Path,
    wanted: &dyn Fn(&std::ffi::OsStr) -> bool,
    found: &mut Tree,
) {
    let listing =
        fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    for entry in listing {
        let entry = entry.expect("an entry");
        if !wanted(&entry.file_name()) {
            continue;
        }
        let path = entry.path();
        let metadata = entry.metadata().expect("metadata");
        let mode = metadata.permissions().mode() & 0o7777;
        let (kind, mode, bytes) = if metadata.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            (Kind::Symlink, 0, target.into_os_string().into_vec())
        } else if metadata.is_dir() {
            (Kind::Directory, mode, Vec::new())
        } else if metadata.is_file() {
            (Kind::File, mode, fs::read(&path).expect("a file"))
        } else {
            (Kind::Other, mode, Vec::new())
        };
        let name = path.strip_prefix(root).expect("below the root").to_owned();
        found.insert(name, Entry { kind, mode, bytes });
        if kind == Kind::Directory {
            walk(root, &path, wanted, found);
        }
    }
}

/// Difference of two trees, one line per path: for messages.
pub fn difference(before: &Tree, after: &Tree) -> String {
    let mut lines = Vec::new();
    for path in before
        .keys()
        .chain(after.keys().filter(|p| !before.contains_key(*p)))
    {
        let (a, b) = (before.get(path), after.get(path));
        if a != b {
            let name = String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned();
            lines.push(format!("{name}:\n  - {a:?}\n  + {b:?}"));
        }
    }
    lines.join("\n")
}

/// Asserts that two trees are equal, and names the differences.
#[track_caller]
pub fn assert_same(actual: &Tree, expected: &Tree) {
    assert!(actual == expected, "{}", difference(expected, actual));
}

#[cfg(test)]
mod tests {
    use super::super::World;
    use super::*;

    #[test]
    fn a_tree_knows_content_mode_and_kind() {
        let world = World::git();
        world.write("a.txt", "one");
        world.symlink("a.txt", "link");
        world.write("sub/.git/x", "not seen");
        let before = world.tree();
        let names: Vec<_> = before.keys().map(|p| p.to_str().unwrap()).collect();
        assert_eq!(names, ["a.txt", "link", "sub"]);
        assert_eq!(before[Path::new("link")].kind, Kind::Symlink);

        world.set_mode("a.txt", 0o755);
        let changed = difference(&before, &world.tree());
        assert!(
            changed.starts_with("a.txt:") && changed.contains("755"),
            "{changed}"
        );
        assert_eq!(difference(&before, &before), "");
    }

    #[test]
    fn a_digest_of_git_sees_the_index() {
        let world = World::git();
        world.write("a.txt", "one");
        let before = world.git_digest();
        assert_eq!(before, world.git_digest());
        assert_eq!(before.index_mtime, None);
        world.git_ok(["add", "a.txt"]);
        let after = world.git_digest();
        assert!(after.index_mtime.is_some() && after.files.contains_key(Path::new("index")));
        assert_ne!(before, after);
    }
}
