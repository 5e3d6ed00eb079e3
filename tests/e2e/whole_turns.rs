//! Turns are whole: what an interrupted command has done, what the user's own formatter makes of an edit, overlapping edits, and
//! work in another directory belong to the turn, and a rewind undoes them. The user's edits stay.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::scenarios::{SEVEN_LINES, two_files};
use crate::support::{World, finish};

/// Appends a line to a transcript, as Claude Code notes an interrupt now.
fn note_interrupt(world: &World, transcript: &Path) {
    let text = json!({"type": "text", "text": "[Request interrupted by user for tool use]"});
    note(world, transcript, &text);
}

/// The same before it, for the call that runs, or that the user was asked for.
fn note_refusal(world: &World, transcript: &Path, call: &str) {
    let result = json!({
        "type": "tool_result", "is_error": true, "tool_use_id": call,
        "content": "The user doesn't want to proceed with this tool use. The tool use was rejected",
    });
    note(world, transcript, &result);
    note_interrupt(world, transcript);
}

fn note(world: &World, transcript: &Path, part: &Value) {
    let time = world.sh("date -u +%Y-%m-%dT%H:%M:%S.%3NZ").stdout;
    let row = json!({
        "type": "user", "timestamp": time.trim(), "message": {"role": "user", "content": [part]},
    });
    let before = fs::read_to_string(transcript).unwrap_or_default();
    fs::write(transcript, format!("{before}{row}\n")).expect("a transcript");
}

/// A command that is interrupted while it runs. The rewind at once, or after a next prompt, undoes what it did.
#[test]
fn a_rewind_undoes_an_interrupted_command() {
    for next in ["", "UserPromptSubmit", "Stop", "SessionEnd", "SessionStart"] {
        let world = two_files(SEVEN_LINES);
        let before = world.tree();
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        let call = agent.pre_bash("sed -i s/one/BROKEN/ a.txt; rm b.txt; echo x > x.txt");
        agent.execute(&call);
        match next {
            "" => {}
            "UserPromptSubmit" => drop(agent.prompt("go on")),
            "Stop" => drop(agent.stop()),
            "SessionEnd" => drop(agent.session_end()),
            _ => drop(agent.session_resume()),
        }
        let rewound = world.ok(["rewind", "t1", "--yes"]);
        assert!(
            !rewound.stdout.contains("Nothing to do"),
            "{next}: {rewound}"
        );
        assert!(world.tree() == before, "{next}: {rewound}");
    }
}

/// An interrupt that the agent notes in its transcript: the agent is paused, though no event came. The next scan closes the call,
/// so that the edits of the user after it stay.
#[test]
fn a_noted_interrupt_ends_the_call() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    let call = agent.pre_bash("echo x > x.txt");
    agent.execute(&call);
    assert_eq!(world.json(["status"])["open_calls"], 1);
    note_interrupt(&world, &agent.transcript());
    let status = world.ok(["status"]).stdout;
    assert!(!status.contains("working"), "{status}");
    assert_eq!(world.json(["status"])["open_calls"], 0);
    world.ok(["diff"]);
    world.write("mine.txt", "mine\n");
    world.ok(["rewind", "--yes"]);
    assert!(!world.exists("x.txt"));
    assert_eq!(world.read("mine.txt"), "mine\n");
}

/// Claude Code notes a call that its user refused as one that they interrupted. A call that nobody was asked for ran; while the user
/// was asked, their own edits are no certain work of the agent, and stay.
#[test]
fn a_refused_call_takes_no_edit_of_the_user() {
    for is_asked in [false, true] {
        let world = two_files(SEVEN_LINES);
        let before = world.tree();
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        let call = agent.pre_bash("echo x > x.txt");
        if is_asked {
            let asked = json!({"tool_name": "Bash", "tool_input": call.input});
            agent.event("PermissionRequest", asked);
            world.write("x.txt", "mine\n");
        } else {
            agent.execute(&call);
        }
        note_refusal(&world, &agent.transcript(), &call.id);
        let rewound = world.run(["rewind", "t1", "--yes"]);
        assert_eq!(world.json(["status"])["open_calls"], 0, "{rewound}");
        if is_asked {
            assert!(rewound.stderr.contains("uncertain"), "{rewound}");
            assert_eq!(world.read("x.txt"), "mine\n", "{rewound}");
        } else {
            assert_eq!(rewound.code, 0, "{rewound}");
            assert!(world.tree() == before, "{rewound}");
        }
    }
}

/// A formatter in the agent's own hooks, before or after ours, or at the end of the turn: the change is the call's.
#[test]
fn a_formatter_belongs_to_the_call() {
    const BEFORE: &str = "const a=1\n\nfunction f(){return 1}\n";
    const FORMATTED: &str = "const a = 2;\nconst b = 3;\n\nfunction f() {\n  return 1;\n}\n";
    for place in ["before", "after", "stop", "prompt"] {
        let world = World::committed(&[("a.js", BEFORE), ("b.js", "let b\n")]);
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        let call = agent.pre_edit("a.js", "const a=1", "const a=2;const b=3");
        let response = agent.apply(&call);
        if place == "before" {
            world.write("a.js", FORMATTED);
        }
        agent.post(&call, &response);
        match place {
            "before" => {}
            "after" => {
                world.write("a.js", FORMATTED);
                agent.edit("b.js", "let b", "let c");
            }
            "stop" => {
                agent.stop();
                world.write("a.js", FORMATTED);
            }
            _ => {
                agent.stop();
                world.write("a.js", FORMATTED);
                agent.prompt("go on");
            }
        }
        let log = world.ok(["log"]).stdout;
        world.ok(["rewind", "t1", "--yes"]);
        assert_eq!(world.read("a.js"), BEFORE, "{place}: {log}");
    }
}

/// Words that the user adds after an agent's edit are the user's, and a formatter keeps the words.
#[test]
fn a_users_words_after_an_edit_are_the_users() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "one", "1");
    world.write("a.txt", world.read("a.txt") + "mine\n");
    agent.edit("b.txt", "other", "OTHER");
    agent.stop();
    world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(world.read("a.txt"), format!("{SEVEN_LINES}mine\n"));
}

/// Where the settings have a hook at the end of a call, it may write anything into the file of the call.
#[test]
fn a_hook_of_the_user_may_change_words() {
    for place in ["before", "after"] {
        let world = two_files(SEVEN_LINES);
        let hook = json!({"hooks": {"PostToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "eslint --fix"}]}]}});
        let settings = world.home.join(".claude/settings.json");
        fs::create_dir_all(settings.parent().expect("a parent")).expect("a directory");
        fs::write(&settings, hook.to_string()).expect("settings");
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        let call = agent.pre_edit("a.txt", "one", "1");
        let response = agent.apply(&call);
        let fix =
            |world: &World| world.write("a.txt", world.read("a.txt").replace("seven", "fixed"));
        if place == "before" {
            fix(&world);
        }
        agent.post(&call, &response);
        if place == "after" {
            fix(&world);
        }
        agent.edit("b.txt", "other", "OTHER");
        let log = world.ok(["log"]).stdout;
        world.ok(["rewind", "t1", "--yes"]);
        assert_eq!(world.read("a.txt"), SEVEN_LINES, "{place}: {log}");
    }
}

/// Another file that changes beside a call may be the work of such a hook, or the user's: it is uncertain, so that a rewind asks.
/// Long after the call, and without such a hook, it is the user's.
#[test]
fn a_hook_of_the_user_may_write_another_file() {
    for (place, has_hook) in [("before", true), ("after", true), ("after", false)] {
        let world = two_files(SEVEN_LINES);
        if has_hook {
            let hook = json!({"hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "./gen.sh"}]}]}});
            let settings = world.home.join(".claude/settings.json");
            fs::create_dir_all(settings.parent().expect("a parent")).expect("a directory");
            fs::write(&settings, hook.to_string()).expect("settings");
        }
        world.write("gen.txt", "old\n");
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        let call = agent.pre_edit("a.txt", "one", "1");
        let response = agent.apply(&call);
        if place == "before" {
            world.write("gen.txt", "new\n");
        }
        agent.post(&call, &response);
        if place == "after" {
            world.write("gen.txt", "new\n");
        }
        agent.bash("true");
        agent.stop();
        let log = world.ok(["log"]).stdout;
        let kept = world.run(["rewind", "t1", "--yes"]);
        assert_eq!(world.read("gen.txt"), "new\n", "{place}: {log}");
        let expected = (has_hook, usize::from(has_hook));
        assert_eq!(
            (
                kept.to_string().contains("gen.txt"),
                usize::from(log.contains('?'))
            ),
            expected,
            "{place}: {log}{kept}"
        );
        if has_hook {
            world.ok(["rewind", "t1", "--yes", "--uncertain", "take"]);
            assert_eq!(world.read("gen.txt"), "old\n", "{place}: {log}");
        }
    }
}

/// Two edit calls of one session on one file overlap, also of two subagents: both are the session's, and a rewind undoes both.
#[test]
fn overlapping_edits_of_one_session_are_its_own() {
    let orders = [
        "p0 p1 w0 w1 o0 o1",
        "p0 p1 w0 w1 o1 o0",
        "p0 w0 p1 w1 o0 o1",
    ];
    for (order, of_subagents) in orders
        .iter()
        .flat_map(|order| [(order, false), (order, true)])
    {
        let world = two_files(SEVEN_LINES);
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        let threads = if of_subagents {
            [agent.subagent(), agent.subagent()]
        } else {
            [agent.clone(), agent.clone()]
        };
        let texts = [("one", "1"), ("seven", "7")];
        let mut calls = [None, None];
        let mut responses = [Value::Null, Value::Null];
        for event in order.split(' ') {
            let at = usize::from(event.ends_with('1'));
            let (old, new) = texts[at];
            match &event[..1] {
                "p" => calls[at] = Some(threads[at].pre_edit("a.txt", old, new)),
                "w" => responses[at] = threads[at].apply(calls[at].as_ref().expect("a call")),
                _ => {
                    threads[at].post(calls[at].as_ref().expect("a call"), &responses[at]);
                }
            }
        }
        agent.stop();
        let log = world.ok(["log"]).stdout;
        world.ok(["rewind", "t1", "--yes"]);
        assert_eq!(
            world.read("a.txt"),
            SEVEN_LINES,
            "{order} {of_subagents}: {log}"
        );
    }
}

/// Uncertain changes that a rewind leaves are reported, and it does not end as if all was done.
#[test]
fn a_rewind_that_leaves_uncertain_changes_says_so() {
    let world = two_files(SEVEN_LINES);
    let (mut one, mut two) = (world.agent(), world.agent());
    one.session_start();
    two.session_start();
    one.prompt("first");
    two.prompt("second");
    let (x, y) = (one.pre_bash("echo x > x.txt"), two.pre_bash("true"));
    let output = one.execute(&x);
    one.post_bash(&x, &output);
    two.post_bash(&y, &output);
    let left = world.run(["rewind", "t1", "--yes"]).expect_code(1);
    assert!(!left.stdout.contains("already have that state"), "{left}");
    assert!(
        left.stderr.contains("uncertain") && left.stderr.contains("--uncertain take"),
        "{left}"
    );
    world.ok(["rewind", "t1", "--yes", "--uncertain", "keep"]);
    assert!(world.exists("x.txt"));
    world.ok(["rewind", "t1", "--yes", "--uncertain", "take"]);
    assert!(!world.exists("x.txt"));
}

/// A repository beside the world's, with a file.
fn other_project(world: &World, name: &str) -> PathBuf {
    let other = world.home.join(name);
    fs::create_dir_all(&other).expect("a directory");
    fs::write(other.join("o.txt"), "one\n").expect("a file");
    let dir = other.display();
    let made = format!(
        "cd {dir} && git init -q && git add -A && git -c user.email=a@b -c user.name=n commit -qm b"
    );
    world.sh(&made).expect_code(0);
    other
}

pub fn in_dir<'a>(dir: &'a Path, args: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["--workspace", dir.to_str().expect("UTF-8")];
    all.extend(args);
    all
}

/// A session that is resumed in another project is recorded there, and the first project does not say that it is at work.
#[test]
fn a_session_that_is_resumed_elsewhere_is_recorded_there() {
    for event in ["SessionStart", "UserPromptSubmit"] {
        let world = two_files(SEVEN_LINES);
        let other = other_project(&world, "other");
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        agent.edit("a.txt", "one", "1");
        if event == "SessionStart" {
            agent.event(event, json!({"source": "resume", "cwd": other}));
        }
        agent.event(
            "UserPromptSubmit",
            json!({"prompt": "elsewhere", "cwd": other, "prompt_id": "p9"}),
        );
        let fields = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "c9", "cwd": other, "prompt_id": "p9"});
        agent.event("PreToolUse", fields.clone());
        fs::write(other.join("o.txt"), "two\n").expect("a file");
        agent.event("PostToolUse", fields);
        let log = world.ok(in_dir(&other, &["log"])).stdout;
        assert!(
            log.contains("elsewhere") && log.contains("o.txt"),
            "{event}: {log}"
        );
        world.ok(in_dir(&other, &["rewind", "--yes"]));
        assert_eq!(
            fs::read_to_string(other.join("o.txt")).expect("a file"),
            "one\n"
        );
        let status = world.ok(["status"]).stdout;
        assert!(!status.contains("working"), "{event}: {status}");
        assert_eq!(world.since_start(), ["t1: go", "t1 Edit: modify a.txt"]);
    }
}

/// An agent that changes its directory in the middle of a turn continues with that turn in the other project, and returns.
#[test]
fn a_session_that_changes_its_directory_is_recorded_there() {
    let world = two_files(SEVEN_LINES);
    let other = other_project(&world, "other");
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    let bash = |id: &str, cwd: &Path| json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": id, "cwd": cwd});
    agent.event("PreToolUse", bash("c1", &world.root));
    world.write("x.txt", "x\n");
    // it is reported from the new directory
    agent.event("PostToolUse", bash("c1", &other));
    agent.event("PreToolUse", bash("c2", &other));
    fs::write(other.join("o.txt"), "two\n").expect("a file");
    agent.event("PostToolUse", bash("c2", &world.root));
    agent.event("PreToolUse", bash("c3", &world.root));
    world.write("y.txt", "y\n");
    agent.event("PostToolUse", bash("c3", &world.root));
    agent.stop();
    assert_eq!(
        world.since_start(),
        ["t1: go", "t1 Bash: create x.txt", "t1 Bash: create y.txt"]
    );
    let there = world.json(in_dir(&other, &["log"]));
    let kinds = there["checkpoints"].as_array().expect("checkpoints").iter();
    let kinds: Vec<_> = kinds
        .map(|c| c["kind"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(kinds, ["step", "turn", "manual"], "{there:#}");
    world.ok(in_dir(&other, &["rewind", "--yes"]));
    assert_eq!(
        fs::read_to_string(other.join("o.txt")).expect("a file"),
        "one\n"
    );
    world.ok(["rewind", "--yes"]);
    assert!(!world.exists("x.txt") && !world.exists("y.txt"));
}

/// A session that begins in the home directory: its edits are recorded in the repositories of the files, as its turn, and people
/// who look for the rest are reported.
#[test]
fn a_session_in_the_home_directory_is_recorded_where_its_files_are() {
    let world = two_files(SEVEN_LINES);
    let other = other_project(&world, "proj");
    let agent = world.agent();
    agent.let_complain();
    let home = world.home.clone();
    agent.event("SessionStart", json!({"source": "startup", "cwd": home}));
    agent.event(
        "UserPromptSubmit",
        json!({"prompt": "from home", "cwd": home, "prompt_id": "p9"}),
    );
    for told in [
        world.ok(in_dir(&other, &["log"])).stderr,
        world.ok(in_dir(&other, &["status"])).stdout,
        world.run(in_dir(&other, &["doctor"])).stdout,
    ] {
        assert!(
            told.contains("not recorded") && told.contains("too wide"),
            "{told}"
        );
    }
    let input = json!({"file_path": other.join("o.txt"), "old_string": "one", "new_string": "two"});
    let fields = json!({"tool_name": "Edit", "tool_input": input, "tool_use_id": "c9", "cwd": home, "prompt_id": "p9"});
    agent.event("PreToolUse", fields.clone());
    fs::write(other.join("o.txt"), "two\n").expect("a file");
    agent.event("PostToolUse", fields);
    let log = world.ok(in_dir(&other, &["log"])).stdout;
    assert!(log.contains("from home") && log.contains("Edit"), "{log}");
    world.ok(in_dir(&other, &["rewind", "--yes"]));
    assert_eq!(
        fs::read_to_string(other.join("o.txt")).expect("a file"),
        "one\n"
    );
}

/// A linked worktree inside the workspace is a separate workspace: its checkout is nobody's edit, no rewind empties it, and work
/// in it is recorded there, whether or not it is ignored.
#[test]
fn a_linked_worktree_is_a_workspace_of_its_own() {
    for ignored in [false, true] {
        let world = two_files(SEVEN_LINES);
        if ignored {
            world.write(".gitignore", ".claude/worktrees/\n");
        }
        let tree = world.path(".claude/worktrees/idea");
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        agent.bash("git worktree add -q -b idea .claude/worktrees/idea");
        let fields = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "c9", "cwd": tree});
        agent.event("PreToolUse", fields.clone());
        world.write(".claude/worktrees/idea/a.txt", "changed\n");
        agent.event("PostToolUse", fields);
        // by name, from the outer directory
        let call = agent.pre_write(".claude/worktrees/idea/new.txt", "new\n");
        let response = agent.apply(&call);
        agent.post(&call, &response);
        agent.stop();
        // the command made `.claude`, and no file of this workspace
        assert_eq!(
            world.since_start(),
            ["t1: go", "t1 Bash"],
            "ignored: {ignored}"
        );
        let there = world.ok(in_dir(&tree, &["log"])).stdout;
        assert!(
            there.contains("a.txt") && there.contains("new.txt"),
            "{there}"
        );
        world.run(["rewind", "t1", "--yes"]);
        assert_eq!(world.read(".claude/worktrees/idea/b.txt"), "other\n");
        world.ok(in_dir(&tree, &["rewind", "--yes"]));
        assert_eq!(world.read(".claude/worktrees/idea/a.txt"), SEVEN_LINES);
        assert!(!world.exists(".claude/worktrees/idea/new.txt"));
    }
}

/// An agent whose process is gone has no call under way, and what it did until then is the turn's.
#[test]
fn the_work_of_a_killed_agent_is_its_turns() {
    let world = two_files(SEVEN_LINES);
    let before = world.tree();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    let call = agent.payload(
        "PreToolUse",
        json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "c9"}),
    );
    let note = agent.payload("Notification", json!({"message": "x"}));
    let payloads = json!([note, call]).to_string();
    // its own agent, which ends in the middle of the call
    let program = "import json, subprocess, sys
for payload in json.load(sys.stdin):
    subprocess.run([sys.argv[1], 'hook', 'claude-code'], input=json.dumps(payload).encode(), check=True)
open('x.txt', 'w').write('x')";
    let mut killed = world.command("python3");
    killed
        .args(["-c", program])
        .arg(world.backstitch().get_program());
    killed.current_dir(&world.root);
    finish(&mut killed, payloads.as_bytes()).expect_code(0);
    let status = world.ok(["status"]).stdout;
    assert!(!status.contains("working"), "{status}");
    assert_eq!(world.json(["status"])["open_calls"], 0);
    world.ok(["rewind", "--yes"]);
    assert!(world.tree() == before);
}
