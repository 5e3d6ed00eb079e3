//! An interrupted switch or fork: afterwards the workspace is completely on one branch or the other.

use std::fs;

use crate::support::tree::{Kind, Tree, assert_same};
use crate::support::{World, finish};

/// A workspace with two branches: on the other one files are deleted, new, renamed, changed, and of another mode.
fn two_branches() -> World {
    let world = World::in_memory();
    for n in 0..6 {
        world.write(format!("d{n}/f.txt"), format!("{n}\n"));
    }
    world.ok(["checkpoint"]);
    world.ok(["branch", "create", "other"]);
    world.write("d0/f.txt", "changed\n");
    world.remove("d1/f.txt");
    fs::create_dir_all(world.path("new/deep")).expect("made");
    fs::rename(world.path("d2/f.txt"), world.path("new/deep/g.txt")).expect("renamed");
    world.write("added.txt", "added\n");
    world.set_mode("d3/f.txt", 0o755);
    world.symlink("d3/f.txt", "link");
    world.ok(["checkpoint"]);
    world
}

fn branch(world: &World) -> String {
    let status = world.json(["status"]);
    status["branch"].as_str().expect("a name").to_owned()
}

/// U-20, U-21: killed at any point, a switch has not begun or is finished by the next command.
#[test]
fn a_switch_that_is_cut_off() {
    let world = two_branches();
    let main = world.tree();
    world.ok(["switch", "other"]);
    let other = world.tree();
    let (mut cut, mut fault) = (0, 0);
    loop {
        fault += 1;
        let to = if branch(&world) == "main" {
            "other"
        } else {
            "main"
        };
        let mut command = world.backstitch();
        command
            .args(["switch", to])
            .env("BACKSTITCH_FAULT", fault.to_string());
        let done = finish(&mut command, b"").code == 0;
        let now = branch(&world);
        let expected = if now == "main" { &main } else { &other };
        assert_same(&world.tree(), expected);
        world.ok(["verify"]);
        if done {
            assert_eq!(now, to, "{fault}");
            break;
        }
        cut += 1;
        let history = world.history();
        world.json(["diff"]);
        assert_eq!(world.history(), history, "{fault}: a look found something");
    }
    assert!(cut > 30, "{cut}");
}

/// Files of the workspace without directories: the history holds no empty ones.
fn files(world: &World) -> Tree {
    let mut tree = world.tree();
    tree.retain(|_, entry| entry.kind != Kind::Directory);
    tree
}

/// U-20: an interrupted fork leaves a working branch and directory, or neither.
#[test]
fn a_fork_that_is_cut_off() {
    cut_off_forks(false);
}

/// U-20: the same into an existing empty directory, which stays.
#[test]
fn a_fork_into_an_empty_directory_that_is_cut_off() {
    cut_off_forks(true);
}

fn cut_off_forks(empty: bool) {
    use std::os::unix::fs::MetadataExt as _;
    let world = two_branches();
    let before = files(&world);
    let (mut cut, mut fault) = (0, 0);
    let (mut finished, mut undone) = (0, 0);
    loop {
        fault += 1;
        let name = format!("fork{fault}");
        let there = world.beside(&name);
        let inode = empty.then(|| {
            fs::create_dir(&there.root).expect("made");
            fs::metadata(&there.root).expect("there").ino()
        });
        let mut command = world.backstitch();
        command
            .args(["fork", "@", &name, "--into", &format!("../{name}")])
            .env("BACKSTITCH_FAULT", fault.to_string());
        let done = finish(&mut command, b"").code == 0;
        // the next command finishes it or removes it
        world.ok(["verify"]);
        assert_same(&files(&world), &before);
        let made = world.run(["show", &name]).code == 0;
        if made {
            finished += u32::from(!done);
        } else {
            assert!(!done, "{fault}");
            undone += 1;
            let left = fs::read_dir(&there.root).map_or(0, Iterator::count);
            assert_eq!(left, 0, "{fault}");
            assert_eq!(there.root.exists(), empty, "{fault}");
            world.ok(["fork", "@", &name, "--into", &format!("../{name}")]);
        }
        assert_same(&files(&there), &before);
        assert_eq!(branch(&there), name, "{fault}");
        let history = there.history();
        there.json(["diff"]);
        assert_eq!(there.history(), history, "{fault}: a look found something");
        if let Some(inode) = inode {
            assert_eq!(fs::metadata(&there.root).expect("there").ino(), inode);
        }
        let ours = fs::read_dir(world.root.parent().expect("a parent")).expect("a list");
        let ours = ours.map(|e| e.expect("an entry").file_name());
        let ours: Vec<_> = ours
            .filter(|n| n.to_string_lossy().starts_with(".backstitch"))
            .collect();
        assert!(ours.is_empty(), "{fault}: {ours:?}");
        if done {
            break;
        }
        cut += 1;
    }
    assert!(
        cut > 12 && finished > 1 && undone > 5,
        "{cut}: {finished}, {undone}"
    );
}

/// An interrupted undo of a switch with carried edits has not begun, or has taken them out and is back on this branch.
#[test]
fn an_undo_of_a_carry_that_is_cut_off() {
    let world = two_branches();
    world.write("d4/f.txt", "mine\n");
    let main = world.tree();
    let other = world.at("other", "d4/f.txt");
    world.ok(["switch", "other", "--carry"]);
    let there = world.tree();
    assert_ne!(world.at("other", "d4/f.txt"), other);
    let (mut cut, mut fault) = (0, 0);
    loop {
        fault += 1;
        let mut command = world.backstitch();
        command
            .arg("undo")
            .env("BACKSTITCH_FAULT", fault.to_string());
        let done = finish(&mut command, b"").code == 0;
        if branch(&world) == "main" {
            assert_same(&world.tree(), &main);
            assert_eq!(world.at("other", "d4/f.txt"), other, "{fault}");
        } else {
            assert_same(&world.tree(), &there);
            assert_eq!(world.at("other", "d4/f.txt").as_deref(), Some("mine\n"));
        }
        world.ok(["verify"]);
        if done {
            assert_eq!(branch(&world), "main", "{fault}");
            break;
        }
        cut += 1;
        if branch(&world) == "main" {
            world.ok(["redo"]);
            assert_same(&world.tree(), &there);
        }
    }
    assert!(cut > 15, "{cut}");
}
