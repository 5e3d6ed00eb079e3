//! The parallel walk: directories of a queue, each listed and its files examined.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::Scan;
use super::path_rules::WalkDir;
use crate::model::{Image, Reason, RelPath, bytes_path};
use crate::system::read_small;
use crate::vcs;
use crate::worktree::dir_cache::DirRecord;
use crate::worktree::disk::{DirListing, Stat, TEMP_PREFIX};
use crate::worktree::git_index::ATTRIBUTES;
use crate::worktree::ignore_rules::{self, Rules};
use crate::worktree::ignored_paths::{IgnoredPath, MAX_IN_DIR};

impl Scan<'_> {
    /// Walks these directories and all below them, on several threads.
    pub(super) fn walk(
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

    /// Examines the files of one directory; returns the directories in it.
    fn list(&self, dir: &WalkDir, late: &(dyn Fn() -> bool + Sync)) -> Vec<WalkDir> {
        let full = self.root.path.join(bytes_path(&dir.path));
        let Some(listed) = self.read_listing(&full, &dir.path) else {
            return Vec::new();
        };
        let is_repository = self.root.vcs.is_git_dir(&listed.entries);
        if self.leaves_out(dir, &full, &listed, is_repository) {
            return Vec::new();
        }
        let rules = rules_inside(dir, &full, &listed);
        if self.clean_index.is_some() && listed.entries.iter().any(|(name, _)| name == ATTRIBUTES) {
            self.note_attributes(&full, &dir.path, &listed);
        }
        let mut visit = DirVisit::new(self, dir, &listed, rules);
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
                visit.directory(name, path);
            } else if visit.file(name, path, stat, late).is_break() {
                break;
            }
        }
        visit.end()
    }

    /// True if a listed directory inside the root is a linked worktree: its own workspace.
    fn is_worktree(&self, full: &Path, path: &[u8], listed: &DirListing) -> bool {
        let is_git_file =
            |(name, kind): &(Vec<u8>, FileType)| name == b".git" && *kind != FileType::Directory;
        let has_git_file = listed.entries.iter().any(is_git_file);
        !path.is_empty() && has_git_file && self.root.vcs.is_worktree(full)
    }

    fn note_worktree(&self, dir: &WalkDir) {
        let path = RelPath::new(dir.path.clone());
        self.gather().worktrees.extend(path);
    }

    /// Lists a directory. None: it is gone, or cannot be read, which is noted.
    fn read_listing(&self, full: &Path, dir: &[u8]) -> Option<DirListing> {
        match DirListing::read(full, self.root.vcs) {
            Ok(listed) => Some(listed),
            // removed since it was listed: the next scan gets it right
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            Err(e) => {
                let message = std::io::Error::from(e).to_string();
                let mode = RelPath::new(dir).and_then(|dir| self.root.dir_mode(&dir));
                let mut all = self.gather();
                all.out.coverage.note(dir, Reason::Unreadable, message);
                if self.root.has_past_times() {
                    // a run has its bits, as where it is named without a walk
                    all.add_dir(dir, true, mode);
                }
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
        if self.is_worktree(full, &dir.path, listed) {
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

    /// True if an entry of a directory is version control's, which is noted.
    fn is_vcs_entry(&self, path: &[u8], name: &[u8], kind: FileType, is_repository: bool) -> bool {
        let is_vcs = self.root.vcs.is_entry(name, kind);
        if is_vcs || is_repository && vcs::is_git_entry(name) {
            if is_vcs {
                self.gather().vcs_entries.extend(RelPath::new(path));
            }
            if !vcs::is_top(name) {
                self.note_vcs(path);
            }
            return true;
        }
        let store = self.root.vcs.object_store(path);
        if let Some(store) = store {
            self.note_vcs(store);
        }
        store.is_some()
    }

    /// Notes a directory of version control, which is not scanned.
    pub(super) fn note_vcs(&self, dir: &[u8]) {
        let mut all = self.gather();
        if RelPath::new(dir).is_some_and(|path| all.vcs_dirs.insert(path)) {
            all.out.coverage.note(dir, Reason::VersionControl, "");
        }
    }
}

/// The visit of one directory: what it has found so far.
struct DirVisit<'s, 'a> {
    scan: &'s Scan<'a>,
    dir: &'s WalkDir,
    listed: &'s DirListing,
    rules: Arc<Rules>,
    /// The directory's part of the cache, if this scan renews it.
    record: Option<DirRecord>,
    /// True if the ignored paths are kept.
    watches_ignored: bool,
    below: Vec<WalkDir>,
    ignored: u64,
    ignored_tops: Vec<IgnoredPath>,
    files: u64,
    /// Known paths that it met.
    visited: Vec<&'a RelPath>,
}

impl<'s, 'a> DirVisit<'s, 'a> {
    fn new(
        scan: &'s Scan<'a>,
        dir: &'s WalkDir,
        listed: &'s DirListing,
        rules: Arc<Rules>,
    ) -> Self {
        // on another mounted file system, directory timestamps may not be reliable
        let proving_stat = listed.before.filter(|stat| stat.dev == scan.dev);
        let is_full = scan.only.is_none() && scan.store_contents;
        Self {
            record: is_full.then(|| DirRecord::new(&dir.path, proving_stat.as_ref())),
            watches_ignored: is_full && !rules.is_way(),
            scan,
            dir,
            listed,
            rules,
            below: Vec::new(),
            ignored: 0,
            ignored_tops: Vec::new(),
            files: 0,
            visited: Vec::new(),
        }
    }

    fn directory(&mut self, name: &[u8], path: Vec<u8>) {
        match self.rules.enter(&path) {
            Some(rules) => self.below.push(WalkDir { path, rules }),
            None => self.note_ignored(name, &path),
        }
    }

    /// Examines a file, unless the rules hide it. Breaks if the scan is late.
    fn file(
        &mut self,
        name: &[u8],
        path: Vec<u8>,
        stat: Option<Stat>,
        late: &(dyn Fn() -> bool + Sync),
    ) -> ControlFlow<()> {
        let (scan, listed) = (self.scan, self.listed);
        if self.rules.hides(&path) {
            self.note_ignored(name, &path);
            if name == ignore_rules::FILE
                && let Some(record) = &mut self.record
            {
                // an ignored .gitignore has no row, but its rules apply
                record.add(name, listed.stat(name).filter(|stat| !stat.racy).as_ref());
            }
        } else if let Some(path) = RelPath::new(path)
            && let Some(stat) = stat.or_else(|| listed.stat(name))
        {
            if late() {
                scan.expired.store(true, Ordering::Relaxed);
                return ControlFlow::Break(());
            }
            self.files += 1;
            let known = scan.known.get_key_value(&path);
            self.visited.extend(known.map(|(path, _)| path));
            let read = |image: &Image| listed.read_entry(name, scan.root.limit(image));
            let proving_stat = scan.examine(path, Some(stat), &read);
            if let Some(record) = &mut self.record {
                record.add(name, proving_stat.as_ref());
            }
        }
        ControlFlow::Continue(())
    }

    fn note_ignored(&mut self, name: &[u8], path: &[u8]) {
        self.ignored += 1;
        if self.watches_ignored
            && self.ignored_tops.len() < MAX_IN_DIR
            && let (Some(path), Some(stat)) = (RelPath::new(path), self.listed.stat(name))
        {
            self.ignored_tops.push(IgnoredPath::new(path, &stat));
        }
    }

    /// Adds what was found to the results. Returns the directories to walk.
    fn end(self) -> Vec<WalkDir> {
        let scan = self.scan;
        scan.files.fetch_add(self.files, Ordering::Relaxed);
        // a directory that is ignored as a whole counts once
        let ignored = if self.rules.is_way() { 1 } else { self.ignored };
        let mut all = scan.gather();
        all.out.coverage.ignored += ignored;
        all.out.ignored.extend(self.ignored_tops);
        let odd_mode = self.listed.odd_mode(scan.usual_dir_mode);
        all.add_dir(&self.dir.path, self.files > 0, odd_mode);
        if scan.root.has_past_times()
            && let (Some(dir), Some(stat)) =
                (RelPath::new(self.dir.path.as_slice()), self.listed.before)
        {
            all.dir_times.push((dir, stat.mtime));
        }
        all.visited.extend(self.visited);
        if let Some(record) = self.record {
            record.end(&mut all.out.dir_cache_bytes);
        }
        self.below
    }
}

/// Returns the rules inside a directory, with those of the file in it.
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
