//! Cline: its events, its answers, and its hooks, which are programs in a folder that are named after their events. Its command
//! line says nothing of a prompt when a turn begins; the text is in its own record of the session.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use backstitch_core::read_settings;
use serde_json::{Map, Value, json};

use super::adapter::{Abilities, Agent, HookEdit, HookEntry, Hooks, ParseError};
use super::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use super::fields::{self, Fields, command_text};
use super::hook_table;
use super::machine::{home, on_path};
use super::own_tools::is_own;
use super::patch_headers;
use super::settings_plan::{OwnFile, SettingsPlan};
use super::switches::{OffSwitch, VariableFile};

const NAME: &str = "cline";

/// Events that get a hook: names of its programs, and of the same events in payloads.
const EVENTS: &[&str] = &[
    "TaskStart",
    "TaskResume",
    "TaskCancel",
    "TaskComplete",
    "TaskError",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "SessionShutdown",
];
const IN_PAYLOADS: [&str; 9] = [
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

/// Ending of our programs' names. It runs all whose names have the event before one of its endings; this one is rare, so that
/// the user's own programs keep their names.
const ENDING: &str = "bash";
/// First words of our programs, in any version.
const MARK: &str = "# Backstitch for Cline";

/// Time in seconds after which it kills a hook, and the time for which ours hold a call.
const TIMEOUT: u32 = 120;
const HOLD: u32 = 110;

/// Tools that write no file themselves.
const READ_ONLY_TOOLS: &[&str] = &[
    "read_files",
    "search_codebase",
    "fetch_web_content",
    "skills",
    "ask_question",
    "submit_and_exit",
    // tools of the extension
    "read_file",
    "list_files",
    "search_files",
    "list_code_definition_names",
    "web_fetch",
    "web_search",
    "ask_followup_question",
    "attempt_completion",
    "plan_mode_respond",
    "new_task",
];
const EDIT_TOOLS: &[&str] = &["editor", "write_to_file", "replace_in_file"];
const PATCH: &str = "apply_patch";
const SHELL: &str = "run_commands";

/// Parts of an answer that it takes, by event. A call that is denied ends its run.
const TAKEN: &[(&str, &[AnswerPart])] = &[
    (
        "PreToolUse",
        &[
            AnswerPart::Deny,
            AnswerPart::Input,
            AnswerPart::Note,
            AnswerPart::Stop,
        ],
    ),
    ("PostToolUse", &[AnswerPart::Note, AnswerPart::Stop]),
];

/// Time for which the record of the session is looked at for a prompt, and how often.
const PROMPT_TIME: Duration = Duration::from_secs(3);
const PROMPT_TICK: Duration = Duration::from_millis(20);
/// A prompt is written down at most this long before its turn begins, in milliseconds: 11 were seen.
const PROMPT_AGE: i64 = 300;

#[derive(Clone, Copy, Debug)]
pub struct Cline;

impl Agent for Cline {
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

    fn late_prompt(&self, payload: &[u8]) -> Option<String> {
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

    fn encode(&self, _: &AgentEvent, answer: &Answer) -> HookOutput {
        let mut document = Map::new();
        let mut add = |name: &str, value: Value| document.insert(name.to_owned(), value);
        let denied = match &answer.decision {
            Some(ToolDecision::Deny(reason)) => Some(reason),
            Some(ToolDecision::Allow(_) | ToolDecision::Ask(_)) | None => answer.stop.as_ref(),
        };
        if let Some(reason) = denied {
            add("cancel", true.into());
            add("errorMessage", reason.as_str().into());
        }
        if let Some(input) = &answer.input {
            add("overrideInput", input.clone());
        }
        if let Some(note) = &answer.note {
            add("context", note.as_str().into());
        }
        HookOutput {
            stdout: format!("{}\n", Value::Object(document)).into_bytes(),
            ..HookOutput::default()
        }
    }

    fn with_input(&self, payload: &[u8], input: &Value) -> Option<Vec<u8>> {
        let mut payload: Value = serde_json::from_slice(payload).ok()?;
        let place = match payload.get_mut("tool_call") {
            Some(call) => call.get_mut("input")?,
            None => payload.get_mut("preToolUse")?.get_mut("parameters")?,
        };
        *place = input.clone();
        serde_json::to_vec(&payload).ok()
    }

    fn error_text(&self, payload: &[u8]) -> Option<String> {
        let payload: Value = serde_json::from_slice(payload).ok()?;
        let result = &payload["tool_result"];
        let told = result["error"].as_str();
        let own = failure(&result["output"]).and_then(|one| one["error"].as_str());
        told.or(own)
            .or_else(|| payload["postToolUse"]["result"].as_str())
            .map(str::to_owned)
    }

    fn tools(&self) -> Vec<&'static str> {
        let writing = EDIT_TOOLS.iter().chain(&[PATCH, SHELL, "execute_command"]);
        writing.chain(READ_ONLY_TOOLS).copied().collect()
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        if READ_ONLY_TOOLS.contains(&tool) || EDIT_TOOLS.contains(&tool) {
            return None;
        }
        command_text(input, self.tools().contains(&tool))
    }

    fn is_attended(&self) -> bool {
        // a hook cannot have it ask
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hookName": "prompt_submit",
            "taskId": "backstitch-doctor",
            "workspaceRoots": [dir],
            "userPromptSubmit": { "prompt": prompt },
        });
        payload.to_string().into_bytes()
    }

    fn marks(&self) -> &'static [&'static str] {
        &["CLINE_BUILD_ENV", "CLINE_CONNECTOR_CLI_LAUNCH"]
    }

    fn off_switches(&self) -> &'static [OffSwitch] {
        &[]
    }

    fn variable_files(&self) -> &'static [VariableFile] {
        &[]
    }

    fn project_variable(&self) -> Option<&'static str> {
        None
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".cline"));
        let found = self.program().or(directory.filter(|dir| dir.is_dir()))?;
        Some(found.display().to_string())
    }

    fn program(&self) -> Option<PathBuf> {
        on_path("cline")
    }

    fn min_version(&self) -> (u32, u32) {
        (3, 0)
    }

    fn events(&self) -> &'static [&'static str] {
        EVENTS
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        let base = project.map(Path::to_path_buf).or_else(home);
        base.map(|base| base.join(".cline/hooks"))
            .into_iter()
            .collect()
    }

    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        let files = EVENTS.iter().map(|event| {
            let text = match edit {
                HookEdit::Install { command, .. } | HookEdit::Entries { command, .. } => {
                    Some(program(event, command))
                }
                HookEdit::Uninstall => None,
            };
            OwnFile::program(&place(settings, event), text, MARK)
        });
        Ok(SettingsPlan::own(settings, files.collect::<Result<_>>()?))
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        let mut hooks = Hooks::default();
        for event in EVENTS {
            let Some(text) = OwnFile::read(&place(settings, event), MARK)? else {
                continue;
            };
            let line = text
                .lines()
                .find(|line| line.contains(&format!("hook {NAME}")));
            let command = line.map(hook_table::bare).unwrap_or_default();
            let is_other = text != program(event, command);
            hooks.outdated |= is_other;
            hooks.entries.push(HookEntry {
                event: (*event).to_owned(),
                command: command.to_owned(),
                text: line.unwrap_or_default().to_owned(),
                program: hook_table::written_program(command, NAME).filter(|_| !is_other),
                only_for: None,
            });
        }
        Ok(hooks)
    }
}

fn place(settings: &Path, event: &str) -> PathBuf {
    settings.join(format!("{event}.{ENDING}"))
}

/// Returns the program of an event. A killed hook ends the run; any other failure lets the call through, such as that of a
/// program which is gone.
fn program(event: &str, command: &str) -> String {
    let may_hold = ["PreToolUse", "PostToolUse"].contains(&event);
    let run = if may_hold {
        format!(
            r#"{command} --limit {HOLD}
case $? in
137 | 143) echo '{{"cancel": true, "errorMessage": "backstitch: its hook was killed while it held this call"}}' ;;
esac
exit 0"#
        )
    } else {
        command.to_owned()
    };
    format!(
        "#!/bin/sh\n\
         {MARK}: tells it of an event, and carries out its answer. `backstitch setup {NAME}` wrote this file and brings\n\
         # it up to date; `backstitch setup {NAME} --uninstall` removes it.\n\
         {run}\n"
    )
}

/// Returns the text of the newest prompt in the record of a session, if it was written since then.
fn newest_prompt(record: &[u8], since: i64) -> Option<String> {
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

fn kind(name: &str, is_thread: bool, fields: &Fields<'_>) -> EventKind {
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
struct Called {
    id: Option<String>,
    tool: String,
    input: String,
}

fn called(fields: &Fields<'_>, own: &str, of_extension: &str) -> Called {
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

fn call(called: &Called) -> ToolCall {
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
fn failure(output: &Value) -> Option<&Value> {
    let all = match output {
        Value::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    all.iter().find(|one| one["success"] == false)
}
