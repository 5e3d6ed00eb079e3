//! The real Claude Code and Codex as clients. They hand their models the structured part of an answer alone: it has what the text has.

use std::fs;

use serde_json::{Value, json};

use crate::real_agents::{Session, agents, real};
use crate::support::World;

const MAIN: &str = "src/main.rs";

/// Plays calls of our tools, and returns the answers that the model was handed.
fn answers(session: &Session, part: Value) -> String {
    let report = session.play(Some(part), None);
    let log = report["logs"]["requests.jsonl"].as_str().expect("a log");
    let told = fs::read_to_string(log).expect("the model's log");
    told.lines().last().expect("a request").to_owned()
}

/// The model knows the turn, its file and the way back, and after a failed call the next step.
fn check(told: &str) {
    // words of a document are in a text within JSON: quotes do not matter
    let told = told.replace('\\', "");
    for part in [
        "\"kind\":\"turn\"",
        "\"turn\":\"t1\"",
        "\"path\":\"src/main.rs\"",
        "\"label\":\"a change of mine\"",
        "`show` with `rev` has one",
        "no checkpoint `nothing`. Next: `log` lists the checkpoints",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn claude_code_reads_the_history() {
    let Some(agents) = agents("mcp::claude_code_reads_the_history", "claude") else {
        return;
    };
    let world = World::committed(&[(MAIN, "one\n")]);
    world.ok(["setup", "claude-code", "--scope", "user"]);
    let server = json!({
        "type": "stdio",
        "command": crate::support::binary::path(),
        "args": ["mcp"],
        "env": {"XDG_STATE_HOME": world.home.parent().expect("a folder").join("state")},
    });
    let servers = json!({ "mcpServers": { "backstitch": server } });
    fs::write(world.home.join(".claude.json"), servers.to_string()).expect("written");
    let settings = world.home.join(".claude/settings.json");
    let text = fs::read_to_string(&settings).expect("settings");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    document["permissions"] = json!({"allow": ["mcp__backstitch"]});
    fs::write(&settings, document.to_string()).expect("written");
    let main = world.path(MAIN);
    let session = Session::of(world, agents, "claude");
    let part = json!([
        {"tool": "Read", "args": {"file_path": main}},
        {"tool": "Edit", "args": {"file_path": main, "old_string": "one", "new_string": "two"}},
        {"tool": "mcp__backstitch__checkpoint", "args": {"label": "a change of mine"}},
        {"tool": "mcp__backstitch__log", "args": {"limit": 5}},
        {"tool": "mcp__backstitch__show", "args": {"rev": "nothing"}},
        {"text": "done"},
    ]);
    check(&answers(&session, part));
}

#[test]
fn codex_reads_the_history() {
    let Some(session) = Session::new("mcp::codex_reads_the_history", real("codex")) else {
        return;
    };
    let world = &session.world;
    let config = world.home.join(".codex/config.toml");
    let before = fs::read_to_string(&config).unwrap_or_default();
    let server = format!(
        "{before}\n[mcp_servers.backstitch]\ncommand = {:?}\nargs = [\"mcp\"]\nenv = {{ XDG_STATE_HOME = {:?} }}\n",
        crate::support::binary::path(),
        world.home.parent().expect("a folder").join("state"),
    );
    fs::write(&config, server).expect("written");
    let patch = "*** Begin Patch\n*** Update File: src/main.rs\n@@\n-    println!(\"one\");\n+    println!(\"two\");\n*** End Patch\n";
    let ours = |tool: &str, args: Value| json!({"tool": tool, "namespace": "mcp__backstitch", "args": args});
    let part = json!([
        {"tool": "apply_patch", "freeform": patch},
        ours("checkpoint", json!({"label": "a change of mine"})),
        ours("log", json!({"limit": 5})),
        ours("show", json!({"rev": "nothing"})),
        {"text": "done"},
    ]);
    check(&answers(&session, part));
}
