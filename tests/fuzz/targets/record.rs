//! Records of agents' conversations.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| backstitch_agents::exercise_record(input));
