//! Interrupts of real agents at random moments of a command: by Ctrl-C, by the end of the terminal or of the process, and by
//! Escape. The turn's work is the turn's, and a rewind brings the tree before it.
//!
//! `BACKSTITCH_INTERRUPTS` is the number of moments for each agent; 2, in a long run 50.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Session, real};
use crate::real_claude::agents;
use crate::support::rng::{Rng, cases};
use crate::support::tree::{Tree, difference};
use crate::support::{World, finish};

/// Moments for each agent in an ordinary run, and in a long one.
const MOMENTS: [u64; 2] = [2, 50];
const SIGNALS: [&str; 4] = ["SIGINT", "SIGTERM", "SIGKILL", "SIGHUP"];
/// Milliseconds that the command writes for.
const LENGTH: usize = 1500;

/// A command that changes, makes and removes files all the time, and says when it begins.
fn command(began: &Path) -> String {
    // some agents refuse a command with a substitution, and one that names a path outside of the workspace
    let numbers: Vec<String> = (1..=50).map(|number| number.to_string()).collect();
    format!(
        "touch {}; rm src/old.rs; for i in {}; do echo $i >> notes.txt; echo $i > src/new$i.rs; sleep 0.03; done",
        began.display(),
        numbers.join(" ")
    )
}

fn step(agent: &str, command: &str) -> Value {
    let (tool, args) = match agent {
        "codex" => (
            "exec_command",
            json!({ "cmd": command, "yield_time_ms": 10_000 }),
        ),
        "gemini" => (
            "run_shell_command",
            json!({ "command": command, "description": "go" }),
        ),
        "opencode" => ("bash", json!({ "command": command, "description": "go" })),
        _ => ("Bash", json!({ "command": command, "description": "go" })),
    };
    json!([{ "tool": tool, "args": args }, { "text": "done" }])
}

/// The workspace before the turn, and what was interrupted when.
struct Interrupted<'a> {
    world: &'a World,
    before: Tree,
    about: String,
}

impl Interrupted<'_> {
    /// The turn has all changes for certain, the agent does not count as working, and a rewind without options undoes all.
    fn check(&self) {
        let (world, about) = (self.world, &self.about);
        let status = world.json(["status"]);
        assert_eq!(status["open_calls"], 0, "{about}: {status:#}");
        let changed = world.tree() != self.before;
        let rewound = world.run(["rewind", "t1", "--yes"]);
        let log = world.json(["log", "--all"]);
        assert_eq!(rewound.code, 0, "{about}: {rewound}\n{log:#}");
        assert!(
            !changed || !rewound.stdout.contains("Nothing to do"),
            "{about}: {rewound}"
        );
        let after = world.tree();
        assert!(
            after == self.before,
            "{about}: {}\n{log:#}",
            difference(&self.before, &after)
        );
    }
}

fn interrupt_at_random_moments(agent: &'static str) {
    let [ordinary, long] = MOMENTS;
    for seed in 0..cases("BACKSTITCH_INTERRUPTS", ordinary, long) {
        let mut random = Rng::new(seed ^ (agent.bytes().map(u64::from).sum::<u64>() << 8));
        let Some(session) = session(agent) else {
            return;
        };
        let signal = SIGNALS[random.below(SIGNALS.len())];
        let millis = random.below(LENGTH);
        let moment = format!("{}.{:03}", millis / 1000, millis % 1000);
        let world = &session.world;
        let before = world.tree();
        let began = world.path(".git/began");
        let report = session.interrupt(&step(agent, &command(&began)), &began, (signal, &moment));
        let about = format!("{agent}, seed {seed}: {signal} after {moment} s: {report}");
        Interrupted {
            world,
            before,
            about,
        }
        .check();
    }
}

fn session(agent: &'static str) -> Option<Session> {
    if agent != "claude" {
        return Session::new("interrupts", real(agent));
    }
    let agents = agents("interrupts")?;
    let world = World::committed(&[
        ("notes.txt", "first note\n"),
        ("src/old.rs", "pub fn old() {}\n"),
    ]);
    world.ok(["setup", "claude-code", "--scope", "user"]);
    Some(Session::of(world, agents, "claude"))
}

impl Session {
    /// Runs one turn, and interrupts it some seconds after a file has come.
    fn interrupt(&self, part: &Value, began: &Path, (signal, moment): (&str, &str)) -> Value {
        self.interrupt_and(part, began, (signal, moment), None)
    }

    fn interrupt_and(
        &self,
        part: &Value,
        began: &Path,
        (signal, moment): (&str, &str),
        meanwhile: Option<&str>,
    ) -> Value {
        let script = self.world.home.join("script.json");
        let whole = json!({ "prompts": ["go on"], self.name: part });
        fs::write(&script, whole.to_string()).expect("written");
        let mut command = self.command(&script, &self.world.home);
        command.args(["--interrupt", signal, "--moment", moment]);
        command.arg("--began").arg(began);
        if let Some(meanwhile) = meanwhile {
            command.args(["--meanwhile", meanwhile]);
        }
        let output = finish(&mut command, b"").expect_code(0);
        output.json()
    }
}

#[test]
fn claude_code_is_interrupted_at_random_moments() {
    interrupt_at_random_moments("claude");
}

#[test]
fn codex_is_interrupted_at_random_moments() {
    interrupt_at_random_moments("codex");
}

#[test]
fn opencode_is_interrupted_at_random_moments() {
    interrupt_at_random_moments("opencode");
}

#[test]
fn gemini_is_interrupted_at_random_moments() {
    interrupt_at_random_moments("gemini");
}

/// Escape on a terminal: Claude Code is paused and reports nothing. The rewind at once undoes the turn, the agent does not
/// count as working, and an edit of the user some time later stays theirs.
#[test]
fn escape_in_claude_code_ends_the_turns_work() {
    let Some(session) = session("claude") else {
        return;
    };
    let world = &session.world;
    let before = world.tree();
    let began = world.path(".git/began");
    let backstitch = world
        .backstitch()
        .get_program()
        .to_string_lossy()
        .into_owned();
    let seen = world.home.join("status.json");
    let meanwhile = format!(
        "{backstitch} status --json > {}; {backstitch} rewind --yes",
        seen.display()
    );
    let part = step("claude", &command(&began));
    let report = session.interrupt_and(&part, &began, ("ESC", "0.3"), Some(&meanwhile));
    let status: Value =
        serde_json::from_str(&fs::read_to_string(&seen).expect("a status")).expect("JSON");
    assert_eq!(status["open_calls"], 0, "{report:#}");
    let log = world.json(["log", "--all"]);
    let after = world.tree();
    assert!(
        after == before,
        "{report:#}: {}\n{log:#}",
        difference(&before, &after)
    );
}
