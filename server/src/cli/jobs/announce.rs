//! Warnings of a run before its first step, and the question of a terminal.

use backstitch_job::run::{JobListing, WorkflowSetup};

use crate::jobs::launch::JobLaunch;
use crate::jobs::launch::announcement::{line_of, unseen, warnings};
use crate::render::counted;
use crate::terminal::error::CliResult;
use crate::terminal::out::Out;
use crate::terminal::questions;

/// Shows what is absent, refused, and reaches out, before the first step. False if the user declines. `yes`: the user knows the commands
/// that reach out.
pub fn announce(
    args: &JobLaunch,
    yes: bool,
    setup: &WorkflowSetup,
    jobs: &[JobListing],
    out: &Out,
) -> CliResult<bool> {
    for warning in warnings(args, setup, jobs) {
        out.note("warning", &warning);
    }
    let jobs = unseen(setup, jobs);
    if jobs.is_empty() || yes {
        return Ok(true);
    }
    for (job, _) in &jobs {
        out.note(
            "warning",
            &format!(
                "the job {} has {} that can reach out of the run:",
                job.id,
                counted(job.reaching.len(), "command")
            ),
        );
        for command in &job.reaching {
            out.note("warning", &line_of(command));
        }
    }
    if questions::can_ask() && !out.json && !questions::ask("Run it?")? {
        return Ok(false);
    }
    for (job, seen) in jobs {
        seen.add(&job.reaching);
    }
    Ok(true)
}
