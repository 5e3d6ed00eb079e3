//! Output with secrets, cut into pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| backstitch_job::fuzz::masks(input));
