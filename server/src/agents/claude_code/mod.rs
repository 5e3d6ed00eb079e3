//! Claude Code. Owns where its settings are; `events` has its events, `answers` the answers to them, and
//! `hooks` the entries in its settings.

mod answers;
mod events;
mod hooks;
mod spec;
mod tokens;

use std::path::{Path, PathBuf};

use anyhow::Result;
use backstitch_core::capture::AgentEvent;
use serde_json::{Value, json};

use crate::agents::adapter::{Agent, HookEdit, Hooks, ParseError};
use crate::agents::answer::{Answer, HookOutput};
use crate::agents::fields::command_text;
use crate::agents::machine::home;
use crate::agents::settings_plan::SettingsPlan;
use crate::agents::spec::AgentSpec;

pub use spec::RULES;

#[derive(Clone, Copy, Debug)]
pub struct ClaudeCode;

impl Agent for ClaudeCode {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        events::parse(payload)
    }

    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        answers::encode(event, answer)
    }

    fn tools(&self) -> Vec<&'static str> {
        let writing = ["Edit", "MultiEdit", "Write", "NotebookEdit", "Bash"];
        writing
            .into_iter()
            .chain(events::READ_ONLY_TOOLS.iter().copied())
            .collect()
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        // Bash, and others that run a command: Monitor, PowerShell
        let is_reader = events::READ_ONLY_TOOLS.contains(&tool);
        command_text(input, self.tools().contains(&tool)).filter(|_| !is_reader)
    }

    fn tokens(&self, transcript: &Path, prompt_id: Option<&str>) -> Option<u64> {
        tokens::of_turn(transcript, prompt_id)
    }

    fn is_attended(&self) -> bool {
        // headless it is 0, and a question means a refusal there
        std::env::var_os("CLAUDE_CODE_SESSION_ATTENDED").is_none_or(|value| value != "0")
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hook_event_name": "UserPromptSubmit",
            "session_id": "backstitch-doctor",
            "transcript_path": dir.join("none.jsonl"),
            "cwd": dir,
            "prompt": prompt,
        });
        payload.to_string().into_bytes()
    }

    fn found(&self) -> Option<String> {
        let directory = user_directory().filter(|dir| dir.is_dir());
        let found = directory.or_else(|| self.program())?;
        Some(found.display().to_string())
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        match project {
            Some(root) => ["settings.json", "settings.local.json"]
                .map(|name| root.join(".claude").join(name))
                .into(),
            None => user_directory()
                .map(|dir| dir.join("settings.json"))
                .into_iter()
                .collect(),
        }
    }

    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        hooks::TABLE.plan(settings, edit)
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        hooks::TABLE.examine(settings)
    }
}

/// Returns the directory of the user's settings.
fn user_directory() -> Option<PathBuf> {
    let named = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty());
    named
        .map(PathBuf::from)
        .or_else(|| home().map(|home| home.join(".claude")))
}
