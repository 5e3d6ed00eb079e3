//! One step: its script, its process, its output, and what it tells the runner.

pub mod command_files;
pub mod commands;
mod descendants;
pub mod left_processes;
pub mod mask;
pub mod matcher;
pub mod output;
pub mod process;
pub mod shell;
pub mod stop;
pub mod supervise;
mod wire;

pub use descendants::StepProcess;
pub use wire::StepProgram;
