//! The paths that the ignore rules hide, at their tops: nothing of them is recorded, but it is known if a command removes or
//! changes them. They are kept in a file beside the store. Each of a limited number is checked with one `stat`, and so is each
//! entry in a small directory.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::error::{Context, Result};
use crate::model::{RelPath, RootId};
use crate::worktree::disk::{Root, Stat};

/// Maximum number of paths that are watched, those nearest to the root first.
const MAX_PATHS: usize = 256;
/// Maximum number of them in one directory.
pub(crate) const MAX_IN_DIR: usize = 32;
/// Maximum number of entries in a directory that is looked into, at any depth.
const MAX_INSIDE: usize = 256;
/// Maximum number of entries in all such directories.
const MAX_ALL_INSIDE: usize = 2048;
/// Directories that programs fill by themselves, and can fill again. One with this file says so itself.
const CACHE_TAG: &str = "CACHEDIR.TAG";
const CACHES: &[&[u8]] = &[b"node_modules", b"__pycache__", b".venv", b"venv"];

/// An ignored file or directory, as it was at the last scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IgnoredPath {
    pub path: RelPath,
    pub is_dir: bool,
    size: i64,
    mtime: i64,
    inode: i64,
    /// Sum over the entries of a directory. None: it is a file, a cache, or it has too many.
    inside: Option<u64>,
}

/// Looks into ignored directories, a limited number of entries in all.
struct InsideReader<'a> {
    root: &'a Root,
    left: usize,
}

impl InsideReader<'_> {
    /// Returns the sum over the entries of a directory. `old`: the same path at the last scan.
    fn sum(&mut self, path: &IgnoredPath, old: Option<&IgnoredPath>) -> Option<u64> {
        let was_too_large = old.is_some_and(|old| old.inside.is_none() && old.is_same(path));
        let name = path.path.bytes().rsplit(|b| *b == b'/').next();
        if !path.is_dir || was_too_large || name.is_some_and(|name| CACHES.contains(&name)) {
            return None;
        }
        let dir = self.root.path.join(path.path.to_path());
        if dir.join(CACHE_TAG).exists() {
            return None;
        }
        let mut budget = MAX_INSIDE.min(self.left);
        let given = budget;
        let sum = sum_of(&dir, &mut budget);
        self.left -= given - budget;
        sum
    }
}

/// The order of entries does not count.
fn sum_of(dir: &Path, left: &mut usize) -> Option<u64> {
    let mut sum = 0_u64;
    for entry in std::fs::read_dir(dir).ok()? {
        *left = left.checked_sub(1)?;
        let entry = entry.ok()?;
        // one that has just gone is not there
        let Ok(stat) = entry.metadata() else { continue };
        let mut hasher = DefaultHasher::new();
        entry.path().hash(&mut hasher);
        (stat.mode(), stat.size(), stat.ino()).hash(&mut hasher);
        (stat.mtime(), stat.mtime_nsec()).hash(&mut hasher);
        sum = sum.wrapping_add(hasher.finish());
        if stat.is_dir() {
            sum = sum.wrapping_add(sum_of(&entry.path(), left)?);
        }
    }
    Some(sum)
}

impl IgnoredPath {
    pub(crate) fn new(path: RelPath, stat: &Stat) -> Self {
        Self {
            path,
            is_dir: stat.kind() == FileType::Directory,
            size: stat.size,
            mtime: stat.mtime,
            inode: stat.inode,
            inside: None,
        }
    }

    /// True if the path itself has not changed.
    fn is_same(&self, other: &Self) -> bool {
        let facts = |one: &Self| (one.is_dir, one.size, one.mtime, one.inode);
        facts(self) == facts(other)
    }

    /// True if the entries of a directory changed. Sums that are not known are not compared.
    fn differs_inside(&self, old: &Self) -> bool {
        matches!((self.inside, old.inside), (Some(now), Some(before)) if now != before)
    }

    /// Path for people: a directory's has a slash at its end.
    pub(crate) fn shown(&self) -> Vec<u8> {
        let slash = if self.is_dir { &b"/"[..] } else { b"" };
        [self.path.bytes(), slash].concat()
    }
}

/// Difference of an ignored path from the last scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IgnoredChange {
    Removed,
    Changed,
    /// Entries of a directory, as far as it is looked into.
    ChangedInside,
}

impl IgnoredChange {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::ChangedInside => "changed inside",
        }
    }
}

/// The ignored paths after a scan.
#[derive(Clone, Debug, Default)]
pub(crate) struct IgnoredNow {
    pub changes: Vec<(IgnoredPath, IgnoredChange)>,
    /// The paths to compare with at the next scan. None: they are as they were.
    pub paths: Option<Vec<IgnoredPath>>,
}

/// Compares the ignored paths of the last scan with the disk. `walked` are those that a full walk has just found.
pub(crate) fn compare(
    store: &Path,
    root: &Root,
    here: RootId,
    walked: Option<Vec<IgnoredPath>>,
) -> IgnoredNow {
    let before = read(store, here);
    let known = before.is_some();
    let mut reader = InsideReader {
        root,
        left: MAX_ALL_INSIDE,
    };
    let mut changes = Vec::new();
    let mut now = Vec::new();
    for old in before.unwrap_or_default() {
        match root.stat(&old.path) {
            None => changes.push((old, IgnoredChange::Removed)),
            Some(stat) => {
                let mut new = IgnoredPath::new(old.path.clone(), &stat);
                new.inside = reader.sum(&new, Some(&old));
                if new.is_dir != old.is_dir {
                    changes.push((old, IgnoredChange::Removed));
                } else if new.differs_inside(&old) {
                    changes.push((old, IgnoredChange::ChangedInside));
                } else if !new.is_same(&old) {
                    changes.push((old, IgnoredChange::Changed));
                }
                now.push(new);
            }
        }
    }
    let paths = match walked {
        Some(walked) => {
            let known: HashMap<&RelPath, &IgnoredPath> =
                now.iter().map(|one| (&one.path, one)).collect();
            let mut paths = nearest(walked);
            for path in &mut paths {
                path.inside = match known.get(&path.path) {
                    Some(known) => known.inside,
                    None => reader.sum(path, None),
                };
            }
            Some(paths)
        }
        None => (known && !changes.is_empty()).then_some(now),
    };
    IgnoredNow { changes, paths }
}

fn nearest(mut paths: Vec<IgnoredPath>) -> Vec<IgnoredPath> {
    let depth = |path: &IgnoredPath| path.path.bytes().split(|b| *b == b'/').count();
    paths.sort_by(|a, b| (depth(a), &a.path).cmp(&(depth(b), &b.path)));
    paths.truncate(MAX_PATHS);
    paths
}

fn file(store: &Path, root: RootId) -> PathBuf {
    store.join(format!("ignored-{}", root.0))
}

/// Writes the paths of a scan that has just been recorded.
pub(crate) fn save(store: &Path, root: RootId, paths: &[IgnoredPath]) -> Result<()> {
    let mut out = Vec::new();
    for path in paths {
        let kind = if path.is_dir { 'd' } else { 'f' };
        write!(
            out,
            "{kind}\0{}\0{}\0{}\0{}\0",
            path.size,
            path.mtime,
            path.inode,
            path.inside.map(|sum| sum.to_string()).unwrap_or_default()
        )
        .ok();
        out.extend_from_slice(path.path.bytes());
        out.push(0);
    }
    let path = file(store, root);
    let temp = path.with_extension(format!("tmp{}", std::process::id()));
    crate::store::private_file(&temp)
        .create(true)
        .truncate(true)
        .write(true)
        .open(&temp)
        .and_then(|mut file| file.write_all(&out))
        .and_then(|()| std::fs::rename(&temp, &path))
        .at("write", &path)
}

/// None: there are none, or the file is damaged.
fn read(store: &Path, root: RootId) -> Option<Vec<IgnoredPath>> {
    parse(&std::fs::read(file(store, root)).ok()?)
}

fn parse(bytes: &[u8]) -> Option<Vec<IgnoredPath>> {
    let mut fields = bytes.split(|b| *b == 0);
    let mut paths = Vec::new();
    loop {
        let kind = fields.next()?;
        if kind.is_empty() {
            return Some(paths);
        }
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
        let (size, mtime, inode) = (number()?, number()?, number()?);
        let inside = match fields.next()? {
            b"" => None,
            sum => Some(std::str::from_utf8(sum).ok()?.parse().ok()?),
        };
        paths.push(IgnoredPath {
            is_dir: kind == b"d",
            size,
            mtime,
            inode,
            inside,
            path: RelPath::new(fields.next()?)?,
        });
    }
}

/// Removes the files of all roots, because the history was removed.
pub(crate) fn remove(store: &Path) {
    let entries = std::fs::read_dir(store).into_iter().flatten().flatten();
    for entry in entries {
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(b"ignored-")
        {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip_and_damage_is_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str, is_dir| IgnoredPath {
            path: RelPath::new(name).expect("a path"),
            is_dir,
            size: 3,
            mtime: -4,
            inode: 5,
            inside: is_dir.then_some(u64::MAX),
        };
        let paths = vec![path(".env", false), path("a\nb/data", true)];
        save(dir.path(), RootId(1), &paths).expect("written");
        assert_eq!(read(dir.path(), RootId(1)), Some(paths));
        assert_eq!(read(dir.path(), RootId(2)), None);
        assert_eq!(parse(b""), Some(Vec::new()));
        assert_eq!(parse(b"f\x001\x002"), None);
        assert_eq!(parse(b"f\x00x\x002\x003\x00\x00a\x00"), None);
        // an older version wrote this
        assert_eq!(parse(b"f\x001\x002\x003\x00a\x00"), None);
    }

    #[test]
    fn the_paths_nearest_to_the_root_are_watched() {
        let path = |name: String| IgnoredPath {
            path: RelPath::new(name).expect("a path"),
            is_dir: false,
            size: 0,
            mtime: 0,
            inode: 0,
            inside: None,
        };
        let deep = (0..300).map(|n| path(format!("a/{n:03}")));
        let all: Vec<IgnoredPath> = deep.chain([path("z".to_owned())]).collect();
        let kept = nearest(all);
        assert_eq!(
            (kept.len(), kept[0].path.display()),
            (MAX_PATHS, "z".to_owned())
        );
    }
}
