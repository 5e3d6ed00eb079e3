//! Compares the disk with the file states: a parallel walk that honours .gitignore, then a check of every known path
//! that the walk did not visit. Finds differences; records nothing.

mod findings;
mod gathered;
mod git_backing;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::git::objects::Repository;
use crate::hint::Hint;
use crate::model::{Image, Opaque, Reason, RelPath, bytes_path};
use crate::places::is_linked_worktree;
use crate::store::{PackWriter, Packed};
use crate::system::read_small;
use crate::vcs;
use crate::worktree::changed_paths::ChangedPaths;
use crate::worktree::clean_index::CleanIndex;
use crate::worktree::dir_cache::DirRecord;
use crate::worktree::directories::NotedDirs;
use crate::worktree::disk::{DirListing, DiskEntry, Root, Stat, TEMP_PREFIX};
use crate::worktree::file_state::{FileState, FileStates};
use crate::worktree::git_index::ATTRIBUTES;
use crate::worktree::ignore_rules::{self, Excludes, Rules};
use crate::worktree::ignored_paths::{IgnoredPath, MAX_IN_DIR};
use crate::worktree::linked_worktrees::LinkedWorktrees;
use crate::worktree::pending_saves::Pending;
use gathered::{Gathered, LARGE, LARGE_TOTAL};

pub(crate) use findings::{Findings, Found, Materialized};

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

/// True if a path is one of these directories or in one.
fn is_in_any(path: &RelPath, dirs: &[RelPath]) -> bool {
    dirs.iter().any(|dir| path.within(dir.bytes()))
}

/// True if a path is one of these directories or in one.
fn is_in_any_of(path: &RelPath, dirs: &FxHashSet<RelPath>) -> bool {
    let above = || std::iter::successors(Some(path.clone()), RelPath::parent);
    !dirs.is_empty() && above().any(|dir| dirs.contains(&dir))
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

/// True if a listed directory inside the root is a linked worktree: its own workspace.
fn is_worktree(full: &Path, path: &[u8], listed: &DirListing) -> bool {
    let is_git_file =
        |(name, kind): &(Vec<u8>, FileType)| name == b".git" && *kind != FileType::Directory;
    !path.is_empty() && listed.entries.iter().any(is_git_file) && is_linked_worktree(full)
}

/// Ignore rules of paths that are reached without a walk.
struct PathRules<'a> {
    root: &'a Root,
    base: Arc<Rules>,
    /// The .gitignore files that have been read.
    read: FxHashMap<RelPath, Option<Vec<u8>>>,
    /// The directories of which it is known if they are git's.
    git_dirs: FxHashMap<Vec<u8>, bool>,
}

impl<'a> PathRules<'a> {
    fn new(root: &'a Root, excludes: &Excludes) -> Self {
        Self {
            root,
            base: Rules::base(excludes),
            read: FxHashMap::default(),
            git_dirs: FxHashMap::default(),
        }
    }

    /// Returns the directory of version control that a path lies in, or is.
    fn vcs_dir(&mut self, path: &RelPath) -> Option<Vec<u8>> {
        let (root, git_dirs) = (self.root, &mut self.git_dirs);
        vcs::dir_with(path.bytes(), |dir| {
            if let Some(known) = git_dirs.get(dir) {
                return *known;
            }
            let is_git = vcs::is_git_dir_path(&root.path.join(bytes_path(dir)));
            git_dirs.insert(dir.to_vec(), is_git);
            is_git
        })
    }

    /// Returns a directory to walk. None: it does not exist or is ignored.
    fn to(&mut self, dir: &RelPath) -> Option<WalkDir> {
        if self.vcs_dir(dir).is_some() {
            return None;
        }
        let (root, read) = (self.root, &mut self.read);
        let mut text = |file: &RelPath| Self::text(root, read, file);
        let rules = ignore_rules::down_to(&self.base, dir.bytes(), &mut text)?;
        let is_there = root.is_dir(dir.bytes()) && root.is_exact_dir(dir.bytes());
        is_there.then(|| WalkDir {
            path: dir.bytes().to_vec(),
            rules,
        })
    }

    fn ignored(&mut self, path: &RelPath) -> bool {
        let (root, read) = (self.root, &mut self.read);
        let mut text = |file: &RelPath| Self::text(root, read, file);
        ignore_rules::was_ignored(&self.base, path, &mut text)
    }

    fn text(
        root: &Root,
        read: &mut FxHashMap<RelPath, Option<Vec<u8>>>,
        file: &RelPath,
    ) -> Option<Vec<u8>> {
        let text = || read_small(&root.path.join(file.to_path()), false);
        read.entry(file.clone()).or_insert_with(text).clone()
    }
}

struct WalkDir {
    path: Vec<u8>,
    rules: Arc<Rules>,
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
                .or(root_stat.map(|stat| stat.permissions()))
                .unwrap_or(0o755),
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

    /// Walks these directories and all below them, on several threads.
    fn walk(
        &self,
        dirs: Vec<WalkDir>,
        threads: usize,
        late: &(dyn Fn() -> bool + Sync),
        tick: &mut dyn FnMut(u64),
    ) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .dirs = dirs;
        std::thread::scope(|s| {
            for _ in 1..threads {
                s.spawn(|| self.work(late, &mut |_| {}));
            }
            self.work(late, tick);
        });
    }

    /// Examines the known paths that the walk did not visit: they are gone, or ignored by now and still tracked.
    fn examine_unvisited(&self, path_rules: &mut PathRules<'_>, late: &(dyn Fn() -> bool + Sync)) {
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
                None => path.is_in_vcs() || is_in_any_of(path, &vcs_dirs),
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

    /// Returns the directories of version control: those that the walk met, and those that the records show, since an
    /// older version took them for files of the project.
    fn vcs_dirs(&self, unvisited: &[&RelPath]) -> FxHashSet<RelPath> {
        let mut dirs = self.gather().vcs_dirs.clone();
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
    fn examine_named(&self, touched: &ChangedPaths, path_rules: &mut PathRules<'_>) {
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
                let read = |image: &Image| self.root.reread_entry(path, image);
                self.examine(path.clone(), self.root.stat(path), &read);
            }
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
        out.noted_dirs = NotedDirs::new(usual_dir_mode, noted);
        out.noted_dirs.worktrees = gathered.worktrees;
        out.noted_dirs.worktrees.sort();
        out.noted_dirs.set_vcs(gathered.vcs_entries);
        out.bare_dirs = bare_dirs.into_iter().collect::<Vec<_>>().join(&0);
        Ok(out)
    }

    fn gather(&self) -> MutexGuard<'_, Gathered<'a>> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Processes directories until the queue is empty and no thread can add one.
    fn work(&self, late: &(dyn Fn() -> bool + Sync), tick: &mut dyn FnMut(u64)) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(dir) = queue.dirs.pop() {
                queue.busy += 1;
                drop(queue);
                let below = if self.expired.load(Ordering::Relaxed) || late() {
                    self.expired.store(true, Ordering::Relaxed);
                    Vec::new()
                } else {
                    self.list(&dir, late)
                };
                tick(self.files.load(Ordering::Relaxed));
                queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                queue.busy -= 1;
                queue.dirs.extend(below);
                self.wakeup.notify_all();
            } else if queue.busy == 0 {
                return;
            } else {
                queue = self
                    .wakeup
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn note_worktree(&self, dir: &WalkDir) {
        let path = RelPath::new(dir.path.clone());
        self.gather().worktrees.extend(path);
    }

    /// Lists a directory. None: it is gone, or cannot be read, which is noted.
    fn read_listing(&self, full: &Path, dir: &[u8]) -> Option<DirListing> {
        match DirListing::read(full) {
            Ok(listed) => Some(listed),
            // removed since it was listed: the next scan gets it right
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            Err(e) => {
                let message = std::io::Error::from(e).to_string();
                let mut all = self.gather();
                all.out.coverage.note(dir, Reason::Unreadable, message);
                // always try it again
                DirRecord::new(dir, None).end(&mut all.out.dir_cache_bytes);
                None
            }
        }
    }

    /// True if a directory is not of the project: a linked worktree, or version control's own. Notes it.
    fn leaves_out(
        &self,
        dir: &WalkDir,
        full: &Path,
        listed: &DirListing,
        is_repository: bool,
    ) -> bool {
        if is_worktree(full, &dir.path, listed) {
            self.note_worktree(dir);
            return true;
        }
        if is_repository && !dir.path.is_empty() {
            self.note_vcs(&dir.path);
            self.gather()
                .vcs_entries
                .extend(RelPath::new(dir.path.as_slice()));
            return true;
        }
        false
    }

    /// Examines the files of one directory; returns the directories in it.
    fn list(&self, dir: &WalkDir, late: &(dyn Fn() -> bool + Sync)) -> Vec<WalkDir> {
        let full = self.root.path.join(bytes_path(&dir.path));
        let Some(listed) = self.read_listing(&full, &dir.path) else {
            return Vec::new();
        };
        let is_repository = vcs::is_git_dir(&listed.entries);
        if self.leaves_out(dir, &full, &listed, is_repository) {
            return Vec::new();
        }
        let rules = rules_inside(dir, &full, &listed);
        if self.clean_index.is_some() && listed.entries.iter().any(|(name, _)| name == ATTRIBUTES) {
            self.note_attributes(&full, &dir.path, &listed);
        }
        // on another mounted file system, directory timestamps may not be reliable
        let proving_stat = listed
            .before
            .filter(|stat| !stat.racy && stat.dev == self.dev);
        let mut record = (self.only.is_none() && self.store_contents)
            .then(|| DirRecord::new(&dir.path, proving_stat.as_ref()));
        let mut below = Vec::new();
        let mut ignored = 0;
        let mut ignored_tops = Vec::new();
        let watches_ignored = self.only.is_none() && self.store_contents && !rules.is_way();
        let mut note_ignored = |name: &[u8], path: &[u8]| {
            ignored += 1;
            if watches_ignored
                && ignored_tops.len() < MAX_IN_DIR
                && let (Some(path), Some(stat)) = (RelPath::new(path), listed.stat(name))
            {
                ignored_tops.push(IgnoredPath::new(path, &stat));
            }
        };
        let mut files = 0;
        let mut visited = Vec::new();
        for (name, kind) in &listed.entries {
            if name.starts_with(TEMP_PREFIX) {
                continue;
            }
            let path = if dir.path.is_empty() {
                name.clone()
            } else {
                [&dir.path, &b"/"[..], name].concat()
            };
            let (kind, stat) = entry_kind(&listed, name, *kind);
            let is_dir = kind == FileType::Directory;
            if self.is_vcs_entry(&path, name, kind, is_repository)
                || is_dir && self.others.iter().any(|other| other.bytes() == path)
            {
                continue;
            }
            if is_dir {
                match rules.enter(&path) {
                    Some(rules) => below.push(WalkDir { path, rules }),
                    None => note_ignored(name, &path),
                }
            } else if rules.hides(&path) {
                note_ignored(name, &path);
                if name == ignore_rules::FILE
                    && let Some(record) = &mut record
                {
                    // an ignored .gitignore has no row, but its rules apply
                    record.add(name, listed.stat(name).filter(|stat| !stat.racy).as_ref());
                }
            } else if let Some(path) = RelPath::new(path)
                && let Some(stat) = stat.or_else(|| listed.stat(name))
            {
                if late() {
                    self.expired.store(true, Ordering::Relaxed);
                    break;
                }
                files += 1;
                visited.extend(self.known.get_key_value(&path).map(|(path, _)| path));
                let read = |image: &Image| listed.read_entry(name, self.root.limit(image));
                let proving_stat = self.examine(path, Some(stat), &read);
                if let Some(record) = &mut record {
                    record.add(name, proving_stat.as_ref());
                }
            }
        }
        self.files.fetch_add(files, Ordering::Relaxed);
        // a directory that is ignored as a whole counts once
        let ignored = if rules.is_way() { 1 } else { ignored };
        let mut all = self.gather();
        all.out.coverage.ignored += ignored;
        all.out.ignored.extend(ignored_tops);
        all.add_dir(&dir.path, files > 0, listed.odd_mode(self.usual_dir_mode));
        all.visited.extend(visited);
        if let Some(record) = record {
            record.end(&mut all.out.dir_cache_bytes);
        }
        drop(all);
        below
    }

    /// True if an entry of a directory is version control's, which is noted.
    fn is_vcs_entry(&self, path: &[u8], name: &[u8], kind: FileType, is_repository: bool) -> bool {
        if vcs::is_vcs_entry(name, kind) || is_repository && vcs::is_git_entry(name) {
            if vcs::is_vcs_entry(name, kind) {
                self.gather().vcs_entries.extend(RelPath::new(path));
            }
            if !vcs::is_top(name) {
                self.note_vcs(path);
            }
            return true;
        }
        let store = vcs::object_store(path);
        if let Some(store) = store {
            self.note_vcs(store);
        }
        store.is_some()
    }

    /// Notes a directory of version control, which is not scanned.
    fn note_vcs(&self, dir: &[u8]) {
        let mut all = self.gather();
        if RelPath::new(dir).is_some_and(|path| all.vcs_dirs.insert(path)) {
            all.out.coverage.note(dir, Reason::VersionControl, "");
        }
    }

    /// Examines one path that is on disk or in the known tree. Returns the stat that proves the path unchanged once
    /// this scan is recorded; None: no stat proves it.
    fn examine(
        &self,
        path: RelPath,
        stat: Option<Stat>,
        read: &dyn Fn(&Image) -> Result<DiskEntry>,
    ) -> Option<Stat> {
        let known = self.known.get(&path);
        if stat.is_some_and(|stat| stat.linked && stat.kind() == FileType::RegularFile) {
            self.gather().out.linked.push(path.clone());
        }
        let limit = |image: &Image| self.root.limit(image);
        let is_stale = || self.stale_entries.contains(&path);
        if let Some(known) = known.filter(|known| is_proven(known, stat.as_ref(), limit, is_stale))
        {
            if let Image::Opaque(why) = known.image {
                self.gather()
                    .out
                    .coverage
                    .note(path.bytes(), reason(why), "");
            }
            return stat;
        }
        if let (Some(clean_index), Some(now)) = (self.clean_index, &stat)
            && may_be_vouched_for(&path, known, now, limit)
            && let Some(candidate) = clean_index.candidate(&path, now)
        {
            self.gather().candidates.push(candidate);
            return stat;
        }
        self.compare(path, read)
    }

    /// Reads a path and records a difference. Returns the stat of a changed file, if it proves anything.
    fn compare(&self, path: RelPath, read: &dyn Fn(&Image) -> Result<DiskEntry>) -> Option<Stat> {
        let known = self.known.get(&path);
        let before = known.map_or(Image::Absent, |k| k.image);
        let mut entry = match read(&before) {
            Ok(entry) => entry,
            Err(e) => {
                self.gather()
                    .out
                    .coverage
                    .note(path.bytes(), Reason::Unreadable, e.to_string());
                return None;
            }
        };
        if entry.is_dir && known.is_none() {
            return None;
        }
        if matches!(before, Image::InGit { .. }) && self.is_still_backed(&path, before, &entry) {
            return None;
        }
        let is_pending = self.pending.overlay(&path, before, &mut entry);
        let saved = self
            .pending
            .get(&path)
            .filter(|p| !is_pending && p.wanted == before && entry.image == before);
        if let Some(saved) = saved {
            self.gather().out.saved.push(saved.id);
        }
        if !self.store_contents {
            entry.bytes = None;
        }
        let version =
            entry.image != before && before.content().is_some() && self.reserve_large(&entry);
        let spilling = self.spilling.load(Ordering::Relaxed);
        let packed = (entry.image != before && spilling && !version)
            .then(|| entry.bytes.take().zip(entry.image.content()))
            .flatten()
            .map(|(bytes, id)| Packed::new(id, bytes));
        let mut all = self.gather();
        if let Image::Opaque(why) = entry.image {
            all.out
                .coverage
                .note(path.bytes(), reason(why), opaque_detail(known, &entry));
        }
        match image_change(before, entry.image) {
            ImageChange::Unreadable => return None,
            ImageChange::None => {
                all.out
                    .stat_updates
                    .extend(entry.stat.map(|stat| (path, stat)));
                return None;
            }
            ImageChange::Changed => {}
        }
        let stat = entry.stat.filter(|stat| !stat.racy);
        if version {
            all.take_version(path, entry);
        } else {
            all.take(path, entry, packed, self.store);
        }
        if all.pack.is_some() {
            self.spilling.store(true, Ordering::Relaxed);
        }
        stat
    }

    /// Reserves memory for a large content. Returns true if it is large and fits.
    fn reserve_large(&self, entry: &DiskEntry) -> bool {
        let size = entry.bytes.as_ref().map_or(0, Vec::len);
        let reserve = |held: usize| (held + size <= LARGE_TOTAL).then_some(held + size);
        let order = Ordering::Relaxed;
        size >= LARGE && self.large.fetch_update(order, order, reserve).is_ok()
    }
}

/// Returns the rules inside a directory, with those of its own file.
fn rules_inside(dir: &WalkDir, full: &Path, listed: &DirListing) -> Arc<Rules> {
    let mut names = listed.entries.iter().map(|(name, _)| name);
    let has_rules = names.any(|name| name == ignore_rules::FILE);
    // like git, does not follow a link
    let own = has_rules
        .then(|| read_small(&full.join(bytes_path(ignore_rules::FILE)), false))
        .flatten();
    dir.rules.below(&dir.path, own.as_deref())
}

/// Returns the kind of an entry, with the stat that told it if the file system's listing does not.
fn entry_kind(listed: &DirListing, name: &[u8], kind: FileType) -> (FileType, Option<Stat>) {
    if kind != FileType::Unknown {
        return (kind, None);
    }
    let stat = listed.stat(name);
    (stat.map_or(kind, |stat| stat.kind()), stat)
}

/// True if the stat on disk proves that a known path is unchanged. `limit` is the size up to which the content of an
/// image is captured.
fn is_proven(
    known: &FileState,
    now: Option<&Stat>,
    limit: impl Fn(&Image) -> u64,
    is_stale: impl FnOnce() -> bool,
) -> bool {
    let Some(now) = now.filter(|now| known.stat.proves(now)) else {
        return false;
    };
    // the limit may have been raised since
    let size = u64::try_from(now.size).unwrap_or(u64::MAX);
    let fits_now = known.image == Image::Opaque(Opaque::TooLarge) && size <= limit(&known.image);
    !fits_now && !is_stale()
}

/// True if git's index may vouch for the content of a path, so that it need not be read.
fn may_be_vouched_for(
    path: &RelPath,
    known: Option<&FileState>,
    now: &Stat,
    limit: impl Fn(&Image) -> u64,
) -> bool {
    known.is_none()
        && u64::try_from(now.size).is_ok_and(|size| size <= limit(&Image::Absent))
        // rules are needed again and again
        && path.split().1 != ignore_rules::FILE
}

/// Change of a path since it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageChange {
    None,
    Changed,
    /// The file cannot be read now, and keeps its recorded content.
    Unreadable,
}

/// Compares the image of a path on disk with the recorded one.
fn image_change(before: Image, now: Image) -> ImageChange {
    let has_content = before.content().is_some() || matches!(before, Image::InGit { .. });
    match now {
        Image::Opaque(why) if why != Opaque::TooLarge && has_content => ImageChange::Unreadable,
        now if now == before => ImageChange::None,
        _ => ImageChange::Changed,
    }
}

/// Returns the detail of the coverage of a path whose content is not captured: it changed, as far as the stat tells.
fn opaque_detail(known: Option<&FileState>, entry: &DiskEntry) -> &'static str {
    let changed = known
        .zip(entry.stat)
        .is_some_and(|(known, now)| known.image == entry.image && !known.stat.is_that_of(&now));
    if changed { "changed" } else { "" }
}

/// Returns the reason that is reported for a content that was not captured.
pub(crate) fn reason(why: Opaque) -> Reason {
    match why {
        Opaque::TooLarge => Reason::TooLarge,
        Opaque::Unreadable => Reason::Unreadable,
        Opaque::Special => Reason::Special,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ContentId;

    const STAT: Stat = Stat {
        size: 100,
        mtime: 1,
        ctime: 2,
        btime: 3,
        dev: 4,
        inode: 5,
        mode: 0o100_644,
        racy: false,
        linked: false,
    };
    const TOO_LARGE: Image = Image::Opaque(Opaque::TooLarge);
    const UNREADABLE: Image = Image::Opaque(Opaque::Unreadable);

    fn path(s: &str) -> RelPath {
        RelPath::new(s).expect("a plain path")
    }

    fn file(text: &str) -> Image {
        Image::File {
            mode: 0o644,
            content: ContentId::of(text.as_bytes()),
            size: text.len() as u64,
        }
    }

    fn in_git() -> Image {
        Image::InGit {
            mode: 0o644,
            size: 4,
            object: gix_hash::ObjectId::null(gix_hash::Kind::Sha1),
        }
    }

    fn row(image: Image, stat: Stat) -> FileState {
        FileState {
            image,
            file: None,
            since: None,
            generation: 1,
            stat,
        }
    }

    #[test]
    fn a_known_path_is_proven_by_an_equal_stat() {
        let proven =
            |known: &FileState, now: Option<&Stat>| is_proven(known, now, |_| 1000, || false);
        let known = row(file("a"), STAT);
        assert!(proven(&known, Some(&STAT)));
        assert!(!proven(&known, None));
        for other in [
            Stat { size: 101, ..STAT },
            Stat { mtime: 0, ..STAT },
            Stat { ctime: 0, ..STAT },
            Stat { inode: 0, ..STAT },
            Stat {
                mode: 0o100_755,
                ..STAT
            },
        ] {
            assert!(!proven(&known, Some(&other)), "{other:?}");
        }
        let racy = row(file("a"), Stat { racy: true, ..STAT });
        assert!(!proven(&racy, Some(&STAT)));
    }

    #[test]
    fn a_file_whose_git_object_is_stale_is_not_proven() {
        let known = row(in_git(), STAT);
        assert!(!is_proven(&known, Some(&STAT), |_| 1000, || true));
        assert!(is_proven(&known, Some(&STAT), |_| 1000, || false));
    }

    #[test]
    fn a_file_that_fits_a_raised_limit_is_read() {
        let known = row(TOO_LARGE, STAT);
        for (limit, expected) in [(99, true), (100, false), (101, false)] {
            let proven = is_proven(&known, Some(&STAT), |_| limit, || false);
            assert_eq!(proven, expected, "limit {limit}");
        }
    }

    #[test]
    fn git_vouches_for_new_files_within_the_limit_that_hold_no_rules() {
        let may = |at: &str, known: Option<&FileState>, limit: u64| {
            may_be_vouched_for(&path(at), known, &STAT, |_| limit)
        };
        assert!(may("d/a.txt", None, 100));
        assert!(!may("d/a.txt", None, 99));
        assert!(!may("d/.gitignore", None, 100));
        assert!(!may("d/a.txt", Some(&row(file("a"), STAT)), 100));
    }

    #[test]
    fn an_image_changed_unless_it_is_equal_or_cannot_be_read() {
        use ImageChange::{Changed, None, Unreadable};
        for (before, now, expected) in [
            (file("a"), file("a"), None),
            (file("a"), file("b"), Changed),
            (file("a"), Image::Absent, Changed),
            (Image::Absent, file("a"), Changed),
            (Image::Absent, Image::Absent, None),
            (file("a"), UNREADABLE, Unreadable),
            (in_git(), UNREADABLE, Unreadable),
            (file("a"), Image::Opaque(Opaque::Special), Unreadable),
            (file("a"), TOO_LARGE, Changed),
            (TOO_LARGE, TOO_LARGE, None),
            (UNREADABLE, UNREADABLE, None),
            (Image::Absent, UNREADABLE, Changed),
            (TOO_LARGE, UNREADABLE, Changed),
        ] {
            assert_eq!(image_change(before, now), expected, "{before:?}, {now:?}");
        }
    }

    #[test]
    fn a_content_that_is_not_captured_is_reported_as_changed_with_its_stat() {
        let entry = |image, stat| DiskEntry {
            image,
            stat,
            bytes: None,
            is_dir: false,
        };
        let known = row(TOO_LARGE, STAT);
        let grown = Stat { size: 200, ..STAT };
        let detail = |known, image, stat| opaque_detail(known, &entry(image, stat));
        assert_eq!(detail(Some(&known), TOO_LARGE, Some(grown)), "changed");
        assert_eq!(detail(Some(&known), TOO_LARGE, Some(STAT)), "");
        assert_eq!(detail(Some(&known), TOO_LARGE, None), "");
        assert_eq!(detail(Some(&known), UNREADABLE, Some(grown)), "");
        assert_eq!(detail(None, TOO_LARGE, Some(grown)), "");
    }

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
