//! Claude Code. Owns where its settings are; `payload` has its events, `output` the answers to them, and
//! `hooks` the entries in its settings.

mod hooks;
mod output;
mod payload;

use std::path::{Path, PathBuf};

use anyhow::Result;
use backstitch_core::capture::AgentEvent;
use serde_json::{Value, json};

use super::adapter::{Abilities, Agent, HookEdit, Hooks, ParseError};
use super::answer::{Answer, HookOutput};
use super::fields::command_text;
use super::machine::{home, on_path};
use super::settings_plan::SettingsPlan;
use super::switches::{OffSwitch, OffValue, VariableFile, VariableForm};

#[derive(Clone, Copy, Debug)]
pub struct ClaudeCode;

impl Agent for ClaudeCode {
    fn name(&self) -> &'static str {
        payload::NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            taken: output::TAKEN,
            hook_timeout: hooks::TABLE.timeout,
        }
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        payload::parse(payload)
    }

    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        output::encode(event, answer)
    }

    fn tools(&self) -> Vec<&'static str> {
        let writing = ["Edit", "MultiEdit", "Write", "NotebookEdit", "Bash"];
        writing
            .into_iter()
            .chain(payload::READ_ONLY_TOOLS.iter().copied())
            .collect()
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        // Bash, and others that run a command: Monitor, PowerShell
        let is_reader = payload::READ_ONLY_TOOLS.contains(&tool);
        command_text(input, self.tools().contains(&tool)).filter(|_| !is_reader)
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

    fn marks(&self) -> &'static [&'static str] {
        &["CLAUDECODE"]
    }

    fn off_switches(&self) -> &'static [OffSwitch] {
        &[
            OffSwitch {
                project: &[".claude/settings.json", ".claude/settings.local.json"],
                user: &[
                    ".claude/settings.json",
                    "/etc/claude-code/managed-settings.json",
                ],
                key: &["disableAllHooks"],
                off: OffValue::True,
            },
            OffSwitch {
                project: &[],
                user: &["/etc/claude-code/managed-settings.json"],
                key: &["allowManagedHooksOnly"],
                off: OffValue::True,
            },
        ]
    }

    fn variable_files(&self) -> &'static [VariableFile] {
        &[
            VariableFile {
                file: ".claude/settings.json",
                form: VariableForm::Object(&["env"]),
            },
            VariableFile {
                file: ".claude/settings.local.json",
                form: VariableForm::Object(&["env"]),
            },
        ]
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PROJECT_DIR")
    }

    fn found(&self) -> Option<String> {
        let directory = user_directory().filter(|dir| dir.is_dir());
        let found = directory.or_else(|| self.program())?;
        Some(found.display().to_string())
    }

    fn program(&self) -> Option<PathBuf> {
        on_path("claude")
    }

    fn min_version(&self) -> (u32, u32) {
        (2, 1)
    }

    fn can_block(&self) -> bool {
        hooks::TABLE.blocks
    }

    fn events(&self) -> &'static [&'static str] {
        hooks::TABLE.events
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
