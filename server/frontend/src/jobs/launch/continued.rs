//! Runs that continue in another process.

use std::path::Path;

use backstitch_job::place::RunEntry;
use backstitch_job::session::{CannotResume, ResumableRun, is_resumable};

use super::super::{is_of, jobs_dir, runs};
use crate::terminal::error::{CliError, CliResult, ExitKind};

/// Word for the newest run that can be resumed. No id of a run has it.
const LAST: &str = "last";

/// The command that lists the runs.
const LIST: &str = "`backstitch job list --runs` lists the runs, and those that can be resumed";

/// Takes a run: the named one, or with `last` the newest one of a repository.
pub fn take_run(named: &str, root: &Path) -> CliResult<(RunEntry, ResumableRun)> {
    let named = Some(named).filter(|named| *named != LAST);
    let entry = chosen(named, root)?;
    let taken = ResumableRun::take(&entry).map_err(|error| refused(&error))?;
    Ok((entry, taken))
}

/// The run that the user means.
fn chosen(named: Option<&str>, root: &Path) -> CliResult<RunEntry> {
    let dir = jobs_dir()?;
    let mut all = runs(&dir)?;
    let place = |wanted: &dyn Fn(&RunEntry) -> bool| all.iter().position(wanted);
    let is_own = |run: &RunEntry| named.is_none() && is_of(run, root);
    let found = place(&|run| Some(run.id.as_str()) == named)
        .or_else(|| place(&|run| is_own(run) && is_resumable(run)))
        // its error names the process that has it
        .or_else(|| place(&|run| is_own(run) && run.is_held));
    found.map(|place| all.swap_remove(place)).ok_or_else(|| {
        let text = match named {
            Some(id) => format!("{id}: no such run"),
            None => format!("no run of {} can be resumed", root.display()),
        };
        CliError::new(ExitKind::NotFound, text).hint(LIST)
    })
}

/// The reason and the next step.
fn refused(error: &CannotResume) -> CliError {
    let (kind, hint) = match error {
        CannotResume::Ended {
            again: (workflow, job),
            ..
        } => (
            ExitKind::Refused,
            format!("start a new one: backstitch job debug {workflow} -j {job}"),
        ),
        CannotResume::Held { .. } => (
            ExitKind::Refused,
            "continue there, or end that process, then resume".to_owned(),
        ),
        CannotResume::NoPoints(id) => (
            ExitKind::Refused,
            format!("start a new one, and remove it: backstitch job rm {id}"),
        ),
        CannotResume::NoRepository { id, .. } => (
            ExitKind::NotFound,
            format!("move it back there, or remove the run: backstitch job rm {id}"),
        ),
        CannotResume::Processes { .. } => (
            ExitKind::Refused,
            "end them, then resume: they may still write to its files".to_owned(),
        ),
        CannotResume::Damaged { id, .. } => (
            ExitKind::Failed,
            format!("remove the run: backstitch job rm {id}"),
        ),
    };
    CliError::new(kind, error.to_string()).hint(hint)
}
