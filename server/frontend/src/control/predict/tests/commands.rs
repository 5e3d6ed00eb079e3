//! Calls of which nothing is predicted, or little.

use super::*;

#[test]
fn shell_commands_are_not_predicted_but_their_paths_are_named() {
    let names = |command: Value| match predict(
        "Bash",
        &json!({"command": command}),
        Path::new("/w"),
        &|_| Ok(FileNow::Absent),
    ) {
        Prediction::Unpredicted { names, .. } => names
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(" "),
        other @ (Prediction::Files(_) | Prediction::Reads { .. }) => panic!("{other:?}"),
    };
    assert_eq!(
        names(json!("sed -i 's/a b/c/' src/main.rs")),
        "/w/src/main.rs"
    );
    // words of the grammar are no paths
    assert_eq!(
        names(json!(
            "for i in a.txt b.txt; do sed 's/1/one/' $i c.txt; done; if cat d; then touch e; fi"
        )),
        "/w/a.txt /w/b.txt /w/c.txt /w/d /w/e"
    );
    assert_eq!(
        names(json!("cat a.txt > 'b c.txt' 2>/dev/null && rm -f Makefile")),
        "/w/a.txt /w/b c.txt /dev/null /w/Makefile"
    );
    assert_eq!(
        names(json!("cd sub && touch x; ./run --out=y/z # note")),
        "/w/sub/x /w/sub/run /w/sub/y/z"
    );
    assert_eq!(
        names(json!("echo $HOME `ls` *.rs https://a.b/c 12 ~/x")),
        ""
    );
    assert_eq!(names(json!(["bash", "-lc", "rm \"a\\\"b\""])), "/w/a\"b");
    let many: Vec<String> = (0..600).map(|n| format!(" f{n}")).collect();
    let many = many.concat();
    assert_eq!(
        names(json!(format!("rm{many}"))).split(' ').count(),
        shell::MAX_NAMES
    );
}

#[test]
fn unknown_tools() {
    let disk = Disk::of(&[("f.txt", "one\n")]);
    let input = json!({"path": "f.txt", "old_str": "one", "new_str": "two"});
    let file = disk.only("mcp__files__change", &input);
    assert!(matches!(file.outlook, Outlook::Unsure(_)));
    assert_eq!(file.after, PredictedContent::Text(b"two\n".to_vec()));
    for (tool, input) in [
        ("Read", json!({"file_path": "f.txt"})),
        ("search_files", json!({"path": "f.txt", "content": "x"})),
    ] {
        let named = predict(tool, &input, Path::new("/w"), &|path| disk.read(path));
        let names = vec!["/w/f.txt".into()];
        assert_eq!(named, Prediction::Reads { names }, "{tool}");
    }
    let input = json!({"file_path": "f.txt"});
    let named = predict("Touch", &input, Path::new("/w"), &|path| disk.read(path));
    assert_eq!(
        named,
        Prediction::Unpredicted {
            reason: "this is not a known edit tool",
            names: vec!["/w/f.txt".into()]
        }
    );
    // an MCP server edits one file, or several
    for input in [
        json!({"path": "f.txt", "edits": [{"oldText": "one", "newText": "two"}]}),
        json!({"files": [{"path": "f.txt", "content": "two\n"}]}),
        json!({"edits": [{"path": "f.txt", "oldText": "one", "newText": "two"}]}),
    ] {
        let file = disk.only("mcp__filesystem__edit_file", &input);
        assert_eq!(
            file.after,
            PredictedContent::Text(b"two\n".to_vec()),
            "{input}"
        );
        assert!(matches!(file.outlook, Outlook::Unsure(_)), "{input}");
    }
    let dry =
        json!({"path": "f.txt", "edits": [{"oldText": "one", "newText": "x"}], "dryRun": true});
    let named = predict(
        "mcp__filesystem__edit_file",
        &dry,
        Path::new("/w"),
        &|path| disk.read(path),
    );
    assert!(matches!(named, Prediction::Reads { .. }), "{named:?}");
    let odd = [
        json!(null),
        json!([1]),
        json!("x"),
        json!({"file_path": 3}),
        json!({"edits": 1}),
    ];
    for input in &odd {
        for tool in ["Edit", "Write", "NotebookEdit", "apply_patch", "Bash"] {
            predict(tool, input, Path::new("/w"), &|path| disk.read(path));
        }
    }
}
