//! Backstitch: checkpoints for what coding agents do. Owns only the choice of the face. A library so that the
//! fuzz targets can reach what they exercise; nothing else of it is for others.

mod agents;
mod cli;
mod demo;
mod doctor;
mod file_changes;
mod hook;
mod lsp;
mod render;
mod setup;
mod to_protocol;

use std::process::ExitCode;

#[cfg(fuzzing)]
pub use agents::exercise as payload;
#[cfg(fuzzing)]
pub use lsp::fuzz;

/// All that the binary does.
pub fn main() -> ExitCode {
    // An agent waits for the hook around every tool call: no parser, no set-up.
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|word| word == "hook") && !asks_for_help() {
        hook::run(args);
        return ExitCode::SUCCESS;
    }
    cli::main()
}

fn asks_for_help() -> bool {
    std::env::args_os()
        .nth(2)
        .is_some_and(|word| word == "--help" || word == "-h")
}
