//! `job`: jobs of CI workflows on this machine.

mod announce;
mod debug;
mod list;
mod options;
mod resume;
mod rm;
mod run;
mod screen;
mod setting;
mod ticker;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::command::{DeclaredCommand, TerminalCommand, reads, records};
use crate::cli::options::GlobalArgs;
use crate::terminal::error::CliResult;
use crate::terminal::out::Out;

use debug::JobDebugArgs;
use list::JobListArgs;
use options::JobRunArgs;
use rm::JobRmArgs;

/// Run jobs of GitHub Actions workflows on this machine
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        backstitch job list                          workflows, jobs, and what is absent here\n  \
        backstitch job run ci.yml -j build           run a job in a directory of its own\n  \
        backstitch job run ci.yml -j build --matrix node=20\n  \
        backstitch job list --runs                   runs that are kept\n  \
        backstitch job rm --all                      remove them"
)]
pub struct JobArgs {
    #[command(subcommand)]
    command: JobCommand,
}

#[derive(Debug, Subcommand)]
enum JobCommand {
    List(JobListArgs),
    Run(Box<JobRunArgs>),
    Debug(Box<JobDebugArgs>),
    Rm(JobRmArgs),
    /// Supervise the program of one step (runs start it)
    #[command(hide = true, after_help = "Examples:\n  backstitch job step")]
    Step,
    /// Open the shell that a job waits for on this terminal (:shell of a debugger starts it)
    #[command(hide = true, after_help = "Examples:\n  backstitch job shell folder")]
    Shell {
        /// Folder in which the job waits
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Run the built-in action of one step (runs start it)
    #[command(
        hide = true,
        after_help = "Examples:\n  backstitch job builtin call.json"
    )]
    Builtin {
        /// File with the call
        file: PathBuf,
    },
}

impl TerminalCommand for JobArgs {
    fn declared(&self) -> DeclaredCommand {
        match self.command {
            JobCommand::List(_) => reads("job list"),
            JobCommand::Run(_) => records("job run"),
            JobCommand::Debug(_) => records("job debug"),
            JobCommand::Rm(_) => records("job rm"),
            JobCommand::Step => records("job step"),
            JobCommand::Builtin { .. } => records("job builtin"),
            JobCommand::Shell { .. } => records("job shell"),
        }
    }
}

/// Runs a command of the family. A job that fails is exit code 1.
pub fn run(args: JobArgs, global: &GlobalArgs, out: &Out) -> CliResult<ExitCode> {
    match args.command {
        JobCommand::List(args) => list::run(&args, global, out),
        JobCommand::Run(args) if args.hold => debug::run_stepping(&args, &[], true, global, out),
        JobCommand::Run(args) => run::run(&args, global, out),
        JobCommand::Debug(args) => match &args.resume {
            Some(named) => resume::run(named, global, out),
            None => debug::run(&args, global, out),
        },
        JobCommand::Rm(args) => rm::run(&args, global, out),
        JobCommand::Step => {
            backstitch_job::step::supervise::supervise()?;
            Ok(ExitCode::SUCCESS)
        }
        JobCommand::Shell { folder } => {
            backstitch_job::session::run_terminal_shell(&folder)?;
            Ok(ExitCode::SUCCESS)
        }
        JobCommand::Builtin { file } => {
            backstitch_job::builtin::serve(&file)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Ids of the jobs around the current directory, each with its workflow.
pub fn known_jobs() -> CliResult<Vec<(String, String)>> {
    list::known_jobs()
}

/// Ids of the runs that are kept.
pub fn known_runs() -> CliResult<Vec<String>> {
    Ok(list::runs()?.into_iter().map(|run| run.id).collect())
}
