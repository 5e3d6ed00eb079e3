//! Decisions are the user's, unless the user's own settings say otherwise.

use serde_json::json;

use super::{LibraryClient, recorded};

const NOW: &str = "one\nTWO\nthree\nmine\n";

/// Nothing is rewound without a decision, whatever the agent sends and however often.
#[test]
fn nothing_is_rewound_without_a_decision() {
    let world = recorded();
    // the project's own file may not allow it
    world.write(".backstitch.toml", "[agents]\nallowControl = true\n");
    let client = LibraryClient::start(&world);
    for arguments in [
        json!({ "wait": 0 }),
        json!({ "wait": 0, "exact": true }),
        json!({ "wait": 0, "rev": "t1", "on_conflict": "target" }),
    ] {
        let said = client.ok("propose_rewind", &arguments);
        assert_eq!(said.document["state"], "waiting", "{arguments}");
    }
    for refused in [json!({ "yes": true }), json!({ "force": true })] {
        let (kind, _) = client.fails("propose_rewind", &refused);
        assert_eq!(kind, "usage");
    }
    assert_eq!(world.read("a.txt"), NOW);
    // an agent does not accept its own proposal by a shell command
    let mut own = world.backstitch();
    own.args(["resume", "p1"]).env("CLAUDECODE", "1");
    let own = crate::support::finish(&mut own, b"").expect_code(1);
    assert!(own.stderr.contains("inside an agent"), "{own}");
    assert_eq!(world.read("a.txt"), NOW);
    client.end();
    assert_eq!(world.read("a.txt"), NOW);
}

/// A command below the client that started the server is refused, too, although it has no mark.
#[test]
fn a_command_inside_the_client_is_refused() {
    let world = recorded();
    let binary = crate::support::binary::path().display().to_string();
    let program = format!(
        r#"
import json, subprocess, sys
server = subprocess.Popen([{binary:?}, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(id, method, params):
    server.stdin.write(json.dumps(dict(jsonrpc="2.0", id=id, method=method, params=params)) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())
ask(1, "initialize", dict(protocolVersion="2025-11-25", capabilities={{}}, clientInfo=dict(name="c", version="1")))
said = ask(2, "tools/call", dict(name="propose_rewind", arguments=dict(wait=0)))
print(said["result"]["structuredContent"]["state"])
done = subprocess.run([{binary:?}, "resume", "p1"], capture_output=True, text=True)
print(done.returncode, done.stderr)
"#
    );
    let mut python = world.command("python3");
    let said = crate::support::finish(python.args(["-c", &program]), b"").expect_code(0);
    assert!(said.stdout.starts_with("waiting\n1 "), "{said}");
    assert!(said.stdout.contains("may not decide"), "{said}");
    assert_eq!(world.read("a.txt"), NOW);
}

/// With `agents.allowControl` in the user's own settings, the tool rewinds at once, and says so.
#[test]
fn the_user_may_let_agents_decide() {
    let world = recorded();
    world.configure("[agents]\nallowControl = true\n");
    let client = LibraryClient::start(&world);
    let said = client.ok("propose_rewind", &json!({}));
    assert_eq!(said.document["state"], "applied");
    assert_eq!(said.document["asked"], false);
    assert!(said.text.contains("agents.allowControl"), "{}", said.text);
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\nmine\n");
    assert_eq!(world.json(["pauses", "--all"])["pauses"], json!([]));
    client.end();
    world.ok(["undo"]);
    assert_eq!(world.read("a.txt"), NOW);
}
