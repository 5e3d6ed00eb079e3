//! Numbers of runs. None is given twice: the log of a removed run may still be named somewhere.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::write::{WithPath, write_durably};

/// The highest numbers of removed runs, by the fronts of their ids.
const FILE: &str = "numbers.json";

/// The highest number that a run with this front had, or 0.
pub(super) fn last_number(jobs_dir: &Path, front: &str) -> io::Result<u64> {
    let mut last = removed(jobs_dir).get(front).copied().unwrap_or(0);
    for entry in fs::read_dir(jobs_dir).with_path(jobs_dir)? {
        let name = entry.with_path(jobs_dir)?.file_name();
        let id = name.to_str().and_then(parts);
        if let Some((_, number)) = id.filter(|(of, _)| *of == front) {
            last = last.max(number);
        }
    }
    Ok(last)
}

/// Keeps the number of a run that is being removed.
pub(super) fn note_removed(jobs_dir: &Path, id: &str) {
    let Some((front, number)) = parts(id) else {
        return;
    };
    let mut all = removed(jobs_dir);
    let last = all.entry(front.to_owned()).or_insert(0);
    if *last >= number {
        return;
    }
    *last = number;
    let text = serde_json::to_vec(&all).unwrap_or_default();
    // a run is removed also where the disk is full
    let _ = write_durably(&jobs_dir.join(FILE), &text);
}

/// A file that is missing or damaged has no numbers.
fn removed(jobs_dir: &Path) -> BTreeMap<String, u64> {
    let text = fs::read(jobs_dir.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Front and number of a run's id.
fn parts(id: &str) -> Option<(&str, u64)> {
    let (front, number) = id.rsplit_once('-')?;
    Some((front, number.parse().ok()?))
}
