//! Gemini CLI: its events, its answers, and its settings. A call has no id. A changed input is laid over the call's own.

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

pub use spec::RULES;

#[derive(Clone, Copy, Debug)]
pub struct Gemini;

impl Agent for Gemini {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        events::parse(payload)
    }

    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        answers::encode(event, answer)
    }

    fn lays_input_over(&self) -> bool {
        true
    }

    fn error_text(&self, payload: &[u8]) -> Option<String> {
        events::error_text(payload)
    }

    fn tools(&self) -> Vec<&'static str> {
        family::tools("replace")
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        family::command(&self.tools(), tool, input)
    }

    fn acp_tool<'a>(&self, call: &'a str, _: Option<&'a str>) -> Option<&'a str> {
        // `write_file__write_file_1795663457027_0`
        call.split_once("__").map(|(tool, _)| tool)
    }

    fn is_attended(&self) -> bool {
        // nothing in a hook's environment tells
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hook_event_name": "BeforeAgent",
            "session_id": "backstitch-doctor",
            "transcript_path": dir.join("none.jsonl"),
            "cwd": dir,
            "prompt": prompt,
        });
        payload.to_string().into_bytes()
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".gemini"));
        let settings = directory.map(|dir| dir.join("settings.json"));
        let found = self.program().or(settings.filter(|file| file.is_file()))?;
        Some(found.display().to_string())
    }

    fn distrusts(&self, project: &Path) -> Option<String> {
        trusted_folders::gemini_family(("gemini", ".gemini"), true, project)
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        family::settings(".gemini", project)
    }

    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        TABLE.plan(settings, edit)
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        TABLE.examine(settings)
    }
}
