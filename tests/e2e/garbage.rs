//! Garbage into the hook, and hostile trees and stores: the agent is never blocked or broken, and no gap is silent.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{str, thread};

use serde_json::{Value, json};

use crate::support::agent::Agent;
use crate::support::{Output, World, finish};

/// No agent is to wait longer, whatever it sends (an optimised build is far below).
const LIMIT: Duration = Duration::from_secs(6);

/// A run of the hook that harms no agent; with so many lines of complaint.
#[track_caller]
fn harmless(command: &mut Command, input: &[u8], lines: usize) -> Output {
    let began = Instant::now();
    // a hook that hangs is killed, and fails the test
    let mut limited = Command::new("timeout");
    limited
        .args(["-s", "KILL", "20"])
        .arg(command.get_program())
        .args(command.get_args());
    limited
        .env_clear()
        .envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))));
    limited.current_dir(command.get_current_dir().expect("a directory"));
    let output = finish(&mut limited, input);
    let start = String::from_utf8_lossy(&input[..input.len().min(300)]).into_owned();
    assert!(
        began.elapsed() < LIMIT,
        "{:?} for {start}\n{output}",
        began.elapsed()
    );
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (0, ""),
        "{start}\n{output}"
    );
    assert_eq!(output.stderr.lines().count(), lines, "{start}\n{output}");
    output
}

#[track_caller]
fn fed(world: &World, payload: &Value, lines: usize) -> Output {
    harmless(
        &mut world.hook_command(),
        payload.to_string().as_bytes(),
        lines,
    )
}

fn begun() -> World {
    let world = World::committed(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    world.agent().prompt("begin");
    world
}

fn gaps(world: &World) -> Vec<String> {
    let status = world.json(["status"]);
    let gaps = status["gaps"].as_array().expect("a list").iter();
    gaps.map(|g| g.as_str().expect("text").to_owned()).collect()
}

fn checkpoints(world: &World) -> Vec<Value> {
    let log = world.json(["log", "--all"]);
    log["checkpoints"].as_array().expect("a list").clone()
}

/// S4-055: what is no event costs one line, and the gap is known.
#[test]
fn what_is_no_event_is_one_line_and_a_gap() {
    let world = begun();
    let real = world
        .agent()
        .payload(
            "PreToolUse",
            json!({"tool_name": "Bash", "tool_use_id": "x"}),
        )
        .to_string();
    let deep = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    let noise: Vec<u8> = (0..5000_u32)
        .map(|n| u8::try_from(n * 7919 % 251).expect("a byte"))
        .collect();
    let payloads: [&[u8]; 14] = [
        b"",
        b" \n\n",
        b"{",
        b"nonsense",
        b"null",
        b"[]",
        b"\"text\"",
        b"17",
        b"{}",
        b"{\"session_id\":\"s\"}",
        b"{\"hook_event_name\":\"Stop\"}",
        &real.as_bytes()[..real.len() - 9],
        &deep,
        &noise,
    ];
    for (n, payload) in payloads.iter().enumerate() {
        harmless(&mut world.hook_command(), payload, 1);
        assert_eq!(
            gaps(&world).len(),
            n + 1,
            "{:?}",
            str::from_utf8(&payload[..payload.len().min(99)])
        );
    }
    world.agent().prompt("next");
    assert_eq!(gaps(&world).len(), 0, "taken in by a checkpoint");
    let failed: i64 = checkpoints(&world)
        .iter()
        .filter_map(|c| c["coverage"]["failed"].as_i64())
        .sum();
    assert!(failed >= 1, "coverage says so");
    world.ok(["verify"]);
}

/// S4-055: the first event of all may be the bad one; the gap waits for the history to begin.
#[test]
fn a_gap_before_the_first_checkpoint_is_kept() {
    let world = World::committed(&[("a.txt", "one\n")]);
    harmless(&mut world.hook_command(), b"nonsense", 1);
    world.agent().prompt("begin");
    let failed: i64 = checkpoints(&world)
        .iter()
        .filter_map(|c| c["coverage"]["failed"].as_i64())
        .sum();
    assert_eq!(failed, 1);
}

/// S2-001, S4-055: a field of the wrong type counts as absent; unknown ones do not matter.
#[test]
fn wrong_types_in_every_field_and_unknown_ones() {
    let world = begun();
    let agent = world.agent();
    let input = json!({"file_path": world.path("a.txt"), "content": "x", "command": "true"});
    let call =
        json!({"tool_name": "Write", "tool_input": input, "tool_use_id": "c", "tool_response": {}});
    let events = [
        agent.payload("PostToolUse", call.clone()),
        agent.payload("PreToolUse", call),
        agent.payload("UserPromptSubmit", json!({"prompt": "p"})),
        agent.payload("Stop", json!({"background_tasks": [], "agent_id": "a"})),
        agent.payload("SessionStart", json!({"source": "startup"})),
    ];
    let values = [
        "null",
        "true",
        "-7",
        "1e999",
        "\"\"",
        "[]",
        "{}",
        "[[{}]]",
        "{\"file_path\":9,\"content\":{}}",
    ];
    for event in &events {
        for field in event.as_object().expect("an object").keys() {
            for value in values {
                let old = format!("{}:{}", json!(field), event[field]);
                let text = event
                    .to_string()
                    .replace(&old, &format!("{}:{value}", json!(field)));
                let needed = field == "session_id" || field == "hook_event_name";
                harmless(
                    &mut world.hook_command(),
                    text.as_bytes(),
                    usize::from(needed),
                );
            }
        }
        let mut odd = event.clone();
        odd["from_the_future"] = json!({"deep": [1, {"er": null}]});
        fed(&world, &odd, 0);
        odd["hook_event_name"] = json!("FromTheFuture");
        fed(&world, &odd, 0);
    }
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(["verify"]);
}

/// S4-023: an unknown tool may write anything; what it does is found.
#[test]
fn an_unknown_tool_is_captured_by_looking() {
    let world = begun();
    let agent = world.agent();
    let call = agent.pre("mcp__odd__rewrite", json!({"what": [1, 2]}));
    world.write("a.txt", "rewritten\n");
    agent.post(&call, &json!("done"));
    let newest = &checkpoints(&world)[0];
    assert_eq!(
        (&newest["tool"], &newest["changes"][0]["path"]),
        (&json!("mcp__odd__rewrite"), &json!("a.txt"))
    );
}

/// A payload of 50 MB, whole and cut off, and bytes that are no UTF-8.
#[test]
fn payloads_of_fifty_megabytes_and_bytes_that_are_no_text() {
    let world = begun();
    let agent = world.agent();
    let much =
        "many words, all of them different? no \\n".repeat(50 << 20 >> 5)[..50 << 20].to_owned();
    let input = json!({"file_path": world.path("big.txt"), "content": much});
    let payload = agent.payload(
        "PreToolUse",
        json!({"tool_name": "Write", "tool_input": input, "tool_use_id": "big"}),
    );
    fed(&world, &payload, 0);
    let text = payload.to_string();
    harmless(
        &mut world.hook_command(),
        &text.as_bytes()[..text.len() - 100],
        1,
    );
    let payload = agent
        .payload("UserPromptSubmit", json!({"prompt": "§odd§"}))
        .to_string();
    let bytes = payload.replace('§', "\u{1}").into_bytes();
    let bytes: Vec<u8> = bytes
        .into_iter()
        .map(|b| if b == 1 { 0xff } else { b })
        .collect();
    harmless(&mut world.hook_command(), &bytes, 0);
    world.ok(["verify"]);
}

/// A working directory that is gone, too wide, or not ours to begin with.
#[test]
fn working_directories_that_are_none() {
    let world = begun();
    let at = |agent: &Agent<'_>, cwd: &Path| {
        let mut payload = agent.payload("UserPromptSubmit", json!({"prompt": "p"}));
        payload["cwd"] = json!(cwd);
        payload
    };
    // the project's directory stands in for one that is gone
    fed(&world, &at(&world.agent(), Path::new("/gone/for/good")), 0);
    fed(&world, &at(&world.agent(), &world.path("a.txt")), 0);
    for wide in [Path::new("/"), &world.home] {
        let before = gaps(&world).len();
        let output = fed(&world, &at(&world.agent(), wide), 1);
        assert!(output.stderr.contains("too wide"), "{output}");
        assert_eq!(gaps(&world).len(), before + 1);
    }
    // a session that has begun stays where it is bound
    let bound = world.agent();
    fed(&world, &at(&bound, &world.root), 0);
    fed(&world, &at(&bound, Path::new("/")), 0);
    fs::create_dir(world.home.join("gone")).expect("a directory");
    let script = format!(
        "cd {0}/gone && rmdir {0}/gone && exec \"$@\"",
        world.home.to_str().expect("UTF-8")
    );
    let hook = world.hook_command();
    let mut command = world.command("sh");
    command
        .args(["-c", &script, "sh"])
        .arg(hook.get_program())
        .args(["hook", "claude-code"]);
    command.env("CLAUDE_PROJECT_DIR", "/gone/too");
    harmless(
        &mut command,
        at(&world.agent(), Path::new("/gone"))
            .to_string()
            .as_bytes(),
        1,
    );
}

/// A state directory that cannot be made, and a store that cannot be.
#[test]
fn a_store_that_cannot_be_written() {
    let world = World::committed(&[("a.txt", "one\n")]);
    fs::write(world.state.join("backstitch"), "a file in the way").expect("a file");
    let payload = world
        .agent()
        .payload("UserPromptSubmit", json!({"prompt": "p"}));
    fed(&world, &payload, 1);
    let mut elsewhere = world.hook_command();
    elsewhere.arg("--store-dir").arg(world.path("a.txt"));
    harmless(&mut elsewhere, payload.to_string().as_bytes(), 1);
    assert_eq!(world.tree().len(), 1);
    let output = world.run(["status"]);
    assert!(
        output.code != 0 && output.stderr.starts_with("error: "),
        "{output}"
    );
}

/// A small file system of its own, where the tests may mount one.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).ok()?;
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=4m,mode=700", "none"])
            .arg(at);
        finish(&mut mount, b"")
            .code
            .eq(&0)
            .then(|| Self(at.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        finish(Command::new("umount").arg("-l").arg(&self.0), b"");
    }
}

/// U-20: a full disk costs the event, never the agent nor what was recorded before.
#[test]
fn a_full_disk() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let small = Small::mount(&world.state.join("backstitch"));
    let mut agent = world.agent();
    agent.prompt("begin");
    agent.write("a.txt", "two\n");
    let call = |n: u32, name: &str| {
        let input = json!({"file_path": world.path("a.txt"), "content": "three\n"});
        agent.payload(
            name,
            json!({"tool_name": "Write", "tool_input": input, "tool_use_id": format!("full-{n}")}),
        )
    };
    let send = |payload: &Value| match &small {
        Some(_) => harmless(&mut world.hook_command(), payload.to_string().as_bytes(), 1),
        None => {
            // no file may grow: the nearest to a full disk without a mount
            let hook = world.hook_command();
            let mut limited = world.command("sh");
            limited.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]);
            limited
                .arg(hook.get_program())
                .args(["hook", "claude-code"]);
            harmless(&mut limited, payload.to_string().as_bytes(), 1)
        }
    };
    let ballast = world.state.join("backstitch/ballast");
    if small.is_some() {
        let mut file = File::create(&ballast).expect("a file");
        while file.write_all(&[7; 4096]).is_ok() {}
        while file.write_all(&[7]).is_ok() {}
    }
    send(&call(1, "PreToolUse"));
    world.write("a.txt", "three\n");
    send(&call(1, "PostToolUse"));
    fs::remove_file(&ballast).ok();
    world.ok(["verify"]);
    agent.prompt("next");
    let log = checkpoints(&world);
    let three = log
        .iter()
        .find(|c| c["kind"] != "turn" && c["changes"].to_string().contains("a.txt"));
    let id = three.expect("the change is found")["id"]
        .as_str()
        .expect("an id");
    assert_eq!(world.ok(["cat", id, "a.txt"]).stdout, "three\n");
    let failed: i64 = log
        .iter()
        .filter_map(|c| c["coverage"]["failed"].as_i64())
        .sum();
    assert!(failed >= 1, "the gap is known: {log:#?}");
    world.ok(["verify"]);
}

/// S3-026: a damaged store, or a newer one, is named as such and left alone.
#[test]
fn a_store_that_is_damaged_or_newer() {
    let pages = |world: &World, from: usize| {
        let path = world.store().join("store.db");
        let db = rusqlite::Connection::open(&path).expect("the store");
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .expect("a checkpoint");
        drop(db);
        let mut bytes = fs::read(&path).expect("the store");
        bytes[from..].fill(0xa5);
        fs::write(&path, bytes).expect("the store");
    };
    let newer = |world: &World| {
        let db = rusqlite::Connection::open(world.store().join("store.db")).expect("the store");
        db.execute_batch("PRAGMA user_version = 999")
            .expect("a version");
    };
    let empty = |world: &World| {
        for name in ["store.db", "store.db-wal", "store.db-shm"] {
            let path = world.store().join(name);
            if path.exists() {
                File::create(path).expect("the store");
            }
        }
    };
    let damages: [(&str, &dyn Fn(&World)); 4] = [
        ("not a database", &|world| pages(world, 0)),
        ("malformed", &|world| pages(world, 4096)),
        ("newer", &newer),
        ("empty", &empty),
    ];
    for (word, damage) in damages {
        let world = begun();
        damage(&world);
        let before = fs::read(world.store().join("store.db")).expect("the store");
        let output = fed(
            &world,
            &world
                .agent()
                .payload("UserPromptSubmit", json!({"prompt": "p"})),
            1,
        );
        assert!(output.stderr.contains(word), "{word}: {output}");
        let gap = fs::read_to_string(world.store().join("gaps.log")).expect("a gap");
        assert!(gap.contains(word), "{word}: {gap}");
        for command in [
            &["log"][..],
            &["rewind", "t1"],
            &["verify"],
            &["checkpoint", "-m", "x"],
        ] {
            let output = world.run(command).expect_code(4);
            assert!(output.stderr.contains(word), "{word}: {output}");
        }
        assert!(
            fs::read(world.store().join("store.db")).expect("the store") == before,
            "{word}: touched"
        );
        assert_eq!(world.read("a.txt"), "one\n");
    }
}

/// S3-037, U-15: paths that are none of the workspace's are named, and nothing of them is kept.
#[test]
fn paths_that_a_tool_should_not_name() {
    let world = begun();
    let outside = world.home.join("secret.txt");
    fs::write(&outside, "secret\n").expect("a file");
    world.symlink(&world.home, "way-out");
    symlink(world.path("loop"), world.path("loop")).expect("a link");
    fs::create_dir(world.path("dir")).expect("a directory");
    let long = "x/".repeat(3000) + "y";
    let named = [
        outside.to_str().expect("UTF-8"),
        "../home/secret.txt",
        "way-out/secret.txt",
        "loop/x",
        ".git/config",
        ".git/hooks/new",
        "dir",
        "dir/",
        ".",
        "..",
        "/",
        "/dev/null",
        "a.txt/below",
        "nul\0byte",
        &long,
        &"z".repeat(300),
        "new/deep/er.txt",
    ];
    let agent = world.agent();
    let git = world.git_digest();
    for (n, path) in named.iter().enumerate() {
        for (name, response) in [
            ("PreToolUse", Value::Null),
            ("PostToolUse", json!({"originalFile": "secret\n"})),
        ] {
            let input = json!({"file_path": path, "content": "new\n"});
            let fields = json!({"tool_name": "Write", "tool_input": input, "tool_use_id": format!("p{n}"), "tool_response": response});
            let output = harmless_or_one(&world, &agent.payload(name, fields));
            assert!(output.stderr.is_empty(), "{path:.60}: {output}");
        }
    }
    // the others go on
    agent.write("a.txt", "three\n");
    let log = checkpoints(&world);
    let outside: i64 = log
        .iter()
        .filter_map(|c| c["coverage"]["outside"].as_i64())
        .sum();
    assert!(outside >= 8, "{outside} named as outside");
    let paths = log
        .iter()
        .flat_map(|c| c["changes"].as_array().expect("a list"))
        .map(|c| &c["path"]);
    let odd: Vec<_> = paths
        .filter(|p| !["a.txt", "way-out", "loop"].iter().any(|known| *p == known))
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert_eq!(world.git_digest(), git);
    world.ok(["rewind", "t1", "--exact"]);
    assert_eq!(
        fs::read_to_string(world.home.join("secret.txt")).expect("a file"),
        "secret\n"
    );
    world.ok(["verify"]);
}

fn harmless_or_one(world: &World, payload: &Value) -> Output {
    let output = finish(&mut world.hook_command(), payload.to_string().as_bytes());
    assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output}");
    assert!(output.stderr.lines().count() < 2, "{output}");
    output
}

/// U-21: what is no file is named as such, and no scan hangs on it.
#[test]
fn fifos_sockets_and_rules_that_never_end() {
    let world = begun();
    world
        .sh("mkfifo pipe && mkdir rules endless && mkfifo rules/.gitignore")
        .expect_code(0);
    world.symlink("/dev/zero", "endless/.gitignore");
    world.write("rules/kept.txt", "kept\n");
    world.write("endless/kept.txt", "kept\n");
    let _socket = UnixListener::bind(world.path("socket")).expect("a socket");
    let agent = world.agent();
    fed(
        &world,
        &agent.payload("UserPromptSubmit", json!({"prompt": "p"})),
        0,
    );
    let input = json!({"file_path": world.path("pipe"), "content": "x"});
    let fields = json!({"tool_name": "Write", "tool_input": input, "tool_use_id": "pipe"});
    fed(&world, &agent.payload("PreToolUse", fields.clone()), 0);
    fed(&world, &agent.payload("PostToolUse", fields), 0);
    let status = world.json(["status"]);
    assert!(
        status["coverage"]["special"].as_i64() >= Some(2),
        "{status:#}"
    );
    let (head, into) = ("@", world.home.join("out"));
    world.ok(["materialize", head, "--into", into.to_str().expect("UTF-8")]);
    assert!(into.join("rules/kept.txt").exists() && into.join("endless/kept.txt").exists());
    world.ok(["rewind", "t1", "--exact"]);
    assert!(world.exists("pipe") && world.exists("socket"));
}

/// Files come and go while a scan is at them.
#[test]
fn files_that_vanish_during_a_scan() {
    let world = begun();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in (0..).take_while(|_| !done.load(Ordering::Relaxed)) {
                let dir = world.path(format!("churn/{}", n % 7));
                fs::create_dir_all(&dir).ok();
                for file in 0..6 {
                    fs::write(dir.join(format!("{file}.txt")), format!("{n}\n")).ok();
                }
                fs::remove_dir_all(world.path(format!("churn/{}", (n + 3) % 7))).ok();
            }
        });
        let agent = world.agent();
        for _ in 0..40 {
            let call = agent.pre_bash("true");
            assert_eq!(call.answer.stderr, "");
            assert_eq!(agent.post(&call, &json!({})).stderr, "");
        }
        done.store(true, Ordering::Relaxed);
    });
    world.json(["checkpoint", "-m", "rest"]);
    let into = world.home.join("out");
    world.ok(["materialize", "@", "--into", into.to_str().expect("UTF-8")]);
    let files = |tree: crate::support::tree::Tree| {
        tree.into_iter()
            .filter(|(_, e)| e.kind != crate::support::tree::Kind::Directory)
            .collect()
    };
    crate::support::tree::assert_same(
        &files(crate::support::tree::tree(&into)),
        &files(world.tree()),
    );
    world.ok(["verify"]);
}

/// U-21: a directory that may not be read is a gap; when it can be read again, nothing in it is taken for new.
#[test]
fn a_directory_without_permission() {
    let world = World::committed(&[("a.txt", "one\n"), ("closed/kept.txt", "kept\n")]);
    let root = fs::metadata(&world.root).expect("the workspace").uid() == 0;
    let base = world.root.parent().expect("a directory").to_owned();
    let binary = base.join("backstitch");
    fs::copy(world.backstitch().get_program(), &binary).expect("a copy");
    if root {
        // permissions do not bind the superuser
        finish(
            Command::new("chown").args(["-R", "65534:65534"]).arg(&base),
            b"",
        );
    }
    let run = |args: &[&str], input: &str| {
        let mut command = world.command(&binary);
        command.args(args).env("CLAUDE_PROJECT_DIR", &world.root);
        if root {
            command.uid(65534).gid(65534);
        }
        finish(&mut command, input.as_bytes()).expect_code(0)
    };
    let agent = world.agent();
    let mut prompt = agent.payload("UserPromptSubmit", json!({"prompt": "p"}));
    let mut hook = |n: u32| {
        prompt["prompt_id"] = json!(format!("p{n}"));
        assert_eq!(
            run(&["hook", "claude-code"], &prompt.to_string()).stderr,
            ""
        );
    };
    world.set_mode("closed", 0o000);
    hook(1);
    let status = run(&["status", "--json"], "").json();
    assert_eq!(status["coverage"]["unreadable"], 1, "{status:#}");
    world.set_mode("closed", 0o755);
    hook(2);
    run(&["rewind", "t1", "--exact"], "");
    assert_eq!(world.read("closed/kept.txt"), "kept\n");
    // known by now: closing it again takes nothing for deleted
    world.set_mode("closed", 0o000);
    hook(3);
    world.set_mode("closed", 0o755);
    hook(4);
    let log = run(&["log", "--json"], "").json();
    assert!(
        !log.to_string().contains("kept.txt\",\"kind\":\"deleted"),
        "{log:#}"
    );
    run(&["verify"], "");
}
