//! The real Claude Code, offline against a scripted model: its files after a session are those that were predicted.
//!
//! Where the agent is not installed, the test says so and passes; with `CI=true` it fails.

use std::fs;
use std::process::Command;

use super::*;

/// File, content before (None: absent), tool, fields of the input without the path.
type Call<'a> = (&'a str, Option<&'a [u8]>, &'a str, Value);

fn calls() -> Vec<Call<'static>> {
    let edit = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
    let all =
        |old: &str, new: &str| json!({"old_string": old, "new_string": new, "replace_all": true});
    vec![
        ("crlf.txt", Some(b"one\r\nmore\r\n"), "Edit", edit("one\nmore", "two\nand\nmore")),
        ("mixed.txt", Some(b"a\nb\nc\r\nd\n"), "Edit", edit("b", "B")),
        ("tie.txt", Some(b"a\r\nb\n"), "Edit", edit("a", "A")),
        ("bom.txt", Some(b"\xef\xbb\xbfone\r\ntwo\r\n"), "Edit", edit("one\n", "1\n")),
        ("end.txt", Some(b"one\ntwo"), "Edit", edit("two", "2")),
        ("several.txt", Some(b"x\nx\n"), "Edit", edit("x", "y")),
        ("all.txt", Some(b"x\nx\nax\n"), "Edit", all("x", "$& y")),
        ("line.txt", Some(b"a\nb\nc\n"), "Edit", edit("b", "")),
        ("lines.txt", Some(b"b\nab c\nb"), "Edit", all("b", "")),
        ("quotes.txt", Some("say “hello”, it’s\n".as_bytes()), "Edit", edit("\"hello\", it's", "\"bye\" 'x'")),
        ("none.txt", Some(b"a\n"), "Edit", edit("b", "c")),
        ("new.txt", None, "Edit", edit("", "new\n")),
        ("blank.txt", Some(b" \n"), "Edit", edit("", "new\n")),
        ("text.txt", Some(b"a\n"), "Edit", edit("", "new\n")),
        ("latin.txt", Some(b"caf\xe9\none\n"), "Edit", edit("one", "two")),
        ("dir/written.txt", None, "Write", json!({"content": "a\r\nb"})),
        ("over.txt", Some(b"one\r\ntwo\r\n"), "Write", json!({"content": "one\nthree\n"})),
        ("mark.txt", Some(b"\xef\xbb\xbfone\n"), "Write", json!({"content": "two\n"})),
        ("book.ipynb", Some(b"{\"cells\": [{\"cell_type\": \"code\", \"id\": \"c\", \"metadata\": {\"b\": 1, \"a\": \"\\u00e9\"}, \"outputs\": [1], \"execution_count\": 3, \"source\": [\"one\"]}], \"nbformat\": 4, \"nbformat_minor\": 5}"), "NotebookEdit", json!({"cell_id": "c", "new_source": "two\n\"x\""})),
    ]
}

#[test]
fn files_of_the_real_claude_code_are_those_predicted() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let agents = std::env::var_os("BACKSTITCH_TEST_AGENTS")
        .map_or_else(|| tests.join(".cache/agents"), PathBuf::from);
    if !agents.join("bin/claude").exists() {
        let in_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
        assert!(
            !in_ci,
            "Claude Code is not installed (tests/agents/install.sh)"
        );
        eprintln!("SKIPPED: Claude Code is not installed (tests/agents/install.sh)");
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    let workspace = dir.path().join("w");
    fs::create_dir(&workspace).expect("a folder");
    let mut steps = vec![json!({"tool": "ToolSearch", "args": {"query": "select:NotebookEdit"}})];
    let mut predicted = Vec::new();
    for (name, before, tool, fields) in calls() {
        let path = workspace.join(name);
        if let Some(before) = before {
            fs::write(&path, before).expect("a file");
            steps.push(json!({"tool": "Read", "args": {"file_path": path}}));
        }
        let mut input = fields;
        let field = if tool == "NotebookEdit" {
            "notebook_path"
        } else {
            "file_path"
        };
        input[field] = json!(path);
        steps.push(json!({"tool": tool, "args": input}));
        let Prediction::Files(files) = predict(tool, &input, &workspace, &read_disk) else {
            panic!("{name}: nothing is predicted");
        };
        predicted.push((name, before, files));
    }
    steps.push(json!({"text": "done"}));
    let script = dir.path().join("script.json");
    let content = json!({"prompts": ["edit the files"], "claude": steps});
    fs::write(&script, content.to_string()).expect("a script");
    let output = Command::new("python3")
        .arg(tests.join("agents/run_agent.py"))
        .arg("claude")
        .args([Path::new("--dest"), &agents, Path::new("--script"), &script])
        .args([Path::new("--workspace"), &workspace])
        .args([Path::new("--home"), &dir.path().join("home")])
        .output()
        .expect("Python 3");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{report}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for (name, before, files) in predicted {
        let [file] = &files[..] else {
            panic!("{name}: {files:?}");
        };
        let found = fs::read(workspace.join(name)).ok();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let context = format!(
            "{name}: {:?} {:?}",
            file.outlook,
            found.as_deref().map(text)
        );
        match &file.outlook {
            Outlook::Fails(_) => assert_eq!(found.as_deref(), before, "{context}"),
            _ => assert_eq!(found.as_deref(), file.after.text(), "{context}"),
        }
    }
}
