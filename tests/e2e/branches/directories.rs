//! A second directory on the same history.

use std::fs;

use serde_json::json;

use super::{current, names, nothing_new, says};
use crate::support::history::{conflicts, path};
use crate::support::scenarios::{SEVEN_LINES, an_edit_and_a_new_file};
use crate::support::tree::assert_same;

/// S2-083: a second agent next to the first, in a directory of its own: they share one history and no file.
#[test]
fn a_forked_directory_shares_the_history_and_no_files() {
    let world = an_edit_and_a_new_file();
    let other = world.beside("idea2");
    world.write("left.tmp", "");
    world.write(".gitignore", "*.tmp\n");
    let made = world.json(["fork", "t1", "idea2", "--into", "../idea2"]);
    assert_eq!(
        path(&made["branch"]["root"]),
        other.root.to_str().expect("UTF-8")
    );
    assert_eq!(other.read("a.txt"), SEVEN_LINES);
    assert!(!other.exists("b.txt") && !other.exists(".git") && !other.exists("left.tmp"));
    let status = other.json(["status"]);
    assert_eq!(
        (&status["branch"], path(&status["workspace"])),
        (
            &json!("idea2"),
            other.root.to_str().expect("UTF-8").to_owned()
        )
    );
    // both work at once, with overlapping shells and files of the same names
    let (mut a, mut b) = (world.agent(), other.agent());
    a.prompt("here");
    b.prompt("there");
    let (x, y) = (
        a.pre_bash("echo here >> c.txt; echo h > same.txt"),
        b.pre_bash("echo there >> c.txt; echo t > same.txt"),
    );
    let (out_x, out_y) = (
        world.sh("echo here >> c.txt; echo h > same.txt"),
        other.sh("echo there >> c.txt; echo t > same.txt"),
    );
    a.post_bash(&x, &out_x);
    b.post_bash(&y, &out_y);
    a.stop();
    b.stop();
    assert_eq!(
        (world.read("c.txt"), other.read("c.txt")),
        ("c\nhere\n".into(), "c\nthere\n".into())
    );
    let lines = world.history();
    for line in [
        "t2 Bash: modify c.txt, create same.txt",
        "t3 Bash: modify c.txt, create same.txt",
    ] {
        assert!(lines.contains(&line.to_owned()), "{lines:#?}");
    }
    assert_eq!(
        current(&other),
        ["manual", "t1: first idea", "t3: there", "step Bash"]
    );
    // the two branches compared from either side
    for place in [&world, &other] {
        let diff = place.json(["diff", "main", "idea2"]);
        let files: Vec<String> = diff["files"]
            .as_array()
            .expect("files")
            .iter()
            .map(|f| format!("{} {}", f["kind"].as_str().expect("kind"), path(&f["path"])))
            .collect();
        assert_eq!(
            files,
            [
                "delete .gitignore",
                "modify a.txt",
                "delete b.txt",
                "modify c.txt",
                "modify same.txt"
            ]
        );
    }
    // a rewind here does not change the other directory, and undo does not reach across
    let (here, there) = (world.tree(), other.tree());
    world.ok(["rewind", "t2"]);
    assert_same(&other.tree(), &there);
    says(&other.run(["undo"]), 1, &["no operation to undo"]);
    world.ok(["undo"]);
    assert_same(&world.tree(), &here);
    // one branch, one directory
    says(&world.run(["switch", "idea2"]), 1, &["idea2", "branch of"]);
    says(&world.run(["branch", "delete", "idea2"]), 1, &["idea2"]);
    says(&other.run(["init"]), 1, &["forked from another"]);
    says(
        &world.run(["fork", "@", "idea3", "--into", "../idea2"]),
        1,
        &["not empty"],
    );
    says(
        &world.run(["fork", "@", "idea3", "--into", "below"]),
        1,
        &["inside the workspace"],
    );
    assert!(!names(&world).contains(&"idea3".to_owned()));
    assert!(!world.exists("below"));
    nothing_new(&world);
    // its work is taken over: that of a whole session, or of one turn by reverting its revert
    let session = other.checkpoint("t3: there").json["session"]
        .as_str()
        .expect("an id")
        .to_owned();
    let plan = world
        .run(["--json", "rewind", "idea2", "--session", &session])
        .expect_code(1)
        .json();
    assert_eq!(conflicts(&plan), ["c.txt", "same.txt"]);
    world.ok(["rewind", "t2"]);
    world.ok(["rewind", "idea2", "--session", &session]);
    assert_eq!(world.read("c.txt"), "c\nthere\n");
    assert_eq!(world.read("same.txt"), "t\n");
    assert!(
        world.read("a.txt").starts_with("ONE\n"),
        "the work of others stays"
    );
    world.ok(["undo"]);
    other.ok(["revert", "t3"]);
    assert!(!other.exists("same.txt"));
    let reverted = other.json(["log", "-n", "1"])["checkpoints"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    world.ok(["revert", &reverted]);
    assert_eq!(world.read("same.txt"), "t\n");
    for place in [&world, &other] {
        place.ok(["verify"]);
    }
    // once the directory is gone, its branch can be switched to from here
    fs::remove_dir_all(&other.root).expect("removed");
    world.ok(["switch", "idea2"]);
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    world.ok(["switch", "main"]);
    assert_eq!(world.read("same.txt"), "t\n");
    world.ok(["verify"]);
}

/// A fork that cannot be finished leaves neither a branch nor a root.
#[test]
fn a_fork_that_cannot_be_finished_leaves_no_branch() {
    let world = an_edit_and_a_new_file();
    let other = world.beside("other");
    fs::create_dir(&other.root).expect("made");
    other.ok(["init"]);
    says(
        &world.run(["fork", "@", "idea2", "--into", "../other"]),
        1,
        &["its own history"],
    );
    assert_eq!(names(&world), ["main*"]);
    assert_eq!(other.json(["status"])["branch"], "main");
    world.ok(["verify"]);
}
