//! opencode: a plugin of ours, which is one file, tells its events and carries out the answers. A turn is named by the message
//! of its user; a subagent is a separate session, told as a thread of the session that began it.

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

#[derive(Clone, Copy, Debug)]
pub struct OpenCode;

impl Agent for OpenCode {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        events::parse(payload)
    }

    fn waits(&self, event: &AgentEvent) -> bool {
        // it tells of a call that failed, and continues
        event.name != "tool.execute.error"
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

    fn acp_tool<'a>(&self, _: &'a str, title: Option<&'a str>) -> Option<&'a str> {
        // the first title of a call is the tool
        title
    }

    fn is_attended(&self) -> bool {
        // a plugin cannot have it ask
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hook_event_name": "chat.message",
            "session_id": "backstitch-doctor",
            "message_id": "backstitch-doctor",
            "cwd": dir,
            "prompt": prompt,
        });
        payload.to_string().into_bytes()
    }

    fn found(&self) -> Option<String> {
        let directory = user_directory().filter(|dir| dir.is_dir());
        let found = self.program().or(directory)?;
        Some(found.display().to_string())
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        let directory = match project {
            Some(root) => Some(root.join(".opencode")),
            None => user_directory(),
        };
        directory
            .map(|dir| dir.join("plugins/backstitch.js"))
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

/// Returns the directory of the user's settings.
fn user_directory() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty());
    let base = named
        .map(PathBuf::from)
        .or_else(|| home().map(|home| home.join(".config")));
    Some(base?.join("opencode"))
}
