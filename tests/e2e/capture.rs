//! Capture: every kind of file change by tools and shell commands, and its rewind.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::{fs, iter};

use serde_json::json;

use crate::support::history::{actions, gaps};
use crate::support::scenarios::kinds_of_files;
use crate::support::tree::assert_same;
use crate::support::{World, finish};

/// A workspace whose start is recorded, and a session whose first turn has begun.
macro_rules! turn {
    ($world:ident, $agent:ident) => {
        let mut $agent = $world.agent();
        $agent.session_start();
        $agent.prompt("go");
    };
}

const BIG: usize = 10 * 1024 * 1024 + 1;

/// Runs a shell command of the agent and checks its line in the timeline. Rewinds it, undoes the rewind, and rewinds
/// it again with `--exact`: each time the tree must be as before or after, including modes and links.
#[track_caller]
fn shell_and_back(world: &World, command: &str, expected: &[&str]) {
    turn!(world, agent);
    let before = world.tree();
    let git = world.git_digest();
    agent.bash(command).expect_code(0);
    let after = world.tree();
    agent.stop();
    let lines = world.since_start();
    let steps: Vec<_> = lines.iter().filter(|l| !l.starts_with("t1: ")).collect();
    assert_eq!(steps, expected, "{command}");
    for rewind in [&["rewind", "t1"][..], &["rewind", "t1", "--exact"]] {
        world.ok(rewind);
        assert_same(&world.tree(), &before);
        world.ok(["undo"]);
        assert_same(&world.tree(), &after);
    }
    assert_eq!(world.git_digest(), git);
    world.ok(["verify"]);
}

/// S3-002, S3-018, S3-035, S3-036, S3-L3, S3-L5, S4-015, S4-016, S4-031, S4-D2, S4-L5, U-21: every change that a
/// command can make to files.
#[test]
fn shell_commands_of_every_kind_are_captured_and_rewound() {
    for (command, expected) in [
        ("echo new > new.txt", "t1 Bash: create new.txt"),
        ("echo x >> a.txt", "t1 Bash: modify a.txt"),
        ("rm b.txt", "t1 Bash: delete b.txt"),
        ("mv a.txt z.txt", "t1 Bash: rename a.txt -> z.txt"),
        (
            "mkdir deep && mv a.txt deep/",
            "t1 Bash: rename a.txt -> deep/a.txt",
        ),
        (
            "mv a.txt z.txt && echo x >> z.txt",
            "t1 Bash: rename a.txt -> z.txt",
        ),
        ("mv dir moved", "t1 Bash: rename dir/c.txt -> moved/c.txt"),
        ("rm -r dir", "t1 Bash: delete dir/c.txt"),
        ("chmod 755 run.sh", "t1 Bash: mode run.sh"),
        ("chmod 600 a.txt", "t1 Bash: mode a.txt"),
        ("ln -s b.txt other", "t1 Bash: create other"),
        ("ln -s /etc/hostname away", "t1 Bash: create away"),
        ("ln -sf b.txt link", "t1 Bash: modify link"),
        ("rm link", "t1 Bash: delete link"),
        ("rm link && echo file > link", "t1 Bash: modify link"),
        ("rm b.txt && ln -s a.txt b.txt", "t1 Bash: modify b.txt"),
        ("echo through >> link", "t1 Bash: modify a.txt"),
        ("printf '\\0\\377' >> logo.png", "t1 Bash: modify logo.png"),
        ("rm logo.png", "t1 Bash: delete logo.png"),
        (
            "printf 'three\\r\\n' >> crlf.txt",
            "t1 Bash: modify crlf.txt",
        ),
        (
            "printf '\\351\\n' >> latin1.txt",
            "t1 Bash: modify latin1.txt",
        ),
        (": > new-empty", "t1 Bash: create new-empty"),
        ("echo full > empty", "t1 Bash: modify empty"),
        ("rm empty", "t1 Bash: delete empty"),
        (": > a.txt", "t1 Bash: modify a.txt"),
        ("printf 'no newline' > a.txt", "t1 Bash: modify a.txt"),
        (
            "mkdir -p p/q/r && echo x > p/q/r/new.txt",
            "t1 Bash: create p/q/r/new.txt",
        ),
        (
            "rm dir/c.txt && rmdir dir && echo x > dir",
            "t1 Bash: create dir, delete dir/c.txt",
        ),
        (
            "rm b.txt && mkdir b.txt && echo x > b.txt/x",
            "t1 Bash: delete b.txt, create b.txt/x",
        ),
        ("mv a.txt b.txt", "t1 Bash: delete a.txt, modify b.txt"),
        (
            "mv a.txt t && mv b.txt a.txt && mv t b.txt",
            "t1 Bash: modify a.txt, modify b.txt",
        ),
    ] {
        shell_and_back(&kinds_of_files(), command, &[expected]);
    }
}

/// A command that changes nothing makes no checkpoint.
#[test]
fn a_command_without_changes_makes_no_checkpoint() {
    for command in ["true", "cat a.txt", "touch a.txt", "echo x > t; rm t"] {
        let world = kinds_of_files();
        turn!(world, agent);
        agent.bash(command).expect_code(0);
        agent.stop();
        assert_eq!(world.since_start(), ["t1: go"], "{command}");
        let rewound = world.json(["rewind", "t1"]);
        assert!(rewound["operation"].is_null(), "{rewound}");
    }
}

/// S3-003, S4-L2, U-21: capture without git.
#[test]
fn capture_works_without_git() {
    let world = World::new();
    world.write("a.txt", "one\n");
    shell_and_back(
        &world,
        "echo x > b; rm a.txt; mkdir d; echo y > d/y",
        &["t1 Bash: delete a.txt, create b, create d/y"],
    );
    assert!(!world.exists(".git"));
}

/// Names that are not UTF-8 are kept as bytes, and shown as base64 in JSON.
#[test]
fn names_that_are_not_text_are_kept_as_bytes() {
    let world = kinds_of_files();
    let name = OsStr::from_bytes(b"caf\xe9 \n.txt");
    let line = "t1 Bash: create base64:Y2Fm6SAKLnR4dA==";
    shell_and_back(
        &world,
        "printf new > \"$(printf 'caf\\351 \\n.txt')\"",
        &[line],
    );
    assert_eq!(world.read(name), "new");
    let id = world.id(line);
    let cat = [OsStr::new("cat"), OsStr::new(&id), name];
    assert_eq!(world.ok(cat).stdout, "new");
    let plan = world.plan(["rewind", "t1"]);
    let bytes = json!({"bytes": "Y2Fm6SAKLnR4dA=="});
    assert_eq!(plan["actions"][0]["path"], bytes);
    assert_eq!(world.json(["show", &id])["changes"][0]["path"], bytes);
    let only = world
        .backstitch()
        .args(["rewind", "t1", "--path"])
        .arg(name)
        .output();
    assert!(only.expect("run").status.success());
    assert!(!world.exists(name));
}

/// S3-012, S3-017, S3-020, S4-013, S4-014: edit tools in new directories, through links, and in files of other
/// encodings.
#[test]
fn edit_tools_of_every_kind_are_captured() {
    let world = kinds_of_files();
    turn!(world, agent);
    let before = world.tree();
    agent.write("new/deep/x.txt", "x\n");
    agent.edit("link", "one", "ONE");
    agent.edit("crlf.txt", "two", "TWO");
    agent.write("empty", "full\n");
    agent.write("b.txt", "");
    let after = world.tree();
    assert_eq!(
        world.since_start(),
        [
            "t1: go",
            "t1 Write: create new/deep/x.txt",
            "t1 Edit: modify a.txt",
            "t1 Edit: modify crlf.txt",
            "t1 Write: modify empty",
            "t1 Write: modify b.txt",
        ]
    );
    assert_eq!(world.bytes("crlf.txt"), b"one\r\nTWO\r\n");
    assert_eq!(world.at("t1", "new/deep/x.txt"), None);
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["undo"]);
    assert_same(&world.tree(), &after);
}

/// A file above the size limit is reported when it changes and before a rewind, which leaves it alone.
#[test]
fn a_file_above_the_limit_is_a_gap() {
    let world = kinds_of_files();
    turn!(world, agent);
    agent.bash("head -c 10485761 /dev/zero > big; echo x > small");
    let step = world.checkpoint("t1 Bash: create big, create small");
    assert_eq!(step.not_captured(), ["too_large big"]);
    assert_eq!(step.json["coverage"]["too_large"], 1);
    let text = world.ok(["log"]).stdout;
    assert!(text.contains("not captured: big (too large)"), "{text}");

    let plan = world.plan(["rewind", "t1"]);
    assert_eq!(gaps(&plan), ["too_large big"]);
    assert_eq!(actions(&plan), ["skip big", "delete small"]);
    let text = world.ok(["rewind", "t1", "--dry-run"]).stdout;
    assert!(text.contains("skipped") && text.contains("big"), "{text}");
    world.ok(["rewind", "t1"]);
    assert!(world.bytes("big").len() == BIG && !world.exists("small"));
}

/// A large file that shrinks below the limit, or grows beyond it, has an image on one side only.
#[test]
fn a_file_that_crosses_the_limit_has_an_image_on_one_side() {
    let world = kinds_of_files();
    world.write("big", vec![b'x'; BIG]);
    turn!(world, agent);
    agent.bash("echo small > big");
    agent.bash("head -c 10485761 /dev/zero > b.txt");
    let plan = world.plan(["rewind", "t1"]);
    assert_eq!(gaps(&plan), ["too_large b.txt", "too_large big"]);
    let refused = world.run(["rewind", "t1"]).expect_code(1);
    assert!(refused.stderr.contains("Nothing was changed"), "{refused}");
    assert_eq!(world.read("big"), "small\n");
    assert_eq!(world.bytes("b.txt").len(), BIG);
    world.ok(["verify"]);
}

/// S3-L4: small changes of a large file store only the difference, also where much else changes with it.
#[test]
fn small_changes_of_a_large_file_store_only_the_difference() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let lines = (0..60_000_u64)
        .map(|n| format!("{:016x} and more\n", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    let first: String = lines.collect();
    world.write("big.txt", &first);
    turn!(world, agent);
    let size = || {
        world.json(["status"])["store_bytes"]
            .as_u64()
            .expect("a size")
    };
    let begun = size();
    for n in 1..=8 {
        agent.bash(&format!(
            "sed -i '{n}000s/^/changed /; 7s/^/x/' big.txt; head -c 200000 big.txt > new{n}"
        ));
    }
    agent.edit("big.txt", "xxxxxxxx", "edited ");
    let grown = size() - begun;
    // new files and a log of up to a megabyte; eight full versions would be more than six
    assert!(grown < 3 << 20, "{grown} bytes");
    world.ok(["verify"]);
    world.ok(["rewind", "t1"]);
    assert!(world.read("big.txt") == first);
}

/// Ignored files are not captured unless a tool or a command names them. Then they are rewound like any other.
#[test]
fn an_ignored_file_is_captured_when_a_tool_names_it() {
    let world = World::committed(&[(".gitignore", "*.log\nout/\n"), ("a.txt", "one\n")]);
    world.write("old.log", "one\ntwo\n");
    world.write("out/keep", "keep\n");
    turn!(world, agent);
    agent.edit("old.log", "two", "TWO");
    agent.write("out/made", "made\n");
    agent.bash("echo x > by-shell.log; echo x >> out/keep; echo y >> a.txt; echo three >> old.log");
    assert_eq!(
        world.since_start(),
        [
            "t1: go",
            "t1 Edit: modify old.log",
            "t1 Write: create out/made",
            "t1 Bash: modify a.txt, modify old.log, modify out/keep",
        ]
    );
    let ignored = |line: &str| world.checkpoint(line).json["coverage"]["ignored"].as_u64();
    assert!(ignored("t1 Bash: modify a.txt, modify old.log, modify out/keep") > Some(0));
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("old.log"), "one\ntwo\n");
    assert_eq!(world.read("a.txt"), "one\n");
    // the command named it before it ran
    assert_eq!(world.read("out/keep"), "keep\n");
    assert!(!world.exists("out/made") && world.exists("by-shell.log"));
}

/// A file that becomes visible because a rule was removed has an unknown past: no rewind deletes it.
#[test]
fn a_file_no_longer_ignored_is_adopted() {
    for exact in [&["--exact"][..], &[]] {
        let world = World::committed(&[(".gitignore", "secret\n*.log\n"), ("a.txt", "one\n")]);
        world.write("secret", "secret\n");
        world.write("x.log", "log\n");
        turn!(world, agent);
        agent.bash("echo > .gitignore; echo two >> a.txt");
        agent.bash("echo more >> secret");
        assert_eq!(
            world.since_start(),
            [
                "t1: go",
                "t1 Bash: modify .gitignore, modify a.txt",
                "t1 Bash: modify secret",
            ]
        );
        world.ok(["rewind", "t1"].iter().chain(exact));
        assert_eq!(world.read("secret"), "secret\n");
        assert_eq!(world.read("x.log"), "log\n");
        assert_eq!(world.read(".gitignore"), "secret\n*.log\n");
        assert_eq!(world.read("a.txt"), "one\n");
    }
}

/// A tracked file stays tracked when a new rule ignores it.
#[test]
fn a_file_ignored_later_stays_tracked() {
    let world = World::committed(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
    turn!(world, agent);
    agent.bash("echo a.txt > .gitignore");
    agent.bash("echo two >> a.txt");
    agent.bash("rm a.txt");
    assert_eq!(
        world.since_start(),
        [
            "t1: go",
            "t1 Bash: create .gitignore",
            "t1 Bash: modify a.txt",
            "t1 Bash: delete a.txt",
        ]
    );
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "one\n");
}

/// U-21: sockets, pipes and unreadable files are named, and never block.
#[test]
fn special_and_unreadable_files_are_named() {
    let world = kinds_of_files();
    turn!(world, agent);
    agent.bash("mkfifo pipe; echo x > x.txt");
    let steps = world.checkpoints();
    let step = steps.last().expect("a step");
    assert_eq!(step.not_captured(), ["special pipe"], "{}", step.line);
    let plan = world.plan(["rewind", "t1"]);
    assert_eq!(gaps(&plan), ["special pipe"]);
    world.ok(["rewind", "t1"]);
    assert!(world.exists("pipe") && !world.exists("x.txt"));
}

/// U-21: a hard link is a second name of a file; both get their contents back.
#[test]
fn both_names_of_a_hard_link_are_restored() {
    let world = kinds_of_files();
    fs::hard_link(world.path("a.txt"), world.path("twin.txt")).expect("a hard link");
    turn!(world, agent);
    let before = world.tree();
    agent.bash("echo x >> a.txt");
    let line = "t1 Bash: modify a.txt, modify twin.txt";
    assert_eq!(world.since_start(), ["t1: go", line]);
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
}

/// Nested repositories are captured like any other directory, but never their `.git`.
#[test]
fn nested_repositories_are_captured_without_git() {
    let world = kinds_of_files();
    world
        .sh("git init -q inner && echo one > inner/x.txt")
        .expect_code(0);
    let inner = crate::support::tree::git_digest(&world.path("inner/.git"));
    turn!(world, agent);
    agent.bash("echo two > inner/x.txt");
    agent.write("inner/y.txt", "y\n");
    assert_eq!(
        world.since_start(),
        [
            "t1: go",
            "t1 Bash: modify inner/x.txt",
            "t1 Write: create inner/y.txt"
        ]
    );
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("inner/x.txt"), "one\n");
    assert!(!world.exists("inner/y.txt"));
    assert_eq!(
        crate::support::tree::git_digest(&world.path("inner/.git")),
        inner
    );
}

/// S3-014: capture depends only on hook events and on the files, not on the name of the tool.
#[test]
fn an_unknown_tool_is_captured_like_a_shell() {
    let world = kinds_of_files();
    turn!(world, agent);
    let call = agent.pre("mcp__files__move", json!({"from": "a.txt"}));
    fs::rename(world.path("a.txt"), world.path("moved.txt")).expect("a move");
    agent.post(&call, &json!("moved"));
    assert_eq!(
        world.since_start(),
        ["t1: go", "t1 mcp__files__move: rename a.txt -> moved.txt"]
    );
}

/// S3-013: tools that only read make no checkpoint, however often they run.
#[test]
fn reading_makes_no_checkpoint() {
    let world = kinds_of_files();
    turn!(world, agent);
    for path in ["a.txt", "b.txt", "dir/c.txt"] {
        agent.read(path);
    }
    assert_eq!(world.since_start(), ["t1: go"]);
    agent.edit("a.txt", "one", "1");
    let edit = world.checkpoint("t1 Edit: modify a.txt");
    assert_eq!(edit.json["iteration"], 4, "calls count all the same");
}

/// S3-016, S3-034: a file changed many times goes back to its state at the start of the turn.
#[test]
fn a_file_changed_many_times_goes_back_to_the_start_of_the_turn() {
    let world = kinds_of_files();
    turn!(world, agent);
    let before = world.read("a.txt");
    agent.edit("a.txt", "one", "1");
    agent.bash("sed -i s/two/2/ a.txt");
    agent.write("a.txt", "all new\n");
    agent.bash("rm a.txt");
    agent.write("a.txt", "born again\n");
    agent.stop();
    let steps = world.since_start().len();
    assert_eq!(steps, 6);
    assert_eq!(world.at("t1", "a.txt").as_deref(), Some(before.as_str()));
    for (rev, text) in iter::zip(["@~4", "@~3", "@~2", "@~1"], ["1\ntwo", "1\n2", "all", ""]) {
        let then = world.at(rev, "a.txt");
        match text {
            "" => assert_eq!(then, None),
            text => assert!(then.is_some_and(|t| t.starts_with(text)), "{rev}"),
        }
    }
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), before);
}

/// A hook with invalid input does not block the agent: it prints one line, and the gap is shown.
#[test]
fn invalid_hook_input_is_a_gap() {
    let world = kinds_of_files();
    turn!(world, agent);
    let mut hook = world.backstitch();
    hook.args(["hook", "claude-code"]);
    let output = finish(&mut hook, b"{nonsense").expect_code(0);
    assert_eq!(output.stdout, "");
    assert_eq!(output.stderr.lines().count(), 1, "{output}");
    let gaps = world.json(["status"])["gaps"].clone();
    assert_eq!(gaps.as_array().map(Vec::len), Some(1), "{gaps}");
    agent.edit("a.txt", "one", "1");
    let missed = world.checkpoint("you (not recorded)");
    assert_eq!(missed.not_captured(), ["failed ."]);
    let plan = world.plan(["rewind", "t1"]);
    assert_eq!(crate::support::history::gaps(&plan), ["failed"]);
}

/// A turn of many edits: the write-ahead log is checkpointed regularly, or every later hook would read all of it.
#[test]
fn the_write_ahead_log_stays_short() {
    let world = World::in_memory();
    world.write("a.txt", "edit 0;\n");
    let mut agent = world.agent();
    agent.prompt("go");
    for n in 0..60 {
        agent.edit("a.txt", &format!("edit {n};"), &format!("edit {};", n + 1));
    }
    let log = world.store().join("store.db-wal");
    let bytes = log.metadata().expect("a log").len();
    assert!(bytes < 2 << 20, "{bytes} bytes");
    world.ok(["verify"]);
}
