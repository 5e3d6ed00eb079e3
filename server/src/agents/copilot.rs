//! GitHub Copilot CLI: its events under their Pascal names, its answers, and a file of hooks of our own. A call has no id, and a
//! turn none: both are told by their order.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use backstitch_core::capture::{AgentEvent, Effect, EventKind, PathReport, ToolCall, ToolReport};
use serde_json::{Value, json};

use super::adapter::{Abilities, Agent, HookEdit, Hooks, ParseError};
use super::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use super::fields::{self, Fields};
use super::hook_table;
use super::machine::{home, on_path};
use super::own_tools::is_own;
use super::settings_plan::SettingsPlan;
use crate::settings_file::JsonSettings;

const NAME: &str = "copilot";

const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStop",
    "Stop",
];
/// Events at which a hook may hold a call.
const HOLDING: &[&str] = &["PreToolUse", "PostToolUse", "PostToolUseFailure"];
/// Time in seconds that it waits for a hook which may hold a call, and for any other. A longer one was not tried.
const HOLD: u32 = 100;
const TIMEOUT: u32 = 30;

/// Tools that write no file themselves.
const READ_ONLY_TOOLS: &[&str] = &[
    "Read",
    "Glob",
    "Grep",
    "LS",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    "Task",
    "view",
    "glob",
    "grep",
    "web_fetch",
    "web_search",
    "report_intent",
    "update_todo",
    "ask_user",
    "task",
];

/// Parts of an answer that it takes, by event.
const TAKEN: &[(&str, &[AnswerPart])] = &[("PreToolUse", &[AnswerPart::Deny, AnswerPart::Input])];

#[derive(Clone, Copy, Debug)]
pub struct Copilot;

impl Agent for Copilot {
    fn name(&self) -> &'static str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            taken: TAKEN,
            hook_timeout: TIMEOUT,
        }
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        fields::event(NAME, payload, None, kind)
    }

    fn encode(&self, _: &AgentEvent, answer: &Answer) -> HookOutput {
        let mut document = json!({});
        if let Some(ToolDecision::Deny(reason)) = &answer.decision {
            document["permissionDecision"] = "deny".into();
            document["permissionDecisionReason"] = reason.as_str().into();
        } else if let Some(input) = &answer.input {
            // it takes a changed input with nothing less
            document["permissionDecision"] = "allow".into();
            document["modifiedArgs"] = input.clone();
        }
        HookOutput {
            stdout: format!("{document}\n").into_bytes(),
            exit_status: 0,
        }
    }

    fn error_text(&self, payload: &[u8]) -> Option<String> {
        let payload: Value = serde_json::from_slice(payload).ok()?;
        let told = payload["tool_result"]["text_result_for_llm"].as_str();
        told.or_else(|| payload["error"].as_str())
            .map(str::to_owned)
    }

    fn tools(&self) -> Vec<&'static str> {
        let writing = ["Edit", "Write", "Bash"];
        let reading = READ_ONLY_TOOLS.iter().copied();
        writing.into_iter().chain(reading).collect()
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        let is_reader = READ_ONLY_TOOLS.contains(&tool);
        let text = input.get("command").filter(|_| !is_reader)?;
        text.as_str().map(str::to_owned)
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

    fn project_variable(&self) -> Option<&'static str> {
        None
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".copilot"));
        let found = self.program().or(directory.filter(|dir| dir.is_dir()))?;
        Some(found.display().to_string())
    }

    fn program(&self) -> Option<PathBuf> {
        on_path("copilot")
    }

    fn min_version(&self) -> (u32, u32) {
        (1, 0)
    }

    fn events(&self) -> &'static [&'static str] {
        EVENTS
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
        match edit {
            HookEdit::Install { command, .. } => {
                SettingsPlan::new(JsonSettings::read(settings)?, |value| add(value, command))
            }
            HookEdit::Entries { command, .. } => {
                SettingsPlan::new(JsonSettings::blank(settings), |value| add(value, command))
            }
            HookEdit::Uninstall => {
                SettingsPlan::undo(JsonSettings::read(settings)?, remove, without_version)
            }
        }
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        if !settings.exists() {
            return Ok(Hooks::default());
        }
        let settings = JsonSettings::read(settings)?.value;
        let hooks = settings["hooks"].as_object();
        let mut entries = Vec::new();
        for (event, all) in hooks.into_iter().flatten() {
            for entry in all.as_array().into_iter().flatten() {
                let command = entry["bash"].as_str().map(hook_table::bare);
                if let Some(command) = command.filter(|_| is_ours(entry)) {
                    entries.push((event.clone(), command.to_owned()));
                }
            }
        }
        Ok(Hooks {
            entries,
            ..Hooks::default()
        })
    }
}

fn is_ours(entry: &Value) -> bool {
    let command = entry["bash"].as_str();
    command.is_some_and(|command| hook_table::runs_us(command, NAME))
}

/// Adds a hook to every event, and replaces an older one of ours. Entries of others stay.
fn add(settings: &mut Value, command: &str) -> Result<()> {
    remove(settings)?;
    let object = settings
        .as_object_mut()
        .context("the settings are not a JSON object")?;
    object.entry("version").or_insert_with(|| 1.into());
    let hooks = object.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks
        .as_object_mut()
        .context("`hooks` is not a JSON object")?;
    for event in EVENTS {
        let may_hold = HOLDING.contains(event);
        let (command, timeout) = if may_hold {
            (hook_table::held(command, HOLD), HOLD)
        } else {
            (command.to_owned(), TIMEOUT)
        };
        let entry = json!({ "type": "command", "bash": command, "timeoutSec": timeout });
        let all = hooks.entry(*event).or_insert_with(|| json!([]));
        let all = all.as_array_mut();
        all.with_context(|| format!("`hooks.{event}` is not a JSON array"))?
            .push(entry);
    }
    Ok(())
}

/// Removes the hooks that `add` added, and what is empty without them.
fn remove(settings: &mut Value) -> Result<()> {
    let object = settings
        .as_object_mut()
        .context("the settings are not a JSON object")?;
    let Some(hooks) = object.get_mut("hooks") else {
        return Ok(());
    };
    let hooks = hooks
        .as_object_mut()
        .context("`hooks` is not a JSON object")?;
    let before = hooks.len();
    hooks.retain(|_, all| {
        let Some(all) = all.as_array_mut() else {
            return true;
        };
        let count = all.len();
        all.retain(|entry| !is_ours(entry));
        !all.is_empty() || all.len() == count
    });
    if hooks.is_empty() && before > 0 {
        object.shift_remove("hooks");
        object.shift_remove("version");
    }
    Ok(())
}

/// Returns the settings without the version, which `add` adds where it is missing.
fn without_version(settings: &Value) -> Value {
    let mut settings = settings.clone();
    if let Some(object) = settings.as_object_mut() {
        object.shift_remove("version");
    }
    settings
}

fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    match name {
        "SessionStart" => EventKind::SessionStart {
            source: fields.text("source").unwrap_or_default(),
        },
        "UserPromptSubmit" => {
            let text: String = fields.get("prompt").unwrap_or_default();
            let synthetic = text.trim().is_empty();
            EventKind::Prompt { text, synthetic }
        }
        "PreToolUse" => EventKind::Before(call(fields)),
        "PostToolUse" | "PostToolUseFailure" => {
            let result = fields.nested("tool_result");
            let kind = result.text("result_type");
            let failed = name != "PostToolUse" || kind.is_some_and(|kind| kind != "success");
            let call = call(fields);
            let paths = match &call.effect {
                Effect::Names(paths) => paths.clone(),
                Effect::Reads | Effect::Any { .. } => Vec::new(),
            };
            let reported = paths.into_iter().map(|path| PathReport {
                path,
                found: None,
                wrote: None,
            });
            let told = result.text("text_result_for_llm").unwrap_or_default();
            EventKind::After {
                report: ToolReport {
                    paths: reported.collect(),
                    exit: exit_status(&told).filter(|_| call.tool == "Bash"),
                },
                call,
                failed,
            }
        }
        "SubagentStop" => EventKind::SubagentStop,
        "Stop" => EventKind::Stop { background: false },
        "SessionEnd" => EventKind::SessionEnd,
        _ => EventKind::Other,
    }
}

fn call(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.nested("tool_input");
    let effect = match tool.as_str() {
        "Edit" | "Write" | "edit" | "create" => input
            .text("path")
            .or_else(|| input.text("file_path"))
            .map(|path| Effect::Names(vec![PathBuf::from(path)])),
        tool if READ_ONLY_TOOLS.contains(&tool) || is_own(tool) => Some(Effect::Reads),
        _ => None,
    };
    ToolCall {
        id: None,
        tool,
        input: fields
            .raw("tool_input")
            .unwrap_or_default()
            .as_bytes()
            .to_vec(),
        effect: effect.unwrap_or(Effect::Any { background: false }),
    }
}

/// Reads the end of a shell's result: `<shellId: 0 completed with exit code 0>`.
fn exit_status(told: &str) -> Option<i64> {
    let (_, end) = told.rsplit_once("completed with exit code ")?;
    end.trim_end().strip_suffix('>')?.parse().ok()
}
