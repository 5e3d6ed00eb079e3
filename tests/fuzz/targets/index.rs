//! An index of git's, and the list of what a walk saw.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| backstitch_core::fuzz::index(input));
