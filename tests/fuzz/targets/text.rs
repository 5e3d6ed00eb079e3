//! Documents, positions and edits against a plain string.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| backstitch::fuzz::text::run(input));
