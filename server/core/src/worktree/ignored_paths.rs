//! The paths that the ignore rules hide, at their tops: nothing of them is recorded, but it is known if a command removes or
//! changes them. Kept in a file beside the store, and checked with one `stat` for each of a limited number.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::error::{Context, Result};
use crate::model::{RelPath, RootId};
use crate::worktree::disk::{Root, Stat};

/// Maximum number of paths that are watched, those nearest to the root first.
const MAX_PATHS: usize = 256;
/// Maximum number of them in one directory.
pub(crate) const MAX_IN_DIR: usize = 32;

/// An ignored file or directory, as it was at the last scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IgnoredPath {
    pub path: RelPath,
    pub is_dir: bool,
    size: i64,
    mtime: i64,
    inode: i64,
}

impl IgnoredPath {
    pub(crate) fn new(path: RelPath, stat: &Stat) -> Self {
        Self {
            path,
            is_dir: stat.kind() == FileType::Directory,
            size: stat.size,
            mtime: stat.mtime,
            inode: stat.inode,
        }
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
}

impl IgnoredChange {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Changed => "changed",
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
    let mut changes = Vec::new();
    let mut now = Vec::new();
    for old in before.unwrap_or_default() {
        match root.stat(&old.path) {
            None => changes.push((old, IgnoredChange::Removed)),
            Some(stat) => {
                let new = IgnoredPath::new(old.path.clone(), &stat);
                if new.is_dir != old.is_dir {
                    changes.push((old, IgnoredChange::Removed));
                } else if new != old {
                    changes.push((old, IgnoredChange::Changed));
                }
                now.push(new);
            }
        }
    }
    let paths = match walked {
        Some(walked) => Some(nearest(walked)),
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
            "{kind}\0{}\0{}\0{}\0",
            path.size, path.mtime, path.inode
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
        paths.push(IgnoredPath {
            is_dir: kind == b"d",
            size,
            mtime,
            inode,
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
        };
        let paths = vec![path(".env", false), path("a\nb/data", true)];
        save(dir.path(), RootId(1), &paths).expect("written");
        assert_eq!(read(dir.path(), RootId(1)), Some(paths));
        assert_eq!(read(dir.path(), RootId(2)), None);
        assert_eq!(parse(b""), Some(Vec::new()));
        assert_eq!(parse(b"f\x001\x002"), None);
        assert_eq!(parse(b"f\x00x\x002\x003\x00a\x00"), None);
    }

    #[test]
    fn the_paths_nearest_to_the_root_are_watched() {
        let path = |name: String| IgnoredPath {
            path: RelPath::new(name).expect("a path"),
            is_dir: false,
            size: 0,
            mtime: 0,
            inode: 0,
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
