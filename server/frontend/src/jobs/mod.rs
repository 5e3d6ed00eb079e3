//! CI jobs on this machine, for several front ends: workflow files, the directory of all runs, and the runs that are kept.

pub mod launch;
mod run_call;
pub mod words;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

pub use backstitch_core::jobs_dir;
use backstitch_job::place::environment::Host;
use backstitch_job::place::{RunEntry, RunStatus, list};
use backstitch_job::run::ActionSources;
use backstitch_job::session::is_resumable;
use backstitch_protocol::KeptRun;

use crate::to_protocol;

/// Folder of workflows in a repository.
pub const WORKFLOWS: &str = ".github/workflows";

/// Age up to which the newest run is recent.
const RECENT: Duration = Duration::from_hours(24);

/// State of a run that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    Running,
    /// Its process ended before the run did.
    CutOff,
    /// Its record cannot be read.
    Damaged,
    Ended(RunStatus),
}

impl RunState {
    pub fn of(run: &RunEntry) -> Self {
        match &run.record {
            Err(_) => Self::Damaged,
            Ok(record) if record.status == RunStatus::Running => {
                if run.is_held {
                    Self::Running
                } else {
                    Self::CutOff
                }
            }
            Ok(record) => Self::Ended(record.status),
        }
    }

    /// The word for people, as the output of a run has it.
    pub fn shown(self) -> &'static str {
        match self {
            Self::Ended(RunStatus::Success) => "ok",
            Self::Ended(RunStatus::Failure) => "failed",
            Self::Running | Self::CutOff | Self::Damaged | Self::Ended(_) => self.word(),
        }
    }

    /// The word of JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => RunStatus::Running.word(),
            Self::CutOff => "cut off",
            Self::Damaged => "damaged",
            Self::Ended(status) => status.word(),
        }
    }
}

/// Runs of all repositories, the newest first.
pub fn runs(jobs_dir: &Path) -> io::Result<Vec<RunEntry>> {
    if jobs_dir.exists() {
        list(jobs_dir)
    } else {
        Ok(Vec::new())
    }
}

/// Runs of the repositories in this directory, the newest first. An unreadable state directory has none.
pub fn runs_of(root: &Path) -> Vec<RunEntry> {
    let all = jobs_dir().map(|dir| runs(&dir).unwrap_or_default());
    let mut all = all.unwrap_or_default();
    all.retain(|run| is_of(run, root));
    all
}

/// Runs of these that run now, or else the newest one if it began in the last day.
pub fn recent(runs: &[RunEntry]) -> Vec<&RunEntry> {
    let running: Vec<&RunEntry> = runs
        .iter()
        .filter(|run| RunState::of(run) == RunState::Running)
        .collect();
    if !running.is_empty() {
        return running;
    }
    let newest = runs.first().filter(|run| {
        let age = run.started.elapsed().unwrap_or_default();
        age < RECENT
    });
    newest.into_iter().collect()
}

/// Workflow and job of a run: `ci.yml build`.
pub fn title(run: &RunEntry) -> String {
    run.record.as_ref().map_or_else(
        |_| run.id.clone(),
        |record| {
            let file = record.workflow.rsplit('/').next();
            format!("{} {}", file.unwrap_or(&record.workflow), record.job)
        },
    )
}

/// True if the run is of a repository in this directory.
pub fn is_of(run: &RunEntry, root: &Path) -> bool {
    let record = run.record.as_ref();
    record.is_ok_and(|record| record.repository.starts_with(root))
}

/// Start of a run, in microseconds since 1970, UTC.
pub fn started(run: &RunEntry) -> i64 {
    let since = run.started.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The run as JSON has it.
pub fn kept_run(run: &RunEntry) -> KeptRun {
    let record = run.record.as_ref().ok();
    KeptRun {
        id: run.id.clone(),
        workflow: record.map(|record| record.workflow.clone()),
        job: record.map(|record| record.job.clone()),
        status: RunState::of(run).word().to_owned(),
        resumable: is_resumable(run),
        started: to_protocol::time(started(run)),
        directory: run.dir.to_string_lossy().into_owned(),
    }
}

/// Workflow files of a repository, by name.
pub fn workflow_files(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(WORKFLOWS))
        .into_iter()
        .flatten()
        .flatten();
    let is_workflow = |path: &PathBuf| {
        path.extension()
            .is_some_and(|kind| kind == "yml" || kind == "yaml")
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(is_workflow)
        .collect();
    files.sort();
    files
}

/// Actions that are here without the user's word: those in the cache of act.
pub fn action_sources() -> ActionSources {
    let host = Host::of_process();
    let cache = host.directory("XDG_CACHE_HOME", ".cache");
    ActionSources {
        caches: cache.map(|cache| cache.join("act")).into_iter().collect(),
        host,
        ..ActionSources::default()
    }
}
