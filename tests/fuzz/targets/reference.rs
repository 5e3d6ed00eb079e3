//! A checkpoint as somebody names it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| backstitch_core::fuzz::reference(input));
