//! A client of the language server over its real pipes. Each message gets the time at which it was read, before it is
//! parsed.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

/// Timeout: longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Debug)]
pub struct Client {
    child: Child,
    stdin: ChildStdin,
    incoming: Receiver<(Instant, Vec<u8>)>,
    next: u64,
}

/// A message and the time of its arrival.
#[derive(Debug)]
pub struct Received {
    pub at: Instant,
    pub message: Value,
}

impl Client {
    /// Starts a server for the workspace at `root` and initializes it.
    pub fn start(mut command: Command, root: &Path) -> Result<Self> {
        command
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().context("a pipe")?;
        let mut stdout = BufReader::new(child.stdout.take().context("a pipe")?);
        let (tell, incoming) = channel();
        std::thread::spawn(move || {
            while let Ok(body) = read(&mut stdout) {
                if tell.send((Instant::now(), body)).is_err() {
                    return;
                }
            }
        });
        let mut client = Self {
            child,
            stdin,
            incoming,
            next: 0,
        };
        let root = uri(root);
        client.request(
            "initialize",
            &json!({
                "processId": null,
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": "work"}],
                "capabilities": {"workspace": {"codeLens": {"refreshSupport": true}}},
                "initializationOptions": {"backstitch": {"notifications": true, "reloadsFromDisk": true}},
            }),
        )?;
        client.notify("initialized", &json!({}))?;
        Ok(client)
    }

    pub fn open(&mut self, uri: &str, text: &str) -> Result<()> {
        let document = json!({"uri": uri, "languageId": "rust", "version": 1, "text": text});
        self.notify("textDocument/didOpen", &json!({"textDocument": document}))
    }

    pub fn notify(&mut self, method: &str, params: &Value) -> Result<()> {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    /// Sends a request and waits for its response. Returns the round-trip time and the response.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<(Duration, Value)> {
        let (message, id) = self.message(method, params);
        let began = Instant::now();
        self.write_raw(&message)?;
        self.answer(began, id)
    }

    /// Sends a notification and a request right behind it.
    pub fn notify_and_request(
        &mut self,
        (notification, told): (&str, &Value),
        (method, asked): (&str, &Value),
    ) -> Result<(Duration, Value)> {
        let notification = json!({"jsonrpc": "2.0", "method": notification, "params": told});
        let mut both = framed(&notification);
        let (message, id) = self.message(method, asked);
        both.extend(message);
        let began = Instant::now();
        self.write_raw(&both)?;
        self.answer(began, id)
    }

    /// Sends a request that does nothing: the server returns its parameters.
    pub fn noop(&mut self) -> Result<Duration> {
        let (method, params) = noop();
        Ok(self.request(method, &params)?.0)
    }

    /// Waits for the next message of the server with this method.
    pub fn wait_for(&mut self, method: &str) -> Result<Received> {
        loop {
            let received = self
                .receive(PATIENCE)?
                .context("a server that says nothing")?;
            if received.message["method"] == method {
                return Ok(received);
            }
        }
    }

    /// Reads messages until none has come for this long.
    pub fn wait_until_quiet(&mut self, quiet: Duration) -> Result<()> {
        while self.receive(quiet)?.is_some() {}
        Ok(())
    }

    /// Resident memory in MB; None where the system does not report it.
    pub fn memory(&self) -> Option<f64> {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).ok()?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
        let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kib / 1024.0)
    }

    pub fn leave(mut self) -> Result<()> {
        self.request("shutdown", &Value::Null)?;
        self.notify("exit", &Value::Null)?;
        self.child.wait()?;
        Ok(())
    }

    fn message(&mut self, method: &str, params: &Value) -> (Vec<u8>, u64) {
        self.next += 1;
        let id = self.next;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        (framed(&message), id)
    }

    fn answer(&mut self, began: Instant, id: u64) -> Result<(Duration, Value)> {
        loop {
            let received = self
                .receive(PATIENCE)?
                .context("a server that says nothing")?;
            let mut message = received.message;
            if message["id"] == id && message.get("method").is_none() {
                ensure!(message.get("error").is_none(), "{}", message["error"]);
                return Ok((received.at - began, message["result"].take()));
            }
        }
    }

    /// Reads the next message. Requests of the server are answered with null.
    fn receive(&mut self, patience: Duration) -> Result<Option<Received>> {
        let (at, body) = match self.incoming.recv_timeout(patience) {
            Ok(received) => received,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("the server has ended"),
        };
        let message: Value = serde_json::from_slice(&body)?;
        if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
            self.write(&json!({"jsonrpc": "2.0", "id": id, "result": null}))?;
        }
        Ok(Some(Received { at, message }))
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        self.write_raw(&framed(message))
    }

    fn write_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.stdin.write_all(bytes)?;
        Ok(self.stdin.flush()?)
    }
}

/// Kills the server of a client that was not shut down.
impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A request to which the server does nothing.
pub fn noop() -> (&'static str, Value) {
    let at = json!({"line": 0, "character": 0});
    let lens = json!({"range": {"start": at, "end": at}, "command": {"title": "", "command": ""}});
    ("codeLens/resolve", lens)
}

pub fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn read(from: &mut BufReader<ChildStdout>) -> Result<Vec<u8>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        ensure!(from.read_line(&mut line)? > 0, "the end");
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length:") {
            length = Some(value.trim().parse()?);
        }
    }
    let mut body = vec![0; length.context("a length")?];
    from.read_exact(&mut body)?;
    Ok(body)
}
