//! Breakpoints and held calls, over the real binary: the hook as an agent runs it, and the command line beside it.

mod breakpoints;
mod decisions;
mod generated;
mod guard;
mod guards;
mod holds;
mod manage;
pub mod real_agent;
mod shown;
mod silence;
mod slips;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::World;
use crate::support::agent::Agent;

/// A hook that waits for a decision.
/// A secret in the environment of each agent that is held.
pub const SECRET: &str = "correct-horse-battery";

pub struct HeldHook {
    child: Child,
}

impl HeldHook {
    /// Starts the hook on a payload, as the agent does: it waits for at most `limit` seconds.
    pub fn start(world: &World, payload: &Value, limit: u32) -> Self {
        // headless, so that a call is held although nobody watches
        Self::attended(world, payload, Some(limit), false)
    }

    /// As `start`, for a payload that need not be strict JSON.
    fn start_with(world: &World, payload: &[u8], limit: u32) -> Self {
        Self::run(world, payload, Some(limit), false)
    }

    /// As `start`, with a person before the agent or without one.
    pub fn attended(world: &World, payload: &Value, limit: Option<u32>, attended: bool) -> Self {
        Self::run(world, payload.to_string().as_bytes(), limit, attended)
    }

    /// Starts the hook of any agent.
    fn of(world: &World, agent: &str, payload: &Value) -> Self {
        let mut hook = world.backstitch();
        hook.args(["hook", agent]);
        Self::spawn(
            world,
            &hook,
            payload.to_string().as_bytes(),
            Some(600),
            false,
        )
    }

    fn run(world: &World, payload: &[u8], limit: Option<u32>, attended: bool) -> Self {
        Self::spawn(world, &world.hook_command(), payload, limit, attended)
    }

    fn spawn(
        world: &World,
        hook: &Command,
        payload: &[u8],
        limit: Option<u32>,
        attended: bool,
    ) -> Self {
        // `timeout` stands for the agent: the commands of this test do not come from inside of it
        let mut command = world.command("timeout");
        command
            .arg("300")
            .arg(hook.get_program())
            .args(hook.get_args());
        for (name, value) in hook.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        if let Some(limit) = limit {
            command.args(["--limit", &limit.to_string()]);
        }
        // agents have secrets in their environments
        command.env("DEPLOY_TOKEN", SECRET);
        command.env(
            "CLAUDE_CODE_SESSION_ATTENDED",
            u8::from(attended).to_string(),
        );
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the hook");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin
            .write_all(payload)
            .expect("the hook reads its payload");
        Self { child }
    }

    /// The hook's answer, once it has ended.
    /// The agent reads the answer no more.
    fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Waits for the end.
    fn end(mut self) {
        self.child.wait().expect("ended");
    }

    /// The hook's output, once it has ended.
    fn output(self) -> std::process::Output {
        self.child.wait_with_output().expect("an output")
    }

    pub fn answer(self) -> Value {
        let output = self.child.wait_with_output().expect("an output");
        assert!(output.status.success(), "{output:?}");
        if output.stdout.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&output.stdout).expect("one JSON document")
    }

    /// Process number of the hook itself.
    fn pid(&self) -> u32 {
        let id = self.child.id();
        let children = format!("/proc/{id}/task/{id}/children");
        loop {
            let text = std::fs::read_to_string(&children).expect("the stand-in runs");
            if let Ok(pid) = text.trim().parse() {
                return pid;
            }
        }
    }

    /// Stops the hook, which is below the stand-in for its agent, so that it does nothing else.
    pub fn stop(&self) {
        let agent = self.child.id();
        let children = format!("/proc/{agent}/task/{agent}/children");
        let hook = std::fs::read_to_string(children).expect("children");
        let stopped = std::process::Command::new("kill")
            .arg("-STOP")
            .args(hook.split_whitespace())
            .status();
        assert!(stopped.expect("kill").success());
    }

    /// Kills the hook, and not the agent.
    pub fn kill(mut self) {
        let killed = Command::new("kill")
            .args(["-9", &self.pid().to_string()])
            .status();
        assert!(killed.expect("kill").success());
        self.child.wait().expect("ended");
    }

    /// Kills the hook if it still waits, and waits until it is gone.
    pub fn quit(mut self) {
        let agent = self.child.id();
        let children = format!("/proc/{agent}/task/{agent}/children");
        let hook = std::fs::read_to_string(children).unwrap_or_default();
        // it may end at this moment
        Command::new("kill")
            .arg("-9")
            .args(hook.split_whitespace())
            .output()
            .ok();
        self.child.wait().expect("ended");
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_some()
    }
}

/// `backstitch pauses --watch --json`: a person at a terminal.
pub struct Watcher {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watcher {
    pub fn start(world: &World) -> Self {
        let mut command = world.backstitch();
        command.args(["pauses", "--watch", "--json"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a watcher");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, lines }
    }

    /// The next pause that is new or in another state.
    pub fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The next pause in this state.
    /// Waits for a pause that is held, by its number. One whose decision was refused is held once more.
    pub fn held(&mut self, id: &str) -> Value {
        loop {
            let pause = self.until("held");
            if pause["id"] == id {
                return pause;
            }
        }
    }

    pub fn until(&mut self, state: &str) -> Value {
        loop {
            let pause = self.next();
            if pause["state"] == state {
                return pause;
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A workspace with one file, and an agent in its first turn.
pub fn began(world: &World) -> Agent<'_> {
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("change one to two");
    agent
}

pub fn edit(world: &World, path: &str, old: &str, new: &str) -> Value {
    json!({
        "file_path": world.path(path), "old_string": old, "new_string": new, "replace_all": false,
    })
}

/// The payload before a call, with its own id.
pub fn before(agent: &Agent<'_>, id: &str, tool: &str, input: &Value) -> Value {
    let fields = json!({"tool_name": tool, "tool_input": input, "tool_use_id": id});
    agent.payload("PreToolUse", fields)
}

pub fn after(agent: &Agent<'_>, id: &str, tool: &str, input: &Value, response: &Value) -> Value {
    let fields = json!({
        "tool_name": tool, "tool_input": input, "tool_use_id": id, "tool_response": response,
        "duration_ms": 3,
    });
    agent.payload("PostToolUse", fields)
}

/// The decision in an answer, such as `deny`.
pub fn decision(answer: &Value) -> Option<&str> {
    answer["hookSpecificOutput"]["permissionDecision"].as_str()
}

pub fn reason(answer: &Value) -> &str {
    let reason = &answer["hookSpecificOutput"]["permissionDecisionReason"];
    reason.as_str().unwrap_or_default()
}

/// The breakpoints as a list of kind and hits.
fn hits(world: &World) -> Vec<(String, i64)> {
    let list = world.json(["breakpoint", "list"]);
    let all = list["breakpoints"].as_array().expect("breakpoints").iter();
    all.map(|one| {
        let kind = one["kind"].as_str().expect("a kind").to_owned();
        (kind, one["hitCount"].as_i64().expect("a number"))
    })
    .collect()
}

/// Holds a call, and decides with this command. Returns the pause and the answer.
fn decided(world: &World, payload: &Value, command: &[&str]) -> (Value, Value) {
    let mut watcher = Watcher::start(world);
    let hook = HeldHook::start(world, payload, 600);
    let pause = watcher.until("held");
    world.ok(command);
    let answer = hook.answer();
    (pause, answer)
}
