//! What the last walk over the whole tree saw, kept beside the store: who finds every directory and file as it was then
//! needs no walk, no rules and no rows. Only spares work: where it is missing, old, damaged or of no use, the tree is
//! walked.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::Connection;
use rustix::fs::FileType;

use crate::capture::record_scan::NO_STAT;
use crate::error::{Context, Result};
use crate::history::Here;
use crate::model::{OpId, RelPath, RootId, bytes_path, is_vcs};
use crate::worktree::disk::{DirListing, Root, Stat, TEMP_PREFIX, stat_in};
use crate::worktree::file_state;
use crate::worktree::recorder::{ChangedPaths, WALK};

const MAGIC: &[u8; 8] = b"bsseen1\n";
/// CacheKey so many changes a walk makes less work, and a new list.
const MOST: usize = 500;

/// Which walk it was of, and what has moved since without a trace on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CacheKey {
    walk: i64,
    branch: i64,
    operation: i64,
}

impl CacheKey {
    /// The last walk that was taken in. None: none.
    fn now(conn: &Connection, here: Here) -> Result<Option<Self>> {
        let newest: Option<OpId> =
            conn.query_row("SELECT MAX(id) FROM operation", [], |r| r.get(0))?;
        Ok(file_state::last_walk(conn, here.root)?.map(|walk| Self {
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

fn file(store: &Path, root: RootId) -> PathBuf {
    store.join(format!("seen-{}", root.0))
}

/// One directory of a walk, being written.
#[derive(Debug)]
pub(crate) struct DirRecord {
    out: Vec<u8>,
}

impl DirRecord {
    /// `stat`: of before it was listed. None: it is to be listed whatever it looks like.
    pub(crate) fn new(path: &[u8], stat: Option<&Stat>) -> Self {
        let mut out = vec![0; 4];
        push_bytes(&mut out, path);
        push_stat(&mut out, stat);
        Self { out }
    }

    /// A file in it, and what it looks like as long as it is what is known. None: it is to be looked at again.
    pub(crate) fn add(&mut self, name: &[u8], stat: Option<&Stat>) {
        push_bytes(&mut self.out, name);
        push_stat(&mut self.out, stat);
    }

    /// Puts it behind the others.
    pub(crate) fn end(mut self, dir_cache_bytes: &mut Vec<u8>) {
        let len = u32::try_from(self.out.len() - 4).unwrap_or(0);
        self.out[..4].copy_from_slice(&len.to_le_bytes());
        dir_cache_bytes.extend_from_slice(&self.out);
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    // no path is longer
    out.extend_from_slice(&u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn push_stat(out: &mut Vec<u8>, stat: Option<&Stat>) {
    out.push(u8::from(stat.is_some()));
    if let Some(s) = stat {
        for number in [s.size, s.mtime, s.ctime, s.inode, s.dev, s.mode] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// Writes down a walk that has just been taken in.
pub(crate) fn save(
    conn: &Connection,
    store: &Path,
    here: Here,
    dir_cache_bytes: &[u8],
) -> Result<()> {
    let Some(of) = CacheKey::now(conn, here)? else {
        return Ok(());
    };
    let mut out = Vec::with_capacity(dir_cache_bytes.len() + 64);
    out.extend_from_slice(MAGIC);
    of.write(&mut out);
    out.extend_from_slice(dir_cache_bytes);
    let hash = blake3::hash(&out);
    out.extend_from_slice(hash.as_bytes());
    let path = file(store, here.root);
    // two that write it at once spoil it, and its hash says so
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

/// What is known is forgotten, and so is what was seen.
pub(crate) fn remove(store: &Path) {
    let entries = std::fs::read_dir(store).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().as_encoded_bytes().starts_with(b"seen-") {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

/// Where the tree is not as the last walk saw it. None: that is not known, or it is much.
pub(crate) fn touched(
    conn: &Connection,
    store: &Path,
    root: &Root,
    here: Here,
    deadline: Option<Instant>,
) -> Result<Option<ChangedPaths>> {
    let (Some(of), true) = (CacheKey::now(conn, here)?, root.tells_of_changes()) else {
        return Ok(None);
    };
    let path = file(store, here.root);
    let age = std::fs::metadata(&path).and_then(|m| m.modified());
    let age = age.ok().and_then(|written| written.elapsed().ok());
    let (Some(true), Ok(bytes)) = (age.map(|age| age < WALK), std::fs::read(&path)) else {
        return Ok(None);
    };
    Ok(pages(&bytes, of).and_then(|pages| compare(root, &pages, deadline)))
}

/// A directory as it was seen.
struct CachedDir<'a> {
    path: &'a [u8],
    stat: Stat,
    files: CacheReader<'a>,
}

/// The directories of a dir_cache_bytes; None if it is not of this walk, or damaged.
fn pages(bytes: &[u8], of: CacheKey) -> Option<Vec<CachedDir<'_>>> {
    let (dir_cache_bytes, hash) = bytes.split_last_chunk::<32>()?;
    let mut expected = MAGIC.to_vec();
    of.write(&mut expected);
    let mut rest = CacheReader(dir_cache_bytes.strip_prefix(expected.as_slice())?);
    if blake3::hash(dir_cache_bytes).as_bytes() != hash {
        return None;
    }
    let mut dirs = Vec::new();
    while !rest.0.is_empty() {
        let len = u32::from_le_bytes(*rest.chunk()?);
        let mut page = CacheReader(rest.take(usize::try_from(len).ok()?)?);
        let path = page.bytes()?;
        let stat = page.stat()?;
        dirs.push(CachedDir {
            path,
            stat,
            files: page,
        });
    }
    // without the root itself, it is of no walk
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

    /// One that proves nothing where it was not sure. None: it is cut off.
    fn stat(&mut self) -> Option<Stat> {
        if *self.chunk::<1>()? == [0] {
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
            racy: false,
            linked: false,
        })
    }
}

/// Looks at all that was seen, on two threads.
fn compare(root: &Root, dirs: &[CachedDir<'_>], deadline: Option<Instant>) -> Option<ChangedPaths> {
    let known: HashSet<&[u8], rustc_hash::FxBuildHasher> =
        dirs.iter().map(|dir| dir.path).collect();
    let half = dirs.len().div_ceil(2);
    let (first, second) = dirs.split_at(half);
    let (first, second) = std::thread::scope(|s| {
        let second = (!second.is_empty()).then(|| s.spawn(|| look(root, second, &known, deadline)));
        let first = look(root, first, &known, deadline);
        (
            first,
            second.map_or(Some(ChangedPaths::default()), |t| t.join().ok()?),
        )
    });
    let (mut first, second) = (first?, second?);
    first.paths.extend(second.paths);
    first.trees.extend(second.trees);
    (first.paths.len() + first.trees.len() <= MOST).then_some(first)
}

fn look(
    root: &Root,
    dirs: &[CachedDir<'_>],
    known: &HashSet<&[u8], rustc_hash::FxBuildHasher>,
    deadline: Option<Instant>,
) -> Option<ChangedPaths> {
    let mut touched = ChangedPaths::default();
    for dir in dirs {
        let now = root.stat_at(dir.path);
        if !now.is_some_and(|now| dir.stat.proves(&now)) && !relist(root, dir, known, &mut touched)
        {
            // gone, or something else: maybe a link to where all is that was here. None: the root itself
            touched.add(RelPath::new(dir.path)?);
        }
        let mut files = dir.files;
        // the way to it is gone only once; where it cannot be opened, nothing in it is what it was
        let entry = (!files.0.is_empty())
            .then(|| root.entry(dir.path))
            .flatten();
        while !files.0.is_empty() {
            let (name, then) = (files.bytes()?, files.stat()?);
            let now = entry.as_ref().filter(|_| !then.racy);
            let now = now.and_then(|entry| stat_in(entry, name));
            if !now.is_some_and(|now| then.proves(&now)) {
                let path = match dir.path {
                    b"" => name.to_vec(),
                    above => [above, b"/", name].concat(),
                };
                // where there was a file, a directory may be
                touched.add(RelPath::new(path)?);
            }
        }
        let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late || touched.paths.len() + touched.trees.len() > MOST {
            return None;
        }
    }
    Some(touched)
}

/// Notes what is in a directory that was not seen there. `false`: there is none any more.
fn relist(
    root: &Root,
    dir: &CachedDir<'_>,
    known: &HashSet<&[u8], rustc_hash::FxBuildHasher>,
    touched: &mut ChangedPaths,
) -> bool {
    if !root.is_dir(dir.path) {
        return false;
    }
    let Ok(listed) = DirListing::read(&root.path.join(bytes_path(dir.path))) else {
        return false;
    };
    let mut there = HashSet::new();
    let mut files = dir.files;
    while let (Some(name), Some(_)) = (files.bytes(), files.stat()) {
        there.insert(name);
    }
    for (name, kind) in &listed.entries {
        let ours = is_vcs(name) || name.starts_with(TEMP_PREFIX);
        if ours || there.contains(name.as_slice()) {
            continue;
        }
        let path = match dir.path {
            b"" => name.clone(),
            above => [above, b"/", name].concat(),
        };
        if known.contains(path.as_slice()) {
            continue;
        }
        if let Some(path) = RelPath::new(path) {
            match kind {
                FileType::Directory => drop(touched.trees.insert(path)),
                FileType::Unknown => touched.add(path),
                _ => drop(touched.paths.insert(path)),
            }
        }
    }
    true
}

/// A book of these pages, which may be anything.
#[cfg(any(test, fuzzing))]
pub(crate) fn exercise(pages_of_it: &[u8]) {
    let of = CacheKey {
        walk: 1,
        branch: 1,
        operation: 1,
    };
    let mut dir_cache_bytes = MAGIC.to_vec();
    of.write(&mut dir_cache_bytes);
    dir_cache_bytes.extend_from_slice(pages_of_it);
    let hash = blake3::hash(&dir_cache_bytes);
    dir_cache_bytes.extend_from_slice(hash.as_bytes());
    for mut dir in pages(&dir_cache_bytes, of).into_iter().flatten() {
        while dir.files.bytes().is_some() && dir.files.stat().is_some() {}
    }
}
