//! `gaps.log`: what a hook could not record because the store could not be opened or written. A line
//! each, imported into the history at the next chance, so that no gap is silent.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::private_file;

fn log(dir: &Path) -> PathBuf {
    dir.join("gaps.log")
}

/// Appends a gap. `false` where even that is not possible (the caller still has stderr).
pub(crate) fn append(dir: &Path, what: &str) -> bool {
    let line = format!("{} {}\n", super::now(), what.replace(['\n', '\r'], " "));
    super::make_private_dir(dir).is_ok()
        && private_file(dir)
            .create(true)
            .append(true)
            .open(log(dir))
            .and_then(|mut f| f.write_all(line.as_bytes()))
            .is_ok()
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

fn read(path: &Path) -> Vec<String> {
    let text = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| line.split_once(' ').map(|(_, what)| what.to_owned()))
        .collect()
}

/// Reads the gaps, for who holds the store's only write transaction. The log is moved aside first, so
/// that a gap written meanwhile is in one or the other; `done` removes what was read. Where that never
/// comes, since the process died or its transaction was rolled back, the next one finds it again.
pub(crate) fn take(dir: &Path) -> Option<Taken> {
    let from = log(dir);
    if from.exists() {
        let name = format!("gaps.{}.{}", super::now(), std::process::id());
        std::fs::rename(&from, dir.join(name)).ok();
    }
    let files = aside(dir);
    let gaps = files.iter().flat_map(|path| read(path)).collect();
    (!files.is_empty()).then_some(Taken { gaps, files })
}

/// What waits to be taken up.
pub(crate) fn peek(dir: &Path) -> Vec<String> {
    let mut files = aside(dir);
    files.push(log(dir));
    files.iter().flat_map(|path| read(path)).collect()
}

pub(crate) struct Taken {
    pub gaps: Vec<String>,
    files: Vec<PathBuf>,
}

impl Taken {
    pub(crate) fn done(self) {
        for file in self.files {
            std::fs::remove_file(file).ok();
        }
    }
}
