//! Arguments of `job run`, which `job debug` has, too.

use std::path::PathBuf;

use backstitch_core::config::AbsentActions;
use backstitch_job::builtin::CheckoutMode;
use backstitch_job::run::ChoiceNames;
use clap::{Args, ValueEnum};

use crate::cli::choice::one_of;
use crate::jobs::launch::{JobLaunch, LaunchNames};

/// Names of the options.
const NAMES: LaunchNames = LaunchNames {
    job: "--job",
    matrix: "--matrix",
    output: "--output",
    event: "--event",
    event_file: "--eventpath",
    input: "--input",
    env_file: "--env-file",
    secret_file: "--secret-file",
    var_file: "--var-file",
    action: ACTION,
    checkout: "--checkout",
    in_place: "--in-place",
    user_home: "--user-home",
    inherit_env: "--inherit-env",
    choices: ChoiceNames {
        any_system: "--any-system",
        matrix: "--matrix KEY=VALUE",
        points: POINTS,
    },
};

/// The option that chooses steps with checkpoints.
pub const POINTS: &str = "--points";

/// The option that names a directory of an action.
pub const ACTION: &str = "--action";

/// Run jobs of a workflow, each in a separate directory: the project is not touched
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    backstitch job run ci.yml -j build\n  \
    backstitch job run ci.yml -j build --matrix node=20 --secret-file .secrets\n  \
    backstitch job run ci.yml -j build --step test\n  \
    backstitch job run ci.yml --action acme/lint@v2=../lint --missing-actions skip\n\n\
    The exit code is 0 if all jobs succeed, and 1 if one fails.")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct JobRunArgs {
    /// Workflow file, or its name in .github/workflows
    pub file: PathBuf,
    /// Run this job, and those that it needs [default: all jobs]
    #[arg(short, long)]
    pub job: Option<String>,
    /// Choose the combination of a matrix with this value [default: the first one for this system]
    #[arg(long, value_name = "KEY=VALUE")]
    pub matrix: Vec<String>,
    /// Run this step of the job alone: its id, its name, or its number from 1. Checkouts before it run, too
    #[arg(long)]
    pub step: Option<String>,
    /// Output of a step that does not run, or of a job: `needs.JOB.NAME=VALUE` [default: that of the newest run]
    #[arg(long = "output", value_name = "STEP.NAME=VALUE", requires = "step")]
    pub outputs: Vec<String>,
    /// Event that starts the workflow [default: push, else the first one that the workflow names]
    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,
    /// File with the payload of the event, in JSON
    #[arg(long, value_name = "FILE")]
    pub eventpath: Option<PathBuf>,
    /// Input of `workflow_dispatch`
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub inputs: Vec<String>,
    /// File with variables of the environment
    #[arg(long, value_name = "FILE")]
    pub env_file: Option<PathBuf>,
    /// File with secrets: no output shows them
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// File with values of `vars`
    #[arg(long, value_name = "FILE")]
    pub var_file: Option<PathBuf>,
    /// Directory of an action that is not here, or `skip` for its steps
    #[arg(long = "action", value_name = "NAME=DIR")]
    pub actions: Vec<String>,
    /// Treatment of steps whose action is absent [default: the setting jobs.missingActions]
    #[arg(long, value_name = "WORD", value_parser = one_of(&AbsentActions::ALL, AbsentActions::name))]
    pub missing_actions: Option<AbsentActions>,
    /// Files that checkout brings: those of the working tree with your edits, or those of the last commit
    #[arg(long, value_name = "WORD", default_value = "worktree")]
    pub checkout: CheckoutWord,
    /// Run in the project itself: steps change your files
    #[arg(long)]
    pub in_place: bool,
    /// Give steps your own home directory, with its logins
    #[arg(long)]
    pub user_home: bool,
    /// Give steps this variable of your environment [default: those of the setting jobs.inheritEnv]
    #[arg(long = "inherit-env", value_name = "NAME")]
    pub inherit_env: Vec<String>,
    /// Run jobs for other systems here, too
    #[arg(long)]
    pub any_system: bool,
    /// Wait at a step that fails: look around, step back, and continue by the words of `job debug`
    #[arg(long)]
    pub hold: bool,
    /// Show the lines of `::debug::`
    #[arg(long)]
    pub debug: bool,
    /// Do not ask before a workflow with commands that reach out runs for the first time
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckoutWord {
    Worktree,
    Head,
}

impl JobRunArgs {
    pub fn launch(&self) -> JobLaunch {
        let args = self.clone();
        JobLaunch {
            names: &NAMES,
            file: args.file,
            job: args.job,
            matrix: args.matrix,
            step: args.step,
            outputs: args.outputs,
            event: args.event,
            event_file: args.eventpath,
            inputs: args.inputs,
            env_file: args.env_file,
            secret_file: args.secret_file,
            var_file: args.var_file,
            actions: args.actions,
            missing_actions: args.missing_actions,
            checkout: match args.checkout {
                CheckoutWord::Worktree => CheckoutMode::Worktree,
                CheckoutWord::Head => CheckoutMode::Head,
            },
            in_place: args.in_place,
            user_home: args.user_home,
            inherit_env: args.inherit_env,
            any_system: args.any_system,
            debug: args.debug,
        }
    }
}
