//! A breakpoint and its parts as a user types them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| backstitch_control::fuzz::breakpoint(input));
