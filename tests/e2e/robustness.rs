//! Invalid input to the hook, and unusual trees and stores: the agent is never blocked or broken, and no gap is
//! silent.

mod bit_flips;
pub mod broken_stores;
mod busy_store;
mod damaged_content;
mod damaged_lists;
mod special_paths;

pub use broken_stores::Small;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::str;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::agent::Agent;
use crate::support::limits::at_most;
use crate::support::{Output, World, finish};

/// Longest time that an agent may wait, whatever it sends (an optimised build is far below).
const LIMIT: Duration = Duration::from_secs(6);

/// Runs the hook and asserts that it does not disturb the agent, and prints this many lines on stderr.
#[track_caller]
fn harmless(command: &mut Command, input: &[u8], lines: usize) -> Output {
    let began = Instant::now();
    // a hook that hangs is killed, and fails the test
    let mut limited = Command::new("timeout");
    limited
        .args(["-s", "KILL", "120"])
        .arg(command.get_program())
        .args(command.get_args());
    limited
        .env_clear()
        .envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))));
    limited.current_dir(command.get_current_dir().expect("a directory"));
    let output = finish(&mut limited, input);
    let start = String::from_utf8_lossy(&input[..input.len().min(300)]).into_owned();
    assert!(
        began.elapsed() < at_most(LIMIT),
        "{:?} for {start}\n{output}",
        began.elapsed()
    );
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (0, ""),
        "{start}\n{output}"
    );
    assert_eq!(output.stderr.lines().count(), lines, "{start}\n{output}");
    output
}

#[track_caller]
fn fed(world: &World, payload: &Value, lines: usize) -> Output {
    harmless(
        &mut world.hook_command(),
        payload.to_string().as_bytes(),
        lines,
    )
}

fn begun() -> World {
    let world = World::committed(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    world.agent().prompt("begin");
    world
}

fn gaps(world: &World) -> Vec<String> {
    let status = world.json(["status"]);
    let gaps = status["gaps"].as_array().expect("a list").iter();
    gaps.map(|g| g.as_str().expect("text").to_owned()).collect()
}

fn checkpoints(world: &World) -> Vec<Value> {
    let log = world.json(["log", "--all"]);
    log["checkpoints"].as_array().expect("a list").clone()
}

/// An invalid event prints one line, and the gap is recorded.
#[test]
fn invalid_events_print_one_line_and_record_a_gap() {
    let world = begun();
    let real = world
        .agent()
        .payload(
            "PreToolUse",
            json!({"tool_name": "Bash", "tool_use_id": "x"}),
        )
        .to_string();
    let deep = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    let noise: Vec<u8> = (0..5000_u32)
        .map(|n| u8::try_from(n * 7919 % 251).expect("a byte"))
        .collect();
    let payloads: [&[u8]; 14] = [
        b"",
        b" \n\n",
        b"{",
        b"nonsense",
        b"null",
        b"[]",
        b"\"text\"",
        b"17",
        b"{}",
        b"{\"session_id\":\"s\"}",
        b"{\"hook_event_name\":\"Stop\"}",
        &real.as_bytes()[..real.len() - 9],
        &deep,
        &noise,
    ];
    for (n, payload) in payloads.iter().enumerate() {
        harmless(&mut world.hook_command(), payload, 1);
        assert_eq!(
            gaps(&world).len(),
            n + 1,
            "{:?}",
            str::from_utf8(&payload[..payload.len().min(99)])
        );
    }
    world.agent().prompt("next");
    assert_eq!(gaps(&world).len(), 0, "taken in by a checkpoint");
    let failed: i64 = checkpoints(&world)
        .iter()
        .filter_map(|c| c["coverage"]["failed"].as_i64())
        .sum();
    assert!(failed >= 1, "coverage says so");
    world.ok(["verify"]);
}

/// The very first event may be the invalid one; its gap is kept until the history begins.
#[test]
fn a_gap_before_the_first_checkpoint_is_kept() {
    let world = World::committed(&[("a.txt", "one\n")]);
    harmless(&mut world.hook_command(), b"nonsense", 1);
    world.agent().prompt("begin");
    let failed: i64 = checkpoints(&world)
        .iter()
        .filter_map(|c| c["coverage"]["failed"].as_i64())
        .sum();
    assert_eq!(failed, 1);
}

/// A field of the wrong type counts as absent, and unknown fields are ignored.
#[test]
fn wrong_types_count_as_absent_and_unknown_fields_are_ignored() {
    let world = begun();
    let agent = world.agent();
    let input = json!({"file_path": world.path("a.txt"), "content": "x", "command": "true"});
    let call =
        json!({"tool_name": "Write", "tool_input": input, "tool_use_id": "c", "tool_response": {}});
    let events = [
        agent.payload("PostToolUse", call.clone()),
        agent.payload("PreToolUse", call),
        agent.payload("UserPromptSubmit", json!({"prompt": "p"})),
        agent.payload("Stop", json!({"background_tasks": [], "agent_id": "a"})),
        agent.payload("SessionStart", json!({"source": "startup"})),
    ];
    let values = [
        "null",
        "true",
        "-7",
        "1e999",
        "\"\"",
        "[]",
        "{}",
        "[[{}]]",
        "{\"file_path\":9,\"content\":{}}",
    ];
    for event in &events {
        for field in event.as_object().expect("an object").keys() {
            for value in values {
                let old = format!("{}:{}", json!(field), event[field]);
                let text = event
                    .to_string()
                    .replace(&old, &format!("{}:{value}", json!(field)));
                let needed = field == "session_id" || field == "hook_event_name";
                harmless(
                    &mut world.hook_command(),
                    text.as_bytes(),
                    usize::from(needed),
                );
            }
        }
        let mut odd = event.clone();
        odd["from_the_future"] = json!({"deep": [1, {"er": null}]});
        fed(&world, &odd, 0);
        odd["hook_event_name"] = json!("FromTheFuture");
        fed(&world, &odd, 0);
    }
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(["verify"]);
}

/// S4-023: an unknown tool may write anything; a scan finds its changes.
#[test]
fn an_unknown_tool_is_captured_by_a_scan() {
    let world = begun();
    let agent = world.agent();
    let call = agent.pre("mcp__odd__rewrite", json!({"what": [1, 2]}));
    world.write("a.txt", "rewritten\n");
    agent.post(&call, &json!("done"));
    let newest = &checkpoints(&world)[0];
    assert_eq!(
        (&newest["tool"], &newest["changes"][0]["path"]),
        (&json!("mcp__odd__rewrite"), &json!("a.txt"))
    );
}

/// The hook survives a payload of 50 MB, whole and truncated, and bytes that are not UTF-8.
#[test]
fn payloads_of_fifty_megabytes_and_invalid_utf8_are_survived() {
    let world = begun();
    let agent = world.agent();
    let much =
        "many words, all of them different? no \\n".repeat(50 << 20 >> 5)[..50 << 20].to_owned();
    let input = json!({"file_path": world.path("big.txt"), "content": much});
    let payload = agent.payload(
        "PreToolUse",
        json!({"tool_name": "Write", "tool_input": input, "tool_use_id": "big"}),
    );
    fed(&world, &payload, 0);
    let text = payload.to_string();
    harmless(
        &mut world.hook_command(),
        &text.as_bytes()[..text.len() - 100],
        1,
    );
    let payload = agent
        .payload("UserPromptSubmit", json!({"prompt": "§odd§"}))
        .to_string();
    let bytes = payload.replace('§', "\u{1}").into_bytes();
    let bytes: Vec<u8> = bytes
        .into_iter()
        .map(|b| if b == 1 { 0xff } else { b })
        .collect();
    harmless(&mut world.hook_command(), &bytes, 0);
    world.ok(["verify"]);
}

/// The working directory may be missing, too wide for a workspace, or outside the project.
#[test]
fn unsuitable_working_directories_are_handled() {
    let world = begun();
    let at = |agent: &Agent<'_>, cwd: &Path| {
        let mut payload = agent.payload("UserPromptSubmit", json!({"prompt": "p"}));
        payload["cwd"] = json!(cwd);
        payload
    };
    // the project's directory is used instead of a missing one
    fed(&world, &at(&world.agent(), Path::new("/gone/for/good")), 0);
    fed(&world, &at(&world.agent(), &world.path("a.txt")), 0);
    for wide in [Path::new("/"), &world.home] {
        let before = gaps(&world).len();
        let output = fed(&world, &at(&world.agent(), wide), 1);
        assert!(output.stderr.contains("too wide"), "{output}");
        assert_eq!(gaps(&world).len(), before + 1);
    }
    // a session that has begun stays bound to its workspace
    let bound = world.agent();
    fed(&world, &at(&bound, &world.root), 0);
    fed(&world, &at(&bound, Path::new("/")), 0);
    fs::create_dir(world.home.join("gone")).expect("a directory");
    let script = format!(
        "cd {0}/gone && rmdir {0}/gone && exec \"$@\"",
        world.home.to_str().expect("UTF-8")
    );
    let hook = world.hook_command();
    let mut command = world.command("sh");
    command
        .args(["-c", &script, "sh"])
        .arg(hook.get_program())
        .args(["hook", "claude-code"]);
    command.env("CLAUDE_PROJECT_DIR", "/gone/too");
    harmless(
        &mut command,
        at(&world.agent(), Path::new("/gone"))
            .to_string()
            .as_bytes(),
        1,
    );
}
