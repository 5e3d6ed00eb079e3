//! Frames and requests of the debug adapter, without a run.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

// Inputs that lead out of its directory are not tried or kept.
fuzz_target!(|input: &[u8]| -> Corpus {
    if backstitch::fuzz::adapter::session(input) {
        Corpus::Keep
    } else {
        Corpus::Reject
    }
});
