//! Trust of hooks. Codex runs a hook only once its user trusts it, and skips it silently before. Its own server lists the hooks
//! with their hashes, and stores the trust.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

/// Maximum time for an answer of its server.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A hook of ours that is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Untrusted {
    key: String,
    hash: String,
    event: String,
}

/// Returns the events of our hooks that it skips.
pub fn untrusted(program: &Path, dir: &Path) -> Result<Vec<String>> {
    let found = Server::start(program)?.untrusted(dir)?;
    Ok(found.into_iter().map(|hook| hook.event).collect())
}

/// Has it trust our hooks. Returns the number of those that it did not trust before.
pub fn trust(program: &Path, dir: &Path) -> Result<usize> {
    let mut server = Server::start(program)?;
    let found = server.untrusted(dir)?;
    if found.is_empty() {
        return Ok(0);
    }
    let states = found
        .iter()
        .map(|hook| (hook.key.clone(), json!({ "trusted_hash": hook.hash })));
    let states: Map<String, Value> = states.collect();
    let edit = json!({ "keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert" });
    server.ask("config/batchWrite", &json!({ "edits": [edit] }))?;
    let left = server.untrusted(dir)?;
    if !left.is_empty() {
        bail!(
            "it stored the trust, and does not trust {} of them all the same",
            left.len()
        );
    }
    Ok(found.len())
}

/// `codex app-server`: JSON-RPC, a message a line.
struct Server {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    number: i64,
}

impl Server {
    fn start(program: &Path) -> Result<Self> {
        let doing = || format!("{} app-server", program.display());
        let mut child = Command::new(program)
            .arg("app-server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(doing)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("{} has no pipes", doing());
        };
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut server = Self {
            child,
            stdin,
            lines,
            number: 0,
        };
        let about = json!({ "name": "backstitch", "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({ "clientInfo": about, "capabilities": { "experimentalApi": true } });
        server.ask("initialize", &hello).with_context(doing)?;
        server.send(&json!({ "method": "initialized" }))?;
        Ok(server)
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes())?;
        Ok(self.stdin.flush()?)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.number += 1;
        let id = self.number;
        self.send(&json!({ "id": id, "method": method, "params": params }))?;
        loop {
            let line = self.lines.recv_timeout(TIMEOUT);
            let line = line.with_context(|| format!("no answer to {method}"))?;
            let Ok(mut message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if message["id"] != id {
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!(
                    "{method}: {}",
                    error["message"].as_str().unwrap_or("refused")
                );
            }
            return Ok(message["result"].take());
        }
    }

    fn untrusted(&mut self, dir: &Path) -> Result<Vec<Untrusted>> {
        let listed = self.ask("hooks/list", &json!({ "cwds": [dir] }))?;
        let places = listed["data"].as_array().map_or(&[][..], Vec::as_slice);
        let hooks = places.iter().flat_map(|place| {
            let hooks = place["hooks"].as_array();
            hooks.map_or(&[][..], Vec::as_slice)
        });
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let ours = hooks.filter(|hook| {
            let command = hook["command"].as_str().unwrap_or_default();
            super::TABLE.is_our_command(command) && hook["trustStatus"] != "trusted"
        });
        let ours = ours.map(|hook| Untrusted {
            key: text(&hook["key"]),
            hash: text(&hook["currentHash"]),
            event: text(&hook["eventName"]),
        });
        Ok(ours.collect())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
