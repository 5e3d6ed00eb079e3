//! Linked worktrees of git inside a workspace. Each is a separate workspace, and still the work in it is not lost when a command
//! removes it.

use serde_json::{Value, json};

use crate::support::World;
use crate::support::scenarios::{SEVEN_LINES, two_files};
use crate::whole_turns::in_dir;

const TREE: &str = ".trees/idea";

/// A workspace with a worktree in it that has work in it which git does not have.
fn with_worktree(ignored: bool) -> World {
    prepare(two_files(SEVEN_LINES), ignored)
}

fn prepare(world: World, ignored: bool) -> World {
    if ignored {
        world.write(".gitignore", ".trees/\n");
    }
    world.git_ok(["worktree", "add", "-q", "-b", "idea", TREE]);
    world.write(file("own.txt"), "committed on its branch\n");
    world.git_ok(["-C", TREE, "add", "own.txt"]);
    world.git_ok(["-C", TREE, "commit", "-q", "-m", "own", "own.txt"]);
    world.write(file("a.txt"), "not committed\n");
    world.write(file("new/deep.txt"), "not tracked\n");
    world
}

fn file(name: &str) -> String {
    format!("{TREE}/{name}")
}

/// A rewind brings back all files of a worktree that a command has removed, however it names it.
#[test]
fn a_removed_worktree_comes_back() {
    let commands = [
        "git worktree remove --force .trees/idea",
        "cd .trees && git worktree remove -f idea",
        "rm -rf .trees/idea",
        "rm -rf .trees",
        "rm -rf .trees/*",
        "rm -rf \"$PWD/.trees/idea\" && git worktree prune",
        "find .trees -mindepth 1 -delete",
        "mv .trees/idea ../elsewhere",
    ];
    for (number, command) in commands.into_iter().enumerate() {
        let world = two_files(SEVEN_LINES);
        let world = match number % 4 {
            0 | 1 => world,
            _ => world.with("BACKSTITCH_GIT_BACKED_ALWAYS", "1"),
        };
        let world = prepare(world, number % 2 == 0);
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("clean up");
        agent.bash(command);
        agent.stop();
        assert!(!world.exists(file("a.txt")), "{command}");
        // git need not have its commits any longer
        world.sh("git worktree prune; git branch -qD idea; git reflog expire --expire=now --all; git gc -q --prune=now");
        let rewound = world.ok(["rewind", "t1", "--yes"]);
        let is_back = |name: &str, text: &str| {
            assert!(world.exists(file(name)), "{command}: {rewound}");
            assert_eq!(world.read(file(name)), text, "{command}: {rewound}");
        };
        is_back("a.txt", "not committed\n");
        is_back("new/deep.txt", "not tracked\n");
        is_back("b.txt", "other\n");
        is_back("own.txt", "committed on its branch\n");
        assert!(!world.exists(file(".git")), "{command}");
    }
}

/// The same for a worktree of another repository, whose directory above is removed.
#[test]
fn a_removed_worktree_of_another_repository_comes_back() {
    for command in ["rm -rf vendor", "rm -rf vendor/*", "git clean -ffdqx"] {
        let world = two_files(SEVEN_LINES).with("BACKSTITCH_GIT_BACKED_ALWAYS", "1");
        let made = "git clone -q . \"$HOME/other\" && git -C \"$HOME/other\" worktree add -q -b w \"$PWD/vendor/o\"";
        world.sh(made).expect_code(0);
        world.write("vendor/o/a.txt", "not committed\n");
        world.write("vendor/readme.txt", "vendor\n");
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("clean up");
        agent.bash(command);
        agent.stop();
        assert!(!world.exists("vendor/o/a.txt"), "{command}");
        let rewound = world.ok(["rewind", "t1", "--yes"]);
        assert!(world.exists("vendor/o/a.txt"), "{command}: {rewound}");
        assert_eq!(world.read("vendor/o/a.txt"), "not committed\n");
        assert_eq!(world.read("vendor/readme.txt"), "vendor\n");
        // git has it, in a repository that is not the workspace's
        assert_eq!(world.read("vendor/o/b.txt"), "other\n", "{rewound}");
    }
}

/// A command that names a worktree and leaves it where it is changes nothing of this workspace.
#[test]
fn a_worktree_that_stays_is_no_change() {
    let world = with_worktree(false);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("work there");
    agent.bash("echo more >> .trees/idea/a.txt; touch .trees/idea; git -C .trees/idea add .");
    agent.stop();
    assert_eq!(world.since_start(), ["t1: work there"]);
    let status = world.json(["status"]);
    world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(
        world.read(file("a.txt")),
        "not committed\nmore\n",
        "{status:#}"
    );
}

/// A worktree that was removed and made again is not a place for a restore.
#[test]
fn a_restore_leaves_a_present_worktree() {
    let world = with_worktree(false);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("again");
    agent.bash("git worktree remove --force .trees/idea");
    agent.bash("git worktree add -q .trees/idea idea; echo third > c.txt");
    agent.stop();
    let before = world.read(file("a.txt"));
    let rewound = world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(world.read(file("a.txt")), before, "{rewound}");
    assert!(!world.exists(file("new/deep.txt")), "{rewound}");
    assert!(!world.exists("c.txt"), "{rewound}");
    assert!(rewound.stdout.contains("a linked worktree"), "{rewound}");
}

/// A command that works in a worktree from outside is a step there: a rewind there undoes it, and one of the outer workspace undoes
/// the rest.
#[test]
fn work_in_a_worktree_is_recorded_there() {
    let commands = [
        "cd .trees/idea && echo agent >> a.txt; echo agent > ../../c.txt",
        "echo agent > c.txt; sh -c 'cd .trees/idea/new && echo agent >> ../a.txt'",
        "echo agent > c.txt; sed -i '$a agent' .trees/idea/a.txt",
        "echo agent > c.txt; (cd \"$PWD\"/.trees; for i in idea; do echo agent >> $i/a.txt; done)",
        "echo agent > c.txt; make -C .trees/idea -f /dev/null 2>&1; echo agent | tee -a .trees/idea/a.txt",
    ];
    for command in commands {
        let world = with_worktree(false);
        let tree = world.path(TREE);
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("work there");
        agent.bash(command);
        agent.stop();
        assert_eq!(
            world.read(file("a.txt")),
            "not committed\nagent\n",
            "{command}"
        );
        let log = world.ok(in_dir(&tree, &["log"])).stdout;
        assert!(log.contains("work there"), "{command}: {log}");
        let rewound = world.ok(in_dir(&tree, &["rewind", "t1", "--yes"]));
        assert_eq!(
            world.read(file("a.txt")),
            "not committed\n",
            "{command}: {rewound}"
        );
        assert!(world.exists("c.txt"), "{command}");
        world.ok(["rewind", "t1", "--yes"]);
        assert!(!world.exists("c.txt"), "{command}");
    }
}

/// The same at the root of a bare repository's worktrees.
#[test]
fn work_beside_a_bare_repository_is_recorded() {
    let world = two_files(SEVEN_LINES);
    let made = "git clone -q --bare . lay/.bare && echo 'gitdir: ./.bare' > lay/.git && git -C lay worktree add -q one main";
    world.sh(made).expect_code(0);
    let (lay, tree) = (world.path("lay"), world.path("lay/one"));
    let agent = world.agent();
    let in_lay = |fields: Value| {
        let mut fields = fields;
        fields["cwd"] = json!(lay);
        fields
    };
    agent.event("SessionStart", in_lay(json!({"source": "startup"})));
    agent.event("UserPromptSubmit", in_lay(json!({"prompt": "work there"})));
    let command = "cd one && echo agent >> a.txt";
    let call = in_lay(json!({
        "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "c1",
    }));
    agent.event("PreToolUse", call.clone());
    world.sh(&format!("cd lay && {command}")).expect_code(0);
    agent.event("PostToolUse", call);
    agent.event("Stop", in_lay(json!({})));
    let rewound = world.ok(in_dir(&tree, &["rewind", "t1", "--yes"]));
    assert_eq!(world.read("lay/one/a.txt"), SEVEN_LINES, "{rewound}");
}
