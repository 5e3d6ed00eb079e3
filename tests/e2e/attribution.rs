//! Attribution: the agent, a subagent, another session, the user, or nobody; and the turn of each change.

use std::fs;

use serde_json::json;

use crate::support::history::{gaps, path};
use crate::support::scenarios::{SEVEN_LINES, two_files};
use crate::support::{World, finish};

fn lines(world: &World, rev: &str) -> String {
    world.at(rev, "a.txt").expect("a file")
}

/// S3-010, S4-041, U-12: user edits before the prompt are recorded before the turn, which itself changes nothing.
#[test]
fn user_edits_before_a_prompt_precede_its_turn() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    world.write("b.txt", "mine\n");
    agent.prompt("go");
    agent.edit("a.txt", "one", "1");
    agent.stop();
    world.write("c.txt", "mine too\n");
    agent.prompt("go on");
    agent.bash("rm c.txt");
    assert_eq!(
        world.since_start(),
        [
            "you: modify b.txt",
            "t1: go",
            "t1 Edit: modify a.txt",
            "you: create c.txt",
            "t2: go on",
            "t2 Bash: delete c.txt",
        ]
    );
    let origin = &world.id("you: modify b.txt");
    let origin = world.json(["show", origin])["changes"][0]["origin"].clone();
    assert_eq!(origin["by"], "user");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("b.txt"), "mine\n");
    assert_eq!(world.read("c.txt"), "mine too\n");
}

/// Changes made while no agent was at work are found when one starts.
#[test]
fn changes_made_without_an_agent_are_found_at_the_next_start() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "one", "1");
    agent.stop();
    agent.session_end();
    world.write("b.txt", "mine\n");
    agent.session_resume();
    let last = world.since_start().pop();
    assert_eq!(last.as_deref(), Some("you: modify b.txt"));
}

/// The user saves the file while the agent waits for permission to edit it: the tool's report tells them apart.
#[test]
fn a_user_save_while_a_call_waits_for_permission_is_the_users() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    let call = agent.pre_edit("a.txt", "one", "ONE");
    let user = world.read("a.txt").replace("seven\n", "seven\nmine\n");
    world.write("a.txt", &user);
    let response = agent.apply(&call);
    agent.post(&call, &response);
    assert_eq!(
        world.since_start(),
        ["t1: go", "you: modify a.txt", "t1 Edit: modify a.txt"]
    );
    assert_eq!(lines(&world, "@^"), user);
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), user);
}

/// Parallel calls of one message: each edit is separate, and overlapping shell commands are one group.
#[test]
fn parallel_edits_stay_apart_and_parallel_shells_form_a_group() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    let (x, y) = (
        agent.pre_edit("a.txt", "one", "1"),
        agent.pre_edit("b.txt", "other", "OTHER"),
    );
    let responses = (agent.apply(&x), agent.apply(&y));
    agent.post(&y, &responses.1);
    agent.post(&x, &responses.0);
    agent.batch(&[&x, &y]);
    assert_eq!(
        world.since_start()[1..],
        ["t1 Edit: modify b.txt", "t1 Edit: modify a.txt"]
    );

    let (x, y) = (agent.pre_bash("echo x > x"), agent.pre_bash("echo y > y"));
    let outputs = (agent.execute(&x), agent.execute(&y));
    agent.post_bash(&x, &outputs.0);
    agent.post_bash(&y, &outputs.1);
    agent.batch(&[&x, &y]);
    assert_eq!(
        world.since_start()[3..],
        ["t1 Bash: create x &, create y &"]
    );
    let group = world.id("t1 Bash: create x &, create y &");
    world.ok(["revert", &group]);
    assert!(!world.exists("x") && !world.exists("y"));
    assert_eq!(world.read("b.txt"), "OTHER\n");
}

/// An edit and a parallel shell command: the named file is the edit's, the rest the shell's.
#[test]
fn an_edit_and_a_parallel_shell_command_are_told_apart() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    let (edit, bash) = (
        agent.pre_edit("a.txt", "one", "1"),
        agent.pre_bash("echo x > x"),
    );
    let (response, output) = (agent.apply(&edit), agent.execute(&bash));
    agent.post_bash(&bash, &output);
    agent.post(&edit, &response);
    assert_eq!(
        world.since_start()[1..],
        ["t1 Bash: create x", "t1 Edit: modify a.txt"]
    );
}

/// A call never reports its end: its changes are its own, as those of one that does, and are undone.
#[test]
fn a_call_that_never_reports_has_its_changes() {
    for next in ["Stop", "SessionStart", "UserPromptSubmit"] {
        let world = two_files(SEVEN_LINES);
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        let call = agent.pre_bash("echo x > x.txt");
        agent.execute(&call);
        let edit = agent.pre_edit("a.txt", "one", "1");
        agent.apply(&edit);
        match next {
            "Stop" => drop(agent.stop()),
            "SessionStart" => drop(agent.session_resume()),
            _ => drop(agent.prompt("go on")),
        }
        // both calls were open, and are the session's
        world.checkpoint("t1 Edit: modify a.txt &");
        world.checkpoint("t1 Bash: create x.txt");
        assert_eq!(world.json(["status"])["open_calls"], 0);
        assert_eq!(gaps(&world.plan(["rewind", "t1"])), Vec::<String>::new());
        world.ok(["rewind", "t1"]);
        assert!(!world.exists("x.txt") && world.read("a.txt").starts_with("one\n"));
    }
}

/// The changes of a command that was looked at while it ran are its own, before and after its report.
#[test]
fn a_late_report_changes_nothing() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    let call = agent.pre_bash("echo x > x.txt");
    let output = agent.execute(&call);
    world.ok(["diff"]);
    assert_eq!(world.since_start()[1..], ["t1 Bash: create x.txt"]);
    agent.post_bash(&call, &output);
    assert_eq!(world.since_start()[1..], ["t1 Bash: create x.txt"]);
}

/// Two sessions have their own turns and changes; a rewind of one keeps the other's.
#[test]
fn a_rewind_of_one_session_keeps_the_others_work() {
    let world = two_files(SEVEN_LINES);
    let (mut one, mut two) = (world.agent(), world.agent());
    one.session_start();
    two.session_start();
    one.prompt("first");
    two.prompt("second");
    one.edit("a.txt", "one", "1");
    two.edit("a.txt", "seven", "7");
    two.bash("echo x > x.txt");
    one.write("y.txt", "y\n");
    one.stop();
    two.stop();
    assert_eq!(
        world.since_start(),
        [
            "t1: first",
            "t2: second",
            "t1 Edit: modify a.txt",
            "t2 Edit: modify a.txt",
            "t2 Bash: create x.txt",
            "t1 Write: create y.txt",
        ]
    );
    let only: Vec<_> = {
        let log = world.json(["log", "--session", &two.session()]);
        let all = log["checkpoints"].as_array().expect("checkpoints").clone();
        all.iter().map(|c| c["session"].clone()).collect()
    };
    assert_eq!(only, vec![json!(two.session()); 3]);
    // its letter means the same
    let by_letter = world.json(["log", "--session", "B"]);
    assert_eq!(by_letter["checkpoints"].as_array().map(Vec::len), Some(3));
    assert_eq!(by_letter["checkpoints"][0]["session"], two.session());
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\nfour\nfive\nsix\n7\n");
    assert!(world.exists("x.txt") && !world.exists("y.txt"));
    world.ok(["rewind", "t1", "--session", "B"]);
    assert!(!world.exists("x.txt"));
    assert_eq!(
        world.read("a.txt"),
        "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
    );
}

/// Two sessions have open commands at the same time: their changes are uncertain.
#[test]
fn overlapping_commands_of_two_sessions_are_uncertain() {
    let world = two_files(SEVEN_LINES);
    let (mut one, mut two) = (world.agent(), world.agent());
    one.session_start();
    two.session_start();
    one.prompt("first");
    two.prompt("second");
    let (x, y) = (one.pre_bash("echo x > x.txt"), two.pre_bash("true"));
    let output = one.execute(&x);
    one.post_bash(&x, &output);
    let output = two.execute(&y);
    two.post_bash(&y, &output);
    assert_eq!(world.since_start()[2..], ["t1 Bash: create x.txt ?"]);
    assert_eq!(gaps(&world.plan(["rewind", "t1"])), ["uncertain x.txt"]);
}

/// U-13: an event reported twice counts once.
#[test]
fn a_repeated_event_counts_once() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "one", "1");
    agent.bash("echo x > x.txt");
    agent.stop();
    let before = world.history();
    for payload in agent.sent() {
        world.hook(&payload).expect_code(0);
    }
    assert_eq!(world.history(), before);
    let edit = world.checkpoint("t1 Edit: modify a.txt");
    assert_eq!(edit.json["iteration"], 1);
    agent.edit("a.txt", "two", "2");
    let iterations: Vec<_> = world
        .checkpoints()
        .iter()
        .filter_map(|c| c.json["iteration"].as_i64())
        .collect();
    assert_eq!(iterations, [1, 2, 3]);
}

/// U-13: compaction and the restart after it make no turn and shift no number.
#[test]
fn compaction_makes_no_turn() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "one", "1");
    agent.event(
        "PreCompact",
        json!({"trigger": "auto", "custom_instructions": ""}),
    );
    agent.event("SessionStart", json!({"source": "compact"}));
    agent.edit("a.txt", "two", "2");
    agent.stop();
    agent.prompt("go on");
    let lines: Vec<_> = world.since_start();
    assert_eq!(
        lines,
        [
            "t1: go",
            "t1 Edit: modify a.txt",
            "\"before compaction\"",
            "t1 Edit: modify a.txt",
            "t2: go on",
        ]
    );
}

/// A rewind of a conversation whose record has no prompt that is known fails with an error. `both` then changes neither side.
#[test]
fn a_rewind_of_both_without_a_record_changes_neither_side() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "one", "1");
    agent.event(
        "PreCompact",
        json!({"trigger": "auto", "custom_instructions": ""}),
    );
    agent.stop();
    let (tree, history) = (world.tree(), world.history());
    let transcript = fs::read(agent.transcript()).expect("a transcript");
    for scope in ["both", "conversation"] {
        let output = world.run(["rewind", "t1", "--scope", scope]).expect_code(1);
        assert!(output.stderr.contains("form that is known"), "{output}");
        assert_eq!(
            (world.tree(), world.history()),
            (tree.clone(), history.clone())
        );
        assert_eq!(
            fs::read(agent.transcript()).expect("a transcript"),
            transcript
        );
    }
}

/// A session stays with the workspace that it began in, wherever its commands run.
#[test]
fn a_session_is_bound_to_its_workspace() {
    let world = two_files(SEVEN_LINES);
    world.write("sub/x.txt", "x\n");
    world.sh("git init -q sub").expect_code(0);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    for cwd in [world.path("sub"), world.home.clone()] {
        let input = json!({"file_path": world.path("a.txt"), "old_string": "", "new_string": ""});
        let id = format!("toolu_{}", cwd.display());
        let fields =
            json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": id, "cwd": cwd});
        agent.event("PreToolUse", fields.clone());
        world.sh("echo more >> a.txt");
        agent.event("PostToolUse", fields);
    }
    // a relative path counts from the agent's directory
    let input = json!({"file_path": "x.txt", "content": "new\n"});
    let fields = json!({"tool_name": "Write", "tool_input": input, "tool_use_id": "w", "cwd": world.path("sub")});
    agent.event("PreToolUse", fields.clone());
    world.write("sub/x.txt", "new\n");
    agent.event("PostToolUse", fields);
    assert_eq!(
        world.since_start()[1..],
        [
            "t1 Bash: modify a.txt",
            "t1 Bash: modify a.txt",
            "t1 Write: modify sub/x.txt"
        ]
    );
    let stores = fs::read_dir(world.state.join("backstitch/workspaces")).expect("stores");
    assert_eq!(stores.count(), 1);
}

/// S4-026, S4-027: two projects have two separate stores.
#[test]
fn projects_are_kept_apart() {
    let world = two_files(SEVEN_LINES);
    let other = world.home.join("work");
    fs::create_dir(&other).expect("a directory");
    fs::write(other.join("o.txt"), "one\n").expect("a file");
    world.ok(["checkpoint", "-m", "here"]);
    let there = ["--workspace", other.to_str().expect("UTF-8")];
    world.ok(there.iter().chain(&["checkpoint", "-m", "there"]));
    let labels = |log: &serde_json::Value| {
        let all = log["checkpoints"].as_array().expect("checkpoints").clone();
        all.iter()
            .map(|c| c["label"].as_str().unwrap_or("").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(labels(&world.json(["log"])), ["here", "start"]);
    assert_eq!(
        labels(&world.json(there.iter().chain(&["log"]))),
        ["there", "start"]
    );
    let store = |status: serde_json::Value| path(&status["store"]);
    let (one, two) = (
        store(world.json(["status"])),
        store(world.json(there.iter().chain(&["status"]))),
    );
    assert_ne!(one, two, "the same name, another place");
    assert!(
        one.contains("/work-") && two.contains("/work-"),
        "{one} {two}"
    );
    world.run(["show", "\"there\""]).expect_code(3);
}

/// S4-047: Each checkpoint records git's state; a rewind across a checkout says so and leaves git alone.
#[test]
fn checkpoints_record_the_state_of_git() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("b.txt", "other", "OTHER");
    agent.stop();
    let head = world.git_ok(["rev-parse", "HEAD"]);
    for line in ["t1: go", "t1 Edit: modify b.txt"] {
        assert_eq!(
            world.checkpoint(line).json["git"],
            json!({"head": head.trim(), "branch": "main"}),
            "{line}"
        );
    }
    assert_eq!(gaps(&world.plan(["rewind", "t1"])), Vec::<String>::new());

    world.git_ok(["checkout", "-q", "-b", "topic"]);
    world.git_ok(["commit", "-q", "--allow-empty", "-m", "more"]);
    let git = world.git_digest();
    let plan = world.plan(["rewind", "t1"]);
    assert_eq!(gaps(&plan), ["git_head"]);
    assert_eq!(plan["git_head"]["then"]["branch"], "main");
    assert_eq!(plan["git_head"]["now"]["branch"], "topic");
    let text = world.ok(["rewind", "t1", "--dry-run"]).stdout;
    assert!(text.starts_with("! git moved since: main"), "{text}");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.git_digest(), git);
    assert_eq!(world.read("b.txt"), "other\n");
}

/// S3-025: the agent's own log of its messages stays unchanged.
#[test]
fn the_agents_transcript_is_not_touched() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "one", "1");
    agent.stop();
    let before = fs::read(agent.transcript()).expect("a transcript");
    world.ok(["rewind", "t1"]);
    world.ok(["undo"]);
    world.ok(["verify"]);
    assert_eq!(fs::read(agent.transcript()).expect("a transcript"), before);
}

/// S3-022, S4-002: a turn has its time, its prompt and the files that it changed; a step names its turn.
#[test]
fn turns_record_time_prompt_and_files() {
    let world = two_files(SEVEN_LINES);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("line one\nline two");
    agent.edit("a.txt", "one", "1");
    agent.edit("a.txt", "two", "2");
    agent.write("c.txt", "c\n");
    agent.stop();
    let turn = world.json(["show", "t1"]);
    assert_eq!(turn["prompt"], "line one\nline two");
    let time = turn["time"].as_str().expect("a time");
    assert!(time.ends_with('Z') && time.len() > 18, "{time}");
    let files: std::collections::BTreeSet<_> = turn["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .flat_map(|s| s["changes"].as_array().expect("changes"))
        .map(|c| path(&c["path"]))
        .collect();
    assert_eq!(files.into_iter().collect::<Vec<_>>(), ["a.txt", "c.txt"]);
    let step = world.json(["show", "@"]);
    for (name, value) in [
        ("kind", json!("step")),
        ("session", json!(agent.session())),
        ("agent", json!("claude-code")),
        ("turn", json!("t1")),
        ("tool", json!("Write")),
        ("iteration", json!(3)),
        ("branch", json!("main")),
    ] {
        assert_eq!(step[name], value, "{name}");
    }
    let root = path(&world.json(["status"])["workspace"]);
    assert_eq!(root, world.root.to_str().expect("UTF-8"));
}

/// The hook works from any directory if the environment names the project.
#[test]
fn the_environment_can_name_the_project() {
    let world = two_files(SEVEN_LINES);
    let mut hook = world.backstitch();
    hook.args(["hook", "claude-code"]).current_dir(&world.home);
    hook.env("CLAUDE_PROJECT_DIR", &world.root);
    let payload =
        json!({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"});
    let output = finish(&mut hook, payload.to_string().as_bytes()).expect_code(0);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
    assert_eq!(world.history(), ["\"start\""]);
}
