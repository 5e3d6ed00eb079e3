//! The transport and all that answers without a workspace, many times in a second.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

// Inputs that lead out of its world are not tried or kept.
fuzz_target!(|input: &[u8]| -> Corpus {
    if backstitch::fuzz::wire::alone(input) {
        Corpus::Keep
    } else {
        Corpus::Reject
    }
});
