//! Random agents, edits, decisions and front ends: the agent gets what the last look at the call showed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use super::panels;
use crate::control::{HeldHook, Watcher, began};
use crate::lsp::client::Client;
use crate::support::World;
use crate::support::rng::{self, Rng};

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
