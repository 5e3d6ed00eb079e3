//! Conversations that go back with the files, with the real agents, offline against a scripted model.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

mod editor;
mod forks;
mod gemini_family;
mod summaries;

use crate::real_agents::agents;
use crate::real_claude::rig;
use crate::support::{World, binary, finish};

/// An agent that is spoken to.
struct Spoken {
    agent: &'static str,
    world: World,
    agents: PathBuf,
}

impl Spoken {
    /// A workspace with the hooks of an agent.
    fn new(test: &str, agent: &'static str) -> Option<Spoken> {
        let agents = agents(test, agent)?;
        let world = World::committed(&[("main.txt", "start\n")]);
        let name = if agent == "claude" {
            "claude-code"
        } else {
            agent
        };
        let mut setup = world.backstitch();
        setup.args(["setup", name, "--scope", "user"]);
        let path = std::env::var("PATH").expect("a path");
        let path = format!("{}:{path}", agents.join("bin").display());
        setup.env("PATH", path).env("FAKE_KEY", "dummy");
        if agent == "codex" {
            setup.arg("--trust");
        }
        finish(&mut setup, b"").expect_code(0);
        Some(Spoken {
            agent,
            world,
            agents,
        })
    }

    /// Says prompts, each a turn of one session. Before a turn the command runs, with its number in `TURN`. Where it writes an answer
    /// with a conversation to `rewound.json` in the home, the turn is said there.
    fn say(&self, between: &str) -> Value {
        let world = &self.world;
        let mut command = world.command("python3");
        command.arg(rig().join("run_agent.py")).arg(self.agent);
        command.arg("--dest").arg(&self.agents);
        command
            .arg("--script")
            .arg(rig().join("scripts/rewound.json"));
        command.arg("--workspace").arg(&world.root);
        command.arg("--home").arg(&world.home);
        command.arg("--session-from").arg(self.answer());
        command.args(["--between", between]);
        if self.agent == "codex" {
            command.arg("--trust");
        }
        for (name, value) in world.env() {
            if ["XDG_STATE_HOME", "XDG_CONFIG_HOME"].contains(&name) {
                command
                    .arg("--env")
                    .arg(format!("{name}={}", value.display()));
            }
        }
        let output = finish(&mut command, b"").expect_code(0);
        let report = output.json();
        assert_eq!(report["exit"], 0, "{output}");
        report
    }

    fn answer(&self) -> PathBuf {
        self.world.home.join("rewound.json")
    }

    /// A command of sh for `say`: rewinds before the fifth turn.
    fn rewinding(&self, arguments: &str) -> String {
        self.before_the_last(&format!("rewind {arguments} --yes"))
    }

    /// A command of sh for `say`: runs a command before the fifth turn, which is said where its conversation continues.
    fn before_the_last(&self, command: &str) -> String {
        format!("[ $TURN = 5 ] || exit 0; {}", self.answering(command))
    }

    /// A command of sh that leaves its answer for the next turn.
    fn answering(&self, command: &str) -> String {
        let path = format!("PATH={}:$PATH", self.agents.join("bin").display());
        let (program, answer) = (binary::path(), self.answer());
        format!(
            "{path} '{}' {command} --json > '{}'",
            program.display(),
            answer.display()
        )
    }

    /// Requests to the model whose last prompt has these words, the first one of each prompt.
    fn request(&self, prompt: &str) -> Value {
        let log = self.world.home.join("rig/requests.jsonl");
        let text = fs::read_to_string(log).expect("requests");
        let all = text.lines().map(|line| {
            let value: Value = serde_json::from_str(line).expect("JSON");
            value["body"].clone()
        });
        let mut of_agent = all.filter(|body| body["tools"].is_array());
        let has_prompt = |body: &Value| {
            let messages = body["messages"].as_array().or(body["input"].as_array());
            let messages = messages.or(body["contents"].as_array());
            let last = messages.and_then(|all| all.iter().rfind(|one| one["role"] == "user"));
            last.is_some_and(|last| last.to_string().contains(prompt))
        };
        of_agent.find(|body| has_prompt(body)).expect(prompt)
    }
}

/// A request without what differs between two sessions: ids and times.
fn plain(request: &Value) -> Value {
    fn without(value: &mut Value) {
        match value {
            Value::Object(all) => {
                for key in [
                    "id",
                    "tool_use_id",
                    "call_id",
                    "metadata",
                    "prompt_cache_key",
                    "client_metadata",
                ] {
                    all.remove(key);
                }
                all.values_mut().for_each(without);
            }
            Value::Array(all) => all.iter_mut().for_each(without),
            _ => {}
        }
    }
    let mut request = request.clone();
    without(&mut request);
    request
}

/// Files below a folder whose names end so.
fn files_below(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path, end));
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    found
}

/// The record of a session, and its bytes.
fn record(spoken: &Spoken, session: &str) -> (PathBuf, Vec<u8>) {
    let folder = match spoken.agent {
        "claude" => ".claude/projects",
        _ => ".codex/sessions",
    };
    let found = files_below(&spoken.world.home.join(folder), &format!("{session}.jsonl"));
    let path = found.into_iter().next().expect("a record");
    let bytes = fs::read(&path).expect("bytes");
    (path, bytes)
}

/// Code and conversation go back together (S3-038, S3-039, S3-042). The model's next request equals that of the old session at that
/// turn. The files are those of before it, with the user's own edit. The old record is byte for byte as it was.
fn both_go_back(agent: &'static str) {
    let test = "both_go_back";
    let Some(spoken) = Spoken::new(test, agent) else {
        return;
    };
    let world = &spoken.world;
    let copy = world.home.join("record-before");
    let keep = format!(
        "[ $TURN = 5 ] || exit 0; echo mine > by-hand; f=$(find \"$HOME/.claude/projects\" \"$HOME/.codex/sessions\" -name '*.jsonl' 2>/dev/null | head -1); \
         cp \"$f\" '{}'; {}",
        copy.display(),
        spoken.rewinding("t3 --scope both")
    );
    let report = spoken.say(&keep);
    let turns = report["turns"].as_array().expect("turns");
    let old = turns[3]["session"].as_str().expect("a session");
    let new = turns[4]["session"].as_str().expect("a session");
    assert_ne!(old, new, "{report:#}");
    let (then, now) = (
        spoken.request("prompt charlie"),
        spoken.request("prompt again"),
    );
    let then = plain(&then)
        .to_string()
        .replace("prompt charlie", "prompt again");
    let now = plain(&now).to_string();
    assert_eq!(then, now);
    assert_eq!(record(&spoken, old).1, fs::read(&copy).expect("a copy"));
    assert_eq!(world.read("by-hand"), "mine\n");
    // the model's script goes by the prompts that it is shown, so the third turn ran once more
    assert_eq!(world.read("main.txt"), "start\n1\n2\n3\n");
    assert!(world.root.join("t3.txt").exists() && !world.root.join("t4.txt").exists());
    let log = world.json(["log"]);
    assert!(log.to_string().contains("prompt again"));
    let made = world.json(["conversation", "list"]);
    let made = &made["conversations"][0];
    assert_eq!(
        (&made["turn"], &made["used"]),
        (&json!("t3"), &json!(true)),
        "{made:#}"
    );
    assert!(made["operation"].is_string(), "{made:#}");
}

/// Says the prompts without a rewind, and returns the session.
fn said(test: &str, agent: &'static str) -> Option<(Spoken, String)> {
    let spoken = Spoken::new(test, agent)?;
    let report = spoken.say("true");
    let session = report["turns"][4]["session"].as_str().expect("a session");
    let session = session.to_owned();
    Some((spoken, session))
}

impl Spoken {
    /// Runs a command with the agent's program on PATH. `fault`: the point at which it is killed.
    fn run(&self, arguments: &[&str], fault: Option<u32>) -> crate::support::Output {
        let path = std::env::var("PATH").expect("a path");
        let path = format!("{}:{path}", self.agents.join("bin").display());
        let mut command = self.world.backstitch();
        command.args(arguments).env("PATH", path);
        if let Some(fault) = fault {
            command.env("BACKSTITCH_FAULT", fault.to_string());
        }
        finish(&mut command, b"")
    }

    /// Paths of all records of the agent.
    fn records(&self) -> Vec<PathBuf> {
        let folders = [".claude/projects", ".codex/sessions"];
        let all = folders.iter().map(|folder| self.world.home.join(folder));
        all.flat_map(|folder| files_below(&folder, "")).collect()
    }
}

/// The prompt comes back for editing (S3-041), at the first turn, at the last one, and twice at the same one. A step is refused.
#[test]
fn s3_041_places_of_a_conversation() {
    let Some((spoken, session)) = said("s3_041_places_of_a_conversation", "claude") else {
        return;
    };
    let world = &spoken.world;
    let (_, bytes) = record(&spoken, &session);
    let before = spoken.records().len();
    let json = |arguments: &[&str]| spoken.run(arguments, None).expect_code(0).json();
    // a dry run makes nothing, and its fingerprint is taken
    let shown = json(&[
        "rewind",
        "t5",
        "--scope",
        "conversation",
        "--dry-run",
        "--json",
    ]);
    assert_eq!(spoken.records().len(), before);
    assert_eq!(
        (
            &shown["conversation"]["kept"],
            &shown["conversation"]["dropped"]
        ),
        (&json!(4), &json!(1)),
        "{shown:#}"
    );
    let plan = shown["fingerprint"].as_str().expect("a fingerprint");
    let alone = [
        "rewind",
        "t5",
        "--scope",
        "conversation",
        "--yes",
        "--json",
        "--plan",
    ];
    let with = |plan: &'static str| [&alone[..], &[plan]].concat();
    spoken.run(&with("0000"), None).expect_code(1);
    let made = json(&[&alone[..], &[plan]].concat());
    let conversation = &made["conversation"];
    let new = conversation["new"].as_str().expect("a session");
    let argv = conversation["argv"].as_array().expect("words");
    assert_eq!(argv[1..3], [json!("--resume"), json!(new)]);
    assert_eq!(conversation["prompt"], "prompt again");
    assert_eq!(conversation["prefilled"], true);
    let last = argv.last().and_then(Value::as_str);
    assert!(
        last.is_some_and(|word| word.ends_with("prompt again")),
        "{argv:?}"
    );
    let text = String::from_utf8(record(&spoken, new).1).expect("text");
    assert!(
        text.contains("before “prompt again” · Backstitch"),
        "{text}"
    );
    assert_eq!(spoken.records().len(), before + 1);
    // the same turn twice is one session (U-18)
    let twice = json(&["rewind", "t5", "--scope", "conversation", "--yes", "--json"]);
    assert_eq!(twice["conversation"]["new"], new);
    assert_eq!(spoken.records().len(), before + 1);
    // nothing comes before the first turn: the agent's plain command
    let first = json(&["rewind", "t1", "--scope", "conversation", "--yes", "--json"]);
    assert_eq!(first["conversation"]["new"], Value::Null);
    assert!(
        !first["conversation"]["argv"]
            .to_string()
            .contains("--resume")
    );
    assert_eq!(spoken.records().len(), before + 1);
    // a step names its turn
    let log = world.json(["log", "--kind", "step"]);
    let step = log["checkpoints"][0]["id"].as_str().expect("a step");
    let output = spoken.run(&["rewind", step, "--scope", "both", "--yes"], None);
    let said = output.expect_code(2).stderr;
    assert!(said.contains("t5"), "{said}");
    assert_eq!(record(&spoken, &session).1, bytes);
    // text for people, with the line to run
    let shown = spoken.run(&["conversation"], None).expect_code(0).stdout;
    assert!(shown.contains("continue with:  claude"), "{shown}");
    let listed = spoken
        .run(&["conversation", "list"], None)
        .expect_code(0)
        .stdout;
    assert!(
        listed.contains("before t5") && listed.contains("not opened yet"),
        "{listed}"
    );
    // no permission mode is on the line, whatever the session had
    assert!(!shown.contains("permission"), "{shown}");
}

fn made_so_far(world: &World) -> usize {
    let listed = world.json(["conversation", "list"]);
    listed["conversations"].as_array().expect("a list").len()
}

/// Both means both (S3-042): killed at each moment, both halves have gone back, or neither has. No spare session stays.
#[test]
fn s3_042_both_or_neither_when_killed() {
    let Some((spoken, session)) = said("s3_042_both_or_neither_when_killed", "claude") else {
        return;
    };
    let world = &spoken.world;
    let rewind = ["rewind", "t3", "--scope", "both", "--yes", "--json"];
    let before = spoken.records().len();
    let mut ends = [0, 0];
    for fault in 1.. {
        let known = made_so_far(world);
        let output = spoken.run(&rewind, Some(fault));
        let is_done = output.code == 0;
        // the next command finishes the work, or removes its remains
        spoken.run(&["rewind", "t5", "--scope", "both", "--dry-run"], None);
        let made = made_so_far(world) - known;
        let files = !world.root.join("t3.txt").exists();
        assert_eq!(made, usize::from(files), "fault {fault}: {output}");
        assert_eq!(spoken.records().len(), before + made, "fault {fault}");
        ends[made] += 1;
        if is_done {
            break;
        }
        if files {
            // the old conversation is where it was
            let undone = world.ok(["undo", "--yes"]).stdout;
            let line = format!("claude --resume {session}\n");
            assert!(undone.ends_with(&line), "{undone}");
            // so that the next one is not this one again
            let listed = world.json(["conversation", "list"]);
            let new = listed["conversations"][0]["new"].as_str();
            let (path, _) = record(&spoken, new.expect("a session"));
            fs::remove_file(path).expect("removed");
        }
    }
    assert!(ends[0] > 2 && ends[1] > 2, "{ends:?}");
}

/// S3-038: the conversation is cut just before the turn's message. S3-039: the shortened history is saved.
#[test]
fn s3_038_s3_039_both_go_back_in_claude_code() {
    both_go_back("claude");
}

/// S3-038: the conversation is cut just before the turn's message. S3-039: the shortened history is saved.
#[test]
fn s3_038_s3_039_both_go_back_in_codex() {
    both_go_back("codex");
}
