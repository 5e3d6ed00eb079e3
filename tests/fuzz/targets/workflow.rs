//! A workflow and an action as people write them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| backstitch_job::fuzz::workflow(input));
