//! The files of version control, which are never recorded and never restored: known by their names, and git's
//! directories under any name by their content.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use crate::model::RelPath;

/// The rule of a root for the files of version control in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VcsFiles {
    /// They are never recorded and never restored.
    #[default]
    Apart,
    /// They are files as others: the root is the directory of a CI job's run, and the repositories in it are the run's.
    Recorded,
}

impl VcsFiles {
    pub fn are_apart(self) -> bool {
        self == VcsFiles::Apart
    }

    /// As [`is_vcs_name`].
    pub fn is_name(self, name: &[u8]) -> bool {
        self.are_apart() && is_vcs_name(name)
    }

    /// True if an entry of a directory has the name of version control.
    pub fn is_entry(self, name: &[u8], kind: FileType) -> bool {
        self.are_apart() && is_vcs_entry(name, kind)
    }

    /// True if a directory with these entries is one of git's.
    pub fn is_git_dir(self, entries: &[(Vec<u8>, FileType)]) -> bool {
        self.are_apart() && is_git_dir(entries)
    }

    /// True if the directory of this descriptor is one of git's.
    pub fn is_git_dir_at(self, dir: impl AsFd) -> bool {
        self.are_apart() && is_git_dir_at(dir)
    }

    /// Returns the directory of the objects of which this path is one.
    pub fn object_store(self, path: &[u8]) -> Option<&[u8]> {
        object_store(path).filter(|_| self.are_apart())
    }

    /// True if a part of a path has the name of a folder, or a file, of version control.
    pub fn has_named(self, path: &RelPath) -> bool {
        self.are_apart() && is_in_named(path.bytes())
    }

    /// Returns the directory of version control that a path, relative to the root of this descriptor, lies in, or is.
    pub fn dir_of(self, root: impl AsFd, path: &[u8]) -> Option<Vec<u8>> {
        if self.are_apart() {
            dir_of(root, path)
        } else {
            None
        }
    }

    /// As `dir_of`, where `is_git` tells if a directory, empty for the root, is one of git's.
    pub fn dir_with(self, path: &[u8], is_git: impl FnMut(&[u8]) -> bool) -> Option<Vec<u8>> {
        if self.are_apart() {
            dir_with(path, is_git)
        } else {
            None
        }
    }
}

/// Kind of the entry that a system of version control makes under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryKind {
    Dir,
    File,
    Either,
}

/// The names under which version control keeps its own files. Names with a dot are compared without case, as some file
/// systems compare them; a source directory may be called `cvs`.
const NAMES: [(&[u8], EntryKind); 20] = [
    (b".git", EntryKind::Either),
    (b".jj", EntryKind::Either),
    (b".hg", EntryKind::Either),
    (b".svn", EntryKind::Dir),
    (b"_svn", EntryKind::Dir),
    (b".sl", EntryKind::Either),
    (b".repo", EntryKind::Dir),
    (b".pijul", EntryKind::Dir),
    (b"_darcs", EntryKind::Dir),
    (b".bzr", EntryKind::Dir),
    (b"CVS", EntryKind::Dir),
    (b"_MTN", EntryKind::Dir),
    (b".got", EntryKind::Dir),
    (b".plastic", EntryKind::Dir),
    (b"$tf", EntryKind::Dir),
    (b".fslckout", EntryKind::File),
    (b".fslckout-journal", EntryKind::File),
    (b"_FOSSIL_", EntryKind::File),
    (b"_FOSSIL_-journal", EntryKind::File),
    // a nested `.git` while Cline takes a snapshot
    (b".git_disabled", EntryKind::Either),
];

/// The names that mark the top of a project.
pub(crate) const TOPS: [&[u8]; 3] = [b".git", b".jj", b".hg"];

/// True if a file system may take this name for one of version control: some ignore the case, and HFS+ ignores
/// characters that have no width, as git has them in `next_hfs_char`.
pub fn is_vcs_name(name: &[u8]) -> bool {
    is_named(name, None)
}

/// True if an entry of a directory has the name of version control.
fn is_vcs_entry(name: &[u8], kind: FileType) -> bool {
    let is_dir = (kind != FileType::Unknown).then_some(kind == FileType::Directory);
    is_named(name, is_dir)
}

/// True for the name that git gives to a file of objects in a directory of that name. Objects may lie apart from their
/// repository, as alternates and by `GIT_OBJECT_DIRECTORY`.
pub(crate) fn is_git_object(dir: &[u8], name: &[u8]) -> bool {
    const OF_PACKS: [&[u8]; 8] = [
        b"pack",
        b"idx",
        b"rev",
        b"bitmap",
        b"keep",
        b"mtimes",
        b"promisor",
        b"midx",
    ];
    let is_hex = |text: &[u8], lengths: [usize; 2]| {
        let digits = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        lengths.contains(&text.len()) && text.iter().all(digits)
    };
    if dir == b"info" && name == b"commit-graph" || dir == b"commit-graphs" {
        return true;
    }
    if dir == b"pack" {
        if name.starts_with(b"multi-pack-index") || name.starts_with(b"tmp_pack_") {
            return true;
        }
        let hash = name.strip_prefix(b"pack-");
        let mut parts = hash.unwrap_or_default().splitn(2, |b| *b == b'.');
        let (hash, extension) = (parts.next().unwrap_or_default(), parts.next());
        return is_hex(hash, [40, 64]) && extension.is_some_and(|all| OF_PACKS.contains(&all));
    }
    is_hex(dir, [2, 2]) && is_hex(name, [38, 62])
}

/// Returns the directory of the objects of which this path is one, or the part of it that is below a root of objects.
fn object_store(path: &[u8]) -> Option<&[u8]> {
    let end = path.iter().rposition(|b| *b == b'/')?;
    let above = path[..end].iter().rposition(|b| *b == b'/');
    let dir = &path[above.map_or(0, |at| at + 1)..end];
    is_git_object(dir, &path[end + 1..]).then(|| &path[..above.unwrap_or(end)])
}

/// True if a name marks the top of a project. Every project has one, so that no coverage names it.
pub(crate) fn is_top(name: &[u8]) -> bool {
    TOPS.contains(&name)
}

/// True if a path is in a directory of version control, or is one of its files, by the names alone. The last component
/// may be a file.
fn is_in_named(path: &[u8]) -> bool {
    let mut parts = path.split(|b| *b == b'/');
    let last = parts.next_back().unwrap_or_default();
    parts.any(|part| is_named(part, Some(true)))
        || is_named(last, Some(false))
        || object_store(path).is_some()
}

/// `is_dir` tells if the name is a directory's; None: unknown.
fn is_named(name: &[u8], is_dir: Option<bool>) -> bool {
    // no letter of a name is one of these
    if !matches!(
        name.first(),
        Some(b'.' | b'_' | b'$' | b'C' | 0x80..) | None
    ) {
        return false;
    }
    let fits = |entry: EntryKind| match (entry, is_dir) {
        (EntryKind::Either, _) | (_, None) => true,
        (EntryKind::Dir, Some(is_dir)) => is_dir,
        (EntryKind::File, Some(is_dir)) => !is_dir,
    };
    let is_one = |name: &[u8]| {
        NAMES.iter().any(|(vcs, entry)| {
            let is_same = if vcs.starts_with(b".") {
                name.eq_ignore_ascii_case(vcs)
            } else {
                name == *vcs
            };
            // a file of a directory's name is somebody's own, unless the name has a dot
            is_same && (fits(*entry) || vcs.starts_with(b"."))
        })
    };
    if is_one(name) || name.is_ascii() {
        return is_one(name);
    }
    let without_width = |c: char| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let plain: String = String::from_utf8_lossy(name)
        .chars()
        .filter(|c| without_width(*c))
        .collect();
    is_one(plain.as_bytes())
}

/// True if a directory with these entries is one of git's: a repository of any name, or the directory that a linked work
/// tree has in one. As in git, the content of HEAD apart: a damaged repository is one, too.
fn is_git_dir(entries: &[(Vec<u8>, FileType)]) -> bool {
    let kind_of = |wanted: &[u8]| {
        let mut all = entries.iter();
        all.find(|(name, _)| name == wanted).map(|(_, kind)| *kind)
    };
    is_git_dir_with(|name| kind_of(name).map(|kind| kind != FileType::RegularFile))
}

/// True if a directory is one of git's, whose entries `may_be_dir` tells: None if there is none of that name.
fn is_git_dir_with(may_be_dir: impl Fn(&[u8]) -> Option<bool>) -> bool {
    let is_dir = |name: &[u8]| may_be_dir(name) == Some(true);
    // the first questions are the cheap ones: hardly any directory has a HEAD, or objects
    if may_be_dir(b"HEAD").is_some() {
        is_dir(b"objects") && (is_dir(b"refs") || may_be_dir(b"packed-refs").is_some())
            || may_be_dir(b"commondir") == Some(false)
    } else {
        // damaged, or not made yet
        is_dir(b"objects")
            && is_dir(b"refs")
            && (may_be_dir(b"config") == Some(false) || is_dir(b"hooks"))
    }
}

/// True if the directory of this descriptor is one of git's. Costs two `stat` in any other directory.
fn is_git_dir_at(dir: impl AsFd) -> bool {
    let dir = dir.as_fd();
    is_git_dir_with(|name| {
        let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile)
    })
}

/// True if the directory of this path is one of git's.
pub fn is_git_dir_path(dir: &Path) -> bool {
    is_git_dir_with(|name| {
        let meta = std::fs::symlink_metadata(dir.join(OsStr::from_bytes(name))).ok()?;
        Some(!meta.is_file())
    })
}

/// True if git keeps a file or directory of this name at the top of a repository. The root of a workspace may be a
/// repository with work trees, or somebody's files, beside them: only there the names decide.
pub(crate) fn is_git_entry(name: &[u8]) -> bool {
    const ENTRIES: [&[u8]; 37] = [
        b"HEAD",
        b"objects",
        b"refs",
        b"config",
        b"config.worktree",
        b"description",
        b"hooks",
        b"info",
        b"logs",
        b"worktrees",
        b"modules",
        b"packed-refs",
        b"reftable",
        b"branches",
        b"remotes",
        b"index",
        b"shallow",
        b"grafts",
        b"lfs",
        b"annex",
        b"svn",
        b"rr-cache",
        b"commondir",
        b"gitdir",
        b"locked",
        b"common",
        b"sequencer",
        b"rebase-merge",
        b"rebase-apply",
        b"COMMIT_EDITMSG",
        b"MERGE_MSG",
        b"MERGE_MODE",
        b"MERGE_RR",
        b"SQUASH_MSG",
        b"AUTO_MERGE",
        b"gc.pid",
        b"gc.log",
    ];
    ENTRIES.contains(&name)
        || name.ends_with(b"_HEAD")
        || name.ends_with(b".lock")
        || [&b"BISECT_"[..], b"NOTES_", b"sharedindex.", b"fsmonitor--"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Returns the directory of version control that a path, relative to the root of this descriptor, lies in, or is: by its
/// names, and by what is on disk on the way to it. Costs two `stat` for each directory on the way.
fn dir_of(root: impl AsFd, path: &[u8]) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // the directories are asked for from the top down, each below the one before
    let mut at: Option<(OwnedFd, usize)> = None;
    let mut is_missing = false;
    dir_with(path, |dir| {
        if dir.is_empty() {
            return is_git_dir_at(root.as_fd());
        }
        let (above, start) = match &at {
            Some((above, len)) => (above.as_fd(), len + 1),
            None => (root.as_fd(), 0),
        };
        let opened =
            (!is_missing).then(|| rustix::fs::openat(above, &dir[start..], flags, Mode::empty()));
        let Some(Ok(opened)) = opened else {
            is_missing = true;
            return false;
        };
        let is_git = is_git_dir_at(&opened);
        at = Some((opened, dir.len()));
        is_git
    })
}

/// As `dir_of`, where `is_git` tells if a directory, empty for the root, is one of git's.
fn dir_with(path: &[u8], mut is_git: impl FnMut(&[u8]) -> bool) -> Option<Vec<u8>> {
    if let Some(named) = named_dir_of(path) {
        return Some(named.to_vec());
    }
    let mut slashes = (0..path.len()).filter(|at| path[*at] == b'/');
    let first = slashes.next();
    let top = &path[..first.unwrap_or(path.len())];
    if is_git(b"") && is_git_entry(top) {
        return Some(top.to_vec());
    }
    let mut ends = first.into_iter().chain(slashes);
    ends.find(|end| is_git(&path[..*end]))
        .map(|end| path[..end].to_vec())
}

/// Returns the part of a path up to the first name of version control.
fn named_dir_of(path: &[u8]) -> Option<&[u8]> {
    if !is_in_named(path) {
        return None;
    }
    let slashes = (0..path.len()).filter(|at| path[*at] == b'/');
    let parts = slashes.chain([path.len()]).map(|end| &path[..end]);
    { parts }
        .find(|part| is_vcs_name(part.rsplit(|b| *b == b'/').next().unwrap_or(part)))
        .or(object_store(path))
        .or(Some(path))
}

/// Returns the directory of version control that a path below a root lies in, or is.
pub fn dir_below(root: &Path, path: &Path) -> Option<PathBuf> {
    let dir = dir_with(path.as_os_str().as_bytes(), |dir| {
        is_git_dir_path(&root.join(OsStr::from_bytes(dir)))
    });
    dir.map(|dir| root.join(OsStr::from_bytes(&dir)))
}

/// Returns the directory of version control that an absolute path lies in, or is. The search ends at a directory that has
/// a `.git`: work trees may be below a bare repository.
pub fn dir_above(path: &Path) -> Option<PathBuf> {
    for (at, dir) in path.ancestors().enumerate() {
        let is_dir = at > 0;
        let name = dir.file_name().map_or(&b""[..], OsStrExt::as_bytes);
        if is_named(name, Some(is_dir)) || is_dir && is_git_dir_path(dir) {
            return Some(dir.to_path_buf());
        }
        if is_dir && dir.join(".git").symlink_metadata().is_ok() {
            break;
        }
    }
    None
}

/// True if a directory was one of git's by the paths that an older version recorded in it as files of the project. The
/// disk need not have it any longer.
pub(crate) fn is_recorded_git_dir(
    dir: &[u8],
    is_known: &mut dyn FnMut(&[u8]) -> bool,
    any_below: &mut dyn FnMut(&[u8]) -> bool,
) -> bool {
    let at = |name: &[u8]| match dir {
        b"" => name.to_vec(),
        dir => [dir, b"/", name].concat(),
    };
    is_known(&at(b"HEAD"))
        && (any_below(&at(b"objects"))
            && (any_below(&at(b"refs"))
                || is_known(&at(b"packed-refs"))
                || is_known(&at(b"config")))
            || is_known(&at(b"commondir")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(names: &str) -> Vec<(Vec<u8>, FileType)> {
        let entry = |name: &str| match name.strip_suffix('/') {
            Some(dir) => (dir.as_bytes().to_vec(), FileType::Directory),
            None => (name.as_bytes().to_vec(), FileType::RegularFile),
        };
        names.split(' ').map(entry).collect()
    }

    #[test]
    fn a_git_directory_is_known_by_its_entries() {
        for (entries, expected) in [
            ("HEAD objects/ refs/", true),
            ("HEAD config hooks/ info/ objects/ refs/ packed-refs", true),
            ("HEAD objects/ refs/ reftable/", true),
            ("HEAD objects/ packed-refs", true),
            ("HEAD commondir gitdir index", true),
            ("HEAD", false),
            ("HEAD src/ Makefile", false),
            ("HEAD objects/", false),
            ("HEAD refs/ src/", false),
            ("HEAD objects refs", false),
            ("objects/ refs/", false),
            ("config objects/ refs/", true),
            ("config/ objects/ refs/ src/", false),
            ("head objects/ refs/", false),
        ] {
            assert_eq!(is_git_dir(&listing(entries)), expected, "{entries}");
        }
    }

    #[test]
    fn names_of_version_control_are_known_at_any_depth() {
        for path in [
            ".git",
            ".GIT/config",
            "a/.g\u{200c}it/config",
            ".svn/wc.db",
            "a/CVS/Entries",
            "_darcs/inventory",
            ".sl/x",
            ".repo/manifest.xml",
            ".pijul/x",
            ".bzr/x",
            ".fslckout",
            "_FOSSIL_",
            "nested/.git_disabled/HEAD",
            "objs/e6/9de29bb2d1d6434b8b29ae775ad8c2e48c5391",
            "e6/9de29bb2d1d6434b8b29ae775ad8c2e48c5391",
            "o/pack/pack-0123456789abcdef0123456789abcdef01234567.idx",
        ] {
            assert!(is_in_named(path.as_bytes()), "{path}");
            assert!(named_dir_of(path.as_bytes()).is_some(), "{path}");
        }
        for path in [
            "src/cvs/mod.rs",
            "CVS",
            "_darcs",
            "git/x",
            ".gitignore",
            ".github/x",
            "a.git",
            "cache/e6/9de29bb2d1d6434b8b29ae775ad8c2e48c53910",
            "cache/e6/9de29bb2d1d6434b8b29ae775ad8c2e48c5391.txt",
            "o/pack/pack-1.idx",
        ] {
            assert!(!is_in_named(path.as_bytes()), "{path}");
        }
        assert_eq!(named_dir_of(b"a/.svn/b/c"), Some(&b"a/.svn"[..]));
        let object = b"a/objs/e6/9de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        assert_eq!(named_dir_of(object), Some(&b"a/objs"[..]));
    }

    #[test]
    fn what_an_older_version_recorded_of_a_repository_is_known_by_its_paths() {
        let recorded = [
            "m/HEAD",
            "m/objects/ab/cd",
            "m/refs/heads/x",
            "p/HEAD",
            "p/objects/x.obj",
        ];
        let mut known = |path: &[u8]| recorded.iter().any(|r| r.as_bytes() == path);
        let mut below = |dir: &[u8]| {
            let inside = [dir, b"/"].concat();
            recorded.iter().any(|r| r.as_bytes().starts_with(&inside))
        };
        assert!(is_recorded_git_dir(b"m", &mut known, &mut below));
        assert!(!is_recorded_git_dir(b"p", &mut known, &mut below));
        assert!(!is_recorded_git_dir(b"", &mut known, &mut below));
    }
}
