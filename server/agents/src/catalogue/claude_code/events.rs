//! Claude Code's hook payloads. Parsing is tolerant: unknown fields, events and tools are ignored, and an
//! optional field of the wrong type counts as absent. Only the session and the event's name are required.

use std::path::PathBuf;

use backstitch_core::capture::{
    AgentEvent, Effect, EventKind, PathReport, ToolCall, ToolReport, Wrote,
};
use serde_json::value::RawValue;

use crate::catalogue::copilot;
use crate::fields::ParseError;
use crate::fields::{self, Common, Fields};
use crate::own_tools::is_own;

pub const NAME: &str = "claude-code";

/// Tools that write no file themselves. A subagent's tool calls are reported one by one.
pub const READ_ONLY_TOOLS: &[&str] = &[
    "Read",
    "Glob",
    "Grep",
    "LS",
    "LSP",
    "NotebookRead",
    "WebFetch",
    "WebSearch",
    "TodoRead",
    "TodoWrite",
    "Task",
    "Agent",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskOutput",
    "TaskStop",
    "BashOutput",
    "KillBash",
    "KillShell",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "SendMessage",
    "ToolSearch",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
];

/// Starts of prompts that the user did not type. They continue a turn and do not start one.
const SYNTHETIC_PREFIXES: &[&str] = &[
    "<task-notification>",
    "<system-reminder>",
    "<local-command-stdout>",
    "<bash-stdout>",
    "<bash-stderr>",
];

const COMMON: Common = Common {
    turn: Some("prompt_id"),
    ..Common::SHARED
};

pub fn parse(bytes: &[u8]) -> Result<AgentEvent, ParseError> {
    fields::event(NAME, bytes, COMMON, kind).or_else(|error| {
        // VS Code runs the hooks of Claude Code, too, for its own agent
        copilot::of_vscode(bytes).map_err(|_| error)
    })
}

fn kind(name: &str, fields: &Fields) -> EventKind {
    match name {
        "SessionStart" => EventKind::SessionStart {
            source: fields.text("source").unwrap_or_default(),
        },
        "UserPromptSubmit" => {
            let text: String = fields.get("prompt").unwrap_or_default();
            let start = text.trim_start();
            let synthetic =
                start.is_empty() || SYNTHETIC_PREFIXES.iter().any(|tag| start.starts_with(tag));
            EventKind::Prompt { text, synthetic }
        }
        "PreToolUse" => EventKind::Before(call(fields)),
        "PostToolUse" => {
            let call = call(fields);
            let report = tool_report(&call, fields);
            EventKind::After {
                call,
                report,
                failed: false,
            }
        }
        "PostToolUseFailure" => EventKind::After {
            call: call(fields),
            report: ToolReport {
                exit: fields.text("error").as_deref().and_then(exit_status),
                ..ToolReport::default()
            },
            failed: true,
        },
        // The call was announced, but did not run.
        "PermissionDenied" => {
            let call = ToolCall {
                effect: Effect::Reads,
                ..call(fields)
            };
            EventKind::After {
                call,
                report: ToolReport::default(),
                failed: true,
            }
        }
        "PostToolBatch" => EventKind::BatchEnd,
        "SubagentStop" => EventKind::SubagentStop,
        "Stop" | "StopFailure" => EventKind::Stop {
            background: background_shells(fields),
        },
        "SessionEnd" => EventKind::SessionEnd,
        "PreCompact" => EventKind::Compact,
        _ => EventKind::Other,
    }
}

fn call(fields: &Fields) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.raw("tool_input");
    let effect = effect(
        &tool,
        &fields.nested("tool_input"),
        &fields.nested("tool_response"),
    );
    ToolCall {
        id: fields.text("tool_use_id"),
        tool,
        input: input.unwrap_or_default().as_bytes().to_vec(),
        effect,
    }
}

fn effect(tool: &str, input: &Fields, response: &Fields) -> Effect {
    let named = match tool {
        "Edit" | "MultiEdit" | "Write" => input.text("file_path"),
        "NotebookEdit" => input.text("notebook_path"),
        _ if READ_ONLY_TOOLS.contains(&tool) || is_own(tool) => return Effect::Reads,
        _ => None,
    };
    match named {
        Some(path) => Effect::Names(vec![PathBuf::from(path)]),
        // A running command may also move to the background.
        None => Effect::Any {
            background: input.get("run_in_background").unwrap_or(false)
                || response.text("backgroundTaskId").is_some(),
        },
    }
}

/// Returns an edit tool's report of its own work. If the user changed the edit before accepting it, the
/// input does not say what was written, and only the disk does.
fn tool_report(call: &ToolCall, fields: &Fields) -> ToolReport {
    // each of these tools writes one file
    let path = match &call.effect {
        Effect::Names(paths) => paths.first(),
        Effect::Reads | Effect::Any { .. } => None,
    };
    let Some(path) = path else {
        // a command that continues in the background has no status yet
        let ended = call.tool == "Bash" && call.effect == (Effect::Any { background: false });
        return ToolReport {
            exit: ended.then_some(0),
            ..ToolReport::default()
        };
    };
    let input = fields.nested("tool_input");
    let response = fields.nested("tool_response");
    // A notebook is rewritten as a whole; the response has both texts.
    let found: Option<String> = response
        .get("originalFile")
        .or_else(|| response.get("original_file"));
    let wrote = match call.tool.as_str() {
        _ if response.get("userModified").unwrap_or(false) => None,
        "Write" => input.get("content").map(Wrote::Whole),
        "Edit" => replacement(&input, found.as_deref()),
        "NotebookEdit" => response.get("updated_file").map(Wrote::Whole),
        _ => None,
    };
    let path = path.clone();
    ToolReport {
        paths: vec![PathReport { path, found, wrote }],
        exit: None,
    }
}

/// Reads the first line of a failure: `Exit code 2`.
fn exit_status(error: &str) -> Option<i64> {
    let status = error.lines().next()?.trim().strip_prefix("Exit code ")?;
    status.parse().ok()
}

fn replacement(input: &Fields, found: Option<&str>) -> Option<Wrote> {
    let old: String = input.get("old_string")?;
    let new: String = input.get("new_string")?;
    if old.is_empty() {
        // Edit creates a file this way; in a file with text the meaning is ambiguous.
        return found
            .unwrap_or_default()
            .is_empty()
            .then_some(Wrote::Whole(new));
    }
    Some(Wrote::Replace {
        old,
        new,
        all: input.get("replace_all").unwrap_or(false),
    })
}

/// True if a shell command outlives the turn. A background subagent reports its own calls.
fn background_shells(fields: &Fields) -> bool {
    let tasks: Vec<&RawValue> = fields.get_borrowed("background_tasks").unwrap_or_default();
    tasks
        .iter()
        .filter_map(|task| Fields::read(task.get()).ok())
        .any(|task| {
            task.text("type").as_deref() != Some("subagent")
                && task.text("status").is_none_or(|status| status == "running")
        })
}

#[cfg(test)]
mod tests;
