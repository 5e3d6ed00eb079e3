//! The whole server over a workspace with a history.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

// Inputs that lead out of its world are not tried or kept.
fuzz_target!(|input: &[u8]| -> Corpus {
    if backstitch::fuzz::wire::whole(input) {
        Corpus::Keep
    } else {
        Corpus::Reject
    }
});
