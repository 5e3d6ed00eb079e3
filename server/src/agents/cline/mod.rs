//! Cline: its events, its answers, and its hooks, which are programs in a folder that are named after their events. Its command
//! line says nothing of a prompt when a turn begins; the text is in its own record of the session.

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
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub use spec::RULES;

#[derive(Clone, Copy, Debug)]
pub struct Cline;

impl Agent for Cline {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        events::parse(payload)
    }

    fn late_prompt(&self, payload: &[u8]) -> Option<String> {
        events::late_prompt(payload)
    }

    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        answers::encode(event, answer)
    }

    fn with_input(&self, payload: &[u8], input: &Value) -> Option<Vec<u8>> {
        answers::with_input(payload, input)
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
        // a hook cannot have it ask
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hookName": "prompt_submit",
            "taskId": "backstitch-doctor",
            "workspaceRoots": [dir],
            "userPromptSubmit": { "prompt": prompt },
        });
        payload.to_string().into_bytes()
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".cline"));
        let found = self.program().or(directory.filter(|dir| dir.is_dir()))?;
        Some(found.display().to_string())
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        let base = project.map(Path::to_path_buf).or_else(home);
        base.map(|base| base.join(".cline/hooks"))
            .into_iter()
            .collect()
    }

    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        hooks::plan(settings, edit)
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        hooks::examine(settings)
    }
}
