//! Files that git has are not copied, and come back all the same: whatever git did to them, whatever becomes of git.
//!
//! `BACKSTITCH_LENT_CASES` is the number of generated repositories, `BACKSTITCH_LENT_SEED` where they begin.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;

use crate::garbage::stores::Small;
use crate::support::World;
use crate::support::rng::{Rng, number};
use crate::support::tree::{Kind, Tree, assert_same, difference};

/// How many files are known as a blob of git's.
fn lent(world: &World) -> i64 {
    let store = Connection::open(world.store().join("store.db")).expect("the store");
    let count = "SELECT COUNT(*) FROM file_state WHERE substr(image, 1, 1) = x'04'";
    store.query_row(count, [], |r| r.get(0)).expect("a count")
}

/// How many contents the store holds.
fn contents(world: &World) -> i64 {
    let store = Connection::open(world.store().join("store.db")).expect("the store");
    let count = "SELECT COUNT(*) FROM blob";
    store.query_row(count, [], |r| r.get(0)).expect("a count")
}

/// Writes the index again when all files are old enough that their time stamps prove something.
fn settle(world: &World) {
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
    // with no change of its own git leaves it as it is
    world.sh("git update-index --force-write-index");
}

/// A repository of clean files that are old enough.
fn clean(files: &[(&str, &str)]) -> World {
    let world = World::committed(files).with("BACKSTITCH_LEND_ALWAYS", "1");
    settle(&world);
    world
}

/// Directories are nothing of their own.
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
    assert_eq!(lent(&world), 3, "all that is clean");
    assert_eq!(contents(&world), 1, "what is not in git");
    assert_eq!(world.ok(["cat", "c1", "a.txt"]).stdout, "one\n");
    assert!(world.ok(["blame", "sub/b.txt"]).stdout.contains("two"));
    assert_eq!(
        (lent(&world), contents(&world)),
        (3, 1),
        "reading copies nothing"
    );
    world.ok(["verify"]);

    let mut agent = world.agent();
    agent.prompt("edits");
    agent.edit("a.txt", "one", "uno");
    agent.bash("echo due > sub/b.txt; rm c.txt").expect_code(0);
    agent.stop();
    assert_eq!(lent(&world), 0, "what changed is the store's");
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// What moves, is deleted, or gets another mode keeps its content, and a rename is one.
#[test]
fn what_happens_to_a_lent_file() {
    let world = clean(&[
        ("moved.txt", "moves\n"),
        ("gone.txt", "goes\n"),
        ("mode.sh", "true\n"),
        ("touched.txt", "stays\n"),
        ("link.txt", "a link soon\n"),
        ("dir.txt", "a directory soon\n"),
    ]);
    world.ok(["init"]);
    assert_eq!(lent(&world), 6);
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
    assert_eq!(lent(&world), 1, "touched.txt is what git has");
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["undo"]);
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// Git's own `gc` never takes what a rewind needs: what it may drop is read while it is on disk.
#[test]
fn git_forgets() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")]);
    world.ok(["init"]);
    let before = world.tree();
    // no commit and no index has them any more
    shell(
        &world,
        "git rm -q --cached a.txt && git commit -qm less --amend && git reflog expire --expire=all --all",
    );
    assert_eq!(lent(&world), 2, "a.txt is the store's own");
    shell(&world, "git gc -q --prune=now; echo changed > a.txt");
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);

    // a repository that is gone as a whole
    fs::remove_dir_all(world.path(".git")).expect("removed");
    shell(&world, "true");
    assert_eq!(lent(&world), 0, "all is the store's own");
    shell(&world, "echo changed > b.txt; rm c.txt");
    world.ok(["rewind", "t1", "--exact"]);
    let now = world.tree();
    assert_eq!(now.len(), before.len());
    assert_eq!(world.read("b.txt"), "two\n");
    assert_eq!(world.read("c.txt"), "three\n");
    world.ok(["verify"]);
}

/// What neither the disk nor git has is a named loss, never a wrong content.
#[test]
fn a_loss_is_named() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    world.ok(["init"]);
    // the change and the loss are one command
    shell(
        &world,
        "echo changed > a.txt; rm -rf .git; echo changed > b.txt",
    );
    let shown = world.ok(["show", "@"]).stdout;
    assert!(shown.contains("not in git any more"), "{shown}");
    let plan = world.run(["rewind", "t1", "--dry-run"]);
    let said = format!("{}{}", plan.stdout, plan.stderr);
    assert!(
        said.contains("a.txt") && said.contains("not kept"),
        "{said}"
    );
    world.run(["rewind", "t1"]);
    for path in ["a.txt", "b.txt"] {
        assert_eq!(world.read(path), "changed\n", "nothing wrong is written");
    }
}

/// A git that does not work has lost nothing: what a file was is asked for again.
#[test]
fn git_fails_for_a_while() {
    let world = clean(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    world.ok(["init"]);
    let before = world.tree();
    let mut agent = world.agent();
    agent.let_complain();
    agent.prompt("a turn");
    agent.bash("cp .git/config ../saved; echo '[broken' > .git/config; echo changed > a.txt; echo new > c.txt");
    assert_eq!(lent(&world), 2, "nothing is given up");
    // what cannot be captured is said once, and not by each look
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
    assert_eq!(lent(&world), 1);
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// Where there is no room for what git has, git is not to blame: nothing is given up, and it is taken when there is room.
#[test]
fn a_full_disk_is_no_failure_of_gits() {
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
    let name = "lent::a_full_disk_is_no_failure_of_gits";
    let Some(small) = Small::mount(name, &world.state.join("backstitch")) else {
        return;
    };
    world.ok(["init"]);
    assert_eq!(lent(&world), 3);
    let before = world.tree();
    let mut agent = world.agent();
    agent.let_complain();
    agent.prompt("a turn");
    small.fill();
    agent.bash("for f in a b c; do echo changed >> $f.txt; done");
    assert_eq!(lent(&world), 3, "nothing is given up");
    let failed = world.run(["scan"]);
    assert!(
        failed.code != 0 && failed.stderr.contains("space"),
        "{failed}"
    );
    assert!(!failed.stderr.contains("git"), "{failed}");
    small.empty();
    agent.stop();
    world.ok(["scan"]);
    assert_eq!(lent(&world), 0);
    world.ok(["rewind", "t1", "--exact"]);
    assert_same(&world.tree(), &before);
    world.ok(["verify"]);
}

/// Where little is lent, nothing is: what goes together with its repository comes back.
#[test]
fn a_project_that_is_removed_as_a_whole() {
    let world = World::committed(&[("a.txt", "one\n"), ("sub/b.txt", "two\n")]);
    settle(&world);
    world.ok(["init"]);
    assert_eq!(lent(&world), 0);
    shell(&world, "rm -rf ./* .git");
    world.ok(["rewind", "t1", "--exact"]);
    assert_eq!(world.read("a.txt"), "one\n");
    assert_eq!(world.read("sub/b.txt"), "two\n");
}

/// What was seen before is not taken for known after it went and came back as it was.
#[test]
fn a_directory_goes_and_comes_back() {
    let world = clean(&[("d/x.txt", "one\n"), ("a.txt", "one\n")]);
    world.ok(["init"]);
    // now all is sure to be as it was seen
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

/// A fork has what its origin borrowed.
#[test]
fn a_fork_lends_on() {
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

/// Where the repository is gone, another directory that has the file unchanged stands in for it.
#[test]
fn another_directory_lends_where_git_is_gone() {
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

// ---- generated repositories --------------------------------------------------------------------------------------------

/// What makes git's word for a file doubtful. Each is a shell script in the repository, before its first look.
const TRAPS: [(&str, &str); 32] = [
    ("index of version 2", "git update-index --index-version 2"),
    ("index of version 3", "git update-index --index-version 3"),
    ("index of version 4", "git update-index --index-version 4"),
    (
        "split index",
        "git update-index --split-index; echo split >> f1.txt; git add f1.txt; git rm -q --cached f2.txt",
    ),
    (
        "sparse index",
        "git sparse-checkout set --cone --sparse-index d1 d2",
    ),
    (
        "skip-worktree, and there",
        "git update-index --skip-worktree f3.txt; echo hidden > f3.txt",
    ),
    (
        "skip-worktree, and absent",
        "git update-index --skip-worktree f4.txt; rm -f f4.txt",
    ),
    (
        "assume-unchanged",
        "git update-index --assume-unchanged f5.txt; echo assumed > f5.txt",
    ),
    (
        "intent to add",
        "echo later > later.txt; git add -N later.txt",
    ),
    (
        "a conflict",
        "git switch -qc side; echo side > f6.txt; git commit -qam side; git switch -q main; echo main > f6.txt; git commit -qam main; git merge -q side",
    ),
    (
        "autocrlf",
        "git config core.autocrlf true; rm -f f7.txt f8.txt; git checkout -q -- f7.txt f8.txt",
    ),
    (
        "eol by attribute",
        "echo '*.txt text eol=crlf' > .gitattributes; git add .gitattributes; git commit -qm attributes; rm -f f*.txt; git checkout -q -- .",
    ),
    (
        "a CRLF file whose blob has LF",
        "echo '* text=auto' > .gitattributes; printf 'a\\r\\nb\\r\\n' > crlf.txt; git add .; git commit -qm crlf; git status",
    ),
    (
        "ident",
        "echo '*.id ident' > .gitattributes; printf '$Id$ one\\n' > a.id; git add .; git commit -qm ident; rm a.id; git checkout -q -- a.id",
    ),
    (
        "a filter of equal size",
        "git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr n-za-m a-z'; echo '*.rot filter=rot' > .gitattributes; echo secret > a.rot; git add .; git commit -qm rot",
    ),
    (
        "a filter that was taken away",
        "git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr n-za-m a-z'; echo '*.rot filter=rot' > .gitattributes; echo secret > b.rot; git add .; git commit -qm rot; : > .gitattributes; git add .gitattributes; git commit -qm none",
    ),
    (
        "a filter by a macro",
        "git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr n-za-m a-z'; printf '[attr]mine filter=rot\\n*.mac mine\\n' > .gitattributes; echo secret > a.mac; git add .; git commit -qm rot",
    ),
    (
        "attributes of the repository alone",
        "mkdir -p .git/info; git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr n-za-m a-z'; echo '*.own filter=rot' > .git/info/attributes; echo secret > a.own; git add .; git commit -qm own",
    ),
    (
        "an encoding",
        "echo '*.wide working-tree-encoding=UTF-16' > .gitattributes; printf 'one\\n' | iconv -t UTF-16 > a.wide; git add .; git commit -qm wide",
    ),
    (
        "a racy edit",
        "echo aaaa > racy.txt; git add racy.txt; echo bbbb > racy.txt",
    ),
    (
        "a racy edit with its old time",
        "echo aaaa > racy2.txt; touch -r f1.txt racy2.txt; git add racy2.txt; echo bbbb > racy2.txt; touch -r f1.txt racy2.txt",
    ),
    (
        "an old time and the same size",
        "echo 11111 > f9.txt; git add f9.txt; git commit -qm nine; cp -p f9.txt .git/time; echo 22222 > f9.txt; touch -r .git/time f9.txt",
    ),
    (
        "no trust in ctime",
        "git config core.trustctime false; git config core.checkStat minimal; echo 33333 > f10.txt; git add f10.txt; git commit -qm ten; cp -p f10.txt .git/time; echo 44444 > f10.txt; touch -r .git/time f10.txt",
    ),
    (
        "no trust in modes",
        "git config core.fileMode false; chmod +x f11.txt; chmod 600 f12.txt",
    ),
    (
        "links that are files",
        "ln -s f1.txt link; git add link; git commit -qm link; git config core.symlinks false; rm link; git checkout -q -- link",
    ),
    (
        "a submodule",
        "git init -q ../sub; (cd ../sub; echo s > s.txt; git add .; git commit -qm s); git -c protocol.file.allow=always submodule add -q ../sub module; git commit -qm module; echo changed > module/s.txt",
    ),
    (
        "a nested repository",
        "mkdir nested; (cd nested; git init -q; echo n > n.txt; git add .; git commit -qm n)",
    ),
    (
        "a replaced object",
        "git replace $(git rev-parse :f13.txt) $(git rev-parse :f1.txt)",
    ),
    (
        "a lost object",
        "o=$(git rev-parse :f14.txt); chmod -R u+w .git/objects; rm -f .git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)",
    ),
    (
        "a damaged object",
        "o=$(git rev-parse :f15.txt); f=.git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-); chmod -R u+w .git/objects; [ -f $f ] && printf x > $f",
    ),
    ("packed", "git gc -q"),
    (
        "content that is in no database",
        "git update-index --add --info-only --cacheinfo 100644,1234567890123456789012345678901234567890,x 2>/dev/null; echo only > only.txt; git update-index --add --info-only only.txt",
    ),
];

/// How the repository itself is.
const KINDS: [&str; 5] = ["sha1", "sha256", "worktree", "shared", "no commits"];

/// What an agent's shell does to the tree.
const DEEDS: [&str; 9] = [
    "for f in $(git ls-files 2>/dev/null); do [ -f $f ] && [ ! -L $f ] && echo more >> $f; done",
    "find . -path ./.git -prune -o -name '*.txt' -type f -exec rm {} +",
    "find . -path ./.git -prune -o -type f -exec chmod 755 {} +",
    "git stash -q; git gc -q --prune=now",
    "git rm -rq --cached . ; git gc -q --prune=now; true",
    "mkdir moved; mv *.txt moved; true",
    "find . -path ./.git -prune -o -type f -exec touch {} +",
    "git config core.autocrlf input; git reset -q --hard; true",
    "find . -path ./.git -prune -o -type f -exec sed -i s/e/E/ {} +",
];

fn repository(kind: &str) -> World {
    let world = match kind {
        "worktree" => {
            let world = World::in_memory();
            world.sh("git init -q -b other ../main-tree && cd ../main-tree &&
                 git commit -q --allow-empty -m start && git worktree add -q -b main ../work");
            world
        }
        _ => World::in_memory(),
    }
    .with("BACKSTITCH_LEND_ALWAYS", "1");
    let format = if kind == "sha256" { "sha256" } else { "sha1" };
    if !world.exists(".git") {
        world.git_ok([
            "init",
            "-q",
            "-b",
            "main",
            &format!("--object-format={format}"),
        ]);
    }
    for n in 0..16 {
        world.write(format!("f{n}.txt"), format!("file {n}\nhas lines\n"));
        world.write(format!("d{}/e{n}.txt", n % 3), format!("below {n}\n"));
    }
    world.set_mode("f2.txt", 0o755);
    world.git_ok(["add", "-A"]);
    if kind != "no commits" {
        world.git_ok(["commit", "-q", "-m", "start"]);
    }
    if kind == "shared" {
        world.sh("git clone -q --shared . ../borrower && rm -rf .git.old && mv .git ../lender.git &&
            mv ../borrower/.git .git && echo ../../lender.git/objects > .git/objects/info/alternates && git reset -q");
    }
    world
}

/// Whatever state a repository is in: what was there at the first look comes back to the byte.
#[test]
fn whatever_git_did_it_comes_back() {
    let cases = number("BACKSTITCH_LENT_CASES", 24);
    let first = Rng::seed("BACKSTITCH_LENT_SEED", 1);
    let mut borrowed = 0;
    for seed in first..first + cases {
        let mut rng = Rng::new(seed);
        let kind = *rng.pick(&KINDS);
        let mut traps: Vec<_> = (0..=rng.below(4)).map(|_| *rng.pick(&TRAPS)).collect();
        traps.dedup();
        let world = repository(kind);
        if !rng.once_in(4) {
            settle(&world);
        }
        for (_, script) in &traps {
            world.sh(script);
        }
        if !rng.once_in(3) {
            settle(&world);
        }
        let names: Vec<&str> = traps.iter().map(|(name, _)| *name).collect();
        let about =
            format!("BACKSTITCH_LENT_SEED={seed} BACKSTITCH_LENT_CASES=1: {kind}, {names:?}");
        let before = files(&world);
        let git = fs::metadata(world.path(".git")).map(|m| m.ino());
        world.ok(["init"]);
        borrowed += lent(&world);
        let mut agent = world.agent();
        for _ in 0..=rng.below(3) {
            agent.prompt("a turn");
            let deed = *rng.pick(&DEEDS);
            agent.bash(deed);
            agent.stop();
        }
        world.ok(["verify"]);
        let rewound = world.run(["rewind", "t1", "--exact", "--yes"]);
        let after = files(&world);
        assert!(
            after == before,
            "{about}\n{}\n{}{}",
            difference(&before, &after),
            rewound.stdout,
            rewound.stderr
        );
        world.ok(["verify"]);
        assert_eq!(
            fs::metadata(world.path(".git")).map(|m| m.ino()).ok(),
            git.ok()
        );
    }
    assert!(borrowed > 0, "nothing was ever borrowed");
}
