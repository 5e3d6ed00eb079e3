//! The demo's agent: a fixed script that executes real tool calls and reports them to the real hook. The
//! payloads are Claude Code's, with one process for each event.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::scratch::Scratch;
use backstitch_core::launch;

/// Time in seconds for which a call is held.
const HOLD: &str = "120";

const SESSION: &str = "5eed0000-0000-4000-8000-00000000demo";

pub struct DemoAgent<'a> {
    scratch: &'a Scratch,
    root: PathBuf,
    prompts: u32,
    calls: u32,
}

impl<'a> DemoAgent<'a> {
    pub fn start(scratch: &'a Scratch) -> Result<Self> {
        let agent = Self {
            scratch,
            root: scratch.workspace(),
            prompts: 0,
            calls: 0,
        };
        agent.send("SessionStart", json!({ "source": "startup" }))?;
        Ok(agent)
    }

    pub fn prompt(&mut self, text: &str) -> Result<()> {
        self.prompts += 1;
        self.send("UserPromptSubmit", json!({ "prompt": text }))
    }

    pub fn edit(&mut self, path: &str, old: &str, new: &str) -> Result<()> {
        let file = self.root.join(path);
        let input = json!({ "file_path": file, "old_string": old, "new_string": new });
        self.call("Edit", &input, || {
            let text = fs::read_to_string(&file)?;
            ensure!(
                text.contains(old),
                "{path} does not contain what is to be replaced"
            );
            fs::write(&file, text.replacen(old, new, 1))?;
            Ok(json!({ "filePath": file, "originalFile": text, "userModified": false }))
        })
    }

    pub fn write(&mut self, path: &str, content: &str) -> Result<()> {
        let file = self.root.join(path);
        let input = json!({ "file_path": file, "content": content });
        self.call("Write", &input, || {
            fs::write(&file, content)?;
            Ok(json!({ "type": "create", "filePath": file, "originalFile": null }))
        })
    }

    pub fn bash(&mut self, command: &str) -> Result<()> {
        let root = self.root.clone();
        self.call("Bash", &json!({ "command": command }), || {
            let output = launch::shell(command).current_dir(root).output();
            let output = output.context("the demo needs `sh`")?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "`{command}`: {stderr}");
            Ok(json!({ "stdout": "", "stderr": "", "interrupted": false }))
        })
    }

    pub fn stop(&self) -> Result<()> {
        self.send(
            "Stop",
            json!({ "stop_hook_active": false, "background_tasks": [] }),
        )
    }

    /// Announces an edit that a breakpoint holds, until somebody decides. Returns the reason for which it is refused.
    pub fn held_edit(&mut self, path: &str, old: &str, new: &str) -> Result<String> {
        self.calls += 1;
        let payload = json!({
            "tool_name": "Edit",
            "tool_input": { "file_path": self.root.join(path), "old_string": old, "new_string": new },
            "tool_use_id": format!("toolu_demo_{}", self.calls),
        });
        let answer = self.ask("PreToolUse", payload)?;
        let answer: Value = serde_json::from_str(&answer).context("the hook's answer")?;
        let reason = &answer["hookSpecificOutput"]["permissionDecisionReason"];
        Ok(reason.as_str().unwrap_or_default().to_owned())
    }

    /// Announces a call, executes it and reports the result.
    fn call(
        &mut self,
        tool: &str,
        input: &Value,
        act: impl FnOnce() -> Result<Value>,
    ) -> Result<()> {
        self.calls += 1;
        let mut payload = json!({
            "tool_name": tool,
            "tool_input": input,
            "tool_use_id": format!("toolu_demo_{}", self.calls),
        });
        self.send("PreToolUse", payload.clone())?;
        payload["tool_response"] = act().with_context(|| format!("the agent's {tool}"))?;
        self.send("PostToolUse", payload)
    }

    fn send(&self, event: &str, payload: Value) -> Result<()> {
        let answer = self.ask(event, payload)?;
        ensure!(answer.is_empty(), "the hook answered at {event}");
        Ok(())
    }

    /// Sends an event, and returns the hook's answer.
    fn ask(&self, event: &str, mut payload: Value) -> Result<String> {
        payload["session_id"] = SESSION.into();
        payload["cwd"] = json!(self.root);
        payload["hook_event_name"] = event.into();
        if self.prompts > 0 {
            payload["prompt_id"] = format!("prompt-{}", self.prompts).into();
        }
        let mut command = Command::new(std::env::current_exe()?);
        self.scratch.environment(&mut command);
        let mut hook = command
            .args(["hook", "claude-code", "--limit", HOLD, "--workspace"])
            // nobody sits before this agent: a held call waits for a command
            .env("CLAUDE_CODE_SESSION_ATTENDED", "0")
            .arg(&self.root)
            .arg("--store-dir")
            .arg(self.scratch.store())
            .current_dir(&self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting the hook")?;
        let mut stdin = hook.stdin.take().context("the hook has no stdin")?;
        stdin.write_all(payload.to_string().as_bytes())?;
        drop(stdin);
        let output = hook.wait_with_output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success() && stderr.is_empty(),
            "the hook at {event}: {stderr}"
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
