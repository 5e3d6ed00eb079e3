//! Stores that cannot be written, are damaged, or are of a newer version.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{begun, checkpoints, fed, harmless};
use crate::support::{World, finish, skip};

/// Neither a state directory that cannot be created nor a store that cannot be created blocks the agent.
#[test]
fn a_store_that_cannot_be_written_never_blocks_the_agent() {
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
pub struct Small(PathBuf);

impl Small {
    /// Mounts one. Returns None, with a message, where mounting is not allowed: then the test cannot run.
    pub fn mount(test: &str, at: &Path) -> Option<Self> {
        let small = Self::try_mount(at);
        if small.is_none() {
            skip(test, "no file system can be mounted");
        }
        small
    }

    /// Mounts one with timestamps of whole seconds. It needs a loop device, which few containers have.
    pub fn with_coarse_stamps(at: &Path) -> Option<Self> {
        let image = at.with_extension("image");
        File::create(&image).and_then(|f| f.set_len(8 << 20)).ok()?;
        let mut make = Command::new("sh");
        make.args([
            "-c",
            "mkfs.ext2 -q -I 128 \"$1\" && mount -o loop \"$1\" \"$2\" && rmdir \"$2/lost+found\"",
            "sh",
        ]);
        let made = finish(make.arg(image).arg(at), b"");
        (made.code == 0).then(|| Self(at.to_owned()))
    }

    fn try_mount(at: &Path) -> Option<Self> {
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

    /// Fills the file system to the last byte.
    pub fn fill(&self) {
        let mut file = File::create(self.ballast()).expect("a file");
        while file.write_all(&[7; 4096]).is_ok() {}
        while file.write_all(&[7]).is_ok() {}
    }

    pub fn empty(&self) {
        fs::remove_file(self.ballast()).expect("a file");
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        finish(Command::new("umount").arg("-l").arg(&self.0), b"");
    }
}

/// U-20: a full disk costs the event. It does not affect the agent nor earlier records.
#[test]
fn a_full_disk_costs_only_the_event() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let small = Small::try_mount(&world.state.join("backstitch"));
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
    let send = |payload: &Value| {
        let mut command = world.hook_command();
        if small.is_none() {
            // a limit on file sizes: the closest to a full disk without a mount
            let hook = command;
            command = world.command("sh");
            command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]);
            command
                .arg(hook.get_program())
                .args(["hook", "claude-code"]);
        }
        harmless(&mut command, payload.to_string().as_bytes(), 1);
    };
    if let Some(small) = &small {
        small.fill();
    }
    send(&call(1, "PreToolUse"));
    world.write("a.txt", "three\n");
    send(&call(1, "PostToolUse"));
    if let Some(small) = &small {
        small.empty();
    }
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

type Damage<'a> = &'a dyn Fn(&World);

/// S3-026: a damaged or newer store is named as such and left alone.
#[test]
fn damaged_and_newer_stores_are_named_and_left_alone() {
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
    let damages: [(&str, Damage<'_>); 4] = [
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
