//! Fields of a payload, and the event in one of the form that most agents share. Knows no agent. Pure.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

use backstitch_core::capture::{AgentEvent, Effect, EventKind, PathReport, ToolCall};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
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

/// Fields with the command of a shell tool.
const COMMANDS: &[&str] = &[
    "command",
    "cmd",
    "command_line",
    "commandLine",
    "CommandLine",
    "shell_command",
];
/// Fields with several commands.
const LISTS: &[&str] = &["commands", "cmds"];
/// Fields with the code of a tool that is not the agent's own, as one of an MCP server.
const SCRIPTS: &[&str] = &["script", "input", "code", "chars", "keys"];
/// Fields with the arguments of a program.
const ARGUMENTS: &[&str] = &["args", "arguments", "argv"];
/// Fields in which a tool may have its real input.
const INNER: &[&str] = &["args", "arguments", "params", "parameters", "input"];

/// Returns the text of a shell command: a text, the words of one program, or a list of commands. None: the tool is no shell.
/// `is_own`: it is one of the agent's own tools, whose other texts are no commands.
pub fn command_text(input: &Value, is_own: bool) -> Option<String> {
    let found = COMMANDS.iter().find_map(|name| input.get(name));
    if let Some(command) = found.and_then(one_command) {
        let mut arguments = ARGUMENTS.iter();
        let arguments = arguments.find_map(|name| input.get(name)?.as_array());
        return Some(match arguments.and_then(|words| joined(words)) {
            Some(arguments) => format!("{command} {arguments}"),
            None => command,
        });
    }
    if let Some(list) = LISTS.iter().find_map(|name| input.get(name)) {
        let lines: Vec<String> = match list {
            Value::Array(lines) => lines.iter().map(line).collect(),
            one => vec![line(one)],
        };
        return Some(lines.join("\n"));
    }
    if is_own {
        return None;
    }
    if let Some(words) = input.get("argv").and_then(Value::as_array) {
        return joined(words);
    }
    let script = SCRIPTS.iter().find_map(|name| input.get(name));
    match script.and_then(one_command) {
        Some(script) if !script.trim_start().starts_with("*** Begin Patch") => Some(script),
        _ => INNER.iter().find_map(|name| {
            let inner = input.get(name).filter(|inner| inner.is_object())?;
            command_text(inner, is_own)
        }),
    }
}

/// One of several commands. One that is no text is taken as it stands.
fn line(value: &Value) -> String {
    let mut names = COMMANDS.iter();
    let inner = names.find_map(|name| one_command(value.get(name)?));
    match value {
        Value::String(text) => text.clone(),
        value => inner.unwrap_or_else(|| value.to_string()),
    }
}

/// A command as a text, or as the words of one.
fn one_command(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => joined(words),
        _ => None,
    }
}

/// Joins the words of a command. Several commands, each with a program and arguments, are one in each line.
fn joined(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let first = words.first()?;
    if first.contains(char::is_whitespace) {
        return Some(words.join("\n"));
    }
    let quoted: Vec<Cow<'_, str>> = words.iter().map(|word| quoted(word)).collect();
    Some(quoted.join(" "))
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_of_shell_tools() {
        let rm = Some("rm -rf x".to_owned());
        for input in [
            json!({ "command": "rm -rf x" }),
            json!({ "cmd": "rm -rf x" }),
            json!({ "command": ["rm", "-rf", "x"] }),
            json!({ "cmd": ["rm", "-rf", "x"] }),
            json!({ "command": "rm", "args": ["-rf", "x"] }),
            json!({ "commands": ["rm -rf x"] }),
            json!({ "commands": [{ "command": "rm -rf x" }] }),
        ] {
            assert_eq!(command_text(&input, true), rm, "{input}");
            assert_eq!(command_text(&input, false), rm, "{input}");
        }
        for input in [
            json!({ "script": "rm -rf x" }),
            json!({ "input": "rm -rf x" }),
            json!({ "argv": ["rm", "-rf", "x"] }),
            json!({ "arguments": { "cmd": "rm -rf x" } }),
            json!({ "params": { "script": ["rm", "-rf", "x"] } }),
        ] {
            assert_eq!(command_text(&input, false), rm, "{input}");
            assert_eq!(command_text(&input, true), None, "{input}");
        }
        let shell = json!({ "command": ["bash", "-lc", "rm -rf 'x'"] });
        let text = command_text(&shell, true);
        assert_eq!(text.as_deref(), Some(r"bash -lc 'rm -rf '\''x'\'''"));
        let lines = json!({ "command": ["cd x", "rm -rf y"] });
        let text = command_text(&lines, true);
        assert_eq!(text.as_deref(), Some("cd x\nrm -rf y"));
        let patch = json!({ "input": "*** Begin Patch\n" });
        assert_eq!(command_text(&patch, false), None);
        assert_eq!(command_text(&json!({ "path": "x" }), false), None);
    }
}
