//! Jobs of CI workflows, as `job list --json` and `job run --json` print them.

use serde_json::Value;

use crate::history::Time;
use crate::shape;

shape! {
    /// The workflows of a repository.
    pub struct JobList {
        pub workflows: Vec<WorkflowEntry>,
    }

    /// A workflow file.
    pub struct WorkflowEntry {
        /// Relative to the repository.
        pub file: String,
        pub name: Option<String>,
        /// Names of the events that start it.
        pub events: Vec<String>,
        /// Empty if there are problems.
        pub jobs: Vec<JobEntry>,
        /// In GitHub's words.
        pub problems: Vec<FileProblem>,
    }

    /// An error in a workflow file.
    pub struct FileProblem {
        pub file: String,
        /// From 1; null for the whole file.
        pub line: Option<u32>,
        /// From 1, in UTF-16 code units.
        pub column: Option<u32>,
        pub message: String,
    }

    /// A job of a workflow.
    #[serde(rename_all = "camelCase")]
    pub struct JobEntry {
        pub id: String,
        /// As written, with its expressions.
        pub name: Option<String>,
        /// From 1.
        pub line: u32,
        pub runs_on: Option<String>,
        pub needs: Vec<String>,
        /// The workflow that it calls.
        pub calls: Option<String>,
        /// Number of its steps.
        pub steps: usize,
        /// The combinations of its matrix; null if it has none, or if only a run has their values.
        pub matrix: Option<Vec<Value>>,
        /// The expression that only a run can evaluate.
        pub matrix_later: Option<String>,
        /// Actions that are not here.
        pub absent: Vec<LineNote>,
        /// Parts that a run refuses.
        pub refused: Vec<LineNote>,
        /// Commands that reach out of a run.
        pub reaching: Vec<LineNote>,
    }

    /// A text with its line.
    pub struct LineNote {
        /// From 1.
        pub line: u32,
        pub text: String,
    }

    /// The end of a run.
    pub struct JobRunReport {
        /// `success`, `failure` or `cancelled`.
        pub result: String,
        pub jobs: Vec<JobReport>,
    }

    /// The end of one job.
    pub struct JobReport {
        pub id: String,
        /// With the values of its matrix.
        pub name: String,
        /// `success`, `failure`, `cancelled` or `skipped`.
        pub result: String,
        /// The reason of a skip, or of a failure that no step had.
        pub reason: Option<String>,
        pub ms: u64,
        pub outputs: Value,
        /// Directory with its logs and files; none for a job that did not begin.
        pub directory: Option<String>,
        pub steps: Vec<StepReport>,
    }

    /// The end of one step.
    pub struct StepReport {
        /// Places from 0: that of the step in the job, then those within composite actions.
        pub path: Vec<usize>,
        pub id: String,
        pub name: String,
        /// `pre`, `main` or `post`.
        pub part: String,
        pub file: String,
        /// From 1.
        pub line: u32,
        /// Before `continue-on-error`.
        pub outcome: String,
        /// After it.
        pub conclusion: String,
        pub reason: Option<String>,
        pub ms: u64,
        pub annotations: Vec<StepAnnotation>,
    }

    /// A message of a step: one of `::error::` and its kin, or of a problem matcher.
    pub struct StepAnnotation {
        /// `debug`, `notice`, `warning` or `error`.
        pub level: String,
        pub message: String,
        pub title: Option<String>,
        /// The code that a problem matcher found, such as `TS2304`.
        pub code: Option<String>,
        pub file: Option<String>,
        pub line: Option<u32>,
        pub column: Option<u32>,
    }

    /// An answer of `job debug --json`, one line each: the place where the job stands, a text, or an error.
    #[derive(Default)]
    pub struct JobStop {
        /// `before` a step, `frozen` in one, `failed` after one, or `end`; null for an answer that moves nothing.
        pub stop: Option<String>,
        /// Places from 0: that of the step in the job, then those within composite actions.
        pub path: Option<Vec<usize>>,
        /// The name of the step.
        pub step: Option<String>,
        /// From 1.
        pub line: Option<u32>,
        /// The number of the step's start, from 1: the next one before a step, else the last one.
        pub attempt: Option<u32>,
        /// Number of the job's steps.
        pub steps: Option<usize>,
        /// The reason of a failure.
        pub reason: Option<String>,
        /// Processes that are frozen.
        pub processes: Option<usize>,
        /// Checkpoints to which a step back leads; null for an answer that moves nothing.
        pub checkpoints: Option<usize>,
        pub said: Option<String>,
        pub error: Option<String>,
    }

    /// The runs that are kept.
    pub struct JobRuns {
        pub runs: Vec<KeptRun>,
    }

    /// A run in its directory.
    pub struct KeptRun {
        pub id: String,
        /// Null if the record is damaged.
        pub workflow: Option<String>,
        pub job: Option<String>,
        /// `running`, `cut off`, `damaged`, `success`, `failure` or `cancelled`.
        pub status: String,
        /// True if `job debug --resume` continues it.
        pub resumable: bool,
        pub started: Time,
        pub directory: String,
    }
}
