//! Fields of a payload, and the event in one of the form that most agents share. Knows no agent. Pure.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

use backstitch_core::capture::{AgentEvent, Effect, EventKind, PathReport, ToolCall};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

/// Reason why a payload is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Not a JSON object.
    NotJson(String),
    /// A required field is missing.
    Missing(&'static str),
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotJson(why) => write!(f, "the payload is not a JSON object: {why}"),
            Self::Missing(field) => write!(f, "the payload has no `{field}`"),
        }
    }
}

impl std::error::Error for ParseError {}

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
    #[must_use]
    pub fn nested(&self, name: &str) -> Fields<'a> {
        self.raw(name)
            .and_then(|text| Fields::read(text).ok())
            .unwrap_or_default()
    }
}

/// Returns the text of the error in a payload, where it stands in the field that most agents have.
pub fn error_text(payload: &[u8]) -> Option<String> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    Some(payload.get("error")?.as_str()?.to_owned())
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
/// Fields with the command of a tool that is not the agent's own, as one of an MCP server. Without signs and capitals.
const OTHER_COMMANDS: &[&str] = &[
    "command",
    "cmd",
    "commandline",
    "cmdline",
    "shellcommand",
    "shellcmd",
    "commandtext",
    "terminalcommand",
    "fullcommand",
    "program",
    "executable",
    "binary",
    "exe",
    "run",
    "exec",
    "execute",
    "bash",
    "argv",
];
/// Fields with several commands of such a tool.
const OTHER_LISTS: &[&str] = &["commands", "cmds", "scripts", "lines"];
/// Fields with the text on the standard input of a command.
const INPUTS: &[&str] = &["input", "stdin"];
/// Fields with the code of such a tool.
const SCRIPTS: &[&str] = &["script", "input", "code", "chars", "keys"];
/// Fields with the arguments of a program.
const ARGUMENTS: &[&str] = &["args", "arguments", "argv", "params", "parameters"];
/// Levels of an input that are looked through.
const MAX_DEPTH: usize = 16;

/// Returns the text of a shell command: a text, the words of one program, or a list of commands. None: the tool is not a shell.
/// `is_own`: it is one of the agent's own tools, whose other texts are not commands.
pub fn command_text(input: &Value, is_own: bool) -> Option<String> {
    if !is_own {
        let mut found = Vec::new();
        other_commands(input, MAX_DEPTH, &mut found);
        return Some(found.join("\n")).filter(|_| !found.is_empty());
    }
    let found = COMMANDS.iter().find_map(|name| input.get(name));
    if let Some(command) = found.and_then(one_command) {
        return Some(with_arguments(command, input));
    }
    let list = LISTS.iter().find_map(|name| input.get(name))?;
    let lines: Vec<String> = match list {
        Value::Array(lines) => lines.iter().map(line).collect(),
        one => vec![line(one)],
    };
    Some(lines.join("\n"))
}

/// Adds the commands at any depth in the input of a tool that is not the agent's own.
fn other_commands(value: &Value, depth: usize, found: &mut Vec<String>) {
    let fields = match value {
        Value::Object(fields) if depth > 0 => fields,
        Value::Array(items) if depth > 0 => {
            for item in items {
                other_commands(item, depth - 1, found);
            }
            return;
        }
        _ => return,
    };
    // the lines of a file are not commands
    let has_file = fields.keys().any(|name| {
        let name = plain(name);
        name == "uri"
            || ["path", "file", "filename"]
                .iter()
                .any(|end| name.ends_with(end))
    });
    let text_of = |names: &[&str]| {
        let mut texts = fields
            .iter()
            .filter(|(field, _)| names.contains(&&*plain(field)));
        texts.find_map(|(_, value)| value.as_str())
    };
    let mut has_program = false;
    for name in OTHER_COMMANDS {
        let mut values = fields.iter().filter(|(field, _)| plain(field) == *name);
        let command = values.find_map(|(_, value)| one_command(value));
        // `argv` may be the arguments of another field
        let Some(command) = command.filter(|_| *name != "argv" || !has_program) else {
            continue;
        };
        has_program = true;
        let command = match *name {
            "argv" => command,
            _ => with_arguments(command, value),
        };
        found.push(match text_of(INPUTS) {
            Some(text) => format!("{command} <<'INPUT'\n{text}\nINPUT"),
            None => command,
        });
    }
    for (name, value) in fields {
        let name = plain(name);
        let is_list = OTHER_LISTS.contains(&&*name) && !(name == "lines" && has_file);
        let is_script = SCRIPTS.contains(&&*name) && !(has_program && INPUTS.contains(&&*name));
        match value {
            Value::Array(items) if is_list => {
                for item in items {
                    let before = found.len();
                    other_commands(item, depth - 1, found);
                    let is_known = LISTS.contains(&&*name);
                    if found.len() == before && (is_known || item.is_string()) {
                        found.push(line(item));
                    }
                }
            }
            Value::String(text) if is_list => found.push(text.clone()),
            value => {
                let script = one_command(value).filter(|_| is_script);
                let is_patch = |script: &String| script.trim_start().starts_with("*** Begin Patch");
                found.extend(script.filter(|script| !is_patch(script)));
                other_commands(value, depth - 1, found);
            }
        }
    }
}

/// The name of a field without signs and capitals.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// A program with the arguments that stand in their own field.
fn with_arguments(command: String, input: &Value) -> String {
    let arguments = ARGUMENTS.iter().find_map(|name| match input.get(name)? {
        Value::Array(words) => joined(words, " "),
        Value::String(text) => Some(text.clone()),
        _ => None,
    });
    match arguments {
        Some(arguments) => format!("{command} {arguments}"),
        None => command,
    }
}

/// One of several commands. One that is not a text is taken as it stands.
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
        Value::Array(words) => joined(words, "\n"),
        _ => None,
    }
}

/// Joins the words of a command. Several commands, each with a program and arguments, are joined by `between`.
fn joined(words: &[Value], between: &str) -> Option<String> {
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let first = words.first()?;
    if first.contains(char::is_whitespace) {
        return Some(words.join(between));
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
            json!({ "command": "rm", "args": "-rf x" }),
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
            json!({ "program": "rm", "args": ["-rf", "x"] }),
            json!({ "executable": "rm", "arguments": "-rf x" }),
            json!({ "shellCommand": "rm -rf x" }),
            json!({ "input": { "commands": [{ "run": "rm -rf x" }] } }),
            json!({ "steps": [{ "options": { "cmd": "rm -rf x" } }] }),
            json!({ "lines": ["rm -rf x"] }),
            json!({ "code": "rm -rf x" }),
            json!([{ "run": "rm -rf x" }]),
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
        let both = json!({ "cmd": "a", "then": { "script": "b" } });
        assert_eq!(command_text(&both, false).as_deref(), Some("a\nb"));
        let read = json!({ "command": "bash", "input": "a" });
        let text = command_text(&read, false);
        assert_eq!(text.as_deref(), Some("bash <<'INPUT'\na\nINPUT"));
        for other in [
            json!({ "path": "x" }),
            json!({ "steps": ["rm -rf x"], "lines": [1, 2] }),
            json!({ "path": "x", "lines": ["rm -rf x"] }),
            json!({ "file_path": "x", "edits": [{ "newText": "rm -rf x" }] }),
            json!({ "query": "rm -rf x" }),
            json!({ "title": "rm -rf x", "body": "rm -rf x" }),
            json!({ "arguments": "-rf x" }),
            json!({ "run": true }),
        ] {
            assert_eq!(command_text(&other, false), None, "{other}");
        }
    }
}
