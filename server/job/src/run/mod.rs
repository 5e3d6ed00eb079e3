//! The run of one job: its steps in their order, the results, the posts, and the end of all processes.
//!
//! A job is a stack of frames: that of the job, and one for each composite action that is entered. Each frame has a list of steps and
//! the place of the next one.

mod action;
mod additions;
mod alone;
mod builtin;
mod called;
mod choice;
mod chosen;
mod condition;
mod edits;
mod environment;
mod facts;
mod frame;
mod frozen;
pub(crate) mod given;
mod javascript;
mod job;
mod kept;
mod listing;
mod live;
mod open;
mod own;
mod pending;
mod posts;
mod pre;
mod resume;
mod script;
mod standing;
mod step;
mod systems;
mod tool_versions;
mod uses;
mod whole;

pub use additions::{SeenWorkflow, WorkflowAdditions};
pub use chosen::{plain_name, step_matches};
pub use facts::{RunNames, WorkflowEvent, github, runner, system};
pub use job::{EarlyEnd, JobRun, JobSetup, RunOptions};
pub use kept::{KeptJob, KeptSecrets, RunClose, RunProcess};
pub use listing::{JobListing, LineText, MatrixListing, WorkflowListing};
pub use live::{LiveJob, LiveStop, evaluate_at};
pub use open::ReachedOut;
pub use pending::PendingStep;
pub use resume::undo_frozen;
pub use script::StepShell;
pub use standing::{ShellOf, ShellProgram, ShellRan, StandingJob, StepsAhead, tell_checkpoint};
pub use tool_versions::ToolVersions;
pub use uses::{
    ActionSources, FoundAction, MissingActions, RemoteAction, UsesText, action_file, read_action,
};
pub use whole::{ChoiceNames, JobDriver, WorkflowEnd, WorkflowSetup, digest};
