//! An agent's work that git takes away and brings back is still the agent's: in new files, in known ones, moved and
//! deleted ones.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::World;
use crate::support::history::gaps;
use crate::support::tree::{Kind, Tree, difference};

/// Commands that take the work away, and those that bring it back.
const WAYS: [(&str, &[&str], &[&str]); 3] = [
    (
        "another branch, and back",
        &["git add -A && git commit -qm work", "git checkout -q main"],
        &["git checkout -q feature"],
    ),
    (
        "a stash",
        &["git stash push -q --include-untracked"],
        &["git stash pop -q"],
    ),
    (
        "a reset, and the commit again",
        &[
            "git add -A && git commit -qm work && git tag work",
            "git reset -q --hard HEAD~1",
        ],
        &["git reset -q --hard work"],
    ),
];

/// Records what is on disk now.
#[derive(Clone, Copy, Debug)]
enum Looks {
    Nothing,
    Prompt,
    Checkpoint,
}

const FILES: [(&str, &str); 4] = [
    ("known.txt", "a\nb\nc\nd\ne\nf\n"),
    ("gone.txt", "gone\n"),
    ("old.txt", "one\ntwo\nthree\nfour\nfive\nsix\n"),
    ("same.txt", "same\n"),
];

/// On the branch `feature`.
fn begin() -> World {
    let world = World::committed(&FILES);
    world.git_ok(["branch", "-M", "main"]);
    world.git_ok(["checkout", "-q", "-b", "feature"]);
    world
}

fn work(world: &World) {
    world.turn("Make it new", |agent| {
        agent.write("new.txt", "new\nfile\n");
        agent.write("dir/deep/other.txt", "other\n");
        agent.write("empty.txt", "");
        agent.edit("known.txt", "b\n", "B\n");
        agent.bash("rm gone.txt; mv old.txt moved.txt; printf 'and more\\n' >> moved.txt");
        agent.bash("printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh");
    });
}

/// Without directories: git keeps none.
fn files(world: &World) -> Tree {
    let mut tree = world.tree();
    tree.retain(|_, entry| entry.kind != Kind::Directory);
    tree
}

fn sh(world: &World, commands: &[&str]) {
    for command in commands {
        let output = world.sh(command);
        assert_eq!(output.code, 0, "{command}: {output}");
    }
}

fn look(world: &World, looks: Looks) {
    match looks {
        Looks::Nothing => {}
        Looks::Prompt => {
            let mut agent = world.agent();
            agent.prompt("Look around");
            agent.stop();
        }
        Looks::Checkpoint => {
            world.ok(["checkpoint"]);
        }
    }
}

/// Looks while the work is away, and after it came back.
const LOOKS: [(Looks, Looks); 4] = [
    (Looks::Nothing, Looks::Nothing),
    (Looks::Prompt, Looks::Nothing),
    (Looks::Prompt, Looks::Prompt),
    (Looks::Checkpoint, Looks::Checkpoint),
];

fn wrong(problems: &mut String, what: &str, world: &World, copy: &Tree) {
    let found = files(world);
    if found != *copy {
        writeln!(problems, "{what}\n{}", difference(copy, &found)).expect("a string takes all");
    }
}

/// A rewind takes out all of it, `undo` brings it back, and so do both after a second journey.
#[test]
fn work_that_git_brings_back_is_rewound_as_before() {
    let mut problems = String::new();
    for (way, leave, come) in WAYS {
        for (away, home) in LOOKS {
            let what = format!("{way}, {away:?}, {home:?}");
            let world = begin();
            let before = files(&world);
            work(&world);
            let after = files(&world);
            for journey in ["once", "twice"] {
                if journey == "twice" {
                    // the first journey has committed what it takes away
                    world.sh("git tag -d work; git reset -q --soft main");
                }
                sh(&world, leave);
                look(&world, away);
                sh(&world, come);
                look(&world, home);
                wrong(
                    &mut problems,
                    &format!("{what}, {journey}: there"),
                    &world,
                    &after,
                );
                world.ok(["rewind", "t1"]);
                wrong(
                    &mut problems,
                    &format!("{what}, {journey}: rewound"),
                    &world,
                    &before,
                );
                world.ok(["undo"]);
                wrong(
                    &mut problems,
                    &format!("{what}, {journey}: undone"),
                    &world,
                    &after,
                );
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// The user's line in an agent's new file is the user's still, and conflicts with a rewind as without a journey.
#[test]
fn an_own_edit_of_what_comes_back_stays_an_own_edit() {
    for (way, leave, come) in WAYS {
        for at_home in [false, true] {
            let world = begin();
            work(&world);
            let add = || world.write("new.txt", "new\nfile\nmine\n");
            if !at_home {
                add();
                world.ok(["checkpoint"]);
            }
            sh(&world, leave);
            look(&world, Looks::Prompt);
            sh(&world, come);
            look(&world, Looks::Prompt);
            if at_home {
                add();
            }
            let refused = world.run(["rewind", "t1"]).expect_code(1);
            assert!(refused.stdout.contains("new.txt"), "{way}: {refused}");
            assert!(
                refused.stdout.contains("a later edit of it stays"),
                "{way}: {refused}"
            );
            world.ok(["rewind", "t1", "--on-conflict", "current"]);
            assert_eq!(world.read("new.txt"), "new\nfile\nmine\n", "{way}");
            assert_eq!(world.read("known.txt"), FILES[0].1, "{way}");
        }
    }
}

/// A step that was made after the journey is rewound alone, and the first turn stays.
#[test]
fn later_work_on_what_came_back_is_rewound_alone() {
    let world = begin();
    work(&world);
    let first = files(&world);
    sh(&world, WAYS[0].1);
    look(&world, Looks::Prompt);
    sh(&world, WAYS[0].2);
    world.turn("And more", |agent| {
        agent.edit("new.txt", "file\n", "files\n");
    });
    let last = world.checkpoints().len();
    world.ok(["rewind"]);
    let found = files(&world);
    assert!(found == first, "{}", difference(&first, &found));
    assert!(world.checkpoints().len() > last);
    world.ok(["rewind", "t1"]);
    assert!(!world.exists("new.txt"));
}

/// Files and hunks that are to be reviewed, without the names of their states.
fn reviewed(world: &World) -> Vec<Value> {
    let review = world.json(["review"]);
    let mut files = review["files"].as_array().expect("files").clone();
    for file in &mut files {
        file["shown"].take();
    }
    files
}

/// Blame and reviews name the agent, not the user who checked the branch out.
#[test]
fn what_comes_back_keeps_its_author() {
    for (way, leave, come) in WAYS {
        let world = begin();
        work(&world);
        let before = reviewed(&world);
        sh(&world, leave);
        look(&world, Looks::Prompt);
        sh(&world, come);
        look(&world, Looks::Prompt);
        for (path, line) in [
            ("new.txt", "new"),
            ("known.txt", "B"),
            ("moved.txt", "and more"),
        ] {
            let blame = world.ok(["blame", path]).stdout;
            let row = blame.lines().find(|row| row.ends_with(line));
            let row = row.unwrap_or_else(|| panic!("{way}: {path}: {blame}"));
            assert!(row.contains("t1"), "{way}: {path}: {blame}");
        }
        assert_eq!(reviewed(&world), before, "{way}");
    }
}

/// Nothing is left to do where git has taken the work away, and the answer names the branch that has it.
#[test]
fn a_rewind_on_another_branch_says_where_the_work_is() {
    let world = begin();
    world.turn("Make it new", |agent| {
        agent.write("new.txt", "new\n");
    });
    sh(&world, WAYS[0].1);
    let said = world.ok(["rewind", "t1"]).stdout;
    for words in [
        "Nothing to do",
        "git is on branch main",
        "git switch feature",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // back there, it is undone
    sh(&world, WAYS[0].2);
    world.ok(["rewind", "t1"]);
    assert!(!world.exists("new.txt"));
}

/// A file that was deleted and written again with another content stays, and the plan names it.
#[test]
fn a_file_that_was_written_again_stays_and_is_named() {
    let world = begin();
    world.turn("Make it new", |agent| {
        agent.write("new.txt", "new\n");
    });
    world.remove("new.txt");
    world.ok(["checkpoint"]);
    world.write("new.txt", "something else\n");
    let plan = world.plan(["rewind", "t1"]);
    assert_eq!(gaps(&plan), ["unknown new.txt"], "{plan:#}");
    let said = world.ok(["rewind", "t1"]).stdout;
    let words = "it was deleted and written again since; it stays as it is";
    assert!(said.contains(words), "{said}");
    assert_eq!(world.read("new.txt"), "something else\n");
}
