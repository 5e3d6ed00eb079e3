//! GitHub Copilot: its command line under the Pascal names of its events, the agents of VS Code, and a file of hooks of our own
//! that both run. The command line has no id of a call, and neither has one of a turn: they are told by their order.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use serde_json::{Value, json};

use super::adapter::{Abilities, Agent, HookEdit, Hooks, ParseError};
use super::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use super::fields::{self, Common, Fields, command_text};
use super::flat_hooks::FlatHooks;
use super::machine::{home, on_path};
use super::own_tools::is_own;
use super::patch_headers;
use super::settings_plan::SettingsPlan;
use super::switches::{OffSwitch, OffValue, VariableFile};
use super::trusted_folders;

const NAME: &str = "copilot";

const EVENTS: &[&str] = &[
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStop",
    "PreCompact",
    "Stop",
];
/// Events at which a hook may hold a call.
const HOLDING: &[&str] = &["PreToolUse", "PostToolUse", "PostToolUseFailure"];
/// Time in seconds that it waits for a hook which may hold a call, and for any other. A longer one was not tried.
const HOLD: u32 = 100;
const TIMEOUT: u32 = 30;

const HOOKS: FlatHooks = FlatHooks {
    agent: NAME,
    events: EVENTS,
    holding: HOLDING,
    hold: HOLD,
    command: "bash",
    rest: |seconds, _| json!({ "type": "command", "timeoutSec": seconds, "timeout": seconds }),
    timeout: TIMEOUT,
    versioned: true,
};

/// Tools that write no file themselves.
const READ_ONLY_TOOLS: &[&str] = &[
    "Read",
    "Glob",
    "Grep",
    "LS",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    // a subagent's calls are reported one by one
    "Task",
    "Agent",
    "view",
    "glob",
    "grep",
    "web_fetch",
    "web_search",
    "report_intent",
    "update_todo",
    "ask_user",
    "task",
    // in VS Code
    "read_file",
    "list_dir",
    "file_search",
    "grep_search",
    "semantic_search",
    "get_errors",
    "get_changed_files",
    "get_terminal_output",
    "list_code_usages",
    "vscode_listCodeUsages",
    "vscode_askQuestions",
    "fetch_webpage",
    "view_image",
    "manage_todo_list",
    "runSubagent",
];

/// Names of the fields in a payload of VS Code.
const IN_VSCODE: Common = Common {
    session: "sessionId",
    event: "hookEventName",
    turn: None,
};

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
        let mut event = fields::event(NAME, payload, Common::SHARED, kind)
            .or_else(|error| of_vscode(payload).map_err(|_| error))?;
        if event.subagent.is_some() {
            of_subagent(&mut event, payload);
        }
        Ok(event)
    }

    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        // the command line reads the outer fields, VS Code the inner ones
        let mut document = json!({});
        let mut inner = json!({ "hookEventName": event.name });
        if let Some(ToolDecision::Deny(reason)) = &answer.decision {
            for place in [&mut document, &mut inner] {
                place["permissionDecision"] = "deny".into();
                place["permissionDecisionReason"] = reason.as_str().into();
            }
        } else if let Some(input) = &answer.input {
            // neither takes a changed input with anything less
            for (place, name) in [
                (&mut document, "modifiedArgs"),
                (&mut inner, "updatedInput"),
            ] {
                place["permissionDecision"] = "allow".into();
                place[name] = input.clone();
            }
        }
        document["hookSpecificOutput"] = inner;
        HookOutput {
            stdout: format!("{document}\n").into_bytes(),
            ..HookOutput::default()
        }
    }

    fn error_text(&self, payload: &[u8]) -> Option<String> {
        let payload: Value = serde_json::from_slice(payload).ok()?;
        let told = payload["tool_result"]["text_result_for_llm"].as_str();
        told.or_else(|| payload["error"].as_str())
            .map(str::to_owned)
    }

    fn tools(&self) -> Vec<&'static str> {
        let writing = [
            "Edit",
            "Write",
            "Bash",
            "create_file",
            "replace_string_in_file",
            "multi_replace_string_in_file",
            "insert_edit_into_file",
            "edit_notebook_file",
            "apply_patch",
            "run_in_terminal",
        ];
        let reading = READ_ONLY_TOOLS.iter().copied();
        writing.into_iter().chain(reading).collect()
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        let is_reader = READ_ONLY_TOOLS.contains(&tool);
        command_text(input, self.tools().contains(&tool)).filter(|_| !is_reader)
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

    fn marks(&self) -> &'static [&'static str] {
        &["COPILOT_CLI"]
    }

    fn off_switches(&self) -> &'static [OffSwitch] {
        &[
            OffSwitch {
                project: &[
                    ".github/copilot/settings.json",
                    ".github/copilot/settings.local.json",
                ],
                user: &[".copilot/settings.json", ".copilot/config.json"],
                key: &["disableAllHooks"],
                off: OffValue::True,
            },
            OffSwitch {
                project: &[".vscode/settings.json"],
                user: &[],
                key: &["chat.useHooks"],
                off: OffValue::False,
            },
        ]
    }

    fn variable_files(&self) -> &'static [VariableFile] {
        &[]
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

    fn distrusts(&self, project: &Path) -> Option<String> {
        trusted_folders::copilot(project)
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
        HOOKS.plan(settings, edit)
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        HOOKS.examine(settings)
    }
}

/// A subagent's events have their own session, which belongs to that of its parent: it is a thread there, and neither its
/// task nor its end is one of a turn.
fn of_subagent(event: &mut AgentEvent, payload: &[u8]) {
    let text = String::from_utf8_lossy(payload);
    let fields = Fields::read(&text).unwrap_or_default();
    if let Some(parent) = fields.text("parent_agent_id") {
        event.session = parent;
    }
    event.kind = match std::mem::replace(&mut event.kind, EventKind::Other) {
        EventKind::Prompt { .. } | EventKind::SessionStart { .. } | EventKind::SessionEnd => {
            EventKind::Other
        }
        EventKind::Stop { .. } => EventKind::SubagentStop,
        other => other,
    };
}

/// Reads an event of an agent of VS Code.
pub fn of_vscode(payload: &[u8]) -> Result<AgentEvent, ParseError> {
    fields::event(NAME, payload, IN_VSCODE, kind)
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
            let paths = fields::named_reports(&call.effect);
            let told = result.text("text_result_for_llm").unwrap_or_default();
            EventKind::After {
                report: ToolReport {
                    paths,
                    exit: exit_status(&told).filter(|_| call.tool == "Bash"),
                },
                call,
                failed,
            }
        }
        "SubagentStop" => EventKind::SubagentStop,
        "PreCompact" => EventKind::Compact,
        "Stop" => EventKind::Stop { background: false },
        "SessionEnd" => EventKind::SessionEnd,
        _ => EventKind::Other,
    }
}

fn call(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.nested("tool_input");
    let one = |name: &str| input.text(name).map(|path| vec![PathBuf::from(path)]);
    let named = match tool.as_str() {
        "Edit" | "Write" | "edit" | "create" => one("path").or_else(|| one("file_path")),
        "create_file"
        | "replace_string_in_file"
        | "insert_edit_into_file"
        | "edit_notebook_file" => one("filePath"),
        "multi_replace_string_in_file" => {
            let all: Vec<Value> = input.get("replacements").unwrap_or_default();
            let paths = all.iter().filter_map(|one| one["filePath"].as_str());
            let mut paths: Vec<PathBuf> = paths.map(PathBuf::from).collect();
            paths.dedup();
            Some(paths)
        }
        "editFiles" => input.get("files"),
        "apply_patch" => {
            let patch: String = input.get("input").unwrap_or_default();
            Some(patch_headers::paths(&patch))
        }
        _ => None,
    };
    let effect = match named.filter(|paths| !paths.is_empty()) {
        Some(paths) => Effect::Names(paths),
        None if READ_ONLY_TOOLS.contains(&tool.as_str()) || is_own(&tool) => Effect::Reads,
        None => Effect::Any {
            background: input.get("isBackground").unwrap_or(false),
        },
    };
    fields::tool_call(fields, fields.text("tool_use_id"), tool, effect)
}

/// Reads the end of a shell's result: `<shellId: 0 completed with exit code 0>`.
fn exit_status(told: &str) -> Option<i64> {
    let (_, end) = told.rsplit_once("completed with exit code ")?;
    end.trim_end().strip_suffix('>')?.parse().ok()
}
