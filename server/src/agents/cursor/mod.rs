//! Cursor: its events, its answers, and its settings, as its documents of hooks describe them. It was not run: it has no
//! program without an account.

mod answers;
mod events;
mod hooks;
mod spec;
mod tools;

use crate::agents::adapter::{Agent, HookEdit, Hooks, ParseError, taken};
use crate::agents::answer::{Answer, HookOutput, NotTaken};
use crate::agents::machine::home;
use crate::agents::settings_plan::SettingsPlan;
use crate::agents::spec::AgentSpec;
use anyhow::Result;
use backstitch_core::capture::AgentEvent;
use hooks::HOOKS;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug)]
pub struct Cursor;

impl Agent for Cursor {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        events::parse(payload)
    }

    fn answer(&self, event: &AgentEvent, answer: &Answer) -> Result<HookOutput, NotTaken> {
        taken(self, event, answer).map(|output| match output {
            // its documents show a document on every path
            silent if silent == HookOutput::default() => HookOutput {
                stdout: b"{}\n".to_vec(),
                ..silent
            },
            output => output,
        })
    }

    fn waits(&self, event: &AgentEvent) -> bool {
        // it has continued already when a hook after a call answers
        event.name == "preToolUse"
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
        // its documents say that a question is not put before a tool
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hook_event_name": "beforeSubmitPrompt",
            "conversation_id": "backstitch-doctor",
            "generation_id": "backstitch-doctor",
            "workspace_roots": [dir],
            "prompt": prompt,
        });
        payload.to_string().into_bytes()
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".cursor"));
        let found = self.program().or(directory.filter(|dir| dir.is_dir()))?;
        Some(found.display().to_string())
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        let base = project.map(Path::to_path_buf).or_else(home);
        base.map(|base| base.join(".cursor/hooks.json"))
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
