//! Cache of the last full walk, kept beside the store: the stat of every directory and file. If all of them are
//! unchanged, no walk, no ignore rules and no rows are needed. The cache only saves work: if it is missing, old,
//! damaged or useless, the tree is walked.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::fs::FileType;

use crate::error::{Context, Result};
use crate::model::{Here, RelPath, RootId, bytes_path};
use crate::store::tables::operation;
use crate::store::tables::root::scan;
use crate::worktree::changed_paths::ChangedPaths;
use crate::worktree::disk::{DirListing, NO_STAT, Root, Stat, TEMP_PREFIX, stat_in};

/// A full walk is repeated after this time, whatever a recorder or the cache says.
pub(crate) const WALK: Duration = Duration::from_mins(5);

/// Kinds of stats in the cache: none, one that proves nothing but tells the mode, and one that proves.
const UNKNOWN: u8 = 0;
const PROVING: u8 = 1;
const RACY: u8 = 2;

const MAGIC: &[u8; 8] = b"bsseen3\n";
/// Above this many changes a full walk is cheaper, and writes a new cache.
const MAX_CHANGES: usize = 500;

/// Walk that the cache belongs to, with the branch and operation, which can change without a trace on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CacheKey {
    walk: i64,
    branch: i64,
    operation: i64,
}

impl CacheKey {
    /// Returns the key of the last recorded walk, or None if there is none.
    fn now(conn: &Connection, here: Here) -> Result<Option<Self>> {
        let newest = operation::newest(conn)?;
        Ok(scan::last_walk(conn, here.root)?.map(|walk| Self {
            walk,
            branch: here.branch.0,
            operation: newest.map_or(0, |op| op.0),
        }))
    }

    fn write(self, out: &mut Vec<u8>) {
        for number in [self.walk, self.branch, self.operation] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

fn cache_path(store: &Path, root: RootId) -> PathBuf {
    store.join(format!("seen-{}", root.0))
}

/// Record of one directory in the cache, while it is written.
#[derive(Debug)]
pub(crate) struct DirRecord {
    out: Vec<u8>,
}

impl DirRecord {
    /// `stat` is the directory's stat from before it was listed. None: always list it again.
    pub(crate) fn new(path: &[u8], stat: Option<&Stat>) -> Self {
        let mut out = vec![0; 4];
        push_bytes(&mut out, path);
        push_stat(&mut out, stat);
        Self { out }
    }

    /// Adds a file and the stat that proves it unchanged. None: always check the file again.
    pub(crate) fn add(&mut self, name: &[u8], stat: Option<&Stat>) {
        push_bytes(&mut self.out, name);
        push_stat(&mut self.out, stat);
    }

    /// Appends the record to the cache.
    pub(crate) fn end(mut self, dir_cache_bytes: &mut Vec<u8>) {
        let len = u32::try_from(self.out.len() - 4).unwrap_or(0);
        self.out[..4].copy_from_slice(&len.to_le_bytes());
        dir_cache_bytes.extend_from_slice(&self.out);
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    // no path is longer than 65,535 bytes
    out.extend_from_slice(&u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn push_stat(out: &mut Vec<u8>, stat: Option<&Stat>) {
    out.push(match stat {
        None => UNKNOWN,
        Some(stat) if stat.racy => RACY,
        Some(_) => PROVING,
    });
    if let Some(s) = stat {
        for number in [s.size, s.mtime, s.ctime, s.inode, s.dev, s.mode] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// Writes the cache of a walk that has just been recorded.
pub(crate) fn save(
    conn: &Connection,
    store: &Path,
    here: Here,
    dir_cache_bytes: &[u8],
) -> Result<()> {
    let Some(key) = CacheKey::now(conn, here)? else {
        return Ok(());
    };
    let mut out = Vec::with_capacity(dir_cache_bytes.len() + 64);
    out.extend_from_slice(MAGIC);
    key.write(&mut out);
    out.extend_from_slice(dir_cache_bytes);
    let hash = blake3::hash(&out);
    out.extend_from_slice(hash.as_bytes());
    let path = cache_path(store, here.root);
    // two concurrent writers damage the file; the hash detects that
    let temp = path.with_extension("tmp");
    crate::store::private_file(&temp)
        .create(true)
        .truncate(true)
        .write(true)
        .open(&temp)
        .and_then(|mut file| file.write_all(&out))
        .and_then(|()| std::fs::rename(&temp, &path))
        .at("write", &path)
}

/// Removes the caches of all roots, because the file states were removed.
pub(crate) fn remove(store: &Path) {
    let entries = std::fs::read_dir(store).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().as_encoded_bytes().starts_with(b"seen-") {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

/// Returns the paths that differ from the cache. None: the cache is unusable, or too much differs.
pub(crate) fn changed_paths(
    conn: &Connection,
    store: &Path,
    root: &Root,
    here: Here,
    deadline: Option<Instant>,
) -> Result<Option<ChangedPaths>> {
    let (Some(key), true) = (CacheKey::now(conn, here)?, root.has_reliable_dir_times()) else {
        return Ok(None);
    };
    let path = cache_path(store, here.root);
    let age = std::fs::metadata(&path).and_then(|m| m.modified());
    let age = age.ok().and_then(|written| written.elapsed().ok());
    let (Some(true), Ok(bytes)) = (age.map(|age| age < WALK), std::fs::read(&path)) else {
        return Ok(None);
    };
    Ok(parse(&bytes, key).and_then(|dirs| compare(root, &dirs, deadline)))
}

/// A directory in the cache.
struct CachedDir<'a> {
    path: &'a [u8],
    stat: Stat,
    files: CacheReader<'a>,
}

/// Parses the cache. None if it belongs to another walk or is damaged.
fn parse(bytes: &[u8], key: CacheKey) -> Option<Vec<CachedDir<'_>>> {
    let (dir_cache_bytes, hash) = bytes.split_last_chunk::<32>()?;
    let mut expected = MAGIC.to_vec();
    key.write(&mut expected);
    let mut rest = CacheReader(dir_cache_bytes.strip_prefix(expected.as_slice())?);
    if blake3::hash(dir_cache_bytes).as_bytes() != hash {
        return None;
    }
    let mut dirs = Vec::new();
    while !rest.0.is_empty() {
        let len = u32::from_le_bytes(*rest.chunk()?);
        let mut record = CacheReader(rest.take(usize::try_from(len).ok()?)?);
        let path = record.bytes()?;
        let stat = record.stat()?;
        dirs.push(CachedDir {
            path,
            stat,
            files: record,
        });
    }
    // a cache without the root directory is not from a full walk
    dirs.iter().any(|dir| dir.path.is_empty()).then_some(dirs)
}

#[derive(Clone, Copy)]
struct CacheReader<'a>(&'a [u8]);

impl<'a> CacheReader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = u16::from_le_bytes(*self.chunk()?);
        self.take(usize::from(len))
    }

    fn number(&mut self) -> Option<i64> {
        self.chunk().map(|bytes| i64::from_le_bytes(*bytes))
    }

    /// Reads a stat; `NO_STAT`, which proves nothing, if none was recorded. None: the data is cut off.
    fn stat(&mut self) -> Option<Stat> {
        let [kind] = *self.chunk::<1>()?;
        if kind == UNKNOWN {
            return Some(NO_STAT);
        }
        Some(Stat {
            size: self.number()?,
            mtime: self.number()?,
            ctime: self.number()?,
            inode: self.number()?,
            dev: self.number()?,
            mode: self.number()?,
            btime: 0,
            racy: kind != PROVING,
            linked: false,
        })
    }
}

/// Compares all cached directories with the disk, on two threads.
fn compare(root: &Root, dirs: &[CachedDir<'_>], deadline: Option<Instant>) -> Option<ChangedPaths> {
    let known_dirs: HashSet<&[u8], rustc_hash::FxBuildHasher> =
        dirs.iter().map(|dir| dir.path).collect();
    let half = dirs.len().div_ceil(2);
    let (first, second) = dirs.split_at(half);
    let (first, second) = std::thread::scope(|s| {
        let second = (!second.is_empty())
            .then(|| s.spawn(|| compare_dirs(root, second, &known_dirs, deadline)));
        let first = compare_dirs(root, first, &known_dirs, deadline);
        (
            first,
            second.map_or(Some(ChangedPaths::default()), |t| t.join().ok()?),
        )
    });
    let (mut first, second) = (first?, second?);
    first.paths.extend(second.paths);
    first.trees.extend(second.trees);
    (first.paths.len() + first.trees.len() <= MAX_CHANGES).then_some(first)
}

fn compare_dirs(
    root: &Root,
    dirs: &[CachedDir<'_>],
    known_dirs: &HashSet<&[u8], rustc_hash::FxBuildHasher>,
    deadline: Option<Instant>,
) -> Option<ChangedPaths> {
    let mut changed = ChangedPaths::default();
    for dir in dirs {
        let now = root.stat_at(dir.path);
        let has_mode = |now: &Stat| dir.stat.mode == 0 || dir.stat.mode == now.mode;
        if !now.as_ref().is_none_or(has_mode) {
            changed.trees.extend(RelPath::new(dir.path));
        }
        let is_proven = now.is_some_and(|now| dir.stat.proves(&now));
        if !is_proven && root.has_past_times() {
            // its time may differ while its entries are the same
            changed.paths.extend(RelPath::new(dir.path));
        }
        if !is_proven && !relist(root, dir, known_dirs, &mut changed) {
            // the directory is gone or replaced, maybe by a link to the same files; None: it is the root itself
            changed.add(RelPath::new(dir.path)?);
        }
        let mut files = dir.files;
        // open the directory once for all its files; if that fails, none of them is unchanged
        let entry = (!files.0.is_empty())
            .then(|| root.open_dir(dir.path))
            .flatten();
        while !files.0.is_empty() {
            let (name, cached) = (files.bytes()?, files.stat()?);
            let now = entry.as_ref().filter(|_| !cached.racy);
            let now = now.and_then(|entry| stat_in(entry, name));
            if !now.is_some_and(|now| cached.proves(&now)) {
                let path = match dir.path {
                    b"" => name.to_vec(),
                    above => [above, b"/", name].concat(),
                };
                // a directory may now be in place of the file
                changed.add(RelPath::new(path)?);
            }
        }
        let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late || changed.paths.len() + changed.trees.len() > MAX_CHANGES {
            return None;
        }
    }
    Some(changed)
}

/// Adds the entries of a directory that are not in the cache. `false`: it is no longer a directory.
fn relist(
    root: &Root,
    dir: &CachedDir<'_>,
    known_dirs: &HashSet<&[u8], rustc_hash::FxBuildHasher>,
    changed: &mut ChangedPaths,
) -> bool {
    // renamed to another case, it is still found by its old name
    if !root.is_dir(dir.path) || !root.is_exact_dir(dir.path) {
        return false;
    }
    let Ok(listed) = DirListing::read(&root.path.join(bytes_path(dir.path)), root.vcs) else {
        return false;
    };
    let mut cached = HashSet::new();
    let mut files = dir.files;
    while let (Some(name), Some(_)) = (files.bytes(), files.stat()) {
        cached.insert(name);
    }
    let mut missing: HashSet<&[u8]> = cached.clone();
    for (name, _) in &listed.entries {
        missing.remove(name.as_slice());
    }
    // it may be another directory of the same name, or have lost its last file: directories without a file are noted
    let is_dir = |kind: &FileType| *kind == FileType::Directory;
    if listed.entries.iter().all(|(_, kind)| is_dir(kind)) {
        changed.trees.extend(RelPath::new(dir.path));
    }
    let above = |name: &[u8]| match dir.path {
        b"" => name.to_vec(),
        above => [above, b"/", name].concat(),
    };
    for path in missing
        .into_iter()
        .filter_map(|name| RelPath::new(above(name)))
    {
        changed.add(path);
    }
    for (name, kind) in &listed.entries {
        let excluded = root.vcs.is_name(name) || name.starts_with(TEMP_PREFIX);
        if excluded || cached.contains(name.as_slice()) {
            continue;
        }
        let path = above(name);
        if known_dirs.contains(path.as_slice()) {
            continue;
        }
        if let Some(path) = RelPath::new(path) {
            match kind {
                FileType::Directory => drop(changed.trees.insert(path)),
                FileType::Unknown => changed.add(path),
                _ => drop(changed.paths.insert(path)),
            }
        }
    }
    true
}

/// Parses a cache with this body, which may be arbitrary bytes.
#[cfg(any(test, fuzzing))]
pub(crate) fn exercise(body: &[u8]) {
    let key = CacheKey {
        walk: 1,
        branch: 1,
        operation: 1,
    };
    let mut dir_cache_bytes = MAGIC.to_vec();
    key.write(&mut dir_cache_bytes);
    dir_cache_bytes.extend_from_slice(body);
    let hash = blake3::hash(&dir_cache_bytes);
    dir_cache_bytes.extend_from_slice(hash.as_bytes());
    for mut dir in parse(&dir_cache_bytes, key).into_iter().flatten() {
        while dir.files.bytes().is_some() && dir.files.stat().is_some() {}
    }
}
