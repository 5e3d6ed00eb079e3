//! A command file, and lines of output with commands.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| backstitch_job::fuzz::commands(input));
