//! The user's `.git` stays unchanged, byte for byte, and Backstitch leaves no file in the workspace.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::git_backed::{age_files_and_refresh_index, git_backed_count};
use crate::support::agent::Agent;
use crate::support::tree::{Kind, Tree, assert_same, git_digest};
use crate::support::{World, finish};

/// Runs about a hundred events: edits, shell calls, rewinds, undo, and all read-only commands. Leaves the files as
/// they were at its start.
fn a_day(world: &World, below: &str) {
    let start = world.tree();
    let mut agent = world.agent();
    agent.session_start();
    let first = newest_turn(world, &mut agent, "begin");
    for n in 0..8 {
        let turn = newest_turn(world, &mut agent, &format!("turn {n}"));
        let path = format!("{below}day/{}.txt", n % 3);
        agent.write(&path, &format!("{n}\nsame\n"));
        agent.edit(&path, "same", "other");
        agent.bash(&format!(
            "echo {n} >> {below}day/log.txt; mkdir -p {below}made/{n}; echo x > {below}made/{n}/y"
        ));
        agent.read(&path);
        world.write(format!("{below}mine.txt"), format!("{n}\n"));
        agent.stop();
        world.ok(["diff", &turn]);
        world.ok(["log", "--graph"]);
        world.ok(["show", "@", "--patch"]);
        world.ok(["status"]);
        if n % 2 == 0 {
            world.ok(["rewind", &turn, "--dry-run"]);
            world.ok(["rewind", &turn]);
            world.ok(["undo"]);
            world.ok(["redo"]);
            world.ok(["undo"]);
        } else {
            world.ok(["revert", &turn, "--path", &format!("{below}made/{n}")]);
        }
        world.ok(["checkpoint", "-m", "kept"]);
    }
    agent.session_end();
    let into = world.home.join("materialized");
    fs::remove_dir_all(&into).ok();
    world.ok(["materialize", "@", "--into", into.to_str().expect("UTF-8")]);
    world.ok(["rewind", &first, "--exact"]);
    world.ok(["verify"]);
    assert_same(&files(world.tree()), &files(start));
}

fn newest_turn(world: &World, agent: &mut Agent<'_>, prompt: &str) -> String {
    agent.prompt(prompt);
    let log = world.json(["log", "-n", "1"]);
    log["checkpoints"][0]["turn"]
        .as_str()
        .expect("a turn")
        .to_owned()
}

fn files(mut tree: Tree) -> Tree {
    tree.retain(|_, entry| entry.kind != Kind::Directory);
    tree
}

/// Asserts that no file of Backstitch is in the workspace.
fn assert_no_trace(world: &World) {
    let ours = |path: &&PathBuf| path.to_string_lossy().contains("backstitch");
    let tree = world.tree();
    let left: Vec<_> = tree.keys().filter(ours).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// S3-002, S4-045, S4-D1, U-22: a repository with a history, staged and unstaged changes, a stash, a tag.
#[test]
fn a_repository_with_staged_changes_stays_as_it_is() {
    staged_changes(&repository());
}

/// S3-002: the same where git has the contents, which are read from it.
#[test]
fn a_repository_that_backs_files_stays_as_it_is() {
    let world = repository().with("BACKSTITCH_GIT_BACKED_ALWAYS", "1");
    staged_changes(&world);
    assert!(git_backed_count(&world) > 0, "what never changed");
}

fn repository() -> World {
    World::committed(&[
        ("src/main.rs", "fn main() {}\n"),
        ("notes.txt", "one\n"),
        (".gitignore", "out/\n"),
    ])
}

fn staged_changes(world: &World) {
    world.write("notes.txt", "stashed\n");
    world.git_ok(["stash"]);
    world.git_ok(["tag", "v1"]);
    world.git_ok(["branch", "side"]);
    world.write("notes.txt", "staged\n");
    world.write("new.txt", "intended\n");
    world.git_ok(["add", "notes.txt"]);
    world.git_ok(["add", "-N", "new.txt"]);
    world.write("notes.txt", "staged\nand more\n");
    world.write("out/ignored.o", "object\n");
    age_files_and_refresh_index(world);
    let (status, before) = (world.git_ok(["status", "--porcelain"]), world.git_digest());
    a_day(world, "");
    assert_eq!(world.git_digest(), before);
    assert_eq!(world.git_ok(["status", "--porcelain"]), status);
    assert_no_trace(world);
}

/// U-25: a repository without commits gets none.
#[test]
fn a_repository_without_commits_gets_none() {
    let world = World::git();
    world.write("a.txt", "one\n");
    let before = world.git_digest();
    a_day(&world, "");
    assert_eq!(world.git_digest(), before);
    assert!(world.git_run(["rev-parse", "HEAD"]).code != 0);
    assert_no_trace(&world);
}

/// S3-003: without git, none is created.
#[test]
fn no_git_directory_is_created() {
    let world = World::new();
    world.write("a.txt", "one\n");
    a_day(&world, "");
    assert!(!world.exists(".git"));
    assert_no_trace(&world);
}

/// S3-002, U-22: a linked work tree: its own git directory and the shared one.
#[test]
fn a_linked_work_tree_stays_as_it_is() {
    linked(&World::new());
}

/// S3-002, U-22: the same with git-backed files.
#[test]
fn a_linked_work_tree_that_backs_files_stays_as_it_is() {
    let world = World::new().with("BACKSTITCH_GIT_BACKED_ALWAYS", "1");
    linked(&world);
    assert_eq!(git_backed_count(&world), 1, "what never changed");
}

fn linked(world: &World) {
    let main = world.home.join("main");
    let main_text = main.to_str().expect("UTF-8");
    world.git_ok(["init", "-q", "-b", "main", main_text]);
    fs::write(main.join("a.txt"), "one\n").expect("a file");
    world.git_ok(["-C", main_text, "add", "-A"]);
    world.git_ok(["-C", main_text, "commit", "-q", "-m", "start"]);
    let root = world.root.to_str().expect("UTF-8");
    world.git_ok([
        "-C", main_text, "worktree", "add", "-q", "-b", "linked", root,
    ]);
    world.git_ok(["status"]);
    age_files_and_refresh_index(world);
    let (before, link) = (git_digest(&main.join(".git")), world.read(".git"));
    a_day(world, "");
    assert_eq!(git_digest(&main.join(".git")), before);
    assert_eq!(world.read(".git"), link);
    let head = world.json(["log", "-n", "1"])["checkpoints"][0]["git"].clone();
    assert_eq!(head["branch"], "linked", "{head:#}");
    assert_no_trace(world);
}

/// S3-002, S3-003: a submodule and a nested repository: their files are restored, their git stays unchanged.
#[test]
fn nested_repositories_stay_as_they_are() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let library = world.home.join("library");
    for (place, file) in [
        (library.clone(), "lib.txt"),
        (world.path("nested"), "inner.txt"),
    ] {
        let text = place.to_str().expect("UTF-8");
        world.git_ok(["init", "-q", "-b", "main", text]);
        fs::write(place.join(file), "inner\n").expect("a file");
        world.git_ok(["-C", text, "add", "-A"]);
        world.git_ok(["-C", text, "commit", "-q", "-m", "inner"]);
    }
    let library = library.to_str().expect("UTF-8");
    world.git_ok([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        library,
        "sub",
    ]);
    world.git_ok(["commit", "-q", "-m", "sub"]);
    let digests = || [world.git_digest(), git_digest(&world.path("nested/.git"))];
    let (before, link) = (digests(), world.read("sub/.git"));
    for below in ["", "sub/", "nested/"] {
        a_day(&world, below);
    }
    assert!(digests() == before, "git was touched");
    assert_eq!(world.read("sub/.git"), link);
    // nested files are recorded like any other
    let mut agent = world.agent();
    let turn = newest_turn(&world, &mut agent, "inside");
    agent.edit("nested/inner.txt", "inner", "changed");
    agent.bash("echo changed > sub/lib.txt");
    world.ok(["rewind", &turn]);
    assert_eq!(
        (world.read("nested/inner.txt"), world.read("sub/lib.txt")),
        ("inner\n".into(), "inner\n".into())
    );
    assert_no_trace(&world);
}

/// U-18: files that a rewind does not change keep their inode and their timestamps; changed ones are replaced as a
/// whole.
#[test]
fn files_that_a_rewind_does_not_change_are_not_written() {
    let world = World::committed(&[
        ("a.txt", "one\n"),
        ("b.txt", "two\n"),
        ("deep/c.txt", "three\n"),
    ]);
    world.symlink("a.txt", "link");
    let stat = |path: &str| {
        let m = world.path(path).symlink_metadata().expect("a file");
        (
            m.ino(),
            m.mtime(),
            m.mtime_nsec(),
            m.ctime(),
            m.ctime_nsec(),
            m.mode(),
        )
    };
    let mut agent = world.agent();
    let turn = newest_turn(&world, &mut agent, "change a");
    agent.write("a.txt", "changed\n");
    agent.write("new.txt", "new\n");
    let paths = [
        "b.txt",
        "deep/c.txt",
        "link",
        "deep",
        ".git/index",
        ".git/HEAD",
    ];
    let before = paths.map(stat);
    for args in [
        &["rewind", turn.as_str()][..],
        &["undo"],
        &["redo"],
        &["rewind", &turn, "--exact"],
        &["rewind", &turn],
    ] {
        world.ok(args);
        assert_eq!(paths.map(stat), before, "{args:?}");
    }
    assert_eq!(world.read("a.txt"), "one\n");
    let now = ["a.txt"].map(stat);
    // a rewind with nothing to do changes nothing
    world.ok(["rewind", &turn]);
    assert_eq!(["a.txt"].map(stat), now);
}

/// S4-025, S4-056: all data is in the user's state directory, readable only by the user.
#[test]
fn the_store_is_private_and_outside_the_workspace() {
    let world = World::committed(&[("a.txt", "one\n")]);
    a_day(&world, "");
    let home = Path::new(".claude");
    let there: Vec<_> = fs::read_dir(&world.home)
        .expect("a directory")
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert!(
        there
            .iter()
            .all(|name| name == home.as_os_str() || name == "materialized"),
        "{there:?}"
    );
    let find = finish(
        world
            .command("find")
            .arg(&world.state)
            .args(["-mindepth", "1", "-printf", "%y %m %p\\n"]),
        b"",
    );
    for line in find.stdout.lines() {
        assert!(
            line.starts_with("d 700 ") || line.starts_with("f 600 "),
            "{line}"
        );
    }
    assert_eq!(
        world.git_ok(["log", "--all", "--oneline"]).lines().count(),
        1
    );
    let status: Value = world.json(["status"]);
    assert!(
        status["store"]
            .as_str()
            .is_some_and(|s| s.starts_with(world.state.to_str().expect("UTF-8")))
    );
}
