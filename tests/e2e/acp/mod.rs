//! `backstitch acp`: a client and an agent that do as they are told, with the real proxy between them. `traffic` has the
//! bytes, `recording` the history, `holds` the breakpoints, `real` real agents with a client of the protocol's makers.

mod holds;
mod real;
mod recording;
mod traffic;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::World;

const TIMEOUT: Duration = Duration::from_secs(40);

/// A client that has started the proxy with the scripted agent.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: JoinHandle<String>,
    log: PathBuf,
    requests: u64,
}

/// The end of a proxy.
struct End {
    code: i32,
    /// Lines that were not taken before.
    rest: Vec<Vec<u8>>,
    stderr: String,
    /// Bytes that the agent read.
    log: Vec<u8>,
}

impl Client {
    fn start(world: &World, steps: &Value) -> Self {
        Self::start_as(world, "python3", steps)
    }

    /// Starts an agent whose program has this name.
    fn start_as(world: &World, program: &str, steps: &Value) -> Self {
        let name = format!(
            "agent-{}",
            std::fs::read_dir(&world.home).expect("home").count()
        );
        let (script, log) = (
            world.home.join(format!("{name}.json")),
            world.home.join(name),
        );
        std::fs::write(&script, steps.to_string()).expect("a script");
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/acp/agent.py");
        let mut command = world.backstitch();
        command
            .args(["acp", "--", program])
            .arg(agent)
            .arg(&script)
            .arg(&log);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the proxy");
        let stdin = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut errors = child.stderr.take().expect("a pipe");
        let (sender, lines) = channel();
        thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                let count = output.read_until(b'\n', &mut line).unwrap_or(0);
                if count == 0 || sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        Self {
            child,
            stdin,
            lines,
            stderr,
            log,
            requests: 0,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("open");
        stdin.write_all(bytes).expect("written");
    }

    fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    fn request(&mut self, method: &str, params: &Value) {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    #[track_caller]
    fn line(&self) -> Vec<u8> {
        self.lines
            .recv_timeout(TIMEOUT)
            .expect("a line of the agent")
    }

    #[track_caller]
    fn message(&self) -> Value {
        serde_json::from_slice(&self.line()).expect("a message")
    }

    /// The next message of this method.
    #[track_caller]
    fn until(&self, method: &str) -> Value {
        loop {
            let message = self.message();
            if message["method"] == method {
                return message;
            }
        }
    }

    /// The next answer of the agent.
    #[track_caller]
    fn result(&self) -> Value {
        loop {
            let message = self.message();
            if message.get("method").is_none() {
                return message["result"].clone();
            }
        }
    }

    /// Begins a session in the workspace.
    #[track_caller]
    fn open(&mut self, world: &World) {
        self.request(
            "initialize",
            &json!({"protocolVersion": 1, "clientCapabilities": {}}),
        );
        self.result();
        self.request("session/new", &json!({"cwd": world.root, "mcpServers": []}));
        assert_eq!(self.result()["sessionId"], "s1");
    }

    fn prompt(&mut self, text: &str) {
        let prompt = json!([{"type": "text", "text": text}]);
        self.request(
            "session/prompt",
            &json!({"sessionId": "s1", "prompt": prompt}),
        );
    }

    fn answer(&mut self, request: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    /// Writes the file of the agent's next request, as an editor does.
    #[track_caller]
    fn write_file(&mut self) {
        let request = self.until("fs/write_text_file");
        let text = |name: &str| request["params"][name].as_str().expect("text").to_owned();
        std::fs::write(text("path"), text("content")).expect("written");
        self.answer(&request, &Value::Null);
    }

    /// Answers the agent's next question with this option.
    #[track_caller]
    fn choose(&mut self, option: &str) {
        let request = self.until("session/request_permission");
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        self.answer(&request, &outcome);
    }

    /// Closes the agent's input, and waits for the end of the proxy.
    #[track_caller]
    fn end(mut self) -> End {
        drop(self.stdin.take());
        self.wait()
    }

    #[track_caller]
    fn wait(mut self) -> End {
        let mut ended = None;
        wait_for(|| {
            ended = self.child.try_wait().expect("a child");
            ended.is_some()
        });
        let status = ended.expect("the end");
        End {
            code: status
                .code()
                .unwrap_or_else(|| -status.signal().unwrap_or(0)),
            rest: self.lines.iter().collect(),
            stderr: self.stderr.join().expect("read"),
            log: std::fs::read(&self.log).unwrap_or_default(),
        }
    }
}

/// The agent's part of a beginning: two requests answered.
fn hello() -> Vec<Value> {
    hello_of("stand-in", 1)
}

fn hello_of(name: &str, version: u64) -> Vec<Value> {
    vec![
        json!(["read"]),
        json!(["answer", {"protocolVersion": version, "agentInfo": {"name": name, "version": "1"}}]),
        json!(["read"]),
        json!(["answer", {"sessionId": "s1"}]),
    ]
}

/// The agent's part of a turn with these steps.
fn turn(steps: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all = vec![json!(["until", "session/prompt"])];
    all.extend(steps);
    // the prompt is the last line that was read unless the steps have read others
    all.push(json!(["send", {"jsonrpc": "2.0", "id": 0, "result": {"stopReason": "end_turn"}}]));
    all
}

/// A whole script: a beginning and turns, with the ids of the client's requests.
fn script(turns: &[Vec<Value>]) -> Value {
    script_of(hello(), turns)
}

fn script_of(mut all: Vec<Value>, turns: &[Vec<Value>]) -> Value {
    for (number, turn) in (3..).zip(turns) {
        let mut turn = turn.clone();
        let last = turn.last_mut().expect("an end");
        last[1]["id"] = json!(number);
        all.extend(turn);
    }
    all.push(json!(["eof"]));
    Value::Array(all)
}

/// News of a tool call.
fn update(kind: &str, fields: &Value) -> Value {
    let mut update = json!({"sessionUpdate": kind});
    for (name, value) in fields.as_object().expect("fields") {
        update[name] = value.clone();
    }
    let params = json!({"sessionId": "s1", "update": update});
    json!(["send", {"jsonrpc": "2.0", "method": "session/update", "params": params}])
}

fn diff(path: &Path, old: Option<&str>, new: &str) -> Value {
    json!([{"type": "diff", "path": path, "oldText": old, "newText": new}])
}

/// The agent's question about a call; it waits for the answer.
fn asks(id: u64, call: &Value) -> Vec<Value> {
    let options = json!([
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]);
    let params = json!({"sessionId": "s1", "toolCall": call, "options": options});
    vec![
        json!(["send", {"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}]),
        json!(["until", format!("\"id\":{id}")]),
    ]
}

/// The agent's request that the client writes a file; it waits for the answer.
fn has_written(id: u64, path: &Path, text: &str) -> Vec<Value> {
    let params = json!({"sessionId": "s1", "path": path, "content": text});
    vec![
        json!(["send", {"jsonrpc": "2.0", "id": id, "method": "fs/write_text_file", "params": params}]),
        json!(["until", format!("\"id\":{id}")]),
    ]
}

/// Turns, steps and changes of the user, oldest first: prompt or tool, and the paths.
fn story(world: &World) -> Vec<String> {
    let log = world.json(["log", "--all"]);
    let all = log["checkpoints"]
        .as_array()
        .expect("checkpoints")
        .iter()
        .rev();
    let told = all.filter(|one| one["kind"] != "manual").map(|one| {
        let name = match one["kind"].as_str() {
            Some("turn") => one["prompt"].as_str(),
            Some("step") => one["tool"].as_str(),
            kind => kind,
        };
        let changes = one["changes"].as_array().into_iter().flatten();
        let paths: Vec<&str> = changes
            .filter_map(|change| change["path"].as_str())
            .collect();
        format!("{} {}", name.unwrap_or("?"), paths.join(" "))
            .trim()
            .to_owned()
    });
    told.collect()
}

/// Texts of a step's file before and after it.
fn sides(world: &World, step: &str, path: &str) -> (String, String) {
    let show = |rev: &str| world.run(["cat", rev, path]).stdout;
    (show(&format!("{step}^")), show(step))
}

/// Number of calls that have not ended.
fn open_calls(world: &World) -> i64 {
    let rows = rusqlite::Connection::open(world.store().join("store.db")).expect("a database");
    let count = rows.query_row(
        "SELECT COUNT(*) FROM call WHERE closed IS NULL",
        [],
        |row| row.get(0),
    );
    count.expect("a count")
}

/// Waits until something is so.
#[track_caller]
fn wait_for(mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < until, "it does not come");
        thread::yield_now();
    }
}
