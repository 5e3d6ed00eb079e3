//! A step that has begun, the result of its action, and the parts of actions that run later.

use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::builtin::Builtin;
use crate::expr::Dict;
use crate::report::StepName;
use crate::state::{EnvVariables, StepOutcome};
use crate::step::StepProgram;
use crate::step::process::ProgramEnding;
use crate::workflow::WorkflowStep;

use super::environment::Layers;

/// The front of the name of a `pre` part.
pub(super) const PRE: &str = "Pre ";

/// A part of an action that runs at the job's end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Post {
    pub open: OpenStep,
    pub condition: String,
    pub inputs: Vec<(String, String)>,
    pub action: PostAction,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum PostAction {
    Builtin { builtin: Builtin, version: String },
    Node { using: String, script: PathBuf },
}

/// A step that has begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OpenStep {
    pub step: WorkflowStep,
    pub name: StepName,
    pub scope: String,
    /// Variables of `env`: those of the state, of the frames, and of the step.
    pub env: EnvVariables,
    pub inputs: Option<Dict>,
    pub status: StepOutcome,
    #[serde(with = "super::live::github_names")]
    pub github: Vec<(&'static str, String)>,
    #[serde(with = "super::live::time_left")]
    pub deadline: Option<Instant>,
    #[serde(skip, default = "Instant::now")]
    pub began: Instant,
}

/// A step whose script has commands that reach out of the run: a step back does not undo what they did there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReachedOut {
    pub name: String,
    /// Masked, as they ran.
    pub commands: Vec<String>,
    /// Steps that had ended when it began.
    pub(super) ended: usize,
}

/// The end of a step's action.
#[derive(Debug)]
pub(super) struct Ran {
    pub outcome: StepOutcome,
    pub reason: Option<String>,
    pub outputs: EnvVariables,
}

impl Ran {
    pub fn failed(reason: impl Into<String>) -> Ran {
        Ran {
            outcome: StepOutcome::Failure,
            reason: Some(reason.into()),
            outputs: EnvVariables::default(),
        }
    }

    pub fn cancelled(reason: impl Into<String>) -> Ran {
        Ran {
            outcome: StepOutcome::Cancelled,
            ..Ran::failed(reason)
        }
    }

    pub fn succeeded() -> Ran {
        Ran {
            outcome: StepOutcome::Success,
            reason: None,
            outputs: EnvVariables::default(),
        }
    }
}

/// A program, and the lines that its log begins with.
pub(super) struct Prepared {
    pub program: StepProgram,
    pub header: String,
}

/// Makes the program of a step from its variables. The error is a sentence.
pub(super) type ProgramOf<'a> = dyn Fn(&Layers) -> Result<Prepared, String> + 'a;

/// The outcome of a step whose program has ended so, with the reason. `job_deadline`: the end of the job's own time.
pub(super) fn outcome_of(
    ending: ProgramEnding,
    job_deadline: Option<Instant>,
) -> (StepOutcome, Option<String>) {
    match ending {
        ProgramEnding::Exited(0) => (StepOutcome::Success, None),
        ProgramEnding::Exited(code) => (
            StepOutcome::Failure,
            Some(format!("Process completed with exit code {code}.")),
        ),
        ProgramEnding::Killed(signal) => {
            let code = 128 + signal;
            (
                StepOutcome::Failure,
                Some(format!(
                    "Process completed with exit code {code}: signal {signal} ended it."
                )),
            )
        }
        // as on GitHub, where the job is cancelled then
        ProgramEnding::TimedOut if job_deadline.is_some_and(|at| at <= Instant::now()) => (
            StepOutcome::Cancelled,
            Some("The operation was canceled: the timeout-minutes of the job are over.".to_owned()),
        ),
        ProgramEnding::TimedOut => (
            StepOutcome::Failure,
            Some("The action has timed out: its timeout-minutes are over.".to_owned()),
        ),
        ProgramEnding::Cancelled => (
            StepOutcome::Cancelled,
            Some("The operation was canceled.".to_owned()),
        ),
        ProgramEnding::SupervisorLost => (
            StepOutcome::Failure,
            Some("The supervisor of the step was killed, and its processes were ended.".to_owned()),
        ),
    }
}
