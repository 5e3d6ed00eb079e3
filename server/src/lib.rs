//! Backstitch: checkpoints for what coding agents do. Owns only the choice between the hook, which must start fast, and
//! all other commands. It is a library so that the fuzz targets can reach their subjects; it has no public API
//! otherwise.

mod acp;
mod bridge;
mod cli;
mod dap;
mod demo;
mod doctor;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod hook;
mod lsp;
mod mcp;
mod run;
mod setup;
mod transport;

use std::process::ExitCode;

// shared by the front ends, which name them as modules of this crate
pub(crate) use backstitch_frontend::{
    control, conversation, file_changes, host, jobs, json_text, markdown, opening, query, render,
    restore_plan, restore_words, safeguards, terminal, to_protocol,
};

/// Entry point of the binary.
pub fn main() -> ExitCode {
    // An agent waits for the hook around every tool call, so it runs without argument parser and set-up.
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|word| word == "hook") && !asks_for_help() {
        return hook::run(args);
    }
    if is_step() {
        return run::supervise();
    }
    run::main()
}

/// True for the supervisor of a job's step: the step waits for it, so it runs without argument parser, too.
fn is_step() -> bool {
    let mut words = std::env::args_os().skip(1);
    words.next().is_some_and(|word| word == "job")
        && words.next().is_some_and(|word| word == "step")
        && words.next().is_none()
}

fn asks_for_help() -> bool {
    std::env::args_os()
        .nth(2)
        .is_some_and(|word| word == "--help" || word == "-h")
}
