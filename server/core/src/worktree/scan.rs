//! Compares the disk with what is known of it: a parallel walk that honours .gitignore, and a look at
//! every known path that the walk did not meet. Finds; records nothing.

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

use crate::documents::pending::Pending;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::{Coverage, FileId, Image, NodeId, Opaque, Reason, RelPath, bytes_path, is_vcs};
use crate::store::{PackWriter, Packed, SealedPack};
use crate::worktree::dir_cache::DirRecord;
use crate::worktree::disk::{DirListing, DiskEntry, Root, Stat, TEMP_PREFIX, read_small};
use crate::worktree::git::clean_index::CleanIndex;
use crate::worktree::git::index::ATTRIBUTES;
use crate::worktree::git::objects::Repository;
use crate::worktree::ignore_rules::{self, Excludes, Rules};
use crate::worktree::recorder::ChangedPaths;
use gathered::{Gathered, LARGE, LARGE_TOTAL};

/// What is known of a path.
#[derive(Clone, Debug)]
pub(crate) struct FileState {
    pub image: Image,
    pub file: Option<FileId>,
    pub since: Option<NodeId>,
    pub generation: i64,
    pub stat: Stat,
}

pub(crate) type FileStates = FxHashMap<RelPath, FileState>;

impl FileState {
    /// Whether a content that was too large to be kept is known by now, and the file is as it was.
    pub(crate) fn is_revealed(&self, image: Image, stat: Option<&Stat>) -> bool {
        self.image == Image::Opaque(Opaque::TooLarge)
            && image.content().is_some()
            && stat.is_some_and(|stat| self.stat.is_that_of(stat))
    }
}

/// A path whose image is not the known one.
#[derive(Debug)]
pub(crate) struct Found {
    pub path: RelPath,
    pub image: Image,
    pub stat: Option<Stat>,
    /// The content, unless it went to the pack.
    pub bytes: Option<Vec<u8>>,
}

/// A content that was git's, as the store's own.
#[derive(Debug)]
pub(crate) struct Materialized {
    pub path: RelPath,
    pub lent: Image,
    /// Unreadable where git has it no more.
    pub own: Image,
    /// The content, unless it went to the pack.
    pub bytes: Option<Vec<u8>>,
}

#[derive(Default)]
pub(crate) struct Findings {
    pub found: Vec<Found>,
    /// What git is not to be relied on for any more.
    pub owned: Vec<Materialized>,
    /// The image is the known one, but the stat is not: to be noted, so that it is not read again.
    pub stat_updates: Vec<(RelPath, Stat)>,
    /// FileState paths that stand on disk and that the walk did not come by: ignored, and still tracked.
    pub unmet: Vec<RelPath>,
    /// Files that have other names, through which they may be written unseen.
    pub linked: Vec<RelPath>,
    /// What waited for a save, by its number, and was saved.
    pub saved: Vec<i64>,
    pub pack: Option<SealedPack>,
    pub coverage: Coverage,
    /// What the walk over the whole tree saw, for `seen`.
    pub dir_cache_bytes: Vec<u8>,
    /// Directories in which no file was seen at any depth, NUL-separated.
    pub bare_dirs: Vec<u8>,
    /// The deadline came first: what was not found says nothing.
    pub partial: bool,
}

/// What a scan compares the disk with: what the store knew when it began.
#[derive(Clone, Copy)]
pub(crate) struct Baseline<'a> {
    pub known: &'a FileStates,
    pub pending: &'a Pending,
    pub excludes: &'a Excludes,
    /// Directories in the root that have a history of their own: not scanned.
    pub others: &'a [RelPath],
    /// All that is looked at, where somebody knows that nothing else has changed; `known` has the rows of these.
    pub only: Option<&'a ChangedPaths>,
    /// Whether to keep what is found: else it is only said where something is.
    pub keep: bool,
    /// Who vouches for files that were never looked at before.
    pub clean_index: Option<&'a CleanIndex>,
    /// Who may have what some files were.
    pub repositories: &'a [Repository],
    /// Directories that may have it on disk.
    pub places: &'a [PathBuf],
    /// Files that git may not have much longer.
    pub stale_entries: &'a FxHashSet<RelPath>,
    /// Set when nobody wants it any more.
    pub off: Option<&'a AtomicBool>,
}

/// Scans the root, or what of it may have changed. `tick` hears from time to time how many files were seen.
pub(crate) fn scan(
    root: &Root,
    store: &Path,
    against: &Baseline<'_>,
    deadline: Option<Instant>,
    tick: &mut dyn FnMut(u64),
) -> Result<Findings> {
    let Baseline {
        known,
        pending,
        excludes,
        others,
        only,
        keep,
        clean_index,
        repositories,
        places,
        stale_entries,
        off,
    } = *against;
    if !root.is_there() {
        return Err(Error::refused(
            format!("the workspace {} is gone", root.path.display()),
            Hint::Gone,
        ));
    }
    crate::fault::point("scan begun");
    let off = || off.is_some_and(|off| off.load(Ordering::Relaxed));
    let late = || off() || deadline.is_some_and(|d| Instant::now() >= d);
    let scan = Scan {
        root,
        store,
        known,
        pending,
        others,
        keep,
        whole: only.is_none(),
        dev: root.stat_at(b"").map_or(0, |stat| stat.dev),
        clean_index,
        stale_entries,
        gathered: Mutex::new(Gathered::default()),
        spilling: AtomicBool::new(false),
        large: AtomicUsize::new(0),
        queue: Mutex::new(Queue {
            dirs: Vec::new(),
            busy: 0,
        }),
        news: Condvar::new(),
        expired: AtomicBool::new(false),
        files: AtomicU64::new(0),
    };
    let mut ways = PathRules::new(root, excludes);
    let dirs = match only {
        None => vec![WalkDir {
            path: Vec::new(),
            rules: Arc::clone(&ways.base),
        }],
        Some(touched) => touched
            .tops()
            .filter(|dir| !others.iter().any(|other| dir.within(other.bytes())))
            .filter_map(|dir| ways.to(dir))
            .collect(),
    };
    let threads = match only {
        None => std::thread::available_parallelism().map_or(2, usize::from),
        Some(_) if dirs.is_empty() => 1,
        Some(_) => 2,
    }
    .min(8);
    scan.queue
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .dirs = dirs;
    std::thread::scope(|s| {
        for _ in 1..threads {
            s.spawn(|| scan.work(&late, &mut |_| {}));
        }
        scan.work(&late, tick);
    });

    if let Some(clean_index) = clean_index {
        scan.borrow(clean_index, deadline, threads, &late);
    }
    let (met, dirs) = {
        let mut all = scan.gather();
        (std::mem::take(&mut all.met), std::mem::take(&mut all.dirs))
    };
    if met.len() < known.len() {
        // what is known but was not met: gone, or ignored by now and still tracked
        let met: FxHashSet<&RelPath> = met.into_iter().collect();
        for path in known.keys().filter(|path| !met.contains(path)) {
            if scan.expired.load(Ordering::Relaxed) || late() {
                scan.expired.store(true, Ordering::Relaxed);
                break;
            }
            if others.iter().any(|other| path.within(other.bytes())) {
                continue;
            }
            let stat = root.stat(path);
            if only.is_none() && stat.is_some() {
                scan.gather().out.unmet.push(path.clone());
            }
            scan.examine(path.clone(), stat, &|image| root.look_over(path, image));
        }
    }
    for path in only.into_iter().flat_map(|touched| &touched.paths) {
        let new = !known.contains_key(path) && !only.is_some_and(|touched| touched.above(path));
        let elsewhere = others.iter().any(|other| path.within(other.bytes()));
        if new && !elsewhere && !ways.ignored(path) {
            let look = |image: &Image| root.look_over(path, image);
            scan.examine(path.clone(), root.stat(path), &look);
        }
    }
    if keep {
        scan.fetch(repositories, places, &late);
    }
    crate::fault::point("scanned");
    if off() {
        return Err(Error::CalledOff);
    }
    let gathered = scan
        .gathered
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(e) = gathered.failed {
        return Err(e);
    }
    let mut out = gathered.out;
    out.found.extend(gathered.large);
    if gathered.unsure {
        out.dir_cache_bytes.clear();
    }
    out.partial = scan.expired.load(Ordering::Relaxed);
    out.pack = gathered.pack.map(PackWriter::seal).transpose()?;
    out.found.sort_by(|a, b| a.path.cmp(&b.path));
    out.coverage.items.sort_by(|a, b| a.path.cmp(&b.path));
    out.coverage.pending = out.partial;
    out.bare_dirs = bare(dirs).into_iter().collect::<Vec<_>>().join(&0);
    Ok(out)
}

/// The directories in which no file was seen at any depth.
fn bare(dirs: Vec<(Vec<u8>, bool)>) -> BTreeSet<Vec<u8>> {
    let (held, empty): (Vec<_>, Vec<_>) = dirs.into_iter().partition(|(_, held)| *held);
    let mut empty: BTreeSet<Vec<u8>> = empty.into_iter().map(|(dir, _)| dir).collect();
    if empty.is_empty() {
        return empty;
    }
    for (dir, _) in held {
        let mut above = dir.as_slice();
        while let Some(at) = above.iter().rposition(|b| *b == b'/') {
            above = &above[..at];
            empty.remove(above);
        }
    }
    empty.remove(&b""[..]);
    empty
}

/// The rules on the way to paths that no walk leads to.
struct PathRules<'a> {
    root: &'a Root,
    base: Arc<Rules>,
    /// The .gitignore files that were read.
    read: FxHashMap<RelPath, Option<Vec<u8>>>,
}

impl<'a> PathRules<'a> {
    fn new(root: &'a Root, excludes: &Excludes) -> Self {
        Self {
            root,
            base: Rules::base(excludes),
            read: FxHashMap::default(),
        }
    }

    /// A directory to walk; None where there is none, or it is ignored.
    fn to(&mut self, dir: &RelPath) -> Option<WalkDir> {
        let (root, read) = (self.root, &mut self.read);
        let mut text = |file: &RelPath| Self::text(root, read, file);
        let rules = ignore_rules::down_to(&self.base, dir.bytes(), &mut text)?;
        root.is_dir(dir.bytes()).then(|| WalkDir {
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
    keep: bool,
    /// All of the tree is walked.
    whole: bool,
    /// The device of the root.
    dev: i64,
    clean_index: Option<&'a CleanIndex>,
    stale_entries: &'a FxHashSet<RelPath>,
    gathered: Mutex<Gathered<'a>>,
    /// Contents go to the pack by now: compress them outside the lock.
    spilling: AtomicBool,
    /// Bytes of versions of large contents that are held.
    large: AtomicUsize,
    queue: Mutex<Queue>,
    news: Condvar,
    expired: AtomicBool,
    files: AtomicU64,
}

impl<'a> Scan<'a> {
    fn gather(&self) -> MutexGuard<'_, Gathered<'a>> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes directories until there are none and nobody can add one.
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
                self.news.notify_all();
            } else if queue.busy == 0 {
                return;
            } else {
                queue = self
                    .news
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Examines the files of one directory; gives the directories in it.
    fn list(&self, dir: &WalkDir, late: &(dyn Fn() -> bool + Sync)) -> Vec<WalkDir> {
        let full = self.root.path.join(bytes_path(&dir.path));
        let listed = match DirListing::read(&full) {
            Ok(listed) => listed,
            // gone between listing and looking: the next scan sees it right
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Vec::new(),
            Err(e) => {
                let said = std::io::Error::from(e).to_string();
                let mut all = self.gather();
                all.out.coverage.note(&dir.path, Reason::Unreadable, said);
                // to be tried again whenever somebody looks
                DirRecord::new(&dir.path, None).end(&mut all.out.dir_cache_bytes);
                return Vec::new();
            }
        };
        let has_rules = listed
            .entries
            .iter()
            .any(|(name, _)| name == ignore_rules::FILE);
        // like git, not through a link
        let own = has_rules
            .then(|| read_small(&full.join(bytes_path(ignore_rules::FILE)), false))
            .flatten();
        let rules = dir.rules.below(&dir.path, own.as_deref());
        if self.clean_index.is_some() && listed.entries.iter().any(|(name, _)| name == ATTRIBUTES) {
            self.note_attributes(&full, &dir.path, &listed);
        }
        // of what is mounted below nobody knows whether its directories tell of changes
        let sure = listed
            .before
            .filter(|stat| !stat.racy && stat.dev == self.dev);
        let mut page = (self.whole && self.keep).then(|| DirRecord::new(&dir.path, sure.as_ref()));
        let mut below = Vec::new();
        let mut ignored = 0;
        let mut files = 0;
        let mut met = Vec::new();
        for (name, kind) in &listed.entries {
            if is_vcs(name) || name.starts_with(TEMP_PREFIX) {
                continue;
            }
            let path = if dir.path.is_empty() {
                name.clone()
            } else {
                [&dir.path, &b"/"[..], name].concat()
            };
            let (is_dir, stat) = match kind {
                FileType::Directory => (true, None),
                FileType::Unknown => {
                    let stat = listed.stat(name);
                    (stat.is_some_and(|s| s.kind() == FileType::Directory), stat)
                }
                _ => (false, None),
            };
            if is_dir && self.others.iter().any(|other| other.bytes() == path) {
                continue;
            }
            if is_dir {
                match rules.enter(&path) {
                    Some(rules) => below.push(WalkDir { path, rules }),
                    None => ignored += 1,
                }
            } else if rules.hides(&path) {
                ignored += 1;
                if name == ignore_rules::FILE
                    && let Some(page) = &mut page
                {
                    // nobody knows it, and it counts
                    page.add(name, listed.stat(name).filter(|stat| !stat.racy).as_ref());
                }
            } else if let Some(path) = RelPath::new(path)
                && let Some(stat) = stat.or_else(|| listed.stat(name))
            {
                if late() {
                    self.expired.store(true, Ordering::Relaxed);
                    break;
                }
                files += 1;
                met.extend(self.known.get_key_value(&path).map(|(path, _)| path));
                let look = |image: &Image| listed.look(name, self.root.limit(image));
                let sure = self.examine(path, Some(stat), &look);
                if let Some(page) = &mut page {
                    page.add(name, sure.as_ref());
                }
            }
        }
        self.files.fetch_add(files, Ordering::Relaxed);
        let mut all = self.gather();
        // a directory that is ignored as a whole counts once
        all.out.coverage.ignored += if rules.is_way() { 1 } else { ignored };
        all.dirs.push((dir.path.clone(), files > 0));
        all.met.extend(met);
        if let Some(page) = page {
            page.end(&mut all.out.dir_cache_bytes);
        }
        drop(all);
        below
    }

    /// Whether a file was too large for a limit that was raised since.
    fn fits_by_now(&self, was: &FileState, stat: &Stat) -> bool {
        let size = u64::try_from(stat.size).unwrap_or(u64::MAX);
        was.image == Image::Opaque(Opaque::TooLarge) && size <= self.root.limit(&was.image)
    }

    /// Decides about one path that stands on disk or in the known tree. What it looks like as long as it is what is
    /// known once this look is taken in; None: nobody can tell.
    fn examine(
        &self,
        path: RelPath,
        stat: Option<Stat>,
        look: &dyn Fn(&Image) -> Result<DiskEntry>,
    ) -> Option<Stat> {
        let was = self.known.get(&path);
        if stat.is_some_and(|stat| stat.linked && stat.kind() == FileType::RegularFile) {
            self.gather().out.linked.push(path.clone());
        }
        if let (Some(was), Some(now)) = (was, &stat)
            && was.stat.proves(now)
            && !self.fits_by_now(was, now)
            && !self.stale_entries.contains(&path)
        {
            if let Image::Opaque(why) = was.image {
                self.gather()
                    .out
                    .coverage
                    .note(path.bytes(), reason(why), "");
            }
            return stat;
        }
        if was.is_none()
            && let (Some(clean_index), Some(now)) = (self.clean_index, &stat)
            && u64::try_from(now.size).is_ok_and(|size| size <= self.root.limit(&Image::Absent))
            // rules are asked for again and again
            && path.split().1 != ignore_rules::FILE
            && let Some(candidate) = clean_index.candidate(&path, now)
        {
            self.gather().candidates.push(candidate);
            return stat;
        }
        self.compare(path, look)
    }

    /// Looks at a path, and notes where it is not what it was. What it looked like then.
    fn compare(&self, path: RelPath, look: &dyn Fn(&Image) -> Result<DiskEntry>) -> Option<Stat> {
        let was = self.known.get(&path);
        let before = was.map_or(Image::Absent, |k| k.image);
        let look = match look(&before) {
            Ok(look) => look,
            Err(e) => {
                self.gather()
                    .out
                    .coverage
                    .note(path.bytes(), Reason::Unreadable, e.to_string());
                return None;
            }
        };
        if look.is_dir && was.is_none() {
            return None;
        }
        if matches!(before, Image::InGit { .. }) && self.is_still_lent(&path, before, &look) {
            return None;
        }
        let mut look = look;
        let waits = self.pending.overlay(&path, before, &mut look);
        let saved = self
            .pending
            .get(&path)
            .filter(|p| !waits && p.wanted == before && look.image == before);
        if let Some(saved) = saved {
            self.gather().out.saved.push(saved.id);
        }
        if !self.keep {
            look.bytes = None;
        }
        let version = look.image != before && before.content().is_some() && self.has_room(&look);
        let spilling = self.spilling.load(Ordering::Relaxed);
        let packed = (look.image != before && spilling && !version)
            .then(|| look.bytes.take().zip(look.image.content()))
            .flatten()
            .map(|(bytes, id)| Packed::new(id, bytes));
        let mut all = self.gather();
        if let Image::Opaque(why) = look.image {
            let changed = before == look.image
                && was
                    .zip(look.stat)
                    .is_some_and(|(was, now)| !was.stat.is_that_of(&now));
            all.out.coverage.note(
                path.bytes(),
                reason(why),
                if changed { "changed" } else { "" },
            );
            // what cannot be read now keeps the state last known
            let kept = before.content().is_some() || matches!(before, Image::InGit { .. });
            if why != Opaque::TooLarge && kept {
                return None;
            }
        }
        if look.image == before {
            all.out
                .stat_updates
                .extend(look.stat.map(|stat| (path, stat)));
            return None;
        }
        let stat = look.stat.filter(|stat| !stat.racy);
        if version {
            all.take_version(path, look);
        } else {
            all.take(path, look, packed, self.store);
        }
        if all.pack.is_some() {
            self.spilling.store(true, Ordering::Relaxed);
        }
        stat
    }

    /// Whether this content is large and there is room to hold it, which is taken.
    fn has_room(&self, look: &DiskEntry) -> bool {
        let size = look.bytes.as_ref().map_or(0, Vec::len);
        let room = |held: usize| (held + size <= LARGE_TOTAL).then_some(held + size);
        let order = Ordering::Relaxed;
        size >= LARGE && self.large.fetch_update(order, order, room).is_ok()
    }
}

pub(crate) fn reason(why: Opaque) -> Reason {
    match why {
        Opaque::TooLarge => Reason::TooLarge,
        Opaque::Unreadable => Reason::Unreadable,
        Opaque::Special => Reason::Special,
    }
}
