//! The record of a run, `run.json` in its directory, and the list of all runs.

use std::collections::BTreeMap;
use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use backstitch_core::process::ProcessStat;
use serde::{Deserialize, Serialize};

use crate::state::EnvVariables;

use super::remove::remove_tree;
use super::write::{WithPath, write_durably};
use super::{CACHES, jobs_lock, lock_file, numbers};

const FILE: &str = "run.json";

/// The points of a run that a person steps through, beside the record.
pub(crate) const RUN_DB: &str = "run.db";

/// The secrets of a run, beside the record.
pub(crate) const SECRETS: &str = "secrets.json";

/// Time for which the end of a killed process is waited for: programs that it was about to start begin in it.
const START_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Prefix of a directory that is being removed: it is no longer listed.
const REMOVED: &str = ".removed-";

/// Facts of a run that has ended or still runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Name of the run's directory.
    pub id: String,
    /// Root of the user's repository.
    pub repository: PathBuf,
    /// Path of the workflow, relative to the repository.
    pub workflow: String,
    /// SHA-256 of the workflow's text, in hexadecimal digits.
    pub text: String,
    pub job: String,
    /// Values of the matrix; null without one.
    pub matrix: serde_json::Value,
    pub event: String,
    /// Milliseconds since 1970, UTC.
    pub started: u64,
    pub status: RunStatus,
    /// Outputs of the job, without secrets. None before its end.
    #[serde(default)]
    pub outputs: EnvVariables,
    /// Outputs of its steps, by their ids, without secrets.
    #[serde(default)]
    pub steps: BTreeMap<String, EnvVariables>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    Running,
    Success,
    Failure,
    Cancelled,
}

impl RunStatus {
    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Success => "success",
            RunStatus::Failure => "failure",
            RunStatus::Cancelled => "cancelled",
        }
    }
}

/// A directory of a run.
#[derive(Debug)]
pub struct RunEntry {
    pub id: String,
    pub dir: PathBuf,
    /// The record, or a sentence about why there is none.
    pub record: Result<RunRecord, String>,
    /// True while a process holds the run. A run that says `Running` without one was cut off.
    pub is_held: bool,
    /// Start of the run, or the time of its directory.
    pub started: SystemTime,
}

impl RunEntry {
    /// True for a run that no process holds, and that none can continue.
    pub fn has_ended(&self) -> bool {
        !self.is_held && !self.is_cut_off()
    }

    /// True for a run that another process can continue, once its own has ended: its project is there, and its points are.
    pub fn is_cut_off(&self) -> bool {
        let is_open =
            |record: &RunRecord| record.status == RunStatus::Running && record.repository.exists();
        self.record.as_ref().is_ok_and(is_open) && self.dir.join(RUN_DB).exists()
    }
}

impl RunRecord {
    /// Writes the record durably into the run's directory. A run that has ended loses its secrets.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        text.push(b'\n');
        write_durably(&dir.join(FILE), &text)?;
        if self.status != RunStatus::Running {
            // only a run that continues needs them
            let _ = fs::remove_file(dir.join(SECRETS));
        }
        Ok(())
    }

    fn read(dir: &Path) -> Result<RunRecord, String> {
        let file = dir.join(FILE);
        let text = fs::read(&file)
            .map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        serde_json::from_slice(&text)
            .map_err(|error| format!("{} is damaged: {error}", file.display()))
    }
}

/// All runs below `jobs_dir`, newest first. Without the directory there are none.
pub fn list(jobs_dir: &Path) -> io::Result<Vec<RunEntry>> {
    let entries = match fs::read_dir(jobs_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_path(jobs_dir)?,
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry.with_path(jobs_dir)?;
        let Ok(id) = entry.file_name().into_string() else {
            continue;
        };
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && is_id(&id) {
            runs.push(entry_of(id, entry.path())?);
        }
    }
    runs.sort_by(|a, b| (b.started, &b.id).cmp(&(a.started, &a.id)));
    Ok(runs)
}

fn entry_of(id: String, dir: PathBuf) -> io::Result<RunEntry> {
    let record = RunRecord::read(&dir);
    let started = match &record {
        Ok(record) => UNIX_EPOCH.checked_add(Duration::from_millis(record.started)),
        Err(_) => fs::metadata(&dir).and_then(|dir| dir.modified()).ok(),
    };
    Ok(RunEntry {
        is_held: is_held(&dir)?,
        started: started.unwrap_or(UNIX_EPOCH),
        id,
        dir,
        record,
    })
}

/// True if a process holds the lock of a run.
fn is_held(dir: &Path) -> io::Result<bool> {
    let lock = match lock_file(dir) {
        // a run without its directory's rights is not held by this user
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        lock => lock?,
    };
    let since = Instant::now();
    loop {
        match lock.try_lock_shared() {
            Ok(()) => return Ok(false),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error).with_path(dir),
        }
        if !has_dead_owner(dir) || since.elapsed() > START_TIMEOUT {
            return Ok(true);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// True if the process that took the lock has ended. A program that it was about to start shares the lock until it has begun.
fn has_dead_owner(dir: &Path) -> bool {
    let owner = super::owner(dir).map(ProcessStat::of);
    cfg!(target_os = "linux") && owner.is_some_and(|stat| stat.is_none_or(ProcessStat::has_ended))
}

/// The process that holds a run. None: none does.
pub fn holder(dir: &Path) -> io::Result<Option<u32>> {
    Ok(is_held(dir)?.then(|| super::owner(dir)).flatten())
}

/// True for a name that a run's directory can have: no path, not hidden, with a number at its end.
fn is_id(id: &str) -> bool {
    let number = id.rsplit_once('-').map_or("", |(_, number)| number);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && !id.starts_with('.') && !id.contains(['/', '\0']) && id != CACHES
}

/// Removes a run with everything in its directory. One that a process holds is not removed.
pub fn remove(jobs_dir: &Path, id: &str) -> io::Result<()> {
    let dir = jobs_dir.join(id);
    let is_run = is_id(id) && fs::symlink_metadata(&dir).is_ok_and(|found| found.is_dir());
    if !is_run {
        let reason = format!("there is no run {id}; `backstitch job list --runs` names them");
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    let jobs = jobs_lock(jobs_dir)?;
    if is_held(&dir)? {
        let reason = format!("the run {id} has not ended: end it, then remove it");
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason));
    }
    numbers::note_removed(jobs_dir, id);
    let removed = jobs_dir.join(format!("{REMOVED}{id}-{}", std::process::id()));
    fs::rename(&dir, &removed).with_path(&dir)?;
    drop(jobs);
    remove_tree(&removed)
}

/// Removes the runs that have ended, but for the newest `keep` of each repository and those that began at `since` or later. Returns the ids of the
/// removed ones, and sentences about those that could not be removed.
pub fn prune(
    jobs_dir: &Path,
    keep: usize,
    since: SystemTime,
) -> io::Result<(Vec<String>, Vec<String>)> {
    let (mut removed, mut failed) = (Vec::new(), Vec::new());
    let ended = list(jobs_dir)?.into_iter().filter(RunEntry::has_ended);
    let mut counts: BTreeMap<Option<PathBuf>, usize> = BTreeMap::new();
    let ended = ended.filter(|run| {
        let record = run.record.as_ref().ok();
        let count = counts.entry(record.map(|record| record.repository.clone()));
        let count = count.and_modify(|count| *count += 1).or_insert(1);
        *count > keep
    });
    // records have whole milliseconds
    let is_older = |run: &RunEntry| run.started + Duration::from_millis(1) <= since;
    for run in ended.filter(is_older) {
        match remove(jobs_dir, &run.id) {
            Ok(()) => removed.push(run.id),
            // another process began to hold it, or has removed it
            Err(error) if is_taken(&error) => {}
            Err(error) => failed.push(format!("the run {} was not removed: {error}", run.id)),
        }
    }
    remove_leftovers(jobs_dir)?;
    Ok((removed, failed))
}

fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ResourceBusy
    )
}

/// Removes what a removal that was cut off has left.
fn remove_leftovers(jobs_dir: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(jobs_dir) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry.with_path(jobs_dir)?;
        if entry.file_name().to_string_lossy().starts_with(REMOVED) {
            // files of another user stay; the next call tries again
            let _ = remove_tree(&entry.path());
        }
    }
    Ok(())
}
