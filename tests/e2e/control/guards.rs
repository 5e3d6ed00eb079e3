//! Breakpoints see this of a call before it runs: words of commands, paths and texts in inputs, files of other workspaces.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use super::{HeldHook, Watcher, after, before, began, decided, decision, reason};
use crate::support::{World, finish};

/// The table of commands. The unit test of the engine takes every row.
const TABLE: &str = include_str!("../../commands/table.txt");
/// One of this many rows is tried over the binary.
const SAMPLE: usize = 9;

const FILES: &[(&str, &str)] = &[
    (".env", "KEY=1\n"),
    ("README.md", "# readme\n"),
    ("app/[id]/page.tsx", "a\n"),
    ("docs/guide.md", "guide\n"),
    ("src/auth/a.rs", "secret\n"),
    ("src/auth/deep/b.rs", "b\n"),
    ("src/main.rs", "fn main() {}\n"),
    ("src/other/c.rs", "c\n"),
    ("sub/y", "y\n"),
    ("list.txt", "src/auth/a.rs\n"),
];

/// Agents whose payloads of a shell command differ.
const AGENTS: &[&str] = &[
    "claude-code",
    "codex",
    "gemini",
    "qwen",
    "copilot",
    "opencode",
    "cline",
];

/// The payload of a shell command, as the agent sends it before the call.
fn shell(agent: &str, world: &World, command: &str, id: usize) -> Value {
    let cwd = world.root.to_str().expect("a path");
    let (event, tool) = match agent {
        "claude-code" | "copilot" | "codex" => ("PreToolUse", "Bash"),
        "qwen" => ("PreToolUse", "run_shell_command"),
        "gemini" => ("BeforeTool", "run_shell_command"),
        "opencode" => ("tool.execute.before", "bash"),
        _ => {
            let input = json!({ "commands": [command] });
            return json!({
                "taskId": "c1", "hookName": "tool_call", "workspaceRoots": [cwd],
                "tool_call": { "id": format!("k{id}"), "name": "run_commands", "input": input },
            });
        }
    };
    json!({
        "session_id": "00000000-0000-4000-8000-000000000001", "turn_id": "1", "prompt_id": "1",
        "transcript_path": "/none.jsonl", "cwd": cwd, "hook_event_name": event,
        "timestamp": "2026-01-02T03:04:05.000Z", "message_id": "m1",
        "tool_name": tool, "tool_input": { "command": command }, "tool_use_id": format!("toolu_{id}"),
    })
}

/// True if the agent is told to leave a call.
fn is_denied(world: &World, agent: &str, payload: &Value) -> bool {
    let mut command = world.backstitch();
    command.args(["hook", agent]);
    let output = finish(&mut command, payload.to_string().as_bytes());
    output.stdout.contains("NOT THIS") || output.stderr.contains("NOT THIS")
}

fn deny(world: &World, kind: &[&str]) {
    let mut all = vec!["breakpoint", "add"];
    all.extend(kind);
    all.extend(["--action", "deny", "--message", "NOT THIS"]);
    world.ok(all);
}

/// A sample of the table over the binary, with the payloads of seven agents.
#[test]
fn agents_are_stopped_as_the_table_says() {
    let world = World::committed(FILES);
    let mut wrong = Vec::new();
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    let mut row = 0;
    for line in TABLE.lines().map(str::trim_end) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(of) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            world.ok(["breakpoint", "clear"]);
            let (kind, rest) = of.split_once(' ').expect(line);
            // as a person types it
            let rest = rest.replace('\\', "");
            match kind {
                "edits" => deny(&world, &["path", &rest, "--edits"]),
                kind => deny(&world, &[kind, &rest]),
            }
            continue;
        }
        row += 1;
        let (verdict, rest) = line.split_once(' ').expect(line);
        let text = rest.split("  ## ").next().unwrap_or(rest);
        let is_of_this_place =
            !text.contains("app") && !text.contains("/home") && !text.contains("PROJECT");
        if row % SAMPLE != 0 || !is_of_this_place {
            continue;
        }
        let agent = AGENTS[(row / SAMPLE) % AGENTS.len()];
        let command = text.trim().replace('⏎', "\n");
        let is_stopped = is_denied(&world, agent, &shell(agent, &world, &command, row));
        *tried.entry(verdict).or_default() += 1;
        if is_stopped != (verdict == "held") {
            wrong.push(format!("{agent}: {line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried["held"] > 30 && tried["runs"] > 10, "{tried:?}");
}

/// The home directory is the agent's.
#[test]
fn a_path_from_the_home_directory_is_seen() {
    let world = World::committed(FILES);
    let agent = began(&world);
    deny(&world, &["path", "src/auth/**"]);
    let home = world.root.parent().expect("a directory above");
    let name = world.root.file_name().expect("a name").to_string_lossy();
    for (number, command) in [
        format!("cat ~/{name}/src/auth/a.rs"),
        format!("cat \"$HOME/{name}/src/auth/a.rs\""),
        format!("cd && cat ${{PWD}}/{name}/src/auth/a.rs"),
    ]
    .iter()
    .enumerate()
    {
        let payload = before(
            &agent,
            &format!("h{number}"),
            "Bash",
            &json!({ "command": command }),
        );
        let mut hook = world.hook_command();
        hook.env("HOME", home);
        let output = finish(&mut hook, payload.to_string().as_bytes());
        assert!(output.stdout.contains("NOT THIS"), "{command}: {output}");
    }
}

/// A pattern that is the name of a file means this file, whatever signs it has. One that matches nothing is reported.
#[test]
fn a_name_with_brackets_is_a_file() {
    let world = World::committed(FILES);
    let agent = began(&world);
    let said = world.ok([
        "breakpoint",
        "add",
        "path",
        "app/[id]/page.tsx",
        "--action",
        "deny",
    ]);
    assert!(
        said.stdout.contains("Added b1: path app/[id]/page.tsx"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("taken as its name"), "{}", said.stdout);
    let input = super::edit(&world, "app/[id]/page.tsx", "a", "b");
    let answer = HeldHook::start(&world, &before(&agent, "1", "Edit", &input), 600).answer();
    assert_eq!(decision(&answer), Some("deny"), "{answer}");
    let input = super::edit(&world, "app/i/page.tsx", "a", "b");
    let answer = HeldHook::start(&world, &before(&agent, "2", "Edit", &input), 600).answer();
    assert_eq!(decision(&answer), None, "{answer}");
    let said = world
        .ok(["breakpoint", "add", "path", "nowhere/[id]/**"])
        .stdout;
    assert!(said.contains("No file matches it now."), "{said}");
    let list = world.ok(["breakpoint", "list"]).stdout;
    assert!(list.contains("app/[id]/page.tsx"), "{list}");
    for typed in [r"src\a.rs", r"nope/\[id\].tsx"] {
        let said = world.ok(["breakpoint", "add", "path", typed]).stdout;
        assert!(said.contains("No file matches it now."), "{said}");
        assert!(!said.contains("exists"), "{said}");
    }
}

/// Each kind says what it does not see, when it is made, on the command line and in JSON.
#[test]
fn a_new_breakpoint_tells_its_limits() {
    let world = World::committed(FILES);
    for (kind, limit) in [
        (
            vec!["path", "src/**"],
            "files that a program opens by itself",
        ),
        (vec!["path", "src/**", "--edits"], "calls that only read"),
        (vec!["line", "src/main.rs:1"], "after it ran"),
        (vec!["content", "TODO"], "--after"),
        (vec!["command", "rm -rf"], "a script or an alias"),
        (vec!["command", "/rm -rf/"], "the text of a command alone"),
        (vec!["command", "rm +-rf"], "the text of a command alone"),
        (vec!["tool", "Bash"], "another tool may do the same"),
        (vec!["pattern", "secret"], "not the files"),
    ] {
        let all: Vec<&str> = ["breakpoint", "add"]
            .into_iter()
            .chain(kind.clone())
            .collect();
        let said = world.ok(all.clone()).stdout;
        assert!(said.contains(limit), "{kind:?}: {said}");
        let answer = world.json(all);
        let remarks = answer["remarks"].to_string();
        assert!(remarks.contains(limit), "{kind:?}: {remarks}");
    }
    let list = world.ok(["breakpoint", "list"]).stdout;
    assert!(
        list.contains("rm -rf") && list.contains("/rm +-rf/"),
        "{list}"
    );
}

/// Paths anywhere in the input of a tool that is not known, and the commands of other shells.
#[test]
fn inputs_of_other_tools_are_looked_through() {
    let world = World::committed(FILES);
    let agent = began(&world);
    deny(&world, &["path", "src/auth/**"]);
    let file = world.path("src/auth/a.rs");
    let uri = format!("file://{}", file.display());
    let mut number = 0;
    let mut stopped = |tool: &str, input: &Value| {
        number += 1;
        let payload = before(&agent, &format!("n{number}"), tool, input);
        let answer = HeldHook::start(&world, &payload, 600).answer();
        reason(&answer).contains("NOT THIS")
    };
    for (tool, input) in [
        (
            "mcp__fs__edit_files",
            json!({ "edits": [{ "path": file, "text": "x" }] }),
        ),
        ("mcp__fs__read", json!({ "args": { "path": file } })),
        (
            "mcp__fs__read_many",
            json!({ "files": [{ "path": "src/auth/a.rs" }] }),
        ),
        ("mcp__fs__move", json!({ "from": file, "to": "x" })),
        (
            "mcp__fs__move",
            json!({ "source": "x", "destination": "src/auth/x" }),
        ),
        ("mcp__fs__write", json!({ "target": file })),
        (
            "mcp__lsp__rename",
            json!({ "textDocument": { "uri": uri } }),
        ),
        ("mcp__sh__run", json!({ "cmd": "cat src/auth/a.rs" })),
        (
            "mcp__sh__run",
            json!({ "command": ["bash", "-lc", "cd src && cat auth/a.rs"] }),
        ),
        ("mcp__sh__run", json!({ "script": "cat src/auth/a.rs" })),
        (
            "mcp__sh__run",
            json!({ "command": "cat a.rs", "cwd": "src/auth" }),
        ),
        ("Read", json!({ "file_path": file })),
        ("Grep", json!({ "pattern": "secret" })),
        ("Grep", json!({ "pattern": "secret", "path": "src" })),
        (
            "Grep",
            json!({ "pattern": "secret", "glob": "src/auth/**" }),
        ),
        ("Grep", json!({ "pattern": "secret", "glob": "*.rs" })),
        ("Glob", json!({ "pattern": "src/**/*.rs" })),
    ] {
        assert!(stopped(tool, &input), "{tool} {input}");
    }
    for (tool, input) in [
        ("Read", json!({ "file_path": world.path("README.md") })),
        ("Grep", json!({ "pattern": "secret", "path": "docs" })),
        ("Grep", json!({ "pattern": "secret", "glob": "*.md" })),
        ("Glob", json!({ "pattern": "docs/**" })),
        (
            "WebFetch",
            json!({ "url": "https://example.org/src/auth/a.rs" }),
        ),
        ("mcp__gh__search_code", json!({ "query": "secret" })),
    ] {
        assert!(!stopped(tool, &input), "{tool} {input}");
    }
    let list = json!({ "taskId": "c1", "hookName": "tool_call", "workspaceRoots": [world.root],
        "tool_call": { "id": "k1", "name": "read_files", "input": { "files": [{ "path": file }] } } });
    assert!(is_denied(&world, "cline", &list));
    world.ok(["breakpoint", "clear"]);
    deny(&world, &["command", "rm -rf"]);
    for input in [
        json!({ "cmd": "rm -fr x" }),
        json!({ "command": ["rm", "-rf", "x"] }),
        json!({ "command": "rm", "args": ["-r", "-f", "x"] }),
        json!({ "script": "cd y && rm --recursive --force x" }),
        json!({ "input": "rm -rf x" }),
        json!({ "arguments": { "command": "sudo rm -rf x" } }),
        json!({ "program": "rm", "args": ["-rf", "x"] }),
        json!({ "executable": "/bin/rm", "arguments": "-rf x" }),
        json!({ "input": { "commands": [{ "run": "rm -rf x" }] } }),
        json!({ "lines": ["cd y", "rm -rf x"] }),
        json!({ "argv": ["rm", "-rf", "x"] }),
        json!({ "cmd": ["bash", "-c", "rm -rf x"] }),
        json!({ "command": "bash", "input": "rm -rf x" }),
        json!({ "code": "import os; os.system('rm -fr x')" }),
        json!({ "code": "const c = require('child_process');\nc.execSync(\"rm -fr x\")" }),
        json!({ "code": "import subprocess\nsubprocess.run(['rm', '-r', '-f', 'x'])" }),
    ] {
        assert!(stopped("mcp__sh__run", &input), "{input}");
    }
    for input in [
        json!({ "program": "rm", "args": ["x"] }),
        json!({ "program": "echo", "args": ["rm -rf x"] }),
        json!({ "path": "x.sh", "lines": ["rm -rf x"] }),
        json!({ "title": "rm -rf x", "body": "do not run `rm -rf x`" }),
        json!({ "query": "rm -rf x" }),
        json!({ "command": "tee y", "input": "rm -rf x" }),
        json!({ "code": "print('rm -rf x')" }),
    ] {
        assert!(!stopped("mcp__sh__run", &input), "{input}");
    }
}

/// A text that a tool of an MCP server writes is compared, too, and its lines are predicted where its form is known.
#[test]
fn texts_of_mcp_tools_are_seen() {
    let world = World::committed(FILES);
    let agent = began(&world);
    deny(&world, &["content", "eval\\("]);
    deny(&world, &["line", "src/main.rs:1"]);
    let mut number = 0;
    let mut stopped = |tool: &str, input: Value| {
        number += 1;
        let payload = before(&agent, &format!("c{number}"), tool, &input);
        let answer = HeldHook::start(&world, &payload, 600).answer();
        reason(&answer).contains("NOT THIS")
    };
    let new = world.path("new.js");
    let edits = |old: &str, text: &str| json!([{ "oldText": old, "newText": text }]);
    for (tool, input) in [
        (
            "mcp__filesystem__write_file",
            json!({ "path": new, "content": "eval(1)\n" }),
        ),
        (
            "mcp__filesystem__edit_file",
            json!({ "path": "sub/y", "edits": edits("y", "eval(1)") }),
        ),
        (
            "mcp__x__put",
            json!({ "file": new, "body": "a\neval(1)\n" }),
        ),
        (
            "mcp__x__put_many",
            json!({ "files": [{ "path": new, "content": "eval(1)" }] }),
        ),
        (
            "mcp__filesystem__edit_file",
            json!({ "path": "src/main.rs", "edits": edits("main", "x") }),
        ),
        (
            "mcp__filesystem__write_file",
            json!({ "path": "src/main.rs", "content": "x\n" }),
        ),
    ] {
        assert!(stopped(tool, input.clone()), "{tool} {input}");
    }
    for (tool, input) in [
        (
            "mcp__filesystem__write_file",
            json!({ "path": new, "content": "1\n" }),
        ),
        (
            "mcp__filesystem__read_file",
            json!({ "path": "src/main.rs" }),
        ),
        (
            "mcp__filesystem__search_files",
            json!({ "path": ".", "pattern": "eval(" }),
        ),
        (
            "mcp__filesystem__edit_file",
            json!({ "path": "src/main.rs", "edits": edits("main", "x"), "dryRun": true }),
        ),
    ] {
        assert!(!stopped(tool, input.clone()), "{tool} {input}");
    }
}

/// A held read says what it reads. `--edits` leaves reading calls alone.
#[test]
fn a_held_read_says_what_it_reads() {
    let world = World::committed(FILES);
    let agent = began(&world);
    world.ok(["breakpoint", "add", "path", "src/main.rs"]);
    let read = json!({ "file_path": world.path("src/main.rs") });
    let mut watcher = Watcher::start(&world);
    let hook = HeldHook::start(&world, &before(&agent, "r1", "Read", &read), 600);
    let pause = watcher.until("held");
    assert_eq!(pause["why"], "reads src/main.rs");
    let shown = world.ok(["inspect"]).stdout;
    assert!(shown.contains("it reads src/main.rs"), "{shown}");
    assert!(!shown.contains("not a known edit tool"), "{shown}");
    world.ok(["resume"]);
    hook.answer();
    world.ok(["breakpoint", "clear"]);
    deny(&world, &["path", "src/main.rs", "--edits"]);
    let answer = HeldHook::start(&world, &before(&agent, "r2", "Read", &read), 600).answer();
    assert_eq!(decision(&answer), None, "{answer}");
    let input = super::edit(&world, "src/main.rs", "main", "x");
    let answer = HeldHook::start(&world, &before(&agent, "r3", "Edit", &input), 600).answer();
    assert_eq!(decision(&answer), Some("deny"), "{answer}");
}

/// A denial by a breakpoint is listed where held calls and turns are.
#[test]
fn automatic_denials_are_listed() {
    let world = World::committed(FILES);
    let agent = began(&world);
    deny(&world, &["command", "rm -rf"]);
    for id in ["d1", "d2"] {
        let payload = before(&agent, id, "Bash", &json!({ "command": "rm -fr x" }));
        HeldHook::start(&world, &payload, 600).answer();
    }
    agent.stop();
    for command in [&["pauses", "--all"][..], &["show", "t1"]] {
        let said = world.ok(command).stdout;
        let rows = said.lines().filter(|line| line.contains("denied"));
        let rows: Vec<&str> = rows.filter(|line| line.contains("b1")).collect();
        assert_eq!(rows.len(), 2, "{command:?}: {said}");
        assert!(
            rows[0].contains("Bash") && rows[0].contains("its command has rm -rf"),
            "{said}"
        );
    }
    let all = world.json(["pauses", "--all"]);
    assert_eq!(all["denied"].as_array().map(Vec::len), Some(2), "{all}");
}

/// An agent that works in one workspace meets the breakpoints of another one when it reaches into it.
#[test]
fn a_call_into_another_workspace_is_held_there() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let agent = began(&world);
    let other = world
        .root
        .parent()
        .expect("a directory above")
        .join("other-workspace");
    std::fs::create_dir_all(&other).expect("made");
    let git = Command::new("git")
        .args(["init", "-q"])
        .arg(&other)
        .status();
    assert!(git.expect("git").success());
    std::fs::write(other.join("secret.rs"), "x\n").expect("written");
    let there = |args: &[&str]| {
        let mut command = world.backstitch();
        command.current_dir(&other).args(args);
        finish(&mut command, b"").expect_code(0).stdout
    };
    there(&["checkpoint", "create", "start"]);
    let secret = other.join("secret.rs");
    let calls = [
        ("Write", json!({ "file_path": secret, "content": "y\n" })),
        ("Read", json!({ "file_path": secret })),
        (
            "Bash",
            json!({ "command": format!("cd {} && cat secret.rs", other.display()) }),
        ),
        ("Grep", json!({ "pattern": "x", "path": other })),
    ];
    let mut number = 0;
    let mut answer = |tool: &str, input: &Value| {
        number += 1;
        let payload = before(&agent, &format!("o{number}"), tool, input);
        HeldHook::start(&world, &payload, 600).answer()
    };
    for (tool, input) in &calls {
        assert_eq!(decision(&answer(tool, input)), None, "nothing is armed");
    }
    there(&[
        "breakpoint",
        "add",
        "path",
        "secret.rs",
        "--action",
        "deny",
        "--message",
        "NOT THIS",
    ]);
    for (tool, input) in &calls {
        let answer = answer(tool, input);
        assert!(
            reason(&answer).contains("NOT THIS"),
            "{tool} {input}: {answer}"
        );
    }
    let own = json!({ "file_path": world.path("a.txt"), "content": "b\n" });
    assert_eq!(
        decision(&answer("Write", &own)),
        None,
        "its own workspace has none"
    );
    assert!(there(&["pauses", "--all"]).contains("denied"));
    // one of the session, and not of calls: the session belongs to another workspace
    there(&["breakpoint", "clear"]);
    there(&["breakpoint", "add", "iteration", "1", "--action", "deny"]);
    assert_eq!(decision(&answer(calls[0].0, &calls[0].1)), None);
    there(&["breakpoint", "clear"]);
    there(&["breakpoint", "add", "path", "secret.rs"]);

    // held there, and decided there
    let mut command = world.backstitch();
    command
        .current_dir(&other)
        .args(["pauses", "--watch", "--json"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a watcher");
    let mut lines = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let payload = before(&agent, "held", "Write", &calls[0].1);
    let hook = HeldHook::start(&world, &payload, 600);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut lines, &mut line).expect("a line");
    assert!(
        line.contains("\"held\"") && line.contains("names secret.rs"),
        "{line}"
    );
    there(&["resume"]);
    assert_eq!(hook.answer(), Value::Null);
    child.kill().expect("killed");
    child.wait().expect("ended");

    // a call whose hook saw nothing before it ran is told there
    std::fs::write(&secret, "y\n").expect("written");
    let done = after(
        &agent,
        "slipped",
        "Write",
        &calls[0].1,
        &json!({ "ok": true }),
    );
    HeldHook::attended(&world, &done, None, true).answer();
    assert!(there(&["pauses", "--all"]).contains("ran unasked"));
    there(&["breakpoint", "clear"]);
    let index = world.state.join("backstitch/armed");
    assert!(!index.exists(), "nothing is armed any more");
}

/// A breakpoint on words is decided as any other.
#[test]
fn a_command_of_words_is_held_and_decided() {
    let world = World::committed(FILES);
    let agent = began(&world);
    world.ok(["breakpoint", "add", "command", "git push --force"]);
    let input = json!({ "command": "cd sub && git push origin main -f" });
    let payload = before(&agent, "w1", "Bash", &input);
    let (pause, answer) = decided(&world, &payload, &["deny", "-m", "use a branch"]);
    assert_eq!(pause["why"], "its command has git push --force");
    assert_eq!(reason(&answer), "use a branch");
}
