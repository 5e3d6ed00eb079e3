//! Differences between the disk and the record, as a scan found them.

use std::collections::BTreeSet;

use rustix::fs::FileType;

use crate::model::{Coverage, Image, RelPath};
use crate::store::SealedPack;
use crate::worktree::changed_paths::ChangedPaths;
use crate::worktree::directories::NotedDirs;
use crate::worktree::disk::{Root, Stat};
use crate::worktree::ignored_paths::{IgnoredNow, IgnoredPath};

/// A path whose image differs from the recorded one.
#[derive(Debug)]
pub(crate) struct Found {
    pub path: RelPath,
    pub image: Image,
    pub stat: Option<Stat>,
    /// The content, unless it is in the pack.
    pub bytes: Option<Vec<u8>>,
}

/// Git-backed content as the store's own.
#[derive(Debug)]
pub(crate) struct Materialized {
    pub path: RelPath,
    pub backed: Image,
    /// Unreadable if git no longer has it.
    pub own: Image,
    /// The content, unless it is in the pack.
    pub bytes: Option<Vec<u8>>,
}

/// Times of the directories that a scan met.
#[derive(Debug, Default)]
pub(crate) struct DirTimes {
    /// True if the scan met all directories.
    pub is_whole: bool,
    /// Nanoseconds since 1970.
    pub there: Vec<(RelPath, i64)>,
    /// Paths without a directory now. All below them is gone, too.
    pub gone: Vec<RelPath>,
}

impl DirTimes {
    /// Adds the directories of which a partial scan looked at entries alone, and paths that are gone.
    pub(super) fn add_around(&mut self, root: &Root, only: Option<&ChangedPaths>) {
        let Some(only) = only else { return };
        let named = || only.paths.iter().chain(&only.trees);
        let around = named().filter_map(RelPath::parent);
        let around: BTreeSet<RelPath> = around.chain(named().cloned()).collect();
        for path in around {
            let stat = root.stat(&path);
            match stat.filter(|stat| stat.kind() == FileType::Directory) {
                Some(stat) => self.there.push((path, stat.mtime)),
                None => self.gone.push(path),
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct Findings {
    pub found: Vec<Found>,
    /// Content to store because git may not keep it.
    pub materialized: Vec<Materialized>,
    /// Paths with the recorded image but another stat. The new stat is saved so that the file is not read again.
    pub stat_updates: Vec<(RelPath, Stat)>,
    /// In a run, paths whose times or permission bits are not recorded yet as the scan found them, while their content may be.
    pub late: Vec<RelPath>,
    /// Known paths that are on disk but were not visited by the walk: ignored, and still tracked.
    pub unvisited: Vec<RelPath>,
    /// Hard-linked files, which may be written through another name.
    pub linked: Vec<RelPath>,
    /// Ids of the pending saves that have been saved.
    pub saved: Vec<i64>,
    pub pack: Option<SealedPack>,
    pub coverage: Coverage,
    /// The directory cache of a full walk.
    pub dir_cache_bytes: Vec<u8>,
    /// The ignored paths that a walk found, at their tops.
    pub ignored: Vec<IgnoredPath>,
    /// The ignored paths that are gone or changed since the last scan.
    pub ignored_now: IgnoredNow,
    /// Directories without a file at any depth, NUL-separated.
    pub bare_dirs: Vec<u8>,
    /// Named paths that have no file and no row. A tool may have told of the removal: their directories may be bare since.
    pub absent: Vec<RelPath>,
    /// The directories of the scanned part that files alone do not tell.
    pub noted_dirs: NotedDirs,
    /// Times of directories. None: the root keeps none.
    pub dir_times: Option<DirTimes>,
    /// The deadline passed: a path that was not found proves nothing.
    pub partial: bool,
}
