//! A restored file is as it was in all that can come along, and the plan names what cannot.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use serde_json::json;

use crate::support::history::{conflicts, gaps};
use crate::support::{World, finish};

pub fn is_superuser(world: &World) -> bool {
    fs::metadata(&world.root).expect("the workspace").uid() == 0
}

fn succeeds(program: &str, args: &[&str]) -> bool {
    let run = Command::new(program).args(args).output();
    run.is_ok_and(|output| output.status.success())
}

/// Owner, group, mode and extended attributes of a file.
pub type Facts = (u32, u32, u32, Vec<(String, Vec<u8>)>);

pub fn facts(world: &World, path: &str) -> Facts {
    let found = world.path(path).symlink_metadata().expect("a file");
    let mut names = vec![0; 4096];
    let size = rustix::fs::llistxattr(world.path(path), &mut names[..]).unwrap_or(0);
    let mut attributes = Vec::new();
    for name in names[..size]
        .split(|byte| *byte == 0)
        .filter(|n| !n.is_empty())
    {
        let name = String::from_utf8(name.to_vec()).expect("UTF-8");
        let mut value = vec![0; 4096];
        let size = rustix::fs::lgetxattr(world.path(path), name.as_str(), &mut value[..]);
        value.truncate(size.expect("a value"));
        attributes.push((name, value));
    }
    attributes.sort();
    (found.uid(), found.gid(), found.mode() & 0o7777, attributes)
}

pub fn set_attribute(world: &World, path: &str, name: &str, value: &[u8]) -> bool {
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::lsetxattr(world.path(path), name, value, flags).is_ok()
}

/// Owner, group, attributes and access control lists stay with a file that a rewind, an undo, a redo and a fork write.
#[test]
fn owner_and_attributes_come_along() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let is_root = is_superuser(&world);
    if is_root {
        std::os::unix::fs::chown(world.path("a.txt"), Some(1000), Some(1001)).expect("chown");
    } else {
        eprintln!("owners are left out: this is not the superuser");
    }
    world.set_mode("a.txt", 0o2640);
    let has_attributes = set_attribute(&world, "a.txt", "user.note", b"mine\0\x01");
    // user 65534 may read it, too
    let list: Vec<u8> = [
        (1u16, 6u16, u32::MAX),
        (2, 4, 65534),
        (4, 4, u32::MAX),
        (16, 4, u32::MAX),
        (32, 0, u32::MAX),
    ]
    .iter()
    .fold(vec![2, 0, 0, 0], |mut list, (tag, bits, id)| {
        list.extend(tag.to_le_bytes());
        list.extend(bits.to_le_bytes());
        list.extend(id.to_le_bytes());
        list
    });
    set_attribute(&world, "a.txt", "system.posix_acl_access", &list);
    let before = facts(&world, "a.txt");
    assert_eq!(
        has_attributes,
        before.3.iter().any(|(name, _)| name == "user.note")
    );
    let mut agent = world.agent();
    agent.prompt("change it");
    agent.edit("a.txt", "one", "two");
    agent.stop();
    assert_eq!(facts(&world, "a.txt"), before);
    for (command, text) in [
        (&["rewind", "t1"][..], "one\n"),
        (&["undo"], "two\n"),
        (&["redo"], "one\n"),
        (&["undo"], "two\n"),
        (&["rewind", "t1", "--exact"], "one\n"),
    ] {
        world.ok(command);
        assert_eq!(world.read("a.txt"), text);
        assert_eq!(facts(&world, "a.txt"), before, "{command:?}");
    }
    let copy = world.home.join("copy");
    world.ok(["materialize", "t1", "--into", copy.to_str().expect("UTF-8")]);
    let copied = world.beside("home/copy");
    assert_eq!(facts(&copied, "a.txt"), before);
}

/// An ordinary user cannot give a file to somebody else: the plan says so before.
#[test]
fn an_owner_that_cannot_be_restored_is_named() {
    if !is_superuser_outside() {
        eprintln!("skipped: only the superuser can make a file of another user");
        return;
    }
    let world = World::new();
    world.write("a.txt", "one\n");
    world.write("b.txt", "one\n");
    world.set_mode("a.txt", 0o666);
    let world = world.for_ordinary_user();
    let mut agent = world.agent();
    agent.prompt("change it");
    agent.bash("echo two > a.txt; echo two > b.txt");
    agent.stop();
    std::os::unix::fs::chown(world.path("a.txt"), Some(1000), None).expect("chown");
    let plan = world.plan(["rewind", "t1"]);
    assert_eq!(gaps(&plan), ["attributes a.txt"], "{plan:#}");
    let output = world.ok(["rewind", "t1"]);
    assert!(
        output
            .stdout
            .contains("owner not restored: it belonged to user 1000"),
        "{output}"
    );
    assert_eq!(world.read("a.txt"), "one\n");
}

fn is_superuser_outside() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Undoes the marks and mounts of a test even if it fails, so that its directory can be removed.
struct Fixed(std::path::PathBuf, &'static str);

impl Drop for Fixed {
    fn drop(&mut self) {
        let path = self.0.to_str().expect("UTF-8");
        match self.1 {
            "mount" => succeeds("umount", &[path]),
            mark => succeeds("chattr", &[&format!("-{mark}"), path]),
        };
    }
}

/// A file that cannot be replaced is found by the dry run, refuses the whole, and is left out on request.
#[test]
fn a_file_that_cannot_be_replaced_is_planned_around() {
    for kind in ["mount", "i", "a"] {
        let world = World::new();
        world.write("cfg.env", "A=1\n");
        world.write("x", "1\n");
        let outside = world.home.join("outside.env");
        fs::write(&outside, "A=1\n").expect("written");
        let target = world.path("cfg.env");
        let path = target.to_str().expect("UTF-8");
        let mount = ["--bind", outside.to_str().expect("UTF-8"), path];
        if kind == "mount" && !succeeds("mount", &mount) {
            eprintln!("skipped: {kind} is not possible here");
            continue;
        }
        let _unmount = (kind == "mount").then(|| Fixed(target.clone(), "mount"));
        let mut agent = world.agent();
        agent.prompt("change both");
        agent.bash("echo A=2 > cfg.env; echo 2 > x");
        agent.stop();
        if kind != "mount" && !succeeds("chattr", &[&format!("+{kind}"), path]) {
            eprintln!("skipped: {kind} is not possible here");
            continue;
        }
        let _unmark = (kind != "mount").then(|| Fixed(target.clone(), kind));
        for args in [&["rewind", "t1", "--dry-run"][..], &["rewind", "t1"]] {
            let output = world.run(args);
            assert_ne!(output.code, 0, "{output}");
            for words in [
                "cfg.env",
                "cannot be replaced",
                "--on-conflict current",
                "--path x",
            ] {
                assert!(
                    output.stdout.contains(words) || output.stderr.contains(words),
                    "no {words:?} in {output}"
                );
            }
            assert_eq!(
                (world.read("cfg.env"), world.read("x")),
                ("A=2\n".into(), "2\n".into())
            );
        }
        world.ok(["rewind", "t1", "--on-conflict", "current"]);
        assert_eq!(
            (world.read("cfg.env"), world.read("x")),
            ("A=2\n".into(), "1\n".into())
        );
        world.ok(["undo"]);
        world.ok(["rewind", "t1", "--path", "x"]);
        assert_eq!(
            (world.read("cfg.env"), world.read("x")),
            ("A=2\n".into(), "1\n".into())
        );
        let names = world.tree().into_keys().count();
        assert_eq!(names, 2, "nothing is left behind");
    }
}

/// Permissions of the directory, for an ordinary user.
#[test]
fn a_file_in_a_directory_that_cannot_be_written_to_is_planned_around() {
    let world = World::new();
    world.write("shut/a.txt", "one\n");
    world.write("x", "1\n");
    let world = world.for_ordinary_user();
    let mut agent = world.agent();
    agent.prompt("change both");
    agent.bash("echo two > shut/a.txt; echo 2 > x");
    agent.stop();
    world.set_mode("shut", 0o555);
    let output = world.run(["rewind", "t1", "--dry-run"]);
    let plan = world.run(["--json", "rewind", "t1", "--dry-run"]);
    world.ok(["rewind", "t1", "--on-conflict", "current"]);
    let texts = (world.read("shut/a.txt"), world.read("x"));
    world.set_mode("shut", 0o755);
    assert!(output.stderr.contains("cannot be replaced"), "{output}");
    assert_eq!(conflicts(&plan.json()), ["shut/a.txt"]);
    assert_eq!(texts, ("two\n".into(), "1\n".into()));
}

/// Gemini CLI and Qwen Code report an empty text for a file that was not there. Without the event before the call, a
/// rewind removes the file all the same.
#[test]
fn a_created_file_was_not_there_empty() {
    for (agent, names) in [
        ("gemini", ["BeforeAgent", "AfterTool", "AfterAgent"]),
        ("qwen", ["UserPromptSubmit", "PostToolUse", "Stop"]),
    ] {
        let world = World::new();
        world.write("a.txt", "one\n");
        let send = |event: &str, fields: serde_json::Value| {
            let mut payload = json!({
                "session_id": "11111111-0000-4000-8000-000000000001", "transcript_path": "/x", "cwd": world.root,
                "timestamp": "2026-01-02T03:04:05.000Z", "prompt_id": "p########0", "hook_event_name": event,
            });
            let serde_json::Value::Object(fields) = fields else {
                panic!("fields are an object")
            };
            payload.as_object_mut().expect("an object").extend(fields);
            let mut hook = world.backstitch();
            hook.args(["hook", agent]);
            finish(&mut hook, payload.to_string().as_bytes()).expect_code(0);
        };
        send("SessionStart", json!({"source": "startup"}));
        send(
            names[0],
            json!({"prompt": "make it", "submitted_prompt": "make it"}),
        );
        let before = world.tree();
        world.write("new.txt", "line\n");
        let path = world.path("new.txt");
        send(
            names[1],
            json!({
                "tool_name": "write_file", "tool_use_id": "t1",
                "tool_input": {"file_path": path, "content": "line\n"},
                "tool_response": {
                    "llmContent": "Successfully created and wrote to new file",
                    "returnDisplay": {
                        "fileName": "new.txt", "filePath": path, "originalContent": "", "newContent": "line\n",
                    },
                },
            }),
        );
        send(
            names[2],
            json!({"prompt": "make it", "stop_hook_active": false}),
        );
        world.ok(["rewind", "t1"]);
        assert_eq!(world.tree(), before, "{agent}");
    }
}

/// The hook after an edit meets a file that another call has just truncated: the state between belongs to nobody, and
/// each call has its own line.
#[test]
fn a_half_written_file_is_left_to_the_call_that_writes_it() {
    for same_session in [false, true] {
        let world = World::new();
        let old: Vec<String> = (0..12).map(|n| format!("{n}\n")).collect();
        let old = old.concat();
        world.write("a.txt", &old);
        let mut first = world.agent();
        first.prompt("one");
        let mut second = world.agent();
        second.prompt("two");
        let other = if same_session { &first } else { &second };
        let one = first.pre_edit("a.txt", "3\n", "3\nfirst\n");
        let two = other.pre_edit("a.txt", "8\n", "8\nsecond\n");
        let response = first.apply(&one);
        let text = world.read("a.txt");
        world.write("a.txt", "");
        first.post(&one, &response);
        world.write("a.txt", &text);
        let response = other.apply(&two);
        other.post(&two, &response);
        first.stop();
        second.stop();
        let blame = world.json(["blame", "a.txt"]);
        let by = blame["lines"].as_array().expect("lines").iter();
        let agents = by.filter(|line| line["by"] == "agent").count();
        assert_eq!(agents, 2, "{blame:#}");
        world.ok(["rewind", if same_session { "t1" } else { "t2" }]);
        let text = world.read("a.txt");
        assert!(!text.contains("second"), "{text}");
        assert_eq!(text.contains("first"), !same_session, "{text}");
    }
}

/// A file system that ignores the case of names, over a directory. Unmounted and ended when it is dropped.
struct Casefold {
    child: std::process::Child,
    at: std::path::PathBuf,
}

impl Casefold {
    /// Mounts one; None where that is not possible.
    fn mount(at: &std::path::Path, over: &std::path::Path) -> Option<Self> {
        use std::io::BufRead as _;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tools/casefold.py");
        fs::create_dir(over).expect("a directory");
        let mut child = Command::new("python3")
            .arg(script)
            .args([over, at])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        std::io::BufReader::new(output).read_line(&mut line).ok()?;
        if line != "ready\n" {
            child.wait().ok();
            return None;
        }
        let at = at.to_owned();
        Some(Self { child, at })
    }
}

impl Drop for Casefold {
    fn drop(&mut self) {
        succeeds("umount", &["-l", self.at.to_str().expect("UTF-8")]);
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

/// Names that change their case alone are renamed: a rewind deletes nothing, and brings the old names back.
#[test]
fn a_rename_of_the_case_alone_is_a_rename() {
    let rename =
        |from: &str, to: &str| format!("python3 -c 'import os; os.rename(\"{from}\", \"{to}\")'");
    for exact in [&[][..], &["--exact"]] {
        for (command, named) in [
            (rename("Foo.txt", "foo.txt"), ["foo.txt"].as_slice()),
            (
                rename("Foo.txt", "foo.txt") + "; echo more >> foo.txt",
                &["foo.txt"],
            ),
            (
                rename("Src", "src") + "; echo new > src/c.txt",
                &["src/a.txt", "src/c.txt"],
            ),
            (
                rename("Src", "src") + "; echo more >> src/a.txt; rm src/b.txt",
                &["src/a.txt"],
            ),
        ] {
            let world = World::new();
            let Some(mounted) = Casefold::mount(&world.root, &world.home.join("real")) else {
                eprintln!("skipped: no file system that ignores case can be mounted here");
                return;
            };
            world.write("Foo.txt", "one\ntwo\n");
            world.write("Src/a.txt", "a\nb\n");
            world.write("Src/b.txt", "b\n");
            let before = world.tree();
            let mut agent = world.agent();
            agent.prompt("rename it");
            agent.bash(&command);
            agent.stop();
            let after = world.tree();
            assert!(
                after.contains_key(std::path::Path::new(named[0])),
                "{after:?}"
            );
            for name in named {
                assert!(world.at("@", name).is_some(), "{command}: {name}");
            }
            world.ok(["rewind", "t1"].into_iter().chain(exact.iter().copied()));
            assert_eq!(world.tree(), before, "{command}");
            world.ok(["undo"]);
            assert_eq!(world.tree(), after, "{command}");
            assert_eq!(world.ok(["diff"]).stdout, "");
            world.ok(["verify"]);
            drop(mounted);
        }
    }
}

/// A rewind let a file wait for a save, and its editor ended: the same rewind writes the file. While the editor runs, it
/// says what the file waits for.
#[test]
fn a_save_that_never_comes_is_made_by_the_next_rewind() {
    use crate::lsp::client::{Client, Editor};
    let world = crate::support::scenarios::one_turn("one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    let agents = world.read("a.txt");
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    assert_eq!(world.read("a.txt"), agents);
    let waiting = world.ok(["rewind", "t1"]);
    let said = format!("{}{}", waiting.stdout, waiting.stderr);
    assert!(said.contains("a.txt waits for a save in"), "{said}");
    drop(client);
    let plan = world.plan(["rewind", "t1"]);
    assert_eq!(
        crate::support::history::actions(&plan),
        ["write a.txt"],
        "{plan:#}"
    );
    let output = world.ok(["rewind", "t1"]);
    assert!(
        !output.stdout.contains("already have that state"),
        "{output}"
    );
    assert_eq!(world.read("a.txt").lines().nth(1), Some("two"));
    let again = world.ok(["rewind", "t1"]);
    assert!(
        format!("{again}").contains("already have that state"),
        "{again}"
    );
    world.ok(["verify"]);
}

/// Two turns of one session conflict with the user's edit of one file: neither is said to be kept.
#[test]
fn turns_whose_conflicts_are_open_are_not_kept() {
    let world = World::new();
    world.write("a.txt", "one\ntwo\nthree\n");
    world.write("b.txt", "one\n");
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "two", "TWO");
    agent.edit("b.txt", "one", "ONE");
    agent.stop();
    let mut other = world.agent();
    other.prompt("another session");
    other.edit("b.txt", "ONE", "ONE\nmore");
    other.stop();
    agent.prompt("third");
    agent.edit("a.txt", "TWO", "TWICE");
    agent.stop();
    world.write("a.txt", "one\nTWICE and mine\nthree\n");
    let output = world.run(["rewind", "t1", "--dry-run"]);
    assert_ne!(output.code, 0, "{output}");
    assert!(!output.stdout.contains("t3"), "{output}");
}

/// A file that is restored at another path does not take its owner and attributes along: the plan says so.
#[test]
fn what_a_move_leaves_behind_is_told() {
    let world = World::new();
    world.write("a.txt", "one\n");
    let has_attributes = set_attribute(&world, "a.txt", "user.note", b"mine");
    let is_root = is_superuser(&world);
    if is_root {
        std::os::unix::fs::chown(world.path("a.txt"), Some(1000), Some(1001)).expect("chown");
    }
    if !has_attributes && !is_root {
        eprintln!("nothing to leave behind here");
        return;
    }
    let mut agent = world.agent();
    agent.prompt("move it");
    agent.bash("mv a.txt b.txt");
    agent.stop();
    let plan = world.json(["rewind", "t1", "--dry-run"]);
    let told = plan["gaps"].to_string();
    assert!(told.contains("it does not take along"), "{plan:#}");
    assert_eq!(told.contains("user.note"), has_attributes, "{plan:#}");
    assert_eq!(told.contains("1000:1001"), is_root, "{plan:#}");
    // a file of the user's own has nothing to lose
    let world = World::new();
    world.write("a.txt", "one\n");
    let mut agent = world.agent();
    agent.prompt("move it");
    agent.bash("mv a.txt b.txt");
    agent.stop();
    assert!(gaps(&world.json(["rewind", "t1", "--dry-run"])).is_empty());
}
