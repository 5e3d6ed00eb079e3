//! Inputs for wanted texts, each predicted again.

use proptest::prelude::*;

use super::*;
use crate::control::predict::tests::Disk;
use crate::control::predict::tests::generated::text;

fn ask(disk: &Disk, tool: &str, input: &Value, wanted: &[(&str, &str)]) -> Inverse {
    let wanted: Vec<_> = wanted
        .iter()
        .map(|(path, text)| (Path::new("/w").join(path), text.as_bytes().to_vec()))
        .collect();
    inverse(tool, input, Path::new("/w"), &wanted, &|path| {
        disk.read(path)
    })
}

fn edit(old: &str, new: &str) -> Value {
    json!({"file_path": "/w/f", "old_string": old, "new_string": new, "replace_all": true, "other": 1})
}

#[test]
fn an_edit_becomes_the_smallest_unique_pair() {
    let disk = Disk::of(&[("f", "a\nx\nb\nx\nc\nx\n")]);
    let ask = |text| ask(&disk, "Edit", &edit("a", "q"), &[("f", text)]).expect("expressible");
    let pair = |old: &str, new: &str| {
        let mut input = edit(old, new);
        input["replace_all"] = json!(false);
        input
    };
    // the changed line is there three times: lines around it make it unique
    assert_eq!(ask("a\nx\nb\ny\nc\nx\n"), pair("b\nx\nc\n", "b\ny\nc\n"));
    assert_eq!(ask("A\nx\nb\nx\nc\nx\n"), pair("a\n", "A\n"));
    // one pair covers all changes
    assert_eq!(
        ask("A\nx\nb\nx\nc\ny\n"),
        pair("a\nx\nb\nx\nc\nx\n", "A\nx\nb\nx\nc\ny\n")
    );
    // an insertion, a deletion, an empty file
    assert_eq!(
        ask("a\nx\nb\nnew\nx\nc\nx\n"),
        pair("b\nx\n", "b\nnew\nx\n")
    );
    assert_eq!(ask("a\nx\nx\nc\nx\n"), pair("b\n", ""));
    assert_eq!(ask(""), pair("a\nx\nb\nx\nc\nx\n", ""));
}

#[test]
fn the_last_line_without_a_newline() {
    let disk = Disk::of(&[("f", "a\nb")]);
    for wanted in ["a\nb\n", "a\nc", "a", "a\n", "b", "c\na\nb"] {
        let input = ask(&disk, "Edit", &edit("a", "q"), &[("f", wanted)]).expect(wanted);
        assert_eq!(
            disk.files("Edit", &input)[0].after,
            PredictedContent::of(wanted.into())
        );
    }
}

#[test]
fn a_new_file_is_created_with_the_wanted_text() {
    let disk = Disk::default();
    let input = ask(&disk, "Edit", &edit("", "q"), &[("f", "new\n")]).expect("expressible");
    assert_eq!(
        (&input["old_string"], &input["new_string"]),
        (&json!(""), &json!("new\n"))
    );
    let write = json!({"file_path": "f", "content": "q", "other": 1});
    let input = ask(&disk, "Write", &write, &[("f", "new\r\n")]).expect("expressible");
    assert_eq!(
        input,
        json!({"file_path": "f", "content": "new\r\n", "other": 1})
    );
}

#[test]
fn separate_changes_become_separate_edits() {
    let disk = Disk::of(&[("f", "a\nx\nb\nx\nc\n")]);
    let input = json!({"file_path": "f", "edits": [{"old_string": "a", "new_string": "q"}]});
    let input = ask(&disk, "MultiEdit", &input, &[("f", "A\nx\nb\nx\nC\n")]).expect("expressible");
    let edits = json!([{"old_string": "c\n", "new_string": "C\n"}, {"old_string": "a\n", "new_string": "A\n"}]);
    assert_eq!(input, json!({"file_path": "f", "edits": edits}));
}

#[test]
fn names_of_other_agents_fields_stay() {
    let disk = Disk::of(&[("f", "a\nb\n")]);
    for (tool, input, old) in [
        (
            "edit",
            json!({"filePath": "f", "oldString": "a", "newString": "q"}),
            "oldString",
        ),
        (
            "edit",
            json!({"path": "f", "old_str": "a", "new_str": "q"}),
            "old_str",
        ),
        (
            "replace",
            json!({"file_path": "f", "old_string": "a", "new_string": "q", "instruction": "i"}),
            "old_string",
        ),
        (
            "editor",
            json!({"path": "f", "old_text": "a", "new_text": "q"}),
            "old_text",
        ),
    ] {
        let changed = ask(&disk, tool, &input, &[("f", "a\nc\n")]).expect(tool);
        assert_eq!(changed[old], json!("b\n"), "{tool}");
        let keys = |value: &Value| {
            value
                .as_object()
                .map(|fields| fields.keys().cloned().collect::<Vec<_>>())
        };
        assert_eq!(keys(&changed), keys(&input), "{tool}");
    }
    let diff = "------- SEARCH\na\n=======\nq\n+++++++ REPLACE\n";
    let input = json!({"path": "f", "diff": diff});
    let changed = ask(&disk, "replace_in_file", &input, &[("f", "a\nc\n")]).expect("expressible");
    assert_eq!(
        changed["diff"],
        json!("------- SEARCH\nb\n=======\nc\n+++++++ REPLACE\n")
    );
}

#[test]
fn patches_are_written_anew() {
    let disk = Disk::of(&[
        ("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
        ("b", "x\n"),
        ("gone", "g\n"),
    ]);
    let body = "*** Update File: a\n*** Move to: m/a\n@@\n-1\n+one\n*** Update File: ./b\n@@\n-x\n+y\n*** Delete File: gone\n*** Add File: new\n+n";
    let input = json!({"command": format!("*** Begin Patch\n{body}\n*** End Patch\n"), "other": 1});
    let nine = "1\n2\n3\n4\n5\n6\n7\n8\nnine\n";
    let changed = ask(
        &disk,
        "apply_patch",
        &input,
        &[("m/a", nine), ("new", "n\n\nm\n")],
    )
    .expect("expressible");
    let expected = "*** Begin Patch\n*** Update File: a\n*** Move to: m/a\n@@\n 6\n 7\n 8\n-9\n+nine\n*** Update File: ./b\n@@\n-x\n+y\n*** Delete File: gone\n*** Add File: new\n+n\n+\n+m\n*** End Patch\n";
    assert_eq!(changed, json!({"command": expected, "other": 1}));
    // a file that stays as it is leaves the patch; a deleted one can stay with another text
    let changed = ask(
        &disk,
        "apply_patch",
        &input,
        &[("b", "x\n"), ("gone", "kept\n")],
    )
    .expect("expressible");
    let patch = changed["command"].as_str().expect("a patch");
    assert!(
        !patch.contains("./b") && patch.contains("*** Update File: gone\n@@\n-g\n+kept\n"),
        "{patch}"
    );
    // a move without a change
    let same = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let changed = ask(&disk, "apply_patch", &input, &[("m/a", same)]).expect("expressible");
    let files = disk.files("apply_patch", &changed);
    assert_eq!(files[0].after, PredictedContent::of(same.into()));
}

#[test]
fn a_cell_of_a_notebook() {
    let book = "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"c\",\n   \"metadata\": {},\n   \"source\": \"one\"\n  }\n ]\n}\n";
    let disk = Disk::of(&[("f.ipynb", book)]);
    let input = json!({"notebook_path": "f.ipynb", "cell_id": "c", "new_source": "two"});
    let wanted = book.replace("one", "three\\n");
    let changed = ask(&disk, "NotebookEdit", &input, &[("f.ipynb", &wanted)]).expect("expressible");
    assert_eq!(changed["new_source"], json!("three\n"));
    for other in [
        book.replace("markdown", "code"),
        book.replace("  ", ""),
        "x".to_owned(),
    ] {
        assert!(ask(&disk, "NotebookEdit", &input, &[("f.ipynb", &other)]).is_err());
    }
}

#[test]
fn what_a_tool_cannot_say_is_refused_with_the_reason() {
    let disk = Disk::of(&[("f", "a\r\nb\r\n"), ("g", "a\n"), ("latin", "a\n")]);
    let refusal = |tool: &str, input: &Value, wanted: &[(&str, &str)]| {
        let reason = ask(&disk, tool, input, wanted).expect_err("refused");
        assert!(!reason.ends_with('.') && !reason.is_empty(), "{reason}");
        reason
    };
    let input = edit("a", "q");
    assert!(refusal("Edit", &input, &[("g", "b\n")]).contains("does not write /w/g"));
    assert!(refusal("Edit", &input, &[("f", "a\0")]).contains("binary"));
    assert!(refusal("Edit", &input, &[("f", "a\r\nb\r\n")]).contains("skip the call"));
    assert!(refusal("Edit", &input, &[("f", "a\nb\n")]).contains("line endings"));
    assert!(refusal("Edit", &input, &[("f", "\u{feff}c\r\n")]).contains("byte-order mark"));
    assert!(refusal("Edit", &input, &[]).contains("one text"));
    assert!(refusal("Bash", &json!({"command": "ls"}), &[("f", "x")]).contains("not predicted"));
    let update = |path: &str| json!({"command": format!("*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch")});
    assert!(refusal("apply_patch", &update("g"), &[("g", "c")]).contains("newline"));
    assert!(refusal("apply_patch", &update("g"), &[("g", "a\n")]).contains("nothing is left"));
    assert!(refusal("apply_patch", &update("f"), &[("f", "c\nb\n")]).contains("line endings"));
    assert!(refusal("apply_patch", &update("none"), &[]).contains("does not exist"));
}

/// The line endings that all lines have.
fn uniform(text: &str, end: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', end)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn edits_lead_to_the_wanted_text(before in text(), wanted in text(), several in any::<bool>()) {
        let bom = if before.starts_with('\u{feff}') { "\u{feff}" } else { "" };
        let end = if before.contains("\r\n") { "\r\n" } else { "\n" };
        let before = uniform(&before, end);
        let wanted = format!("{bom}{}", uniform(wanted.trim_start_matches('\u{feff}'), end));
        let disk = Disk::of(&[("f", &before)]);
        let (tool, input) = if several {
            ("MultiEdit", json!({"file_path": "f", "edits": [{"old_string": "a", "new_string": "q"}]}))
        } else {
            ("Edit", edit("a", "q"))
        };
        let body = before.trim_start_matches('\u{feff}');
        // without a newline a file says nothing about its line endings
        prop_assume!(before != wanted && (body.contains('\n') || !wanted.contains("\r\n")));
        let input = ask(&disk, tool, &input, &[("f", &wanted)]);
        let file = &disk.files(tool, &input.map_err(TestCaseError::fail)?)[0];
        prop_assert_eq!(&file.after, &PredictedContent::of(wanted.into_bytes()));
        prop_assert_eq!(&file.outlook, &Outlook::Certain);
    }

    /// Texts that a tool cannot write are refused, and never lead elsewhere.
    #[test]
    fn no_answer_leads_to_another_text(before in text(), wanted in text(), tool in 0_usize..7) {
        let patch = "*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n+a\n*** End Patch";
        let (tool, input) = [
            ("Edit", edit("a", "q")),
            ("Write", json!({"file_path": "f", "content": ""})),
            ("replace", json!({"file_path": "f", "old_string": "a", "new_string": "q"})),
            ("edit", json!({"filePath": "f", "oldString": "a", "newString": "q"})),
            ("edit", json!({"path": "f", "old_str": "a", "new_str": "q"})),
            ("write_file", json!({"file_path": "f", "content": ""})),
            ("apply_patch", json!({"command": patch})),
        ][tool].clone();
        let disk = Disk::of(&[("f", &before)]);
        let path = if tool == "apply_patch" { "g" } else { "f" };
        if let Ok(input) = ask(&disk, tool, &input, &[(path, &wanted)]) {
            let files = disk.files(tool, &input);
            prop_assert_eq!(files.len(), 1);
            prop_assert_eq!(&files[0].after, &PredictedContent::of(wanted.into_bytes()));
            prop_assert!(!matches!(files[0].outlook, Outlook::Fails(_)));
        }
    }

    #[test]
    fn patches_lead_to_the_wanted_texts(before in text(), wanted in text(), other in text(), moves in any::<bool>()) {
        let end = if before.contains("\r\n") { "\r\n" } else { "\n" };
        let before = uniform(&before, end);
        let mut wanted = uniform(&wanted, end);
        if !wanted.is_empty() && !wanted.ends_with('\n') {
            wanted.push_str(end);
        }
        let mut other = uniform(&other, "\n");
        if !other.is_empty() && !other.ends_with('\n') {
            other.push('\n');
        }
        prop_assume!(before.contains('\n') || !wanted.contains("\r\n"));
        let to = if moves { "*** Move to: g\n" } else { "" };
        let patch = format!("*** Begin Patch\n*** Update File: f\n{to}@@\n+a\n*** Add File: new\n+n\n*** End Patch");
        let disk = Disk::of(&[("f", &before)]);
        let path = if moves { "g" } else { "f" };
        let input = ask(&disk, "apply_patch", &json!({"command": patch}), &[(path, &wanted), ("new", &other)]);
        let files = disk.files("apply_patch", &input.map_err(TestCaseError::fail)?);
        for (path, text) in [(path, wanted), ("new", other)] {
            let file = files.iter().find(|file| file.path == Path::new("/w").join(path));
            if let Some(file) = file {
                prop_assert_eq!(&file.after, &PredictedContent::of(text.into_bytes()));
            } else {
                // it stays as it is, and so is not in the patch
                prop_assert_eq!(&before, &text);
            }
        }
    }
}
