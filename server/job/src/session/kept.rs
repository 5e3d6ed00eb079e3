//! The values from which another process continues a run.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::report::{StepEnd, StepName};
use crate::run::LiveStop;

use super::attempts::StepAttempt;
use super::history::RecordedFiles;
use super::values::ByHand;

/// The work of the process that has the run. The next one finds here what was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum RunWork {
    /// Nothing: the job stands.
    Standing,
    /// A step runs, which has a point.
    Step,
    /// A step runs that has no point: its name.
    WithoutPoint(String),
    /// A command of the user runs.
    Shell,
    /// The restore of the point at this place.
    Restore(usize),
    /// The undo of the last restore.
    Undo,
}

/// The place where the job stands, as another process continues from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptStop {
    pub stop: LiveStop,
    /// The step that failed, if the job stands after it.
    pub failed: Option<(StepName, StepEnd)>,
    pub at_last: bool,
    pub passed: Vec<(usize, String)>,
    /// Words that choose the steps with points.
    pub only: Vec<String>,
    pub undo: Option<BeforeRestore>,
    pub by_hand: Vec<ByHand>,
    pub attempts: Vec<StepAttempt>,
}

/// A stop, with its files. The points after the restored one stand beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BeforeRestore {
    pub stop: LiveStop,
    pub failed: Option<(StepName, StepEnd)>,
    pub at_last: bool,
    pub passed: Vec<(usize, String)>,
    pub files: RecordedFiles,
    pub by_hand: Vec<ByHand>,
    /// The moment, from which deadlines count: the time since then is not the job's.
    #[serde(skip, default = "Instant::now")]
    pub at: Instant,
}
