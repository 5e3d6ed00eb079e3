//! Files that git has are not copied into the store, and can be restored nevertheless: whatever git does to them, and
//! whatever happens to git.

mod traps;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;

use crate::robustness::broken_stores::Small;
use crate::support::tree::{Kind, Tree, assert_same, difference};
use crate::support::{World, binary, finish};
use traps::{always_git_backed, repository};

/// Number of files recorded as a git blob (git-backed).
pub fn git_backed_count(world: &World) -> i64 {
    let store = Connection::open(world.store().join("store.db")).expect("the store");
    let count = "SELECT COUNT(*) FROM file_state WHERE substr(image, 1, 1) = x'04'";
    store.query_row(count, [], |r| r.get(0)).expect("a count")
}

/// Number of contents in the store.
fn contents(world: &World) -> i64 {
    let store = Connection::open(world.store().join("store.db")).expect("the store");
    let count = "SELECT COUNT(*) FROM blob";
    store.query_row(count, [], |r| r.get(0)).expect("a count")
}

/// Rewrites the index once all files are old enough for their timestamps to be trusted.
pub fn age_files_and_refresh_index(world: &World) {
    loop {
        let newest = world.sh("find . -path ./.git -prune -o -type f -printf '%T@ %C@\\n'");
        let newest = newest
            .stdout
            .split_whitespace()
            .filter_map(|time| time.parse::<f64>().ok())
            .fold(0.0, f64::max);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        if now.expect("after 1970") > Duration::from_secs_f64(newest + 0.03) {
            break;
        }
    }
    // git does not rewrite an index without changes of its own
    world.sh("git update-index --force-write-index");
}

/// A repository of clean files that are old enough.
fn clean(files: &[(&str, &str)]) -> World {
    let world = World::committed(files).with("BACKSTITCH_GIT_BACKED_ALWAYS", "1");
    age_files_and_refresh_index(&world);
    world
}

/// The tree without directories, which are not recorded.
fn files(world: &World) -> Tree {
    let mut tree = world.tree();
    tree.retain(|_, entry| entry.kind != Kind::Directory);
    tree
}

fn shell(world: &World, command: &str) {
    let mut agent = world.agent();
    agent.prompt("a turn");
    agent.bash(command).expect_code(0);
    agent.stop();
}

/// S3-F1, S4-039: a repository is noticed at the start: its clean files are not copied.
#[test]
fn clean_files_are_not_copied() {
    let world = clean(&[
        ("a.txt", "one\n"),
        ("sub/b.txt", "two\n"),
        ("c.txt", "three\n"),
    ]);
    world.write("new.txt", "not in git\n");
    let before = world.tree();
    world.ok(["init"]);
    assert_eq!(git_backed_count(&world), 3, "all that is clean");
    assert_eq!(contents(&world), 1, "what is not in git");
    assert_eq!(world.ok(["cat", "c1", "a.txt"]).stdout, "one\n");
    assert!(world.ok(["blame", "sub/b.txt"]).stdout.contains("two"));
    assert_eq!(
        (git_backed_count(&world), contents(&world)),
        (3, 1),
        "reading copies nothing"
    );
    world.ok(["verify"]);

    let mut agent = world.agent();
    agent.prompt("edits");
    agent.edit("a.txt", "one", "uno");
    agent.bash("echo due > sub/b.txt; rm c.txt").expect_code(0);
    agent.stop();
    assert_eq!(git_backed_count(&world), 0, "what changed is the store's");
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// A moved, deleted or chmodded file keeps its content, and a rename is one change.
#[test]
fn moved_and_deleted_files_keep_their_content() {
    let world = clean(&[
        ("moved.txt", "moves\n"),
        ("gone.txt", "goes\n"),
        ("mode.sh", "true\n"),
        ("touched.txt", "stays\n"),
        ("link.txt", "a link soon\n"),
        ("dir.txt", "a directory soon\n"),
    ]);
    world.ok(["init"]);
    assert_eq!(git_backed_count(&world), 6);
    let before = world.tree();
    shell(
        &world,
        "git mv moved.txt there.txt; rm gone.txt; chmod +x mode.sh; touch touched.txt; ln -sf there.txt link.txt;
         rm dir.txt; mkdir dir.txt; echo x > dir.txt/x",
    );
    let shown = world.ok(["show", "@"]).stdout;
    assert!(
        shown.contains("moved.txt") && shown.contains("there.txt"),
        "{shown}"
    );
    assert_eq!(git_backed_count(&world), 1, "touched.txt is what git has");
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["undo"]);
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// Git's own `gc` never removes content that a rewind needs: objects that it may drop are copied while they are on
/// disk.
#[test]
fn git_gc_takes_nothing_that_a_rewind_needs() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")]);
    world.ok(["init"]);
    let before = world.tree();
    // no commit and no index refers to them any longer
    shell(
        &world,
        "git rm -q --cached a.txt && git commit -qm less --amend && git reflog expire --expire=all --all",
    );
    assert_eq!(git_backed_count(&world), 2, "a.txt is the store's own");
    shell(&world, "git gc -q --prune=now; echo changed > a.txt");
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);

    // the whole repository is removed
    fs::remove_dir_all(world.path(".git")).expect("removed");
    shell(&world, "true");
    assert_eq!(git_backed_count(&world), 0, "all is the store's own");
    shell(&world, "echo changed > b.txt; rm c.txt");
    world.ok(["rewind", "t1", "--exact"]);
    let now = world.tree();
    assert_eq!(now.len(), before.len());
    assert_eq!(world.read("b.txt"), "two\n");
    assert_eq!(world.read("c.txt"), "three\n");
    world.ok(["verify"]);
}

/// Content that neither the disk nor git has is a named loss, never a wrong content.
#[test]
fn lost_content_is_named() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    world.ok(["init"]);
    // the change and the loss happen in one command
    shell(
        &world,
        "echo changed > a.txt; rm -rf .git; echo changed > b.txt",
    );
    let shown = world.ok(["show", "@"]).stdout;
    assert!(shown.contains("no longer in git"), "{shown}");
    let plan = world.run(["rewind", "t1", "--dry-run"]);
    let said = format!("{}{}", plan.stdout, plan.stderr);
    assert!(
        said.contains("a.txt") && said.contains("not captured"),
        "{said}"
    );
    world.run(["rewind", "t1"]);
    for path in ["a.txt", "b.txt"] {
        assert_eq!(world.read(path), "changed\n", "nothing wrong is written");
    }
}

/// S4-055: a failing git loses nothing: the contents are requested again later.
#[test]
fn a_temporary_git_failure_loses_nothing() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    world.ok(["init"]);
    let before = world.tree();
    let mut agent = world.agent();
    agent.let_complain();
    agent.prompt("a turn");
    agent.bash("cp .git/config ../saved; echo '[broken' > .git/config; echo changed > a.txt; echo new > c.txt");
    assert_eq!(git_backed_count(&world), 2, "nothing is given up");
    // a gap is recorded once, and not by each scan
    let checkpoints = || {
        let log = world.json(["log", "--all"]);
        log["checkpoints"].as_array().expect("rows").len()
    };
    world.run(["scan"]);
    let said = checkpoints();
    world.run(["scan"]);
    world.run(["scan"]);
    assert_eq!(checkpoints(), said);
    agent.bash("mv ../saved .git/config");
    agent.stop();
    world.ok(["scan"]);
    assert_eq!(git_backed_count(&world), 1);
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// A full disk is not a failure of git: nothing is marked as lost, and the content is copied when there is room.
#[test]
fn a_full_disk_is_not_a_git_failure() {
    let noise = |seed: u32| -> String {
        let word = |n: u32| format!("{:x}\n", (n ^ seed).wrapping_mul(2_654_435_761));
        (0..80_000).map(word).collect()
    };
    let files = [
        ("a.txt", noise(1)),
        ("b.txt", noise(2)),
        ("c.txt", noise(3)),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let world = clean(&files);
    let name = "git_backed::a_full_disk_is_not_a_git_failure";
    let Some(small) = Small::mount(name, &world.state.join("backstitch")) else {
        return;
    };
    world.ok(["init"]);
    assert_eq!(git_backed_count(&world), 3);
    let before = world.tree();
    let mut agent = world.agent();
    agent.let_complain();
    agent.prompt("a turn");
    small.fill();
    agent.bash("for f in a b c; do echo changed >> $f.txt; done");
    assert_eq!(git_backed_count(&world), 3, "nothing is given up");
    let failed = world.run(["scan"]);
    assert!(
        failed.code != 0 && failed.stderr.contains("space"),
        "{failed}"
    );
    assert!(!failed.stderr.contains("git"), "{failed}");
    small.empty();
    agent.stop();
    world.ok(["scan"]);
    assert_eq!(git_backed_count(&world), 0);
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// In a small repository every file is copied: a project removed together with its repository can be restored.
#[test]
fn a_project_removed_with_its_repository_comes_back() {
    let world = World::committed(&[("a.txt", "one\n"), ("sub/b.txt", "two\n")]);
    age_files_and_refresh_index(&world);
    world.ok(["init"]);
    assert_eq!(git_backed_count(&world), 0);
    shell(&world, "rm -rf ./* .git");
    world.ok(["rewind", "t1", "--exact"]);
    assert_eq!(world.read("a.txt"), "one\n");
    assert_eq!(world.read("sub/b.txt"), "two\n");
}

/// A directory that was removed and came back in its old state is scanned again.
#[test]
fn a_directory_that_returns_is_scanned_again() {
    let world = clean(&[("d/x.txt", "one\n"), ("a.txt", "one\n")]);
    world.ok(["init"]);
    // now the recorded states can be trusted
    world.ok(["scan"]);
    let before = world.tree();
    let mut agent = world.agent();
    agent.prompt("away and back");
    agent.bash("mv d ../away").expect_code(0);
    agent.bash("mv ../away d").expect_code(0);
    agent.prompt("then an edit");
    agent.bash("echo more >> d/x.txt").expect_code(0);
    agent.stop();
    assert_eq!(world.read("d/x.txt"), "one\nmore\n");
    world.ok(["rewind", "t2"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// A fork can restore the git-backed files of its origin.
#[test]
fn a_fork_keeps_git_backed_content() {
    let world = clean(&[("a.txt", "one\n"), ("sub/b.txt", "two\n")]);
    world.ok(["init"]);
    let place = world.beside("forked");
    let into = place.root.to_str().expect("a name");
    world.ok(["fork", "@", "other", "--into", into]);
    assert_eq!(place.read("sub/b.txt"), "two\n");
    shell(&place, "echo changed > sub/b.txt");
    place.ok(["rewind", "t1"]);
    assert_eq!(place.read("sub/b.txt"), "two\n");
    shell(&world, "echo here > sub/b.txt; echo here > a.txt");
    world.ok(["rewind", "t2"]);
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(["verify"]);
    place.ok(["verify"]);
}

/// Where the repository is gone, another directory with the unchanged file supplies the content.
#[test]
fn another_directory_supplies_content_when_git_is_gone() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    world.ok(["init"]);
    let place = world.beside("forked");
    let into = place.root.to_str().expect("a name");
    world.ok(["fork", "@", "other", "--into", into]);
    shell(&world, "rm -rf .git; echo changed > a.txt");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(["verify"]);
}

/// Git changes the tree and its own objects between turns: the start of each turn can be restored.
#[test]
fn git_operations_between_turns_keep_the_start_of_each_turn() {
    let steps = [
        "git sparse-checkout set --cone d1 && [ ! -e d0 ]",
        "git sparse-checkout disable && [ -e d0 ]",
        "git switch -qc side && echo side > f1.txt && git rm -q f2.txt && git commit -qam side",
        "git switch -q main && [ -e f2.txt ] && echo main > f3.txt && git commit -qam main",
        "git switch -q side && git rebase -q main && [ $(cat f3.txt) = main ]",
        "echo stashed > f4.txt && git stash -q && [ $(wc -l < f4.txt) = 2 ]",
        "git stash pop -q && [ $(cat f4.txt) = stashed ]",
        "git switch -q --discard-changes main && git branch -qD side",
        "git checkout -q --orphan alone && git rm -q --cached f5.txt f6.txt && git commit -qm alone && git branch -qD main",
        "o=$(git hash-object f5.txt) && git reflog expire --expire=now --all && git gc -q --prune=now &&
         ! git cat-file -e $o && echo gone > f5.txt",
        "git checkout -q --orphan empty && git rm -rfq . && git commit -qm empty --allow-empty && git branch -qD alone",
        "o=$(echo 'below 0' | git hash-object --stdin) && git reflog expire --expire=now --all &&
         git gc -q --prune=now && ! git cat-file -e $o",
    ];
    for within in [false, true] {
        let plain = repository("sha1");
        age_files_and_refresh_index(&plain);
        let world = always_git_backed(&plain);
        world.ok(["init"]);
        assert_eq!(git_backed_count(&world), 32);
        let mut starts = Vec::new();
        for step in steps {
            let mut agent = world.agent();
            starts.push(files(&world));
            agent.prompt("a turn");
            agent.write("work.txt", step);
            if within {
                agent.bash(step).expect_code(0);
            }
            agent.stop();
            if !within {
                let done = world.sh(step);
                assert_eq!(done.code, 0, "{done}");
            }
        }
        world.ok(["verify"]);
        let last = starts.len();
        for n in (1..=last).rev().chain([last, 1]) {
            let turn = format!("t{n}");
            world.ok(["rewind", &turn, "--exact", "--yes"]);
            let (now, start) = (files(&world), &starts[n - 1]);
            assert!(now == *start, "{turn}\n{}", difference(start, &now));
        }
        world.ok(["verify"]);
    }
}

/// No file of a partial clone is git-backed, and content that it fetched can be restored after its origin is gone.
#[test]
fn files_of_a_partial_clone_are_copied() {
    let world = World::in_memory().with("BACKSTITCH_GIT_BACKED_ALWAYS", "1");
    world
        .sh("git init -q -b main ../origin && cd ../origin && git config uploadpack.allowFilter true &&
             for n in 1 2 3; do echo old $n > $n.txt; done && git add . && git commit -qm old &&
             for n in 1 2 3; do echo new $n > $n.txt; done && git commit -qam new && cd ../work &&
             git clone -q --filter=blob:none file://$PWD/../origin . && mv ../origin ../away &&
             ! GIT_NO_LAZY_FETCH=1 git cat-file -e HEAD~:1.txt")
        .expect_code(0);
    age_files_and_refresh_index(&world);
    let before = world.tree();
    world.ok(["init"]);
    assert_eq!((git_backed_count(&world), contents(&world)), (0, 3));
    shell(&world, "rm 1.txt; echo changed > 2.txt");
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["undo"]);
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// A repository that becomes partial later is not made to fetch: an object that it lost is a named loss.
#[test]
fn lost_objects_are_not_fetched() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    world.ok(["init"]);
    assert_eq!(git_backed_count(&world), 2);
    let object = world.git_ok(["rev-parse", ":a.txt"]).trim().to_owned();
    let fetched = world.home.join("fetched");
    let url = format!("ext::touch {}", fetched.display());
    shell(
        &world,
        &format!(
            "git config core.repositoryFormatVersion 1 && git config extensions.partialClone origin &&
             git config remote.origin.promisor true && git config remote.origin.url '{url}' &&
             git config protocol.ext.allow always && echo changed > a.txt && echo changed > b.txt &&
             rm -f .git/objects/{}/{}",
            &object[..2],
            &object[2..]
        ),
    );
    let plan = world.run(["rewind", "t1", "--dry-run"]);
    assert!(
        plan.stdout.contains("not captured") || plan.stderr.contains("not captured"),
        "{plan}"
    );
    world.run(["cat", "c1", "a.txt"]);
    world.run(["verify"]);
    world.run(["rewind", "t1"]);
    assert_eq!(
        (world.read("a.txt"), world.read("b.txt")),
        ("changed\n".into(), "two\n".into())
    );
    assert!(!fetched.exists(), "a fetch was tried");
    // an ordinary git command makes it fetch
    world.git_run(["cat-file", "-e", &object]);
    assert!(fetched.exists(), "git would not have fetched");
}

/// Git need not be on the search path: an editor is often started without one.
#[test]
fn git_need_not_be_on_the_search_path() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")]);
    if !Path::new("/usr/bin/git").exists() {
        println!("SKIPPED: git is elsewhere");
        return;
    }
    world.ok(["init"]);
    assert_eq!(git_backed_count(&world), 3);
    let before = world.tree();
    let without = world.beside("work").with("PATH", "/nonexistent");
    let mut agent = without.agent();
    agent.prompt("a turn");
    agent.edit("a.txt", "one", "uno");
    // changed before any scan
    let call = agent.pre_bash("true");
    without.write("b.txt", "due\n");
    without.remove("c.txt");
    agent.post(&call, &serde_json::json!({"stdout": ""}));
    agent.stop();
    assert_eq!(git_backed_count(&world), 0);
    without.ok(["rewind", "t1"]);
    assert_same(&without.tree(), &before);
    without.ok(["verify"]);
}

/// S4-055: a read that fails while git works is repeated: the content is not given up.
#[test]
fn a_git_that_fails_now_and_then_loses_nothing() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    world.ok(["init"]);
    assert_eq!(git_backed_count(&world), 2);
    let before = world.tree();
    let bin = world.root.with_file_name("bin");
    let real = finish(world.command("sh").args(["-c", "command -v git"]), b"").expect_code(0);
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--batch\\ --buffer)\n  [ -e {0} ] || {{ touch {0}; exit 128; }};; esac\nexec {1} \"$@\"\n",
        bin.join("failed").display(),
        real.stdout.trim()
    );
    std::fs::create_dir(&bin).expect("a directory");
    std::fs::write(bin.join("git"), script).expect("a script");
    std::fs::set_permissions(
        bin.join("git"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("its mode");
    let path = std::env::var("PATH").expect("a path");
    let failing = world
        .beside("work")
        .with("PATH", &format!("{}:{path}", bin.display()));
    shell(&failing, "echo changed > a.txt");
    assert!(bin.join("failed").exists(), "git was never asked");
    assert_eq!(git_backed_count(&world), 1);
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// S4-055: a missing git loses nothing: contents are requested once it is there again.
#[test]
fn a_temporarily_missing_git_loses_nothing() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let hide = "for g in $(command -v git) /usr/bin/git /usr/local/bin/git; do
        if [ -e $g ]; then mount --bind /dev/null $(readlink -f $g); fi
        done; ! git --version && exec \"$@\"";
    let hidden = |args: &[&str]| {
        let mut command = world.command("unshare");
        command.args(["-rm", "sh", "-c", hide, "sh"]);
        finish(command.args(args), b"")
    };
    if hidden(&["true"]).code != 0 {
        println!("SKIPPED: git cannot be hidden here");
        return;
    }
    world.ok(["init"]);
    assert_eq!(git_backed_count(&world), 2);
    world.write("a.txt", "changed\n");
    let binary = binary::path();
    let binary = binary.to_str().expect("UTF-8");
    let scan = hidden(&[binary, "scan"]);
    assert!(
        scan.stderr.contains("git") || scan.stdout.contains("git"),
        "{scan}"
    );
    assert_eq!(git_backed_count(&world), 2, "nothing is given up");
    world.ok(["scan"]);
    assert_eq!(git_backed_count(&world), 1);
    assert_eq!(world.ok(["cat", "c1", "a.txt"]).stdout, "one\n");
    world.ok(["verify"]);
}
