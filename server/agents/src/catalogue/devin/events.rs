//! Its events, as its hooks report them.

use crate::fields::ParseError;
use crate::fields::{self, Common, Fields};
use anyhow::Result;
use backstitch_core::capture::{
    AgentEvent, Effect, EventKind, PathReport, ToolCall, ToolReport, Wrote,
};
use serde_json::Value;
use std::path::PathBuf;

use super::hooks::NAME;
use super::tools::WRITE;

pub(super) const COMMON: Common = Common {
    session: "trajectory_id",
    event: "agent_action_name",
    turn: Some("execution_id"),
};

pub(super) fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    let info = fields.nested("tool_info");
    match name {
        "pre_user_prompt" => {
            let text: String = info.get("user_prompt").unwrap_or_default();
            let synthetic = text.trim().is_empty();
            EventKind::Prompt { text, synthetic }
        }
        "post_cascade_response" => EventKind::Stop { background: false },
        _ => match name.split_once('_') {
            Some(("pre", tool)) => EventKind::Before(call(tool, fields)),
            Some(("post", tool)) => {
                let call = call(tool, fields);
                let report = report(&call, &info);
                EventKind::After {
                    call,
                    report,
                    failed: false,
                }
            }
            _ => EventKind::Other,
        },
    }
}

pub(super) fn call(tool: &str, fields: &Fields<'_>) -> ToolCall {
    let info = fields.nested("tool_info");
    let effect = match tool {
        WRITE => info
            .text("file_path")
            .map(|path| Effect::Names(vec![PathBuf::from(path)])),
        "read_code" => Some(Effect::Reads),
        "mcp_tool_use"
            if info
                .text("mcp_server_name")
                .is_some_and(|name| name == "backstitch") =>
        {
            Some(Effect::Reads)
        }
        _ => None,
    };
    let own_name = info.text("mcp_tool_name");
    ToolCall {
        id: None,
        tool: own_name.unwrap_or_else(|| tool.to_owned()),
        input: fields
            .raw("tool_info")
            .unwrap_or_default()
            .as_bytes()
            .to_vec(),
        effect: effect.unwrap_or(Effect::Any { background: false }),
    }
}

/// Returns the report of an edit: the text that it replaced, where it was one alone.
pub(super) fn report(call: &ToolCall, info: &Fields<'_>) -> ToolReport {
    let Effect::Names(paths) = &call.effect else {
        return ToolReport::default();
    };
    let edits: Vec<Value> = info.get("edits").unwrap_or_default();
    let wrote = match edits.as_slice() {
        [one] => one["old_string"]
            .as_str()
            .zip(one["new_string"].as_str())
            .filter(|(old, _)| !old.is_empty())
            .map(|(old, new)| Wrote::Replace {
                old: old.to_owned(),
                new: new.to_owned(),
                all: false,
            }),
        _ => None,
    };
    let reported = paths.iter().map(|path| PathReport {
        path: path.clone(),
        found: None,
        wrote: wrote.clone(),
    });
    ToolReport {
        paths: reported.collect(),
        exit: None,
    }
}

pub(super) fn parse(payload: &[u8]) -> Result<AgentEvent, ParseError> {
    let mut event = fields::event(NAME, payload, COMMON, kind)?;
    let text = String::from_utf8_lossy(payload);
    let info = Fields::read(&text).unwrap_or_default().nested("tool_info");
    event.cwd = info.text("cwd").map(PathBuf::from);
    Ok(event)
}
