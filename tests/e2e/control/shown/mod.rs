//! A held call runs as it was shown last: one input for every front end, from any change to the answer of the hook.

mod debugger;
mod random;
mod rows;

use serde_json::{Value, json};

use super::{HeldHook, Watcher, before, began, decision, edit, reason};
use crate::lsp::client::{Client, Editor};
use crate::support::World;
use crate::support::agent::Agent;

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
            reason(&answer).contains("reverted your last step"),
            "{answer}"
        );
        client.until(|client| client.text(FILE) == "one\ntwo\nthree, unsaved\n");
        client.leave();
        world.ok(["undo", "-y"]);
        world.write(FILE, "1\ntwo\nthree\n");
    }
}
