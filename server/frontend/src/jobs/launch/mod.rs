//! The start of a job for several front ends: their arguments, the files and values that these name, and the run made of them.

pub mod announcement;
mod arguments;
pub mod choice;
mod continued;
mod files;
mod given;
mod workflow;
pub mod workflow_file;

pub use arguments::{JobLaunch, LaunchNames};
pub use continued::take_run;
pub use workflow::{LaunchedWorkflow, sources_of, supervisor};
