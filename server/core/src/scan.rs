//! Compares the disk with what is known of it: a parallel walk that honours .gitignore, and a look at
//! every known path that the walk did not meet. Finds; records nothing.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::disk::{Look, Root, Stat, TEMP_PREFIX, read_small, stat_path};
use crate::error::{Error, Result};
use crate::model::{
    ContentId, Coverage, FileId, Image, NodeId, Opaque, Reason, RelPath, bytes_path, os_bytes,
};
use crate::rules::{self, Excludes, Rules};
use crate::store::{PackWriter, Packed, SealedPack};

/// Contents found up to this size in all go into the database; more goes to a pack file.
const INLINE_TOTAL: usize = 1 << 20;
pub(crate) const VCS: [&[u8]; 3] = [b".git", b".jj", b".hg"];

/// What is known of a path.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub image: Image,
    pub file: Option<FileId>,
    pub since: Option<NodeId>,
    pub generation: i64,
    pub stat: Stat,
}

pub(crate) type KnownTree = HashMap<RelPath, Known>;

/// A path whose image is not the known one.
#[derive(Debug)]
pub(crate) struct Found {
    pub path: RelPath,
    pub image: Image,
    pub stat: Option<Stat>,
    /// The content, unless it went to the pack.
    pub bytes: Option<Vec<u8>>,
}

#[derive(Default)]
pub(crate) struct Findings {
    pub found: Vec<Found>,
    /// The image is the known one, but the stat is not: to be noted, so that it is not read again.
    pub restated: Vec<(RelPath, Stat)>,
    pub pack: Option<SealedPack>,
    pub coverage: Coverage,
    /// Directories in which no file was seen at any depth, NUL-separated.
    pub bare_dirs: Vec<u8>,
    /// The deadline came first: what was not found says nothing.
    pub partial: bool,
}

#[derive(Default)]
struct Gathered {
    out: Findings,
    met: HashSet<RelPath>,
    dirs: HashSet<Vec<u8>>,
    held: usize,
    pack: Option<PackWriter>,
    packed: HashSet<ContentId>,
    failed: Option<Error>,
}

impl Gathered {
    /// Keeps small amounts in memory, spills to a pack file beyond.
    fn take(&mut self, path: RelPath, look: Look, packed: Option<Packed>, store: &Path) {
        let Look {
            image, stat, bytes, ..
        } = look;
        self.out.coverage.captured += 1;
        let mut found = Found {
            path,
            image,
            stat,
            bytes,
        };
        let stored = if let Some(packed) = packed {
            self.pack(&packed, store)
        } else {
            self.held += found.bytes.as_ref().map_or(0, Vec::len);
            if self.held > INLINE_TOTAL {
                self.spill(&mut found, store)
            } else {
                Ok(())
            }
        };
        if let Err(e) = stored {
            self.failed.get_or_insert(e);
        }
        self.out.found.push(found);
    }

    fn spill(&mut self, found: &mut Found, store: &Path) -> Result<()> {
        let mut held: Vec<Vec<u8>> = self
            .out
            .found
            .iter_mut()
            .filter_map(|f| f.bytes.take())
            .collect();
        held.extend(found.bytes.take());
        held.into_iter()
            .try_for_each(|bytes| self.pack(&Packed::new(bytes), store))
    }

    fn pack(&mut self, packed: &Packed, store: &Path) -> Result<()> {
        if !self.packed.insert(packed.id) {
            return Ok(());
        }
        if self.pack.is_none() {
            self.pack = Some(PackWriter::create(store, crate::store::now())?);
        }
        match &mut self.pack {
            Some(pack) => pack.add(packed),
            None => Ok(()),
        }
    }
}

/// Scans the whole root. `known` is what the store knew when this began.
pub(crate) fn scan(
    root: &Root,
    store: &Path,
    known: &KnownTree,
    excludes: &Excludes,
    deadline: Option<Instant>,
) -> Result<Findings> {
    if !root.is_there() {
        return Err(Error::refused(
            format!("the workspace {} is gone", root.path.display()),
            "nothing was recorded; bring it back, or name another with --workspace",
        ));
    }
    crate::fault::point("scan begun");
    let late = || deadline.is_some_and(|d| Instant::now() >= d);
    let scan = Scan {
        root,
        store,
        known,
        gathered: Mutex::new(Gathered::default()),
        spilling: AtomicBool::new(false),
        queue: Mutex::new(Queue {
            dirs: vec![Dir {
                path: Vec::new(),
                rules: Rules::base(excludes),
            }],
            busy: 0,
        }),
        news: Condvar::new(),
        expired: AtomicBool::new(false),
    };
    let threads = std::thread::available_parallelism()
        .map_or(2, usize::from)
        .min(8);
    std::thread::scope(|s| {
        for _ in 1..threads {
            s.spawn(|| scan.work(&late));
        }
        scan.work(&late);
    });

    let (met, mut bare) = {
        let mut all = scan.gather();
        (std::mem::take(&mut all.met), std::mem::take(&mut all.dirs))
    };
    for path in &met {
        let mut dir = path.parent();
        while let Some(at) = dir.filter(|at| bare.remove(at.bytes())) {
            dir = at.parent();
        }
    }
    bare.remove(&Vec::new());
    // what is known but was not met: gone, or ignored by now and still tracked
    for path in known.keys().filter(|path| !met.contains(*path)) {
        if scan.expired.load(Ordering::Relaxed) || late() {
            scan.expired.store(true, Ordering::Relaxed);
            break;
        }
        let stat = root.stat(path);
        scan.examine(path.clone(), stat);
    }
    crate::fault::point("scanned");
    let gathered = scan
        .gathered
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(e) = gathered.failed {
        return Err(e);
    }
    let mut out = gathered.out;
    out.partial = scan.expired.load(Ordering::Relaxed);
    out.pack = gathered.pack.map(PackWriter::seal).transpose()?;
    out.found.sort_by(|a, b| a.path.cmp(&b.path));
    out.coverage.items.sort_by(|a, b| a.path.cmp(&b.path));
    out.coverage.pending = out.partial;
    out.bare_dirs = bare.into_iter().collect::<Vec<_>>().join(&0);
    Ok(out)
}

struct Dir {
    path: Vec<u8>,
    rules: Arc<Rules>,
}

struct Queue {
    dirs: Vec<Dir>,
    /// Threads that may still add directories.
    busy: usize,
}

struct Scan<'a> {
    root: &'a Root,
    store: &'a Path,
    known: &'a KnownTree,
    gathered: Mutex<Gathered>,
    /// Contents go to the pack by now: compress them outside the lock.
    spilling: AtomicBool,
    queue: Mutex<Queue>,
    news: Condvar,
    expired: AtomicBool,
}

impl Scan<'_> {
    fn gather(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes directories until there are none and nobody can add one.
    fn work(&self, late: &(dyn Fn() -> bool + Sync)) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(dir) = queue.dirs.pop() {
                queue.busy += 1;
                drop(queue);
                let below = if self.expired.load(Ordering::Relaxed) || late() {
                    self.expired.store(true, Ordering::Relaxed);
                    Vec::new()
                } else {
                    self.list(&dir)
                };
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
    fn list(&self, dir: &Dir) -> Vec<Dir> {
        let full = self.root.path.join(bytes_path(&dir.path));
        // like git, not through a link
        let own = read_small(&full.join(bytes_path(rules::FILE)), false);
        let rules = dir.rules.below(&dir.path, own.as_deref());
        let entries = match std::fs::read_dir(&full) {
            Ok(entries) => entries,
            // gone between listing and looking: the next scan sees it right
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(e) => {
                self.gather()
                    .out
                    .coverage
                    .note(&dir.path, Reason::Unreadable, e.to_string());
                return Vec::new();
            }
        };
        let mut below = Vec::new();
        let mut ignored = 0;
        for entry in entries {
            let Ok(entry) = entry else { continue };
            let name = os_bytes(&entry.file_name());
            if VCS.contains(&name.as_slice()) || name.starts_with(TEMP_PREFIX) {
                continue;
            }
            let path = if dir.path.is_empty() {
                name
            } else {
                [&dir.path, &b"/"[..], &name].concat()
            };
            let is_dir = entry.file_type().is_ok_and(|t| t.is_dir());
            if rules.ignores(&path, is_dir) {
                ignored += 1;
            } else if is_dir {
                below.push(Dir {
                    path,
                    rules: Arc::clone(&rules),
                });
            } else if let Some(path) = RelPath::new(path)
                && let Some(stat) = stat_path(&entry.path())
            {
                self.examine(path, Some(stat));
            }
        }
        let mut all = self.gather();
        all.out.coverage.ignored += ignored;
        all.dirs.insert(dir.path.clone());
        drop(all);
        below
    }

    /// Decides about one path that stands on disk or in the known tree.
    fn examine(&self, path: RelPath, stat: Option<Stat>) {
        let was = self.known.get(&path);
        if let (Some(was), Some(stat)) = (was, &stat)
            && was.stat.proves(stat)
        {
            let mut all = self.gather();
            if let Image::Opaque(why) = was.image {
                all.out.coverage.note(path.bytes(), reason(why), "");
            }
            all.met.insert(path);
            return;
        }
        let look = match self.root.look(&path) {
            Ok(look) => look,
            Err(e) => {
                let mut all = self.gather();
                all.out
                    .coverage
                    .note(path.bytes(), Reason::Unreadable, e.to_string());
                all.met.insert(path);
                return;
            }
        };
        let before = was.map_or(Image::Absent, |k| k.image);
        if look.is_dir && was.is_none() {
            return;
        }
        let mut look = look;
        let packed = (look.image != before && self.spilling.load(Ordering::Relaxed))
            .then(|| look.bytes.take().map(Packed::new))
            .flatten();
        let mut all = self.gather();
        all.met.insert(path.clone());
        if let Image::Opaque(why) = look.image {
            let changed = was.is_some() && before == look.image;
            all.out.coverage.note(
                path.bytes(),
                reason(why),
                if changed { "changed" } else { "" },
            );
            // what cannot be read now keeps the state last known
            if why != Opaque::TooLarge && before.content().is_some() {
                return;
            }
        }
        if look.image == before {
            all.out.restated.extend(look.stat.map(|stat| (path, stat)));
            return;
        }
        all.take(path, look, packed, self.store);
        if all.pack.is_some() {
            self.spilling.store(true, Ordering::Relaxed);
        }
    }
}

pub(crate) fn reason(why: Opaque) -> Reason {
    match why {
        Opaque::TooLarge => Reason::TooLarge,
        Opaque::Unreadable => Reason::Unreadable,
        Opaque::Special => Reason::Special,
    }
}
