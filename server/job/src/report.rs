//! The receiver of what happens in a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::state::{EnvVariables, StepOutcome};

/// Receiver of events, in their order. All texts are masked.
pub trait RunReport: Send {
    fn job_started(&mut self, job: &JobName);
    fn step_started(&mut self, step: &StepName);
    /// One or more whole lines, or a part of a line that is too long, with their line ends.
    fn output(&mut self, stream: Stream, text: &[u8]);
    /// A group of lines begins, with a title, or ends.
    fn group(&mut self, title: Option<&str>);
    fn annotation(&mut self, annotation: &Annotation);
    fn step_ended(&mut self, step: &StepName, end: &StepEnd);
    /// A step is about to begin. It has a checkpoint at this place, and this is its attempt, from 1.
    fn checkpoint_made(&mut self, _step: &StepName, _place: usize, _attempt: u32) {}
    /// The step that runs is frozen, with all its processes.
    fn step_frozen(&mut self, _step: &StepName) {}
    /// It continues.
    fn step_thawed(&mut self, _step: &StepName) {}
    /// A step back left so many of the steps that have ended.
    fn taken_back(&mut self, _ended: usize) {}
    /// These steps have ended, those that are known among them: a run continues in another process, or a step back was undone.
    fn had_ended(&mut self, _steps: &[(StepName, StepEnd)]) {}
    /// A sentence of the runner about the whole job.
    fn notice(&mut self, text: &str);
    fn job_ended(&mut self, job: &JobName, end: &JobEnd);
}

/// A job as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobName {
    /// Its key in the workflow, below those of the jobs that call it: `call / build`.
    pub id: String,
    /// Its name with the values of its matrix: `build (ubuntu, 20)`.
    pub name: String,
}

impl JobName {
    /// Between the parts of a name. A key has no blank.
    pub const BETWEEN: &str = " / ";

    /// Its key in the workflow that has its steps.
    pub fn key(&self) -> &str {
        let parts = self.id.rsplit_once(JobName::BETWEEN);
        parts.map_or(self.id.as_str(), |(_, key)| key)
    }

    /// True for the job with this id, and for those that it calls.
    pub fn is_within(&self, id: &str) -> bool {
        let rest = self.id.strip_prefix(id);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(JobName::BETWEEN))
    }
}

/// A step as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepName {
    /// Places from 0: that of the step in the job, then those within composite actions.
    pub path: Vec<usize>,
    pub id: String,
    pub name: String,
    pub part: StepPart,
    /// Line of the step in its file, from 1.
    pub line: u32,
    /// The file, relative to the repository; an `action.yml` for an inner step.
    pub file: String,
}

/// The part of an action that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StepPart {
    Pre,
    Main,
    Post,
}

/// The end of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnd {
    pub outcome: StepOutcome,
    /// The outcome after `continue-on-error`.
    pub conclusion: StepOutcome,
    pub milliseconds: u64,
    /// The reason of a failure or a skip.
    pub reason: Option<String>,
}

/// The end of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    pub result: StepOutcome,
    pub milliseconds: u64,
    pub outputs: Vec<(String, String)>,
    /// Outputs of its steps, by their ids.
    pub steps: BTreeMap<String, EnvVariables>,
    /// The reason of a skip, or of a failure that no step had.
    pub reason: Option<String>,
    /// Directory of the run, with its logs and files; none for a job that did not begin.
    pub directory: Option<PathBuf>,
}

impl StepName {
    /// The key of the step in file names and in the state: `3`, or `3-1` within a composite action.
    pub fn key(&self) -> String {
        key_of(&self.path)
    }
}

/// The key of a step's place.
pub fn key_of(path: &[usize]) -> String {
    let parts: Vec<String> = path.iter().map(usize::to_string).collect();
    parts.join("-")
}

/// The stream that a piece of output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A message of `::error::` and its kin, or of the runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub level: Level,
    pub message: String,
    pub title: Option<String>,
    /// The code of a problem matcher, such as `TS2304`.
    pub code: Option<String>,
    /// Path as the step gave it, or relative to the workspace.
    pub file: Option<String>,
    /// Line and column from 1.
    pub line: Option<u32>,
    pub column: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Debug,
    Notice,
    Warning,
    Error,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Notice => "notice",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}
