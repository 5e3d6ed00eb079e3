//! Its events, as its hooks report them.

use crate::fields::ParseError;
use crate::fields::{self, Fields};
use crate::machine::home;
use crate::own_tools::is_own;
use crate::patch_headers;
use anyhow::Result;
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use backstitch_core::read_settings;
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::hooks::EVENTS;
use super::hooks::NAME;
use super::tools::{EDIT_TOOLS, PATCH, READ_ONLY_TOOLS};

pub(super) const IN_PAYLOADS: [&str; 9] = [
    "agent_start",
    "agent_resume",
    "agent_abort",
    "agent_end",
    "agent_error",
    "prompt_submit",
    "tool_call",
    "tool_result",
    "session_shutdown",
];

/// Time for which the record of the session is looked at for a prompt, and how often.
pub(super) const PROMPT_TIME: Duration = Duration::from_secs(3);

pub(super) const PROMPT_TICK: Duration = Duration::from_millis(20);

/// A prompt is written down at most this long before its turn begins, in milliseconds: 11 were seen.
pub(super) const PROMPT_AGE: i64 = 300;

/// Returns the text of the newest prompt in the record of a session, if it was written since then.
pub(super) fn newest_prompt(record: &[u8], since: i64) -> Option<String> {
    let record: Value = serde_json::from_slice(record).ok()?;
    let texts = |message: &Value| -> Option<String> {
        let parts = message["content"].as_array()?.iter();
        let all: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
        let all = all.join("\n");
        let (_, rest) = all.split_once("<user_input")?;
        let (_, text) = rest.split_once('>')?;
        let (text, _) = text.rsplit_once("</user_input>")?;
        Some(text.to_owned())
    };
    let messages = record["messages"].as_array()?;
    let mut prompts = messages
        .iter()
        .rev()
        .filter(|message| message["role"] == "user");
    let newest = prompts.find_map(|message| Some((message, texts(message)?)))?;
    let (message, text) = newest;
    (message["ts"].as_i64()? >= since).then_some(text)
}

pub(super) fn kind(name: &str, is_thread: bool, fields: &Fields<'_>) -> EventKind {
    match name {
        // the extension tells the prompt by itself
        "TaskStart" | "TaskResume" if fields.raw("agent_id").is_none() => EventKind::SessionStart {
            source: name.to_owned(),
        },
        "TaskStart" | "TaskResume" if !is_thread => EventKind::Prompt {
            text: String::new(),
            synthetic: false,
        },
        "UserPromptSubmit" if !is_thread => {
            let text: String = fields
                .nested("userPromptSubmit")
                .get("prompt")
                .unwrap_or_default();
            let synthetic = text.trim().is_empty();
            EventKind::Prompt { text, synthetic }
        }
        "PreToolUse" => EventKind::Before(call(&called(fields, "tool_call", "preToolUse"))),
        "PostToolUse" => {
            let call = call(&called(fields, "tool_result", "postToolUse"));
            let result = fields.nested("tool_result");
            let error = result.raw("error").is_some_and(|error| error != "null");
            let output: Value = result.get("output").unwrap_or_default();
            let success: Option<bool> = fields.nested("postToolUse").get("success");
            let failed = error || failure(&output).is_some() || success == Some(false);
            let paths = if failed {
                Vec::new()
            } else {
                fields::named_reports(&call.effect)
            };
            EventKind::After {
                report: ToolReport { paths, exit: None },
                call,
                failed,
            }
        }
        "TaskComplete" | "TaskCancel" | "TaskError" if is_thread => EventKind::SubagentStop,
        "TaskComplete" | "TaskCancel" | "TaskError" => EventKind::Stop { background: false },
        "SessionShutdown" => EventKind::SessionEnd,
        _ => EventKind::Other,
    }
}

/// A call as a payload tells it: in the form of the command line, or in that of the extension.
pub(super) struct Called {
    pub id: Option<String>,
    pub tool: String,
    pub input: String,
}

pub(super) fn called(fields: &Fields<'_>, own: &str, of_extension: &str) -> Called {
    let told = fields.nested(own);
    let raw = |of: &Fields<'_>, name: &str| of.raw(name).unwrap_or_default().to_owned();
    if let Some(tool) = told.text("name") {
        return Called {
            id: told.text("id"),
            tool,
            input: raw(&told, "input"),
        };
    }
    let told = fields.nested(of_extension);
    Called {
        id: None,
        tool: told.text("toolName").unwrap_or_default(),
        input: raw(&told, "parameters"),
    }
}

pub(super) fn call(called: &Called) -> ToolCall {
    let input = Fields::read(&called.input).unwrap_or_default();
    let tool = called.tool.as_str();
    let named = if EDIT_TOOLS.contains(&tool) {
        input.text("path").map(|path| vec![PathBuf::from(path)])
    } else if tool == PATCH {
        let patch: String = input.get("input").unwrap_or_default();
        Some(patch_headers::paths(&patch)).filter(|paths| !paths.is_empty())
    } else {
        None
    };
    let effect = match named {
        Some(paths) => Effect::Names(paths),
        None if READ_ONLY_TOOLS.contains(&tool) || is_own(tool) => Effect::Reads,
        None => Effect::Any { background: false },
    };
    ToolCall {
        id: called.id.clone(),
        tool: tool.to_owned(),
        input: called.input.as_bytes().to_vec(),
        effect,
    }
}

/// Returns the first part of a tool's output that says that it failed.
pub(super) fn failure(output: &Value) -> Option<&Value> {
    let all = match output {
        Value::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    all.iter().find(|one| one["success"] == false)
}

pub(super) fn parse(payload: &[u8]) -> Result<AgentEvent, ParseError> {
    let text = String::from_utf8_lossy(payload);
    let fields = Fields::read(&text).map_err(|e| ParseError::NotJson(e.to_string()))?;
    let name = fields
        .text("hookName")
        .ok_or(ParseError::Missing("hookName"))?;
    let known = IN_PAYLOADS.iter().position(|known| *known == name);
    let name = known.map_or(name, |at| EVENTS[at].to_owned());
    let task = fields.text("taskId");
    let session = fields.nested("sessionContext").text("rootSessionId");
    let session = session.or(task).ok_or(ParseError::Missing("taskId"))?;
    let is_thread = fields.text("parent_agent_id").is_some();
    let roots: Vec<PathBuf> = fields.get("workspaceRoots").unwrap_or_default();
    Ok(AgentEvent {
        agent: NAME.to_owned(),
        session,
        transcript: None,
        prompt_id: None,
        subagent: fields.text("agent_id").filter(|_| is_thread),
        cwd: roots.into_iter().next(),
        process: None,
        other_hooks: None,
        kind: kind(&name, is_thread, &fields),
        name,
    })
}

pub(super) fn late_prompt(payload: &[u8]) -> Option<String> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    let session = payload["sessionContext"]["rootSessionId"].as_str()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if session.is_empty() || !session.chars().all(is_plain) {
        return None;
    }
    let told = payload["timestamp"].as_str()?;
    let told: jiff::Timestamp = told.parse().ok()?;
    let since = told.as_millisecond() - PROMPT_AGE;
    let sessions = home()?.join(".cline/data/sessions").join(session);
    let record = sessions.join(format!("{session}.messages.json"));
    let end = Instant::now() + PROMPT_TIME;
    loop {
        let text = read_settings(&record).ok();
        let found = text.and_then(|text| newest_prompt(text.as_bytes(), since));
        if found.is_some() || Instant::now() > end {
            return found;
        }
        std::thread::sleep(PROMPT_TICK);
    }
}

pub(super) fn error_text(payload: &[u8]) -> Option<String> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    let result = &payload["tool_result"];
    let told = result["error"].as_str();
    let own = failure(&result["output"]).and_then(|one| one["error"].as_str());
    told.or(own)
        .or_else(|| payload["postToolUse"]["result"].as_str())
        .map(str::to_owned)
}
