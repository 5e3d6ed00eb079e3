//! Breakpoints that are changed, that follow renamed files, that count, and texts that wait.

use serde_json::{Value, json};

use super::{HeldHook, Watcher, after, before, began, decided, decision, edit, hits};
use crate::support::World;
use crate::support::agent::Agent;

fn world() -> World {
    let lines: Vec<String> = (1..=20).map(|n| format!("line {n}\n")).collect();
    World::committed(&[
        ("a.txt", "one\ntwo\nthree\n"),
        ("src/long.txt", &lines.concat()),
    ])
}

fn bash(agent: &Agent<'_>, id: &str, command: &str) -> Value {
    let input = json!({"command": command, "description": "x"});
    before(agent, id, "Bash", &input)
}

fn list(world: &World) -> Vec<Value> {
    let list = world.json(["breakpoint", "list"]);
    list["breakpoints"].as_array().expect("a list").clone()
}

/// The lines follow a file that the agent renames, one that the user renames, and a rewind of both.
#[test]
fn lines_follow_a_renamed_file() {
    let world = world();
    world.configure("[pause]\nunattended = \"deny\"\n");
    let agent = began(&world);
    world.ok(["breakpoint", "add", "line", "src/long.txt:10"]);
    agent.bash("mkdir lib && git mv src/long.txt lib/moved.txt");
    let stops = |id: &str, path: &str, line: u32| {
        let input = edit(&world, path, &format!("line {line}\n"), "changed\n");
        let agent = world.agent();
        let payload = before(&agent, id, "Edit", &input);
        let is_denied = decision(&HeldHook::start(&world, &payload, 600).answer()) == Some("deny");
        if !is_denied {
            let fields =
                json!({"tool_name": "Edit", "tool_input": input, "tool_use_id": id, "error": "x"});
            world.hook(&agent.payload("PostToolUseFailure", fields));
        }
        is_denied
    };
    assert!(stops("r1", "lib/moved.txt", 10));
    assert!(!stops("r2", "lib/moved.txt", 11));
    let one = &list(&world)[0];
    assert_eq!(
        (&one["spec"]["path"], &one["region"]["path"]),
        (&json!("lib/moved.txt"), &json!("lib/moved.txt"))
    );
    // the user's rename, seen by the scan of the next call
    std::fs::rename(world.path("lib/moved.txt"), world.path("long.txt")).expect("renamed");
    agent.bash("true");
    assert!(stops("r3", "long.txt", 10));
    let shown = world.ok(["breakpoint", "list"]).stdout;
    assert!(shown.contains("long.txt:10"), "{shown}");
    // the old name is another file now
    world.write("src/long.txt", "line 10\n");
    assert!(!stops("r4", "src/long.txt", 10));
    world.ok(["verify"]);
}

/// A command that renames a file and changes its lines is found after it ran.
#[test]
fn a_rename_with_an_edit_is_found() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "line", "src/long.txt:10"]);
    let mut watcher = Watcher::start(&world);
    // the file stays the same: no editor replaces it
    let command = "sed 's/^line 10$/changed/' src/long.txt > t; git mv src/long.txt b.txt; cat t > b.txt; rm t";
    let input = json!({"command": command, "description": "x"});
    world.hook(&before(&agent, "c1", "Bash", &input));
    let ran = world.command("sh").args(["-c", command]).status();
    assert!(ran.expect("a shell").success());
    let response = json!({"stdout": "", "stderr": "", "interrupted": false});
    let hook = HeldHook::start(&world, &after(&agent, "c1", "Bash", &input, &response), 600);
    let pause = watcher.until("held");
    assert_eq!(pause["at"], "after");
    assert!(
        pause["why"].as_str().expect("words").contains("b.txt:10"),
        "{pause}"
    );
    world.ok(["resume"]);
    hook.answer();
}

/// `breakpoint list` says where the lines are now.
#[test]
fn moved_lines_are_shown() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "line", "src/long.txt:10-11"]);
    agent.edit("src/long.txt", "line 2\n", "line 2\nnew\nnew\n");
    let shown = world.ok(["breakpoint", "list"]).stdout;
    assert!(
        shown.contains("src/long.txt:10-11") && shown.contains("now 12-13"),
        "{shown}"
    );
    assert_eq!(list(&world)[0]["region"]["start"], 11);
    agent.write("src/long.txt", "nothing\n");
    // its lines were replaced, so that it stands where they were
    agent.bash("rm src/long.txt");
    let shown = world.ok(["breakpoint", "list"]).stdout;
    assert!(shown.contains("its lines are gone"), "{shown}");
}

/// A call counts once, before or after it, for `path` and `line`.
#[test]
fn a_call_counts_once() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "path", "a.txt", "--hits", ">= 3"]);
    world.ok(["breakpoint", "add", "line", "a.txt:2", "--hits", ">= 3"]);
    let input = edit(&world, "a.txt", "two", "2");
    assert_eq!(
        HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600).answer(),
        Value::Null
    );
    world.write("a.txt", "one\n2\nthree\n");
    let response = json!({"filePath": world.path("a.txt")});
    let over = after(&agent, "c1", "Edit", &input, &response);
    assert_eq!(HeldHook::start(&world, &over, 600).answer(), Value::Null);
    assert_eq!(
        hits(&world),
        [("path".to_owned(), 1), ("line".to_owned(), 1)]
    );
    // a trigger that did not act is none for those who read them
    assert_eq!(world.json(["breakpoint", "hits"])["hits"], json!([]));
    let (pause, _) = {
        let back = edit(&world, "a.txt", "2", "two");
        world.hook(&before(&agent, "c2", "Edit", &back));
        decided(&world, &before(&agent, "c3", "Edit", &back), &["resume"])
    };
    assert_eq!(pause["breakpoint"], "b1");
}

/// An edit that was resumed for one breakpoint is not held again after it ran for another that names the same file.
#[test]
fn a_call_that_was_looked_at_is_not_held_again() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    world.ok(["breakpoint", "add", "path", "a.txt"]);
    world.ok(["breakpoint", "add", "line", "a.txt:2"]);
    let input = edit(&world, "a.txt", "two", "2");
    let (pause, answer) = decided(&world, &before(&agent, "c1", "Edit", &input), &["resume"]);
    assert_eq!(
        (pause["breakpoint"].as_str(), answer),
        (Some("b1"), Value::Null)
    );
    world.write("a.txt", "one\n2\nthree\n");
    let response = json!({"filePath": world.path("a.txt")});
    let over = after(&agent, "c1", "Edit", &input, &response);
    assert_eq!(HeldHook::start(&world, &over, 600).answer(), Value::Null);
    // a command that does not name the file is looked at after it ran
    world.ok(["breakpoint", "remove", "b1"]);
    world.ok(["breakpoint", "add", "tool", "Bash"]);
    let command = json!({"command": "make it", "description": "x"});
    decided(&world, &before(&agent, "c2", "Bash", &command), &["resume"]);
    world.write("a.txt", "one\nzwei\nthree\n");
    let response = json!({"stdout": "", "stderr": "", "interrupted": false});
    let (pause, _) = decided(
        &world,
        &after(&agent, "c2", "Bash", &command, &response),
        &["resume"],
    );
    assert_eq!(
        (pause["breakpoint"].as_str(), pause["at"].as_str()),
        (Some("b2"), Some("after"))
    );
}

/// One `pause` holds one of many calls that begin at the same time.
#[test]
fn one_pause_holds_one_call() {
    let world = world();
    let agent = began(&world);
    for round in 0..5 {
        world.ok(["pause"]);
        let mut watcher = Watcher::start(&world);
        let hooks: Vec<HeldHook> = (0..6)
            .map(|n| HeldHook::start(&world, &bash(&agent, &format!("c{round}.{n}"), "true"), 600))
            .collect();
        watcher.until("held");
        world.ok(["resume"]);
        for hook in hooks {
            assert_eq!(hook.answer(), Value::Null);
        }
        let all = world.json(["pauses", "--all"]);
        assert_eq!(all["pauses"].as_array().map(Vec::len), Some(round + 1));
    }
    assert_eq!(list(&world), [] as [Value; 0]);
}

/// Options that have no effect are refused, with the reason.
#[test]
fn mistakes_are_refused() {
    let world = world();
    began(&world);
    let wrong: [(&[&str], &str); 10] = [
        (
            &["breakpoint", "add", "tool", "Edit", "--message", "x"],
            "goes with --action deny or log",
        ),
        (
            &[
                "breakpoint",
                "add",
                "tool",
                "Edit",
                "--action",
                "log",
                "--unattended",
                "hold",
            ],
            "--unattended goes with",
        ),
        (
            &[
                "breakpoint",
                "add",
                "tool",
                "Edit",
                "--action",
                "deny",
                "--message",
                "",
            ],
            "is empty",
        ),
        (
            &[
                "breakpoint",
                "add",
                "tool",
                "Edit",
                "--action",
                "log",
                "--message",
                "uses {.tool",
            ],
            "without a `}`",
        ),
        (
            &[
                "breakpoint",
                "add",
                "tool",
                "Edit",
                "--action",
                "log",
                "--message",
                "uses {.tool |}",
            ],
            "jq",
        ),
        (
            &["breakpoint", "add", "line", "src/long.txt:50"],
            "has 20 lines, and no line 50",
        ),
        (
            &["breakpoint", "add", "line", "src/long.txt:15-21"],
            "has 20 lines, and no line 21",
        ),
        (
            &["inject", "-s", "nosuch", "hello"],
            "there is no session `nosuch`",
        ),
        (&["inject", " "], "is empty"),
        (&["inject", "--withdraw", "7"], "no text 7 waits"),
    ];
    for (command, expected) in wrong {
        let failed = world.run(command);
        assert_ne!(failed.code, 0, "{command:?}");
        assert!(
            failed.stderr.contains(expected),
            "{command:?}: {}",
            failed.stderr
        );
    }
    assert_eq!(list(&world), [] as [Value; 0]);
    for command in [&["pause", "-s", "nosuch"][..], &["debug", "-s", "nosuch"]] {
        let failed = world.run(command);
        assert!(failed.stderr.contains("there is no session"), "{failed}");
    }
    let noted = world.run([
        "breakpoint",
        "add",
        "tool",
        "Bash",
        "--agent",
        "claude",
        "-s",
        "nosuch",
    ]);
    assert!(
        noted
            .stderr
            .contains("no agent with hooks is called `claude`"),
        "{noted}"
    );
    assert!(
        noted.stderr.contains("no session `nosuch` is recorded yet"),
        "{noted}"
    );
    let noted = world.run(["breakpoint", "add", "tool", "EDIT"]);
    assert!(
        noted
            .stderr
            .contains("there is a tool `Edit`, and none `EDIT`"),
        "{}",
        noted.stderr
    );
    assert!(
        noted.stdout.contains("No editor shows held calls now"),
        "{}",
        noted.stdout
    );
}

/// A held call is not denied without a reason, nor sent an input that its tool will refuse.
#[test]
fn a_decision_needs_its_words() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut watcher = Watcher::start(&world);
    let payload = before(&agent, "c1", "Edit", &edit(&world, "a.txt", "two", "2"));
    let hook = HeldHook::start(&world, &payload, 600);
    watcher.until("held");
    for command in [["deny", "-m", " "], ["stop", "-m", " "]] {
        let failed = world.run(command);
        assert!(
            failed.stderr.contains("the message for the model is empty"),
            "{}",
            failed.stderr
        );
    }
    world.write("part.json", "{\"new_string\": \"x\"}");
    let failed = world.run(["resume", "--input", "part.json"]);
    assert!(failed.stderr.contains("has no `file_path`"), "{failed}");
    let status = world.run(["status"]);
    assert!(status.stdout.contains("held: p1"), "{status}");
    let wrong = edit(&world, "a.txt", "nowhere", "2");
    world.write("wrong.json", wrong.to_string());
    let failed = world.run(["resume", "--input", "wrong.json"]);
    assert!(
        failed.code != 0 && failed.stderr.contains("Edit will refuse this input"),
        "{}",
        failed.stderr
    );
    let right = edit(&world, "a.txt", "three", "3");
    world.write("right.json", right.to_string());
    let done = world.ok(["resume", "--input", "right.json"]);
    let shown = done.stdout + &done.stderr;
    assert!(shown.contains("-three") && shown.contains("+3"), "{shown}");
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["updatedInput"]["old_string"],
        "three"
    );
}

/// S2-093: texts for the model are listed and withdrawn until they are sent.
#[test]
fn texts_that_wait() {
    let world = world();
    let agent = began(&world);
    world.ok(["inject", "first"]);
    let second = world.json(["inject", "second"]);
    let waiting = world.json(["inject", "--list"]);
    let texts: Vec<&Value> = waiting["waiting"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["text"])
        .collect();
    assert_eq!(texts, ["first", "second"]);
    world.ok(["inject", "--withdraw", &second["number"].to_string()]);
    let answer = HeldHook::start(&world, &bash(&agent, "c1", "true"), 600).answer();
    assert_eq!(answer["hookSpecificOutput"]["additionalContext"], "first");
    assert!(
        world
            .ok(["inject", "--list"])
            .stdout
            .contains("No text waits.")
    );
}

/// A breakpoint is edited, and its hits are listed with the texts of a log point.
#[test]
fn edited_and_listed() {
    let world = world();
    let agent = began(&world);
    world.ok([
        "breakpoint",
        "add",
        "tool",
        "Bash",
        "--action",
        "log",
        "--message",
        "runs {.input.command}",
    ]);
    HeldHook::start(&world, &bash(&agent, "c1", "make test"), 600).answer();
    let shown = world.ok(["breakpoint", "hits"]).stdout;
    assert!(shown.contains("runs make test"), "{shown}");
    world.ok([
        "breakpoint",
        "edit",
        "b1",
        "--message",
        "now {.tool}",
        "--when",
        ".input.command == \"ls\"",
    ]);
    HeldHook::start(&world, &bash(&agent, "c2", "make"), 600).answer();
    HeldHook::start(&world, &bash(&agent, "c3", "ls"), 600).answer();
    let texts: Vec<Value> = world.json(["breakpoint", "hits", "b1"])["hits"]
        .as_array()
        .expect("hits")
        .iter()
        .map(|hit| hit["text"].clone())
        .collect();
    assert_eq!(texts, ["runs make test", "now Bash"]);
    world.ok(["breakpoint", "edit", "b1", "--action", "pause"]);
    let (pause, _) = decided(&world, &bash(&agent, "c4", "ls"), &["resume"]);
    assert_eq!(pause["breakpoint"], "b1");
    let failed = world.run(["breakpoint", "edit", "b1"]);
    assert!(
        failed.stderr.contains("nothing to change"),
        "{}",
        failed.stderr
    );
    let failed = world.run(["breakpoint", "edit", "b1", "--message", "x"]);
    assert!(
        failed.stderr.contains("goes with --action"),
        "{}",
        failed.stderr
    );
}

/// A breakpoint in a store that no hook uses stops nothing, and says so.
#[test]
fn a_breakpoint_in_another_store_says_so() {
    let world = World::git();
    let told = "this breakpoint stops none of them";
    let add = ["breakpoint", "add", "tool", "Edit"];
    let usual = world.ok(add);
    assert!(!usual.stderr.contains(told), "{usual}");
    let other = world.home.join("other-store");
    let other = other.to_str().expect("UTF-8");
    let elsewhere = world.ok(["--store-dir", other].iter().chain(&add));
    assert!(elsewhere.stderr.contains(told), "{elsewhere}");
    // named again, the usual one is no other
    let same = world.store();
    let same = same.parent().expect("a directory");
    let same = same.to_str().expect("UTF-8");
    let same = world.ok(["--store-dir", same].iter().chain(&add));
    assert!(!same.stderr.contains(told), "{same}");
}

/// An empty expression would match everything, and is refused.
#[test]
fn an_empty_expression_is_refused() {
    let world = World::git();
    for kind in ["pattern", "command", "content", "tool", "path"] {
        let refused = world.run(["breakpoint", "add", kind, ""]).expect_code(2);
        assert!(refused.stderr.contains("is empty"), "{kind}: {refused}");
    }
    let error = world.ok(["breakpoint", "add", "error"]);
    assert!(error.stdout.starts_with("Added b1: error\n"), "{error}");
    assert!(
        error.stdout.contains("a call that has run continues"),
        "{error}"
    );
}

/// `pause` says how it is cancelled, and the list says what a breakpoint does besides.
#[test]
fn the_list_says_all_of_a_breakpoint() {
    let world = world();
    began(&world);
    let paused = world.ok(["pause"]).stdout;
    let cancel = "`backstitch breakpoint remove b1` cancels the pause";
    assert!(paused.contains(cancel), "{paused}");
    let add = ["breakpoint", "add", "tool"];
    let deny = ["Edit", "--action", "deny", "--message", "Use the helper."];
    world.ok(add.iter().chain(&deny));
    world.ok(add.iter().chain(&["Write", "--unattended", "hold"]));
    let list = world.ok(["breakpoint", "list"]).stdout;
    let rows: Vec<&str> = list.lines().collect();
    assert!(rows[0].contains("b1   next call"), "{list}");
    assert!(rows[0].contains("not of subagents"), "{list}");
    for words in ["any", "once"] {
        assert!(!rows[0].contains(words), "{list}");
    }
    assert!(rows[1].contains("Edit  deny  “Use the helper.”"), "{list}");
    assert!(rows[2].contains("Write  unattended hold"), "{list}");
    world.ok(["breakpoint", "remove", "b1"]);
    assert_eq!(hits(&world).len(), 2, "{list}");
}

/// `pauses` has the number of the last event, as the language server's answer does, and `inspect` has the prediction.
#[test]
fn json_has_what_the_protocol_has() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, "a.txt", "one", "1");
    let mut watcher = Watcher::start(&world);
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    watcher.until("held");
    let listed = world.json(["pauses"]);
    assert!(listed["seq"].as_i64() > Some(0), "{listed:#}");
    let pause = world.json(["inspect", "p1"])["pause"].clone();
    assert_eq!(
        pause["predicted"][0]["then"], "1\ntwo\nthree\n",
        "{pause:#}"
    );
    world.ok(["resume", "p1"]);
    hook.answer();
}
