//! Settings: their sources, their priority, and their effect on hook and command line.

use serde_json::{Value, json};

use crate::support::World;
use crate::support::history::{Checkpoint, gaps};
use crate::support::tree::assert_same;

const FILE: &str = ".backstitch.toml";

fn settings(world: &World) -> Value {
    world.json(["status"])["settings"].clone()
}

/// All paths that any checkpoint changed.
fn changed(world: &World) -> Vec<String> {
    let mut paths = Vec::new();
    for checkpoint in world.checkpoints() {
        for change in checkpoint.json["changes"].as_array().expect("changes") {
            paths.push(change["path"].as_str().expect("a path").to_owned());
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

fn user_path(world: &World) -> String {
    let path = world.config.join("backstitch/config.toml");
    path.to_str().expect("a plain path").to_owned()
}

fn own_path(world: &World) -> String {
    let path = world.root.join(FILE);
    path.to_str().expect("a plain path").to_owned()
}

/// The nearest source that sets a key wins; `status` names it.
#[test]
fn the_nearest_source_wins() {
    let world = World::committed(&[("a.txt", "one\n")]);
    for (key, value) in [
        ("capture.exclude", json!([])),
        ("capture.include", json!([])),
        ("capture.maxFileSize", json!(10 << 20)),
        ("codeLens", json!("all")),
        ("restore.default", json!("merge")),
    ] {
        assert_eq!(
            settings(&world)[key],
            json!({ "value": value, "source": "default" })
        );
    }
    assert_eq!(settings(&world)["store.dir"]["source"], "default");
    world.configure("codeLens = \"off\"\ncapture.exclude = [\"far\"]\n[capture]\n");
    let wrong = world.ok(["status"]).stderr;
    assert!(
        wrong.contains("config.toml:3: this is not TOML: "),
        "{wrong}"
    );
    world
        .configure("codeLens = \"off\"\n[capture]\nexclude = [\"far\"]\nmaxFileSize = \"1 MiB\"\n");
    world.write(FILE, "# ours\n[capture]\nexclude = [\n  \"near\",\n]\n");
    let now = settings(&world);
    // the user's excludes stay in force
    let near =
        json!({ "value": ["near", "far"], "source": "file", "file": own_path(&world), "line": 3 });
    assert_eq!(now["capture.exclude"], near);
    let far = json!({ "value": 1 << 20, "source": "file", "file": user_path(&world), "line": 4 });
    assert_eq!(now["capture.maxFileSize"], far);
    assert_eq!(now["codeLens"]["line"], 1);
    let text = world.ok(["status", "-v"]).stdout;
    let line = format!(
        "capture.exclude = [\"near\",\"far\"]  {}:3\n",
        own_path(&world)
    );
    assert!(text.contains(&line), "{text}");
    assert!(text.contains("capture.maxFileSize = 1 MiB  "), "{text}");
    assert!(
        text.contains("restore.default = merge  default\n"),
        "{text}"
    );
    assert!(!world.ok(["status"]).stdout.contains("restore.default"));
}

/// Excluded files are not recorded, even by an edit tool, and no rewind touches them.
#[test]
fn excluded_files_are_neither_recorded_nor_touched() {
    let world = World::committed(&[("a.txt", "one\n"), (".gitignore", "!my.key\n")]);
    world.write(FILE, "capture.exclude = [\"secrets/\", \"*.key\"]\n");
    world.write("secrets/x", "x\n");
    world.write("my.key", "k\n");
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.bash("echo agent >> secrets/x; echo new > new.key; mkdir s && echo s > s/new.key; echo two >> a.txt");
    agent.edit("my.key", "k", "K");
    agent.write("secrets/made", "made\n");
    agent.bash("rm my.key; echo three >> a.txt");
    agent.stop();
    assert_eq!(changed(&world), ["a.txt"]);
    let missed: Vec<String> = world
        .checkpoints()
        .iter()
        .flat_map(Checkpoint::not_captured)
        .collect();
    assert!(
        missed
            .iter()
            .any(|item| item.contains("my.key") && item.contains("excluded")),
        "{missed:?}"
    );
    let plan = world.plan(["rewind", "t1"]);
    assert!(
        gaps(&plan).iter().any(|gap| gap.contains("secrets/made")),
        "{plan:#}"
    );
    for rewind in [&["rewind", "t1"][..], &["rewind", "t1", "--exact"]] {
        world.ok(rewind);
        assert_eq!(world.read("a.txt"), "one\n");
        assert_eq!(world.read("secrets/x"), "x\nagent\n");
        assert_eq!(world.read("new.key"), "new\n");
        assert_eq!(world.read("s/new.key"), "s\n");
        assert_eq!(world.read("secrets/made"), "made\n");
        assert!(!world.exists("my.key"));
        world.ok(["undo"]);
    }
    assert_eq!(changed(&world), ["a.txt"]);
    world.run(["cat", "@", "secrets/x"]).expect_code(3);
    world.ok(["verify"]);
}

/// A file hidden by .gitignore but included by the settings is recorded and rewound; files next to it are left alone.
#[test]
fn included_files_are_recorded_and_rewound() {
    let world = World::committed(&[
        ("a.txt", "one\n"),
        (".gitignore", ".env*\ngen/\nout/\ndist/\n"),
    ]);
    world.configure(
        "[capture]\ninclude = [\".env.local\", \"gen/\", \"/out/*/keep.txt\"]\nexclude = [\"*.tmp\"]\n",
    );
    for path in [
        ".env.local",
        ".env.other",
        "gen/x",
        "gen/x.tmp",
        "out/deep/keep.txt",
        "out/deep/other.txt",
        "dist/.env.local",
    ] {
        world.write(path, "mine\n");
    }
    let before = world.tree();
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.bash("for f in .env.local gen/x gen/new out/deep/keep.txt; do echo agent >> $f; done; rm -r gen/sub 2>&1; true");
    agent.edit("gen/x", "mine", "theirs");
    agent.stop();
    let own = [".env.local", "gen/new", "gen/x", "out/deep/keep.txt"];
    assert_eq!(changed(&world), own);
    world.ok(["rewind", "t1"]);
    assert_same(&world.tree(), &before);
    world.ok(["undo"]);
    assert_eq!(world.read("gen/x"), "theirs\nagent\n");
    agent.prompt("what is not included");
    // ignored files that a command names would be recorded
    agent.bash(
        "echo agent | tee -a $(find . -type f | grep -e env.oth -e x.tmp -e deep/oth -e dist)",
    );
    agent.stop();
    assert_eq!(world.read("dist/.env.local"), "mine\nagent\n");
    assert_eq!(changed(&world), own);
    let nothing = world.run(["rewind", "t2", "--exact"]).expect_code(1);
    assert!(nothing.stderr.contains("were not recorded"), "{nothing}");
    assert_eq!(world.read("out/deep/other.txt"), "mine\nagent\n");
    world.ok(["verify"]);
}

/// Files that a change of settings shows or hides do not count as created or deleted.
#[test]
fn toggling_an_exclusion_loses_and_deletes_nothing() {
    for exact in [false, true] {
        let world = World::committed(&[("a.txt", "one\n"), (".gitignore", "hidden/\n")]);
        world.write("data/x.txt", "x\n");
        world.write("hidden/h.txt", "h\n");
        let mut agent = world.agent();
        agent.session_start();
        agent.prompt("go");
        agent.bash("echo 1 >> data/x.txt; echo two >> a.txt");
        world.write(FILE, "capture.exclude = [\"data/\"]\n");
        world.write("data/y.txt", "y\n");
        agent.bash("echo 2 >> data/y.txt; echo made > data/z.txt; echo 2 >> data/x.txt; echo three >> a.txt");
        world.remove(FILE);
        world.configure("capture.include = [\"hidden/\"]\n");
        agent.bash("echo 3 >> hidden/h.txt; echo four >> a.txt");
        agent.bash("echo 4 >> data/y.txt; echo 4 >> hidden/h.txt");
        world.configure("");
        agent.bash("echo 5 >> data/y.txt; echo 5 >> hidden/h.txt; echo five >> a.txt");
        agent.stop();
        let lines = world.since_start();
        assert!(
            !lines
                .iter()
                .any(|line| line.contains("delete data") || line.contains("delete hidden")),
            "{lines:#?}"
        );
        let after = world.tree();
        let mut rewind = vec!["rewind", "t1"];
        rewind.extend(exact.then_some("--exact"));
        world.ok(&rewind);
        assert_eq!(world.read("a.txt"), "one\n");
        // recorded before: a recorded file stays recorded
        assert_eq!(world.read("data/x.txt"), "x\n");
        // visible from then on, with their content at that time
        assert_eq!(world.read("data/y.txt"), "y\n2\n", "{lines:#?}");
        assert_eq!(world.read("data/z.txt"), "made\n");
        assert_eq!(world.read("hidden/h.txt"), "h\n");
        world.ok(["undo"]);
        assert_same(&world.tree(), &after);
        world.ok(["verify"]);
    }
}

/// The size limit is lowered and raised: recorded files stay recorded, and files that now fit are nobody's change.
#[test]
fn a_changed_size_limit_keeps_recorded_files() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let big = |letter: &str, kib: usize| letter.repeat(kib << 10);
    world.write(FILE, "capture.maxFileSize = \"64 KiB\"\n");
    world.write("large", big("l", 100));
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.bash("head -c 70000 /dev/zero > grown; echo two >> a.txt");
    let coverage = world.json(["status"])["coverage"].clone();
    assert_eq!(coverage["too_large"], 2, "{coverage}");
    world.write(FILE, "capture.maxFileSize = \"1 MiB\"\n");
    agent.bash("echo three >> a.txt");
    assert_eq!(world.json(["status"])["coverage"]["too_large"], 0);
    let lines = world.since_start();
    assert!(
        !lines
            .iter()
            .any(|line| line.starts_with("t1 Bash") && line.contains("large")),
        "{lines:#?}"
    );
    agent.bash("echo more >> large");
    // below its recorded size: it stays recorded until it grows
    world.write(FILE, "capture.maxFileSize = 1000\n");
    agent.bash("printf x | dd of=large bs=1 seek=5 conv=notrunc 2>/dev/null; touch a.txt");
    agent.stop();
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("large"), big("l", 100));
    assert!(world.exists("grown"), "its earlier state is not known");
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(["undo"]);
    assert_eq!(&world.read("large")[..8], "lllllxll");
    world.ok(["verify"]);
}

/// An invalid settings file costs only its wrong entries, and breaks neither hook nor command line.
#[test]
fn invalid_settings_are_reported_and_break_nothing() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.write(
        FILE,
        "capture.exclude = [\"*.log\"]\ncapture.maxFileSize = \"lots\"\nhold.timeout = 3\n",
    );
    let mut agent = world.agent();
    agent.let_complain();
    agent.session_start();
    let said = agent.prompt("go").stderr;
    let expected = format!(
        "{}:2: `capture.maxFileSize`: \"lots\" is not a size; write a number of bytes, or a text such as \"10MB\" or \
         \"512 KiB\"; 10 MiB is used",
        own_path(&world)
    );
    assert!(said.contains(&expected), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    agent.bash("echo two >> a.txt; echo x > x.log");
    agent.stop();
    assert_eq!(changed(&world), ["a.txt"]);
    let said = world.ok(["log"]).stderr;
    let unknown = format!(
        "warning: {}:3: `hold`: {}\n",
        own_path(&world),
        backstitch_core::config::unknown()
    );
    assert_eq!(said, format!("warning: {expected}\n{unknown}"));
    assert!(
        world.json(["status"])["gaps"]
            .as_array()
            .is_some_and(Vec::is_empty)
    );
    for bad in ["capture.exclude = [", "\0\u{1}", "exclude"] {
        world.write(FILE, bad);
        agent.prompt("go on");
        agent.bash("echo more >> a.txt");
        agent.stop();
        assert!(
            world.ok(["log"]).stderr.contains("this is not TOML"),
            "{bad:?}"
        );
    }
    world.remove(FILE);
    std::fs::create_dir(world.path(FILE)).expect("a directory");
    let said = world.ok(["log"]).stderr;
    assert!(
        said.contains("it is not a file of up to 1 MiB; the file is ignored"),
        "{said}"
    );
    agent.prompt("and on");
    agent.stop();
    std::fs::remove_dir(world.path(FILE)).expect("removed");
    assert_eq!(world.ok(["log"]).stderr, "");
    assert_eq!(world.json(["status"])["gaps"], json!([]));
}

/// Location of the stores: set in a file of the user, or on the command line, which has priority. A file of the workspace
/// cannot set it.
#[test]
fn settings_choose_the_directory_of_the_stores() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.configure("store.dir = \"~/histories\"\n");
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.bash("echo two >> a.txt");
    agent.stop();
    assert!(!world.state.join("backstitch/workspaces").exists());
    let status = world.json(["status"]);
    let store = status["store"].as_str().expect("a path");
    let home = world.home.join("histories");
    assert!(
        store.starts_with(home.to_str().expect("plain")),
        "{status:#}"
    );
    assert_eq!(
        status["settings"]["store.dir"],
        json!({ "value": home, "source": "file", "file": user_path(&world), "line": 1 })
    );
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "one\n");

    // in the tree itself: it is not part of it
    let inside = world.path("my store");
    world.write(FILE, "store = { dir = \"its store\" }\n");
    let mine = format!("store.dir = {:?}\n", inside.to_str().expect("plain"));
    world.configure(&mine);
    assert!(
        world
            .ok(["status"])
            .stderr
            .contains(":1: `store.dir`: a file in a workspace")
    );
    world.remove(FILE);
    // the first hook says that another store was used before
    agent.let_complain();
    let said = agent.prompt("go on").stderr;
    assert!(
        said.contains("config.toml:1 leads to another store"),
        "{said}"
    );
    agent.bash("echo three >> a.txt");
    agent.stop();
    let store = world.json(["status"])["store"].clone();
    assert!(
        store
            .as_str()
            .is_some_and(|s| s.starts_with(inside.to_str().expect("plain"))),
        "{store}"
    );
    assert_eq!(world.since_start(), ["t1: go on", "t1 Bash: modify a.txt"]);
    world.ok(["rewind", "t1", "--exact"]);
    assert_eq!(world.read("a.txt"), "one\n");
    world.ok(["verify"]);

    let elsewhere = world.state.join("elsewhere");
    let status = world.json(["--store-dir", elsewhere.to_str().expect("plain"), "status"]);
    assert_eq!(status["checkpoints"], 0);
    let option = json!({ "value": elsewhere, "source": "option" });
    assert_eq!(status["settings"]["store.dir"], option);
}

/// `restore.default`: a rewind without an option is exact; `--merge` is not.
#[test]
fn a_rewind_is_exact_where_that_is_the_default() {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\n")]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "one", "ONE");
    agent.stop();
    world.write("a.txt", "ONE\ntwo\nthree\nmine\n");
    world.configure("restore.default = \"exact\"\n");
    world.ok(["rewind", "t1", "--merge"]);
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\nmine\n");
    world.ok(["undo"]);
    let shown = world.plan(["rewind", "t1"])["plan"]
        .as_str()
        .expect("a fingerprint")
        .to_owned();
    world.ok(["rewind", "t1", "--plan", &shown]);
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\n");
    world.ok(["undo"]);
    world
        .run(["rewind", "t1", "--merge", "--exact"])
        .expect_code(2);
    world.write(FILE, "restore.default = \"merge\"\n");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), "one\ntwo\nthree\nmine\n");
}

/// Files that were excluded when a call began do not count as created by the call.
#[test]
fn files_excluded_when_a_call_began_are_not_its_work() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.write(FILE, "capture.exclude = [\"data/\"]\n");
    world.write("data/x.txt", "mine\n");
    world.write("data/y.txt", "mine\n");
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    let calls = [
        agent.pre_write("data/x.txt", "agent's\n"),
        agent.pre_edit("data/y.txt", "mine", "agent's"),
    ];
    world.remove(FILE);
    for call in &calls {
        let response = agent.apply(call);
        agent.post(call, &response);
    }
    agent.bash("echo more | tee -a data/x.txt data/y.txt");
    agent.stop();
    for rewind in [&["rewind", "t1"][..], &["rewind", "t1", "--exact"]] {
        world.ok(rewind);
        assert_eq!(world.read("data/x.txt"), "agent's\n");
        assert_eq!(world.read("data/y.txt"), "agent's\n");
        world.ok(["undo"]);
        assert_eq!(world.read("data/x.txt"), "agent's\nmore\n");
    }
    world.ok(["verify"]);
}

/// S4-012: automatic checkpoints are an option, of the user and of a workspace. Without them only a checkpoint made
/// by hand is recorded, and the status says which line turned recording off. The default branch has a name of its own.
#[test]
fn automatic_checkpoints_can_be_turned_off() {
    for is_workspaces in [false, true] {
        let world = World::committed(&[("a.txt", "one\n")]);
        world.ok(["init"]);
        world.ok(["branch", "rename", "main", "trunk"]);
        let mut agent = world.agent();
        agent.prompt("before");
        agent.edit("a.txt", "one", "two");
        agent.stop();
        let turn_off = "[checkpoints]\nautomatic = false\n";
        if is_workspaces {
            world.write(FILE, turn_off);
            world.ok(["checkpoint"]);
        } else {
            world.configure(turn_off);
        }
        let before = world.checkpoints().len();
        agent.prompt("not recorded");
        agent.edit("a.txt", "two", "three");
        agent.bash("echo new > new.txt");
        agent.stop();
        assert_eq!(world.checkpoints().len(), before, "{is_workspaces}");
        let file = if is_workspaces { FILE } else { "config.toml" };
        for command in ["status", "doctor"] {
            let said = world.run([command]);
            let said = format!("{}{}", said.stdout, said.stderr);
            let place = format!("{file}:2: recording is off");
            assert!(said.contains(&place), "{command}: {said}");
        }
        // by hand
        world.ok(["checkpoint", "-m", "by hand"]);
        assert_eq!(world.json(["log", "-n", "1"])["branch"], "trunk");
        assert_eq!(world.at("by hand", "a.txt").as_deref(), Some("three\n"));
        // a workspace cannot turn on what the user has turned off
        if !is_workspaces {
            world.write(FILE, "checkpoints.automatic = true\n");
            let said = world.ok(["status"]).stderr;
            assert!(
                said.contains("may have less recorded, never more"),
                "{said}"
            );
        }
        world.configure("");
        world.remove(FILE);
        let before = world.checkpoints().len();
        agent.prompt("recorded again");
        agent.edit("a.txt", "three", "four");
        agent.stop();
        assert!(world.checkpoints().len() > before + 1, "{is_workspaces}");
        world.ok(["verify"]);
    }
}
