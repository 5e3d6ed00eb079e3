//! `gaps.log`: events that a hook could not record because the store could not be opened or written. One line per gap;
//! imported into the history at the next chance, so that no gap is silent.

use std::collections::BTreeMap;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::private_file;
use super::tables::meta::{self, MetaKey};
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

/// Returns the used part of the reserve.
fn reserved(dir: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(reserve_path(dir)).unwrap_or_default();
    let used = bytes
        .iter()
        .rposition(|b| *b != b'\n')
        .map_or(0, |at| at + 2);
    bytes.truncate(used);
    bytes
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
    logged || fill_reserve(dir, reserved(dir).len(), line.as_bytes())
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

fn read(path: &Path) -> Vec<String> {
    lines(&std::fs::read(path).unwrap_or_default())
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

/// Reads the gaps within the store's write transaction. The log is moved aside first, so that a concurrent gap is in
/// one file or the other. After the commit, `done` removes what was read. If the process dies before that, the
/// transaction's note keeps the next one from taking a gap twice.
pub(crate) fn take(conn: &Connection, dir: &Path) -> Result<Option<TakenGaps>> {
    if !log(dir).exists() && moved_aside(dir).is_empty() && reserved(dir).is_empty() {
        return Ok(None);
    }
    let _lock = lock(dir);
    let from = log(dir);
    if from.exists() {
        let name = format!("gaps.{}.{}", super::now(), std::process::id());
        std::fs::rename(&from, dir.join(name)).ok();
    }
    let files = moved_aside(dir);
    let reserved = reserved(dir);
    let noted: Option<String> = meta::get(conn, &MetaKey::GapsTaken)?;
    let noted: BTreeMap<String, Part> = noted
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let mut taken = BTreeMap::new();
    let mut gaps = Vec::new();
    let mut source = |path: &Path, bytes: &[u8]| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = noted.get(&*name).map_or(bytes, |part| part.rest(bytes));
        gaps.extend(lines(rest));
        taken.insert(name.into_owned(), Part::of(bytes));
    };
    for path in &files {
        source(path, &std::fs::read(path).unwrap_or_default());
    }
    source(&reserve_path(dir), &reserved);
    meta::set(
        conn,
        &MetaKey::GapsTaken,
        serde_json::to_string(&taken).unwrap_or_default(),
    )?;
    Ok(Some(TakenGaps {
        gaps,
        files,
        reserved: (dir.to_path_buf(), reserved.len()),
    }))
}

/// Returns the gaps that are not in the history yet.
pub(crate) fn peek(dir: &Path) -> Vec<String> {
    let mut files = moved_aside(dir);
    files.push(log(dir));
    let mut gaps: Vec<String> = files.iter().flat_map(|path| read(path)).collect();
    gaps.extend(lines(&reserved(dir)));
    gaps
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
}
