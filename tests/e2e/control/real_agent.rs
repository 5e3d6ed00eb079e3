//! Held calls of the real Claude Code, offline against a scripted model: the effect of each decision on disk, in the history
//! and in the model's next request.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Instant, SystemTime};

use serde_json::{Value, json};

use super::Watcher;
use crate::editors::screen::Editor;
use crate::nvim::rig::{self as neovim, Neovim};
use crate::real_claude::{agents, rig};
use crate::support::limits::EVENT_TIMEOUT;
use crate::support::{World, finish};

const MAIN: &str = "one\ntwo\nthree\n";

/// A workspace with the hooks of the real agent, and its scripted work.
struct Session {
    world: World,
    agents: PathBuf,
    script: PathBuf,
}

/// The end of a session.
struct Ended {
    /// Requests to the model, oldest first.
    requests: Vec<Value>,
    /// Answers of the hooks that gave one, as the agent got them.
    answers: Vec<Value>,
}

/// Seconds since 1970, as the model's log counts them.
fn now() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("after 1970").as_secs_f64()
}

impl Session {
    /// `steps`: the work of the main conversation; `rest`: other parts of the script.
    fn new(test: &str, steps: &Value, rest: Option<Value>) -> Option<Self> {
        let world = World::committed(&[("a.txt", MAIN), ("b.txt", "b\n")]);
        Self::of(test, world, steps, rest)
    }

    fn of(test: &str, world: World, steps: &Value, rest: Option<Value>) -> Option<Self> {
        let agents = agents(test)?;
        world.ok(["setup", "claude-code", "--scope", "user"]);
        let part = match rest {
            Some(rest) => json!({ "steps": steps, "if": rest }),
            None => steps.clone(),
        };
        let script = world.home.join("script.json");
        let whole = json!({ "prompts": ["go on"], "workspace": {}, "expect": {}, "claude": part });
        fs::write(&script, whole.to_string()).expect("written");
        Some(Self {
            world,
            agents,
            script,
        })
    }

    /// Has the agent run each hook through a program that keeps its answer.
    fn logged(self) -> Self {
        let place = self.world.home.join(".claude/settings.json");
        let text = fs::read_to_string(&place).expect("the agent's settings");
        let mut settings: Value = serde_json::from_str(&text).expect("JSON");
        let tee = rig().join("hook_tee.py").display().to_string();
        let log = self.answers_log().display().to_string();
        let events = settings["hooks"].as_object_mut().expect("hooks");
        for entry in events
            .values_mut()
            .flat_map(|all| all.as_array_mut().expect("entries"))
        {
            for hook in entry["hooks"].as_array_mut().expect("hooks") {
                let command = hook["command"].as_str().expect("a command");
                let quoted = command.replace('\'', r"'\''");
                hook["command"] = json!(format!("python3 {tee} {log} claude '{quoted}'"));
            }
        }
        fs::write(&place, settings.to_string()).expect("written");
        self
    }

    fn answers_log(&self) -> PathBuf {
        self.world.home.join("answers.jsonl")
    }

    /// Runs the agent, while `person` decides on its held calls.
    fn run(&self, person: impl FnOnce(&World, &mut Watcher)) -> Ended {
        thread::scope(|scope| {
            let mut watcher = Watcher::start(&self.world);
            let playing = scope.spawn(|| self.play());
            person(&self.world, &mut watcher);
            playing.join().expect("the agent ends")
        })
    }

    fn play(&self) -> Ended {
        let world = &self.world;
        let mut command = world.command("python3");
        command.arg(rig().join("run_agent.py")).arg("claude");
        command.arg("--dest").arg(&self.agents);
        command.arg("--script").arg(&self.script);
        command.arg("--workspace").arg(&world.root);
        command.arg("--home").arg(&world.home);
        // the hook of a headless agent holds, whoever watches
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
        let output = finish(&mut command, b"").expect_code(0);
        let report = output.json();
        assert_eq!(report["exit"], 0, "{output}");
        let log = report["logs"]["requests.jsonl"].as_str().expect("a log");
        let rows = |text: String| -> Vec<Value> {
            let rows = text.lines();
            rows.map(|row| serde_json::from_str(row).expect("JSON"))
                .collect()
        };
        let answers = rows(fs::read_to_string(self.answers_log()).unwrap_or_default());
        let answers = answers.iter().filter_map(|row| row["stdout"].as_str());
        let answers = answers.filter(|text| !text.is_empty());
        Ended {
            requests: rows(fs::read_to_string(log).expect("the model's log")),
            answers: answers
                .map(|text| serde_json::from_str(text).expect("an answer in JSON"))
                .collect(),
        }
    }
}

impl Ended {
    /// Requests of the conversation after a time, which have its tools.
    fn requests_since(&self, at: f64) -> impl Iterator<Item = &Value> {
        self.requests.iter().filter(move |request| {
            let tools = request["body"]["tools"].as_array().map_or(0, Vec::len);
            tools > 1 && request["t"].as_f64().expect("a time") >= at
        })
    }

    /// Checks that the first request after a time has this text, and that none before has it.
    #[track_caller]
    fn model_is_told_next(&self, at: f64, text: &str) {
        let wanted = serde_json::to_string(text).expect("text");
        let wanted = wanted.trim_matches('"');
        let has = |request: &Value| request.to_string().contains(wanted);
        let next = self.requests_since(at).next().expect("a next request");
        assert!(has(next), "{text:?} is missing: {next:#}");
        let before = self
            .requests
            .iter()
            .filter(|one| one["t"].as_f64() < Some(at));
        assert_eq!(
            before.filter(|request| has(request)).count(),
            0,
            "{text:?} came before"
        );
    }

    /// Checks that hooks answered, and that none allowed a call: the agent's own rules stay in force.
    #[track_caller]
    fn nothing_was_allowed(&self) {
        assert!(!self.answers.is_empty(), "no hook answered");
        for answer in &self.answers {
            let decision = &answer["hookSpecificOutput"]["permissionDecision"];
            assert_ne!(decision, "allow", "{answer:#}");
            assert_ne!(answer["decision"], "approve", "{answer:#}");
        }
    }

    /// True if a request to the model has this text.
    fn model_saw(&self, text: &str) -> bool {
        let wanted = serde_json::to_string(text).expect("text");
        let wanted = wanted.trim_matches('"');
        self.requests
            .iter()
            .any(|request| request.to_string().contains(wanted))
    }
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"tool": "Edit", "args": {
        "file_path": format!("{{{{workspace}}}}/{path}"), "old_string": old, "new_string": new,
    }})
}

fn read(path: &str) -> Value {
    json!({"tool": "Read", "args": {"file_path": format!("{{{{workspace}}}}/{path}")}})
}

fn bash(command: &str) -> Value {
    json!({"tool": "Bash", "args": {"command": command, "description": "run it"}})
}

/// Reads a.txt, edits it, and ends.
fn one_edit() -> Value {
    json!([read("a.txt"), edit("a.txt", "two", "2"), {"text": "done"}])
}

/// True if no call of an agent is under way.
pub fn is_idle(world: &World) -> bool {
    let status = world.json(["status"]);
    status["open_calls"].as_u64().unwrap_or(0) == 0
}

/// Waits until a file has this text.
#[track_caller]
fn until_text(world: &World, path: &str, text: &str) {
    let deadline = Instant::now() + EVENT_TIMEOUT;
    while world.read(path) != text {
        assert!(Instant::now() < deadline, "{path}: {}", world.read(path));
        // a command of some milliseconds between two looks
        is_idle(world);
    }
}

/// S2-001, S2-003, S2-005: breakpoints of these kinds hold the edit before the file changes. It then continues, as it is.
#[test]
fn every_kind_holds_before_the_file_changes() {
    let kinds: [&[&str]; 7] = [
        &["tool", "Edit"],
        &["path", "*.txt"],
        &["line", "a.txt:2"],
        &["pattern", "OLD_STRING"],
        &["content", "^2$"],
        &["iteration", "2"],
        &["budget", "calls", "1"],
    ];
    for kind in kinds {
        let test = "every_kind_holds_before_the_file_changes";
        let Some(session) = Session::new(test, &one_edit(), None) else {
            return;
        };
        let add: Vec<&str> = ["breakpoint", "add"]
            .into_iter()
            .chain(kind.iter().copied())
            .collect();
        session.world.ok(add);
        let ended = session.run(|world, watcher| {
            let mut pause = watcher.until("held");
            // a path breakpoint holds the reading call, too
            while pause["tool"] == "Read" {
                world.ok(["resume"]);
                pause = watcher.until("held");
            }
            assert_eq!(pause["tool"], "Edit", "{kind:?}");
            assert_eq!(world.read("a.txt"), MAIN, "{kind:?}");
            world.ok(["resume"]);
            watcher.until("answered");
        });
        assert_eq!(
            session.world.read("a.txt"),
            MAIN.replace("two", "2"),
            "{kind:?}"
        );
        // the model is told the outcome of the edit
        assert!(ended.model_saw("has been updated"), "{kind:?}");
        assert!(is_idle(&session.world));
        let blame = session.world.json(["blame", "a.txt"]);
        assert_eq!(blame["lines"][1]["by"], "agent", "{kind:?}");
    }
}

/// A person changes the right side of the held edit in Neovim: the real agent writes that text, and its model is informed.
#[test]
fn an_edit_that_is_changed_in_neovim_is_on_disk() {
    let test = "an_edit_that_is_changed_in_neovim_is_on_disk";
    let world = neovim::world(&[("a.txt", MAIN)]);
    let Some(session) = Session::of(test, world, &one_edit(), None) else {
        return;
    };
    let ready = Neovim::start(&session.world, "plugin-held", &["a.txt"]);
    let Some(mut nvim) = ready else {
        return;
    };
    nvim.is_attached();
    nvim.ex("2");
    nvim.ex("Backstitch breakpoint");
    nvim.says("b1: agents stop at a.txt:2");
    let ended = session.run(|world, watcher| {
        watcher.until("held");
        nvim.says("claude-code is held: Edit a.txt");
        nvim.ex("Backstitch pauses");
        nvim.waits("vim.fn.bufnr('backstitch-held://p1/then/a.txt') > 0");
        nvim.ex("wincmd b");
        nvim.waits("vim.fn.bufname() == 'backstitch-held://p1/then/a.txt'");
        nvim.ex("%s/^2$/zwei/");
        nvim.ex("write");
        nvim.says("p1 continues with this text, once you continue");
        assert_eq!(world.read("a.txt"), MAIN);
        nvim.ex("wincmd t");
        nvim.screen.keys("c");
        watcher.until("answered");
    });
    assert_eq!(session.world.read("a.txt"), MAIN.replace("two", "zwei"));
    assert!(ended.model_saw("zwei"));
    // and the editor, which reads it again, has it
    nvim.screen.keys("q");
    nvim.waits("vim.fn.bufname() == 'a.txt'");
    nvim.waits("vim.fn.getline(2) == 'zwei'");
    let blame = session.world.json(["blame", "a.txt"]);
    assert_eq!(blame["lines"][1]["by"], "agent", "{blame:#}");
}

/// S5-041: at a held call of the real agent, jq sees it, a command runs in its directory, and the command that `:set` makes of
/// it is the one that runs and that the model learns of. Its transcript is found by a word of an output.
#[test]
fn a_repl_at_a_held_call_changes_its_command() {
    let test = "a_repl_at_a_held_call_changes_its_command";
    let steps = json!([bash("echo theirs > out.txt"), {"text": "done"}]);
    let Some(session) = Session::new(test, &steps, None) else {
        return;
    };
    session.world.write("b.txt", "b\nyellow submarine\n");
    session.world.ok(["breakpoint", "add", "command", "theirs"]);
    let ended = session.run(|world, watcher| {
        watcher.until("held");
        let said = world.ok(["repl", "p1", "-e", ".call.input.command", "-e", "!git diff"]);
        assert!(said.stdout.contains("\"echo theirs > out.txt\""), "{said}");
        assert!(said.stdout.contains("+yellow submarine"), "{said}");
        let set = ":set .command \"echo mine > out.txt\"";
        world.ok(["repl", "p1", "-e", set]);
        assert!(!world.exists("out.txt"));
        world.ok(["resume"]);
        watcher.until("answered");
    });
    assert_eq!(session.world.read("out.txt"), "mine\n");
    assert!(ended.model_saw("echo mine > out.txt"));
    let found = session
        .world
        .json(["repl", "list", "--search", "submarine"]);
    let found = found["sessions"].as_array().expect("sessions");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["status"], "closed");
    let id = found[0]["id"].as_str().expect("an id");
    let shown = session.world.ok(["repl", "show", id]).stdout;
    assert!(shown.contains("> !git diff"), "{shown}");
}

/// A command breakpoint holds a shell command, which is skipped.
#[test]
fn a_command_is_held_and_skipped() {
    let steps = json!([bash("echo secret > c.txt"), {"text": "done"}]);
    let Some(session) = Session::new("a_command_is_held_and_skipped", &steps, None) else {
        return;
    };
    let session = session.logged();
    session.world.ok(["breakpoint", "add", "command", "secret"]);
    let mut at = 0.0;
    let ended = session.run(|world, watcher| {
        watcher.until("held");
        assert!(!world.exists("c.txt"));
        at = now();
        world.ok(["skip"]);
    });
    assert!(!session.world.exists("c.txt"));
    ended.model_is_told_next(at, "The user skipped this call.");
    ended.nothing_was_allowed();
    assert!(is_idle(&session.world));
}

/// A changed input is what the tool does, the history has, and the model is informed. Nothing is allowed by us.
#[test]
fn a_changed_input_runs_and_is_told() {
    let Some(session) = Session::new("a_changed_input_runs_and_is_told", &one_edit(), None) else {
        return;
    };
    let session = session.logged();
    session.world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut at = 0.0;
    let ended = session.run(|world, watcher| {
        let pause = watcher.until("held");
        let held = world.json(["inspect"]);
        let mut input = held["pause"]["input"].clone();
        input["new_string"] = json!("zwei");
        world.write("../input.json", input.to_string());
        at = now();
        world.ok(["resume", "p1", "--input", "../input.json"]);
        assert_eq!(pause["id"], "p1");
    });
    assert_eq!(session.world.read("a.txt"), MAIN.replace("two", "zwei"));
    ended.model_is_told_next(at, "The user changed this call before it ran.");
    ended.nothing_was_allowed();
    let log = session.world.json(["log", "--kind", "step"]);
    let change = &log["checkpoints"][0]["changes"][0];
    assert_eq!(change["path"], "a.txt", "{log:#}");
    session.world.ok(["rewind", "t1", "--yes"]);
    assert_eq!(session.world.read("a.txt"), MAIN);
}

/// A denied call leaves nothing behind, and the model gets the reason.
#[test]
fn a_denied_call_tells_the_model_why() {
    let Some(session) = Session::new("a_denied_call_tells_the_model_why", &one_edit(), None) else {
        return;
    };
    let session = session.logged();
    session.world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut at = 0.0;
    let ended = session.run(|world, watcher| {
        watcher.until("held");
        at = now();
        world.ok(["deny", "-m", "use the helper in util.rs"]);
    });
    assert_eq!(session.world.read("a.txt"), MAIN);
    ended.model_is_told_next(at, "use the helper in util.rs");
    ended.nothing_was_allowed();
    assert!(is_idle(&session.world));
    let log = session.world.json(["log", "--kind", "step"]);
    assert_eq!(log["checkpoints"].as_array().map(Vec::len), Some(0));
}

/// `stop` ends the turn: no further call, no open turn.
#[test]
fn a_stopped_turn_is_over() {
    let steps = json!([read("a.txt"), edit("a.txt", "two", "2"), edit("a.txt", "one", "1"), {"text": "done"}]);
    let Some(session) = Session::new("a_stopped_turn_is_over", &steps, None) else {
        return;
    };
    session.world.ok(["breakpoint", "add", "tool", "Edit"]);
    let session = session.logged();
    let mut at = 0.0;
    let ended = session.run(|world, watcher| {
        watcher.until("held");
        at = now();
        world.ok(["stop", "-m", "this is enough"]);
    });
    assert_eq!(ended.requests_since(at).count(), 0);
    ended.nothing_was_allowed();
    // no request follows, so the model is not asked again
    assert!(!ended.model_saw("this is enough"));
    assert_eq!(session.world.read("a.txt"), MAIN);
    assert!(is_idle(&session.world));
    let held = session.world.json(["pauses", "--all"]);
    assert_eq!(held["pauses"].as_array().map(Vec::len), Some(1));
}

/// An error breakpoint holds after the call, before the model's next request; a text goes with the answer.
#[test]
fn an_error_is_held_before_the_model_hears_of_it() {
    let steps = json!([bash("echo half > c.txt; exit 3"), {"text": "done"}]);
    let Some(session) = Session::new(
        "an_error_is_held_before_the_model_hears_of_it",
        &steps,
        None,
    ) else {
        return;
    };
    let session = session.logged();
    session.world.ok(["breakpoint", "add", "error"]);
    let (mut held, mut at) = (0.0, 0.0);
    let ended = session.run(|world, watcher| {
        let pause = watcher.until("held");
        held = now();
        assert_eq!(pause["at"], "after");
        assert_eq!(world.read("c.txt"), "half\n");
        at = now();
        world.ok(["inject", "look at the exit code"]);
        world.ok(["resume"]);
    });
    ended.model_is_told_next(at, "look at the exit code");
    // and it heard of the error no earlier
    ended.model_is_told_next(at, "Exit code 3");
    let meanwhile = ended.requests_since(held).count() - ended.requests_since(at).count();
    assert_eq!(meanwhile, 0, "requests while the call was held");
    ended.nothing_was_allowed();
}

/// Steps: over one call to the next, and back over two.
#[test]
fn steps_go_over_and_back() {
    let steps = json!([
        read("a.txt"), edit("a.txt", "one", "1"), edit("a.txt", "two", "2"), edit("a.txt", "three", "3"),
        {"text": "done"},
    ]);
    let Some(session) = Session::new("steps_go_over_and_back", &steps, None) else {
        return;
    };
    session
        .world
        .ok(["breakpoint", "add", "tool", "Edit", "--once"]);
    let ended = session.run(|world, watcher| {
        watcher.until("held");
        world.ok(["step"]);
        let second = watcher.until("held");
        assert_eq!(world.read("a.txt"), MAIN.replace("one", "1"));
        assert_eq!(second["iteration"], 3);
        world.ok(["step", "file"]);
        // the third edit names the same file: only the next turn, or another file, would be held
        watcher.until("answered");
    });
    assert!(!ended.requests.is_empty());
    assert_eq!(session.world.read("a.txt"), "1\n2\n3\n");

    let Some(session) = Session::new("steps_go_over_and_back", &steps, None) else {
        return;
    };
    session.world.ok(["breakpoint", "add", "iteration", "4"]);
    let session = session.logged();
    let mut at = 0.0;
    let ended = session.run(|world, watcher| {
        watcher.until("held");
        assert_eq!(world.read("a.txt"), "1\n2\nthree\n");
        at = now();
        world.ok(["back", "2"]);
        watcher.until("answered");
    });
    assert_eq!(session.world.read("a.txt"), MAIN);
    ended.model_is_told_next(at, "The user reverted your last 2 steps");
    ended.nothing_was_allowed();
}

/// A step to the next file passes the calls that name the same one.
#[test]
fn a_step_goes_to_the_next_file() {
    let steps = json!([
        read("a.txt"), read("b.txt"), edit("a.txt", "one", "1"), edit("a.txt", "two", "2"), edit("b.txt", "b", "B"),
        {"text": "done"},
    ]);
    let Some(session) = Session::new("a_step_goes_to_the_next_file", &steps, None) else {
        return;
    };
    session
        .world
        .ok(["breakpoint", "add", "tool", "Edit", "--once"]);
    session.run(|world, watcher| {
        let first = watcher.until("held");
        assert_eq!(first["names"][0], "a.txt", "{first:#}");
        world.ok(["step", "file"]);
        let next = watcher.until("held");
        assert_eq!(next["names"][0], "b.txt", "{next:#}");
        assert_eq!(world.read("a.txt"), "1\n2\nthree\n");
        assert_eq!(world.read("b.txt"), "b\n");
        world.ok(["resume"]);
        watcher.until("answered");
    });
    assert_eq!(session.world.read("b.txt"), "B\n");
}

/// Steps: into a subagent, where its first call is held, and out of it, to the next call of the main thread.
#[test]
fn steps_go_into_a_subagent_and_out() {
    let subagent = json!({"tool": "Agent", "args": {
        "description": "edit a.txt", "prompt": "SUBTASK change two in a.txt", "subagent_type": "general-purpose",
    }});
    let parts = json!([{"contains": "SUBTASK", "steps": [
        read("a.txt"), edit("a.txt", "two", "2"), bash("touch go"), {"text": "subagent done"},
    ]}]);
    // the main thread waits for it
    let wait = bash("until [ -f go ]; do sleep 0.05; done");
    let steps = json!([subagent, wait, bash("true"), {"text": "done"}]);
    let test = "steps_go_into_a_subagent_and_out";
    let Some(session) = Session::new(test, &steps, Some(parts)) else {
        return;
    };
    session
        .world
        .ok(["breakpoint", "add", "tool", "Agent", "--once"]);
    session.run(|world, watcher| {
        let handed = watcher.until("held");
        let main = |pause: &Value| pause["subagent"].is_null();
        assert!(handed["tool"] == "Agent" && main(&handed), "{handed}");
        world.ok(["step", "into"]);
        let mut inside = watcher.until("held");
        if main(&inside) {
            world.ok(["step", "into"]);
            inside = watcher.until("held");
        }
        assert!(!main(&inside), "{inside}");
        // while a call of the main thread was held, the subagent may have continued
        if inside["tool"] == "Read" {
            assert_eq!(world.read("a.txt"), MAIN);
        }
        world.ok(["step", "out"]);
        let outside = watcher.until("held");
        assert!(outside["tool"] == "Bash" && main(&outside), "{outside}");
        // no call of the subagent is held: it continues beside the held one of the main thread
        let changed = MAIN.replace("two", "2");
        until_text(world, "a.txt", &changed);
        world.ok(["resume"]);
        watcher.until("answered");
    });
}

/// An agent does not free itself by accident: each deciding command is refused in its own shell, however it is started.
#[test]
fn an_agent_does_not_decide_on_its_own_calls() {
    let test = "an_agent_does_not_decide_on_its_own_calls";
    let steps = json!([bash("true"), bash(&tries().join("\n")), {"text": "done"}]);
    let Some(session) = Session::new(test, &steps, None) else {
        return;
    };
    refused(&session);
}

/// As above, in the shell of its subagent.
#[test]
fn a_subagent_does_not_decide() {
    let subagent = json!({"tool": "Agent", "args": {
        "description": "free it", "prompt": "SUBTASK free it", "subagent_type": "general-purpose",
    }});
    let parts = json!([{"contains": "SUBTASK", "steps": [
        bash("true"), bash(&tries().join("\n")), {"text": "subagent done"},
    ]}]);
    let steps = json!([subagent, {"text": "done"}]);
    let Some(session) = Session::new("a_subagent_does_not_decide", &steps, Some(parts)) else {
        return;
    };
    refused(&session);
}

/// Lines of a shell that decide, each command through each wrapper.
fn tries() -> Vec<String> {
    let program = crate::support::binary::path().display();
    let commands = [
        "resume",
        "step",
        "skip",
        "deny -m no",
        "stop",
        "inject hello",
        "back",
        "pause",
        "debug",
        "breakpoint add tool Read",
        "breakpoint remove b1",
        "breakpoint disable b1",
        "breakpoint enable b1",
        "breakpoint edit b1 --once true",
        "breakpoint clear",
        "repl p1 -e .",
        "rewind t1 --yes",
        "revert t1 --yes",
        "undo --yes",
        "redo --yes",
        "switch main --yes",
        "gc",
        "clear --yes",
    ];
    let wrapped = |command: &str| {
        let line = format!("{program} {command}");
        [
            line.clone(),
            format!("sh -c '{line}'"),
            format!("nohup {line}"),
            format!("setsid --wait {line}"),
            format!("env -i PATH=$PATH HOME=$HOME XDG_STATE_HOME=$XDG_STATE_HOME {line}"),
        ]
    };
    commands
        .into_iter()
        .flat_map(wrapped)
        .map(|line| {
            format!(
                "{line} > one.log 2>&1 < /dev/null; echo \"status $?: $(cat one.log)\" >> out.log"
            )
        })
        .collect()
}

fn refused(session: &Session) {
    session.world.ok(["breakpoint", "add", "command", "^true$"]);
    session.run(|world, watcher| {
        watcher.until("held");
        // the user's terminal is not refused
        world.ok(["resume"]);
    });
    let said = session.world.read("out.log");
    let all = tries().len();
    let refused = said.matches("may not decide on its own calls").count();
    assert_eq!(refused, all, "{said}");
    assert_eq!(said.matches("status 1").count(), all, "{said}");
    assert!(!said.contains("allowControl"), "{said}");
    assert!(said.contains("your user's"), "{said}");
    let left = session.world.json(["breakpoint", "list"]);
    assert_eq!(left["breakpoints"].as_array().map(Vec::len), Some(1));
}

/// The setting lets it decide.
#[test]
fn an_agent_decides_where_the_user_allows_it() {
    let program = crate::support::binary::path().display();
    let steps = json!([bash("true"), bash(&format!("{program} breakpoint clear > out.log 2>&1")), {"text": "done"}]);
    let test = "an_agent_decides_where_the_user_allows_it";
    let Some(session) = Session::new(test, &steps, None) else {
        return;
    };
    session.world.configure("[agents]\nallowControl = true\n");
    session.world.ok(["breakpoint", "add", "command", "^true$"]);
    session.run(|world, watcher| {
        watcher.until("held");
        world.ok(["resume"]);
    });
    let left = session.world.json(["breakpoint", "list"]);
    assert_eq!(left["breakpoints"].as_array().map(Vec::len), Some(0));
}

/// A hook that is killed while it holds: the guard that setup wrote keeps the call from running.
#[test]
fn a_killed_hook_denies() {
    let Some(session) = Session::new("a_killed_hook_denies", &one_edit(), None) else {
        return;
    };
    session.world.ok(["breakpoint", "add", "tool", "Edit"]);
    let ended = session.run(|world, watcher| {
        watcher.until("held");
        kill_hook(world);
        watcher.until("lost");
    });
    assert_eq!(session.world.read("a.txt"), MAIN);
    assert!(ended.model_saw("its hook was killed while it held this call"));
}

/// The hook is killed together with its shell, so that nothing answers the agent. It runs the call then, which is reported;
/// with `setup --strict` it blocks the call.
#[test]
fn a_killed_shell_is_reported_or_blocked() {
    for strict in [false, true] {
        let test = "a_killed_shell_is_reported_or_blocked";
        let Some(session) = Session::new(test, &one_edit(), None) else {
            return;
        };
        if strict {
            session
                .world
                .ok(["setup", "claude-code", "--scope", "user", "--strict"]);
        }
        session.world.ok(["breakpoint", "add", "tool", "Edit"]);
        session.run(|world, watcher| {
            watcher.until("held");
            kill_hook_and_shell(world);
            watcher.until(if strict { "lost" } else { "slipped" });
        });
        let text = session.world.read("a.txt");
        let pauses = session.world.run(["pauses"]);
        let is_told = pauses.stderr.contains("p1 ran unasked");
        if strict {
            assert!(text == MAIN && !is_told, "{text}\n{pauses}");
        } else {
            assert!(
                text == MAIN.replace("two", "2") && is_told,
                "{text}\n{pauses}"
            );
            let all = session.world.json(["pauses", "--all"]);
            assert_eq!(all["pauses"][0]["state"], "slipped");
            let examined = session.world.run(["doctor"]);
            assert!(
                examined
                    .stdout
                    .contains("p1 ran, although a breakpoint stops it"),
                "{examined}"
            );
        }
    }
}

fn kill(pids: &[&str]) {
    let ended = std::process::Command::new("kill")
        .arg("-9")
        .args(pids)
        .status();
    assert!(ended.expect("kill").success(), "{pids:?}");
}

/// Kills the hook that holds a call of this world.
pub fn kill_hook(world: &World) {
    kill(&[&hook_of(world)]);
}

fn kill_hook_and_shell(world: &World) {
    let hook = hook_of(world);
    let status = fs::read_to_string(format!("/proc/{hook}/status")).expect("a process");
    let shell = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))
        .expect("a parent")
        .trim();
    // the shell first: it would say that its hook was killed
    kill(&[shell, &hook]);
}

/// Process number of the hook that holds a call of this world.
fn hook_of(world: &World) -> String {
    let home = format!("HOME={}\0", world.home.display());
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").expect("processes").flatten() {
        let read = |name: &str| fs::read(process.path().join(name)).unwrap_or_default();
        let command = String::from_utf8_lossy(&read("cmdline")).into_owned();
        let is_hook = command
            .split('\0')
            .next()
            .is_some_and(|program| program.ends_with("/backstitch"))
            && command.contains("\0hook\0");
        if is_hook && String::from_utf8_lossy(&read("environ")).contains(&home) {
            found.push(process.file_name().to_string_lossy().into_owned());
        }
    }
    assert_eq!(found.len(), 1, "one hook holds");
    found.remove(0)
}

/// The agent on a terminal, with its own script of a model.
fn on_a_terminal(session: &Session) -> Editor {
    let world = &session.world;
    let mut args = vec![
        rig().join("run_agent.py").display().to_string(),
        "claude".to_owned(),
        "--terminal".to_owned(),
    ];
    for (name, value) in [
        ("--dest", &session.agents),
        ("--script", &session.script),
        ("--workspace", &world.root),
        ("--home", &world.home),
    ] {
        args.extend([name.to_owned(), value.display().to_string()]);
    }
    for (name, value) in world.env() {
        if ["XDG_STATE_HOME", "XDG_CONFIG_HOME"].contains(&name) {
            args.extend(["--env".to_owned(), format!("{name}={}", value.display())]);
        }
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Editor::sized(world, "claude", Path::new("python3"), &args, (40, 120))
}

/// Nobody watches, and somebody sits before the agent: it asks its own question, although edits are allowed, and the
/// answer decides.
#[test]
fn an_attended_agent_asks_by_itself() {
    let steps = json!([
        read("a.txt"), edit("a.txt", "two", "2"), edit("a.txt", "three", "3"), {"text": "all done"},
    ]);
    let Some(session) = Session::new("an_attended_agent_asks_by_itself", &steps, None) else {
        return;
    };
    let world = &session.world;
    world.ok(["breakpoint", "add", "tool", "Edit"]);
    let mut terminal = on_a_terminal(&session);
    terminal.shows("accept edits on");
    terminal.keys("go on");
    terminal.shows("go on");
    terminal.keys("\r");
    terminal.shows("Do you want to make this edit to a.txt?");
    assert_eq!(world.read("a.txt"), MAIN);
    let asked = world.json(["pauses", "--all"]);
    assert_eq!(asked["pauses"][0]["state"], "handed", "{asked:#}");
    terminal.keys("\r");
    // the second call: the user refuses
    terminal.shows("+3");
    assert_eq!(world.read("a.txt"), "one\n2\nthree\n");
    terminal.keys("\x1b");
    terminal.shows("Rejected update to a.txt");
    assert_eq!(world.read("a.txt"), "one\n2\nthree\n");
    let asked = world.json(["pauses", "--all"]);
    let outcomes: Vec<_> = asked["pauses"]
        .as_array()
        .expect("pauses")
        .iter()
        .map(|one| &one["outcome"])
        .collect();
    assert_eq!(outcomes, ["asked", "asked"], "{asked:#}");
    terminal.keys("\x03\x03");
}

/// A REPL at a held call: jq over it, a command in its directory, a change of its command. The changed command runs, the model
/// is told, and the transcript is found by a word of its output.
#[test]
fn a_repl_asks_and_changes() {
    let steps = json!([
        read("a.txt"), edit("a.txt", "two", "2"), bash("echo first > out.txt"), {"text": "done"},
    ]);
    let Some(session) = Session::new("a_repl_asks_and_changes", &steps, None) else {
        return;
    };
    session
        .world
        .ok(["breakpoint", "add", "command", "out\\.txt"]);
    let ended = session.run(|world, watcher| {
        watcher.until("held");
        let ask = |input: &str| {
            let entry = world.json(["repl", "p1", "-e", input])["entry"].clone();
            assert_eq!(entry["isError"], false, "{entry:#}");
            entry
        };
        assert_eq!(
            ask(".call.input.command")["output"],
            "\"echo first > out.txt\""
        );
        assert_eq!(ask(".turn.prompt")["output"], "\"go on\"");
        let diff = ask("!git diff");
        let printed = diff["stdout"].as_str().expect("text");
        assert!(printed.contains("-two\n+2\n"), "{printed}");
        ask(":set .command \"echo second > out.txt\"");
        assert!(!world.exists("out.txt"));
        world.ok(["resume"]);
    });
    let world = &session.world;
    assert_eq!(world.read("out.txt"), "second\n");
    assert!(ended.model_saw("The user changed this call before it ran."));
    let found = world.json(["repl", "list", "--search", "+2"]);
    assert_eq!(
        found["sessions"].as_array().map(Vec::len),
        Some(1),
        "{found:#}"
    );
    assert_eq!(found["sessions"][0]["status"], "closed", "{found:#}");
}
