//! The MCP server over the real binary, with clients that speak the protocol.

mod editors;
mod guard;
mod lines;
mod official;
mod opencode;
mod proposals;
mod resources;
mod structured;
mod tools;
mod versions;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::World;

/// The server as an agent starts it. `timeout` stands for the agent: the commands of a test do not come from inside of
/// it.
fn server(world: &World) -> Command {
    let server = world.backstitch();
    let mut command = world.command("timeout");
    command.arg("300").arg(server.get_program()).arg("mcp");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// The client of the Rust library.
struct LibraryClient {
    runtime: Runtime,
    service: Option<RunningService<RoleClient, ()>>,
}

/// A tool's answer.
#[derive(Debug)]
struct Said {
    is_error: bool,
    text: String,
    document: Value,
}

impl LibraryClient {
    /// A client of the last version with a handshake.
    fn start(world: &World) -> Self {
        Self::with(world, ClientLifecycleMode::Initialize)
    }

    /// A client of the newest version, without a handshake.
    fn newest(world: &World) -> Self {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        Self::with(world, ClientLifecycleMode::Discover { preferred_versions })
    }

    fn with(world: &World, lifecycle: ClientLifecycleMode) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let command = tokio::process::Command::from(server(world));
        let service = runtime.block_on(async {
            let transport = TokioChildProcess::new(command).expect("a server");
            ().serve_with_lifecycle(transport, lifecycle)
                .await
                .expect("a session")
        });
        Self {
            runtime,
            service: Some(service),
        }
    }

    fn service(&self) -> &RunningService<RoleClient, ()> {
        self.service.as_ref().expect("a session")
    }

    fn call_raw(&self, name: &str, arguments: &Value) -> Result<CallToolResult, ServiceError> {
        let mut params = CallToolRequestParams::new(name.to_owned());
        if let Value::Object(arguments) = arguments {
            params = params.with_arguments(arguments.clone());
        }
        self.runtime.block_on(self.service().call_tool(params))
    }

    fn call(&self, name: &str, arguments: &Value) -> Said {
        let result = self.call_raw(name, arguments).expect("an answer");
        let texts = result.content.iter().filter_map(|block| block.as_text());
        Said {
            is_error: result.is_error == Some(true),
            text: texts.map(|text| text.text.clone()).collect(),
            document: result.structured_content.expect("a document"),
        }
    }

    /// An answer that is not an error.
    #[track_caller]
    fn ok(&self, name: &str, arguments: &Value) -> Said {
        let said = self.call(name, arguments);
        assert!(!said.is_error, "{name} {arguments}: {said:#?}");
        said
    }

    /// A failure: its kind, and the text that the model reads.
    #[track_caller]
    fn fails(&self, name: &str, arguments: &Value) -> (String, String) {
        let said = self.call(name, arguments);
        assert!(said.is_error, "{name} {arguments}: {said:#?}");
        let kind = said.document["error"]["kind"].as_str().expect("a kind");
        (kind.to_owned(), said.text)
    }

    /// Closes the session, and waits for the server's end.
    fn end(mut self) {
        if let Some(service) = self.service.take() {
            self.runtime
                .block_on(service.cancel())
                .expect("an orderly end");
        }
    }
}

impl Drop for LibraryClient {
    fn drop(&mut self) {
        if let Some(service) = self.service.take() {
            self.runtime.block_on(service.cancel()).ok();
        }
    }
}

/// A client that writes its messages by itself.
pub struct PlainClient {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    id: i64,
}

impl PlainClient {
    /// A server without a session yet.
    fn start(world: &World) -> Self {
        let mut child = server(world).spawn().expect("a server");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            stdin,
            stdout,
            id: 0,
        }
    }

    /// Sends a signal, such as `-STOP`, to the server: the one child of the program that stands for the agent.
    pub fn signal(&self, signal: &str) {
        let agent = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{agent}/task/{agent}/children"));
        let id = children.expect("an agent");
        let sent = std::process::Command::new("kill")
            .args([signal, id.trim()])
            .status();
        assert!(sent.expect("kill").success());
    }

    /// Stops the server at a moment in which it holds no lock of a database: nobody else waits for it then.
    pub fn stop(&self, world: &World) {
        let is_free = |name: &str| {
            let db = rusqlite::Connection::open(world.store().join(name)).expect("a database");
            db.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok()
        };
        loop {
            self.signal("-STOP");
            if ["control.db", "store.db"].into_iter().all(is_free) {
                return;
            }
            self.signal("-CONT");
        }
    }

    pub fn begun(world: &World) -> Self {
        let mut client = Self::start(world);
        client.begin("2025-11-25");
        client
    }

    /// The handshake; the answer to it.
    fn begin(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "plain", "version": "1" },
        });
        let answer = self.ask("initialize", &params);
        self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    fn write(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().expect("open");
        stdin.write_all(line.as_ref()).expect("written");
        stdin.write_all(b"\n").expect("written");
    }

    /// Sends a request, and returns its id.
    fn send(&mut self, method: &str, params: &Value) -> i64 {
        self.id += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.write(message.to_string());
        self.id
    }

    /// The next message of the server. None: it has ended.
    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let count = self.stdout.read_line(&mut line).expect("a line");
        (count > 0).then(|| {
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
        })
    }

    /// The answer to a request.
    pub fn answer_to(&mut self, id: i64) -> Value {
        loop {
            let message = self.next().expect("an answer");
            if message["id"] == id {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer_to(id)
    }

    pub fn send_call(&mut self, name: &str, arguments: &Value) -> i64 {
        self.send(
            "tools/call",
            &json!({ "name": name, "arguments": arguments }),
        )
    }

    /// Calls a tool; its document.
    fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let id = self.send_call(name, arguments);
        let answer = self.answer_to(id);
        answer["result"]["structuredContent"].clone()
    }

    /// Kills the server, as a crash does, and not the stand-in for its agent.
    fn kill(mut self) {
        let id = self.child.id();
        let children = format!("/proc/{id}/task/{id}/children");
        let server = std::fs::read_to_string(children).expect("children");
        let killed = Command::new("kill")
            .arg("-9")
            .args(server.split_whitespace())
            .status();
        assert!(killed.expect("kill").success());
        self.child.wait().expect("ended");
    }

    /// Closes stdin, and returns the exit status and what the server still said.
    fn close(mut self) -> (Option<i32>, Vec<Value>) {
        self.stdin = None;
        let mut left = Vec::new();
        while let Some(message) = self.next() {
            left.push(message);
        }
        (self.child.wait().expect("ended").code(), left)
    }
}

/// A workspace with one turn of an agent that has changed `two` to `TWO`, and a line of the user's own after it.
pub fn recorded() -> World {
    let world = World::committed(&[("a.txt", "one\ntwo\nthree\n")]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("shout");
    agent.edit("a.txt", "two", "TWO");
    agent.stop();
    world.write("a.txt", "one\nTWO\nthree\nmine\n");
    world
}
