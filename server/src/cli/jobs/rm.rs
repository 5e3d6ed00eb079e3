//! `job rm`: removes runs that are kept.

use std::process::ExitCode;

use backstitch_job::place::remove;
use clap::Args;

use crate::cli::options::GlobalArgs;
use crate::jobs::{self, is_of};
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::Out;

use super::list::runs;
use super::setting;
use crate::render::counted;

/// Remove runs, with their files and logs
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  backstitch job rm ci-build-3\n  backstitch job rm --all\n  backstitch job rm --all --everywhere"
)]
pub struct JobRmArgs {
    /// Ids of runs, as `job list --runs` shows them
    #[arg(required_unless_present = "all", value_name = "RUN")]
    pub runs: Vec<String>,
    /// Remove all runs of this project that have ended
    #[arg(long, conflicts_with = "runs")]
    pub all: bool,
    /// With --all: those of all projects
    #[arg(long, requires = "all")]
    pub everywhere: bool,
}

pub fn run(args: &JobRmArgs, global: &GlobalArgs, out: &Out) -> CliResult<ExitCode> {
    let dir = jobs::jobs_dir()?;
    let root = setting::repository(global)?.root;
    let known = runs()?;
    for id in &args.runs {
        if !known.iter().any(|run| run.id == *id) {
            return Err(
                CliError::new(ExitKind::NotFound, format!("{id}: no such run"))
                    .hint("`backstitch job list --runs` lists them"),
            );
        }
    }
    let (mut removed, mut others) = (0, 0);
    for run in &known {
        let is_ours = args.everywhere || is_of(run, &root);
        if args.all && !is_ours {
            others += 1;
            continue;
        }
        if args.runs.contains(&run.id) || (args.all && run.has_ended()) {
            match remove(&dir, &run.id) {
                Ok(()) => removed += 1,
                // another process has removed it
                Err(_) if !run.dir.exists() => {}
                Err(error) => {
                    let dir = run.dir.display();
                    let text = format!("{dir} cannot be removed: {error}");
                    return Err(CliError::new(ExitKind::Failed, text));
                }
            }
        }
    }
    out.remark(&format!("Removed {}.\n", counted(removed, "run")))?;
    let held = known.iter().filter(|run| args.all && !run.has_ended());
    let held = held.filter(|run| args.everywhere || is_of(run, &root));
    let held: Vec<&str> = held.map(|run| run.id.as_str()).collect();
    if !held.is_empty() {
        out.remark(&format!("Not ended, and kept: {}.\n", held.join(", ")))?;
    }
    if others > 0 {
        out.remark(&format!(
            "{} of other projects stay; --everywhere removes them, too.\n",
            counted(others, "run")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
