//! Arguments of a start, with their names.

use std::path::PathBuf;

use backstitch_core::config::AbsentActions;
use backstitch_job::builtin::CheckoutMode;
use backstitch_job::position::WorkflowProblem;
use backstitch_job::run::ChoiceNames;

use crate::terminal::error::{CliError, ExitKind};

/// Arguments of a start.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an argument")]
pub struct JobLaunch {
    /// Their names, which errors tell.
    pub names: &'static LaunchNames,
    /// The workflow: a path, or a name in .github/workflows.
    pub file: PathBuf,
    pub job: Option<String>,
    /// `KEY=VALUE` each.
    pub matrix: Vec<String>,
    /// The step that runs alone.
    pub step: Option<String>,
    /// `STEP.NAME=VALUE` or `needs.JOB.NAME=VALUE` each.
    pub outputs: Vec<String>,
    pub event: Option<String>,
    /// File with the payload of the event.
    pub event_file: Option<PathBuf>,
    /// `NAME=VALUE` each.
    pub inputs: Vec<String>,
    pub env_file: Option<PathBuf>,
    pub secret_file: Option<PathBuf>,
    /// File with values of `vars`.
    pub var_file: Option<PathBuf>,
    /// `NAME=DIR` or `NAME=skip` each.
    pub actions: Vec<String>,
    pub missing_actions: Option<AbsentActions>,
    pub checkout: CheckoutMode,
    pub in_place: bool,
    pub user_home: bool,
    /// Variables of the user's that steps get.
    pub inherit_env: Vec<String>,
    pub any_system: bool,
    pub debug: bool,
}

/// Names of arguments as the user writes them.
#[derive(Debug)]
pub struct LaunchNames {
    pub job: &'static str,
    pub matrix: &'static str,
    pub output: &'static str,
    pub event: &'static str,
    pub event_file: &'static str,
    pub input: &'static str,
    pub env_file: &'static str,
    pub secret_file: &'static str,
    pub var_file: &'static str,
    pub action: &'static str,
    pub checkout: &'static str,
    pub in_place: &'static str,
    pub user_home: &'static str,
    pub inherit_env: &'static str,
    /// Those of choices that a run tells.
    pub choices: ChoiceNames,
}

/// The error of a workflow that cannot run.
pub fn problems_of(problems: &[WorkflowProblem]) -> CliError {
    let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
    CliError::new(ExitKind::Failed, all.join("\nerror: "))
        .hint("`backstitch job list` lists the problems of all workflows")
}
