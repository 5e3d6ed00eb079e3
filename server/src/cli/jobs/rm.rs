//! `job rm`: removes runs that are kept.

use std::process::ExitCode;

use backstitch_job::place::remove;
use clap::Args;

use crate::jobs;
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::Out;

use super::list::{counted, runs};

/// Remove runs, with their files and logs
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch job rm ci-build-3\n  backstitch job rm --all")]
pub struct JobRmArgs {
    /// Ids of runs, as `job list --runs` shows them
    #[arg(required_unless_present = "all", value_name = "RUN")]
    pub runs: Vec<String>,
    /// Remove all runs that have ended
    #[arg(long, conflicts_with = "runs")]
    pub all: bool,
}

pub fn run(args: &JobRmArgs, out: &Out) -> CliResult<ExitCode> {
    let dir = jobs::jobs_dir()?;
    let known = runs()?;
    for id in &args.runs {
        if !known.iter().any(|run| run.id == *id) {
            return Err(
                CliError::new(ExitKind::NotFound, format!("{id}: no such run"))
                    .hint("`backstitch job list --runs` lists them"),
            );
        }
    }
    let mut removed = 0;
    for run in &known {
        let chosen = args.runs.contains(&run.id) || (args.all && !run.is_held);
        if chosen {
            remove(&dir, &run.id).map_err(|error| {
                CliError::new(
                    ExitKind::Failed,
                    format!("{} cannot be removed: {error}", run.dir.display()),
                )
            })?;
            removed += 1;
        }
    }
    out.remark(&format!("Removed {}.\n", counted(removed, "run")))?;
    Ok(ExitCode::SUCCESS)
}
