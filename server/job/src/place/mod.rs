//! The place of a run: a private directory, in which everything that its steps reach is the run's.

mod cargo_home;
pub mod environment;
mod host;
mod numbers;
mod python;
pub mod reach;
mod record;
mod remove;
mod rustup_home;
mod shims;
mod size;
mod write;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub(crate) use record::{RUN_DB, SECRETS};
pub use record::{RunEntry, RunRecord, RunStatus, holder, list, prune, remove};
pub(crate) use remove::{empty_tree, remove_tree};
pub(crate) use shims::{corepack_script, write_program};
pub use size::disk_size;
use write::link;
pub(crate) use write::{WithPath, link_for_run, write_durably, write_for_run};

use serde::{Deserialize, Serialize};

use crate::repository::ProjectRepository;

/// Characters of a workflow's and of a job's name that a directory's name has.
const MAX_NAME: usize = 40;

/// Name of the lock in a directory.
const LOCK: &str = "lock";

/// Directory of caches beside the runs. Names of runs end in a number, so none is equal.
const CACHES: &str = "caches";

/// Directories of one run, with the lock that it holds until it is dropped. A process that gets it from another one has no lock.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunPlace {
    /// Name of the directory, which is the run's id.
    pub id: String,
    /// Number of the run among those of the same workflow and job, from 1.
    pub number: u64,
    /// Directory of the run, 0700.
    pub dir: PathBuf,
    /// Everything that is the state of the run.
    pub files: PathBuf,
    /// `GITHUB_WORKSPACE`.
    pub workspace: PathBuf,
    /// `RUNNER_TEMP`.
    pub temp: PathBuf,
    /// `TMPDIR`: short, as paths of sockets are limited.
    pub tmp: PathBuf,
    pub home: PathBuf,
    /// `RUNNER_TOOL_CACHE`.
    pub tool: PathBuf,
    pub artifacts: PathBuf,
    pub log: PathBuf,
    /// Caches of package managers and of `actions/cache`, beside the runs.
    pub caches: PathBuf,
    /// Addresses to which no push of a step goes: the user's directory and its remote.
    pub protected: Vec<String>,
    /// True if the workspace is the user's own.
    pub is_in_place: bool,
    #[serde(skip)]
    lock: Option<File>,
}

impl RunPlace {
    /// Makes the directories of a new run below `jobs_dir`. Two runs never get the same number.
    pub fn create(
        jobs_dir: &Path,
        workflow: &str,
        job: &str,
        repository: &ProjectRepository,
    ) -> io::Result<RunPlace> {
        RunPlace::new(jobs_dir, workflow, job, repository, false)
    }

    /// Makes the directories of a run whose workspace is the user's working tree.
    pub fn in_place(
        jobs_dir: &Path,
        workflow: &str,
        job: &str,
        repository: &ProjectRepository,
    ) -> io::Result<RunPlace> {
        RunPlace::new(jobs_dir, workflow, job, repository, true)
    }

    /// The place of a check that starts no step and writes nothing: version files are those of the project.
    pub(crate) fn of_no_run(repository: &ProjectRepository) -> RunPlace {
        // no directory can be there
        let nowhere = || PathBuf::from("/dev/null/run");
        RunPlace {
            id: String::new(),
            number: 0,
            dir: nowhere(),
            files: nowhere(),
            workspace: repository.root.clone(),
            temp: PathBuf::from("/"),
            tmp: nowhere(),
            home: nowhere(),
            tool: nowhere(),
            artifacts: nowhere(),
            log: nowhere(),
            caches: nowhere(),
            protected: Vec::new(),
            is_in_place: true,
            lock: None,
        }
    }

    fn new(
        jobs_dir: &Path,
        workflow: &str,
        job: &str,
        repository: &ProjectRepository,
        is_in_place: bool,
    ) -> io::Result<RunPlace> {
        create_private(jobs_dir)?;
        let jobs_dir = jobs_dir.canonicalize().with_path(jobs_dir)?;
        let _jobs = jobs_lock(&jobs_dir)?;
        let prefix = format!("{}-{}", plain_name(file_stem(workflow)), plain_name(job));
        let mut number = numbers::last_number(&jobs_dir, &prefix)? + 1;
        let (id, dir) = loop {
            let id = format!("{prefix}-{number}");
            let dir = jobs_dir.join(&id);
            match DirBuilder::new().mode(0o700).create(&dir) {
                Ok(()) => break (id, dir),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error).with_path(&dir),
            }
        };
        let lock = lock_file(&dir)?;
        lock.lock().with_path(&dir)?;
        note_owner(&lock).with_path(&dir)?;
        let files = dir.join("files");
        let name = Path::new(&repository.name);
        let workspace = if is_in_place {
            repository.root.clone()
        } else {
            files.join("work").join(name).join(name)
        };
        let place = RunPlace {
            id,
            number,
            temp: files.join("temp"),
            tmp: files.join("tmp"),
            home: files.join("home"),
            tool: files.join("tool"),
            artifacts: files.join("artifacts"),
            log: dir.join("log"),
            caches: jobs_dir.join(CACHES),
            files,
            workspace,
            dir,
            protected: protected(repository),
            is_in_place,
            lock: Some(lock),
        };
        let all = [
            &place.workspace,
            &place.temp,
            &place.tmp,
            &place.home,
            &place.tool,
            &place.artifacts,
            &place.log,
            &place.caches,
        ];
        for dir in all {
            create_private(dir)?;
        }
        Ok(place)
    }
}

impl RunPlace {
    /// Takes the lock of a run that began in another process. The error is `WouldBlock` if a process holds it.
    pub(crate) fn held_again(mut self, dir: &Path) -> io::Result<RunPlace> {
        if self.dir != dir {
            let reason = format!("the run began in {}", self.dir.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, reason));
        }
        let lock = lock_file(dir)?;
        lock.try_lock().map_err(io::Error::from)?;
        note_owner(&lock).with_path(dir)?;
        self.lock = Some(lock);
        Ok(self)
    }
}

/// Writes this process into the lock of a run.
fn note_owner(mut lock: &File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    lock.write_all(std::process::id().to_string().as_bytes())
}

/// True for a file of the run that the runner makes for itself. `path`: below the files of the run.
pub fn is_runner_file(path: &str) -> bool {
    path.starts_with("temp/_") || python::is_of_environment(path)
}

/// The process that holds the lock of a run, or held it last.
pub fn owner(dir: &Path) -> Option<u32> {
    fs::read_to_string(dir.join(LOCK)).ok()?.parse().ok()
}

/// Makes a directory that only the user enters, and its parents. One that is there stays as it is.
pub(crate) fn create_private(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700).recursive(true);
    builder.create(dir).with_path(dir)
}

/// The user's directory and its remote, by path and as `file://`.
fn protected(repository: &ProjectRepository) -> Vec<String> {
    let storage = repository.git.as_ref();
    let mut paths = vec![repository.root.clone()];
    paths.extend(storage.map(|git| git.git_dir.clone()));
    let mut all = Vec::new();
    if let Some(origin) = &repository.origin {
        if is_local(origin) {
            let path = repository.root.join(origin);
            paths.extend(path.canonicalize().ok());
            paths.push(path);
        }
        all.push(origin.clone());
    }
    for path in paths {
        let path = path.to_string_lossy();
        all.push(format!("file://{path}"));
        all.push(path.into_owned());
    }
    all
}

/// True for an address that is a path: a colon before the first slash makes it a host's.
fn is_local(address: &str) -> bool {
    let front = address.split('/').next().unwrap_or(address);
    !front.contains(':')
}

/// Lock of all runs, held while one is made or removed.
fn jobs_lock(jobs_dir: &Path) -> io::Result<File> {
    let lock = lock_file(jobs_dir)?;
    lock.lock().with_path(jobs_dir)?;
    Ok(lock)
}

fn lock_file(dir: &Path) -> io::Result<File> {
    let file = dir.join(LOCK);
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    options.open(&file).with_path(&file)
}

/// `ci` of `.github/workflows/ci.yml`.
fn file_stem(workflow: &str) -> &str {
    let name = workflow.rsplit('/').next().unwrap_or(workflow);
    let stem = name
        .strip_suffix(".yml")
        .or_else(|| name.strip_suffix(".yaml"));
    stem.unwrap_or(name)
}

/// Characters that need no quotes in a shell, and no dot or dash at the front.
fn plain_name(name: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | '-' => c,
        _ => '_',
    };
    let name: String = name.chars().map(plain).take(MAX_NAME).collect();
    match name.trim_start_matches(['.', '-']) {
        "" => "_".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests;
