//! Frames: the list of steps that runs, and the place in it.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::expr::Dict;
use crate::state::{EnvVariables, StepOutcome};
use crate::template::TemplateToken;
use crate::workflow::WorkflowStep;

use super::open::OpenStep;

/// The steps of a job or of a composite action, and the place in them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Frame {
    /// The scope of `steps` in expressions.
    pub scope: String,
    /// Places of the steps above.
    pub path: Vec<usize>,
    pub file: String,
    #[serde(with = "super::live::shared_steps")]
    pub steps: Arc<Vec<WorkflowStep>>,
    pub next: usize,
    /// Variables of the steps above.
    pub env: EnvVariables,
    /// The status that `success()` asks.
    pub status: StepOutcome,
    #[serde(with = "super::live::time_left")]
    pub deadline: Option<Instant>,
    /// The composite action; none for the job.
    pub composite: Option<Composite>,
}

/// A composite action that is entered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Composite {
    /// The step that uses it.
    pub open: OpenStep,
    pub inputs: Dict,
    pub outputs: Vec<(String, TemplateToken)>,
    /// Values of `github` within it.
    #[serde(with = "super::live::github_names")]
    pub github: Vec<(&'static str, String)>,
}

impl Frame {
    /// The next step, with its places.
    pub fn next_step(&self) -> Option<(WorkflowStep, Vec<usize>)> {
        let step = self.steps.get(self.next)?.clone();
        let mut path = self.path.clone();
        path.push(self.next);
        Some((step, path))
    }
}
