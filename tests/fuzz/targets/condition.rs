//! A condition of a breakpoint and the text of a log point.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| backstitch_control::condition::exercise(input));
