//! Texts that a tool reports, compared with the text of the file. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::event::{PathReport, ToolReport};
use crate::model::RelPath;

/// Returns the report on each path. `places` resolves a reported path. Several reports on one path prove nothing, since
/// each may start from the text of another.
pub(super) fn reports_by_path<'a>(
    report: &'a ToolReport,
    places: impl Fn(&Path) -> Vec<RelPath>,
) -> BTreeMap<RelPath, &'a PathReport> {
    let mut reports: BTreeMap<RelPath, Option<&PathReport>> = BTreeMap::new();
    for report in &report.paths {
        for path in places(&report.path) {
            let entry = reports.entry(path);
            entry
                .and_modify(|known| *known = None)
                .or_insert(Some(report));
        }
    }
    let only_one = |(path, report): (RelPath, Option<&'a PathReport>)| Some((path, report?));
    reports.into_iter().filter_map(only_one).collect()
}

/// True if the bytes are UTF-8 without a byte-order mark, so that a tool's report matches them.
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    !bytes.starts_with(b"\xef\xbb\xbf") && std::str::from_utf8(bytes).is_ok()
}

fn is_crlf(bytes: &[u8]) -> bool {
    let mut lines = bytes
        .split_inclusive(|b| *b == b'\n')
        .filter(|l| l.ends_with(b"\n"))
        .peekable();
    lines.peek().is_some() && lines.all(|l| l.ends_with(b"\r\n"))
}

/// Returns the text after a replacement that a tool reports in LF. None: the tool cannot have done this to that text.
pub(super) fn replaced(before: Vec<u8>, (old, new): (&str, &str), all: bool) -> Option<Vec<u8>> {
    let text = Some(before).filter(|before| is_plain(before))?;
    let text = String::from_utf8(text).ok()?;
    let style = if is_crlf(text.as_bytes()) {
        text.clone().into_bytes()
    } else {
        Vec::new()
    };
    let text = if style.is_empty() {
        text
    } else {
        text.replace("\r\n", "\n")
    };
    // text that is missing cannot have been replaced this way
    if !text.contains(old) || (old.is_empty() && !text.is_empty()) {
        return None;
    }
    let after = if all {
        text.replace(old, new)
    } else {
        text.replacen(old, new, 1)
    };
    Some(in_style_of(&style, &after))
}

/// Converts an LF text to the line endings of `like`.
pub(super) fn in_style_of(like: &[u8], text: &str) -> Vec<u8> {
    if is_crlf(like) && !text.contains('\r') {
        text.replace('\n', "\r\n").into_bytes()
    } else {
        text.as_bytes().to_vec()
    }
}

/// Names of fields with the text to replace and with its replacement, in tools of all agents.
const OLD: [&str; 5] = ["old_string", "oldString", "old_str", "oldText", "old_text"];
const NEW: [&str; 5] = ["new_string", "newString", "new_str", "newText", "new_text"];
/// Names of fields that have every match replaced.
const ALL: [&str; 2] = ["replace_all", "replaceAll"];
const DELETED: &str = "*** Delete File: ";

/// True if the input of an edit tool leads from one text of a file to the other. None: there is no file. It reads the forms
/// that tools have: the whole text, texts to replace, and patches.
pub(super) fn leads_to(input: &[u8], before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let Ok(input) = serde_json::from_slice::<Value>(input) else {
        return false;
    };
    let mut parts = InputParts::default();
    parts.collect(&input);
    let Some(after) = after else {
        return parts.texts.iter().any(|text| text.contains(DELETED));
    };
    let is_whole = |text: &&str| in_style_of(after, text) == after;
    if !after.is_empty() && parts.texts.iter().any(is_whole) {
        return true;
    }
    let before = before.unwrap_or_default();
    let replace = |text: Option<Vec<u8>>, (old, new, all): &(&str, &str, bool)| {
        replaced(text?, (old, new), *all)
    };
    let edited = parts.edits.iter().fold(Some(before.to_vec()), replace);
    if !parts.edits.is_empty() && edited.as_deref() == Some(after) {
        return true;
    }
    patches(&parts.texts, before, after)
}

/// The texts in a tool's input, and its replacements: the old text, the new one, and if all matches are replaced.
#[derive(Default)]
struct InputParts<'a> {
    texts: Vec<&'a str>,
    edits: Vec<(&'a str, &'a str, bool)>,
}

impl<'a> InputParts<'a> {
    fn collect(&mut self, value: &'a Value) {
        match value {
            Value::String(text) => self.texts.push(text),
            Value::Array(all) => all.iter().for_each(|one| self.collect(one)),
            Value::Object(fields) => {
                let text = |names: &[&str]| {
                    let found = names.iter().find_map(|name| fields.get(*name));
                    found.and_then(Value::as_str)
                };
                if let (Some(old), Some(new)) = (text(&OLD), text(&NEW)) {
                    let all = ALL
                        .iter()
                        .any(|name| fields.get(*name) == Some(&true.into()));
                    self.edits.push((old, new, all));
                }
                fields.values().for_each(|field| self.collect(field));
            }
            _ => {}
        }
    }
}

/// True if every line that differs is a line of a patch among these texts.
fn patches(texts: &[&str], before: &[u8], after: &[u8]) -> bool {
    let (Ok(before), Ok(after)) = (std::str::from_utf8(before), std::str::from_utf8(after)) else {
        return false;
    };
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for line in after.lines() {
        *counts.entry(line).or_default() += 1;
    }
    for line in before.lines() {
        *counts.entry(line).or_default() -= 1;
    }
    counts.retain(|_, count| *count != 0);
    let has = |sign: char, line: &str| {
        let signed = |one: &str| one.strip_prefix(sign) == Some(line);
        texts.iter().any(|text| text.lines().any(signed))
    };
    !counts.is_empty()
        && counts
            .iter()
            .all(|(line, count)| has(if *count > 0 { '+' } else { '-' }, line))
}

/// True if a text has the words of another in their order: only white space and punctuation differ, as after a formatter.
pub(super) fn is_reformatted(before: &[u8], after: &[u8]) -> bool {
    let is_mark = |b: &u8| b.is_ascii() && !b.is_ascii_alphanumeric() && *b != b'_';
    let mut old = before.split(is_mark).filter(|word| !word.is_empty());
    let mut new = after.split(is_mark).filter(|word| !word.is_empty());
    let mut any = false;
    loop {
        match (old.next(), new.next()) {
            (None, None) => return any,
            (Some(old), Some(new)) if old == new => any = true,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::event::Wrote;

    /// An input, the text before and after it, and the verdict.
    type Case<'a> = (&'a [u8], Option<&'a str>, Option<&'a str>, bool);

    #[test]
    fn a_reported_text_gets_the_line_endings_of_its_file() {
        assert_eq!(in_style_of(b"a\r\nb\r\n", "x\ny\n"), b"x\r\ny\r\n");
        assert_eq!(in_style_of(b"a\r\nb\n", "x\ny\n"), b"x\ny\n");
        assert_eq!(in_style_of(b"no line ending", "x\n"), b"x\n");
        assert_eq!(in_style_of(b"a\r\n", "x\r\ny\n"), b"x\r\ny\n");
    }

    fn report(path: &str, wrote: (&str, &str)) -> PathReport {
        PathReport {
            path: path.into(),
            found: None,
            wrote: Some(Wrote::Replace {
                old: wrote.0.to_owned(),
                new: wrote.1.to_owned(),
                all: false,
            }),
        }
    }

    /// Resolves a path as below `/w`; `link` is a link to `b`.
    fn places(path: &Path) -> Vec<RelPath> {
        let own = path.strip_prefix("/w").ok().and_then(RelPath::from_path);
        let target = path.ends_with("link").then(|| RelPath::new("b")).flatten();
        own.into_iter().chain(target).collect()
    }

    /// Interrupted edit calls have no report: their input tells if a change is theirs.
    #[test]
    fn the_input_of_a_tool_leads_to_its_change_alone() {
        let whole = br#"{"file_path":"/w/a","content":"new\n"}"#;
        let edit = br#"{"file_path":"/w/a","old_string":"one","new_string":"1"}"#;
        let all = br#"{"filePath":"/w/a","oldString":"a","newString":"b","replaceAll":true}"#;
        let edits = br#"{"edits":[{"old_string":"a","new_string":"b"},{"old_string":"b","new_string":"c"}]}"#;
        let patch = br#"{"command":["apply_patch","*** Begin Patch\n*** Update File: a\n@@\n-two\n+2\n*** End Patch"]}"#;
        let gone = br#"{"input":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}"#;
        let cases: &[Case<'_>] = &[
            (whole, None, Some("new\n"), true),
            (whole, Some("old\r\n"), Some("new\r\n"), true),
            (whole, None, Some("new\nmine\n"), false),
            (whole, Some("old\n"), None, false),
            (edit, Some("one two one\n"), Some("1 two one\n"), true),
            (edit, Some("one two one\n"), Some("1 two 1\n"), false),
            (edit, Some("one\n"), Some("one\nmine\n"), false),
            (all, Some("a a\n"), Some("b b\n"), true),
            (edits, Some("a\n"), Some("c\n"), true),
            (edits, Some("a\n"), Some("b\n"), false),
            (patch, Some("one\ntwo\n"), Some("one\n2\n"), true),
            (patch, Some("one\ntwo\n"), Some("one\n2\nmine\n"), false),
            (gone, Some("one\n"), None, true),
            (b"{", Some("one\n"), Some("two\n"), false),
        ];
        for (input, before, after, expected) in cases {
            let found = leads_to(input, before.map(str::as_bytes), after.map(str::as_bytes));
            let input = String::from_utf8_lossy(input);
            assert_eq!(found, *expected, "{input}: {before:?} to {after:?}");
        }
    }

    #[test]
    fn a_formatter_keeps_the_words() {
        let same = |a: &str, b: &str| is_reformatted(a.as_bytes(), b.as_bytes());
        assert!(same("const a=2;f()", "const a = 2;\nf();\n"));
        assert!(same("x = 'é'\n", "x = \"é\"\n"));
        assert!(!same("const a=2\n", "const a = 2;\nmine();\n"));
        assert!(!same("let a\n", "const a\n"));
        assert!(!same("a b\n", "ab\n"));
        assert!(!same("\n", "\n\n"), "no word proves it");
    }

    #[test]
    fn each_path_has_its_own_report() {
        let all = ToolReport {
            paths: vec![
                report("/w/a", ("one", "1")),
                report("/w/b", ("two", "2")),
                report("/elsewhere/c", ("three", "3")),
            ],
            exit: None,
        };
        let reports = reports_by_path(&all, places);
        let text = |path: &str, before: &str| {
            let report = reports.get(&RelPath::new(path)?)?;
            let Some(Wrote::Replace { old, new, all }) = &report.wrote else {
                return None;
            };
            replaced(before.as_bytes().to_vec(), (old, new), *all)
        };
        assert_eq!(text("a", "one two\n").as_deref(), Some(&b"1 two\n"[..]));
        assert_eq!(text("b", "one two\n").as_deref(), Some(&b"one 2\n"[..]));
        assert_eq!(text("b", "one two\r\n").as_deref(), Some(&b"one 2\r\n"[..]));
        assert_eq!(text("b", "one\n"), None, "it has nothing to replace");
        assert_eq!(reports.len(), 2);
    }

    #[test]
    fn several_reports_on_one_path_prove_nothing() {
        let all = ToolReport {
            paths: vec![
                report("/w/a", ("one", "1")),
                report("/w/link", ("two", "2")),
                report("/w/b", ("2", "3")),
            ],
            exit: None,
        };
        let reports = reports_by_path(&all, places);
        let paths: Vec<String> = reports.keys().map(RelPath::display).collect();
        assert_eq!(paths, ["a", "link"]);
    }
}
