//! A client of the Debug Adapter Protocol, which talks to `backstitch dap`.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

use crate::support::World;
use crate::support::limits::EVENT_TIMEOUT;

/// A client. Each message that it got is kept.
pub struct DapTalk {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    number: i64,
    pub all: Vec<Value>,
}

impl DapTalk {
    /// Starts an adapter in the project.
    pub fn start(world: &World) -> DapTalk {
        let mut command = world.backstitch();
        command.arg("dap");
        DapTalk::of(command)
    }

    fn of(mut command: Command) -> DapTalk {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("an adapter");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut from = BufReader::new(stdout);
            while let Some(message) = frame(&mut from) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        DapTalk {
            stdin: child.stdin.take(),
            child,
            messages,
            number: 0,
            all: Vec::new(),
        }
    }

    /// Starts an adapter, and launches the job `build` of `ci.yml`: it stands before its first step.
    pub fn launch(world: &World, more: &Value) -> DapTalk {
        let mut talk = DapTalk::start(world);
        talk.ok("initialize", &json!({"adapterID": "backstitch-job"}));
        talk.event("initialized");
        let mut arguments = json!({"workflow": ".github/workflows/ci.yml", "job": "build"});
        for (name, value) in more.as_object().expect("an object") {
            arguments[name] = value.clone();
        }
        talk.ok("launch", &arguments);
        talk
    }

    /// The same, configured.
    pub fn begin(world: &World, more: &Value) -> DapTalk {
        let mut talk = DapTalk::launch(world, more);
        talk.ok("setExceptionBreakpoints", &json!({"filters": ["failed"]}));
        talk.ok("configurationDone", &json!({}));
        assert_eq!(talk.stop(), "entry: before 'One'");
        talk
    }

    /// Sends a request. Returns its number.
    pub fn send(&mut self, command: &str, arguments: &Value) -> i64 {
        self.number += 1;
        let message = json!({"seq": self.number, "type": "request", "command": command, "arguments": arguments});
        self.write(&message.to_string());
        self.number
    }

    /// Writes a message as it is.
    pub fn write(&mut self, message: &str) {
        let stdin = self.stdin.as_mut().expect("a pipe");
        // an adapter that was killed reads nothing
        let _ = write!(stdin, "Content-Length: {}\r\n\r\n{message}", message.len());
        let _ = stdin.flush();
    }

    /// The next message for which something holds.
    fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.messages.recv_timeout(EVENT_TIMEOUT);
            let message =
                message.unwrap_or_else(|error| panic!("{what}: {error}: {:#?}", self.all));
            self.all.push(message.clone());
            if holds(&message) {
                return message;
            }
        }
    }

    /// Sends a request, and waits for its response.
    pub fn ask(&mut self, command: &str, arguments: &Value) -> Value {
        let number = self.send(command, arguments);
        self.answer(number)
    }

    /// Waits for the response to a request.
    pub fn answer(&mut self, number: i64) -> Value {
        self.until("a response", |message| {
            message["type"] == "response" && message["request_seq"] == number
        })
    }

    /// The body of a response that succeeds.
    pub fn ok(&mut self, command: &str, arguments: &Value) -> Value {
        let response = self.ask(command, arguments);
        assert_eq!(response["success"], true, "{response:#}");
        response["body"].clone()
    }

    /// The sentence of a response that fails.
    pub fn refused(&mut self, command: &str, arguments: &Value) -> String {
        let response = self.ask(command, arguments);
        assert_eq!(response["success"], false, "{response:#}");
        response["message"].as_str().expect("a sentence").to_owned()
    }

    pub fn event(&mut self, name: &str) -> Value {
        self.until(name, |message| message["event"] == name)["body"].clone()
    }

    /// The next stop: its reason, and its place.
    pub fn stop(&mut self) -> String {
        let body = self.event("stopped");
        let text = |key: &str| body[key].as_str().expect("a text").to_owned();
        format!("{}: {}", text("reason"), text("description"))
    }

    /// Waits until the job stands, or has ended before.
    pub fn stop_or_end(&mut self) {
        let is_end = |message: &Value| message["event"] == "terminated";
        if !self.all.iter().any(is_end) {
            self.until("a stop", |message| {
                message["event"] == "stopped" || is_end(message)
            });
        }
    }

    /// Sends a request that moves the job. Returns its next stop.
    pub fn go(&mut self, command: &str) -> String {
        self.ok(command, &json!({"threadId": 1}));
        self.stop()
    }

    pub fn set_lines(&mut self, file: &Path, breakpoints: &Value) -> Value {
        let arguments = json!({"source": {"path": file}, "breakpoints": breakpoints});
        self.ok("setBreakpoints", &arguments)["breakpoints"].clone()
    }

    /// The result of a line of the console.
    pub fn console(&mut self, line: &str) -> String {
        let body = self.ok("evaluate", &json!({"expression": line, "context": "repl"}));
        body["result"].as_str().expect("a text").to_owned()
    }

    /// Names of the frames, with their lines.
    pub fn frames(&mut self) -> Vec<(String, u64)> {
        let body = self.ok("stackTrace", &json!({"threadId": 1}));
        let frames = body["stackFrames"].as_array().expect("frames").iter();
        let pair = |frame: &Value| {
            let name = frame["name"].as_str().expect("a name");
            (name.to_owned(), frame["line"].as_u64().expect("a line"))
        };
        frames.map(pair).collect()
    }

    /// The reference of a scope of the first frame.
    pub fn scope(&mut self, name: &str) -> u64 {
        let stack = self.ok("stackTrace", &json!({"threadId": 1}));
        let frame = stack["stackFrames"][0]["id"].clone();
        let scopes = self.ok("scopes", &json!({"frameId": frame}));
        let mut scopes = scopes["scopes"].as_array().expect("scopes").iter();
        let scope = scopes.find(|scope| scope["name"] == name).expect("a scope");
        scope["variablesReference"].as_u64().expect("a reference")
    }

    /// Names and values of a reference.
    pub fn values(&mut self, reference: u64) -> Vec<(String, String)> {
        let body = self.ok("variables", &json!({"variablesReference": reference}));
        let all = body["variables"].as_array().expect("variables").iter();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        all.map(|one| (text(&one["name"]), text(&one["value"])))
            .collect()
    }

    /// All output so far.
    pub fn output(&self) -> String {
        let outputs = self
            .all
            .iter()
            .filter(|message| message["event"] == "output");
        let texts = outputs.filter_map(|message| message["body"]["output"].as_str());
        texts.collect()
    }

    /// Kills the adapter.
    pub fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("an end");
    }

    /// Waits for the end of the job. Returns its exit code, with the adapter ended.
    pub fn end(mut self) -> u64 {
        let code = self.event("exited")["exitCode"].as_u64().expect("a code");
        self.event("terminated");
        self.leave(&json!({}));
        code
    }

    /// Disconnects, and waits for the end of the adapter.
    pub fn leave(&mut self, arguments: &Value) {
        self.ok("disconnect", arguments);
        drop(self.stdin.take());
        self.all.extend(self.messages.iter());
        assert!(self.child.wait().expect("an end").success());
    }
}

fn frame(from: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some((_, value)) => length = value.parse().ok()?,
            None => break,
        }
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
