//! Directories of version control under any name are never recorded and never restored.

use std::path::Path;

use serde_json::Value;

use crate::support::World;
use crate::support::tree::{Tree, assert_same};

const GIT: &str = "git -c user.email=a@b -c user.name=n -c init.defaultBranch=main";

/// Layouts of repositories in a workspace: a name, the commands that make it, the directory of the agent, and the
/// directories that belong to git.
const LAYOUTS: [(&str, &str, &str, &[&str]); 6] = [
    (
        "a bare repository with work trees beside it",
        "GIT init -q seed && cd seed && echo 1 > a.txt && git add -A && GIT commit -qm base && cd .. && \
         git clone -q --bare seed .bare && rm -rf seed && echo 'gitdir: ./.bare' > .git && git worktree add -q main",
        "main",
        &[".bare"],
    ),
    (
        "a git directory of its own name",
        "GIT init -q --separate-git-dir=meta.git . && echo 1 > a.txt && git add a.txt && GIT commit -qm base",
        "",
        &["meta.git"],
    ),
    (
        "a bare remote inside",
        "GIT init -q . && GIT init -q --bare origin.git && echo origin.git/ > .git/info/exclude && echo 1 > a.txt && \
         git add a.txt && GIT commit -qm base && git remote add origin ./origin.git && git push -q origin HEAD:main && \
         : > .git/info/exclude",
        "",
        &["origin.git"],
    ),
    (
        "a repository with reftables",
        "GIT init -q --ref-format=reftable --separate-git-dir=meta . && echo 1 > a.txt && git add a.txt && \
         GIT commit -qm base",
        "",
        &["meta"],
    ),
    (
        "a repository that another program has renamed",
        "GIT init -q . && echo 1 > a.txt && git add a.txt && GIT commit -qm base && GIT init -q inner && \
         (cd inner && echo 1 > b && git add b && GIT commit -qm inner) && mv inner/.git inner/.git_disabled",
        "",
        &["inner/.git_disabled"],
    ),
    (
        "a copy of a git directory",
        "GIT init -q . && echo 1 > a.txt && git add a.txt && GIT commit -qm base && cp -r .git backup-of-git",
        "",
        &["backup-of-git"],
    ),
];

fn in_git(text: &str) -> String {
    text.replace("GIT ", &format!("{GIT} "))
}

/// The files below these directories.
fn below(world: &World, dirs: &[&str]) -> Tree {
    let mut tree = world.tree();
    tree.retain(|path, _| dirs.iter().any(|dir| path.starts_with(dir)));
    assert!(!tree.is_empty(), "{dirs:?}");
    tree
}

fn names(value: &Value, dirs: &[&str]) -> bool {
    let text = value.to_string();
    dirs.iter().any(|dir| text.contains(&format!("{dir}/")))
}

/// S3-002: nothing is committed, staged or written in a repository of any layout. U-22: git's index bytes and reflog stay.
/// No rewind, revert, undo or fork changes a file of git, and the coverage names its directory.
#[test]
fn git_directories_of_any_name_stay_as_they_are() {
    for (name, made, cwd, dirs) in LAYOUTS {
        let world = World::new();
        let made = world.sh(&in_git(made));
        assert_eq!(made.code, 0, "{name}: {made}");
        let mut agent = world.agent();
        agent.prompt("commit it");
        let at = |path: &str| {
            Path::new(cwd)
                .join(path)
                .to_str()
                .expect("UTF-8")
                .to_owned()
        };
        let dir = if cwd.is_empty() { "." } else { cwd };
        agent.write(&at("b.txt"), "two\n");
        agent.bash(&in_git(&format!(
            "cd {dir} && echo 2 > a.txt && git add a.txt b.txt && GIT commit -qm agent; (git push -q origin HEAD:main || true)"
        )));
        for dir in dirs {
            agent.bash(&format!("echo more > {dir}/written-by-the-agent"));
        }
        agent.stop();
        world.write(at("mine.txt"), "mine\n");
        let before = below(&world, dirs);
        let log = world.json(["log", "--all"]);
        assert!(!names(&log["checkpoints"], dirs), "{name}: {log}");
        let coverage = world.json(["status"])["coverage"].clone();
        for dir in dirs {
            let items = coverage["items"].as_array().expect("items");
            let is_named =
                |item: &&Value| item["path"] == *dir && item["reason"] == "version_control";
            assert_eq!(
                items.iter().filter(is_named).count(),
                1,
                "{name}: {coverage}"
            );
        }
        // a linked work tree is a separate workspace
        let workspace = world.path(dir);
        let there = |args: &[&str]| {
            let workspace = workspace.to_str().expect("UTF-8");
            let mut all = vec!["--workspace".to_owned(), workspace.to_owned()];
            all.extend(args.iter().map(|arg| (*arg).to_owned()));
            all
        };
        let plan = world.json(there(&["rewind", "t1", "--dry-run"]));
        assert!(
            plan["actions"].to_string().contains("b.txt"),
            "{name}: {plan}"
        );
        assert!(!names(&plan, dirs), "{name}: {plan}");
        for args in [
            &["rewind", "t1"][..],
            &["undo"],
            &["redo"],
            &["undo"],
            &["rewind", "t1", "--exact"],
            &["undo"],
            &["revert", "t1"],
            &["undo"],
        ] {
            world.ok(there(args));
            assert_same(&below(&world, dirs), &before);
        }
        let into = world.home.join("fork");
        let into_dir = into.to_str().expect("UTF-8");
        world.ok(there(&["fork", "@", "idea", "--into", into_dir]));
        for dir in dirs {
            assert!(!into.join(dir).exists(), "{name}");
        }
        let git = world.sh(&format!("cd {dir} && git fsck && git log --oneline"));
        let has_git_at_its_place = !name.contains("renamed") || git.code == 0;
        assert!(git.code == 0 && has_git_at_its_place, "{name}: {git}");
        world.ok(["verify"]);
    }
}

/// A tool that names a file of a git directory is reported, and the file is not recorded.
#[test]
fn a_tool_that_writes_into_a_git_directory_is_a_gap() {
    let world = World::committed(&[("a.txt", "1\n")]);
    world.sh(&in_git("GIT init -q --bare lib/meta"));
    let mut agent = world.agent();
    agent.prompt("write a hook");
    agent.write("lib/meta/hooks/post-update", "echo\n");
    agent.edit("lib/meta/description", "Unnamed", "Named");
    agent.write("lib/plain.txt", "1\n");
    agent.stop();
    let shown = world.ok(["show", "t1"]).stdout;
    assert!(
        shown.contains("not captured") && shown.contains("lib/meta/hooks/post-update"),
        "{shown}"
    );
    world.ok(["rewind", "t1"]);
    assert!(world.exists("lib/meta/hooks/post-update") && !world.exists("lib/plain.txt"));
    assert!(world.read("lib/meta/description").starts_with("Named"));
}

/// Files of other systems are known by their names.
#[test]
fn directories_of_other_systems_are_not_recorded() {
    const NAMES: [&str; 12] = [
        ".svn/wc.db",
        "_svn/entries",
        ".sl/store/x",
        ".pijul/pristine/db",
        "_darcs/inventory",
        ".bzr/branch/x",
        "sub/CVS/Entries",
        ".repo/manifest.xml",
        "nested/.git_disabled/HEAD",
        ".fslckout",
        "_FOSSIL_",
        "deep/down/.hg/dirstate",
    ];
    // somebody's own files
    const OWN: [&str; 5] = [
        "src/cvs/mod.rs",
        "HEAD",
        "objects/x.obj",
        "docs/refs/a.md",
        "CVS.txt",
    ];
    let world = World::committed(&[("x", "1\n")]);
    for name in NAMES.iter().chain(&OWN) {
        world.write(name, "a\n");
    }
    let mut agent = world.agent();
    agent.prompt("change all");
    let all = NAMES.iter().chain(&OWN);
    let commands: Vec<String> = all.map(|name| format!("echo b > {name}")).collect();
    agent.bash(&commands.join("; "));
    agent.stop();
    let changes = world.json(["show", "t1"]).to_string();
    for name in NAMES {
        assert!(
            !changes.contains(&format!("\"{name}\"")),
            "{name}: {changes}"
        );
    }
    world.ok(["rewind", "t1"]);
    for name in NAMES {
        assert_eq!(world.read(name), "b\n", "{name}");
    }
    for name in OWN {
        assert_eq!(world.read(name), "a\n", "{name}");
    }
}

/// A directory that becomes a repository while it is recorded: its files stay from then on, with and without a walk.
#[test]
fn a_directory_that_becomes_a_repository_is_left_alone() {
    let world = World::committed(&[("a.txt", "1\n"), ("data/own.txt", "1\n")]);
    let mut agent = world.agent();
    agent.prompt("make a repository of it");
    agent.bash(&in_git("GIT init -q --bare data"));
    agent.bash("echo 2 > data/own.txt; echo 2 > a.txt");
    agent.stop();
    world.ok(["rewind", "t1"]);
    assert_eq!(
        (world.read("a.txt"), world.read("data/own.txt")),
        ("1\n".into(), "2\n".into())
    );
    assert!(world.exists("data/HEAD") && world.exists("data/objects"));
    world.ok(["undo"]);
    assert_eq!(world.read("a.txt"), "2\n");
}

/// Files of a git directory that an older version recorded are never restored, even if the directory is gone, and the plan
/// says so.
#[test]
fn recorded_files_of_a_git_directory_are_not_restored() {
    let world = World::committed(&[("a.txt", "1\n")]);
    let mut agent = world.agent();
    agent.prompt("work");
    agent.edit("a.txt", "1", "2");
    // as an older version recorded it: files of the project
    for path in [
        "meta/HEAD",
        "meta/config",
        "meta/objects/ab/cdef",
        "meta/refs/heads/main",
        "meta/index",
    ] {
        agent.write(&path.replace("meta", "m_ta"), "as it was\n");
    }
    agent.stop();
    let store = rusqlite::Connection::open(world.store().join("store.db")).expect("the store");
    // a row without a sum is one of an older version; with its sum it would be damaged
    for (table, column, no_sum) in [
        ("file_state", "path", ""),
        ("version", "path", "sum = NULL, "),
        ("change", "before_path", "sum = NULL, "),
        ("change", "after_path", "sum = NULL, "),
    ] {
        let sql = format!(
            "UPDATE {table} SET {no_sum}{column} = CAST('meta' || substr(CAST({column} AS TEXT), 5) AS BLOB)
             WHERE CAST({column} AS TEXT) LIKE 'm!_ta/%' ESCAPE '!'"
        );
        store.execute(&sql, []).expect("columns");
    }
    drop(store);
    let rename = world.sh("mv m_ta meta");
    assert_eq!(rename.code, 0, "{rename}");
    for is_there in [true, false] {
        if !is_there {
            world.sh("rm -rf meta");
        }
        let plan = world.json(["rewind", "t1", "--dry-run"]);
        let gap = plan["gaps"].to_string();
        assert!(
            gap.contains("version_control") && gap.contains("\"meta\""),
            "{gap}"
        );
        assert!(!plan["actions"].to_string().contains("meta/"), "{plan}");
        world.ok(["rewind", "t1"]);
        assert_eq!(world.read("a.txt"), "1\n");
        assert_eq!(world.exists("meta/HEAD"), is_there);
        world.ok(["undo"]);
        assert_eq!(world.exists("meta/HEAD"), is_there);
        assert_eq!(world.read("a.txt"), "2\n");
    }
}

/// Objects of git that lie apart from their repository are git's, and a repository whose HEAD is gone is still one.
#[test]
fn objects_apart_from_their_repository_stay() {
    for (made, command) in [
        (
            "git init -q && mv .git/objects objs && ln -s ../objs .git/objects",
            "echo 2 >> a.txt; git add a.txt; GIT commit -qm c",
        ),
        (
            "git init -q && mkdir -p store && echo $PWD/store > .git/objects/info/alternates",
            "echo 2 >> a.txt; git add a.txt; GIT_OBJECT_DIRECTORY=$PWD/store GIT commit -qam c",
        ),
        (
            "git init -q && git init -q --bare meta",
            "echo 2 >> a.txt; git add a.txt; GIT push -q meta HEAD:refs/heads/main; GIT commit -qam c; rm meta/HEAD; echo 1 > meta/description",
        ),
        (
            "git init -q && mkdir half",
            "echo 2 >> a.txt; GIT commit -qam c; mkdir -p half/objects half/refs; echo 1 > half/config; echo 1 > half/objects/note",
        ),
    ] {
        let world = World::new();
        let made = format!("{made} && echo 1 > a.txt && git add a.txt && GIT commit -qm s");
        world.sh(&in_git(&made)).expect_code(0);
        let mut agent = world.agent();
        agent.prompt("commit it");
        agent.bash(&in_git(command));
        agent.bash(&in_git("git gc -q; git repack -qad; true"));
        agent.stop();
        let log = world.json(["log", "--all"])["checkpoints"].to_string();
        assert!(log.contains("a.txt"), "{log}");
        for dir in ["objs/pack", "store/", "meta/", "half/"] {
            let is_recorded = log.contains(&format!("\"path\":\"{dir}"));
            assert!(!is_recorded, "{command}: {log}");
        }
        let rewound = world.ok(["rewind", "t1", "--yes"]);
        assert_eq!(world.read("a.txt"), "1\n", "{command}: {rewound}");
        let checked = world.sh("git fsck --full 2>&1");
        assert_eq!(checked.code, 0, "{command}: {checked}");
        for dir in ["meta", "half"] {
            let is_left = !command.contains(dir) || world.exists(format!("{dir}/objects"));
            assert!(is_left, "{command}: {rewound}");
        }
    }
}

/// A command that removes a repository is a gap of its turn, however the repository is made: nothing brings it back.
#[test]
fn a_repository_that_a_command_removes_is_named() {
    for (made, command, removed) in [
        ("GIT init -q inner", "rm -rf inner/.git", "inner/.git"),
        ("GIT init -q inner", "rm -rf inner", "inner/.git"),
        (
            "GIT init -q --bare origin.git",
            "rm -rf origin.git",
            "origin.git",
        ),
        (
            "mkdir -p old/.svn && echo 1 > old/.svn/wc.db",
            "rm -rf old",
            "old/.svn",
        ),
        ("GIT init -q .", "rm -rf .git", ".git"),
        (
            "GIT init -q sub && echo 1 > sub/a && rm -rf sub/.git && echo 'gitdir: ../m' > sub/.git",
            "mv sub other",
            "sub/.git",
        ),
    ] {
        let world = World::new();
        let made = format!("{made} && echo 1 > a.txt");
        world.sh(&in_git(&made)).expect_code(0);
        let mut agent = world.agent();
        agent.prompt("look at it");
        agent.bash("ls");
        agent.prompt("clean up");
        agent.bash(command);
        agent.stop();
        agent.prompt("go on");
        agent.edit("a.txt", "1", "2");
        agent.bash("ls");
        agent.stop();
        let plan = world.ok(["rewind", "t2", "--dry-run"]);
        let at = format!("version control {removed} ");
        let line = plan.stdout.lines().find(|line| line.contains(&at));
        assert!(
            line.is_some_and(|line| line.ends_with(": removed")),
            "{command}: {plan}"
        );
        let shown = world.json(["show", "t3"]).to_string();
        assert!(
            !shown.contains("version_control"),
            "it is told again: {shown}"
        );
        let none = world.ok(["rewind", "t3", "--dry-run"]);
        assert!(!none.stdout.contains(&at), "{command}: {none}");
    }
}
