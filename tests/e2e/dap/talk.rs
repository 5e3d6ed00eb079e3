//! A client of the Debug Adapter Protocol, which talks to `backstitch dap`.

use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

use super::super::jobs::back::stepped::kill_all;
use super::schema::{Direction, check};
use crate::support::World;
use crate::support::limits::EVENT_TIMEOUT;

/// A client. Each message that it got is kept, and at its end all are held against the protocol's schema.
pub struct DapTalk {
    child: Child,
    stdin: Option<ChildStdin>,
    /// The socket to which the adapter writes.
    socket: Option<UnixStream>,
    /// The pipe of which nothing is read.
    unread: Option<ChildStdout>,
    messages: Receiver<Value>,
    number: i64,
    pub all: Vec<Value>,
    /// Messages that were looked at for events.
    looked: usize,
    /// Ids of the frames that were asked for last.
    pub frame_ids: Vec<u64>,
    /// Requests that were sent. None of a client that sends wrong ones on purpose.
    sent: Option<Vec<Value>>,
}

impl DapTalk {
    /// Starts an adapter in the project.
    pub fn start(world: &World) -> DapTalk {
        let mut command = world.backstitch();
        command.arg("dap");
        DapTalk::of(command)
    }

    /// Starts an adapter, of which nothing is read.
    pub fn deaf(world: &World) -> DapTalk {
        let mut command = world.backstitch();
        command
            .arg("dap")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("an adapter");
        // the pipe stays open, and fills
        let stdout = child.stdout.take();
        let mut talk = DapTalk::with(child, channel().1);
        (talk.unread, talk.sent) = (stdout, None);
        talk
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Starts an adapter that writes to a socket, which the client can close.
    pub fn start_on_a_socket(world: &World) -> DapTalk {
        let mut command = world.backstitch();
        command.arg("dap");
        let (own, other) = UnixStream::pair().expect("sockets");
        command.stdin(Stdio::piped()).stdout(OwnedFd::from(other));
        let child = command.spawn().expect("an adapter");
        let from = own.try_clone().expect("a socket");
        let mut talk = DapTalk::with(child, received(from));
        talk.socket = Some(own);
        talk
    }

    fn of(mut command: Command) -> DapTalk {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("an adapter");
        let stdout = child.stdout.take().expect("a pipe");
        DapTalk::with(child, received(stdout))
    }

    fn with(mut child: Child, messages: Receiver<Value>) -> DapTalk {
        DapTalk {
            stdin: child.stdin.take(),
            socket: None,
            unread: None,
            child,
            messages,
            number: 0,
            all: Vec::new(),
            looked: 0,
            frame_ids: Vec::new(),
            sent: Some(Vec::new()),
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

    /// Starts an adapter, and attaches to the newest run of the project, configured.
    pub fn attach(world: &World) -> DapTalk {
        DapTalk::attach_with(world, &["failed"])
    }

    /// The same with these filters of failures.
    pub fn attach_with(world: &World, filters: &[&str]) -> DapTalk {
        let mut talk = DapTalk::start(world);
        talk.ok("initialize", &json!({"adapterID": "backstitch-job"}));
        talk.ok("attach", &json!({"run": "last"}));
        talk.ok("setExceptionBreakpoints", &json!({"filters": filters}));
        talk.ok("configurationDone", &json!({}));
        talk
    }

    /// Sends a request. Returns its number.
    pub fn send(&mut self, command: &str, arguments: &Value) -> i64 {
        self.number += 1;
        let message = json!({"seq": self.number, "type": "request", "command": command, "arguments": arguments});
        self.write(&message.to_string());
        self.sent
            .iter_mut()
            .for_each(|sent| sent.push(message.clone()));
        self.number
    }

    /// The next request of the adapter.
    pub fn request_of_adapter(&mut self, command: &str) -> Value {
        self.until(command, |message| {
            message["type"] == "request" && message["command"] == command
        })
    }

    /// Answers a request of the adapter.
    pub fn respond(&mut self, request: &Value, succeeds: bool) {
        self.number += 1;
        let mut message = json!({
            "seq": self.number, "type": "response", "request_seq": request["seq"], "success": succeeds,
            "command": request["command"],
        });
        if succeeds {
            message["body"] = json!({});
        } else {
            message["message"] = "full".into();
        }
        self.write(&message.to_string());
    }

    /// Requests of this client may be wrong, and those that succeed, too.
    pub fn may_send_wrong_requests(&mut self) {
        self.sent = None;
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

    /// The response to the request of this number, which may be there already.
    pub fn answer_to(&mut self, number: i64) -> Value {
        let is_it =
            |message: &Value| message["type"] == "response" && message["request_seq"] == number;
        if let Some(known) = self.all.iter().find(|message| is_it(message)) {
            return known.clone();
        }
        self.until("a response", is_it)
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
        let stop = stop_words(&self.event("stopped"));
        self.looked = self.all.len();
        stop
    }

    /// The next event of this name that was not asked for yet, which may be there already.
    pub fn next_event(&mut self, name: &str) -> Value {
        let is_it = |message: &Value| message["event"] == name;
        let found = self.all[self.looked..].iter().position(is_it);
        if found.is_none() {
            self.until(name, is_it);
        }
        let place = found.map_or(self.all.len() - 1, |place| self.looked + place);
        self.looked = place + 1;
        self.all[place]["body"].clone()
    }

    /// The next stop that was not asked for yet.
    pub fn next_stop(&mut self) -> String {
        stop_words(&self.next_event("stopped"))
    }

    pub fn last_number(&self) -> i64 {
        self.number
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
        let ids = frames.clone().filter_map(|frame| frame["id"].as_u64());
        self.frame_ids = ids.collect();
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

    /// The response to the last request of this name.
    pub fn response(&self, command: &str) -> &Value {
        let mut all = self.all.iter().rev();
        all.find(|message| message["command"] == command)
            .expect("a response")
    }

    /// Events of this name so far.
    pub fn events(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.all
            .iter()
            .filter(move |message| message["event"] == name)
    }

    /// All output so far.
    pub fn output(&self) -> String {
        let texts = self
            .events("output")
            .filter_map(|message| message["body"]["output"].as_str());
        texts.collect()
    }

    /// Waits for a message of a recorded dialogue.
    pub fn awaits(&mut self, awaited: &Value) {
        let got = self.until("the dialogue", |message| {
            match awaited["response"].as_i64() {
                Some(request) => message["request_seq"] == request,
                None => message["event"] == awaited["event"],
            }
        });
        match awaited["response"].as_i64() {
            Some(_) => {
                assert_eq!(got["success"], awaited["message"].is_null(), "{got:#}");
                assert_eq!(got["message"], awaited["message"], "{got:#}");
                if !awaited["result"].is_null() {
                    assert_eq!(got["body"]["result"], awaited["result"], "{got:#}");
                }
            }
            None => {
                for key in ["reason", "description"] {
                    assert_eq!(got["body"][key], awaited[key], "{got:#}");
                }
            }
        }
    }

    /// Closes the pipe and interrupts the adapter, and waits for its end.
    pub fn leave_by_interrupt(mut self) {
        drop(self.stdin.take());
        let mut kill = Command::new("kill");
        kill.args(["-INT", &self.child.id().to_string()]);
        assert!(kill.status().expect("kill").success());
        self.all.extend(self.messages.iter());
        assert!(self.child.wait().expect("an end").success());
    }

    /// Kills the adapter.
    pub fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("an end");
    }

    /// Kills the adapter with all that runs below it, as the end of the machine does.
    pub fn kill_machine(&mut self) {
        kill_all(&mut self.child);
    }

    /// The client closes its side. Waits for the end of the adapter.
    pub fn close(&mut self) {
        drop(self.stdin.take());
        self.child.wait().expect("an end");
    }

    /// The client dies: both of its pipes close. Waits for the end of the adapter.
    pub fn die(&mut self) {
        drop(self.stdin.take());
        let socket = self.socket.take().expect("a socket");
        socket.shutdown(Shutdown::Both).expect("closed");
        self.child.wait().expect("an end");
    }

    /// Waits for the end of the job. Returns its exit code, with the adapter ended.
    pub fn end(mut self) -> u64 {
        self.ended()
    }

    /// The same. The messages are still there.
    pub fn ended(&mut self) -> u64 {
        let code = self.next_event("exited")["exitCode"].as_u64();
        let code = code.expect("a code");
        self.next_event("terminated");
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

fn stop_words(body: &Value) -> String {
    let text = |key: &str| body[key].as_str().expect("a text").to_owned();
    format!("{}: {}", text("reason"), text("description"))
}

/// Messages from a stream, read until its end.
fn received(from: impl Read + Send + 'static) -> Receiver<Value> {
    let (sender, messages) = channel();
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        while let Some(message) = frame(&mut from) {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    messages
}

impl Drop for DapTalk {
    fn drop(&mut self) {
        self.all.extend(self.messages.try_iter());
        if thread::panicking() {
            return;
        }
        let succeeded = |request: &&Value| {
            let mut all = self.all.iter();
            all.any(|one| one["request_seq"] == request["seq"] && one["success"] == true)
        };
        let sent = self.sent.iter().flatten().filter(succeeded);
        let sent = sent.map(|message| (Direction::ToAdapter, message));
        let got = self
            .all
            .iter()
            .map(|message| (Direction::ToClient, message));
        for (direction, message) in sent.chain(got) {
            if let Err(reason) = check(direction, message) {
                panic!("not of the protocol: {reason}");
            }
        }
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
