//! Codex CLI: its events, its answers, and its settings. Edits are patches with the paths in their headers. It runs a hook only
//! once its user trusts it; `trust` asks for that in the agent's own way.

mod trust;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use serde_json::{Map, Value, json};

use super::adapter::{Abilities, Agent, HookEdit, Hooks, ParseError};
use super::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use super::fields::{self, Common, Fields, command_text};
use super::hook_table::HookTable;
use super::machine::{home, on_path};
use super::own_tools::is_own;
use super::patch_headers;
use super::settings_plan::SettingsPlan;
use super::switches::{OffSwitch, OffValue, VariableFile, VariableForm};
use crate::settings_file::JsonForm;

const NAME: &str = "codex";

/// Tool that edits files.
const PATCH: &str = "apply_patch";
/// Tools that write no file themselves.
const READ_ONLY_TOOLS: &[&str] = &[
    "view_image",
    "update_plan",
    "web_search",
    "request_user_input",
    "list_mcp_resources",
    "read_mcp_resource",
    // a subagent's calls are reported one by one
    "spawn_agent",
    "send_input",
    "wait",
    "close_agent",
    "resume_agent",
];
/// Beginning of the names of tools for subagents, which write no file themselves either.
const OF_SUBAGENTS: &str = "collaboration";
/// Beginning of the ids of calls that a script of the model makes. After 30 seconds the model learns that its script still
/// runs, and the call is lost if it ends the turn then.
const IN_SCRIPT: &str = "exec-";
/// Time for which such a call may be held.
const SCRIPT_HOLD: Duration = Duration::from_secs(25);

#[derive(Clone, Copy, Debug)]
pub struct Codex;

const TABLE: HookTable = HookTable {
    agent: NAME,
    events: &[
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "SubagentStart",
        "SubagentStop",
        "Stop",
        "PreCompact",
    ],
    of_tools: &["PreToolUse", "PostToolUse"],
    holding: &["PreToolUse", "PostToolUse"],
    // its own default
    hold: 600,
    timeout: 60,
    // a longer time is an error line in each of its sessions
    short: &[("SessionEnd", 3)],
    units: 1,
    named: false,
    blocks: false,
    form: JsonForm::Plain,
};

const COMMON: Common = Common {
    turn: Some("turn_id"),
    ..Common::SHARED
};

/// Parts of an answer that it takes, by event. A question would let the call run.
const TAKEN: &[(&str, &[AnswerPart])] = &[
    ("PreToolUse", &[AnswerPart::Deny, AnswerPart::Input]),
    ("UserPromptSubmit", &[AnswerPart::Note]),
];

impl Agent for Codex {
    fn name(&self) -> &'static str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            taken: TAKEN,
            hook_timeout: TABLE.timeout,
        }
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        fields::event(NAME, payload, COMMON, kind)
    }

    fn longest_hold(&self, event: &AgentEvent) -> Option<Duration> {
        let (EventKind::Before(call) | EventKind::After { call, .. }) = &event.kind else {
            return None;
        };
        let is_in_script = call.id.as_ref().is_some_and(|id| id.starts_with(IN_SCRIPT));
        is_in_script.then_some(SCRIPT_HOLD)
    }

    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        let mut specific = Map::new();
        let mut add = |name: &str, value: Value| specific.insert(name.to_owned(), value);
        add("hookEventName", event.name.as_str().into());
        if let Some(ToolDecision::Deny(reason)) = &answer.decision {
            add("permissionDecision", "deny".into());
            add("permissionDecisionReason", reason.as_str().into());
        } else if let Some(input) = &answer.input {
            // it takes a changed input with nothing less
            add("permissionDecision", "allow".into());
            add("updatedInput", input.clone());
        }
        if let Some(note) = &answer.note {
            add("additionalContext", note.as_str().into());
        }
        let document = json!({ "hookSpecificOutput": specific });
        HookOutput {
            stdout: format!("{document}\n").into_bytes(),
            ..HookOutput::default()
        }
    }

    fn error_text(&self, payload: &[u8]) -> Option<String> {
        let payload: Value = serde_json::from_slice(payload).ok()?;
        Some(payload.get("tool_response")?.as_str()?.to_owned())
    }

    fn tools(&self) -> Vec<&'static str> {
        let writing = [PATCH, "Bash"];
        let reading = READ_ONLY_TOOLS.iter().copied();
        writing.into_iter().chain(reading).collect()
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        let is_other = tool == PATCH || is_reader(tool);
        command_text(input, self.tools().contains(&tool)).filter(|_| !is_other)
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

    fn marks(&self) -> &'static [&'static str] {
        &["CODEX_MANAGED_BY_NPM", "CODEX_THREAD_ID", "CODEX_SANDBOX"]
    }

    fn off_switches(&self) -> &'static [OffSwitch] {
        &[
            OffSwitch {
                project: &[".codex/config.toml"],
                user: &[".codex/config.toml"],
                key: &["features", "hooks"],
                off: OffValue::False,
            },
            OffSwitch {
                project: &[".codex/config.toml"],
                user: &[".codex/config.toml"],
                key: &["features", "codex_hooks"],
                off: OffValue::False,
            },
        ]
    }

    fn variable_files(&self) -> &'static [VariableFile] {
        &[VariableFile {
            file: ".codex/config.toml",
            form: VariableForm::Object(&["shell_environment_policy", "set"]),
        }]
    }

    fn project_variable(&self) -> Option<&'static str> {
        None
    }

    fn found(&self) -> Option<String> {
        let directory = user_directory().filter(|dir| dir.is_dir());
        let found = directory.or_else(|| self.program())?;
        Some(found.display().to_string())
    }

    fn program(&self) -> Option<PathBuf> {
        on_path("codex")
    }

    fn min_version(&self) -> (u32, u32) {
        (0, 169)
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

    fn events(&self) -> &'static [&'static str] {
        TABLE.events
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
        "PostToolUse" => {
            let response: String = fields.get("tool_response").unwrap_or_default();
            let exit = exit_status(&response);
            let call = call(fields);
            let paths = fields::named_reports(&call.effect);
            EventKind::After {
                report: ToolReport {
                    paths,
                    exit: exit.filter(|_| call.tool == "Bash"),
                },
                call,
                failed: exit.is_some_and(|exit| exit != 0),
            }
        }
        // a subagent's turn has its own id, and is part of the turn that began it
        "SubagentStart" => EventKind::Prompt {
            text: String::new(),
            synthetic: true,
        },
        "SubagentStop" => EventKind::SubagentStop,
        "Stop" | "Interrupt" => EventKind::Stop { background: false },
        "SessionEnd" => EventKind::SessionEnd,
        "PreCompact" => EventKind::Compact,
        _ => EventKind::Other,
    }
}

fn is_reader(tool: &str) -> bool {
    READ_ONLY_TOOLS.contains(&tool) || tool.starts_with(OF_SUBAGENTS) || is_own(tool)
}

fn call(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.nested("tool_input");
    let effect = match tool.as_str() {
        PATCH => {
            let patch: String = input.get("command").unwrap_or_default();
            let paths = patch_headers::paths(&patch);
            if paths.is_empty() {
                Effect::Any { background: false }
            } else {
                Effect::Names(paths)
            }
        }
        tool if is_reader(tool) => Effect::Reads,
        _ => Effect::Any { background: false },
    };
    fields::tool_call(fields, fields.text("tool_use_id"), tool, effect)
}

/// Reads the first line of a response: `Exit code: 2`.
fn exit_status(response: &str) -> Option<i64> {
    let status = response
        .lines()
        .next()?
        .trim()
        .strip_prefix("Exit code: ")?;
    status.parse().ok()
}
