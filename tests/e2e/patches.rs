//! `diff` and `show --patch` are patches that `git apply` takes, whatever was renamed, replaced or removed.

use std::fs;
use std::path::Path;

use crate::support::rng::{Rng, cases};
use crate::support::tree::{Kind, Tree, difference, tree};
use crate::support::{World, finish};

/// Names that a file or a directory of the generated trees may have.
const NAMES: [&str; 9] = [
    "a",
    "b",
    "dir",
    "a b",
    "quote\"d",
    "new\nline",
    "back\\slash",
    "tab\there",
    "\u{e9}t\u{e9}",
];

/// A tree as git has it: files with their content and the bit of their owner to execute, and links.
fn as_git(root: &Path) -> Tree {
    let mut files = tree(root);
    files.retain(|_, entry| entry.kind != Kind::Directory);
    for entry in files.values_mut() {
        entry.mode &= 0o100;
    }
    files
}

/// Applies a patch to a copy of one state, and asserts that it gives the other.
#[track_caller]
fn applies(world: &World, patch: &[u8], from: &str, to: &str, what: &str) {
    let [old, new] = ["old", "new"].map(|name| world.home.join(name));
    for (dir, rev) in [(&old, from), (&new, to)] {
        fs::remove_dir_all(dir).ok();
        let dir = dir.to_str().expect("UTF-8");
        world.ok(["materialize", rev, "--into", dir]);
    }
    let mut git = world.command("git");
    git.args(["apply", "--whitespace=nowarn", "--allow-empty", "-"])
        .current_dir(&old)
        .env("GIT_CEILING_DIRECTORIES", &world.home);
    let output = finish(&mut git, patch);
    let shown = String::from_utf8_lossy(patch);
    assert_eq!(output.code, 0, "{what}: {output}\n{shown}");
    let (got, wanted) = (as_git(&old), as_git(&new));
    assert!(
        got == wanted,
        "{what}: {}\n{shown}",
        difference(&wanted, &got)
    );
}

fn content(rng: &mut Rng) -> Vec<u8> {
    let lines = |rng: &mut Rng| -> String {
        let first = rng.below(4) * 10;
        let lines: Vec<String> = (first..first + 12).map(|n| format!("line {n}\n")).collect();
        lines.concat()
    };
    match rng.below(8) {
        0 => Vec::new(),
        1 => lines(rng).trim_end().as_bytes().to_vec(),
        2 => lines(rng).replace('\n', "\r\n").into_bytes(),
        3 => [b"\0binary", rng.next().to_le_bytes().as_slice()].concat(),
        4 => lines(rng)
            .replacen("line 1", "changed", 1 + rng.below(3))
            .into_bytes(),
        5 => b"caf\xe9\n\r\nlone\rreturn\n".to_vec(),
        _ => lines(rng).into_bytes(),
    }
}

fn any_path(rng: &mut Rng) -> String {
    let depth = 1 + rng.below(2);
    let names: Vec<&str> = (0..depth).map(|_| *rng.pick(&NAMES)).collect();
    names.join("/")
}

/// Changes the tree a little: files appear, go, move, swap their names, and change their kind and mode.
fn mutate(world: &World, rng: &mut Rng) {
    let files: Vec<_> = as_git(&world.root).into_keys().collect();
    let clear = |path: &Path| {
        let full = world.path(path);
        // a file where a directory is needed, or a directory at the path
        for above in path.ancestors().skip(1).filter(|p| p.parent().is_some()) {
            let above = world.path(above);
            if above.symlink_metadata().is_ok_and(|m| !m.is_dir()) {
                fs::remove_file(above).expect("removed");
            }
        }
        match full.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&full).expect("removed"),
            Ok(_) => fs::remove_file(&full).expect("removed"),
            Err(_) => {}
        }
        fs::create_dir_all(full.parent().expect("a parent")).expect("directories");
    };
    let at = any_path(rng);
    let to = Path::new(&at);
    match (rng.below(10), files.is_empty()) {
        (0..=2, _) | (_, true) => {
            clear(to);
            fs::write(world.path(to), content(rng)).expect("written");
        }
        (3..=5, _) => {
            let from = world.path(rng.pick(&files));
            let held = world.home.join("held");
            fs::rename(&from, &held).expect("moved");
            clear(to);
            fs::rename(&held, world.path(to)).expect("moved");
        }
        (6, _) => {
            let (a, b) = (rng.pick(&files), rng.pick(&files));
            let held = world.home.join("held");
            if a != b {
                fs::rename(world.path(a), &held).expect("moved");
                fs::rename(world.path(b), world.path(a)).expect("moved");
                fs::rename(&held, world.path(b)).expect("moved");
            }
        }
        (7, _) => {
            clear(to);
            world.symlink(rng.pick(&NAMES), to);
        }
        (8, _) => {
            let path = rng.pick(&files);
            let found = world.path(path).symlink_metadata().expect("a file");
            if found.is_file() {
                let mode = if world.mode(path) & 0o100 == 0 {
                    0o755
                } else {
                    0o644
                };
                world.set_mode(path, mode);
            }
        }
        _ => fs::remove_file(world.path(rng.pick(&files))).expect("removed"),
    }
}

/// The place of a file that moved is taken again: by another text, by the same, in a chain and in a swap.
#[test]
fn a_file_that_moved_and_one_in_its_place_make_a_patch() {
    let text: Vec<String> = (0..8).map(|n| format!("line {n}\n")).collect();
    let text = text.concat();
    let other: Vec<String> = (0..8).map(|n| format!("other {n}\n")).collect();
    let other = other.concat();
    for command in [
        "mkdir new; mv a new/b; printf 'taken\\n' > a",
        "mkdir zz; mv a zz/b; cp zz/b a",
        "mv b c; mv a b",
        "mv a held; mv b a; mv held b",
        "mv a held; mkdir a; mv held a/a",
        "mkdir d; mv a d/x; rm b; mv d b",
    ] {
        let world = World::new();
        world.write("a", &text);
        world.write("b", &other);
        let mut agent = world.agent();
        agent.prompt("move it");
        agent.bash(command);
        agent.stop();
        let step = world.checkpoints().pop().expect("a step").id;
        for (from, to) in [("t1", step.as_str()), (step.as_str(), "t1")] {
            let patch = world.ok(["diff", from, to]).bytes;
            applies(&world, &patch, from, to, command);
        }
        let patch = world.ok(["show", &step, "--patch"]).bytes;
        applies(&world, &patch, "t1", &step, command);
    }
}

/// Between random states, `diff` gives a patch that leads exactly from the one to the other.
#[test]
fn a_diff_of_any_two_states_is_a_patch() {
    let first = Rng::seed("BACKSTITCH_SEED", 1);
    for seed in first..first + cases("BACKSTITCH_PATCHES", 3, 60) {
        let mut rng = Rng::new(seed);
        let world = World::in_memory();
        for _ in 0..6 {
            mutate(&world, &mut rng);
        }
        let mut agent = world.agent();
        let mut states = Vec::new();
        for _ in 0..7 {
            agent.prompt("change something");
            let call = agent.pre_bash("change");
            for _ in 0..=rng.below(6) {
                mutate(&world, &mut rng);
            }
            agent.post_bash(&call, &world.sh("true"));
            agent.stop();
            let step = world.checkpoints().pop().expect("a checkpoint").id;
            states.push(step);
        }
        states.dedup();
        for _ in 0..8 {
            let (from, to) = (rng.pick(&states).clone(), rng.pick(&states).clone());
            let what = format!("BACKSTITCH_SEED={seed} {from} {to}");
            let patch = world.ok(["diff", &from, &to]).bytes;
            applies(&world, &patch, &from, &to, &what);
        }
        for pair in states.windows(2) {
            let what = format!("BACKSTITCH_SEED={seed} show {}", pair[1]);
            let patch = world.ok(["show", &pair[1], "--patch"]).bytes;
            applies(&world, &patch, &pair[0], &pair[1], &what);
        }
    }
}
