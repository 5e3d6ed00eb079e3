//! `gaps.log`: events that a hook could not record because the store could not be opened or written. One line per gap;
//! imported into the history at the next chance, so that no gap is silent.

use std::collections::BTreeMap;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::tables::meta::{self, MetaKey};
use super::{private_file, to_json};
use crate::error::Result;
use crate::model::ContentId;

fn log(dir: &Path) -> PathBuf {
    dir.join("gaps.log")
}

/// Reserved space for gaps on a full disk.
fn reserve_path(dir: &Path) -> PathBuf {
    dir.join("spare.gaps")
}

const RESERVE_SIZE: usize = 4096;

/// Locks the gap files while a gap is written or the gaps are moved aside. Nobody then writes to a file that is being
/// taken. If the lock is not available in time, a gap is written anyway.
fn lock(dir: &Path) -> Option<super::Lock> {
    super::lock(&dir.join("gap.lock"), true, Duration::from_millis(500)).ok()?
}

/// Creates the reserve, for use when the disk is full.
pub(crate) fn reserve(dir: &Path) {
    let path = reserve_path(dir);
    private_file(&path)
        .create_new(true)
        .write(true)
        .open(&path)
        .and_then(|mut f| f.write_all(&[b'\n'; RESERVE_SIZE]))
        .ok();
}

/// Returns the content of a file. A missing file is empty.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    match std::fs::read(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// Returns the used part of the reserve.
fn reserved(dir: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = read(&reserve_path(dir))?;
    let used = bytes
        .iter()
        .rposition(|b| *b != b'\n')
        .map_or(0, |at| at + 2);
    bytes.truncate(used);
    Ok(bytes)
}

/// Overwrites this part of the reserve. `false`: there is no reserve or not enough of it.
fn fill_reserve(dir: &Path, at: usize, bytes: &[u8]) -> bool {
    let fits = at + bytes.len() <= RESERVE_SIZE;
    let write = || -> std::io::Result<()> {
        let path = reserve_path(dir);
        let mut file = private_file(&path).write(true).open(&path)?;
        file.seek(SeekFrom::Start(at as u64))?;
        file.write_all(bytes)
    };
    fits && write().is_ok()
}

/// Appends a gap. `false` if even that is impossible (the caller still has stderr).
pub(crate) fn append(dir: &Path, what: &str) -> bool {
    let line = format!("{} {}\n", super::now(), what.replace(['\n', '\r'], " "));
    let exists = super::make_private_dir(dir).is_ok();
    let _lock = lock(dir);
    let logged = exists
        && private_file(dir)
            .create(true)
            .append(true)
            .open(log(dir))
            .and_then(|mut f| f.write_all(line.as_bytes()))
            .is_ok();
    logged || reserved(dir).is_ok_and(|used| fill_reserve(dir, used.len(), line.as_bytes()))
}

/// Returns the files moved aside by `take`, oldest first.
fn moved_aside(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| {
            let name = e.file_name();
            let name = name.to_string_lossy();
            name.starts_with("gaps.") && name != "gaps.log"
        })
        .map(|e| e.path())
        .collect();
    found.sort();
    found
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text)
        .lines()
        .filter_map(|line| line.split_once(' ').map(|(_, what)| what.to_owned()))
        .collect()
}

/// Part of a source that is already in the history.
#[derive(serde::Serialize, serde::Deserialize)]
struct Part {
    len: usize,
    hash: String,
}

impl Part {
    fn of(bytes: &[u8]) -> Self {
        Self {
            len: bytes.len(),
            hash: ContentId::of(bytes).to_string(),
        }
    }

    /// Returns the new part of a source.
    fn rest<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        match bytes.split_at_checked(self.len) {
            Some((old, new)) if Self::of(old).hash == self.hash => new,
            _ => bytes,
        }
    }
}

/// Gap files that were moved aside, and the reserve, with their contents. A file that cannot be read is left out, so
/// that it stays until it can.
struct GapFiles {
    files: Vec<(PathBuf, Vec<u8>)>,
    reserved: Option<Vec<u8>>,
}

impl GapFiles {
    /// Moves the log aside, so that a concurrent gap is in one file or the other, and reads all files. The
    /// caller holds the lock.
    fn read(dir: &Path) -> Self {
        let from = log(dir);
        if from.exists() {
            let name = format!("gaps.{}.{}", super::now(), std::process::id());
            std::fs::rename(&from, dir.join(name)).ok();
        }
        let files = moved_aside(dir).into_iter();
        Self {
            files: files
                .filter_map(|path| std::fs::read(&path).ok().map(|bytes| (path, bytes)))
                .collect(),
            reserved: reserved(dir).ok(),
        }
    }

    fn taken(self, dir: &Path, gaps: Vec<String>) -> TakenGaps {
        TakenGaps {
            gaps,
            files: self.files.into_iter().map(|(path, _)| path).collect(),
            reserved: (
                dir.to_path_buf(),
                self.reserved.map_or(0, |used| used.len()),
            ),
        }
    }
}

fn is_any(dir: &Path) -> bool {
    let is_reserve_used = || reserved(dir).is_ok_and(|used| !used.is_empty());
    log(dir).exists() || !moved_aside(dir).is_empty() || is_reserve_used()
}

/// Reads the gaps within the store's write transaction. After the commit, `done` removes what was read. If the process
/// dies before that, the transaction's note keeps the next one from taking a gap twice.
pub(crate) fn take(conn: &Connection, dir: &Path) -> Result<Option<TakenGaps>> {
    if !is_any(dir) {
        return Ok(None);
    }
    let _lock = lock(dir);
    let noted: Option<String> = meta::get(conn, &MetaKey::GapsTaken)?;
    // with a damaged note a gap may be taken twice, which is better than a capture that fails until somebody mends it
    let noted: BTreeMap<String, Part> = noted
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let found = GapFiles::read(dir);
    let mut taken = BTreeMap::new();
    let mut gaps = Vec::new();
    let mut source = |path: &Path, bytes: &[u8]| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = noted.get(&*name).map_or(bytes, |part| part.rest(bytes));
        gaps.extend(lines(rest));
        taken.insert(name.into_owned(), Part::of(bytes));
    };
    for (path, bytes) in &found.files {
        source(path, bytes);
    }
    if let Some(used) = &found.reserved {
        source(&reserve_path(dir), used);
    }
    // a file that was noted before and cannot be read now may be readable again
    for (name, part) in noted {
        if !taken.contains_key(&name) && dir.join(&name).symlink_metadata().is_ok() {
            taken.insert(name, part);
        }
    }
    meta::set(conn, &MetaKey::GapsTaken, to_json(&taken)?)?;
    Ok(Some(found.taken(dir, gaps)))
}

/// Reads all gaps, to remove them with the history.
pub(crate) fn take_all(dir: &Path) -> Option<TakenGaps> {
    if !is_any(dir) {
        return None;
    }
    let _lock = lock(dir);
    Some(GapFiles::read(dir).taken(dir, Vec::new()))
}

/// Returns the gaps that are not in the history yet. A file that cannot be read is a gap, too.
pub(crate) fn peek(dir: &Path) -> Vec<String> {
    let mut files = moved_aside(dir);
    files.push(log(dir));
    let contents = files.into_iter().map(|path| (read(&path), path));
    let reserved = (reserved(dir), reserve_path(dir));
    contents
        .chain([reserved])
        .flat_map(|(content, path)| match content {
            Ok(bytes) => lines(&bytes),
            Err(e) => vec![format!(
                "{} cannot be read ({e}): check the file and its permissions",
                path.display()
            )],
        })
        .collect()
}

pub(crate) struct TakenGaps {
    pub gaps: Vec<String>,
    files: Vec<PathBuf>,
    /// The store's directory, and the used size of its reserve.
    reserved: (PathBuf, usize),
}

impl TakenGaps {
    pub(crate) fn done(self) {
        for file in self.files {
            std::fs::remove_file(file).ok();
        }
        let (dir, len) = self.reserved;
        let _lock = lock(&dir);
        if len > 0 {
            fill_reserve(&dir, 0, &vec![b'\n'; len.min(RESERVE_SIZE)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Durable, Store};

    fn taken(store: &mut Store, done: bool) -> Vec<String> {
        let dir = store.dir.clone();
        let taken = store.write(Durable::Process, |conn| take(conn, &dir));
        let Some(taken) = taken.expect("written") else {
            return Vec::new();
        };
        let gaps = taken.gaps.clone();
        if done {
            taken.done();
        }
        gaps
    }

    /// A process that dies between the commit and the removal does not import a gap twice.
    #[test]
    fn a_gap_is_taken_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut store = Store::open(dir.path()).expect("opens");
        assert!(append(dir.path(), "one"));
        assert!(fill_reserve(dir.path(), 0, b"1 two\n"));
        assert_eq!(taken(&mut store, false), ["one", "two"]);
        assert_eq!(taken(&mut store, false), [""; 0]);
        assert!(append(dir.path(), "three"));
        assert!(fill_reserve(dir.path(), 6, b"2 four\n"));
        assert_eq!(taken(&mut store, true), ["three", "four"]);
        assert_eq!(peek(dir.path()), [""; 0]);
        assert!(append(dir.path(), "five"));
        assert_eq!(taken(&mut store, true), ["five"]);
    }

    #[test]
    fn a_damaged_note_loses_no_gap_and_stops_no_capture() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut store = Store::open(dir.path()).expect("opens");
        assert!(append(dir.path(), "one"));
        assert_eq!(taken(&mut store, false), ["one"]);
        let damage = |conn: &Connection| meta::set(conn, &MetaKey::GapsTaken, "{");
        store.write(Durable::Process, damage).expect("written");
        assert!(append(dir.path(), "two"));
        assert_eq!(taken(&mut store, true), ["one", "two"]);
        assert_eq!(peek(dir.path()), [""; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_cannot_be_read_is_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut store = Store::open(dir.path()).expect("opens");
        let [odd, aside] = ["gaps.1.1", "aside"].map(|name| dir.path().join(name));
        std::fs::write(&odd, "1 odd\n").expect("written");
        assert_eq!(taken(&mut store, false), ["odd"]);
        // a link to itself cannot be read by anyone
        std::fs::rename(&odd, &aside).expect("renamed");
        std::os::unix::fs::symlink(&odd, &odd).expect("linked");
        assert!(append(dir.path(), "one"));
        assert_eq!(peek(dir.path()).len(), 2);
        assert_eq!(taken(&mut store, true), ["one"]);
        assert!(odd.symlink_metadata().is_ok());
        let left = peek(dir.path());
        assert!(
            left.len() == 1 && left[0].contains("gaps.1.1 cannot be read"),
            "{left:?}"
        );
        // readable again: the note of what was taken is still there
        let mut text = std::fs::read(&aside).expect("read");
        text.extend(b"2 new\n");
        std::fs::remove_file(&odd).expect("removed");
        std::fs::write(&odd, text).expect("written");
        assert_eq!(taken(&mut store, true), ["new"]);
        assert_eq!(peek(dir.path()), [""; 0]);
    }

    /// The note of the reserve goes with what it held: the same gap may come again.
    #[test]
    fn the_reserve_is_used_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut store = Store::open(dir.path()).expect("opens");
        for _ in 0..2 {
            assert!(fill_reserve(dir.path(), 0, b"1 one\n"));
            assert_eq!(taken(&mut store, true), ["one"]);
            assert!(append(dir.path(), "two"));
            assert_eq!(taken(&mut store, true), ["two"]);
        }
    }
}
