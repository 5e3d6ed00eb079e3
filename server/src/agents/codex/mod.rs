//! Codex CLI: its events, its answers, and its settings. Edits are patches with the paths in their headers. It runs a hook only
//! once its user trusts it; `trust` asks for that in the agent's own way.

mod answers;
mod events;
mod hooks;
mod spec;
mod tools;
mod trust;

use crate::agents::adapter::{Agent, HookEdit, Hooks, ParseError};
use crate::agents::answer::{Answer, HookOutput};
use crate::agents::machine::home;
use crate::agents::settings_plan::SettingsPlan;
use crate::agents::spec::AgentSpec;
use anyhow::{Context, Result};
use backstitch_core::capture::AgentEvent;
use hooks::TABLE;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct Codex;

impl Agent for Codex {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        events::parse(payload)
    }

    fn longest_hold(&self, event: &AgentEvent) -> Option<Duration> {
        events::longest_hold(event)
    }

    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        answers::encode(event, answer)
    }

    fn error_text(&self, payload: &[u8]) -> Option<String> {
        events::error_text(payload)
    }

    fn tools(&self) -> Vec<&'static str> {
        tools::tools()
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        tools::command(tool, input)
    }

    fn is_attended(&self) -> bool {
        // a question would let the call run
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hook_event_name": "UserPromptSubmit",
            "session_id": "backstitch-doctor",
            "turn_id": "backstitch-doctor",
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

    fn untrusted(&self, dir: &Path) -> Option<Result<Vec<String>>> {
        let files = self.hook_files(dir);
        if files.is_empty() {
            return Some(Ok(Vec::new()));
        }
        let program = self.program().context("codex is not on the search path");
        Some(program.and_then(|program| trust::untrusted(&program, dir, &files)))
    }

    fn trust(&self, dir: &Path) -> Result<usize> {
        let program = self.program().context("codex is not on the search path")?;
        trust::trust(&program, dir, &self.hook_files(dir))
    }

    fn forget_trust(&self, settings: &Path) -> Result<()> {
        let (Some(own), true) = (
            settings.parent(),
            !self.examine(settings)?.entries.is_empty(),
        ) else {
            return Ok(());
        };
        let program = self.program().context("codex is not on the search path")?;
        let dir = own.parent().unwrap_or(own);
        let config = user_directory().map(|dir| dir.join("config.toml"));
        trust::forget(&program, dir, settings, config.as_deref())
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        let directory = match project {
            Some(root) => Some(root.join(".codex")),
            None => user_directory(),
        };
        directory
            .map(|dir| dir.join("hooks.json"))
            .into_iter()
            .collect()
    }

    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        TABLE.plan(settings, edit)
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        TABLE.examine(settings)
    }
}

impl Codex {
    /// Returns the files of the user and of a project that have hooks of ours.
    fn hook_files(self, dir: &Path) -> trust::HookFiles {
        let all = [None, Some(dir)].into_iter();
        let all = all.flat_map(|project| self.settings(project));
        let all = all.filter_map(|path| {
            let entries = self.examine(&path).ok()?.entries.into_iter();
            let ours = entries.filter(|entry| trust::is_this(&entry.text));
            Some((path, ours.map(|entry| entry.event).collect()))
        });
        all.filter(|(_, events): &(PathBuf, Vec<String>)| !events.is_empty())
            .collect()
    }
}

/// Returns the directory of the user's settings.
fn user_directory() -> Option<PathBuf> {
    let named = std::env::var_os("CODEX_HOME").filter(|dir| !dir.is_empty());
    named
        .map(PathBuf::from)
        .or_else(|| home().map(|home| home.join(".codex")))
}
