//! A held call runs as it was shown last: one input for every front end, from any change to the answer of the hook.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::{HeldHook, Watcher, before, began, decision, edit, reason};
use crate::lsp::client::{Client, Editor};
use crate::support::agent::Agent;
use crate::support::rng::{self, Rng};
use crate::support::{World, finish};

const FILE: &str = "a.txt";
const TEXT: &str = "one\ntwo\nthree\n";

/// An editor that shows held calls.
fn panels(world: &World) -> Client<'_> {
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    Client::with(world, Editor::Vscode, &own)
}

/// A held Edit of `one` to `1`, with its agent.
fn held(world: &World) -> (Agent<'_>, HeldHook, Watcher, Value) {
    let agent = began(world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut watcher = Watcher::start(world);
    let input = edit(world, FILE, "one", "1");
    let hook = HeldHook::start(world, &before(&agent, "c1", "Edit", &input), 600);
    let pause = watcher.until("held");
    (agent, hook, watcher, pause)
}

fn typed(world: &World, input: &str) -> Value {
    let answer = world.run(["--json", "repl", "-e", input]);
    let answer: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    answer["entry"].clone()
}

fn inspected(world: &World) -> Value {
    world.json(["inspect"])["pause"].clone()
}

/// a change is seen by all, has another fingerprint, and runs with a step as with a continuation.
#[test]
fn a_change_is_shown_everywhere_and_runs_with_a_step() {
    let world = World::committed(&[(FILE, TEXT)]);
    let mut client = panels(&world);
    client.open(FILE);
    let (_agent, hook, _watcher, pause) = held(&world);
    // a server that reads it later finds it changed already
    client.until(|client| {
        let mut told = client.notified.iter();
        told.any(|(name, _)| name == "backstitch/didPause")
    });
    let own = inspected(&world);
    assert_eq!(own["changedBy"], Value::Null, "{own:#}");
    assert_eq!(own["predicted"][0]["then"], "1\ntwo\nthree\n", "{own:#}");
    assert_eq!(own["fingerprint"], pause["fingerprint"]);
    assert_eq!(typed(&world, ":set .new_string \"eins\"")["isError"], false);
    let seen = inspected(&world);
    assert_eq!(seen["input"]["new_string"], "eins", "{seen:#}");
    assert_eq!(seen["ownInput"]["new_string"], "1", "{seen:#}");
    assert_eq!(seen["changedBy"], "a REPL", "{seen:#}");
    assert_eq!(seen["predicted"][0]["then"], "eins\ntwo\nthree\n");
    assert_ne!(seen["fingerprint"], own["fingerprint"]);
    let shown = world.ok(["inspect"]).stdout;
    assert!(
        shown.contains("+eins") && shown.contains("changed in a REPL"),
        "{shown}"
    );
    let row = world.json(["pauses"])["pauses"][0].clone();
    let listed = client.ok("backstitch/pauses", json!({}))["pauses"][0].clone();
    let details = client.ok("backstitch/pause", json!({ "pause": "p1" }));
    assert_eq!(details["input"], seen["input"]);
    for pause in [&row, &listed, &details["pause"]] {
        assert_eq!(pause["changedBy"], "a REPL", "{pause:#}");
        assert_eq!(pause["fingerprint"], seen["fingerprint"], "{pause:#}");
    }
    client.until(|client| {
        let mut told = client.notified.iter();
        told.any(|(name, params)| {
            name == "backstitch/pauseChanged" && params["pause"]["changedBy"] == "a REPL"
        })
    });
    // the one that was shown before is no longer there, on the command line and over LSP
    let old = own["fingerprint"].as_str().expect("a fingerprint");
    for command in [&["resume"][..], &["step", "into"]] {
        let refused = world.run([command, &["--fingerprint", old]].concat());
        assert_eq!(refused.code, 1, "{refused}");
        assert!(
            refused.stderr.contains("changed since it was shown"),
            "{refused}"
        );
    }
    for command in ["backstitch.resume", "backstitch.step"] {
        let arguments = json!([{ "pause": "p1", "fingerprint": old }]);
        let asked = json!({ "command": command, "arguments": arguments });
        let refused = client.fails("workspace/executeCommand", asked);
        assert_eq!(refused["data"]["kind"], "stale", "{refused:#}");
    }
    let said = world.ok(["step"]);
    assert!(
        said.stderr.contains("+eins") || said.stdout.contains("+eins"),
        "{said}"
    );
    assert_eq!(
        hook.answer()["hookSpecificOutput"]["updatedInput"],
        seen["input"]
    );
    // the step is there, too
    let kinds = world.json(["breakpoint", "list"]).to_string();
    assert!(kinds.contains("\"step\""), "{kinds}");
    client.leave();
}

/// Each kind of step carries the input that an editor gives, with the fingerprint of its prediction, or has set before.
#[test]
fn an_editor_steps_with_its_change() {
    let world = World::committed(&[(FILE, TEXT)]);
    let mut client = panels(&world);
    client.open(FILE);
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, FILE, "one", "1");
    for (number, how) in ["over", "into", "out", "file", "turn"]
        .into_iter()
        .enumerate()
    {
        let mut watcher = Watcher::start(&world);
        let call = format!("c{number}");
        let hook = HeldHook::start(&world, &before(&agent, &call, "Edit", &input), 600);
        let pause = watcher.until("held")["id"].clone();
        let then = json!([{ "path": FILE, "text": format!("{how}\ntwo\nthree\n") }]);
        let mut asked = json!({ "pause": pause, "how": how });
        let wanted = if number % 2 == 0 {
            let shown = client.ok(
                "backstitch/predict",
                json!({ "pause": pause, "then": then }),
            );
            asked["input"] = shown["input"].clone();
            asked["fingerprint"] = shown["fingerprint"].clone();
            shown["input"].clone()
        } else {
            let shown = client.ok("backstitch/draft", json!({ "pause": pause, "then": then }));
            assert_eq!(
                shown["pause"]["changedBy"], "Visual Studio Code",
                "{shown:#}"
            );
            asked["fingerprint"] = shown["fingerprint"].clone();
            shown["input"].clone()
        };
        client.command("backstitch.step", asked);
        assert_eq!(
            hook.answer()["hookSpecificOutput"]["updatedInput"],
            wanted,
            "{how}"
        );
    }
    client.leave();
}

/// A `debug` in a terminal.
struct Debugger {
    process: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    shown: String,
}

/// Starts `debug` with an editor: a script of the shell, whose `$1` is the file.
fn debugger(world: &World, editor: &str) -> Debugger {
    world.write("../editor", format!("#!/bin/sh\n{editor}\n"));
    let editor = world.path("../editor");
    world.set_mode("../editor", 0o755);
    let (ours, theirs) = crate::support::pty::open();
    crate::support::pty::resize(&ours, 40, 120);
    let mut command = world.backstitch();
    command
        .arg("debug")
        .env("EDITOR", editor)
        .env("TERM", "xterm");
    let terminal = || Stdio::from(theirs.try_clone().expect("a terminal"));
    let process = command
        .stdin(terminal())
        .stdout(terminal())
        .stderr(terminal())
        .spawn()
        .expect("a debugger");
    drop(theirs);
    drop(command);
    let screen = crate::support::pty::output(&ours);
    Debugger {
        process,
        keys: ours,
        screen,
        shown: String::new(),
    }
}

impl Debugger {
    fn until(&mut self, wanted: &str) {
        let Self { screen, shown, .. } = self;
        while !shown.contains(wanted) {
            let limit = crate::support::limits::EVENT_TIMEOUT;
            let chunk = screen.recv_timeout(limit);
            let chunk = chunk.unwrap_or_else(|_| panic!("no {wanted:?} in {shown}"));
            shown.push_str(&String::from_utf8_lossy(&chunk));
        }
        shown.clear();
    }

    fn types(&mut self, line: &str) {
        self.keys
            .write_all(format!("{line}\r").as_bytes())
            .expect("typed");
    }
}

impl Drop for Debugger {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `debug`: the edit that the difference shows runs with `n`, and a line says what becomes of the call.
#[test]
fn a_debugger_steps_with_its_change() {
    let world = World::committed(&[(FILE, TEXT)]);
    let (_agent, hook, _watcher, _) = held(&world);
    let mut debugger = debugger(&world, "sed -i 's/\"1\"/\"eins\"/' \"$1\"");
    debugger.until("(p1)");
    debugger.types("e");
    debugger.until("+eins");
    debugger.types("n");
    debugger.until("continues with the changed input. The next stop: the next call of this thread");
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["updatedInput"]["new_string"],
        "eins"
    );
}

/// `debug`: an edit that is no JSON is kept for the next `e`. Until it is taken or dropped, the agent's input does not run.
#[test]
fn a_debugger_keeps_an_edit_that_is_not_taken() {
    let world = World::committed(&[(FILE, TEXT)]);
    let (_agent, hook, _watcher, _) = held(&world);
    // the first edit leaves out a quote, the next one adds it
    let script = "if grep -q '\"mine$' \"$1\"; then sed -i 's/\"mine$/\"mine\"/' \"$1\"; \
        else sed -i 's/\"1\"$/\"mine/; s/\"1\",$/\"mine\\n,/' \"$1\"; fi";
    let mut debugger = debugger(&world, script);
    debugger.until("(p1)");
    debugger.types("u");
    debugger.until("no edit of p1 waits to be taken");
    debugger.types("e");
    debugger.until("is not JSON");
    for key in ["c", "n", "s", "o", "c!"] {
        debugger.types(key);
        debugger.until("your edit of p1 was not taken, and would not run");
        assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    }
    debugger.types("e");
    debugger.until("+mine");
    debugger.types("c");
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["updatedInput"]["new_string"],
        "mine"
    );
}

/// `debug`: an edit that is not taken can be dropped, and the agent's input runs.
#[test]
fn a_debugger_drops_an_edit_on_request() {
    let world = World::committed(&[(FILE, TEXT)]);
    let (_agent, hook, _watcher, _) = held(&world);
    let mut debugger = debugger(&world, "echo '{' > \"$1\"; exit 3");
    debugger.until("(p1)");
    debugger.types("e");
    debugger.until("failed. Your edit was not taken");
    debugger.types("c");
    debugger.until("would not run");
    debugger.types("u");
    debugger.until(FILE);
    debugger.types("c");
    assert_eq!(hook.answer(), Value::Null);
}

/// `debug` on a pipe: the lines after one that failed are not carried out, since its failure was not seen.
#[test]
fn a_script_of_a_debugger_ends_at_its_first_failure() {
    for failing in ["e", "b many", "edit .new_string", "nonsense"] {
        let world = World::committed(&[(FILE, TEXT)]);
        let (_agent, hook, _watcher, _) = held(&world);
        let lines = format!("{failing}\nc\nc\n");
        let mut command = world.backstitch();
        let said = finish(command.arg("debug"), lines.as_bytes());
        let said = said.expect_code(2);
        assert!(
            said.stderr.contains(&format!(
                "No line after `{failing}` was carried out, and p1 stays held"
            )),
            "{said}"
        );
        assert!(
            said.stderr.contains("`backstitch debug` shows it again"),
            "{said}"
        );
        assert_eq!(
            world.json(["pauses"])["pauses"][0]["state"],
            "held",
            "{failing}"
        );
        let mut command = world.backstitch();
        let said = finish(command.args(["debug", "--json"]), lines.as_bytes());
        let said = said.expect_code(2);
        let documents: Vec<Value> = said
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON in a line"))
            .collect();
        assert_eq!(documents.len(), 2, "{said}");
        assert_eq!(documents[1]["error"]["kind"], "usage", "{said}");
        assert_eq!(documents[1]["schema"], 1, "{said}");
        world.ok(["skip"]);
        hook.answer();
    }
}

/// An input that is none of its tool any longer says so, and not that the tool is unknown.
#[test]
fn a_field_of_another_type_is_named() {
    let world = World::committed(&[(FILE, TEXT)]);
    let (_agent, hook, _watcher, _) = held(&world);
    let set = typed(&world, ":set .new_string 5");
    let said = set["output"].as_str().expect("text").to_owned();
    let shown = world.ok(["inspect"]).stdout;
    for text in [&said, &shown] {
        assert!(
            text.contains("`new_string` of this input has another type"),
            "{text}"
        );
        assert!(
            text.contains("Edit does not take an input of this form"),
            "{text}"
        );
        assert!(!text.contains("known edit tool"), "{text}");
    }
    world.ok(["skip"]);
    hook.answer();
}

/// An input of `:set` is checked as one of `--input` is: its shape, its fields, and the tool's own refusal. `--force` sends it.
#[test]
fn a_resume_checks_what_was_set() {
    let world = World::committed(&[(FILE, TEXT)]);
    let mut client = panels(&world);
    client.open(FILE);
    let (_agent, hook, _watcher, _) = held(&world);
    for (set, why) in [
        (":set .old_string \"nowhere\"", "will refuse this input"),
        (":set .replace_all \"yes\"", "another type"),
        (":set .new_strng \"x\"", "no `new_strng`"),
    ] {
        assert_eq!(typed(&world, set)["isError"], false);
        let seen = inspected(&world);
        assert!(
            seen["problem"].as_str().expect("a problem").contains(why),
            "{seen:#}"
        );
        for command in ["resume", "step"] {
            let refused = world.run([command]).expect_code(1);
            assert!(refused.stderr.contains(why), "{refused}");
            assert!(refused.stderr.contains("--force"), "{refused}");
        }
        let arguments = json!([{ "pause": "p1", "fingerprint": seen["fingerprint"] }]);
        let asked = json!({ "command": "backstitch.resume", "arguments": arguments });
        let refused = client.fails("workspace/executeCommand", asked);
        let message = refused["message"].as_str().expect("a message");
        assert!(message.contains(why), "{refused:#}");
        typed(&world, ":reset");
    }
    // a field that the tool takes, and the call does not have, is not a problem
    typed(&world, ":set .replace_all true");
    assert_eq!(inspected(&world)["problem"], Value::Null);
    typed(&world, ":set .old_string \"nowhere\"");
    world.ok(["resume", "--force"]);
    assert_eq!(
        hook.answer()["hookSpecificOutput"]["updatedInput"]["old_string"],
        "nowhere"
    );
    client.leave();
}

/// `resume --force` without a change is `resume`.
#[test]
fn force_alone_is_no_error() {
    let world = World::committed(&[(FILE, TEXT)]);
    let (_agent, hook, _watcher, _) = held(&world);
    world.ok(["resume", "--force"]);
    assert_eq!(hook.answer(), Value::Null);
}

/// A change that the agent does not take is refused by name where it is made, in each front end; the call stays as it is.
#[test]
fn a_change_that_no_agent_takes_is_refused_where_it_is_made() {
    let world = World::committed(&[(FILE, TEXT)]);
    let mut client = panels(&world);
    client.open(FILE);
    began(&world);
    world.ok(["breakpoint", "add", "command", "echo"]);
    let qwen = json!({
        "session_id": "q1", "transcript_path": "/dev/null", "cwd": world.root,
        "hook_event_name": "PreToolUse", "timestamp": "2026-01-02T03:04:05.000Z",
        "permission_mode": "yolo", "tool_name": "run_shell_command",
        "tool_input": { "command": "echo a" }, "tool_use_id": "t1",
    });
    let devin = json!({
        "agent_action_name": "pre_run_command", "trajectory_id": "d1", "execution_id": "e1",
        "timestamp": "2026-01-02T03:04:05Z", "model_name": "m",
        "tool_info": { "command_line": "echo a", "cwd": world.root },
    });
    for (agent, payload) in [("qwen", qwen), ("devin", devin)] {
        let mut watcher = Watcher::start(&world);
        let hook = HeldHook::of(&world, agent, &payload);
        let pause = watcher.until("held");
        let id = pause["id"].as_str().expect("an id");
        assert!(!pause["can"].to_string().contains("change"), "{pause:#}");
        let why = format!("{agent} cannot be made to change at this call ({id})");
        let own = inspected(&world)["input"].clone();
        let mut other = own.clone();
        let field = if agent == "qwen" {
            "command"
        } else {
            "command_line"
        };
        other[field] = json!("echo b");
        let set = typed(&world, &format!(":set .{field} \"echo b\""));
        assert_eq!(set["isError"], true, "{set:#}");
        assert!(
            set["output"].as_str().expect("text").contains(&why),
            "{set:#}"
        );
        world.write("../input.json", other.to_string());
        let refused = world
            .run(["resume", "--input", "../input.json", "--force"])
            .expect_code(1);
        assert!(refused.stderr.contains(&why), "{refused}");
        let refused = client.fails("backstitch/draft", json!({ "pause": id, "input": other }));
        assert!(refused["message"].to_string().contains(&why), "{refused:#}");
        for command in ["backstitch.resume", "backstitch.step"] {
            let arguments = json!([{ "pause": id, "input": other, "force": true }]);
            let asked = json!({ "command": command, "arguments": arguments });
            let refused = client.fails("workspace/executeCommand", asked);
            assert!(refused["message"].to_string().contains(&why), "{refused:#}");
        }
        assert_eq!(inspected(&world)["input"], own);
        world.ok(["skip"]);
        let output = hook.output();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(
            said.contains("The user skipped this call"),
            "{agent}: {said}"
        );
    }
    client.leave();
}

/// S2-016: the event has the iteration, and tool, input or error. Where a failed call is held, its error is seen, with its tool and
/// its input; nothing of it can be changed.
#[test]
fn the_error_of_a_failed_call_is_seen() {
    let world = World::committed(&[(FILE, TEXT)]);
    let mut client = panels(&world);
    client.open(FILE);
    let agent = began(&world);
    world.ok(["breakpoint", "add", "error"]);
    let input = json!({ "command": "make", "description": "build" });
    let call = agent.pre("Bash", input.clone());
    drop(call);
    let mut watcher = Watcher::start(&world);
    let error = "Exit code 3: boom happened\nmore";
    let payload = agent.payload(
        "PostToolUseFailure",
        json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": "c9", "error": error,
            "is_interrupt": false, "duration_ms": 3}),
    );
    let hook = HeldHook::start(&world, &payload, 600);
    let told = watcher.until("held");
    assert_eq!(told["error"], error, "{told:#}");
    client.until(|client| {
        let mut told = client.notified.iter();
        told.any(|(name, params)| {
            name == "backstitch/didPause" && params["pause"]["error"] == error
        })
    });
    let details = client.ok("backstitch/pause", json!({ "pause": "p1" }));
    assert_eq!(details["pause"]["error"], error, "{details:#}");
    assert_eq!(details["input"]["command"], "make");
    let seen = inspected(&world);
    assert_eq!(
        (&seen["error"], &seen["tool"]),
        (&json!(error), &json!("Bash"))
    );
    let shown = world.ok(["inspect"]).stdout;
    assert!(
        shown.contains("boom happened") && shown.contains("make"),
        "{shown}"
    );
    let row = world.ok(["pauses"]).stdout;
    assert!(row.contains("boom happened"), "{row}");
    for (input, output) in [
        (".call.error", json!(error)),
        (".error", json!(error)),
        (".call.output", json!(error)),
    ] {
        let entry = typed(&world, input);
        let text = entry["output"].as_str().expect("text");
        let value: Value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
        assert_eq!(value, output, "{input}: {entry:#}");
    }
    let set = typed(&world, ":set .command \"make less\"");
    assert!(
        set["output"]
            .as_str()
            .expect("text")
            .contains("cannot be made to change"),
        "{set:#}"
    );
    world.ok(["resume"]);
    assert_eq!(hook.answer(), Value::Null);
    client.leave();
}

/// S2-015: a hit emits an event with id, type and condition. It has the breakpoint's id, kind, parameters and conditions, also of
/// one that is gone with its first hit.
#[test]
fn a_hit_names_its_breakpoint() {
    let world = World::committed(&[(FILE, TEXT)]);
    let mut client = panels(&world);
    client.open(FILE);
    let agent = began(&world);
    world.ok([
        "breakpoint",
        "add",
        "path",
        "*.txt",
        "--when",
        ".tool == \"Edit\"",
        "--hits",
        ">= 1",
        "--once",
    ]);
    let mut watcher = Watcher::start(&world);
    let input = edit(&world, FILE, "one", "1");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    let told = watcher.until("held");
    let wanted = json!({
        "kind": "path", "summary": "*.txt", "when": ".tool == \"Edit\"", "hits": ">= 1",
    });
    assert_eq!(
        (&told["breakpoint"], &told["hit"]),
        (&json!("b1"), &wanted),
        "{told:#}"
    );
    client.until(|client| {
        let mut told = client.notified.iter();
        told.any(|(name, params)| name == "backstitch/didPause" && params["pause"]["hit"] == wanted)
    });
    assert_eq!(world.json(["pauses"])["pauses"][0]["hit"], wanted);
    let shown = world.ok(["inspect"]).stdout;
    assert!(
        shown.contains("breakpoint: path *.txt, when .tool == \"Edit\""),
        "{shown}"
    );
    world.ok(["skip"]);
    hook.answer();
    client.leave();
}

/// A call is shown with every file that it would write: in its row, in messages and as data.
#[test]
fn every_file_of_a_call_is_named() {
    let world = World::committed(&[
        ("app.js", "one\n"),
        ("n.ipynb", "{}\n"),
        ("b.txt", "b\n"),
        ("c.txt", "c\n"),
    ]);
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "apply_patch"]);
    let patch = |text: &str| json!({ "input": format!("*** Begin Patch\n{text}*** End Patch\n") });
    let first = "*** Update File: app.js\n@@\n-one\n+two\n*** Add File: mod/extra.js\n+a\n+b\n\
                 *** Delete File: n.ipynb\n";
    let mut watcher = Watcher::start(&world);
    let payload = before(&agent, "c1", "apply_patch", &patch(first));
    let hook = HeldHook::start(&world, &payload, 600);
    let told = watcher.until("held");
    let words = "apply_patch: M app.js, A mod/extra.js, D n.ipynb";
    assert_eq!(told["summary"], words, "{told:#}");
    let files: Vec<(&str, &str, i64, i64, bool)> = told["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| {
            let count = |name: &str| file[name].as_i64().expect("a number");
            (
                file["path"].as_str().expect("a path"),
                file["letter"].as_str().expect("a letter"),
                count("added"),
                count("removed"),
                file["binary"].as_bool().expect("known"),
            )
        })
        .collect();
    let wanted = [
        ("app.js", "M", 1, 1, false),
        ("mod/extra.js", "A", 2, 0, false),
        ("n.ipynb", "D", 0, 1, false),
    ];
    assert_eq!(files, wanted);
    let row = world.ok(["pauses"]).stdout;
    assert!(row.contains(words) && row.contains("+3 −2"), "{row}");
    let said = world.ok(["skip"]);
    assert!(
        said.stderr.contains(words) || said.stdout.contains(words),
        "{said}"
    );
    hook.answer();
    // also once it is over
    let over = world.json(["pauses", "--all"])["pauses"][0].clone();
    assert_eq!(
        (&over["summary"], &over["can"]),
        (&json!(words), &json!([])),
        "{over:#}"
    );

    let second = format!("{first}*** Delete File: b.txt\n*** Delete File: c.txt\n");
    let payload = before(&agent, "c2", "apply_patch", &patch(&second));
    let hook = HeldHook::start(&world, &payload, 600);
    let told = watcher.until("held");
    assert_eq!(
        told["summary"], "apply_patch: app.js +4 files (1 A, 1 M, 3 D)",
        "{told:#}"
    );
    world.ok(["skip"]);
    hook.answer();
}

/// The rows of two agents are told apart by session, turn and prompt.
#[test]
fn rows_of_two_agents_are_told_apart() {
    let world = World::committed(&[(FILE, TEXT)]);
    let mut agents = [world.agent(), world.agent()];
    for (agent, prompt) in agents.iter_mut().zip(["fix the cart", "write the docs"]) {
        agent.session_start();
        agent.prompt(prompt);
    }
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, FILE, "one", "1");
    let mut watcher = Watcher::start(&world);
    let hooks: Vec<HeldHook> = agents
        .iter()
        .map(|agent| {
            let hook = HeldHook::start(&world, &before(agent, "c1", "Edit", &input), 600);
            watcher.until("held");
            hook
        })
        .collect();
    let pauses = world.json(["pauses"])["pauses"].clone();
    assert_eq!(
        (&pauses[0]["letter"], &pauses[0]["turn"]),
        (&json!("A"), &json!("t1"))
    );
    assert_eq!(
        (&pauses[1]["letter"], &pauses[1]["turn"]),
        (&json!("B"), &json!("t2"))
    );
    let mut wide = world.backstitch();
    wide.arg("pauses").env("COLUMNS", "140");
    let rows = crate::support::finish(&mut wide, b"").stdout;
    for words in ["A t1 “fix the cart”", "B t2 “write the docs”"] {
        assert!(rows.contains(words), "{rows}");
    }
    let shown = world.ok(["inspect", "p2"]).stdout;
    assert!(shown.contains("claude-code B"), "{shown}");
    for (id, hook) in ["p1", "p2"].into_iter().zip(hooks) {
        world.ok(["skip", id]);
        hook.answer();
    }
}

/// A file with its place in the answer of each agent that takes a changed input.
struct Spoken {
    agent: &'static str,
    payload: &'static str,
    /// The field of its answer with the input. Empty: it takes none.
    answer: &'static str,
    /// A field of the input to change.
    field: &'static str,
}

const fn spoken(
    agent: &'static str,
    payload: &'static str,
    answer: &'static str,
    field: &'static str,
) -> Spoken {
    Spoken {
        agent,
        payload,
        answer,
        field,
    }
}

const SPOKEN: [Spoken; 16] = [
    spoken(
        "claude-code",
        "claude/PreToolUse-Edit",
        "updatedInput",
        "new_string",
    ),
    spoken(
        "claude-code",
        "claude/PreToolUse-Write",
        "updatedInput",
        "content",
    ),
    spoken(
        "claude-code",
        "claude/PreToolUse-Bash",
        "updatedInput",
        "command",
    ),
    spoken(
        "codex",
        "codex/PreToolUse-apply_patch",
        "updatedInput",
        "command",
    ),
    spoken("codex", "codex/PreToolUse-Bash", "updatedInput", "command"),
    spoken(
        "copilot",
        "copilot/PreToolUse-Edit",
        "modifiedArgs",
        "new_str",
    ),
    spoken(
        "copilot",
        "copilot/PreToolUse-Bash",
        "modifiedArgs",
        "command",
    ),
    spoken(
        "gemini",
        "gemini/BeforeTool-replace",
        "tool_input",
        "new_string",
    ),
    spoken(
        "gemini",
        "gemini/BeforeTool-run_shell_command",
        "tool_input",
        "command",
    ),
    spoken(
        "opencode",
        "opencode/tool.execute.before-edit",
        "input",
        "newString",
    ),
    spoken(
        "opencode",
        "opencode/tool.execute.before-bash",
        "input",
        "command",
    ),
    spoken(
        "cursor",
        "cursor/preToolUse-Shell",
        "updated_input",
        "command",
    ),
    spoken(
        "cursor",
        "cursor/preToolUse-Write",
        "updated_input",
        "content",
    ),
    spoken(
        "cline",
        "cline/tool_call-editor",
        "overrideInput",
        "new_text",
    ),
    spoken("qwen", "qwen/PreToolUse-edit", "", "new_string"),
    spoken("qwen", "qwen/PreToolUse-run_shell_command", "", "command"),
];

/// Texts that a person may type, with all that JSON escapes.
const TYPED: [&str; 6] = [
    "zwei",
    "two words, \"quoted\" and \\ back",
    "zeile eins\nzeile zwei\n",
    "ünïcödé 😀 \u{2028}",
    "",
    "</script> & <b>",
];

fn rename(value: &mut Value, name: &str) {
    const IDS: [&str; 12] = [
        "id",
        "tool_use_id",
        "tool_call_id",
        "turn_id",
        "execution_id",
        "session_id",
        "conversation_id",
        "taskId",
        "rootSessionId",
        "sessionID",
        "callID",
        "trajectory_id",
    ];
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                if value.is_string() && IDS.contains(&field.as_str()) {
                    *value = json!(name);
                } else {
                    rename(value, name);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, name)),
        _ => {}
    }
}

fn recorded(world: &World, spoken: &Spoken, number: usize) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/agents/payloads");
    let file = format!("{folder}/{}.json", spoken.payload);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let text = text.replace("/home/dev/project", world.root.to_str().expect("text"));
    let mut payload: Value = serde_json::from_str(&text).expect("JSON");
    // each call is another one, also of agents that give it no id: two with the same input are one call's two hooks
    rename(&mut payload, &format!("call-{number}"));
    payload
}

/// Returns all values of a field, wherever it stands.
fn found<'a>(value: &'a Value, field: &str, into: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == field {
                    into.push(value);
                } else {
                    found(value, field, into);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| found(value, field, into)),
        _ => {}
    }
}

/// The input of a held call as a random front end shows it, with the fingerprint.
fn looked(rng: &mut Rng, world: &World, client: &mut Client<'_>, id: &str) -> (Value, String) {
    let (input, fingerprint) = match rng.below(3) {
        0 => {
            let seen = world.json(["inspect", id])["pause"].clone();
            (seen["input"].clone(), seen["fingerprint"].clone())
        }
        1 => {
            let seen = client.ok("backstitch/pause", json!({ "pause": id }));
            (seen["input"].clone(), seen["fingerprint"].clone())
        }
        _ => {
            let entry = typed_at(world, id, ".call.input");
            let text = entry["output"].as_str().expect("text").to_owned();
            let row = world.json(["pauses"])["pauses"][0]["fingerprint"].clone();
            (serde_json::from_str(&text).expect("JSON"), row)
        }
    };
    (
        input,
        fingerprint.as_str().expect("a fingerprint").to_owned(),
    )
}

fn typed_at(world: &World, id: &str, input: &str) -> Value {
    let answer = world.run(["--json", "repl", id, "-e", input]);
    let answer: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    answer["entry"].clone()
}

/// Changes the input in a random front end. Returns true if it was taken.
fn changes(rng: &mut Rng, world: &World, client: &mut Client<'_>, id: &str, field: &str) -> bool {
    let text = *rng.pick(&TYPED);
    if rng.once_in(6) {
        let entry = typed_at(world, id, ":reset");
        return entry["isError"] == false;
    }
    if rng.once_in(2) {
        let set = format!(":set .{field} {}", json!(text));
        return typed_at(world, id, &set)["isError"] == false;
    }
    let now = client.ok("backstitch/pause", json!({ "pause": id }));
    let mut input = now["input"].clone();
    input[field] = json!(text);
    let asked = client.begin("backstitch/draft", json!({ "pause": id, "input": input }));
    client.response(asked).get("error").is_none()
}

/// Lets the call continue as it was shown, with a random decision in a random front end.
fn goes_on(
    rng: &mut Rng,
    world: &World,
    client: &mut Client<'_>,
    (id, fingerprint): (&str, &str),
    debugger: bool,
) {
    let how = *rng.pick(&["over", "into", "out", "file", "turn"]);
    match rng.below(if debugger { 5 } else { 4 }) {
        0 => drop(world.ok(["resume", id, "--force", "--fingerprint", fingerprint])),
        1 => drop(world.ok([
            "step",
            how,
            "--pause",
            id,
            "--force",
            "--fingerprint",
            fingerprint,
        ])),
        2 => drop(client.command(
            "backstitch.resume",
            json!({ "pause": id, "fingerprint": fingerprint, "force": true }),
        )),
        3 => drop(client.command(
            "backstitch.step",
            json!({ "pause": id, "how": how, "fingerprint": fingerprint, "force": true }),
        )),
        _ => {
            let mut command = world.backstitch();
            command.args(["debug", "--json"]);
            let mut debugger = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("a debugger");
            let mut keys = debugger.stdin.take().expect("a pipe");
            let mut lines = BufReader::new(debugger.stdout.take().expect("a pipe")).lines();
            lines.next().expect("a call").expect("a line");
            let key = *rng.pick(&["c!", "n!", "s!", "o!"]);
            writeln!(keys, "{key}").expect("typed");
            lines.next().expect("an outcome").expect("a line");
            drop(keys);
            debugger.wait().expect("ended");
        }
    }
}

/// One held call: random agent, tool, edits, clients and decision.
fn play(rng: &mut Rng, world: &World, client: &mut Client<'_>, number: usize) {
    let spoken = rng.pick(&SPOKEN);
    let payload = recorded(world, spoken, number);
    let mut watcher = Watcher::start(world);
    let hook = HeldHook::of(world, spoken.agent, &payload);
    let pause = watcher.until("held");
    let id = pause["id"].as_str().expect("an id").to_owned();
    let (own, _) = looked(rng, world, client, &id);
    for _ in 0..rng.below(4) {
        let taken = changes(rng, world, client, &id, spoken.field);
        assert_eq!(taken, !spoken.answer.is_empty(), "{}", spoken.payload);
    }
    let (shown, fingerprint) = looked(rng, world, client, &id);
    let is_denied = rng.once_in(5);
    let mut shown = shown;
    if is_denied {
        world.ok(["deny", &id, "-m", "not this one"]);
    } else if !spoken.answer.is_empty() && rng.once_in(4) {
        // an input that comes with the decision
        shown[spoken.field] = json!(*rng.pick(&TYPED));
        world.write("../input.json", shown.to_string());
        world.ok(["resume", &id, "--input", "../input.json", "--force"]);
    } else {
        goes_on(rng, world, client, (&id, &fingerprint), true);
    }
    let output = hook.output();
    let said =
        String::from_utf8_lossy(&[output.stdout.clone(), output.stderr].concat()).into_owned();
    let context = format!("{} {id}: {said}", spoken.payload);
    if is_denied {
        assert!(said.contains("not this one"), "{context}");
        return;
    }
    assert!(output.status.success(), "{context}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    let mut inputs = Vec::new();
    if !spoken.answer.is_empty() {
        found(&answer, spoken.answer, &mut inputs);
    }
    if shown == own {
        // it runs as its agent gave it
        assert!(inputs.is_empty(), "{context}");
        return;
    }
    assert!(!inputs.is_empty(), "{context}\n{shown}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // byte for byte, with the order of its fields
    assert!(text.contains(&shown.to_string()), "{context}\n{shown}");
    assert!(
        inputs.iter().all(|input| **input == shown),
        "{context}\n{shown}"
    );
}

/// for random agents, edits, decisions and front ends, the agent is answered what the last look at the call showed.
#[test]
fn what_is_shown_is_what_runs() {
    let cases = rng::cases("BACKSTITCH_SHOWN_CASES", 60, 500);
    let seed = Rng::seed("BACKSTITCH_SHOWN_SEED", 39);
    let mut rng = Rng::new(seed);
    let world = World::committed(&[
        ("src/main.rs", "fn main() {\n    println!(\"one\");\n}\n"),
        ("README.md", "# one\n"),
    ]);
    let mut client = panels(&world);
    client.open("src/main.rs");
    began(&world);
    world.ok(["breakpoint", "add", "pattern", "."]);
    for number in 0..usize::try_from(cases).expect("a number") {
        play(&mut rng, &world, &mut client, number);
    }
    client.leave();
}

/// Unsaved text in the window that takes steps back never makes it wait for itself: the text is merged as by a rewind.
#[test]
fn an_editor_takes_steps_back_under_its_own_unsaved_text() {
    let world = World::committed(&[(FILE, TEXT)]);
    let agent = began(&world);
    agent.edit(FILE, "one", "1");
    for own in [
        json!({ "reloadsFromDisk": true, "notifications": true, "panels": true }),
        Value::Null,
    ] {
        let editor = if own.is_null() {
            Editor::Helix
        } else {
            Editor::Vscode
        };
        let mut client = Client::with(&world, editor, &own);
        client.holds_answers = true;
        client.open(FILE);
        client.type_over(FILE, "three", "three, unsaved");
        client.idle();
        world.ok(["pause"]);
        let mut watcher = Watcher::start(&world);
        let call = if own.is_null() { "c2" } else { "c1" };
        let payload = before(&agent, call, "Edit", &edit(&world, FILE, "two", "2"));
        let hook = HeldHook::start(&world, &payload, 600);
        let pause = watcher.until("held");
        let began = std::time::Instant::now();
        client.command("backstitch.back", json!({ "pause": pause["id"] }));
        // it waited for nobody: another editor is given 10 s to answer
        assert!(began.elapsed() < std::time::Duration::from_secs(8));
        let answer = hook.answer();
        assert_eq!(decision(&answer), Some("deny"));
        assert!(
            reason(&answer).contains("reverted your last 1 step"),
            "{answer}"
        );
        client.until(|client| client.text(FILE) == "one\ntwo\nthree, unsaved\n");
        client.leave();
        world.ok(["undo", "-y"]);
        world.write(FILE, "1\ntwo\nthree\n");
    }
}
