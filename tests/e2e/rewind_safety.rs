//! Safety of rewinds: they never leave the workspace, remove unrecorded files, or stop half done.

use std::fs;

use crate::git_backed::{age_files_and_refresh_index, git_backed_count};
use crate::support::history::{actions, conflicts, gaps, path};
use crate::support::scenarios::{one_turn_in_a_directory, work_in_a_directory};
use crate::support::tree::{assert_same, tree};
use crate::support::{World, finish};

/// S3-037, U-15: the directory was replaced by a link that points outside. Files there stay untouched, those paths are
/// named, and the others are rewound.
#[test]
fn s3_037_a_rewind_does_not_follow_a_link_out_of_the_workspace() {
    for (more, planned, beyond) in [
        (
            &[][..],
            &["skip src/gone.txt", "write a.txt"][..],
            &["outside src/gone.txt"][..],
        ),
        (
            &["--on-conflict", "target"],
            &["skip src/gone.txt", "write a.txt"],
            &["outside src/gone.txt"],
        ),
        // the link itself did not exist then: it is removed, and a directory is recreated
        (
            &["--exact"],
            &[
                "write a.txt",
                "delete src",
                "create src/gone.txt",
                "create src/in.txt",
            ],
            &[],
        ),
    ] {
        let world = one_turn_in_a_directory();
        let outside = world.home.join("outside");
        fs::create_dir(&outside).expect("a directory");
        for name in ["in.txt", "new.txt"] {
            fs::write(outside.join(name), "not yours\n").expect("a file");
        }
        let before = tree(&outside);
        fs::rename(world.path("src"), world.path("moved-away")).expect("a move");
        fs::remove_dir_all(world.path("moved-away")).expect("removed");
        world.symlink(&outside, "src");

        let args = ["rewind", "t1"].into_iter().chain(more.iter().copied());
        let plan = world.plan(args.clone());
        let mut said = actions(&plan);
        said.sort_by_key(|action| action.starts_with("write") == planned[0].starts_with("skip"));
        assert_eq!((said, gaps(&plan)), (own(planned), own(beyond)), "{plan:#}");
        assert_eq!(conflicts(&plan), Vec::<String>::new());
        let output = world.run(args);
        assert_same(&tree(&outside), &before);
        assert_eq!(output.code, 0, "{output}");
        assert_eq!(world.read("a.txt"), "one\n", "the others go on");
        world.ok(["verify"]);
    }
}

fn own(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// S3-037: a link that was there from the start is restored as a link; its target is not touched.
#[test]
fn a_link_is_restored_as_a_link() {
    let world = World::new();
    let outside = world.home.join("target.txt");
    fs::write(&outside, "not yours\n").expect("a file");
    world.symlink(&outside, "link");
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.bash("rm link; echo mine > link");
    agent.stop();
    world.ok(["rewind", "t1"]);
    assert_eq!(fs::read_link(world.path("link")).expect("a link"), outside);
    assert_eq!(fs::read_to_string(&outside).expect("a file"), "not yours\n");
}

/// U-15: paths outside the workspace are refused as usage errors, in every spelling.
#[test]
fn paths_out_of_the_workspace_are_usage_errors() {
    let world = one_turn_in_a_directory();
    for path in ["../x", "src/../../x", "/etc/passwd"] {
        for args in [
            &["rewind", "t1", "--path", path][..],
            &["cat", "t1", path],
            &["diff", "t1", "--", path],
        ] {
            let output = world.run(args).expect_code(2);
            assert!(output.stderr.contains("not in the workspace"), "{output}");
        }
    }
    assert_eq!(world.read("a.txt"), "two\n");
}

/// A directory that the agent created stays if it has unrecorded content.
#[test]
fn a_directory_with_untracked_content_stays() {
    let world = World::committed(&[(".gitignore", "*.log\n")]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.write("made/one.txt", "one\n");
    agent.write("empty/too/two.txt", "two\n");
    agent.stop();
    world.write("made/keep.log", "keep\n");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("made/keep.log"), "keep\n");
    assert!(!world.exists("made/one.txt") && !world.exists("empty"));
    world.ok(["undo"]);
    assert_eq!(world.read("empty/too/two.txt"), "two\n");
    assert_eq!(world.read("made/one.txt"), "one\n");
}

/// An unrecorded file in the place of one to be restored is a conflict; no decision costs that file.
#[test]
fn an_untracked_file_in_the_way_is_a_conflict() {
    let world = World::committed(&[("x.log", "tracked\n"), ("a.txt", "one\n")]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.bash("rm x.log; echo '*.log' > .gitignore; echo two > a.txt");
    agent.stop();
    world.write("x.log", "not recorded\n");
    let before = world.tree();
    let answer = world.run(["--json", "rewind", "t1"]).expect_code(1).json();
    assert_eq!(conflicts(&answer), ["x.log"], "{answer:#}");
    assert_same(&world.tree(), &before);
    world.ok(["rewind", "t1", "--on-conflict", "target"]);
    assert_eq!(world.read("x.log"), "not recorded\n");
    assert_eq!(world.read("a.txt"), "one\n");
}

/// A file in the place of a directory, and a directory with files in the place of a file.
#[test]
fn files_and_directories_that_changed_places_are_restored() {
    let world = World::committed(&[("dir/x.txt", "x\n"), ("file", "f\n"), ("a.txt", "one\n")]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.bash("rm -r dir file; echo two > a.txt");
    agent.stop();
    world.write("dir", "mine\n");
    world.write("file/mine.txt", "mine\n");
    world.ok(["diff"]);
    let before = world.tree();
    let answer = world.run(["--json", "rewind", "t1"]).expect_code(1).json();
    assert_eq!(conflicts(&answer), ["dir/x.txt", "file"]);
    assert_same(&world.tree(), &before);
    world.ok(["rewind", "t1", "--on-conflict", "target"]);
    assert_eq!(world.read("dir"), "mine\n");
    assert_eq!(world.read("file/mine.txt"), "mine\n");
    assert_eq!(world.read("a.txt"), "one\n");

    let world = World::committed(&[("dir/x.txt", "x\n"), ("file", "f\n")]);
    let before = world.tree();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.bash("rm -r dir file; echo f > dir; mkdir -p file/deep; echo x > file/deep/x");
    agent.stop();
    let after = world.tree();
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["undo"]);
    assert_same(&world.tree(), &after);
}

/// U-20, S4-066: if one path cannot be written, everything is as before. If the process dies, the next command
/// finishes the work, which can be undone.
#[test]
fn u_20_all_or_nothing() {
    let world = World::committed(&[("a.txt", "one\n"), ("b.txt", "one\n"), ("z.txt", "one\n")]);
    world.write("m-big", vec![b'x'; 6_000_000]);
    let before = world.tree();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.bash("rm m-big z.txt; echo two > a.txt; echo two > b.txt; echo new > new.txt");
    agent.stop();
    let after = world.tree();

    // file sizes are limited to 4 MiB: the store stays far below it, the restored file does not
    let limited = |ignore: &str, args: [&str; 2]| {
        let script = format!("{ignore} ulimit -c 0; ulimit -f 8192; exec \"$@\"");
        let mut command = world.command("sh");
        command.args(["-c", &script, "sh"]);
        command.arg(world.backstitch().get_program());
        command.args(args);
        finish(&mut command, b"")
    };
    let output = limited("trap '' XFSZ;", ["rewind", "t1"]).expect_code(1);
    assert!(output.stderr.contains("m-big"), "{output}");
    assert!(output.stderr.contains("as they were before"), "{output}");
    assert_same(&world.tree(), &after);
    world.ok(["fork", "t1", "before"]);
    let output = limited("trap '' XFSZ;", ["switch", "before"]).expect_code(1);
    assert!(output.stderr.contains("as they were before"), "{output}");
    assert_same(&world.tree(), &after);
    assert_eq!(world.json(["status"])["branch"], "main");

    let output = limited("", ["rewind", "t1"]);
    assert!(output.code > 128, "{output}");
    assert_eq!(
        world.json(["status"])["open_operation"],
        serde_json::Value::Null
    );
    assert_same(&world.tree(), &before);
    world.ok(["undo"]);
    assert_same(&world.tree(), &after);
    world.ok(["verify"]);
}

/// S3-002: neither capture nor rewind writes to `.git`, in any state of it, and Backstitch leaves no file in the
/// workspace.
#[test]
fn s3_002_git_is_left_alone() {
    left_alone(&one_turn_in_a_directory());
}

/// S3-002: the same where git has the contents that a rewind needs.
#[test]
fn s3_002_git_that_backs_files_is_left_alone() {
    let world = World::committed(&[
        ("a.txt", "one\n"),
        ("src/in.txt", "one\n"),
        ("src/gone.txt", "gone\n"),
        ("stays.txt", "as it was\n"),
    ])
    .with("BACKSTITCH_GIT_BACKED_ALWAYS", "1");
    age_files_and_refresh_index(&world);
    let git = world.git_digest();
    work_in_a_directory(&world);
    assert_eq!(world.git_digest(), git);
    assert_eq!(git_backed_count(&world), 1, "what did not change");
    left_alone(&world);
}

fn left_alone(world: &World) {
    world
        .sh("git add -A; echo staged >> a.txt; git add a.txt; echo more >> a.txt; git stash list")
        .expect_code(0);
    let git = world.git_digest();
    world.ok(["rewind", "t1", "--exact"]);
    world.ok(["undo"]);
    world.ok(["checkpoint", "-m", "x"]);
    world.ok(["diff", "t1"]);
    assert_eq!(world.git_digest(), git);
    let left: Vec<_> = world
        .tree()
        .into_keys()
        .filter(|p| p.to_string_lossy().contains("backstitch"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// S4-025: the store is below the user's home by default, readable only by the user.
#[test]
fn s4_025_the_store_is_the_users_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = one_turn_in_a_directory();
    let mut command = world.backstitch();
    command
        .args(["--json", "checkpoint"])
        .env_remove("XDG_STATE_HOME");
    assert!(command.output().expect("a run").status.success());
    let stores = world.home.join(".local/state/backstitch/workspaces");
    let store = fs::read_dir(&stores)
        .expect("stores")
        .next()
        .expect("one")
        .expect("one")
        .path();
    let mode = |p: &std::path::Path| fs::metadata(p).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&store), 0o700);
    assert_eq!(mode(&store.join("store.db")), 0o600);
    let named = path(&world.json(["status"])["store"]);
    assert!(
        named.starts_with(world.state.to_str().expect("UTF-8")),
        "{named}"
    );
}

/// S3-026: a damaged content is the only loss; `verify` names it, and everything else works.
#[test]
fn s3_026_damage_is_contained() {
    let world = World::new();
    world.write("a.txt", "one\n");
    world.ok(["init"]);
    // contents too large for the database are in files
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "one", "two");
    agent.bash("head -c 6000000 /dev/urandom > random; cp random other; echo x >> other");
    agent.stop();
    let store = world.json(["status"])["store"]
        .as_str()
        .expect("a store")
        .to_owned();
    let packs = files_below(&std::path::Path::new(&store).join("packs"));
    let pack = packs
        .iter()
        .max_by_key(|p| p.metadata().expect("there").len())
        .expect("a file");
    let mut bytes = fs::read(pack).expect("a pack");
    assert!(
        bytes.len() > 1_000_000 && !pack.ends_with("store.db"),
        "{packs:?}"
    );
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(pack, bytes).expect("written");

    let verify = world.run(["--json", "verify"]).expect_code(4);
    let problems = verify.json()["problems"]
        .as_array()
        .expect("problems")
        .len();
    assert!(problems > 0, "{verify}");
    assert_eq!(world.ok(["cat", "t1", "a.txt"]).stdout, "one\n");
    world.ok(["log"]);
    world.ok(["rewind", "t1", "--path", "a.txt"]);
    assert_eq!(world.read("a.txt"), "one\n");
}

fn files_below(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir)
        .expect("a directory")
        .map(|e| e.expect("an entry").path());
    entries
        .flat_map(|p| if p.is_dir() { files_below(&p) } else { vec![p] })
        .collect()
}

/// A store of a newer version is refused with the reason.
#[test]
fn a_newer_store_is_refused() {
    let world = one_turn_in_a_directory();
    let store = world.json(["status"])["store"]
        .as_str()
        .expect("a store")
        .to_owned();
    let db = format!("{store}/store.db");
    let mut bytes = fs::read(&db).expect("a database");
    // SQLite's user_version: four bytes at 60, the schema's number
    bytes[60..64].copy_from_slice(&9999u32.to_be_bytes());
    for beside in ["store.db-wal", "store.db-shm"] {
        fs::remove_file(format!("{store}/{beside}")).ok();
    }
    fs::write(&db, bytes).expect("written");
    let output = world.run(["log"]).expect_code(4);
    assert!(output.stderr.contains("newer"), "{output}");
    let payload =
        serde_json::json!({"session_id": "s", "hook_event_name": "Stop", "cwd": world.root});
    let output = world.hook(&payload).expect_code(0);
    assert_eq!(output.stdout, "");
    assert_eq!(output.stderr.lines().count(), 1, "{output}");
}

/// A file that is not a database is reported as damage, and not overwritten by a new one.
#[test]
fn a_damaged_store_is_reported_and_not_replaced() {
    let world = one_turn_in_a_directory();
    let store = world.json(["status"])["store"]
        .as_str()
        .expect("a store")
        .to_owned();
    let db = format!("{store}/store.db");
    for beside in ["store.db-wal", "store.db-shm"] {
        fs::remove_file(format!("{store}/{beside}")).ok();
    }
    fs::write(&db, vec![b'x'; 8192]).expect("written");
    for args in [&["log"][..], &["verify"], &["rewind", "t1"]] {
        world.run(args).expect_code(4);
    }
    assert_eq!(fs::read(&db).expect("there"), vec![b'x'; 8192]);
}

/// U-20: temporary files of a killed rewind do not matter to another store. Operation numbers recur, and a file under
/// such a name is never taken for a file's content.
#[test]
fn leftover_files_of_another_store_are_ignored() {
    for fault in (8..40).step_by(4) {
        let world = World::committed(&[("f", "1\n"), ("g", "A\n")]);
        let mut agent = world.agent();
        agent.prompt("go");
        agent.edit("f", "1", "2");
        agent.edit("g", "A", "B");
        agent.stop();
        let mut killed = world.backstitch();
        killed
            .args(["rewind", "t1"])
            .env("BACKSTITCH_FAULT", fault.to_string());
        finish(&mut killed, b"");
        std::fs::remove_dir_all(world.state.join("backstitch")).expect("removed");
        world.write("f", "x\n");
        world.write("g", "y\n");
        let mut agent = world.agent();
        agent.prompt("anew");
        agent.edit("f", "x", "z");
        agent.edit("g", "y", "w");
        agent.stop();
        world.ok(["rewind", "t1"]);
        assert_eq!(
            (world.read("f"), world.read("g")),
            ("x\n".into(), "y\n".into()),
            "{fault}"
        );
        world.ok(["undo"]);
        assert_eq!(
            (world.read("f"), world.read("g")),
            ("z\n".into(), "w\n".into()),
            "{fault}"
        );
        world.ok(["verify"]);
    }
}
