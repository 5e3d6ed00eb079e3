//! `gaps.log`: what a hook could not record because the store could not be opened or written. A line
//! each, imported into the history at the next chance, so that no gap is silent.

use std::collections::BTreeMap;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use super::private_file;
use crate::error::Result;
use crate::model::ContentId;

fn log(dir: &Path) -> PathBuf {
    dir.join("gaps.log")
}

/// Space for some gaps on a disk that is full by then.
fn spare(dir: &Path) -> PathBuf {
    dir.join("spare.gaps")
}

const SPARE: usize = 4096;

/// Held while a gap is written or the gaps are moved aside: nobody writes to a file that is being taken.
/// Where it does not come in time, or at all, a gap is written without it.
fn alone(dir: &Path) -> Option<super::Lock> {
    super::lock(&dir.join("gap.lock"), true, Duration::from_millis(500)).ok()?
}

/// Sets that space aside, for when the disk is full.
pub(crate) fn reserve(dir: &Path) {
    let path = spare(dir);
    private_file(&path)
        .create_new(true)
        .write(true)
        .open(&path)
        .and_then(|mut f| f.write_all(&[b'\n'; SPARE]))
        .ok();
}

/// What of the reserve is in use.
fn reserved(dir: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(spare(dir)).unwrap_or_default();
    let used = bytes
        .iter()
        .rposition(|b| *b != b'\n')
        .map_or(0, |at| at + 2);
    bytes.truncate(used);
    bytes
}

/// Writes over this part of the reserve. `false`: there is none, or not so much.
fn fill_reserve(dir: &Path, at: usize, bytes: &[u8]) -> bool {
    let fits = at + bytes.len() <= SPARE;
    let write = || -> std::io::Result<()> {
        let path = spare(dir);
        let mut file = private_file(&path).write(true).open(&path)?;
        file.seek(SeekFrom::Start(at as u64))?;
        file.write_all(bytes)
    };
    fits && write().is_ok()
}

/// Appends a gap. `false` where even that is not possible (the caller still has stderr).
pub(crate) fn append(dir: &Path, what: &str) -> bool {
    let line = format!("{} {}\n", super::now(), what.replace(['\n', '\r'], " "));
    let there = super::make_private_dir(dir).is_ok();
    let _alone = alone(dir);
    let logged = there
        && private_file(dir)
            .create(true)
            .append(true)
            .open(log(dir))
            .and_then(|mut f| f.write_all(line.as_bytes()))
            .is_ok();
    logged || fill_reserve(dir, reserved(dir).len(), line.as_bytes())
}

/// Files set aside by `take`, oldest first.
fn aside(dir: &Path) -> Vec<PathBuf> {
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

/// Which part of a source was taken into the history already.
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

    /// What of a source is new.
    fn rest<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        match bytes.split_at_checked(self.len) {
            Some((old, new)) if Self::of(old).hash == self.hash => new,
            _ => bytes,
        }
    }
}

const TAKEN: &str = "gaps taken";

/// Reads the gaps, for who holds the store's only write transaction. The log is moved aside first, so
/// that a gap written meanwhile is in one or the other; `done`, after the commit, removes what was read.
/// Where that never comes, since the process died, the transaction's note of what it took keeps the next
/// one from taking it twice.
pub(crate) fn take(conn: &Connection, dir: &Path) -> Result<Option<TakenGaps>> {
    if !log(dir).exists() && aside(dir).is_empty() && reserved(dir).is_empty() {
        return Ok(None);
    }
    let _alone = alone(dir);
    let from = log(dir);
    if from.exists() {
        let name = format!("gaps.{}.{}", super::now(), std::process::id());
        std::fs::rename(&from, dir.join(name)).ok();
    }
    let files = aside(dir);
    let reserved = reserved(dir);
    let noted: Option<String> = conn
        .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([TAKEN], |r| r.get(0))
        .optional()?;
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
    source(&spare(dir), &reserved);
    conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
        .execute((TAKEN, serde_json::to_string(&taken).unwrap_or_default()))?;
    Ok(Some(TakenGaps {
        gaps,
        files,
        reserved: (dir.to_path_buf(), reserved.len()),
    }))
}

/// What waits to be taken up.
pub(crate) fn peek(dir: &Path) -> Vec<String> {
    let mut files = aside(dir);
    files.push(log(dir));
    let mut gaps: Vec<String> = files.iter().flat_map(|path| read(path)).collect();
    gaps.extend(lines(&reserved(dir)));
    gaps
}

pub(crate) struct TakenGaps {
    pub gaps: Vec<String>,
    files: Vec<PathBuf>,
    /// The store's directory, and how much of its reserve this is.
    reserved: (PathBuf, usize),
}

impl TakenGaps {
    pub(crate) fn done(self) {
        for file in self.files {
            std::fs::remove_file(file).ok();
        }
        let (dir, len) = self.reserved;
        let _alone = alone(&dir);
        if len > 0 {
            fill_reserve(&dir, 0, &vec![b'\n'; len.min(SPARE)]);
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

    /// S4-055: a process that dies between the commit and the removal makes no gap twice.
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
