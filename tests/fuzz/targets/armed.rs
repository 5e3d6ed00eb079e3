//! The file that says which calls may be held.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| backstitch_control::fuzz::armed(input));
