//! The real Claude Code, offline against a scripted model, with the hooks that `backstitch setup claude-code` writes.
//!
//! The agent's actions are in `tests/agents/scripts`. Where it is not installed, a test says so and passes; with
//! `CI=true` it fails.

use std::path::{Path, PathBuf};
use std::{env, fs, thread};

use serde_json::Value;

use crate::support::tree::{Tree, assert_same};
use crate::support::{World, finish, skip};

const MAIN: &str = "fn main() {\n    println!(\"one\");\n}\n";
const MAIN_TWO: &str = "fn main() {\n    println!(\"two\");\n}\n";

/// Directory of the installed agent.
pub fn agents(test: &str) -> Option<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = env::var_os("BACKSTITCH_TEST_AGENTS")
        .map_or_else(|| tests.join(".cache/agents"), PathBuf::from);
    if folder.join("bin/claude").exists() {
        return Some(folder);
    }
    let reason = "Claude Code is not installed (tests/agents/install.sh)";
    skip(&format!("real_claude::{test}"), reason);
    None
}

/// A workspace as a script expects it, with the hooks set up.
fn before(name: &str) -> World {
    let content = fs::read_to_string(script(name)).expect("a script");
    let content: Value = serde_json::from_str(&content).expect("JSON");
    let files = content["workspace"]
        .as_object()
        .expect("the files before")
        .iter();
    let files: Vec<_> = files
        .map(|(path, text)| (path.as_str(), text.as_str().expect("text")))
        .collect();
    let world = World::committed(&files);
    world.ok(["setup", "claude-code", "--scope", "user"]);
    world
}

pub fn rig() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("agents")
}

fn script(name: &str) -> PathBuf {
    rig().join("scripts").join(format!("{name}.json"))
}

/// Runs a script with the real agent to its end.
fn play(world: &World, agents: &Path, name: &str, between: Option<&str>) {
    let mut command = world.command("python3");
    command.arg(rig().join("run_agent.py")).arg("claude");
    command
        .arg("--dest")
        .arg(agents)
        .arg("--script")
        .arg(script(name));
    command
        .arg("--workspace")
        .arg(&world.root)
        .arg("--home")
        .arg(&world.home);
    for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
        let (_, value) = world
            .env()
            .into_iter()
            .find(|(n, _)| *n == name)
            .expect("set");
        command
            .arg("--env")
            .arg(format!("{name}={}", value.display()));
    }
    if let Some(between) = between {
        command.args(["--between", between]);
    }
    let output = finish(&mut command, b"").expect_code(0);
    let report = output.json();
    assert_eq!(report["exit"], 0, "{output}");
    assert_eq!(
        report["model_errors"].as_array().map(Vec::len),
        Some(0),
        "{output}"
    );
    if between.is_none() {
        assert_eq!(report["expected"], true, "{output}");
    }
}

/// A session of the real agent, run to its end in its own workspace.
struct Played {
    world: World,
    /// The workspace before the session.
    before: Tree,
    /// The timeline, newest first.
    checkpoints: Vec<Value>,
}

impl Played {
    /// Runs a script; `between` is run by sh before every turn but the first, with that turn's number in `TURN`.
    fn script(test: &str, name: &str, between: Option<&str>) -> Option<Self> {
        let agents = agents(test)?;
        let world = before(name);
        let (before, git) = (world.tree(), world.git_digest());
        play(&world, &agents, name, between);
        // S3-002
        assert_eq!(world.git_digest(), git, "the hook has touched .git");

        let log = world.json(["log", "--all"]);
        let checkpoints = log["checkpoints"].as_array().expect("checkpoints").clone();
        Some(Self {
            world,
            before,
            checkpoints,
        })
    }

    /// Nodes of one kind, oldest first.
    fn of_kind(&self, kind: &str) -> Vec<&Value> {
        self.checkpoints
            .iter()
            .rev()
            .filter(|c| c["kind"] == kind)
            .collect()
    }

    /// Values of one field of the nodes of one kind, oldest first.
    fn field(&self, kind: &str, name: &str) -> Vec<&str> {
        self.of_kind(kind)
            .iter()
            .map(|c| c[name].as_str().unwrap_or_default())
            .collect()
    }

    /// Steps that changed something, oldest first: a tool that only reads has none.
    fn steps(&self) -> Vec<Step<'_>> {
        self.of_kind("step").into_iter().map(Step::of).collect()
    }

    fn cat(&self, rev: &str, path: &str) -> String {
        self.world.ok(["cat", rev, path]).stdout
    }

    fn rewind(&self, rev: &str) {
        let git = self.world.git_digest();
        self.world.ok(["rewind", rev, "--yes"]);
        assert_eq!(self.world.git_digest(), git, "rewind has touched .git");
    }

    fn undo(&self) {
        self.world.ok(["undo", "--yes"]);
    }
}

/// One step, with the fields that the tests compare.
#[derive(Debug, PartialEq, Eq)]
struct Step<'a> {
    tool: &'a str,
    turn: String,
    /// `modify src/main.rs`, `rename a -> b`
    changes: Vec<String>,
}

impl<'a> Step<'a> {
    fn of(checkpoint: &'a Value) -> Self {
        let text = |v: &'a Value| v.as_str().unwrap_or_default();
        let changes = checkpoint["changes"].as_array().expect("changes").iter();
        let changes = changes.map(|c| match c["from"].as_str() {
            Some(from) => format!("{} {from} -> {}", text(&c["kind"]), text(&c["path"])),
            None => format!("{} {}", text(&c["kind"]), text(&c["path"])),
        });
        Self {
            tool: text(&checkpoint["tool"]),
            turn: turn(checkpoint),
            changes: changes.collect(),
        }
    }

    fn new(tool: &'a str, turn: &str, changes: &[&str]) -> Self {
        let changes = changes.iter().map(ToString::to_string).collect();
        Self {
            tool,
            turn: turn.to_owned(),
            changes,
        }
    }
}

/// A checkpoint's turn as a user types it: `t2`.
fn turn(checkpoint: &Value) -> String {
    let turn = &checkpoint["turn"];
    turn.as_str()
        .map_or_else(|| format!("t{turn}"), str::to_owned)
}

/// S3-009…013, S3-016…018, S3-033…035, S4-023, U-16, U-22: one turn of edits, with their images before, is rewound and
/// restored.
#[test]
fn a_turn_of_edits_is_recorded_and_rewound() {
    let Some(played) = Played::script("a_turn_of_edits_is_recorded_and_rewound", "edit", None)
    else {
        return;
    };
    assert_eq!(
        played.field("turn", "prompt"),
        ["change one to two and add added.rs"]
    );
    assert_eq!(played.of_kind("turn")[0]["changes"], serde_json::json!([]));
    let expected = [
        Step::new("Edit", "t1", &["modify src/main.rs"]),
        Step::new("Write", "t1", &["create src/added.rs"]),
    ];
    assert_eq!(played.steps(), expected);

    let edit = played.field("step", "id")[0];
    assert_eq!(played.cat("t1", "src/main.rs"), MAIN);
    assert_eq!(played.cat(&format!("{edit}^"), "src/main.rs"), MAIN);
    assert_eq!(played.cat(edit, "src/main.rs"), MAIN_TWO);
    assert_eq!(played.world.run(["cat", edit, "src/added.rs"]).code, 3);

    let after = played.world.tree();
    played.rewind(edit);
    assert_eq!(played.world.read("src/main.rs"), MAIN_TWO);
    assert!(!played.world.exists("src/added.rs"));
    played.rewind("t1");
    assert_same(&played.world.tree(), &played.before);
    played.undo();
    played.undo();
    assert_same(&played.world.tree(), &after);
}

/// S4-016, S4-042, U-23: a session that used only the shell is rewound step by step, with moves and deletions.
#[test]
fn a_session_in_the_shell_is_rewound() {
    let Some(played) = Played::script("a_session_in_the_shell_is_rewound", "shell", None) else {
        return;
    };
    let expected = [
        Step::new("Bash", "t1", &["modify src/main.rs"]),
        Step::new("Bash", "t1", &["rename src/old.rs -> src/moved.rs"]),
        Step::new("Bash", "t1", &["delete notes.txt"]),
        Step::new("Bash", "t1", &["create src/created.rs"]),
    ];
    assert_eq!(played.steps(), expected);

    let after = played.world.tree();
    let ids = played.field("step", "id");
    let there = || {
        let names = ["src/old.rs", "src/moved.rs", "notes.txt", "src/created.rs"];
        names.map(|name| played.world.exists(name))
    };
    for (id, expected) in ids
        .iter()
        .zip([
            [true, false, true, false],
            [false, true, true, false],
            [false, true, false, false],
            [false, true, false, true],
        ])
        .rev()
    {
        played.rewind(id);
        assert_eq!(there(), expected, "after a rewind to {id}");
        assert_eq!(played.world.read("src/main.rs"), MAIN_TWO);
    }
    played.rewind("t1");
    assert_same(&played.world.tree(), &played.before);
    played.world.ok(["rewind", ids[3], "--exact", "--yes"]);
    assert_same(&played.world.tree(), &after);
}

/// S3-009…011, S3-028, U-12: three turns of one session; each rewind keeps the user's edits between them.
#[test]
fn rewinds_between_turns_keep_what_the_user_wrote() {
    let between =
        "case $TURN in 2) echo '// mine' >> src/main.rs;; 3) echo 'my note' >> notes.txt;; esac";
    let test = "rewinds_between_turns_keep_what_the_user_wrote";
    let Some(played) = Played::script(test, "multi_turn", Some(between)) else {
        return;
    };
    let world = &played.world;
    assert_eq!(
        played.field("turn", "prompt"),
        [
            "change one to two",
            "add added.rs and change two to three",
            "delete old.rs"
        ]
    );
    let sessions = played.field("turn", "session");
    assert!(
        sessions.iter().all(|s| *s == sessions[0]),
        "one session: {sessions:?}"
    );
    let expected = [
        Step::new("Edit", "t1", &["modify src/main.rs"]),
        Step::new("Write", "t2", &["create src/added.rs"]),
        Step::new("Bash", "t2", &["modify src/main.rs"]),
        Step::new("Bash", "t3", &["delete src/old.rs"]),
    ];
    assert_eq!(played.steps(), expected);
    let external: Vec<_> = played
        .of_kind("external")
        .into_iter()
        .map(|c| Step::of(c).changes)
        .collect();
    assert_eq!(external, [["modify src/main.rs"], ["modify notes.txt"]]);
    let after = world.tree();

    played.rewind("t3");
    assert!(world.exists("src/old.rs") && world.exists("src/added.rs"));
    assert_eq!(world.read("notes.txt"), "first note\nmy note\n");

    played.rewind("t2");
    assert_eq!(world.read("src/main.rs"), format!("{MAIN_TWO}// mine\n"));
    assert!(world.exists("src/old.rs") && !world.exists("src/added.rs"));
    assert_eq!(world.read("notes.txt"), "first note\nmy note\n");

    played.rewind("t1");
    assert_eq!(world.read("src/main.rs"), format!("{MAIN}// mine\n"));
    assert_eq!(world.read("notes.txt"), "first note\nmy note\n");

    world.ok(["rewind", "t1", "--exact", "--yes"]);
    assert_same(&world.tree(), &played.before);
    for _ in 0..4 {
        played.undo();
    }
    assert_same(&world.tree(), &after);
}

/// U-13: a subagent's edits belong to the turn that started it, also those after the main Stop; its end is not a turn.
#[test]
fn a_subagent_belongs_to_its_turn() {
    let Some(played) = Played::script("a_subagent_belongs_to_its_turn", "subagent", None) else {
        return;
    };
    assert_eq!(
        played.field("turn", "prompt"),
        ["let a subagent change one to two"]
    );
    assert_eq!(
        played.steps(),
        [Step::new("Edit", "t1", &["modify src/main.rs"])]
    );
    played.rewind("t1");
    assert_same(&played.world.tree(), &played.before);
}

/// Two real agents at once, each in its own fork on one history. Nothing crosses over by accident. Work
/// can be taken over: that of a session, or of one turn by reverting its revert.
#[test]
fn two_agents_in_two_forks_stay_apart() {
    let Some(agents) = agents("two_agents_in_two_forks_stay_apart") else {
        return;
    };
    let world = before("edit");
    world.ok(["init"]);
    world.ok(["fork", "@", "tidy", "--into", "../tidy"]);
    let tidy = world.beside("tidy");
    let start = world.tree();
    thread::scope(|scope| {
        scope.spawn(|| play(&world, &agents, "edit", None));
        scope.spawn(|| play(&tidy, &agents, "shell", None));
    });
    let of = |world: &World| -> Vec<Value> {
        let log = world.json(["log"]);
        let all = log["checkpoints"].as_array().expect("checkpoints").clone();
        all.into_iter().filter(|c| c["kind"] == "step").collect()
    };
    let (here, there) = (of(&world), of(&tidy));
    assert!(!here.is_empty() && !there.is_empty());
    for (steps, branch) in [(&here, "main"), (&there, "tidy")] {
        let session = &steps[0]["session"];
        for step in steps {
            assert_eq!(
                (&step["session"], step["branch"].as_str()),
                (session, Some(branch)),
                "{step:#}"
            );
            for change in step["changes"].as_array().expect("changes") {
                let origin = &change["origin"];
                assert_eq!(
                    (&origin["session"], origin["session_certainty"].as_str()),
                    (session, Some("certain")),
                    "{change:#}"
                );
            }
        }
    }
    assert_eq!(world.read("src/main.rs"), MAIN_TWO);
    let edited = world.tree();
    let tidied = tidy.tree();
    assert!(
        !world.json(["diff", "main", "tidy"])["files"]
            .as_array()
            .expect("files")
            .is_empty()
    );

    // a rewind here does not change the other fork
    world.ok(["rewind", "@~1", "--exact"]);
    assert_same(&tidy.tree(), &tidied);
    world.ok(["undo"]);
    assert_same(&world.tree(), &edited);

    // the work of the other session is taken over and reverted
    let session = there[0]["session"].as_str().expect("an id");
    tidy.ok(["revert", there[0]["turn"].as_str().expect("a turn")]);
    assert_same(&tidy.tree(), &start);
    let reverted = tidy.json(["log", "-n", "1"])["checkpoints"][0]["id"].clone();
    let plan = world.run(["--json", "revert", reverted.as_str().expect("an id")]);
    let (by_revert, answer) = (plan.code, plan.json());
    if by_revert == 0 {
        world.ok(["undo"]);
    } else {
        assert_eq!(answer["error"]["kind"], "conflict", "{answer:#}");
    }
    assert_same(&world.tree(), &edited);
    world.ok(["rewind", here[0]["turn"].as_str().expect("a turn")]);
    world.ok([
        "rewind",
        &format!("{}^", reverted.as_str().expect("an id")),
        "--session",
        session,
    ]);
    assert_same(&world.tree(), &tidied);
    for place in [&world, &tidy] {
        place.ok(["verify"]);
    }
}
