//! Trust of hooks. Codex runs a hook only once its user trusts it, and skips it silently before. Its own server lists the hooks
//! with their hashes, and stores the trust.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::{hook_table, neutral_dir, program};

/// Maximum time for an answer of its server.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A hook of ours that it lists.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ListedHook {
    key: String,
    hash: String,
    event: String,
    /// The file that has it.
    source: PathBuf,
    is_trusted: bool,
}

/// Files that have hooks of ours, each with the events.
pub type HookFiles = Vec<(PathBuf, Vec<String>)>;

/// Returns the events of our hooks that it skips: it does not trust them, or does not load their file.
pub fn untrusted(program: &Path, dir: &Path, files: &HookFiles) -> Result<Vec<String>> {
    let listed = Server::start(program)?.listed(dir)?;
    let mut skipped: Vec<String> = not_loaded(&listed, files)
        .flat_map(|(_, events)| events.clone())
        .collect();
    let untrusted = listed.into_iter().filter(|hook| !hook.is_trusted);
    skipped.extend(untrusted.map(|hook| hook.event));
    Ok(skipped)
}

/// True for a hook that setup would write now. Trust is for these alone: a hook of a stranger's project can look like ours, or
/// run a program that the project brings.
pub fn is_this(command: &str) -> bool {
    let written = hook_table::written_program(command, super::hooks::NAME);
    written.is_some_and(|path| program::is_this(&path))
}

/// The files of which it lists no hook: those of a project that it does not trust as a whole.
fn not_loaded<'a>(
    listed: &'a [ListedHook],
    files: &'a HookFiles,
) -> impl Iterator<Item = &'a (PathBuf, Vec<String>)> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    files
        .iter()
        .filter(move |(path, _)| listed.iter().all(|hook| real(&hook.source) != real(path)))
}

/// Has it trust our hooks. Returns the number of those that it did not trust before.
pub fn trust(program: &Path, dir: &Path, files: &HookFiles) -> Result<usize> {
    let mut server = Server::start(program)?;
    let listed = server.listed(dir)?;
    if let Some((path, _)) = not_loaded(&listed, files).next() {
        bail!(
            "it does not load {} until you trust the project: start `codex` in it and say so, then run this again",
            path.display()
        );
    }
    let is_left = |hook: &ListedHook| !hook.is_trusted;
    let found: Vec<ListedHook> = listed.into_iter().filter(is_left).collect();
    if found.is_empty() {
        return Ok(0);
    }
    let states = found
        .iter()
        .map(|hook| (hook.key.clone(), json!({ "trusted_hash": hook.hash })));
    let states: Map<String, Value> = states.collect();
    let edit = json!({ "keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert" });
    server.ask("config/batchWrite", &json!({ "edits": [edit] }))?;
    let left = server
        .listed(dir)?
        .iter()
        .filter(|hook| is_left(hook))
        .count();
    if left > 0 {
        bail!("it stored the trust, and does not trust {left} of them all the same");
    }
    Ok(found.len())
}

/// Has it forget its user's trust in our hooks of this file. `config`: the file with its settings.
pub fn forget(program: &Path, dir: &Path, file: &Path, config: Option<&Path>) -> Result<()> {
    let mut server = Server::start(program)?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let listed = server.listed(dir)?.into_iter();
    let ours = listed.filter(|hook| hook.is_trusted && real(&hook.source) == real(file));
    let remove =
        |path: String| json!({ "keyPath": path, "value": null, "mergeStrategy": "replace" });
    let edits: Vec<Value> = ours
        .map(|hook| remove(format!("hooks.state.{}", Value::from(hook.key))))
        .collect();
    if edits.is_empty() {
        return Ok(());
    }
    server.ask("config/batchWrite", &json!({ "edits": edits }))?;
    let left = config.and_then(|path| backstitch_core::read_settings(path).ok());
    let is_last = left.is_some_and(|text| !text.contains("[hooks.state."));
    if is_last {
        let edits = [remove("hooks.state".to_owned())];
        server.ask("config/batchWrite", &json!({ "edits": edits }))?;
    }
    Ok(())
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
            .current_dir(neutral_dir())
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

    /// Returns the hooks of ours that it loads in a directory.
    fn listed(&mut self, dir: &Path) -> Result<Vec<ListedHook>> {
        let listed = self.ask("hooks/list", &json!({ "cwds": [dir] }))?;
        let places = listed["data"].as_array().map_or(&[][..], Vec::as_slice);
        let hooks = places.iter().flat_map(|place| {
            let hooks = place["hooks"].as_array();
            hooks.map_or(&[][..], Vec::as_slice)
        });
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let ours = hooks.filter(|hook| is_this(hook["command"].as_str().unwrap_or_default()));
        let ours = ours.map(|hook| ListedHook {
            key: text(&hook["key"]),
            hash: text(&hook["currentHash"]),
            event: text(&hook["eventName"]),
            source: PathBuf::from(text(&hook["sourcePath"])),
            is_trusted: hook["trustStatus"] == "trusted",
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
