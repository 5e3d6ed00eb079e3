//! Payloads that real agents sent to hooks, and a notebook that Claude Code rewrote.

use super::*;

/// The inputs of recorded payloads lead to what the programs wrote then.
#[test]
fn recorded_payloads() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/agents/payloads/");
    let main = "fn main() {\n    println!(\"one\");\n}\n";
    let two = main.replace("one", "two");
    let files = [
        ("claude/PreToolUse-Edit", &two, "src/main.rs"),
        (
            "claude/PreToolUse-Write",
            &"pub fn added() {}\n".to_owned(),
            "src/added.rs",
        ),
        ("gemini/BeforeTool-replace", &two, "src/main.rs"),
        (
            "gemini/BeforeTool-write_file",
            &"pub fn added() {}\n".to_owned(),
            "src/added.rs",
        ),
        ("qwen/PreToolUse-edit", &two, "src/main.rs"),
        (
            "qwen/PreToolUse-write_file",
            &"pub fn added() {}\n".to_owned(),
            "src/added.rs",
        ),
        ("opencode/tool.execute.before-edit", &two, "src/main.rs"),
        (
            "opencode/tool.execute.before-write",
            &"pub fn added() {}\n".to_owned(),
            "src/added.rs",
        ),
        ("copilot/PreToolUse-Edit", &two, "src/main.rs"),
        (
            "copilot/PreToolUse-Write",
            &"pub fn added() {}\n".to_owned(),
            "src/added.rs",
        ),
        ("codex/PreToolUse-apply_patch", &two, "src/main.rs"),
        (
            "codex/PreToolUse-apply_patch",
            &"pub fn added() {}\n".to_owned(),
            "src/added.rs",
        ),
        ("cline/tool_call-editor", &two, "src/main.rs"),
    ];
    let project = Path::new("/home/dev/project");
    let disk = Disk::default()
        .with("/home/dev/project/src", FileNow::Directory)
        .with("/home/dev/project/src/main.rs", FileNow::File(main.into()));
    for (name, after, path) in files {
        let text = std::fs::read_to_string(format!("{folder}{name}.json")).expect(name);
        let payload: Value = serde_json::from_str(&text).expect("JSON");
        let call = &payload["tool_call"];
        let (tool, input) = match call["name"].as_str() {
            Some(tool) => (tool, &call["input"]),
            None => (
                payload["tool_name"].as_str().expect("a tool"),
                &payload["tool_input"],
            ),
        };
        let Prediction::Files(files) = predict(tool, input, project, &|path| disk.read(path))
        else {
            panic!("{name}");
        };
        let file = files
            .iter()
            .find(|file| file.path == project.join(path))
            .expect(name);
        assert_eq!(
            file.after,
            PredictedContent::Text(after.clone().into_bytes()),
            "{name}"
        );
        assert!(
            !matches!(file.outlook, Outlook::Fails(_)),
            "{name}: {file:?}"
        );
    }
}

/// A notebook as Claude Code rewrote it.
#[test]
fn notebooks() {
    let text = include_str!(
        "../../../../../../tests/agents/payloads/claude/PostToolUse-NotebookEdit.json"
    );
    let payload: Value = serde_json::from_str(text).expect("JSON");
    let response = &payload["tool_response"];
    let (before, after) = (
        response["original_file"].as_str(),
        response["updated_file"].as_str(),
    );
    let (before, after) = (before.expect("text"), after.expect("text"));
    let edit = |before: &str, fields: Value| {
        let mut input = json!({"notebook_path": "book.ipynb", "new_source": "two"});
        for (name, value) in fields.as_object().expect("fields") {
            input[name] = value.clone();
        }
        Disk::of(&[("book.ipynb", before)]).only("NotebookEdit", &input)
    };
    let file = edit(before, json!({"cell_id": "c1"}));
    assert_eq!(file.outlook, Outlook::Certain);
    assert_eq!(file.after, PredictedContent::Text(after.into()));
    assert_eq!(edit(before, json!({"cell_id": "cell-0"})).after, file.after);
    let crlf = edit(&after.replace('\n', "\r\n"), json!({"cell_id": "c1"}));
    assert_eq!(
        crlf.after,
        PredictedContent::Text(after.replace('\n', "\r\n").into())
    );

    let cleared = after.replace("null", "7").replace("[]", "[1]");
    assert_eq!(edit(&cleared, json!({"cell_id": "c1"})).after, file.after);
    let markdown = edit(&cleared, json!({"cell_id": "c1", "cell_type": "markdown"}));
    let expected = after.replace("\"code\"", "\"markdown\"");
    assert_eq!(
        markdown.after,
        PredictedContent::Text(expected.clone().into())
    );
    // outputs of a cell that is no code stay
    let kept = edit(
        &expected.replace("[]", "[\n    1\n   ]"),
        json!({"cell_id": "c1"}),
    );
    assert_eq!(
        kept.after,
        PredictedContent::Text(expected.replace("[]", "[\n    1\n   ]").into())
    );

    let cell = "  },\n  {\n   \"cell_type\": \"code\",\n   \"id\": \"00000000\",\n   \"source\": \"two\",\n   \"metadata\": {},\n   \"execution_count\": null,\n   \"outputs\": []\n  }\n ],";
    let inserted = edit(
        after,
        json!({"cell_id": "c1", "cell_type": "code", "edit_mode": "insert"}),
    );
    assert_eq!(
        inserted.after,
        PredictedContent::Text(after.replace("  }\n ],", cell).into())
    );
    assert!(matches!(inserted.outlook, Outlook::Unsure(_)));
    let deleted = edit(after, json!({"cell_id": "c1", "edit_mode": "delete"}));
    let text = String::from_utf8(deleted.after.text().expect("text").to_vec()).expect("UTF-8");
    assert!(text.starts_with("{\n \"cells\": [],\n"), "{text}");
    for fields in [
        json!({"cell_id": "none"}),
        json!({"cell_id": "cell-1"}),
        json!({}),
        json!({"edit_mode": "insert"}),
        json!({"cell_id": "c1", "edit_mode": "other"}),
    ] {
        assert!(matches!(edit(before, fields).outlook, Outlook::Fails(_)));
    }
    assert!(matches!(
        edit("{\"cells\":", json!({"cell_id": "c1"})).outlook,
        Outlook::Fails(_)
    ));
    let numbers = after.replace("\"nbformat\": 4", "\"nbformat\": 1e3");
    assert!(matches!(
        edit(&numbers, json!({"cell_id": "c1"})).outlook,
        Outlook::Unsure(_)
    ));
}
