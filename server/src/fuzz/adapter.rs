//! Any input bytes as the messages of a client, in a directory without a workflow. The adapter does not panic, and answers each request
//! exactly once, up to one that leaves.
//!
//! An input is a session, one message a line. A line that begins with `!` is raw bytes, with `\r`, `\n` and `\\` as escapes.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::dap::client::DapClient;
use crate::dap::{frames, serve};

/// Requests that begin a run. The directory has none, but a path of theirs may lead out of it.
const BEGINNINGS: [&str; 2] = ["launch", "attach"];

/// Runs a session. Returns false if it was skipped, because it begins a run.
pub fn session(input: &[u8]) -> bool {
    let mut sent = Vec::new();
    let mut is_raw = false;
    let mut expected: BTreeMap<i64, usize> = BTreeMap::new();
    let mut has_left = false;
    for line in input.split(|byte| *byte == b'\n') {
        if let Some(raw) = line.strip_prefix(b"!") {
            is_raw = true;
            sent.extend(unescaped(raw));
            continue;
        }
        if line.is_empty() {
            continue;
        }
        frames::write(&mut sent, line).unwrap();
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        if message["type"] != "request" || has_left {
            continue;
        }
        let number = message["seq"].as_i64().unwrap_or_default();
        *expected.entry(number).or_default() += 1;
        has_left = message["command"] == "disconnect";
    }
    let text = String::from_utf8_lossy(&sent);
    if BEGINNINGS.iter().any(|word| text.contains(word)) || text.contains('/') {
        return false;
    }
    let written = Written::default();
    let directory = tempfile::tempdir().unwrap();
    let client = DapClient::of(written.clone()).unwrap();
    let place = directory.path().to_owned();
    // an input that ends within a message is an error
    let _ = serve(&mut sent.as_slice(), &client, Some(place));
    let answered = written.answers();
    if !is_raw {
        assert_eq!(answered, expected);
    }
    true
}

fn unescaped(raw: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut raw = raw.iter();
    while let Some(byte) = raw.next() {
        all.push(match byte {
            b'\\' => match raw.next() {
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                Some(other) => *other,
                None => b'\\',
            },
            byte => *byte,
        });
    }
    all
}

/// Bytes that the adapter has written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    /// The number of answers to each request. Messages are numbered without a gap.
    fn answers(&self) -> BTreeMap<i64, usize> {
        let bytes = self.0.lock().unwrap();
        let mut from = bytes.as_slice();
        let (mut answers, mut last) = (BTreeMap::new(), 0);
        while let Some(message) = frames::read(&mut from).unwrap() {
            let message: Value = serde_json::from_slice(&message).unwrap();
            last += 1;
            assert_eq!(message["seq"], last, "{message}");
            if message["type"] == "response" {
                let number = message["request_seq"].as_i64().unwrap();
                *answers.entry(number).or_default() += 1;
            }
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::session;

    /// A session of requests of each kind.
    const SEED: &str = include_str!("../../../tests/fuzz/found/adapter/requests");

    #[test]
    fn sessions_that_were_found_are_served() {
        for (file, input) in super::super::found("adapter") {
            assert!(session(&input), "{}", file.display());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(super::super::cases(64, 2_000)))]
        #[test]
        fn any_bytes_are_survived(lines in vec(vec(any::<u8>(), 0..60), 0..20)) {
            session(&lines.join(&b'\n'));
        }

        #[test]
        fn a_session_with_mistakes_is_served(places in vec((any::<usize>(), any::<u8>()), 0..6)) {
            let mut input = SEED.as_bytes().to_vec();
            for (place, byte) in places {
                let place = place % input.len();
                input[place] = byte;
            }
            session(&input);
        }
    }
}
