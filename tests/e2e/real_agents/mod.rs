//! The real Codex, Copilot CLI, Gemini CLI, opencode and Qwen Code, offline against a scripted model, with the hooks that `backstitch setup` writes:
//! turns, steps and names in the history, the user's edits in between, and held calls as far as each agent takes decisions.
//!
//! Where one is not installed, a test says so and passes; with `CI=true` it fails.

mod aider;
mod code_mode;
mod interrupts;
mod opencode;
mod side_by_side;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use backstitch_agents::{AGENTS, Agent};
use serde_json::{Value, json};

use crate::control::Watcher;
use crate::real_claude::rig;
use crate::support::{World, finish, skip};

const ONE: &str = "fn main() {\n    println!(\"one\");\n}\n";

/// An agent, and its tools for edits and for the shell.
pub struct Real {
    name: &'static str,
    edit: &'static str,
    write: &'static str,
    shell: &'static str,
    /// True if it asks for no id of a call, and tells none.
    takes_input: bool,
}

const ALL: [Real; 6] = [
    Real {
        name: "codex",
        edit: "apply_patch",
        write: "apply_patch",
        shell: "Bash",
        takes_input: true,
    },
    Real {
        name: "copilot",
        edit: "Edit",
        write: "Write",
        shell: "Bash",
        takes_input: true,
    },
    Real {
        name: "gemini",
        edit: "replace",
        write: "write_file",
        shell: "run_shell_command",
        takes_input: true,
    },
    Real {
        name: "opencode",
        edit: "edit",
        write: "write",
        shell: "bash",
        takes_input: true,
    },
    Real {
        name: "qwen",
        edit: "edit",
        write: "write_file",
        shell: "run_shell_command",
        takes_input: false,
    },
    Real {
        name: "cline",
        edit: "editor",
        write: "editor",
        shell: "run_commands",
        takes_input: true,
    },
];

pub fn real(name: &str) -> &'static Real {
    let found = ALL.iter().find(|agent| agent.name == name);
    found.expect("a row")
}

/// The tests of each agent.
mod each {
    macro_rules! each {
        ($($agent:ident),*) => {
            $(mod $agent {
                use super::super as all;

                #[test]
                fn three_turns() {
                    all::three_turns_are_recorded_and_rewound(all::real(stringify!($agent)));
                }

                #[test]
                fn held_calls() {
                    all::calls_are_held(all::real(stringify!($agent)));
                }

                #[test]
                fn breakpoints() {
                    all::breakpoints_hold_each_kind(all::real(stringify!($agent)));
                }

                #[test]
                fn subagent() {
                    all::a_subagent_belongs_to_its_turn(all::real(stringify!($agent)));
                }

                #[test]
                fn guarded() {
                    all::agents_do_not_decide_on_their_own_calls(all::real(stringify!($agent)));
                }
            })*
        };
    }
    each!(codex, copilot, gemini, opencode, qwen, cline);
}

/// Directory of the installed agents.
pub fn agents(test: &str, name: &str) -> Option<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("BACKSTITCH_TEST_AGENTS")
        .map_or_else(|| tests.join(".cache/agents"), PathBuf::from);
    if folder.join("bin").join(name).exists() {
        return Some(folder);
    }
    let reason = format!("{name} is not installed (tests/agents/install.sh)");
    skip(&format!("real_agents::{test} with {name}"), &reason);
    None
}

/// A workspace as a script expects it, with the agent's hooks set up.
pub struct Session {
    pub world: World,
    agents: PathBuf,
    name: &'static str,
    /// The model that the agent is told to use, if not its usual one.
    model: Option<&'static str>,
}

impl Session {
    pub fn new(test: &str, agent: &Real) -> Option<Self> {
        let agents = agents(test, agent.name)?;
        let script = rig().join("scripts/multi_turn.json");
        let content: Value =
            serde_json::from_str(&fs::read_to_string(script).expect("a script")).expect("JSON");
        let files = content["workspace"].as_object().expect("files").iter();
        let files: Vec<_> = files
            .map(|(path, text)| (path.as_str(), text.as_str().expect("text")))
            .collect();
        let world = World::committed(&files);
        let mut setup = world.backstitch();
        setup.args(["setup", agent.name, "--scope", "user"]);
        // it asks Codex itself for its trust
        let path = std::env::var("PATH").expect("a path");
        let path = format!("{}:{path}", agents.join("bin").display());
        setup.env("PATH", path).env("FAKE_KEY", "dummy");
        if agent.name == "codex" {
            setup.arg("--trust");
        }
        finish(&mut setup, b"").expect_code(0);
        Some(Self {
            world,
            agents,
            name: agent.name,
            model: None,
        })
    }

    pub fn of(world: World, agents: PathBuf, name: &'static str) -> Self {
        Self {
            world,
            agents,
            name,
            model: None,
        }
    }

    /// Runs a script with the real agent to its end. `part`: of a script that is made here.
    pub fn play(&self, part: Option<Value>, between: Option<&str>) -> Value {
        let report = match part {
            Some(part) => self.play_part(&part, between),
            None => self.play_file(&rig().join("scripts/multi_turn.json"), between),
        };
        assert_eq!(report["exit"], 0, "{report:#}");
        report
    }

    pub fn play_part(&self, part: &Value, between: Option<&str>) -> Value {
        let path = self.world.home.join("script.json");
        let whole = json!({ "prompts": ["go on"], "workspace": {}, "expect": {}, self.name: part });
        fs::write(&path, whole.to_string()).expect("written");
        self.play_file(&path, between)
    }

    /// The same with a script of the rig.
    fn play_script(&self, name: &str) -> Value {
        let report = self.play_file(&rig().join(format!("scripts/{name}.json")), None);
        assert_eq!(report["exit"], 0, "{report:#}");
        report
    }

    fn play_file(&self, script: &Path, between: Option<&str>) -> Value {
        let mut command = self.command(script, &self.world.home);
        if let Some(between) = between {
            command.args(["--between", between]);
        }
        let output = finish(&mut command, b"").expect_code(0);
        let report = output.json();
        assert_eq!(report["model_errors"], json!([]), "{output}");
        report
    }

    /// The command that runs a script with this home.
    fn command(&self, script: &Path, home: &Path) -> Command {
        self.command_of(self.name, script, home)
    }

    /// The same with another agent.
    fn command_of(&self, name: &str, script: &Path, home: &Path) -> Command {
        let world = &self.world;
        let mut command = world.command("python3");
        command.arg(rig().join("run_agent.py")).arg(name);
        for (option, value) in [
            ("--dest", self.agents.as_path()),
            ("--script", script),
            ("--workspace", &world.root),
            ("--home", home),
        ] {
            command.arg(option).arg(value);
        }
        for (name, value) in world.env() {
            if ["XDG_STATE_HOME", "XDG_CONFIG_HOME"].contains(&name) {
                command
                    .arg("--env")
                    .arg(format!("{name}={}", value.display()));
            }
        }
        if let Some(model) = self.model.filter(|_| name == self.name) {
            command.args(["--model", model]);
        }
        command
    }
}

/// Tool of a step and its first path, oldest first; of a turn its prompt.
fn told(world: &World) -> Vec<(String, String)> {
    let log = world.json(["log", "--all"]);
    let all = log["checkpoints"].as_array().expect("checkpoints").iter();
    // the newest comes first
    let all = all.rev();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.filter(|one| ["turn", "step"].contains(&one["kind"].as_str().unwrap_or_default()))
        .map(|one| match one["tool"].as_str() {
            Some(tool) => (tool.to_owned(), text(&one["changes"][0]["path"])),
            None => (text(&one["prompt"]), text(&one["agent"])),
        })
        .collect()
}

/// Three turns with an edit of the user in between: each turn, step and name is right, blame tells the user's lines from the
/// agent's, and a rewind takes the turn out and keeps the user's edit.
fn three_turns_are_recorded_and_rewound(agent: &Real) {
    let test = "three_turns_are_recorded_and_rewound";
    let Some(session) = Session::new(test, agent) else {
        return;
    };
    let world = &session.world;
    session.play(None, Some("[ $TURN = 3 ] && echo mine >> notes.txt; true"));
    let text = |text: &str| text.to_owned();
    let expected = [
        (text("change one to two"), text(agent.name)),
        (text(agent.edit), text("src/main.rs")),
        (
            text("add added.rs and change two to three"),
            text(agent.name),
        ),
        (text(agent.write), text("src/added.rs")),
        (text(agent.shell), text("src/main.rs")),
        (text("delete old.rs"), text(agent.name)),
    ];
    let told = told(world);
    assert_eq!(told[..6], expected, "{}", agent.name);
    assert_eq!(told[6].1, "src/old.rs", "{}: {told:?}", agent.name);
    let blame = world.json(["blame", "notes.txt"]);
    assert_eq!(blame["lines"][1]["by"], "user", "{blame:#}");
    let blame = world.json(["blame", "src/main.rs"]);
    assert_eq!(blame["lines"][1]["by"], "agent", "{blame:#}");
    let rewound = world.ok(["rewind", "t2", "--yes"]);
    assert!(!rewound.stderr.contains("has not ended"), "{rewound}");
    assert_eq!(world.read("src/main.rs"), ONE.replace("one", "two"));
    assert!(!world.exists("src/added.rs") && world.exists("src/old.rs"));
    assert_eq!(
        world.read("notes.txt"),
        "first note\nmine\n",
        "{}",
        agent.name
    );
    world.ok(["verify"]);
}

/// Rows of the history. `of`: a table, with conditions.
fn count(world: &World, of: &str) -> i64 {
    let store = rusqlite::Connection::open(world.store().join("store.db")).expect("the store");
    let sql = format!("SELECT COUNT(*) FROM {of}");
    store
        .query_row(&sql, [], |row| row.get(0))
        .expect("a count")
}

/// A subagent's edit is a step of the turn that began it, certainly; its task is not a prompt, and its session none of its own.
fn a_subagent_belongs_to_its_turn(agent: &Real) {
    let test = "a_subagent_belongs_to_its_turn";
    let Some(session) = Session::new(test, agent) else {
        return;
    };
    let world = &session.world;
    let config = world.home.join(".codex/config.toml");
    if agent.name == "codex" {
        let before = fs::read_to_string(&config).unwrap_or_default();
        let with = format!("{before}\n[features]\nmulti_agent_v2 = true\n");
        fs::write(&config, with).expect("written");
    }
    let name = agent.name;
    session.play_script("subagent");
    let log = world.json(["log", "--all"]);
    let all = log["checkpoints"].as_array().expect("checkpoints").iter();
    let kinds: Vec<_> = all
        .map(|one| (one["kind"].clone(), one["turn"].clone()))
        .collect();
    let (turn, step) = ((json!("turn"), json!("t1")), (json!("step"), json!("t1")));
    assert!(
        kinds.contains(&turn) && kinds.contains(&step),
        "{name}: {log:#}"
    );
    let turns = kinds.iter().filter(|(kind, _)| kind == "turn").count();
    assert_eq!((turns, count(world, "session")), (1, 1), "{name}: {log:#}");
    // Gemini does not tell its threads apart
    let edit = format!("call WHERE tool = '{}' AND subagent <> ''", agent.edit);
    assert_eq!(count(world, &edit), i64::from(name != "gemini"), "{name}");
    let blame = world.json(["blame", "src/main.rs"]);
    let line = &blame["lines"][1];
    assert_eq!(
        (&line["by"], &line["turn"]),
        (&json!("agent"), &json!("t1")),
        "{name}: {blame:#}"
    );
    world.ok(["rewind", "t1", "--yes"]);
    assert!(world.read("src/main.rs").contains("\"one\""), "{name}");
}

fn shell(agent: &Real, command: &str) -> Value {
    let args = match agent.name {
        "codex" => json!({"cmd": command}),
        "qwen" => json!({"command": command, "description": "run it", "is_background": false}),
        "cline" => json!({"commands": [command]}),
        _ => json!({"command": command, "description": "run it"}),
    };
    let tool = match agent.name {
        "codex" => "exec_command",
        "copilot" => "bash",
        _ => agent.shell,
    };
    json!([{ "tool": tool, "args": args }, { "text": "done" }])
}

/// A held call of each is denied, with the reason in its model's next request; one is changed where the agent takes that, and
/// refused by name where it does not.
fn calls_are_held(agent: &Real) {
    let Some(session) = Session::new("calls_are_held", agent) else {
        return;
    };
    let world = &session.world;
    world.ok(["breakpoint", "add", "command", "theirs"]);
    let part = shell(agent, "echo theirs > out.txt");
    let report = thread::scope(|scope| {
        let mut watcher = Watcher::start(world);
        let playing = scope.spawn(|| session.play_part(&part, None));
        watcher.until("held");
        assert!(!world.exists("out.txt"));
        world.ok(["deny", "-m", "leave this file alone"]);
        playing.join().expect("it ends")
    });
    assert!(!world.exists("out.txt"), "{}", agent.name);
    // a denial ends the run of Cline, so that its model is not asked again
    let (log, text) = match agent.name {
        "cline" => ("stdout", "run_aborted"),
        _ => ("requests.jsonl", "leave this file alone"),
    };
    let log = report["logs"][log].as_str().expect("a log");
    let told = fs::read_to_string(log).expect("a log");
    assert!(told.contains(text), "{}: {told}", agent.name);

    thread::scope(|scope| {
        let mut watcher = Watcher::start(world);
        let playing = scope.spawn(|| session.play(Some(part), None));
        let pause = watcher.until("held");
        let held = world.json(["inspect"])["pause"].clone();
        let mut input = held["input"].clone();
        if agent.name == "cline" {
            input["commands"] = json!(["echo mine > out.txt"]);
        } else {
            input["command"] = json!("echo mine > out.txt");
        }
        world.write("../input.json", input.to_string());
        let changed = world.run(["resume", "--input", "../input.json"]);
        if agent.takes_input {
            changed.expect_code(0);
        } else {
            let changed = changed.expect_code(1);
            assert!(changed.stderr.contains("qwen"), "{changed}");
            assert!(!pause["can"].to_string().contains("change"), "{pause:#}");
            world.ok(["resume"]);
        }
        playing.join().expect("it ends");
    });
    let text = if agent.takes_input {
        "mine\n"
    } else {
        "theirs\n"
    };
    assert_eq!(world.read("out.txt"), text, "{}", agent.name);
}

/// One turn with an edit, a new file and two commands, by the agent's own tools.
fn work(agent: &Real) -> Value {
    let main = "{{workspace}}/src/main.rs";
    let added = "{{workspace}}/src/added.rs";
    let (old, new, text) = ("\"one\"", "\"two\"", "pub fn added() {}\n");
    let patch = |body: &str| json!({"tool": "apply_patch", "freeform": format!("*** Begin Patch\n{body}*** End Patch\n")});
    let edits = match agent.name {
        "codex" => vec![
            patch(
                "*** Update File: src/main.rs\n@@\n-    println!(\"one\");\n+    println!(\"two\");\n",
            ),
            patch("*** Add File: src/added.rs\n+pub fn added() {}\n"),
        ],
        "copilot" => vec![
            json!({"tool": "view", "args": {"path": main}}),
            json!({"tool": "edit", "args": {"path": main, "old_str": old, "new_str": new}}),
            json!({"tool": "create", "args": {"path": added, "file_text": text}}),
        ],
        "opencode" => vec![
            json!({"tool": "read", "args": {"filePath": main}}),
            json!({"tool": "edit", "args": {"filePath": main, "oldString": old, "newString": new}}),
            json!({"tool": "write", "args": {"filePath": added, "content": text}}),
        ],
        "cline" => vec![
            json!({"tool": "editor", "args": {"path": main, "old_text": old, "new_text": new}}),
            json!({"tool": "editor", "args": {"path": added, "new_text": text}}),
        ],
        name => vec![
            json!({"tool": "read_file", "args": {"file_path": main}}),
            json!({"tool": if name == "gemini" { "replace" } else { "edit" }, "args": {
                "file_path": main, "old_string": old, "new_string": new, "instruction": "change the text"}}),
            json!({"tool": "write_file", "args": {"file_path": added, "content": text}}),
        ],
    };
    let commands = ["echo first > first.txt", "echo late > late.txt"];
    let commands = commands.map(|command| shell(agent, command)[0].clone());
    let end = [json!({"text": "done"})];
    edits.into_iter().chain(commands).chain(end).collect()
}

/// Breakpoints at a path, a tool and a command each hold the call of a real agent before a file changes; an edit is changed where
/// the agent takes that; a hold that nobody answers ends as it is configured, and the model is informed.
fn breakpoints_hold_each_kind(agent: &Real) {
    let Some(session) = Session::new("breakpoints_hold_each_kind", agent) else {
        return;
    };
    let (world, name) = (&session.world, agent.name);
    world.ok(["breakpoint", "add", "path", "src/main.rs"]);
    world.ok(["breakpoint", "add", "command", "echo"]);
    world.ok(["breakpoint", "add", "tool", agent.write]);
    let report = thread::scope(|scope| {
        let mut watcher = Watcher::start(world);
        let playing = scope.spawn(|| session.play_part(&work(agent), None));
        // reading the file may be held, too
        let mut pause = watcher.until("held");
        while pause["tool"] != agent.edit {
            world.ok(["resume"]);
            pause = watcher.until("held");
        }
        assert!(world.read("src/main.rs").contains("\"one\""), "{name}");
        if agent.takes_input {
            let input = world.json(["inspect"])["pause"]["input"].clone();
            world.write("../input.json", input.to_string().replace("two", "deux"));
            world.ok(["resume", "--input", "../input.json"]);
        } else {
            world.ok(["resume"]);
        }
        let pause = watcher.until("held");
        assert_eq!(pause["tool"], agent.write, "{pause:#}");
        assert!(!world.exists("src/added.rs"), "{name}");
        world.ok(["resume"]);
        let pause = watcher.until("held");
        assert!(
            pause["summary"].to_string().contains("first"),
            "{name}: {pause:#}"
        );
        assert!(!world.exists("first.txt"), "{name}");
        world.configure("[pause]\ntimeout = 1\n");
        world.ok(["resume"]);
        // nobody answers this one
        watcher.until("held");
        playing.join().expect("it ends")
    });
    let last = world.json(["pauses", "--all"])["pauses"].clone();
    let last = last
        .as_array()
        .and_then(|all| all.last())
        .expect("a pause")
        .clone();
    // the end of the session may have ended it since
    let state = last["state"].as_str().expect("a state");
    assert!(["parked", "expired"].contains(&state), "{name}: {last:#}");
    let wanted = if agent.takes_input { "deux" } else { "two" };
    assert!(world.read("src/main.rs").contains(wanted), "{name}");
    assert!(
        world.exists("src/added.rs") && world.exists("first.txt"),
        "{name}"
    );
    assert!(!world.exists("late.txt"), "{name}");
    if name != "cline" {
        let log = report["logs"]["requests.jsonl"].as_str().expect("a log");
        let told = fs::read_to_string(log).expect("the model's log");
        assert!(told.contains("try the same call again"), "{name}");
    }
}

/// Without trust Codex skips the hooks without a word: setup and doctor say so, nothing is trusted unasked, and what the user
/// says is stored in the agent's own way.
#[test]
fn codex_is_trusted_when_its_user_says_so() {
    let test = "codex_is_trusted_when_its_user_says_so";
    let Some(agents) = agents(test, "codex") else {
        return;
    };
    let world = World::committed(&[("a.txt", "a\n")]);
    let run = |args: &[&str]| {
        let path = std::env::var("PATH").expect("a path");
        let path = format!("{}:{path}", agents.join("bin").display());
        let mut command = world.backstitch();
        command.args(args).env("PATH", path);
        finish(&mut command, b"")
    };
    let set_up = run(&["setup", "codex"]).expect_code(0);
    assert!(
        set_up.stderr.contains("nothing it does is recorded"),
        "{set_up}"
    );
    assert!(!set_up.stdout.contains("are recorded;"), "{set_up}");
    // nothing is asked on a pipe, and a document says nothing of trust
    let status = run(&["setup", "--status"]);
    assert!(
        status.stdout.contains("codex: recording is off"),
        "{status}"
    );
    let again = run(&["setup", "codex", "--json"]).expect_code(0);
    assert!(again.stderr.contains("skips the hooks"), "{again}");
    let examined = run(&["doctor"]);
    assert!(
        examined.stdout.contains("codex: it skips 9 hooks"),
        "{examined}"
    );
    let trusted = run(&["setup", "codex", "--trust"]).expect_code(0);
    assert!(
        trusted.stdout.contains("codex trusts 9 hooks."),
        "{trusted}"
    );
    let examined = run(&["doctor"]);
    assert!(
        examined.stdout.contains("codex: its user trusts the hooks"),
        "{examined}"
    );
    let strict = run(&["setup", "codex", "--strict"]).expect_code(2);
    assert!(
        strict.stderr.contains("--strict cannot change that"),
        "{strict}"
    );
    run(&["setup", "codex", "--uninstall"]).expect_code(0);
    assert!(!world.home.join(".codex/hooks.json").exists());
    // its trust is gone with them
    let config = fs::read_to_string(world.home.join(".codex/config.toml")).unwrap_or_default();
    assert!(!config.contains("hooks.state"), "{config}");
    let anew = run(&["setup", "codex"]).expect_code(0);
    assert!(
        anew.stderr.contains("nothing it does is recorded"),
        "{anew}"
    );
}

/// Codex loads the hooks of a project only once the project is trusted: nothing says that they are.
#[test]
fn codex_loads_no_hooks_of_an_untrusted_project() {
    let test = "codex_loads_no_hooks_of_an_untrusted_project";
    let Some(agents) = agents(test, "codex") else {
        return;
    };
    let world = World::committed(&[("a.txt", "a\n")]);
    let run = |args: &[&str], with_codex: bool| {
        let path = std::env::var("PATH").expect("a path");
        let path = format!("{}:{path}", agents.join("bin").display());
        let mut command = world.backstitch();
        command.args(args);
        if with_codex {
            command.env("PATH", path);
        }
        finish(&mut command, b"")
    };
    let set_up = run(&["setup", "codex", "--scope", "project", "--trust"], true).expect_code(1);
    assert!(
        set_up.stderr.contains("until you trust the project"),
        "{set_up}"
    );
    assert!(!set_up.stdout.contains("are recorded;"), "{set_up}");
    let examined = run(&["doctor"], true);
    assert!(
        examined.stdout.contains("codex: it skips 9 hooks"),
        "{examined}"
    );
    let status = run(&["setup", "--status"], true);
    assert!(
        status.stdout.contains("codex: recording is off"),
        "{status}"
    );
    // without the program nobody can ask
    let unknown = run(&["setup", "codex", "--scope", "project", "--trust"], false).expect_code(1);
    assert!(
        unknown.stderr.contains("codex is not on the search path"),
        "{unknown}"
    );
}

/// Trouble with one agent does not keep the others from being set up.
#[test]
fn setup_goes_on_after_trouble() {
    let world = World::committed(&[("a.txt", "a\n")]);
    for folder in [".claude", ".cline/hooks", ".cursor"] {
        fs::create_dir_all(world.home.join(folder)).expect("made");
    }
    fs::write(
        world.home.join(".cline/hooks/TaskComplete.bash"),
        "theirs\n",
    )
    .expect("written");
    let set_up = world.run(["setup"]).expect_code(1);
    assert!(set_up.stderr.contains("cline was left out"), "{set_up}");
    for file in [".claude/settings.json", ".cursor/hooks.json"] {
        assert!(world.home.join(file).exists(), "{file}: {set_up}");
    }
    assert!(set_up.stdout.contains("cursor"), "{set_up}");
    let told = world.run(["setup", "--json"]).expect_code(1);
    assert_eq!(told.json()["failed"][0]["agent"], "cline", "{told}");
}

/// `BACKSTITCH_HOOK=off` ends each hook at once: nothing is recorded, held or said.
#[test]
fn hooks_are_switched_off() {
    let world = World::committed(&[("a.txt", "a\n")]);
    world.ok(["breakpoint", "add", "tool", "*"]);
    for agent in [
        "claude-code",
        "codex",
        "copilot",
        "gemini",
        "opencode",
        "qwen",
    ] {
        let mut hook = world.backstitch();
        hook.args(["hook", agent]).env("BACKSTITCH_HOOK", "off");
        let name = match agent {
            "gemini" => "BeforeTool",
            "opencode" => "tool.execute.before",
            _ => "PreToolUse",
        };
        let payload = json!({
            "session_id": "s", "hook_event_name": name, "hookName": "tool_call", "taskId": "s", "cwd": world.root, "tool_name": "Bash", "tool_use_id": "c1",
            "tool_input": {"command": "true"},
        });
        let output = finish(&mut hook, payload.to_string().as_bytes()).expect_code(0);
        assert_eq!(
            (output.stdout.as_str(), output.stderr.as_str()),
            ("", ""),
            "{agent}"
        );
    }
    assert_eq!(world.json(["pauses", "--all"])["pauses"], json!([]));
}

/// True if the hooks of an agent are in a settings file, which the user may have already.
fn has_settings_file(agent: &dyn Agent) -> bool {
    let file = Path::new(agent.spec().places.user_settings);
    file.extension().is_some_and(|form| form == "json")
}

/// Setup keeps what is in an agent's file, is the same when it is run twice, and is undone byte for byte; a file that it made
/// is removed.
#[test]
fn setup_is_undone_byte_for_byte() {
    for agent in AGENTS.iter().filter(|agent| has_settings_file(**agent)) {
        let (agent, places) = (agent.name(), &agent.spec().places);
        let world = World::committed(&[("a.txt", "a\n")]);
        let path = world.home.join(places.user_dir).join(places.user_settings);
        let printed = world.ok(["setup", agent, "--print"]);
        assert!(
            !path.exists() && printed.stdout.contains("hook"),
            "{printed}"
        );
        world.ok(["setup", agent]);
        let once = fs::read_to_string(&path).expect("written");
        assert_eq!(printed.stdout.trim_end(), once.trim_end(), "{agent}");
        let again = world.ok(["setup", agent]);
        assert!(again.stdout.contains("already set up"), "{again}");
        assert_eq!(fs::read_to_string(&path).expect("there"), once);
        world.ok(["setup", agent, "--uninstall"]);
        assert!(!path.exists(), "{agent}");
        // and not by an empty directory is it found
        assert!(!path.parent().expect("a folder").exists(), "{agent}");

        for theirs in [
            "{\"version\":1,\"hooks\":{}}",
            "{ \"hooks\": {\"stop\":[]}, \"x\": 1}",
        ] {
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, theirs).expect("written");
            world.ok(["setup", agent]);
            world.ok(["setup", agent, "--uninstall"]);
            assert_eq!(fs::read_to_string(&path).expect("there"), theirs, "{agent}");
        }
        let theirs = "{\n   \"mine\": [1,2],  \"hooks\": { \"Own\": [ {\"x\": 1} ] }\n}\n";
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, theirs).expect("written");
        world.ok(["setup", agent]);
        let both: Value =
            serde_json::from_str(&fs::read_to_string(&path).expect("there")).expect("JSON");
        assert_eq!(both["hooks"]["Own"], json!([{ "x": 1 }]), "{agent}");
        assert!(both.to_string().contains(&format!("hook {agent}")));
        world.ok(["setup", agent, "--uninstall"]);
        assert_eq!(fs::read_to_string(&path).expect("there"), theirs, "{agent}");
    }
}

/// Uninstall leaves nothing that setup made, and never removes the home directory, even if it is empty then.
#[test]
fn an_empty_home_stays() {
    let world = World::committed(&[("a.txt", "a\n")]);
    for agent in AGENTS.iter().map(|agent| agent.name()) {
        let home = world.home.join(format!("bare-{agent}"));
        fs::create_dir(&home).expect("made");
        for args in [&["setup", agent][..], &["setup", agent, "--uninstall"]] {
            let mut command = world.backstitch();
            command.args(args).env("HOME", &home);
            finish(&mut command, b"").expect_code(0);
        }
        assert_eq!(
            fs::read_dir(&home).expect("a directory").count(),
            0,
            "{agent}"
        );
    }
}

/// The files that are Backstitch's own: written, brought up to date, removed; a file of the user with the same name stays.
#[test]
fn setup_keeps_its_own_files() {
    let with_own = AGENTS.iter().filter(|agent| !has_settings_file(**agent));
    let with_own: Vec<&str> = with_own.map(|agent| agent.name()).collect();
    assert_eq!(with_own, ["opencode", "cline"]);
    for agent in with_own {
        let world = World::committed(&[("a.txt", "a\n")]);
        let config = world.env().into_iter();
        let mut config = config.filter(|(name, _)| *name == "XDG_CONFIG_HOME");
        let config = PathBuf::from(config.next().expect("a folder").1);
        let path = match agent {
            "opencode" => config.join("opencode/plugins/backstitch.js"),
            _ => world.home.join(".cline/hooks/PreToolUse.bash"),
        };
        let printed = world.ok(["setup", agent, "--print"]);
        assert!(!path.exists(), "{agent}");
        world.ok(["setup", agent]);
        let once = fs::read_to_string(&path).expect("written");
        assert!(printed.stdout.contains(once.trim_end()), "{printed}");
        let again = world.ok(["setup", agent]);
        assert!(again.stdout.contains("already set up"), "{again}");
        let examined = world.run(["doctor"]);
        let fires = format!("{agent}: its hook in");
        assert!(examined.stdout.contains(&fires), "{examined}");

        fs::write(&path, format!("{once}\n// older\n")).expect("written");
        let examined = world.run(["doctor"]);
        assert!(
            examined.stdout.contains("another version of Backstitch"),
            "{examined}"
        );
        world.ok(["setup", agent]);
        assert_eq!(fs::read_to_string(&path).expect("there"), once);

        world.ok(["setup", agent, "--uninstall"]);
        assert!(!path.exists(), "{agent}");
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        // one that speaks of ours is the user's all the same
        for theirs in [
            "theirs\n",
            "#!/bin/sh\nmine # Backstitch for Cline // Backstitch for opencode\n",
        ] {
            fs::write(&path, theirs).expect("written");
            let refused = world.run(["setup", agent]).expect_code(1);
            assert!(
                refused.stderr.contains("not a file of Backstitch"),
                "{refused}"
            );
            world.ok(["setup", agent, "--uninstall"]);
            assert_eq!(fs::read_to_string(&path).expect("there"), theirs);
        }
    }
}

/// No agent frees itself by accident: deciding commands are refused in its own shell, and those that only look are not.
fn agents_do_not_decide_on_their_own_calls(agent: &Real) {
    let test = "agents_do_not_decide_on_their_own_calls";
    let Some(session) = Session::new(test, agent) else {
        return;
    };
    let world = &session.world;
    world.ok(["breakpoint", "add", "command", "nowhere"]);
    let program = crate::support::binary::path().display();
    let tries = [
        "breakpoint clear",
        "resume",
        "rewind t1 --yes",
        "gc",
        "clear --yes",
    ];
    let mut lines: Vec<String> = tries
        .map(|command| format!("{program} {command} >> out.log 2>&1"))
        .into();
    lines.push(format!(
        "{program} log > look.log 2>&1; echo \"status $?\" >> look.log"
    ));
    let report = session.play(Some(shell(agent, &lines.join("; "))), None);
    let log = report["logs"]["requests.jsonl"].as_str().expect("a log");
    let asked = fs::read_to_string(log).expect("the model's log");
    let last = asked.lines().last().unwrap_or_default();
    let told: Value = serde_json::from_str(last).expect("JSON");
    let end = told["body"]["messages"]
        .as_array()
        .and_then(|all| all.last());
    let end = end.map(Value::to_string).unwrap_or_default();
    assert!(world.exists("out.log"), "{}: {end}", agent.name);
    let said = world.read("out.log");
    let refused = said.matches("may not decide on its own calls").count();
    assert_eq!(refused, tries.len(), "{}: {said}", agent.name);
    assert!(
        world.read("look.log").contains("status 0"),
        "{}",
        agent.name
    );
    let left = world.json(["breakpoint", "list"]);
    assert_eq!(left["breakpoints"].as_array().map(Vec::len), Some(1));
}

/// Two different agents in one workspace: each line is the one's who wrote it, and a rewind of one leaves the other's work.
#[test]
fn two_agents_in_one_workspace() {
    let test = "two_agents_in_one_workspace";
    let Some(first) = Session::new(test, &ALL[0]) else {
        return;
    };
    let (codex, qwen) = (&ALL[0], &ALL[4]);
    assert_eq!((codex.name, qwen.name), ("codex", "qwen"));
    if agents(test, qwen.name).is_none() {
        return;
    }
    let world = &first.world;
    world.ok(["setup", qwen.name]);
    first.play(Some(shell(codex, "sed -i '1i // codex' src/main.rs")), None);
    let home = world.home.clone();
    let second = Session {
        world: first.world,
        agents: first.agents.clone(),
        name: qwen.name,
        model: None,
    };
    second.play(
        Some(shell(qwen, "echo '// qwen' >> src/main.rs; echo q > q.txt")),
        None,
    );
    let world = &second.world;
    assert_eq!(world.home, home);
    let blame = world.json(["blame", "src/main.rs"]);
    let turn = |line: usize| blame["lines"][line]["turn"].clone();
    assert_eq!((turn(0), turn(4)), (json!("t1"), json!("t2")), "{blame:#}");
    let told = told(world);
    let who: Vec<&str> = told
        .iter()
        .filter(|(prompt, _)| prompt == "go on")
        .map(|(_, agent)| agent.as_str())
        .collect();
    assert_eq!(who, ["codex", "qwen"]);
    // the turn of the first is taken out, below the work of the second
    world.ok(["revert", "t1", "--yes"]);
    assert_eq!(world.read("src/main.rs"), format!("{ONE}// qwen\n"));
    assert!(world.exists("q.txt"));
}
