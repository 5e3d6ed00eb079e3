//! Qwen Code: its events, its answers, and its settings. A prompt is reported again after each result of a tool; only the first
//! time it has `submitted_prompt`.

mod answers;
mod events;
mod hooks;
mod spec;

use crate::agents::adapter::{Agent, HookEdit, Hooks, ParseError};
use crate::agents::answer::{Answer, HookOutput};
use crate::agents::gemini_family as family;
use crate::agents::machine::home;
use crate::agents::settings_plan::SettingsPlan;
use crate::agents::spec::AgentSpec;
use crate::agents::trusted_folders;
use anyhow::Result;
use backstitch_core::capture::AgentEvent;
use hooks::TABLE;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug)]
pub struct Qwen;

impl Agent for Qwen {
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
        family::tools("edit")
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        family::command(&self.tools(), tool, input)
    }

    fn is_attended(&self) -> bool {
        // nothing in a hook's environment tells
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hook_event_name": "UserPromptSubmit",
            "session_id": "backstitch-doctor",
            "transcript_path": dir.join("none.jsonl"),
            "cwd": dir,
            "prompt": prompt,
            "submitted_prompt": prompt,
        });
        payload.to_string().into_bytes()
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".qwen"));
        let settings = directory.map(|dir| dir.join("settings.json"));
        let found = self.program().or(settings.filter(|file| file.is_file()))?;
        Some(found.display().to_string())
    }

    fn distrusts(&self, project: &Path) -> Option<String> {
        trusted_folders::gemini_family(("qwen", ".qwen"), false, project)
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        family::settings(".qwen", project)
    }

    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        TABLE.plan(settings, edit)
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        TABLE.examine(settings)
    }
}
