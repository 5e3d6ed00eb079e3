//! Jobs of GitHub Actions workflows: the text, its problems, its expressions, and the run of one job on this machine.
//!
//! Synchronous. It prints nothing and knows no protocol: front ends show what it returns and reports.

pub mod action;
pub mod builtin;
pub mod contexts;
mod digest;
pub mod expr;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod glob;
pub mod host_programs;
#[cfg(test)]
mod oracle;
pub mod place;
pub mod position;
mod program;
pub mod report;
pub mod repository;
pub mod run;
pub mod session;
#[cfg(test)]
mod small_disk;
pub mod state;
pub mod step;
pub mod template;
pub mod workflow;
pub mod yaml;
