//! A file or a directory moves away, and something equal takes its old place. Identity and path are two things then:
//! every restore must give the tree that a plain copy has.

use crate::support::World;
use crate::support::agent::Agent;
use crate::support::rng::is_long;
use crate::support::tree::{Kind, Tree, difference};

/// Files of the start: two of equal content side by side, empty ones, a directory, one that is executable.
const FILES: [(&str, &str); 9] = [
    ("a.txt", "same\nlines\n"),
    ("b.txt", "same\nlines\n"),
    ("empty.txt", ""),
    ("pkg/__init__.py", ""),
    ("pkg/mod.py", "x = 1\n"),
    ("src/one.rs", "fn one() {}\n"),
    ("src/two.rs", "fn two() {}\n"),
    ("src/deep/three.rs", "fn one() {}\n"),
    ("run.sh", "#!/bin/sh\n"),
];

/// One call of the agent.
#[derive(Clone, Copy)]
enum Call {
    Shell(&'static str),
    Write(&'static str, &'static str),
}
use Call::{Shell, Write};

/// A file or directory that moves away, and the way in which something equal takes its place.
const MOVES: [(&str, &[Call]); 20] = [
    (
        "an empty file moves across directories, written again",
        &[
            Shell("mkdir new && git mv pkg/__init__.py new/__init__.py"),
            Write("pkg/__init__.py", ""),
        ],
    ),
    (
        "a file moves within its directory, written again",
        &[
            Shell("mv src/one.rs src/uno.rs"),
            Write("src/one.rs", "fn one() {}\n"),
        ],
    ),
    (
        "a file moves across directories, written again",
        &[
            Shell("mkdir -p x/y && mv pkg/mod.py x/y/mod.py"),
            Write("pkg/mod.py", "x = 1\n"),
        ],
    ),
    (
        "a file moves and is copied back, in one command",
        &[Shell("mv a.txt c.txt && cp c.txt a.txt")],
    ),
    (
        "a file moves and is copied back, in two commands",
        &[Shell("mv a.txt c.txt"), Shell("cp c.txt a.txt")],
    ),
    (
        "a file with a mode moves and is copied back",
        &[Shell("mv run.sh go.sh"), Shell("cp -p go.sh run.sh")],
    ),
    (
        "a file moves, a link of equal meaning takes its place, then the file",
        &[
            Shell("mv a.txt c.txt"),
            Shell("ln -s c.txt a.txt"),
            Shell("rm a.txt && cp c.txt a.txt"),
        ],
    ),
    (
        "a directory moves and git brings it back, in one command",
        &[Shell("mv src src_0 && git checkout -q -f")],
    ),
    (
        "a directory moves and git brings it back, in two commands",
        &[Shell("mv src src_0"), Shell("git checkout -q -f")],
    ),
    (
        "a directory moves into another and git brings it back",
        &[
            Shell("mkdir old && mv src old/src"),
            Shell("git checkout -q -f -- src"),
        ],
    ),
    (
        "a directory moves below its own place",
        &[
            Shell("mv src tmp && mkdir src && mv tmp src/src"),
            Shell("git checkout -q -f -- src"),
        ],
    ),
    (
        "a directory moves twice and comes back twice",
        &[
            Shell("mv src src_0"),
            Shell("git checkout -q -f"),
            Shell("mv src src_1"),
            Shell("git checkout -q -f"),
        ],
    ),
    (
        "two equal files change places, in one command",
        &[Shell("mv a.txt t && mv b.txt a.txt && mv t b.txt")],
    ),
    (
        "two equal files change places, in three commands",
        &[
            Shell("mv a.txt t"),
            Shell("mv b.txt a.txt"),
            Shell("mv t b.txt"),
        ],
    ),
    (
        "an equal file moves over where another was",
        &[
            Shell("mv a.txt t"),
            Shell("mv b.txt a.txt"),
            Write("b.txt", "same\nlines\n"),
        ],
    ),
    (
        "a file is copied, then deleted, then written",
        &[
            Shell("cp pkg/mod.py pkg/copy.py"),
            Shell("rm pkg/mod.py"),
            Write("pkg/mod.py", "x = 1\n"),
        ],
    ),
    (
        "a file is copied, then deleted, and copied back",
        &[
            Shell("cp pkg/mod.py copy.py && rm pkg/mod.py"),
            Shell("cp copy.py pkg/mod.py && rm copy.py"),
        ],
    ),
    (
        "a changed file moves, and its first content comes back",
        &[
            Write("a.txt", "same\nlines\nmore\n"),
            Shell("mv a.txt c.txt"),
            Shell("git checkout -q -f -- a.txt"),
        ],
    ),
    (
        "a file moves, comes back, and both go on",
        &[
            Shell("mv a.txt c.txt"),
            Write("a.txt", "same\nlines\n"),
            Write("c.txt", "same\nlines\nc\n"),
            Write("a.txt", "same\nlines\na\n"),
        ],
    ),
    (
        "a file takes the place of a directory and goes again",
        &[
            Shell("mv pkg lib && echo 'x = 1' > pkg"),
            Shell("rm pkg && git checkout -q -f -- pkg"),
        ],
    ),
];

fn begin() -> World {
    let world = World::in_memory();
    for (path, content) in FILES {
        world.write(path, content);
    }
    world.set_mode("run.sh", 0o755);
    world.git_ok(["init", "-q", "-b", "main"]);
    world.git_ok(["add", "-A"]);
    world.git_ok(["commit", "-q", "-m", "start"]);
    world
}

fn make(agent: &Agent<'_>, call: Call) {
    match call {
        Shell(command) => {
            let output = agent.bash(command);
            assert_eq!(output.code, 0, "{command}: {output}");
        }
        Write(path, content) => {
            agent.write(path, content);
        }
    }
}

/// Without directories: an empty one is in no history.
fn files(world: &World) -> Tree {
    let mut tree = world.tree();
    tree.retain(|_, entry| entry.kind != Kind::Directory);
    tree
}

#[track_caller]
fn held(world: &World, what: &str, copy: &Tree) {
    let found = files(world);
    assert!(found == *copy, "{what}\n{}", difference(copy, &found));
}

/// A story, with a plain copy of the tree at each checkpoint.
struct Story {
    name: &'static str,
    world: World,
    copies: Vec<(String, Tree)>,
}

impl Story {
    fn new(name: &'static str, calls: &[Call]) -> Self {
        let world = begin();
        let mut copies = Vec::new();
        let mut note = || {
            let head = world.checkpoints().pop().expect("a checkpoint").id;
            let tree = files(&world);
            match copies.iter().position(|(id, _)| *id == head) {
                Some(at) => assert!(copies[at] == (head, tree), "{name}: without a checkpoint"),
                None => copies.push((head, tree)),
            }
        };
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("move");
        note();
        for call in calls {
            make(&agent, *call);
            note();
        }
        agent.stop();
        let story = Self {
            name,
            world,
            copies,
        };
        story.is_at("the story", story.after());
        story
    }

    fn before(&self) -> &Tree {
        &self.copies[0].1
    }

    fn after(&self) -> &Tree {
        &self.copies[self.copies.len() - 1].1
    }

    fn head(&self) -> &str {
        &self.copies[self.copies.len() - 1].0
    }

    /// Runs a command, which must do what it says.
    fn run(&self, args: &[&str]) {
        let output = self.world.run(args);
        assert_eq!(output.code, 0, "{}: {args:?}: {output}", self.name);
    }

    /// Held against the copy. The next command looks at the disk first: `end` asks whether one found anything.
    fn is_at(&self, what: &str, copy: &Tree) {
        held(&self.world, &format!("{}: {what}", self.name), copy);
    }

    /// No look found anything to put down to the user, and the store is whole.
    fn end(&self) {
        self.run(&["diff"]);
        let history = self.world.history();
        let found = history.iter().find(|line| line.starts_with("you"));
        assert_eq!(found, None, "{}: {history:#?}", self.name);
        self.run(&["verify"]);
    }

    /// There and back by undo, once more by redo, and back. Where files change places, the trees may be equal and
    /// something is done nevertheless.
    fn and_back(&self, args: &[&str], there: &Tree) {
        let here = files(&self.world);
        let output = self.world.run(args.iter().chain(&["--json"]));
        assert_eq!(output.code, 0, "{}: {args:?}: {output}", self.name);
        self.is_at(&format!("{args:?}"), there);
        if output.json()["operation"].is_null() {
            return;
        }
        for (again, tree) in [("undo", &here), ("redo", there), ("undo", &here)] {
            self.run(&[again]);
            self.is_at(&format!("{args:?}, {again}"), tree);
        }
    }
}

/// Checks each move; in an ordinary run each second one, from `first` (0 or 1) on.
fn all(first: usize, check: impl Fn(&Story)) {
    let step = if is_long() { 1 } else { 2 };
    for (name, calls) in MOVES
        .into_iter()
        .skip(if is_long() { 0 } else { first })
        .step_by(step)
    {
        let story = Story::new(name, calls);
        check(&story);
        story.end();
    }
}

/// U-20, U-23, S3-033, S3-035: rewinds, exact ones too, give what was there; undo and redo as well.
#[test]
fn rewound() {
    all(0, |story| {
        story.and_back(&["rewind", "t1"], story.before());
        for (id, copy) in &story.copies {
            story.and_back(&["rewind", id], copy);
            story.and_back(&["rewind", id, "--exact"], copy);
        }
    });
}

/// U-20, S3-035: from one exact rewind to the next without an undo between.
#[test]
fn rewound_from_state_to_state() {
    all(1, |story| {
        for (id, copy) in story.copies.iter().chain(story.copies.iter().rev()) {
            story.run(&["rewind", id, "--exact"]);
            story.is_at(&format!("rewind {id} --exact in a row"), copy);
        }
        story.run(&["rewind", story.head(), "--exact"]);
        story.is_at("back", story.after());
    });
}

/// U-20: the revert of the turn and of each last step, and the revert of that.
#[test]
fn reverted() {
    all(0, |story| {
        story.and_back(&["revert", "t1"], story.before());
        for at in (1..story.copies.len()).rev() {
            let (id, _) = &story.copies[at];
            story.and_back(&["revert", id], &story.copies[at - 1].1);
            story.run(&["revert", id]);
            story.is_at(&format!("revert {id}"), &story.copies[at - 1].1);
        }
    });
}

/// S2-069, S2-075, S2-076, S4-064, S4-065: forks at every checkpoint, there and back and by undo.
#[test]
fn switched() {
    all(1, |story| {
        for (at, (id, copy)) in story.copies.iter().enumerate() {
            let name = format!("idea{at}");
            story.run(&["fork", id, &name, "--switch"]);
            story.is_at(&format!("fork {id} --switch"), copy);
            story.run(&["switch", "main"]);
            story.is_at(&format!("back from {id}"), story.after());
            story.and_back(&["switch", &name], copy);
        }
        // from each to each
        for (one, (_, from)) in story.copies.iter().enumerate() {
            for (other, (_, to)) in story.copies.iter().enumerate() {
                if one == other {
                    continue;
                }
                story.run(&["switch", &format!("idea{one}")]);
                story.is_at(&format!("switch to {one}"), from);
                story.run(&["switch", &format!("idea{other}")]);
                story.is_at(&format!("switch from {one} to {other}"), to);
            }
        }
        story.run(&["switch", "main"]);
        story.is_at("main at last", story.after());
    });
}

/// S2-069, S2-075, S3-035: the same from a head that was rewound: what comes then is of other identities.
#[test]
fn switched_from_a_rewound_head() {
    all(0, |story| {
        story.run(&["rewind", "t1"]);
        for (at, (id, copy)) in story.copies.iter().enumerate() {
            let name = format!("idea{at}");
            story.run(&["fork", id, &name, "--switch"]);
            story.is_at(&format!("rewound, fork {id} --switch"), copy);
            story.run(&["switch", "main"]);
            story.is_at(&format!("rewound, back from {id}"), story.before());
            story.and_back(&["switch", &name], copy);
        }
    });
}

/// S2-083, S4-065: a second directory at every checkpoint, and rewinds in it.
#[test]
fn forked_into_a_directory() {
    all(1, |story| {
        for (at, (id, copy)) in story.copies.iter().enumerate() {
            let name = format!("dir{at}");
            let into = format!("../{name}");
            story.run(&["fork", id, &name, "--into", &into]);
            let there = story.world.beside(&name);
            let is_at = |what: &str, copy: &Tree| {
                let what = format!("{}: in the fork of {id}: {what}", story.name);
                held(&there, &what, copy);
            };
            is_at("as it was made", copy);
            for (other, copy) in &story.copies {
                let args = ["rewind", other, "--exact"];
                let output = there.run(args);
                assert_eq!(output.code, 0, "{}: {id}: {args:?}: {output}", story.name);
                is_at(&format!("{args:?}"), copy);
            }
            there.ok(["diff"]);
        }
        story.is_at("here", story.after());
    });
}

/// S2-075, S4-065: what has come back goes on on both branches, and each keeps its own.
#[test]
fn each_branch_goes_on() {
    all(0, |story| {
        let world = &story.world;
        story.run(&["fork", "t1", "idea", "--switch"]);
        let mut agent = world.agent();
        agent.prompt("another way");
        agent.write("a.txt", "another\n");
        agent.bash("mv src lib; rm pkg/mod.py");
        agent.stop();
        let idea = files(world);
        for _ in 0..2 {
            story.run(&["switch", "main"]);
            story.is_at("main", story.after());
            story.run(&["switch", "idea"]);
            story.is_at("idea", &idea);
        }
        story.run(&["rewind", "t2"]);
        story.is_at("t2 rewound", story.before());
    });
}

/// S2-075, S4-065: the user wrote again what the agent had moved away.
#[test]
fn the_user_writes_again_what_the_agent_moved() {
    let world = begin();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("move");
    let before = files(&world);
    agent.bash("mkdir new && git mv pkg/__init__.py new/__init__.py");
    agent.stop();
    world.write("pkg/__init__.py", "");
    let after = files(&world);
    world.ok(["fork", "t1", "idea", "--switch"]);
    held(&world, "fork t1 --switch", &before);
    world.ok(["switch", "main"]);
    held(&world, "switch main", &after);
    world.ok(["rewind", "t1", "--exact"]);
    held(&world, "rewind t1 --exact", &before);
    world.ok(["undo"]);
    held(&world, "undo", &after);
}

/// S2-075, U-20: what is recorded after a switch there and back is nobody's deletion.
#[test]
fn nothing_is_put_down_to_the_user() {
    let mut story = Vec::new();
    for (_, calls) in [MOVES[0], MOVES[8]] {
        let world = begin();
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("move");
        for call in calls {
            make(&agent, *call);
        }
        agent.stop();
        let (after, history) = (files(&world), world.history());
        world.ok(["fork", "t1", "idea", "--switch"]);
        world.ok(["switch", "main"]);
        world.json(["diff"]);
        assert_eq!(world.history(), history);
        held(&world, "switch main", &after);
        story.push(history);
    }
    assert!(story[0].contains(&"t1: move".to_owned()), "{story:#?}");
}
