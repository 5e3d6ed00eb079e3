//! `gaps.log`: what a hook could not record because the store could not be opened or written. A line
//! each, imported into the history at the next chance, so that no gap is silent.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::private_file;

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

/// Reads the gaps, for who holds the store's only write transaction. The log is moved aside first, so
/// that a gap written meanwhile is in one or the other; `done` removes what was read. Where that never
/// comes, since the process died or its transaction was rolled back, the next one finds it again.
pub(crate) fn take(dir: &Path) -> Option<Taken> {
    let _alone = alone(dir);
    let from = log(dir);
    if from.exists() {
        let name = format!("gaps.{}.{}", super::now(), std::process::id());
        std::fs::rename(&from, dir.join(name)).ok();
    }
    let files = aside(dir);
    let reserved = reserved(dir);
    let mut gaps: Vec<String> = files.iter().flat_map(|path| read(path)).collect();
    gaps.extend(lines(&reserved));
    let taken = Taken {
        gaps,
        files,
        reserved: (dir.to_path_buf(), reserved.len()),
    };
    (!taken.gaps.is_empty()).then_some(taken)
}

/// What waits to be taken up.
pub(crate) fn peek(dir: &Path) -> Vec<String> {
    let mut files = aside(dir);
    files.push(log(dir));
    let mut gaps: Vec<String> = files.iter().flat_map(|path| read(path)).collect();
    gaps.extend(lines(&reserved(dir)));
    gaps
}

pub(crate) struct Taken {
    pub gaps: Vec<String>,
    files: Vec<PathBuf>,
    /// The store's directory, and how much of its reserve this is.
    reserved: (PathBuf, usize),
}

impl Taken {
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
