//! The REPL of a held tool call: jq, shell commands, and changes of its input.

use serde_json::{Value, json};

use crate::control::{HeldHook, SECRET, Watcher, before, began, edit};
use crate::support::World;

const TEXT: &str = "one\ntwo\nthree\n";

/// A held call: its world, its hook and a person who watches.
fn held(world: &World, tool: &str, input: &Value) -> (HeldHook, Watcher) {
    let agent = began(world);
    world.ok(["breakpoint", "add", "tool", tool]);
    let mut watcher = Watcher::start(world);
    let hook = HeldHook::start(world, &before(&agent, "c1", tool, input), 600);
    watcher.until("held");
    (hook, watcher)
}

/// The entry that an evaluation adds.
fn asked(world: &World, input: &str) -> Value {
    world.json(["repl", "p1", "-e", input])["entry"].clone()
}

/// S5-001, S5-002, S5-010…012, S5-072: any number of inputs are evaluated at a held call, which stays held.
#[test]
fn jq_on_the_call() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let input = edit(&world, "a.txt", "two", "2");
    let (hook, _watcher) = held(&world, "Edit", &input);
    let output = |input: &str| {
        asked(&world, input)["output"]
            .as_str()
            .expect("text")
            .to_owned()
    };
    assert_eq!(output(".call.tool"), "\"Edit\"");
    assert_eq!(output(".call.input.new_string"), "\"2\"");
    assert_eq!(output(".predicted[0].then"), "\"one\\n2\\nthree\\n\"");
    assert_eq!(output(".turn.prompt"), "\"change one to two\"");
    assert_eq!(output("1, 2"), "1\n2");
    assert_eq!(output("empty"), "");
    let made = &world.json(["pauses"])["pauses"][0]["made"];
    assert!(made.is_string(), "{made}");
    assert_eq!(output(".call.held.made"), made.to_string());
    let wrong = asked(&world, ".call | foo");
    assert_eq!(
        (&wrong["isError"], &wrong["shows"]),
        (&json!(true), &json!("error"))
    );
    assert!(
        wrong["output"].as_str().expect("text").contains("foo"),
        "{wrong}"
    );
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    world.ok(["resume"]);
    assert_eq!(hook.answer(), Value::Null);
}

/// S5-100, S5-101, S5-102: a command runs in the directory of the call; both of its streams are in the transcript.
#[test]
fn shell_commands() {
    let world = World::committed(&[("a.txt", TEXT)]);
    world.write("a.txt", "one\ntwo\n3\n");
    let input = json!({"command": "make", "description": "x"});
    let (hook, _watcher) = held(&world, "Bash", &input);
    let diff = asked(&world, "!git diff --no-color");
    assert!(
        diff["stdout"].as_str().expect("text").contains("+3"),
        "{diff}"
    );
    assert_eq!(
        (&diff["shows"], &diff["isError"]),
        (&json!("stdout"), &json!(false))
    );
    let both = asked(&world, "!echo out; echo err >&2; exit 3");
    assert_eq!(both["stdout"], "out\nerr\n");
    assert_eq!(
        (both["output"].as_str(), both["shows"].as_str()),
        (Some("exit status: 3"), Some("both"))
    );
    let none = asked(&world, "!");
    assert_eq!(none["isError"], true);
    world.ok(["resume"]);
    hook.answer();
}

/// S5-032: the input is changed, shown, and the call continues with it; the session closes with the pause.
#[test]
fn the_input_is_changed() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let input = edit(&world, "a.txt", "two", "2");
    let (hook, _watcher) = held(&world, "Edit", &input);
    let set = asked(&world, ":set .new_string \"zwei\"");
    assert!(
        set["output"].as_str().expect("text").contains("+zwei"),
        "{set}"
    );
    assert_eq!(
        asked(&world, ".call.input.new_string")["output"],
        "\"zwei\""
    );
    assert!(
        asked(&world, ":diff")["output"]
            .as_str()
            .expect("text")
            .contains("-two")
    );
    assert!(
        asked(&world, ":input")["output"]
            .as_str()
            .expect("text")
            .contains("zwei")
    );
    let again = asked(&world, ":set .new_string \"zwei\"");
    let said = again["output"].as_str().expect("text");
    assert!(
        said.starts_with("the input is the same as before\n"),
        "{again}"
    );
    let list = world.ok(["repl", "list"]).stdout;
    let row = list.lines().next().unwrap_or_default();
    assert!(
        row.starts_with("p1   closed Edit  A “change one to two”"),
        "{list}"
    );
    let id = &world.json(["repl", "list"])["sessions"][0]["id"];
    assert!(row.ends_with(id.as_str().expect("an id")), "{list}");
    asked(&world, ":reset");
    assert_eq!(asked(&world, ".call.input.new_string")["output"], "\"2\"");
    for wrong in [
        ":set",
        ":set .new_string",
        ":set .. 3",
        ":nothing",
        ":set .a[ 3",
    ] {
        assert_eq!(asked(&world, wrong)["isError"], true, "{wrong}");
    }
    asked(&world, ":set .new_string drei");
    world.ok(["resume"]);
    let answer = hook.answer();
    assert_eq!(
        answer["hookSpecificOutput"]["updatedInput"]["new_string"],
        "drei"
    );
    let list = world.json(["repl", "list"]);
    let all = list["sessions"].as_array().expect("sessions");
    assert!(
        all.iter().all(|session| session["status"] == "closed"),
        "{list}"
    );
    let found = world.json(["repl", "list", "--search", "drei"]);
    assert_eq!(
        found["sessions"].as_array().map(Vec::len),
        Some(1),
        "{found}"
    );
}

/// S5-109…113, S5-118: an evaluation without end is stopped, with everything that it has started. The hold continues, and so
/// does the session.
#[test]
fn an_evaluation_without_end() {
    let world = World::committed(&[("a.txt", TEXT)]);
    world.configure("[repl]\nevalTimeout = 1\n");
    let input = json!({"command": "make", "description": "x"});
    let (hook, _watcher) = held(&world, "Bash", &input);
    for endless in [
        "!sleep 300",
        "!while :; do :; done",
        "def f: f; f",
        "[range(1e18)] | length",
    ] {
        let entry = asked(&world, endless);
        assert_eq!(entry["isError"], true, "{entry}");
    }
    assert_eq!(asked(&world, "1 + 1")["output"], "2");
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    world.ok(["skip"]);
    hook.answer();
}

/// S5-014, S5-120…122: a decision in the midst of an evaluation closes the session at once, and the late result is dropped.
#[test]
fn a_decision_in_the_midst_of_an_evaluation() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let input = json!({"command": "make", "description": "x"});
    let (hook, _watcher) = held(&world, "Bash", &input);
    let mut asks = world.backstitch();
    asks.args(["repl", "p1", "-e", "!touch begun; sleep 300"]);
    let asks = asks
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("a terminal");
    while !world.path("begun").exists() {
        std::thread::yield_now();
    }
    world.ok(["resume"]);
    hook.answer();
    let output = asks.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("is closed: its pause was decided"),
        "{said}"
    );
    let list = world.json(["repl", "list"]);
    assert_eq!(list["sessions"][0]["entries"], 0);
}

/// S5-024, S5-050, S5-055, S5-056: the errors of a session that cannot be had.
#[test]
fn sessions_that_cannot_be_had() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let input = edit(&world, "a.txt", "two", "2");
    let (hook, _watcher) = held(&world, "Edit", &input);
    let failed = world.run(["repl", "p7", "-e", "1"]);
    assert!(failed.stderr.contains("p7"), "{failed}");
    let failed = world.run(["repl", "p1", "-e", " "]);
    assert!(
        failed.stderr.contains("`expression` is missing, or empty"),
        "{failed}"
    );
    world.ok(["resume"]);
    hook.answer();
    let failed = world.run(["repl", "p1", "-e", "1"]);
    assert!(failed.stderr.contains("p1 is not held"), "{failed}");
    let failed = world.run(["repl", "show", "1-1.000000"]);
    assert!(
        failed.stderr.contains("there is no REPL session"),
        "{failed}"
    );
}

/// An agent does not evaluate on its own behalf.
#[test]
fn an_agent_is_refused() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let input = edit(&world, "a.txt", "two", "2");
    let (hook, _watcher) = held(&world, "Edit", &input);
    let mut command = world.backstitch();
    command
        .env("CLAUDECODE", "1")
        .args(["repl", "p1", "-e", "1"]);
    let output = command.output().expect("run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("may not decide on its own calls"), "{said}");
    world.ok(["resume"]);
    hook.answer();
}

/// U-04: the output of a command is masked and is there once: secrets of the agent's environment, and all that looks like one.
/// They are in no store and no client.
#[test]
fn secrets_in_outputs_are_masked() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let input = json!({"command": "make", "description": "x"});
    let (hook, _watcher) = held(&world, "Bash", &input);
    let entry = asked(&world, "!echo \"it is $DEPLOY_TOKEN\"; exit 3");
    assert_eq!(entry["stdout"], "it is ***\n", "{entry:#}");
    assert_eq!(entry["output"], "exit status: 3", "{entry:#}");
    let printed = world.ok(["repl", "p1", "-e", "!env | grep DEPLOY; echo once"]);
    assert_eq!(printed.stdout, "DEPLOY_TOKEN=***\nonce\n");
    let lines = "!printf 'Authorization: Bearer abcdefgh1234\\nhttps://me:%s@host\\n' pass";
    let entry = asked(&world, lines);
    let masked = "Authorization: Bearer ***\nhttps://me:***@host\n";
    assert_eq!(entry["stdout"], masked, "{entry:#}");
    world.ok(["skip"]);
    hook.answer();
    let id = world.json(["repl", "list"])["sessions"][0]["id"].clone();
    let shown = world.ok(["repl", "show", id.as_str().expect("an id")]);
    assert!(!shown.stdout.contains("battery"), "{shown}");
    for name in ["control.db", "control.db-wal"] {
        let bytes = std::fs::read(world.store().join(name)).unwrap_or_default();
        let has = bytes
            .windows(SECRET.len())
            .any(|part| part == SECRET.as_bytes());
        assert!(!has, "{name} has the secret");
    }
}

/// U-05: an expression in `${{ }}` is evaluated, and not given to a shell.
#[test]
fn an_expression_of_ci_is_evaluated() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let input = json!({"command": "make", "description": "x"});
    let (hook, _watcher) = held(&world, "Bash", &input);
    let entry = asked(&world, "${{ .call.input.command }}");
    assert_eq!(entry["output"], "\"make\"", "{entry:#}");
    let entry = asked(&world, "${{ $(touch ran) }}");
    assert_eq!(entry["isError"], true, "{entry:#}");
    assert!(!world.exists("ran"));
    world.ok(["skip"]);
    hook.answer();
}

/// A command that takes too long is stopped, also where it has left its process group; its output so far is kept. One that eats
/// memory ends.
#[test]
fn a_command_without_end_leaves_its_output_and_no_process() {
    let world = World::committed(&[("a.txt", TEXT)]);
    world.configure("[repl]\nevalTimeout = 2\n");
    let input = json!({"command": "make", "description": "x"});
    let (hook, _watcher) = held(&world, "Bash", &input);
    let mark = format!("{}.7", 100_000 + std::process::id());
    let entry = asked(
        &world,
        &format!("!echo begun; setsid sh -c 'sleep {mark}; :' & setsid -f sleep {mark}; sleep 300"),
    );
    assert_eq!(entry["isError"], true, "{entry:#}");
    assert_eq!(entry["stdout"], "begun\n", "{entry:#}");
    let output = entry["output"].as_str().expect("text");
    assert_eq!(output, "it did not end within 2 s, and was stopped");
    let left = || {
        let all = std::fs::read_dir("/proc").expect("processes").flatten();
        let left = all.filter(|process| {
            let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(&mark)
        });
        left.count()
    };
    // a process that was killed takes a moment to go
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while left() > 0 && std::time::Instant::now() < until {
        std::thread::yield_now();
    }
    assert_eq!(left(), 0);
    world.configure("[repl]\nevalTimeout = 60\n");
    let eats = "!python3 -c 'print(len(bytearray(6 << 30)))'";
    let entry = asked(&world, eats);
    let printed = entry["stdout"].as_str().expect("text");
    assert!(printed.contains("MemoryError"), "{entry:#}");
    assert_eq!(world.json(["pauses"])["pauses"][0]["state"], "held");
    world.ok(["skip"]);
    hook.answer();
}

/// A script rests on its changes: one that fails ends it with a failure, and an assignment with `=` is none.
#[test]
fn an_input_that_fails_ends_a_script() {
    let world = World::committed(&[("a.txt", TEXT)]);
    let input = json!({ "command": "rm -rf build" });
    let (hook, _watcher) = held(&world, "Bash", &input);
    for input in [
        ":set .command",
        ":sett .command \"ls\"",
        ":set .command = \"ls\"",
        ":unset .command",
        ".command |",
    ] {
        let failed = world.run(["repl", "p1", "-e", input, "-e", "1"]);
        assert_eq!(failed.code, 1, "{input}: {failed}");
        assert!(failed.stderr.contains("failed"), "{input}: {failed}");
    }
    world.ok(["repl", "p1", "-e", ":set .command \"ls\""]);
    world.ok(["resume"]);
    let input = &hook.answer()["hookSpecificOutput"]["updatedInput"];
    assert_eq!(input["command"], "ls");
}
