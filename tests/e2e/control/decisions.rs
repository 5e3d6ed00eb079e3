//! Decisions on held calls: the agent's answer, the files, and the history.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::thread;

use serde_json::{Value, json};

use super::{HeldHook, Watcher, after, before, began, decided, decision, edit, reason};
use crate::lsp::client::{Client, Editor};
use crate::support::World;

const FILE: &str = "a.txt";

fn world() -> World {
    World::committed(&[(FILE, "one\ntwo\nthree\n")])
}

/// The agent's calls in the history: tool and label of each step, oldest first.
fn steps(world: &World) -> Vec<String> {
    let log = world.json(["log", "--all", "--kind", "step", "--reverse"]);
    let all = log["checkpoints"].as_array().expect("checkpoints").iter();
    let mut tools: Vec<String> = all
        .map(|one| one["tool"].as_str().unwrap_or_default().to_owned())
        .collect();
    tools.reverse();
    tools
}

/// S2-014: a denied call is not recorded, and the reason reaches the model. S2-096: commands reach the running agent.
#[test]
fn a_call_is_denied_with_a_reason() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let (_, answer) = decided(&world, &payload, &["deny", "-m", "use two"]);
    assert_eq!(decision(&answer), Some("deny"));
    assert_eq!(reason(&answer), "use two");
    assert_eq!(answer["continue"], Value::Null);
    // no call is left open: what the user does now is the user's
    world.write(FILE, "ONE\ntwo\nthree\n");
    agent.stop();
    let blame = world.json(["blame", FILE]);
    assert_eq!(blame["lines"][0]["by"], "user", "{blame:#}");
    assert_eq!(steps(&world), [""; 0]);
}

/// A call continues with another input, as a whole and without a permission; the model is informed.
#[test]
fn a_changed_input_runs() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, FILE, "one", "1");
    let payload = before(&agent, "c1", "Edit", &input);
    let changed = edit(&world, FILE, "two", "2");
    world.write("../input.json", changed.to_string());
    let file = world.path("../input.json");
    let file = file.to_str().expect("text");
    let (_, answer) = decided(&world, &payload, &["resume", "--input", file]);
    let specific = &answer["hookSpecificOutput"];
    assert_eq!(specific["updatedInput"], changed);
    assert_eq!(specific["permissionDecision"], Value::Null);
    let note = specific["additionalContext"].as_str().expect("a note");
    assert!(note.contains("The user changed this call"), "{note}");
    world.write(FILE, "one\n2\nthree\n");
    let response = json!({"filePath": world.path(FILE), "oldString": "two", "newString": "2",
        "originalFile": "one\ntwo\nthree\n", "structuredPatch": [], "userModified": false, "replaceAll": false});
    world
        .hook(&after(&agent, "c1", "Edit", &changed, &response))
        .expect_code(0);
    agent.stop();
    let blame = world.json(["blame", FILE]);
    assert_eq!(blame["lines"][1]["by"], "agent", "{blame:#}");
    assert_eq!(steps(&world), ["Edit"]);
}

/// A skipped call does not run; `stop` ends the turn as well, and no call is left open.
#[test]
fn a_call_is_skipped_or_its_turn_stopped() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Bash"]);
    let input = json!({"command": "rm a.txt", "description": "x"});
    let (_, answer) = decided(&world, &before(&agent, "c1", "Bash", &input), &["skip"]);
    assert_eq!(decision(&answer), Some("deny"));
    assert!(reason(&answer).contains("skipped"), "{answer}");
    let (_, answer) = decided(
        &world,
        &before(&agent, "c2", "Bash", &input),
        &["stop", "-m", "enough"],
    );
    assert_eq!(decision(&answer), Some("deny"));
    assert_eq!(
        (&answer["continue"], &answer["stopReason"]),
        (&json!(false), &json!("enough"))
    );
    let status = world.json(["status"]);
    assert_eq!(status["open_calls"].as_i64().unwrap_or(0), 0, "{status:#}");
}

/// S2-093: steps stop at the next call of the thread, of any thread, or at another file.
#[test]
fn steps_stop_at_the_next_call() {
    let world = world();
    let agent = began(&world);
    world.ok(["pause"]);
    let first = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let (pause, _) = decided(&world, &first, &["step"]);
    assert_eq!(pause["id"], "p1");
    let subagent = agent.subagent();
    let input = json!({"command": "true", "description": "x"});
    let nested = before(&subagent, "n1", "Bash", &input);
    // the step is about the main thread
    assert_eq!(HeldHook::start(&world, &nested, 600).answer(), Value::Null);
    let second = before(&agent, "c2", "Edit", &edit(&world, FILE, "two", "2"));
    let (pause, _) = decided(&world, &second, &["step", "into"]);
    assert_eq!(pause["id"], "p2");
    let nested = before(&subagent, "n2", "Bash", &input);
    let (pause, _) = decided(&world, &nested, &["resume"]);
    assert_eq!(pause["id"], "p3");
    assert!(pause["subagent"].is_string(), "{pause:#}");
    let third = before(&agent, "c3", "Edit", &edit(&world, FILE, "three", "3"));
    assert_eq!(HeldHook::start(&world, &third, 600).answer(), Value::Null);
}

/// `back` takes the session's last steps out, keeps the user's edits, and tells the model.
#[test]
fn steps_are_taken_out_while_a_call_is_held() {
    let world = world();
    let agent = began(&world);
    agent.edit(FILE, "one", "1");
    agent.edit(FILE, "two", "2");
    world.write(FILE, "1\n2\nthree\nmine\n");
    world.ok(["pause"]);
    let payload = before(&agent, "c9", "Edit", &edit(&world, FILE, "three", "3"));
    let (_, answer) = decided(&world, &payload, &["back", "2"]);
    assert_eq!(world.read(FILE), "one\ntwo\nthree\nmine\n");
    assert_eq!(decision(&answer), Some("deny"));
    assert!(
        reason(&answer).contains("reverted your last 2 steps"),
        "{answer}"
    );
}

/// Calls that ran at the same time go together: `back` names each step that it took out.
#[test]
fn steps_that_overlap_are_named() {
    let world = world();
    let agent = began(&world);
    let sleeping = json!({ "command": "sleep 60", "description": "wait" });
    agent.pre("Bash", sleeping.clone());
    agent.bash("sed -i s/three/drei/ a.txt");
    agent.pre("Bash", sleeping);
    agent.bash("sed -i s/drei/tres/ a.txt");
    world.ok(["pause"]);
    let payload = before(&agent, "c9", "Edit", &edit(&world, FILE, "one", "1"));
    let mut watcher = Watcher::start(&world);
    let hook = HeldHook::start(&world, &payload, 600);
    watcher.until("held");
    let back = world.ok(["back"]);
    let answer = hook.answer();
    let log = world.json(["log", "--all", "--kind", "step"]);
    let all = log["checkpoints"].as_array().expect("checkpoints").iter();
    let out: Vec<&str> = all
        .filter(|one| one["taken_out"] == true)
        .map(|one| one["id"].as_str().expect("an id"))
        .collect();
    let count = if out.len() == 1 {
        "step".to_owned()
    } else {
        format!("{} steps", out.len())
    };
    assert!(!out.is_empty(), "{log:#}");
    for told in [reason(&answer), &back.stdout] {
        assert!(
            told.contains(&format!("reverted your last {count}")),
            "{told}\n{log:#}"
        );
        for id in &out {
            assert!(told.contains(id), "{id}: {told}");
        }
    }
    let text = if out.len() == 1 {
        "one\ntwo\ndrei\n"
    } else {
        "one\ntwo\nthree\n"
    };
    assert_eq!(world.read(FILE), text);
}

/// A decision that comes while `back` takes steps out is the first one: the steps are put back.
#[test]
fn steps_are_put_back_for_another_decision() {
    let world = world();
    let agent = began(&world);
    agent.edit(FILE, "one", "1");
    world.ok(["pause"]);
    let payload = before(&agent, "c9", "Edit", &edit(&world, FILE, "three", "3"));
    let mut watcher = Watcher::start(&world);
    let hook = HeldHook::start(&world, &payload, 600);
    watcher.until("held");
    // the restore waits for this lock, and holds the gate meanwhile
    let open = |name: &str| {
        let mut options = File::options();
        options.create(true).truncate(false).write(true);
        options.open(world.store().join(name)).expect(name)
    };
    let lock = open("restore.lock");
    lock.lock().expect("a lock");
    let gate = open("restore.gate");
    let back = thread::scope(|scope| {
        let back = scope.spawn(|| world.run(["back"]));
        while gate.try_lock().is_ok() {
            gate.unlock().expect("unlocked");
            thread::yield_now();
        }
        world.ok(["skip"]);
        lock.unlock().expect("unlocked");
        back.join().expect("ended")
    });
    assert_eq!(back.code, 2, "{back}");
    assert!(
        back.stderr.contains("the reverted steps are restored"),
        "{back}"
    );
    assert_eq!(world.read(FILE), "1\ntwo\nthree\n");
    assert_eq!(decision(&hook.answer()), Some("deny"));
    world.ok(["verify"]);
}

/// A text goes with the next event that can carry it, once.
#[test]
fn a_text_is_injected() {
    let world = world();
    let mut agent = began(&world);
    world.ok(["inject", "the tests are in tests/unit"]);
    let answer: Value = agent.prompt("go on").json();
    let text = &answer["hookSpecificOutput"]["additionalContext"];
    assert_eq!(text, "the tests are in tests/unit");
    assert_eq!(agent.prompt("and on").stdout, "");
    assert!(!world.store().join("armed").exists());
}

/// The first decision counts. The second is refused, and says who was first.
#[test]
fn a_pause_is_decided_once() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let (pause, _) = decided(&world, &payload, &["resume"]);
    let id = pause["id"].as_str().expect("an id");
    let again = world.run(["deny", id, "-m", "no"]);
    assert_eq!(again.code, 1, "{again}");
    assert!(
        again
            .stderr
            .contains("p1 was decided on already: continued, in a terminal"),
        "{again}"
    );
}

/// An agent does not decide on its own calls, unless the user allows it.
#[test]
fn a_command_from_inside_an_agent_is_refused() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    let mut watcher = Watcher::start(&world);
    let hook = HeldHook::start(&world, &payload, 600);
    watcher.until("held");
    let inside = |args: &[&str]| {
        let mut command = world.backstitch();
        command.args(args).env("CLAUDECODE", "1");
        crate::support::finish(&mut command, b"")
    };
    for args in [
        &["resume"][..],
        &["step"],
        &["skip"],
        &["deny", "-m", "x"],
        &["stop"],
        &["back"],
        &["inject", "x"],
        &["pause"],
        &["breakpoint", "clear"],
        &["breakpoint", "add", "error"],
        &["rewind", "t1", "--yes"],
        &["gc"],
        &["clear", "--yes"],
    ] {
        let refused = inside(args);
        assert_eq!(refused.code, 1, "{refused}");
        assert!(refused.stderr.contains("runs inside an agent"), "{refused}");
        // a model would take the way round
        assert!(!refused.stderr.contains("allowControl"), "{refused}");
        assert!(refused.stderr.contains("your user's"), "{refused}");
    }
    inside(&["pauses"]).expect_code(0);
    inside(&["breakpoint", "list"]).expect_code(0);
    world.configure("[agents]\nallowControl = true\n");
    inside(&["resume"]).expect_code(0);
    assert_eq!(hook.answer(), Value::Null);
}

/// Every command about held calls takes a session, by its letter or its id.
#[test]
fn every_command_takes_a_session() {
    let world = world();
    for command in [
        "pauses", "pause", "resume", "step", "skip", "deny", "stop", "inject", "back", "inspect",
        "debug",
    ] {
        let help = world.ok([command, "--help"]).stdout;
        assert!(help.contains("-s, --session"), "{command}: {help}");
    }
    let help = world.ok(["breakpoint", "add", "tool", "--help"]).stdout;
    assert!(help.contains("--session"), "{help}");

    let (first, second) = (began(&world), began(&world));
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let input = edit(&world, FILE, "one", "1");
    let mut watcher = Watcher::start(&world);
    let a = HeldHook::start(&world, &before(&first, "c1", "Edit", &input), 600);
    watcher.until("held");
    let b = HeldHook::start(&world, &before(&second, "c2", "Edit", &input), 600);
    watcher.until("held");
    let several = world.run(["resume"]).expect_code(2);
    assert!(several.stderr.contains("name one of p1, p2"), "{several}");
    let only = world.json(["pauses", "-s", "B"]);
    assert_eq!(only["pauses"].as_array().map(Vec::len), Some(1), "{only:#}");
    assert_eq!(only["pauses"][0]["session"], second.session());
    world.ok(["deny", "-s", "B", "-m", "not this one"]);
    assert_eq!(reason(&b.answer()), "not this one");
    world.ok(["resume", "-s", &first.session()]);
    assert_eq!(a.answer(), Value::Null);
}

/// A call that continues is never called lost: its lock is free only once the agent has the answer.
#[test]
fn a_call_that_goes_on_is_not_lost() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut watcher = Watcher::start(&world);
    for n in 0..8 {
        let id = format!("c{n}");
        let payload = before(&agent, &id, "Edit", &edit(&world, FILE, "one", "1"));
        let hook = HeldHook::start(&world, &payload, 600);
        watcher.until("held");
        world.ok(["resume"]);
        loop {
            let all = world.json(["pauses", "--all"]);
            let newest = all["pauses"]
                .as_array()
                .and_then(|all| all.last())
                .expect("a pause");
            assert_ne!(newest["state"], "lost", "{n}: {newest:#}");
            if newest["state"] == "answered" {
                break;
            }
        }
        hook.end();
    }
}

/// A call that waits for its agent's next try does not stand in the way of one that is held.
#[test]
fn a_held_call_comes_before_a_parked_one() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    world.configure("[pause]\ntimeout = 1\n");
    let first = before(&agent, "c1", "Edit", &edit(&world, FILE, "one", "1"));
    HeldHook::start(&world, &first, 600).answer();
    world.configure("");
    let second = before(&agent, "c2", "Edit", &edit(&world, FILE, "two", "2"));
    let (pause, answer) = decided(&world, &second, &["skip"]);
    assert_eq!(
        (pause["id"].as_str(), decision(&answer)),
        (Some("p2"), Some("deny"))
    );
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"][0]["state"], "parked", "{open:#}");
    world.ok(["resume"]);
}

/// A watch tells what comes after its start, and nothing from before it.
#[test]
fn a_watch_tells_only_news() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    for id in ["c1", "c2"] {
        let payload = before(&agent, id, "Edit", &edit(&world, FILE, "one", "1"));
        decided(&world, &payload, &["skip"]);
    }
    let mut watcher = Watcher::start(&world);
    let payload = before(&agent, "c3", "Edit", &edit(&world, FILE, "one", "1"));
    let hook = HeldHook::start(&world, &payload, 600);
    let first = watcher.next();
    assert_eq!(
        (&first["id"], &first["state"]),
        (&json!("p3"), &json!("held"))
    );
    world.ok(["skip"]);
    hook.answer();
    let second = watcher.next();
    assert_eq!(second["id"], "p3", "{second:#}");
}

/// A script drives `debug`: it writes keys, and reads a JSON document per line. The end of its stdin ends it, also while no
/// call is held.
#[test]
fn a_script_debugs() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut command = world.backstitch();
    command.args(["debug", "--json"]);
    let mut debugger = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut keys = debugger.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(debugger.stdout.take().expect("a pipe")).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("a line").expect("text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    let input = edit(&world, FILE, "one", "1");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    let shown = next();
    assert_eq!(shown["pause"]["id"], "p1", "{shown:#}");
    assert_eq!(shown["predicted"][0]["path"], FILE, "{shown:#}");
    writeln!(keys, "d use the helper").expect("written");
    let decided = next();
    assert_eq!(decided["pause"]["decidedBy"], "cli", "{decided:#}");
    assert_eq!(reason(&hook.answer()), "use the helper");
    drop(keys);
    assert!(debugger.wait().expect("it ends").success());
}

/// `inspect` shows the input, too, as a person reads it.
#[test]
fn inspect_shows_the_input() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut watcher = Watcher::start(&world);
    let input = edit(&world, FILE, "one", "1");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    watcher.until("held");
    let shown = world.ok(["inspect"]).stdout;
    assert!(shown.contains("  old_string one\n"), "{shown}");
    assert!(shown.contains("  new_string 1\n"), "{shown}");
    assert!(shown.contains("  +1\n"), "{shown}");
    world.ok(["resume"]);
    hook.answer();
}

/// A command of several lines is not shown as if its first were all.
#[test]
fn a_command_of_several_lines_says_so() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Bash"]);
    let mut watcher = Watcher::start(&world);
    let input = json!({"command": "ls\n\nrm -rf x\necho", "description": "x"});
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Bash", &input), 600);
    assert_eq!(watcher.until("held")["summary"], "Bash ls … (2 more lines)");
    let shown = world.ok(["pauses"]).stdout;
    assert!(shown.contains("Bash ls … (2 more lines)"), "{shown}");
    // and `inspect` hides none
    let shown = world.ok(["inspect"]).stdout;
    assert!(
        shown.contains("  command\n    ls\n    \n    rm -rf x\n    echo\n"),
        "{shown}"
    );
    world.ok(["skip"]);
    hook.answer();
}

/// An input that the agent's tool would not take is refused on the command line and over LSP; one as it was is not a change.
#[test]
fn an_input_is_checked_everywhere() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let own = json!({ "reloadsFromDisk": true, "notifications": true, "panels": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open(FILE);
    let mut watcher = Watcher::start(&world);
    let input = edit(&world, FILE, "one", "1");
    let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
    watcher.until("held");
    let mut number = input.clone();
    number["new_string"] = json!(5);
    let mut missing = input.clone();
    missing["old_string"] = json!("nowhere");
    for (wrong, why) in [
        (number, "another type"),
        (missing, "will refuse"),
        (json!({"new_string": "x"}), "has no `"),
    ] {
        world.write("../input.json", wrong.to_string());
        let refused = world
            .run(["resume", "--input", "../input.json"])
            .expect_code(1);
        assert!(refused.stderr.contains(why), "{refused}");
        let arguments = json!([{ "pause": "p1", "input": wrong }]);
        let asked = json!({ "command": "backstitch.resume", "arguments": arguments });
        let refused = client.fails("workspace/executeCommand", asked);
        let message = refused["message"].as_str().unwrap_or_default();
        assert!(message.contains(why), "{refused:#}");
    }
    world.write("../input.json", input.to_string());
    world.ok(["resume", "--input", "../input.json"]);
    // the model is not told of a change
    assert_eq!(hook.answer(), Value::Null);
    client.leave();
}
