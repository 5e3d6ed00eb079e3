//! Secrets that no output, log, error or variable may show: their values, the forms in which programs print them, and the
//! search for them.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The text that stands in for a secret, as on GitHub.
pub const MASK: &str = "***";

/// The masks of one run. Copies share them. They only grow: each holds from the moment at which it is known (S1-030).
#[derive(Clone, Debug, Default)]
pub struct Masks {
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// All forms of all values, without repeats.
    forms: Vec<Vec<u8>>,
    /// Values as they were given, in their order.
    values: Vec<String>,
    search: Option<Arc<AhoCorasick>>,
}

/// Bytes of a stream in which no secret is left, and the rest that may be the beginning of one.
#[derive(Debug, PartialEq, Eq)]
pub struct Masked {
    pub text: Vec<u8>,
    /// Bytes of the input that `text` stands for. The rest belongs before the next input.
    pub used: usize,
}

impl Masks {
    /// Adds a secret: the value, each of its lines, and the forms in which programs print them. A blank value is left out.
    pub fn add(&self, value: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if value.trim().is_empty() || known.values.iter().any(|known| known == value) {
            return;
        }
        known.values.push(value.to_owned());
        let lines = value.split(['\r', '\n']).filter(|line| *line != value);
        for part in std::iter::once(value).chain(lines) {
            if part.trim().is_empty() {
                continue;
            }
            for form in forms(part) {
                if !form.is_empty() && !known.forms.contains(&form) {
                    known.forms.push(form);
                }
            }
        }
        known.search = None;
    }

    /// Values in the order in which they became known, to be kept with the run.
    pub fn values(&self) -> Vec<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.values.clone()
    }

    /// Replaces all secrets of a whole text.
    pub fn apply(&self, text: &str) -> String {
        match self.search() {
            Some(search) if search.is_match(text) => {
                let all = self.masked(text.as_bytes(), text.len());
                String::from_utf8_lossy(&all.text).into_owned()
            }
            _ => text.to_owned(),
        }
    }

    /// Replaces all secrets of the first `limit` bytes. A secret that crosses the limit is masked whole.
    /// The input needs [`Masks::longest`] more bytes than `limit`, unless it ends there.
    pub fn masked(&self, input: &[u8], limit: usize) -> Masked {
        let Some(search) = self.search() else {
            let used = limit.min(input.len());
            return Masked {
                text: input[..used].to_vec(),
                used,
            };
        };
        let mut text = Vec::with_capacity(limit);
        let mut used = 0;
        for (start, end) in covered(&search, input) {
            if start >= limit {
                break;
            }
            text.extend_from_slice(&input[used..start]);
            text.extend_from_slice(MASK.as_bytes());
            used = end;
        }
        if used < limit {
            let end = limit.min(input.len());
            text.extend_from_slice(&input[used..end]);
            used = end;
        }
        Masked { text, used }
    }

    /// Length of the longest form: a search that has so many bytes more than it gives away misses none.
    pub fn longest(&self) -> usize {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.forms.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn search(&self) -> Option<Arc<AhoCorasick>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.forms.is_empty() {
            return None;
        }
        if known.search.is_none() {
            let built = AhoCorasick::new(&known.forms);
            known.search = built.ok().map(Arc::new);
        }
        known.search.clone()
    }
}

/// Parts of a text that secrets cover. Secrets that overlap or touch are one part, so the longer one of two is masked whole (J18).
fn covered(search: &AhoCorasick, text: &[u8]) -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = search
        .find_overlapping_iter(text)
        .map(|found| (found.start(), found.end()))
        .collect();
    all.sort_unstable();
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for (start, end) in all {
        match parts.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => parts.push((start, end)),
        }
    }
    parts
}

/// Forms in which GitHub's runner expects a secret: escaped for JSON, URIs, XML, shells and expressions, and in base64 at all
/// three shifts.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let mut all = vec![value.to_owned()];
    all.extend(base64_forms(value));
    all.push(value.replace('"', "\\\""));
    all.push(value.replace('\'', "''"));
    all.push(json(value));
    all.push(uri(value));
    all.push(xml(value));
    if value.len() > 8 && value.starts_with('"') && value.ends_with('"') {
        all.push(value[1..value.len() - 1].to_owned());
    }
    all.extend(powershell(value));
    all.into_iter().map(String::into_bytes).collect()
}

/// Base64 of a value that stands at any place of a longer text: the characters that depend on the value alone. At the end of the text,
/// or before its last line break, as `echo` leaves one, these are all characters.
fn base64_forms(value: &str) -> Vec<String> {
    let last = |skipped: usize, end: &str| {
        let bytes = value.as_bytes().get(skipped..).unwrap_or_default();
        STANDARD.encode([bytes, end.as_bytes()].concat())
    };
    let shifted = |skipped: usize| {
        let bytes = value.as_bytes().get(skipped..).unwrap_or_default();
        let whole = bytes.len() / 3 * 3;
        STANDARD.encode(&bytes[..whole])
    };
    let mut forms = Vec::new();
    for end in ["", "\n"] {
        forms.push(last(0, end));
        // fewer characters stand in other texts, too
        let within = (1..3).map(|skipped| last(skipped, end));
        forms.extend(within.filter(|form| form.len() >= 8));
    }
    // a shorter value leaves nothing that tells it from others
    forms.extend((0..3).map(shifted).filter(|form| form.len() >= 4));
    forms
}

fn json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn uri(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn xml(value: &str) -> String {
    value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&apos;")
}

/// The parts of a value around `&`, as PowerShell prints them in its errors.
fn powershell(value: &str) -> Vec<String> {
    let Some((before, after)) = value.rsplit_once('&') else {
        return Vec::new();
    };
    let long = |part: &str| part.len() >= 6;
    let parts = [before, after].into_iter().filter(|part| long(part));
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn masks(values: &[&str]) -> Masks {
        let masks = Masks::default();
        for value in values {
            masks.add(value);
        }
        masks
    }

    /// The longer one of two secrets is masked, also across two chunks (J18).
    #[test]
    fn j18_the_longer_secret_is_masked_first() {
        let masks = masks(&["hunter2", "hunter22-with-more"]);
        assert_eq!(
            masks.apply("a hunter22-with-more b hunter2 c"),
            "a *** b *** c"
        );
    }

    /// Every line of a secret is masked by itself (J17).
    #[test]
    fn j17_lines_of_a_secret_are_masked() {
        let masks = masks(&["first line\nsecond line\n\n"]);
        assert_eq!(masks.apply("> second line <"), "> *** <");
        assert_eq!(masks.apply("first line\r\nsecond line"), "***\r\n***");
    }

    #[test]
    fn forms_of_programs_are_masked() {
        let secret = "pa\"ss & 'word' <1>";
        let masks = masks(&[secret]);
        for shift in ["", "x", "xy"] {
            let encoded = STANDARD.encode(format!("{shift}{secret}{shift}"));
            assert!(masks.apply(&encoded).contains(MASK), "{encoded}");
        }
        for form in [json(secret), uri(secret), xml(secret)] {
            assert_eq!(masks.apply(&format!("[{form}]")), "[***]");
        }
    }

    /// As `echo` and `printf` hand it to `base64`, alone or behind a name.
    #[test]
    fn the_end_of_a_secret_is_masked_in_base64() {
        for secret in ["hunter2", "hunter22", "hunter222"] {
            let masks = masks(&[secret]);
            for (before, kept) in [("", 0), ("abc", 4), ("user:", 8), ("abcd", 8)] {
                for end in ["", "\n"] {
                    let encoded = STANDARD.encode(format!("{before}{secret}{end}"));
                    let shown = masks.apply(&encoded);
                    assert_eq!(shown, format!("{}***", &encoded[..kept]), "{encoded}");
                }
            }
        }
    }

    #[test]
    fn a_blank_value_is_no_secret() {
        assert_eq!(masks(&["", " ", "\n"]).apply("a b\nc"), "a b\nc");
    }

    proptest! {
        /// No secret is left, wherever the stream is cut.
        #[test]
        fn no_cut_lets_a_secret_through(before in "[a-c]{0,9}", secret in "[a-c]{3,6}", after in "[a-c]{0,9}", limit in 1_usize..12) {
            let masks = masks(&[&secret]);
            let mut rest = format!("{before}{secret}{after}").into_bytes();
            let mut shown = Vec::new();
            while !rest.is_empty() {
                let last = rest.len() <= limit + masks.longest();
                let limit = if last { rest.len() } else { limit };
                let masked = masks.masked(&rest, limit);
                shown.extend(masked.text);
                rest.drain(..masked.used);
            }
            let shown = String::from_utf8(shown).expect("ascii");
            prop_assert!(!shown.contains(&secret), "{shown}");
        }
    }
}
