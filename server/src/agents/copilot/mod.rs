//! GitHub Copilot: its command line under the Pascal names of its events, the agents of VS Code, and a file of hooks of our own
//! that both run. The command line has no id of a call, and neither has one of a turn: they are told by their order.

mod answers;
mod events;
mod hooks;
mod spec;
mod tools;

use crate::agents::adapter::{Agent, HookEdit, Hooks, ParseError};
use crate::agents::answer::{Answer, HookOutput};
use crate::agents::machine::home;
use crate::agents::settings_plan::SettingsPlan;
use crate::agents::spec::AgentSpec;
use crate::agents::trusted_folders;
use anyhow::Result;
use backstitch_core::capture::AgentEvent;
use hooks::HOOKS;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub use events::of_vscode;

#[derive(Clone, Copy, Debug)]
pub struct Copilot;

impl Agent for Copilot {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        events::parse(payload)
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
        // nothing in a hook's environment tells
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hook_event_name": "UserPromptSubmit",
            "session_id": "backstitch-doctor",
            "cwd": dir,
            "prompt": prompt,
        });
        payload.to_string().into_bytes()
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".copilot"));
        let found = self.program().or(directory.filter(|dir| dir.is_dir()))?;
        Some(found.display().to_string())
    }

    fn distrusts(&self, project: &Path) -> Option<String> {
        trusted_folders::copilot(project)
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        let directory = match project {
            Some(root) => Some(root.join(".github/hooks")),
            None => home().map(|home| home.join(".copilot/hooks")),
        };
        directory
            .map(|dir| dir.join("backstitch.json"))
            .into_iter()
            .collect()
    }

    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        HOOKS.plan(settings, edit)
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        HOOKS.examine(settings)
    }
}
