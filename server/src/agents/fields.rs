//! Fields of a payload, and the event in one of the form that most agents share. Knows no agent. Pure.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

use backstitch_core::capture::{AgentEvent, Effect, EventKind, PathReport, ToolCall};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::adapter::ParseError;

/// A JSON object whose values are parsed one by one, on demand.
#[derive(Debug, Default)]
pub struct Fields<'a>(HashMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Fields<'a> {
    /// Reads an object. Its values are not looked at yet.
    pub fn read(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text).map(Self)
    }

    /// Returns the text of a value in JSON.
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|value| value.get())
    }

    /// Returns a value. None: it is absent, or of another type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.get_borrowed(name)
    }

    /// As `get`, for types that borrow from the text.
    pub fn get_borrowed<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?).ok()
    }

    /// Returns a string, or None if it is empty.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).filter(|text: &String| !text.is_empty())
    }

    /// Returns an object's fields; no fields if it is absent or not an object.
    pub fn nested(&self, name: &str) -> Fields<'a> {
        self.raw(name)
            .and_then(|text| Fields::read(text).ok())
            .unwrap_or_default()
    }
}

/// Returns the call of a payload in the form that most agents share: its input is `tool_input`.
pub fn tool_call(
    fields: &Fields<'_>,
    id: Option<String>,
    tool: String,
    effect: Effect,
) -> ToolCall {
    let input = fields.raw("tool_input").unwrap_or_default();
    ToolCall {
        id,
        tool,
        input: input.as_bytes().to_vec(),
        effect,
    }
}

/// Returns reports without texts on the paths that a call names.
pub fn named_reports(effect: &Effect) -> Vec<PathReport> {
    let Effect::Names(paths) = effect else {
        return Vec::new();
    };
    let report = |path: &PathBuf| PathReport {
        path: path.clone(),
        found: None,
        wrote: None,
    };
    paths.iter().map(report).collect()
}

/// Names of the fields that every payload of an agent has.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    pub session: &'static str,
    pub event: &'static str,
    /// The agent's own id of the turn, if it has one.
    pub turn: Option<&'static str>,
}

impl Common {
    /// The names that most agents share.
    pub const SHARED: Self = Self {
        session: "session_id",
        event: "hook_event_name",
        turn: None,
    };
}

/// Reads the event of an agent. `kind`: of the event with this name.
pub fn event(
    agent: &str,
    payload: &[u8],
    common: Common,
    kind: impl FnOnce(&str, &Fields<'_>) -> EventKind,
) -> Result<AgentEvent, ParseError> {
    let text = String::from_utf8_lossy(payload);
    let fields = Fields::read(&text).map_err(|e| ParseError::NotJson(e.to_string()))?;
    let required = |name| fields.text(name).ok_or(ParseError::Missing(name));
    let session = required(common.session)?;
    let name = required(common.event)?;
    Ok(AgentEvent {
        agent: agent.to_owned(),
        session,
        transcript: fields.text("transcript_path"),
        prompt_id: common.turn.and_then(|turn| fields.text(turn)),
        subagent: fields.text("agent_id"),
        cwd: fields.text("cwd").map(PathBuf::from),
        process: None,
        other_hooks: None,
        kind: kind(&name, &fields),
        name,
    })
}
