//! Unusual paths and trees.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::{begun, checkpoints, fed};
use crate::support::tree::{self, Kind, Tree, assert_same};
use crate::support::{Output, World, finish};

/// S3-037, U-15: paths outside the workspace are named, and nothing of them is stored.
#[test]
fn paths_outside_the_workspace_are_named_and_not_kept() {
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
    // the other files are recorded as usual
    agent.write("a.txt", "three\n");
    let entries = checkpoints(&world);
    let outside: i64 = entries
        .iter()
        .filter_map(|c| c["coverage"]["outside"].as_i64())
        .sum();
    assert!(outside >= 8, "{outside} named as outside");
    let paths = entries
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

/// U-21: special files are named as such, and no scan hangs on them.
#[test]
fn fifos_and_sockets_do_not_block_a_scan() {
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

/// Files may appear and vanish during a scan.
#[test]
fn files_that_vanish_during_a_scan_are_tolerated() {
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
    let files = |tree: Tree| -> Tree {
        tree.into_iter()
            .filter(|(_, e)| e.kind != Kind::Directory)
            .collect()
    };
    let before = files(world.tree());
    assert_same(&files(tree::tree(&into)), &before);
    let mut agent = world.agent();
    agent.prompt("all of it goes");
    agent.bash("rm -r churn; echo three > a.txt; echo new > new.txt");
    agent.stop();
    let after = world.tree();
    world.ok(["rewind", "t2"]);
    assert_same(&files(world.tree()), &before);
    world.ok(["undo"]);
    assert_same(&files(world.tree()), &files(after));
    world.ok(["verify"]);
}

/// U-21: an unreadable directory is a gap. When it is readable again, its files do not count as new.
#[test]
fn an_unreadable_directory_is_a_gap() {
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
    // now recorded: closing it again does not count as a deletion
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
