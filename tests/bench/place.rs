//! A workspace with its own home and an agent at work in it. All measurements run here.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::rng::Rng;
use crate::tree;

/// Start of the line that edits change; a number follows.
const LINE: &str = "// edit ";

/// Paths of the programs that are run.
#[derive(Debug)]
pub struct Programs {
    pub backstitch: PathBuf,
    pub nothing: PathBuf,
    /// Another build of Backstitch beside which the hook is measured.
    pub other: Option<Box<Programs>>,
}

#[derive(Debug)]
pub struct Place<'p> {
    programs: &'p Programs,
    dir: TempDir,
    pub root: PathBuf,
    calls: Cell<u32>,
    prompts: Cell<u32>,
    /// Peak memory of any process, in KiB, once it is recorded.
    peak: Cell<Option<u64>>,
}

/// A tool call with its two hook events.
#[derive(Debug)]
pub struct Call {
    before: Value,
    after: Value,
}

impl Call {
    /// The payload before the call.
    pub fn payload(&self) -> &Value {
        &self.before
    }
}

impl<'p> Place<'p> {
    /// Creates an empty workspace.
    pub fn new(programs: &'p Programs) -> Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("backstitch-bench-")
            .tempdir()?;
        let base = dir.path().canonicalize()?;
        for name in ["work", "home", "state", "beside"] {
            fs::create_dir(base.join(name))?;
        }
        Ok(Self {
            programs,
            dir,
            root: base.join("work"),
            calls: Cell::new(0),
            prompts: Cell::new(0),
            peak: Cell::new(None),
        })
    }

    /// Returns a path outside the workspace, on the same file system.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join("beside").join(name)
    }

    /// Returns a path in the directory of states.
    pub fn state(&self, name: &str) -> PathBuf {
        self.dir.path().join("state").join(name)
    }

    /// Deletes all recorded history.
    pub fn forget(&self) -> Result<()> {
        let state = self.dir.path().join("state");
        fs::remove_dir_all(&state)?;
        Ok(fs::create_dir(state)?)
    }

    // ---- processes -------------------------------------------------------------------------------------------------

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path().join("home"))
            .env("XDG_STATE_HOME", self.dir.path().join("state"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC");
        command
    }

    /// Runs Backstitch to its end. Returns the time from its start.
    pub fn run(&self, args: &[&str]) -> Result<Duration> {
        let mut command = self.command(&self.programs.backstitch);
        self.finish(command.args(args), b"")
            .with_context(|| format!("backstitch {args:?}"))
    }

    /// Starts recording the peak memory of each process.
    pub fn watch_memory(&self) {
        self.peak.set(Some(0));
    }

    /// Peak memory of any process, in MB.
    pub fn peak(&self) -> u64 {
        self.peak.get().unwrap_or(0) / 1024
    }

    fn finish(&self, command: &mut Command, input: &[u8]) -> Result<Duration> {
        let (took, memory) = run_to_end(command, input, self.peak.get().is_some())?;
        self.peak.set(self.peak.get().map(|peak| peak.max(memory)));
        Ok(took)
    }

    /// A Backstitch command for a caller that talks to it over pipes.
    pub fn server(&self) -> Command {
        self.command(&self.programs.backstitch)
    }

    /// Creates an empty workspace next to this one.
    pub fn another(&self) -> Result<Self> {
        Self::new(self.programs)
    }

    /// Creates an empty workspace of the other build; None if none is given.
    pub fn of_other(&self) -> Result<Option<Self>> {
        let other = self.programs.other.as_deref();
        other.map(Self::new).transpose()
    }

    /// Runs `bench-nothing` with these arguments. Returns its time.
    pub fn nothing<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Result<Duration> {
        finish(self.command(&self.programs.nothing).args(args), b"")
    }

    /// Sends an event to the hook.
    fn hook(&self, payload: &Value) -> Result<Duration> {
        self.finish(&mut self.hook_process(), payload.to_string().as_bytes())
    }

    /// Sends a payload to the hook of this agent.
    pub fn hook_of(&self, agent: &str, payload: &[u8]) -> Result<Duration> {
        let mut command = self.command(&self.programs.backstitch);
        command.args(["hook", agent]);
        self.finish(&mut command, payload)
    }

    fn hook_process(&self) -> Command {
        let mut command = self.command(&self.programs.backstitch);
        command
            .args(["hook", "claude-code"])
            .env("CLAUDE_PROJECT_DIR", &self.root);
        command
    }

    /// A hook that may hold its call. Commands of this process, which is the agent too, may decide on it.
    pub fn held_hook(&self) -> Result<Command> {
        let dir = self.dir.path().join("home/.config/backstitch");
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("config.toml"), "[agents]\nallowControl = true\n")?;
        let mut command = self.hook_process();
        command
            .args(["--limit", "600"])
            .env("CLAUDE_CODE_SESSION_ATTENDED", "0");
        Ok(command)
    }

    /// Returns the output of a command.
    pub fn said(&self, args: &[&str]) -> Result<String> {
        let output = self
            .command(&self.programs.backstitch)
            .args(args)
            .output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    // ---- the agent -------------------------------------------------------------------------------------------------

    fn event(&self, name: &str, fields: Value) -> Value {
        let mut payload = json!({
            "session_id": "00000000-0000-4000-8000-000000000001",
            "transcript_path": self.dir.path().join("home/transcript.jsonl"),
            "cwd": self.root,
            "hook_event_name": name,
            "prompt_id": format!("prompt-{}", self.prompts.get()),
            "permission_mode": "acceptEdits",
        });
        if let (Value::Object(all), Value::Object(fields)) = (&mut payload, fields) {
            all.extend(fields);
        }
        payload
    }

    /// Sends a prompt of the user. Returns the name of the turn.
    pub fn prompt(&self) -> Result<String> {
        self.hook(&self.next_prompt())?;
        Ok(format!("t{}", self.prompts.get()))
    }

    /// The same as a closure that another thread can run.
    pub fn prompting(&self) -> impl FnOnce() -> Result<Duration> + Send + use<> {
        let (mut process, payload) = (self.hook_process(), self.next_prompt().to_string());
        move || finish(&mut process, payload.as_bytes())
    }

    fn next_prompt(&self) -> Value {
        self.prompts.set(self.prompts.get() + 1);
        self.event("UserPromptSubmit", json!({"prompt": "go on"}))
    }

    fn call(&self, tool: &str, input: &Value, response: &Value) -> Call {
        self.calls.set(self.calls.get() + 1);
        let both = json!({
            "tool_name": tool, "tool_input": input, "tool_use_id": format!("toolu_{}", self.calls.get()),
        });
        let before = self.event("PreToolUse", both.clone());
        let mut after = self.event("PostToolUse", both);
        after["tool_response"] = response.clone();
        after["duration_ms"] = json!(12);
        Call { before, after }
    }

    /// Writes a file of about this many bytes, with the line that edits change in the middle.
    pub fn write_edited(&self, path: &str, bytes: usize) -> Result<()> {
        let text = tree::text(&mut Rng::new(40), bytes);
        let middle = text.len() / 2;
        let end = middle + text[middle..].find('\n').context("a line")?;
        let text = format!("{}\n{LINE}0;{}", &text[..end], &text[end..]);
        Ok(fs::write(self.root.join(path), text)?)
    }

    /// Returns the next edit of that line as a call, ready to be sent and applied.
    pub fn edit(&self, path: &str) -> Result<Call> {
        let full = self.root.join(path);
        let text = fs::read_to_string(&full)?;
        let (_, rest) = text.split_once(LINE).context("a line to edit")?;
        let (number, _) = rest.split_once(';').context("a number")?;
        let number: u32 = number.parse()?;
        let (old, new) = (format!("{LINE}{number};"), format!("{LINE}{};", number + 1));
        let input = json!({
            "file_path": full, "old_string": old, "new_string": new, "replace_all": false,
        });
        let response = json!({
            "filePath": full, "oldString": old, "newString": new, "originalFile": text,
            "structuredPatch": [], "userModified": false, "replaceAll": false,
        });
        Ok(self.call("Edit", &input, &response))
    }

    /// A call of a tool that writes a whole file.
    pub fn write_call(&self, path: &str, content: &str) -> Call {
        let path = self.root.join(path);
        let input = json!({"file_path": path, "content": content});
        let response = json!({
            "type": "update", "filePath": path, "content": content, "structuredPatch": [], "originalFile": null,
        });
        self.call("Write", &input, &response)
    }

    /// A call of a tool that reads a file.
    pub fn read_call(&self, path: &str) -> Call {
        let input = json!({"file_path": self.root.join(path)});
        self.call("Read", &input, &json!({"type": "text"}))
    }

    /// A call of a shell command.
    pub fn shell(&self) -> Call {
        let input = json!({"command": "./change-much", "description": "change much"});
        let response = json!({"stdout": "", "stderr": "", "interrupted": false, "isImage": false});
        self.call("Bash", &input, &response)
    }

    pub fn before(&self, call: &Call) -> Result<Duration> {
        self.hook(&call.before)
    }

    pub fn after(&self, call: &Call) -> Result<Duration> {
        self.hook(&call.after)
    }

    /// Applies an edit to the file.
    pub fn apply(call: &Call) -> Result<()> {
        let text = |value: &Value| value.as_str().context("a text").map(str::to_owned);
        let input = &call.before["tool_input"];
        let path = text(&input["file_path"])?;
        let content = fs::read_to_string(&path)?;
        let (old, new) = (text(&input["old_string"])?, text(&input["new_string"])?);
        Ok(fs::write(path, content.replacen(&old, &new, 1))?)
    }

    /// Runs a whole edit of that line.
    pub fn whole_edit(&self, path: &str) -> Result<()> {
        let call = self.edit(path)?;
        self.before(&call)?;
        Self::apply(&call)?;
        self.after(&call)?;
        Ok(())
    }

    /// Path of the store's database.
    pub fn store(&self) -> Result<PathBuf> {
        let all = self.dir.path().join("state/backstitch/workspaces");
        let store = fs::read_dir(all)?.next().context("a store")??.path();
        Ok(store.join("store.db"))
    }

    pub fn database(&self) -> Result<Connection> {
        Ok(Connection::open(self.store()?)?)
    }

    /// Size of the store in bytes, after a checkpoint of the write-ahead log.
    pub fn store_bytes(&self) -> Result<u64> {
        let path = self.store()?;
        let store = path.parent().context("a directory")?;
        let db = Connection::open(&path)?;
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        drop(db);
        let mut bytes = 0;
        for file in crate::floor::walk(store)? {
            bytes += file.metadata()?.len();
        }
        Ok(bytes)
    }
}

/// Runs a command to its end with this on standard input. Returns its time. The command must succeed and print nothing
/// on stderr.
fn finish(command: &mut Command, input: &[u8]) -> Result<Duration> {
    Ok(run_to_end(command, input, false)?.0)
}

fn run_to_end(command: &mut Command, input: &[u8], watch: bool) -> Result<(Duration, u64)> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let began = Instant::now();
    let mut child = command.spawn()?;
    let mut pipe = child.stdin.take().context("a pipe")?;
    let status = format!("/proc/{}/status", child.id());
    let memory = watch.then(|| std::thread::spawn(move || peak_of(&status)));
    // a process that does not read its input closes it
    drop(pipe.write_all(input));
    drop(pipe);
    let output = child.wait_with_output()?;
    let took = began.elapsed();
    let memory = memory.and_then(|thread| thread.join().ok()).unwrap_or(0);
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success() && said.is_empty(),
        "{}: {said}",
        output.status
    );
    Ok((took, memory))
}

/// Peak memory of a process until its end, in KiB. Growth in its last moments may be missed.
fn peak_of(status: &str) -> u64 {
    let mut peak = 0;
    while let Ok(text) = fs::read_to_string(status) {
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let Some(now) = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse().ok())
        else {
            break;
        };
        peak = now;
        std::thread::sleep(Duration::from_micros(300));
    }
    peak
}
