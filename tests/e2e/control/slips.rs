//! Calls that must not slip past what is armed.

use serde_json::{Value, json};

use super::{HeldHook, Watcher, after, before, began, decision, edit};
use crate::support::agent::Agent;
use crate::support::{World, finish};

const FILE: &str = "a.txt";

/// A held call is denied at once, since nobody watches.
fn world() -> World {
    let world = World::committed(&[(FILE, "one\ntwo\nthree\n"), ("src/auth/key.rs", "key\n")]);
    world.configure("[pause]\nunattended = \"deny\"\n");
    world
}

fn answer(world: &World, payload: &Value) -> Value {
    HeldHook::start(world, payload, 600).answer()
}

/// True if something that is armed stops the call.
fn stops(world: &World, payload: &Value) -> bool {
    decision(&answer(world, payload)) == Some("deny")
}

fn bash(agent: &Agent<'_>, id: &str, command: &str) -> Value {
    let input = json!({"command": command, "description": "x"});
    before(agent, id, "Bash", &input)
}

/// Answer to a payload as text, which need not be strict JSON.
fn stops_text(world: &World, payload: &Value, mark: &str, text: &str) -> bool {
    let payload = payload.to_string().replace(mark, text);
    decision(&HeldHook::start_with(world, payload.as_bytes(), 600).answer()) == Some("deny")
}

/// Half of an emoji, as agents write it, hides nothing; an input that cannot be read at all counts as a match.
#[test]
fn an_input_that_is_no_strict_json() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "command", "rm"]);
    let payload = bash(&agent, "c1", "rm x MARK");
    assert!(stops_text(&world, &payload, "MARK", r"\ud83d"));
    let payload = bash(&agent, "c2", "ls MARK");
    assert!(!stops_text(&world, &payload, "MARK", r"\ud83d"));
    assert!(stops_text(&world, &payload, "\"x\"", "1e999"));
    world.ok(["breakpoint", "clear"]);
    world.ok(["breakpoint", "add", "content", "FIXME"]);
    let input = edit(&world, FILE, "two", "FIXME MARK");
    let payload = before(&agent, "c3", "Edit", &input);
    assert!(stops_text(&world, &payload, "MARK", r"\ude00"));
}

/// Without its database, what is armed stays armed.
#[test]
fn a_lost_database_disarms_nothing() {
    for emptied in [false, true] {
        let world = world();
        let agent = began(&world);
        world.ok(["breakpoint", "add", "path", FILE]);
        world.ok(["breakpoint", "add", "tool", "Bash"]);
        world.ok(["breakpoint", "remove", "b2"]);
        world.ok(["breakpoint", "add", "tool", "Write"]);
        for file in ["control.db-wal", "control.db-shm", "control.db"] {
            std::fs::remove_file(world.store().join(file)).ok();
        }
        if emptied {
            world.write(world.store().join("control.db"), "");
        }
        let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "two", "2"));
        assert!(stops(&world, &payload), "emptied: {emptied}");
        let list = world.json(["breakpoint", "list"]);
        let ids: Vec<&Value> = list["breakpoints"]
            .as_array()
            .expect("breakpoints")
            .iter()
            .map(|one| &one["id"])
            .collect();
        assert_eq!(ids, ["b1", "b3"]);
        assert!(!stops(&world, &bash(&agent, "c2", "ls")));
    }
}

/// A damaged row does not keep the user from a clean start.
#[test]
fn a_damaged_breakpoint_is_cleared() {
    let world = world();
    began(&world);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    world.ok(["breakpoint", "add", "tool", "Bash"]);
    let database = rusqlite::Connection::open(world.store().join("control.db")).expect("opened");
    database
        .execute("UPDATE breakpoint SET spec = '{' WHERE id = 1", [])
        .expect("damaged");
    drop(database);
    assert_ne!(world.run(["breakpoint", "list"]).code, 0);
    world.ok(["breakpoint", "clear"]);
    let list = world.json(["breakpoint", "list"]);
    assert_eq!(list["breakpoints"], json!([]));
}

/// Each way to name a directory arms it, and each way to mention a file below it is seen before the call runs.
#[test]
fn a_path_is_named_in_many_ways() {
    let world = world();
    let agent = began(&world);
    let root = world.root.clone();
    let key = world.path("src/auth/key.rs");
    let absolute = format!("{}/src/auth", root.display());
    let patterns = [
        "src/auth/**",
        "src/auth",
        "src/auth/",
        "./src/auth/**",
        "src//auth/*",
        &absolute,
    ];
    for (n, pattern) in patterns.iter().enumerate() {
        world.ok(["breakpoint", "clear"]);
        world.ok(["breakpoint", "add", "path", pattern]);
        let input = edit(&world, "src/auth/key.rs", "key", "lock");
        let payload = before(&agent, &format!("p{n}"), "Edit", &input);
        assert!(stops(&world, &payload), "{pattern}");
    }
    let key = key.to_string_lossy().into_owned();
    let commands = [
        "rm -rf src/auth".to_owned(),
        "rm -rf src".to_owned(),
        "cd src/auth && rm key.rs".to_owned(),
        "rm \"$PWD/src/auth/key.rs\"".to_owned(),
        "rm ${PWD}/src/auth/key.rs".to_owned(),
        "sh -c \"rm src/auth/key.rs\"".to_owned(),
        "git checkout HEAD:src/auth/key.rs".to_owned(),
        "rm src/{auth,b}/key.rs".to_owned(),
        format!("rm {key}"),
    ];
    for (n, command) in commands.iter().enumerate() {
        assert!(
            stops(&world, &bash(&agent, &format!("b{n}"), command)),
            "{command}"
        );
    }
    assert!(!stops(&world, &bash(&agent, "b99", "rm srcs a.txt")));
    let others = [
        ("Read", json!({ "file_path": key })),
        ("Grep", json!({"pattern": "x", "path": "src/auth"})),
        ("mcp__fs__write_file", json!({"path": key, "content": "x"})),
        ("mcp__fs__move", json!({"files": ["a", key]})),
    ];
    for (tool, input) in others {
        assert!(stops(&world, &before(&agent, tool, tool, &input)), "{tool}");
    }
}

/// A file is the same one behind a link.
#[test]
#[cfg(unix)]
fn links_hide_no_file() {
    let world = world();
    let agent = began(&world);
    let link = world.home.join("link");
    std::os::unix::fs::symlink(&world.root, &link).expect("linked");
    std::os::unix::fs::symlink("src/auth", world.root.join("inner")).expect("linked");
    world.ok(["breakpoint", "add", "path", "src/auth/**"]);
    world.ok(["breakpoint", "add", "line", "a.txt:2"]);
    let through = |path: &str| link.join(path).to_string_lossy().into_owned();
    let edit_of = |id: &str, path: &str, old: &str| {
        let input = json!({"file_path": path, "old_string": old, "new_string": "x"});
        let mut payload = before(&agent, id, "Edit", &input);
        payload["cwd"] = json!(link.to_string_lossy());
        payload
    };
    assert!(stops(
        &world,
        &edit_of("c1", &through("src/auth/key.rs"), "key")
    ));
    assert!(stops(&world, &edit_of("c2", &through("a.txt"), "two")));
    assert!(!stops(&world, &edit_of("c3", &through("a.txt"), "three")));
    let inner = world.path("inner/key.rs").to_string_lossy().into_owned();
    assert!(stops(&world, &edit_of("c4", &inner, "key")));
    for (id, command) in [
        ("b1", "rm src/auth/key.rs".to_owned()),
        ("b2", format!("rm {}", through("src/auth/key.rs"))),
        ("b3", "rm inner/key.rs".to_owned()),
    ] {
        let mut payload = bash(&agent, id, &command);
        payload["cwd"] = json!(link.to_string_lossy());
        assert!(stops(&world, &payload), "{command}");
    }
}

/// A file whose lines cannot be compared is held rather than let pass.
#[test]
fn large_files_and_other_encodings_do_not_slip() {
    let world = world();
    let agent = began(&world);
    world.write("big.txt", "a line of text\n".repeat(100_000));
    world.write("latin.txt", b"caf\xe9\ntwo\n");
    world.ok(["breakpoint", "add", "content", "FIXME"]);
    let large = json!({
        "file_path": world.path("new.txt"),
        "content": format!("{}FIXME\n", "text\n".repeat(300_000)),
    });
    assert!(stops(&world, &before(&agent, "c1", "Write", &large)));
    for (id, file, old) in [("c2", "big.txt", "a line"), ("c3", "latin.txt", "two")] {
        let input = edit(&world, file, old, "FIXME");
        assert!(stops(&world, &before(&agent, id, "Edit", &input)), "{file}");
        let input = edit(&world, file, old, "fine");
        let id = format!("{id}b");
        assert!(
            !stops(&world, &before(&agent, &id, "Edit", &input)),
            "{file}"
        );
    }
}

/// Calls that run at the same time get the same number: the breakpoint holds the next one. One that was made too late
/// holds none.
#[test]
fn an_iteration_is_not_skipped() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "iteration", "2"]);
    let hooks = ["c1", "c2", "c3"].map(|id| HeldHook::start(&world, &bash(&agent, id, "ls"), 600));
    let answers = hooks.map(HeldHook::answer);
    let mut held = answers
        .iter()
        .filter(|answer| decision(answer) == Some("deny"))
        .count();
    held += usize::from(stops(&world, &bash(&agent, "c4", "ls")));
    assert!(held > 0);
    world.ok(["breakpoint", "clear"]);
    for id in ["c5", "c6", "c7"] {
        assert!(!stops(&world, &bash(&agent, id, "ls")));
    }
    world.ok(["breakpoint", "add", "iteration", "3"]);
    assert!(
        !stops(&world, &bash(&agent, "c8", "ls")),
        "it was made too late"
    );
}

/// A condition sees the text of the error.
#[test]
fn a_condition_sees_the_error() {
    let world = world();
    let agent = began(&world);
    for (when, error) in [(".error == \"boom\"", "boom"), (".error != null", "other")] {
        world.ok(["breakpoint", "clear"]);
        world.ok(["breakpoint", "add", "error", "--when", when]);
        let failed = |id: &str, error: &str| {
            let fields = json!({
                "tool_name": "Bash", "tool_input": {"command": "false"}, "tool_use_id": id,
                "error": error, "is_interrupt": false, "duration_ms": 12,
            });
            agent.payload("PostToolUseFailure", fields)
        };
        answer(&world, &failed(when, error));
        let list = world.json(["breakpoint", "list"]);
        assert_eq!(list["breakpoints"][0]["hitCount"], 1, "{when}");
    }
}

/// An agent that names its calls by no id: the second of two that are alike is held again.
#[test]
fn a_call_without_an_id_is_decided_for_itself() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Bash"]);
    let mut payload = bash(&agent, "", "rm x");
    payload
        .as_object_mut()
        .expect("fields")
        .remove("tool_use_id");
    let held = |world: &World| {
        let pauses = world.json(["pauses", "--all"]);
        pauses["pauses"].as_array().expect("pauses").len()
    };
    assert!(stops(&world, &payload));
    assert_eq!(held(&world), 1);
    // another hook of the same event would come within this time
    let database = rusqlite::Connection::open(world.store().join("control.db")).expect("opened");
    database
        .execute("UPDATE pause SET ended = ended - 3000000", [])
        .expect("aged");
    assert!(stops(&world, &payload));
    assert_eq!(held(&world), 2);
}

/// A change that nobody could predict is no longer denied: the model is informed.
#[test]
fn a_denial_that_comes_too_late_is_told() {
    let world = world();
    let agent = began(&world);
    let options = ["--action", "deny", "--message", "leave it alone"];
    world.ok(["breakpoint", "add", "path", FILE]
        .into_iter()
        .chain(options));
    let input = json!({"command": "python3 make.py", "description": "x"});
    let payload = before(&agent, "c1", "Bash", &input);
    assert_eq!(answer(&world, &payload), Value::Null);
    world.write(FILE, "changed\n");
    let response = json!({"stdout": "", "stderr": "", "interrupted": false});
    let payload = after(&agent, "c1", "Bash", &input, &response);
    let told = answer(&world, &payload);
    assert_eq!(
        told["hookSpecificOutput"]["additionalContext"], "leave it alone",
        "{told:#}"
    );
}

/// A step is taken out only for a call that can still be answered.
#[test]
fn back_changes_nothing_for_a_decided_call() {
    let world = world();
    let agent = began(&world);
    agent.edit(FILE, "two", "2");
    world.ok(["breakpoint", "add", "tool", "Bash"]);
    assert!(stops(&world, &bash(&agent, "c9", "ls")));
    let text = world.read(FILE);
    assert_ne!(world.run(["back", "--pause", "p1"]).code, 0);
    assert_eq!(world.read(FILE), text);
}

/// A stop ends a step and a `pause` that were under way, as in a debugger.
#[test]
fn a_stop_ends_a_step() {
    let world = world();
    let agent = began(&world);
    world.ok(["breakpoint", "add", "tool", "Bash"]);
    world.ok(["pause"]);
    assert!(stops(&world, &bash(&agent, "c1", "ls")));
    let input = edit(&world, FILE, "two", "2");
    assert!(!stops(&world, &before(&agent, "c2", "Edit", &input)));
}

/// Commands that name a directory above, in whatever way, are stopped before they run.
#[test]
fn directories_above_are_named_in_many_ways() {
    let world = world();
    let agent = began(&world);
    let stopped = |n: &str, command: &str| stops(&world, &bash(&agent, n, command));
    world.ok(["breakpoint", "add", "path", "**/auth/**"]);
    for (n, command) in ["rm -rf src/auth", "rm -rf src", "cd src/auth && rm *"]
        .iter()
        .enumerate()
    {
        assert!(stopped(&format!("a{n}"), command), "{command}");
    }
    world.ok(["breakpoint", "clear"]);
    world.ok(["breakpoint", "add", "path", "src/auth/**"]);
    let root = world.root.display();
    let commands = [
        "rm -rf src/*".to_owned(),
        "rm -rf src/au*".to_owned(),
        "rm src/aut?/key.rs".to_owned(),
        "rm -rf .".to_owned(),
        "rm -rf *".to_owned(),
        format!("rm -rf {root}"),
        "cd .. && rm -rf work".to_owned(),
        "git checkout -- .".to_owned(),
        "bash -lc \"bash -c 'rm src/auth/key.rs'\"".to_owned(),
    ];
    for (n, command) in commands.iter().enumerate() {
        assert!(stopped(&format!("b{n}"), command), "{command}");
    }
    let globs = before(&agent, "g1", "Glob", &json!({"pattern": "src/auth/*"}));
    assert!(stops(&world, &globs));
    world.ok(["breakpoint", "clear"]);
    world.ok(["breakpoint", "add", "command", "rm -rf"]);
    let monitor = json!({"command": "rm -rf x", "description": "x"});
    assert!(stops(&world, &before(&agent, "m1", "Monitor", &monitor)));
    assert!(!stops(&world, &bash(&agent, "m2", "ls")));
}

/// A call that was decided while it was parked is one call: the second hook of its retry gets the same answer, and its end
/// is not held.
#[test]
fn a_decided_retry_is_one_call() {
    let world = world();
    world.configure("[pause]\nunattended = \"hold\"\ntimeout = 1\n");
    let agent = began(&world);
    world.ok(["breakpoint", "add", "path", FILE]);
    let input = edit(&world, FILE, "two", "2");
    let parked = answer(&world, &before(&agent, "c1", "Edit", &input));
    assert_eq!(decision(&parked), Some("deny"));
    world.ok(["resume", "p1"]);
    let again = before(&agent, "c2", "Edit", &input);
    let hooks = [
        HeldHook::start(&world, &again, 600),
        HeldHook::start(&world, &again, 600),
    ];
    for hook in hooks {
        assert_eq!(hook.answer(), Value::Null);
    }
    world.write(FILE, "one\n2\nthree\n");
    let response = json!({"filePath": world.path(FILE)});
    assert_eq!(
        answer(&world, &after(&agent, "c2", "Edit", &input, &response)),
        Value::Null
    );
    assert_eq!(super::hits(&world), [("path".to_owned(), 1)]);
    let all = world.json(["pauses", "--all"]);
    assert_eq!(all["pauses"].as_array().map(Vec::len), Some(1), "{all}");
}

/// The end of an edit whose beginning no hook saw. Returns the states of all pauses.
fn ends_unseen(
    world: &World,
    agent: &Agent<'_>,
    id: &str,
    (old, new): (&str, &str),
) -> Vec<String> {
    let text = world.read(FILE);
    world.write(FILE, text.replace(old, new));
    let response = json!({"filePath": world.path(FILE), "oldString": old, "newString": new,
        "originalFile": text, "structuredPatch": [], "userModified": false, "replaceAll": false});
    let ended = after(agent, id, "Edit", &edit(world, FILE, old, new), &response);
    // two hooks of one event
    for _ in 0..2 {
        world.hook(&ended).expect_code(0);
    }
    let all = world.json(["pauses", "--all"]);
    let all = all["pauses"].as_array().expect("pauses").iter();
    all.map(|one| one["state"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// A call that no hook saw before it ran is reported by each kind of breakpoint that would have stopped it.
#[test]
fn a_call_that_no_hook_saw_is_reported() {
    let unseen: [&[&str]; 9] = [
        &["tool", "Edit"],
        &["path", FILE],
        &["line", "a.txt:2"],
        &["content", "TODO"],
        &["pattern", "TODO"],
        &["iteration", "1"],
        &["turn", "1"],
        &["tool", "Edit", "--when", ".predicted | length > 0"],
        &["tool", "Edit", "--action", "deny"],
    ];
    for arguments in unseen {
        let world = world();
        let agent = began(&world);
        world.ok([&["breakpoint", "add"], arguments].concat());
        let states = ends_unseen(&world, &agent, "c1", ("two", "TODO"));
        // a path can hold its agent after the call, too
        assert_eq!(states[0], "slipped", "{arguments:?}");
        let stops_after = ["path", "line"].contains(&arguments[0]);
        assert_eq!(states.len(), 1 + usize::from(stops_after), "{states:?}");
    }
}

/// A call that a hook saw is not, and neither is one that nothing stops.
#[test]
fn a_call_that_may_run_is_not_reported() {
    let passes: [&[&str]; 11] = [
        &["budget", "calls", "1"],
        &["budget", "files", "1"],
        &["budget", "lines", "2"],
        &[
            "tool",
            "Edit",
            "--when",
            ".turn.calls >= 1 or .turn.files >= 1",
        ],
        &["tool", "Edit", "--action", "log"],
        &["tool", "Bash"],
        &["path", "src/**"],
        &["line", "a.txt:3"],
        &["content", "FIXME"],
        &["tool", "Edit", "--when", ".predicted[0].added > 5"],
        &["tool", "Edit", "--hits", "== 3"],
    ];
    for arguments in passes {
        let world = world();
        let agent = began(&world);
        world.ok([&["breakpoint", "add"], arguments].concat());
        let states = ends_unseen(&world, &agent, "c1", ("two", "TODO"));
        assert!(states.is_empty(), "{arguments:?}: {states:?}");
    }
    // it began before anything was armed
    let world = world();
    let agent = began(&world);
    let payload = before(&agent, "c1", "Edit", &edit(&world, FILE, "two", "2"));
    world.hook(&payload).expect_code(0);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    assert!(ends_unseen(&world, &agent, "c1", ("two", "2")).is_empty());
    // a read is known as well
    let input = json!({"file_path": world.path(FILE)});
    let payload = before(&agent, "c2", "Read", &input);
    world.hook(&payload).expect_code(0);
    world.ok(["breakpoint", "add", "tool", "Read"]);
    let ended = after(&agent, "c2", "Read", &input, &json!({"type": "text"}));
    world.hook(&ended).expect_code(0);
    let all = world.json(["pauses", "--all"]);
    assert_eq!(all["pauses"], json!([]));
    let ended = after(&agent, "c3", "Read", &input, &json!({"type": "text"}));
    world.hook(&ended).expect_code(0);
    let all = world.json(["pauses", "--all"]);
    assert_eq!(all["pauses"][0]["state"], "slipped", "{all:#}");
}

/// A call that its agent was told to try again, and that ran all the same, is told, in another workspace as well.
#[test]
fn a_parked_call_that_runs_all_the_same_is_told() {
    for is_elsewhere in [false, true] {
        let world = World::committed(&[(FILE, "one\n")]);
        let agent = began(&world);
        let (place, named) = if is_elsewhere {
            (world.root.with_file_name("other-workspace"), "b.txt")
        } else {
            (world.root.clone(), FILE)
        };
        std::fs::create_dir_all(place.join(".git")).expect("made");
        std::fs::write(place.join(named), "one\n").expect("written");
        let there = |args: &[&str]| {
            let mut command = world.backstitch();
            command.current_dir(&place).args(args);
            finish(&mut command, b"").expect_code(0).stdout
        };
        world.configure("[pause]\ntimeout = 1\n");
        there(&["checkpoint", "-m", "x"]);
        there(&["breakpoint", "add", "path", named]);
        let path = place.join(named);
        let input = json!({"file_path": path, "content": "two\n"});
        let answer = HeldHook::start(&world, &before(&agent, "c1", "Write", &input), 600).answer();
        assert_eq!(decision(&answer), Some("deny"));
        assert!(there(&["pauses", "--all"]).contains("retry requested"));
        std::fs::write(&path, "two\n").expect("written");
        let done = after(&agent, "c1", "Write", &input, &json!({"ok": true}));
        world.hook(&done).expect_code(0);
        assert!(
            there(&["pauses", "--all"]).contains("ran unasked"),
            "{place:?}"
        );
    }
}

/// An unseen edit is reported, and a breakpoint at its path still holds its agent after it: it is on disk already.
#[test]
fn an_unseen_edit_is_held_after_it_ran() {
    let world = World::committed(&[(FILE, "one\ntwo\nthree\n")]);
    let agent = began(&world);
    world.ok(["breakpoint", "add", "path", FILE]);
    world.write(FILE, "one\n2\nthree\n");
    let response = json!({"filePath": world.path(FILE), "oldString": "two", "newString": "2",
        "originalFile": "one\ntwo\nthree\n", "structuredPatch": [], "userModified": false, "replaceAll": false});
    let input = edit(&world, FILE, "two", "2");
    let mut watcher = Watcher::start(&world);
    let hook = HeldHook::start(&world, &after(&agent, "c1", "Edit", &input, &response), 600);
    assert_eq!(watcher.until("slipped")["id"], "p1");
    let held = watcher.until("held");
    assert_eq!((&held["id"], &held["at"]), (&json!("p2"), &json!("after")));
    world.ok(["resume"]);
    hook.answer();
    // a breakpoint that was made while the call ran is none of its
    world.ok(["breakpoint", "clear"]);
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut late = after(&agent, "c2", "Edit", &input, &response);
    late["duration_ms"] = json!(60_000);
    world.hook(&late).expect_code(0);
    let all = world.json(["pauses", "--all"]);
    assert_eq!(all["pauses"].as_array().map(Vec::len), Some(2), "{all:#}");
}

/// A hook that is killed between the decision and its answer: a call that was denied and ran is reported, whoever looked in
/// between; one that was let go is not.
#[test]
fn a_hook_dies_with_its_decision() {
    for (command, looks, expected) in [
        ("deny", false, "slipped"),
        ("deny", true, "slipped"),
        ("skip", false, "slipped"),
        ("resume", false, "answered"),
        ("resume", true, "answered"),
    ] {
        let world = World::committed(&[(FILE, "one\ntwo\nthree\n")]);
        let agent = began(&world);
        world.ok(["breakpoint", "add", "tool", "Edit"]);
        let mut watcher = Watcher::start(&world);
        let input = edit(&world, FILE, "two", "2");
        let hook = HeldHook::start(&world, &before(&agent, "c1", "Edit", &input), 600);
        watcher.until("held");
        drop(watcher);
        hook.stop();
        let message: &[&str] = if command == "deny" {
            &["-m", "no"]
        } else {
            &[]
        };
        world.ok([&[command], message].concat());
        hook.kill();
        if looks {
            world.json(["pauses"]);
        }
        let states = ends_unseen(&world, &agent, "c1", ("two", "2"));
        assert_eq!(states, [expected], "{command}, looked: {looks}");
    }
}
