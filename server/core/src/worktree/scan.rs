//! Compares the disk with the file states: a parallel walk that honours .gitignore, then the known paths that it did not
//! visit. Finds differences; records nothing.

mod examine;
mod findings;
mod gathered;
mod git_backing;
mod path_rules;
mod unvisited;
mod walk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustc_hash::FxHashSet;

use crate::error::{Error, Result};
use crate::git::objects::Repository;
use crate::hint::Hint;
use crate::model::RelPath;
use crate::process;
use crate::store::PackWriter;
use crate::worktree::changed_paths::ChangedPaths;
use crate::worktree::clean_index::CleanIndex;
use crate::worktree::directories::NotedDirs;
use crate::worktree::disk::Root;
use crate::worktree::file_state::FileStates;
use crate::worktree::ignore_rules::Excludes;
use crate::worktree::linked_worktrees::LinkedWorktrees;
use crate::worktree::pending_saves::Pending;
use gathered::Gathered;
use path_rules::{PathRules, WalkDir, is_in_any};

pub(crate) use examine::reason;
pub(crate) use findings::{DirTimes, Findings, Found, Materialized};

/// Baseline of a scan, compared with the disk: the recorded state when the scan began.
#[derive(Clone, Copy)]
pub(crate) struct Baseline<'a> {
    pub known: &'a FileStates,
    pub pending: &'a Pending,
    pub excludes: &'a Excludes,
    /// Directories in the root with their own history: not scanned.
    pub others: &'a [RelPath],
    /// The only paths to scan, if nothing else has changed; `known` then has only their rows.
    pub only: Option<&'a ChangedPaths>,
    /// True to keep the contents that are found; otherwise only the paths are reported.
    pub store_contents: bool,
    /// Git's index, which vouches for files that were never read.
    pub clean_index: Option<&'a CleanIndex>,
    /// Repositories that may hold git-backed content.
    pub repositories: &'a [Repository],
    /// Work trees that may have that content on disk.
    pub work_trees: &'a [PathBuf],
    /// Git-backed files whose blobs git may soon remove.
    pub stale_entries: &'a FxHashSet<RelPath>,
    /// Set when the scan is cancelled.
    pub cancel: Option<&'a AtomicBool>,
    /// Permission bits of most directories. None: those of the root.
    pub usual_dir_mode: Option<u32>,
}

/// Scans the root, or the part of it that may have changed. `tick` is called from time to time with the number of
/// files scanned.
pub(crate) fn scan(
    root: &Root,
    store: &Path,
    against: &Baseline<'_>,
    deadline: Option<Instant>,
    tick: &mut dyn FnMut(u64),
) -> Result<Findings> {
    if !root.is_there() {
        return Err(Error::refused(
            format!("the workspace {} is gone", root.path.display()),
            Hint::Gone,
        ));
    }
    crate::fault::point("scan begun");
    let cancel = against.cancel;
    let is_cancelled = || cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
    let late = || is_cancelled() || deadline.is_some_and(|d| Instant::now() >= d);
    let scan = Scan::new(root, store, against);
    let mut path_rules = PathRules::new(root, against.excludes);
    let dirs = dirs_to_walk(against, &mut path_rules);
    let threads = thread_count(against.only, &dirs);
    scan.walk(dirs, threads, &late, tick);
    if let Some(clean_index) = against.clean_index {
        scan.confirm_clean(clean_index, deadline, threads, &late);
    }
    scan.examine_unvisited(&mut path_rules, &late);
    if let Some(touched) = against.only {
        scan.examine_named(touched, &mut path_rules);
    }
    if against.store_contents {
        scan.fetch_from_git(against.repositories, against.work_trees, &late);
    }
    crate::fault::point("scanned");
    if is_cancelled() {
        return Err(Error::CalledOff);
    }
    scan.findings()
}

/// Returns the directories with which a walk begins.
fn dirs_to_walk(against: &Baseline<'_>, path_rules: &mut PathRules<'_>) -> Vec<WalkDir> {
    let mut worktrees = LinkedWorktrees::new(path_rules.root, Vec::new());
    let Some(touched) = against.only else {
        return vec![WalkDir {
            path: Vec::new(),
            rules: Arc::clone(&path_rules.base),
        }];
    };
    touched
        .tops()
        .filter(|dir| !is_in_any(dir, against.others) && !worktrees.have(dir))
        .filter_map(|dir| path_rules.to(dir))
        .collect()
}

/// Returns how many threads walk these directories.
fn thread_count(only: Option<&ChangedPaths>, dirs: &[WalkDir]) -> usize {
    match only {
        None => std::thread::available_parallelism().map_or(2, usize::from),
        Some(_) if dirs.is_empty() => 1,
        Some(_) => 2,
    }
    .min(8)
}

/// Returns the directories without a file at any depth.
fn bare_dirs(dirs: Vec<(Vec<u8>, bool)>) -> BTreeSet<Vec<u8>> {
    let (with_files, empty): (Vec<_>, Vec<_>) = dirs.into_iter().partition(|(_, held)| *held);
    let mut empty: BTreeSet<Vec<u8>> = empty.into_iter().map(|(dir, _)| dir).collect();
    if empty.is_empty() {
        return empty;
    }
    for (dir, _) in with_files {
        let mut above = dir.as_slice();
        while let Some(at) = above.iter().rposition(|b| *b == b'/') {
            above = &above[..at];
            empty.remove(above);
        }
    }
    empty.remove(&b""[..]);
    empty
}

struct Queue {
    dirs: Vec<WalkDir>,
    /// Threads that may still add directories.
    busy: usize,
}

struct Scan<'a> {
    root: &'a Root,
    store: &'a Path,
    known: &'a FileStates,
    pending: &'a Pending,
    others: &'a [RelPath],
    store_contents: bool,
    /// The only paths to scan. None: the whole tree is walked.
    only: Option<&'a ChangedPaths>,
    /// The device of the root.
    dev: i64,
    /// Permission bits of most directories.
    usual_dir_mode: u32,
    clean_index: Option<&'a CleanIndex>,
    stale_entries: &'a FxHashSet<RelPath>,
    gathered: Mutex<Gathered<'a>>,
    /// Set when contents go to the pack: compress them outside the lock.
    spilling: AtomicBool,
    /// Bytes held of changed large contents.
    large: AtomicUsize,
    queue: Mutex<Queue>,
    wakeup: Condvar,
    expired: AtomicBool,
    files: AtomicU64,
}

impl<'a> Scan<'a> {
    /// Returns a scan that has examined nothing yet.
    fn new(root: &'a Root, store: &'a Path, against: &Baseline<'a>) -> Self {
        let root_stat = root.stat_at(b"");
        Self {
            usual_dir_mode: against
                .usual_dir_mode
                .unwrap_or_else(|| usual_dir_mode(root)),
            root,
            store,
            known: against.known,
            pending: against.pending,
            others: against.others,
            store_contents: against.store_contents,
            only: against.only,
            dev: root_stat.map_or(0, |stat| stat.dev),
            clean_index: against.clean_index,
            stale_entries: against.stale_entries,
            gathered: Mutex::new(Gathered::default()),
            spilling: AtomicBool::new(false),
            large: AtomicUsize::new(0),
            queue: Mutex::new(Queue {
                dirs: Vec::new(),
                busy: 0,
            }),
            wakeup: Condvar::new(),
            expired: AtomicBool::new(false),
            files: AtomicU64::new(0),
        }
    }

    /// Returns everything that the scan found, in the order of the paths.
    fn findings(self) -> Result<Findings> {
        let usual_dir_mode = self.usual_dir_mode;
        let gathered = self
            .gathered
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(e) = gathered.failed {
            return Err(e);
        }
        let mut out = gathered.out;
        out.found.extend(gathered.large);
        if gathered.cache_unreliable {
            out.dir_cache_bytes.clear();
        }
        out.partial = self.expired.load(Ordering::Relaxed);
        out.pack = gathered.pack.map(PackWriter::seal).transpose()?;
        out.found.sort_by(|a, b| a.path.cmp(&b.path));
        out.coverage.items.sort_by(|a, b| a.path.cmp(&b.path));
        out.coverage.pending = out.partial;
        let bare_dirs = bare_dirs(gathered.dirs);
        let bare = bare_dirs.iter().map(|dir| (dir, usual_dir_mode));
        let odd = gathered.odd_dirs.iter().map(|(dir, mode)| (dir, *mode));
        let noted = bare.chain(odd);
        let noted = noted.filter_map(|(dir, mode)| Some((RelPath::new(dir.as_slice())?, mode)));
        out.noted_dirs = NotedDirs::new(usual_dir_mode, noted, self.root.has_past_times());
        out.noted_dirs.worktrees = gathered.worktrees;
        out.noted_dirs.worktrees.sort();
        out.noted_dirs.set_vcs(gathered.vcs_entries);
        out.dir_times = self.root.has_past_times().then(|| {
            let mut times = DirTimes {
                is_whole: self.only.is_none() && !out.partial,
                there: gathered.dir_times,
                gone: Vec::new(),
            };
            times.add_around(self.root, self.only);
            times
        });
        out.bare_dirs = bare_dirs.into_iter().collect::<Vec<_>>().join(&0);
        Ok(out)
    }

    fn gather(&self) -> MutexGuard<'_, Gathered<'a>> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The permission bits that most directories of the root have. The directory of a run is private, and those in it are not.
fn usual_dir_mode(root: &Root) -> u32 {
    if root.has_past_times() {
        return 0o777 & !process::umask();
    }
    let stat = root.stat_at(b"");
    stat.map_or(0o755, |stat| stat.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_bare_if_no_file_is_below_it() {
        let dirs = [
            ("", false),
            ("a", false),
            ("a/b", false),
            ("a/b/c", true),
            ("a/d", false),
            ("e", false),
        ];
        let dirs = dirs.map(|(dir, holds)| (dir.as_bytes().to_vec(), holds));
        let bare: Vec<Vec<u8>> = bare_dirs(dirs.to_vec()).into_iter().collect();
        assert_eq!(bare, [b"a/d".to_vec(), b"e".to_vec()]);
    }
}
