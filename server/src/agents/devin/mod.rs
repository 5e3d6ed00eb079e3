//! Devin Desktop, once Windsurf: the hooks of Cascade, as its documents describe them. It was not run: it has no program without
//! an account. A call has no id; its own event tells of each kind of tool.

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
use anyhow::Result;
use backstitch_core::capture::AgentEvent;
use hooks::HOOKS;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug)]
pub struct Devin;

impl Agent for Devin {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        events::parse(payload)
    }

    fn waits(&self, event: &AgentEvent) -> bool {
        event.name.starts_with("pre_")
    }

    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        answers::encode(event, answer)
    }

    fn with_input(&self, _: &[u8], _: &Value) -> Option<Vec<u8>> {
        // it takes none
        None
    }

    fn tools(&self) -> Vec<&'static str> {
        tools::tools()
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        tools::command(tool, input)
    }

    fn is_attended(&self) -> bool {
        // a hook cannot have it ask
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "agent_action_name": "pre_user_prompt",
            "trajectory_id": "backstitch-doctor",
            "execution_id": "backstitch-doctor",
            "tool_info": { "user_prompt": prompt, "cwd": dir },
        });
        payload.to_string().into_bytes()
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".codeium/windsurf"));
        let found = self.program().or(directory.filter(|dir| dir.is_dir()))?;
        Some(found.display().to_string())
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        let directory = match project {
            Some(root) => Some(root.join(".windsurf")),
            None => home().map(|home| home.join(".codeium/windsurf")),
        };
        directory
            .map(|dir| dir.join("hooks.json"))
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
