//! Predictions of each tool, compared with what the real programs wrote.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;

mod commands;
mod files;
pub(in crate::control) mod generated;
mod patches;
mod real_claude;
mod recorded;

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub(in crate::control) struct Disk(BTreeMap<PathBuf, FileNow>);

impl Disk {
    pub(in crate::control) fn of<T: AsRef<[u8]>>(files: &[(&str, T)]) -> Self {
        let file = |(path, bytes): &(&str, T)| {
            (
                Path::new("/w").join(path),
                FileNow::File(bytes.as_ref().to_vec()),
            )
        };
        Self(files.iter().map(file).collect())
    }

    fn with(mut self, path: &str, now: FileNow) -> Self {
        self.0.insert(PathBuf::from(path), now);
        self
    }

    pub(in crate::control) fn read(&self, path: &Path) -> io::Result<FileNow> {
        Ok(self.0.get(path).cloned().unwrap_or(FileNow::Absent))
    }

    pub(in crate::control) fn files(&self, tool: &str, input: &Value) -> Vec<PredictedFile> {
        match predict(tool, input, Path::new("/w"), &|path| self.read(path)) {
            Prediction::Files(files) => files,
            other @ (Prediction::Unpredicted { .. } | Prediction::Reads { .. }) => {
                panic!("{other:?}")
            }
        }
    }

    fn only(&self, tool: &str, input: &Value) -> PredictedFile {
        let mut files = self.files(tool, input);
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }
}

/// Result of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrote<'a> {
    Text(&'a str),
    /// It wrote this, and the prediction says that it is not sure.
    Perhaps(&'a str),
    /// The tool may find another text: nothing is predicted.
    Open,
    Refused,
}
use Wrote::{Open, Perhaps, Refused, Text as Wrote_};

fn check(tool: &str, input: &Value, before: Option<&str>, expected: Wrote) {
    let disk = match before {
        Some(text) => Disk::of(&[("f.txt", text)]),
        None => Disk::default(),
    };
    let disk = disk.with("/w", FileNow::Directory);
    let file = disk.only(tool, input);
    let context = format!("{tool} {input} on {before:?}: {file:?}");
    let text = |text: &str| PredictedContent::Text(text.as_bytes().to_vec());
    match (expected, &file.outlook) {
        (Wrote_(after), Outlook::Certain) | (Perhaps(after), Outlook::Unsure(_)) => {
            assert_eq!(file.after, text(after), "{context}");
        }
        (Open, Outlook::Unsure(_)) => {
            assert_eq!(file.after, PredictedContent::Unknown, "{context}");
        }
        (Refused, Outlook::Fails(reason)) => {
            assert!(!reason.is_empty() && !reason.ends_with('.'), "{context}");
            assert_eq!(file.after, file.before, "{context}");
        }
        _ => panic!("expected {expected:?}: {context}"),
    }
    assert_eq!(file.path, Path::new("/w/f.txt"));
    assert_eq!(file.before, before.map_or(PredictedContent::Absent, text));
}

type Case<'a> = (Option<&'a str>, &'a str, &'a str, bool, Wrote<'a>);

#[test]
fn claude_edit_as_the_program_does_it() {
    let cases: &[Case] = &[
        (
            Some("one\r\nmore\r\n"),
            "one\nmore",
            "two\nand\nmore",
            false,
            Wrote_("two\r\nand\r\nmore\r\n"),
        ),
        (
            Some("one\r\nmore\r\n"),
            "one",
            "x\ny",
            false,
            Wrote_("x\r\ny\r\nmore\r\n"),
        ),
        (
            Some("one\r\nmore\r\n"),
            "one\r\nmore",
            "two",
            false,
            Refused,
        ),
        (
            Some("a\nb\nc\r\nd\n"),
            "b",
            "B",
            false,
            Wrote_("a\nB\nc\nd\n"),
        ),
        (
            Some("a\r\nb\r\nc\nd\r\n"),
            "b",
            "B",
            false,
            Wrote_("a\r\nB\r\nc\r\nd\r\n"),
        ),
        (Some("a\r\nb\n"), "a", "A", false, Wrote_("A\nb\n")),
        (Some("a\nb\n"), "a", "x\r\ny", false, Wrote_("x\r\ny\nb\n")),
        (
            Some("a\r\nb\r\n"),
            "a",
            "x\r\ny",
            false,
            Wrote_("x\r\ny\r\nb\r\n"),
        ),
        (
            Some("\u{feff}one\r\ntwo\r\n"),
            "one\n",
            "1\n",
            false,
            Wrote_("\u{feff}1\r\ntwo\r\n"),
        ),
        (
            Some("\u{feff}one\ntwo\n"),
            "one\ntwo\n",
            "",
            false,
            Wrote_("\u{feff}"),
        ),
        (Some("\u{feff}one\n"), "\u{feff}one", "1", false, Refused),
        (Some("one\ntwo"), "two", "2", false, Wrote_("one\n2")),
        (Some("x\nx\n"), "x", "y", false, Refused),
        (
            Some("x\nx\nax\n"),
            "x",
            "$& y",
            true,
            Wrote_("$& y\n$& y\na$& y\n"),
        ),
        (Some("aaaaa\n"), "aa", "b", true, Wrote_("bba\n")),
        (Some("aaa\n"), "aa", "b", false, Wrote_("ba\n")),
        (
            Some("say “hello” and “bye”\n"),
            "\"hello\"",
            "x \"y\" z",
            false,
            Perhaps("say x “y” z and “bye”\n"),
        ),
        (
            Some("it’s ‘a’\n"),
            "it's 'a'",
            "don't ('b') 'c'",
            false,
            Perhaps("don’t (‘b’) ‘c’\n"),
        ),
        (
            Some("say “hello”\n"),
            "say \"hello\"",
            "(\"a\") \"b\",\"c\" x\"d",
            false,
            Perhaps("(“a”) “b”,”c” x”d\n"),
        ),
        (
            Some("it’s\n"),
            "it's",
            "it's \"x\" 'y'",
            false,
            Perhaps("it’s \"x\" ‘y’\n"),
        ),
        (Some("“a”\n”a“\n"), "\"a\"", "", true, Perhaps("”a“\n")),
        (Some("a “x” b “x” c\n"), "\"x\"", "\"y\"", false, Refused),
        (
            Some("a “x” b \"x\" c\n"),
            "\"x\"",
            "\"y\"",
            false,
            Wrote_("a “x” b \"y\" c\n"),
        ),
        (
            Some("say \"hello\"\n"),
            "say “hello”",
            "say “bye”",
            false,
            Perhaps("say “bye”\n"),
        ),
        (Some("a\n"), "a", "a", false, Refused),
        (Some("a\n"), "b", "c", false, Refused),
        (Some("a\nb\nc\n"), "b", "", false, Wrote_("a\nc\n")),
        (Some("xb\nc\n"), "b", "", false, Wrote_("xc\n")),
        (Some("xb c\n"), "b", "", false, Wrote_("x c\n")),
        (Some("a\nb"), "b", "", false, Wrote_("a\n")),
        (Some("b\nab c\nb"), "b", "", true, Wrote_("ab c\nb")),
        (None, "", "new\n", false, Wrote_("new\n")),
        (Some(""), "", "new\n", false, Wrote_("new\n")),
        (Some("\r\n\r\n"), "", "x\ny\n", false, Wrote_("x\r\ny\r\n")),
        (Some("a\n"), "", "new\n", false, Refused),
        (None, "a", "b", false, Refused),
        (Some("cafe\u{301}\n"), "caf\u{e9}", "x", false, Refused),
        (
            Some("a\r\n\r\r\nb\r\n"),
            "b",
            "c",
            false,
            Wrote_("a\r\n\r\nc\r\n"),
        ),
    ];
    for &(before, old, new, all, expected) in cases {
        let input = json!({"file_path": "/w/f.txt", "old_string": old, "new_string": new, "replace_all": all});
        check("Edit", &input, before, expected);
    }
}

#[test]
fn line_endings_of_long_files_are_those_of_the_first_lines() {
    let long = |first: &str, then: &str| {
        [first.repeat(3000), then.repeat(6000), "one".to_owned()].concat()
    };
    let input = json!({"file_path": "/w/f.txt", "old_string": "one", "new_string": "two"});
    for (first, then, has_crlf) in [("a\n", "b\r\n", false), ("a\r\n", "b\n", true)] {
        let file = Disk::of(&[("f.txt", long(first, then))]).only("Edit", &input);
        let after = file.after.text().expect("text");
        let crlf = after.windows(2).filter(|pair| pair == b"\r\n").count();
        assert_eq!(crlf, if has_crlf { 9000 } else { 0 });
    }
    // 4,096 characters, not bytes
    let wide = [
        "€".repeat(1200),
        "\n".to_owned(),
        "x\n".repeat(200),
        "y\r\n".repeat(300),
        "one".to_owned(),
    ]
    .concat();
    let file = Disk::of(&[("f.txt", wide)]).only("Edit", &input);
    let after = String::from_utf8(file.after.text().expect("text").to_vec()).expect("UTF-8");
    assert_eq!(after.matches("\r\n").count(), 501);
}

#[test]
fn other_agents_edits_as_their_programs_do_them() {
    // before, old, new, all; then Gemini, Qwen, opencode, Copilot
    type Row<'a> = (Option<&'a str>, &'a str, &'a str, bool, [Wrote<'a>; 4]);
    let same = |wrote| [wrote; 4];
    let rows: &[Row] = &[
        (
            Some("one\r\nmore\r\n"),
            "one\nmore",
            "two\nmore",
            false,
            same(Wrote_("two\r\nmore\r\n")),
        ),
        (
            Some("one\r\nmore\r\n"),
            "one\r\nmore",
            "two\r\nmore",
            false,
            same(Wrote_("two\r\nmore\r\n")),
        ),
        (
            Some("a\r\nb\nc\r\n"),
            "b",
            "B\nB2",
            false,
            [
                Wrote_("a\r\nB\r\nB2\r\nc\r\n"),
                Wrote_("a\r\nB\r\nB2\r\nc\r\n"),
                Wrote_("a\r\nB\r\nB2\nc\r\n"),
                Perhaps("a\r\nB\r\nB2\nc\r\n"),
            ],
        ),
        (
            Some("a\nb\n"),
            "a",
            "A\r\nA2",
            false,
            [
                Wrote_("A\nA2\nb\n"),
                Wrote_("A\r\nA2\nb\n"),
                Wrote_("A\nA2\nb\n"),
                Wrote_("A\nA2\nb\n"),
            ],
        ),
        (
            Some("\u{feff}one\ntwo\n"),
            "one",
            "1",
            false,
            same(Wrote_("\u{feff}1\ntwo\n")),
        ),
        (Some("one\ntwo"), "two", "2", false, same(Wrote_("one\n2"))),
        (
            Some("one\ntwo\n"),
            "two\n",
            "2",
            false,
            [
                Wrote_("one\n2\n"),
                Wrote_("one\n2"),
                Wrote_("one\n2"),
                Wrote_("one\n2"),
            ],
        ),
        (
            Some("x\nx\n"),
            "x",
            "y",
            false,
            [Refused, Refused, Open, Refused],
        ),
        (Some("x\n"), "x", "$& $1", false, same(Wrote_("$& $1\n"))),
        (Some("abc\n"), "zzz", "c", false, same(Open)),
        (
            Some("a\nb\nc\n"),
            "b",
            "",
            false,
            [
                Wrote_("a\n\nc\n"),
                Wrote_("a\nc\n"),
                Wrote_("a\n\nc\n"),
                Perhaps("a\nc\n"),
            ],
        ),
        (Some("a\nb\nc\n"), "b\n", "", false, same(Wrote_("a\nc\n"))),
        (
            None,
            "",
            "new\n",
            false,
            [Wrote_("new\n"), Wrote_("new\n"), Wrote_("new\n"), Refused],
        ),
        (
            Some(""),
            "",
            "new\n",
            false,
            [Refused, Refused, Refused, Wrote_("new\n")],
        ),
        (Some("a\n"), "", "new\n", false, same(Refused)),
        (
            Some("aaa\n"),
            "aa",
            "b",
            false,
            [Wrote_("ba\n"), Wrote_("ba\n"), Open, Wrote_("ba\n")],
        ),
        (
            Some("a\n"),
            "a",
            "a",
            false,
            [Refused, Refused, Refused, Wrote_("a\n")],
        ),
        (None, "a", "b", false, same(Refused)),
        (Some("a😀b\n"), "😀", "🎉", false, same(Wrote_("a🎉b\n"))),
    ];
    for &(before, old, new, all, wrote) in rows {
        let inputs = [
            (
                "replace",
                json!({"file_path": "f.txt", "old_string": old, "new_string": new, "allow_multiple": all}),
            ),
            (
                "edit",
                json!({"file_path": "f.txt", "old_string": old, "new_string": new, "replace_all": all}),
            ),
            (
                "edit",
                json!({"filePath": "f.txt", "oldString": old, "newString": new, "replaceAll": all}),
            ),
            (
                "edit",
                json!({"path": "f.txt", "old_str": old, "new_str": new}),
            ),
        ];
        for ((tool, input), expected) in inputs.iter().zip(wrote) {
            check(tool, input, before, expected);
        }
    }
    let all =
        json!({"filePath": "f.txt", "oldString": "x", "newString": "$&y", "replaceAll": true});
    check("edit", &all, Some("x x\n"), Perhaps("$&y $&y\n"));
}

#[test]
fn whole_files_as_the_programs_write_them() {
    // before, content; then Claude, Gemini and Qwen, opencode, Copilot
    type Row<'a> = (Option<&'a str>, &'a str, [Wrote<'a>; 4]);
    let rows: &[Row] = &[
        (
            Some("one\r\ntwo\r\n"),
            "1\n2\n",
            [
                Wrote_("1\n2\n"),
                Wrote_("1\r\n2\r\n"),
                Wrote_("1\n2\n"),
                Refused,
            ],
        ),
        (
            Some("\u{feff}one\n"),
            "two\n",
            [
                Wrote_("\u{feff}two\n"),
                Perhaps("two\n"),
                Wrote_("\u{feff}two\n"),
                Refused,
            ],
        ),
        (
            Some("\u{feff}one\n"),
            "\u{feff}two\n",
            [
                Wrote_("\u{feff}two\n"),
                Perhaps("\u{feff}two\n"),
                Wrote_("\u{feff}two\n"),
                Refused,
            ],
        ),
        (None, "a\r\nb", [Wrote_("a\r\nb"); 4]),
        (
            Some("x\n"),
            "",
            [Wrote_(""), Wrote_(""), Wrote_(""), Refused],
        ),
    ];
    for &(before, content, wrote) in rows {
        let inputs = [
            ("Write", json!({"file_path": "f.txt", "content": content})),
            (
                "write_file",
                json!({"file_path": "f.txt", "content": content}),
            ),
            ("write", json!({"filePath": "f.txt", "content": content})),
            ("create", json!({"path": "f.txt", "file_text": content})),
        ];
        for ((tool, input), expected) in inputs.iter().zip(wrote) {
            check(tool, input, before, expected);
        }
    }
    let input = json!({"path": "/w/new/f.txt", "file_text": "x"});
    let file = Disk::default().only("create", &input);
    assert_eq!(
        file.outlook,
        Outlook::Fails("its folder does not exist".to_owned())
    );
    let input = json!({"file_path": "/w/new/f.txt", "content": "x"});
    let file = Disk::default().only("Write", &input);
    assert_eq!(
        (file.before, file.outlook),
        (PredictedContent::Absent, Outlook::Certain)
    );
}

#[test]
fn several_edits_of_one_call_follow_one_another() {
    let edits = |edits: &[(&str, &str)]| {
        let edits: Vec<Value> = edits
            .iter()
            .map(|(old, new)| json!({"old_string": old, "new_string": new}))
            .collect();
        json!({"file_path": "/w/f.txt", "edits": edits})
    };
    let before = Some("one\r\ntwo\r\n");
    check(
        "MultiEdit",
        &edits(&[("one", "1"), ("two", "2\n3")]),
        before,
        Wrote_("1\r\n2\r\n3\r\n"),
    );
    check(
        "MultiEdit",
        &edits(&[("one", "1"), ("none", "2")]),
        before,
        Refused,
    );
    check(
        "MultiEdit",
        &edits(&[("one", "six"), ("six", "2")]),
        before,
        Perhaps("2\r\ntwo\r\n"),
    );
    check(
        "MultiEdit",
        &edits(&[("", "a\n"), ("a", "b")]),
        None,
        Perhaps("b\n"),
    );
    check("MultiEdit", &edits(&[]), before, Refused);
}

#[test]
fn cline_edits() {
    let block = "------- SEARCH\ntwo\n=======\n2\n3\n+++++++ REPLACE\n";
    let two = ["<<<<<<< SEARCH\none\n=======\n>>>>>>> REPLACE\n\n", block].concat();
    let diff = |diff: &str| json!({"path": "f.txt", "diff": diff});
    let before = Some("one\ntwo\nlast\n");
    check(
        "replace_in_file",
        &diff(block),
        before,
        Perhaps("one\n2\n3\nlast\n"),
    );
    check(
        "replace_in_file",
        &diff(&two),
        before,
        Perhaps("2\n3\nlast\n"),
    );
    check(
        "replace_in_file",
        &diff("------- SEARCH\ntwo\n"),
        before,
        Refused,
    );
    check(
        "replace_in_file",
        &diff(&block.replace("two", "none")),
        before,
        Open,
    );
    check(
        "write_to_file",
        &json!({"path": "f.txt", "content": "x"}),
        before,
        Perhaps("x"),
    );
    let edit = |old: &str| json!({"path": "f.txt", "old_text": old, "new_text": "x"});
    check("editor", &edit("two"), before, Perhaps("one\nx\nlast\n"));
    check("editor", &edit("o"), before, Refused);
    check("editor", &edit("any"), None, Perhaps("x"));
    let insert = |line: u64| json!({"path": "f.txt", "new_text": "x", "insert_line": line});
    check("editor", &insert(2), before, Perhaps("one\nx\ntwo\nlast\n"));
    check("editor", &insert(9), before, Refused);
}
