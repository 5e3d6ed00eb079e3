//! Cursor: its events, its answers, and its settings, as its documents of hooks describe them. It was not run: it has no
//! program without an account.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use serde_json::{Value, json};

use super::adapter::{Abilities, Agent, HookEdit, Hooks, ParseError, taken};
use super::answer::{Answer, AnswerPart, HookOutput, NotTaken, ToolDecision};
use super::fields::{self, Common, Fields, command_text};
use super::flat_hooks::FlatHooks;
use super::machine::{home, on_path};
use super::own_tools::is_own;
use super::settings_plan::SettingsPlan;
use super::switches::{OffSwitch, VariableFile};

const NAME: &str = "cursor";

const HOOKS: FlatHooks = FlatHooks {
    agent: NAME,
    events: &[
        "sessionStart",
        "sessionEnd",
        "beforeSubmitPrompt",
        "preToolUse",
        "postToolUse",
        "postToolUseFailure",
        "subagentStop",
        "preCompact",
        "stop",
    ],
    holding: &["preToolUse"],
    // an hour; its own limit is not documented
    hold: 3600,
    command: "command",
    rest: |seconds, strict| {
        let mut rest = json!({ "timeout": seconds });
        if strict {
            rest["failClosed"] = true.into();
        }
        rest
    },
    timeout: 60,
    versioned: true,
};

/// Tools that write no file themselves.
const READ_ONLY_TOOLS: &[&str] = &[
    "Read",
    "Grep",
    "Glob",
    "LS",
    "SemanticSearch",
    "ReadLints",
    "WebSearch",
    "WebFetch",
    "TodoWrite",
    "AskQuestion",
    // a subagent's calls are reported one by one
    "Task",
];
const EDIT_TOOLS: &[&str] = &["Write", "Edit", "StrReplace", "Delete", "EditNotebook"];

/// Parts of an answer that it takes, by event. It does not wait for an answer after a call.
const TAKEN: &[(&str, &[AnswerPart])] = &[
    ("preToolUse", &[AnswerPart::Deny, AnswerPart::Input]),
    ("postToolUse", &[AnswerPart::Note]),
];

const COMMON: Common = Common {
    session: "conversation_id",
    turn: Some("generation_id"),
    ..Common::SHARED
};

#[derive(Clone, Copy, Debug)]
pub struct Cursor;

impl Agent for Cursor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            taken: TAKEN,
            hook_timeout: HOOKS.timeout,
        }
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        let mut event = fields::event(NAME, payload, COMMON, kind)?;
        if event.cwd.is_none() {
            let text = String::from_utf8_lossy(payload);
            let fields = Fields::read(&text).unwrap_or_default();
            let roots: Vec<PathBuf> = fields.get("workspace_roots").unwrap_or_default();
            event.cwd = roots.into_iter().next();
        }
        Ok(event)
    }

    fn answer(&self, event: &AgentEvent, answer: &Answer) -> Result<HookOutput, NotTaken> {
        taken(self, event, answer).map(|output| match output {
            // its documents show a document on every path
            silent if silent == HookOutput::default() => HookOutput {
                stdout: b"{}\n".to_vec(),
                ..silent
            },
            output => output,
        })
    }

    fn waits(&self, event: &AgentEvent) -> bool {
        // it has continued already when a hook after a call answers
        event.name == "preToolUse"
    }

    fn encode(&self, _: &AgentEvent, answer: &Answer) -> HookOutput {
        let mut document = json!({});
        if let Some(ToolDecision::Deny(reason)) = &answer.decision {
            document["permission"] = "deny".into();
            document["user_message"] = reason.as_str().into();
            document["agent_message"] = reason.as_str().into();
        } else if let Some(input) = &answer.input {
            document["permission"] = "allow".into();
            document["updated_input"] = input.clone();
        }
        if let Some(note) = &answer.note {
            document["additional_context"] = note.as_str().into();
        }
        HookOutput {
            stdout: format!("{document}\n").into_bytes(),
            ..HookOutput::default()
        }
    }

    fn error_text(&self, payload: &[u8]) -> Option<String> {
        let payload: Value = serde_json::from_slice(payload).ok()?;
        Some(payload.get("error_message")?.as_str()?.to_owned())
    }

    fn tools(&self) -> Vec<&'static str> {
        let writing = EDIT_TOOLS.iter().chain(&["Shell"]);
        writing.chain(READ_ONLY_TOOLS).copied().collect()
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        let is_other = READ_ONLY_TOOLS.contains(&tool) || EDIT_TOOLS.contains(&tool);
        command_text(input, self.tools().contains(&tool)).filter(|_| !is_other)
    }

    fn is_attended(&self) -> bool {
        // its documents say that a question is not put before a tool
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hook_event_name": "beforeSubmitPrompt",
            "conversation_id": "backstitch-doctor",
            "generation_id": "backstitch-doctor",
            "workspace_roots": [dir],
            "prompt": prompt,
        });
        payload.to_string().into_bytes()
    }

    fn marks(&self) -> &'static [&'static str] {
        &["CURSOR_AGENT"]
    }

    fn off_switches(&self) -> &'static [OffSwitch] {
        &[]
    }

    fn variable_files(&self) -> &'static [VariableFile] {
        &[]
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("CURSOR_PROJECT_DIR")
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".cursor"));
        let found = self.program().or(directory.filter(|dir| dir.is_dir()))?;
        Some(found.display().to_string())
    }

    fn program(&self) -> Option<PathBuf> {
        on_path("cursor")
    }

    fn min_version(&self) -> (u32, u32) {
        // the first that tells of each tool before it runs
        (2, 4)
    }

    fn can_block(&self) -> bool {
        true
    }

    fn events(&self) -> &'static [&'static str] {
        HOOKS.events
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        let base = project.map(Path::to_path_buf).or_else(home);
        base.map(|base| base.join(".cursor/hooks.json"))
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

fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    match name {
        "sessionStart" => EventKind::SessionStart {
            source: "startup".to_owned(),
        },
        "beforeSubmitPrompt" => {
            let text: String = fields.get("prompt").unwrap_or_default();
            let synthetic = text.trim().is_empty();
            EventKind::Prompt { text, synthetic }
        }
        "preToolUse" => EventKind::Before(call(fields)),
        "postToolUse" | "postToolUseFailure" => {
            let call = call(fields);
            let failed = name == "postToolUseFailure";
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
        "subagentStop" => EventKind::SubagentStop,
        "preCompact" => EventKind::Compact,
        "stop" => EventKind::Stop { background: false },
        "sessionEnd" => EventKind::SessionEnd,
        _ => EventKind::Other,
    }
}

fn call(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.nested("tool_input");
    let named = ["file_path", "path", "target_notebook"]
        .iter()
        .find_map(|name| input.text(name))
        .filter(|_| EDIT_TOOLS.contains(&tool.as_str()));
    let effect = match named {
        Some(path) => Effect::Names(vec![PathBuf::from(path)]),
        None if READ_ONLY_TOOLS.contains(&tool.as_str()) || is_own(&tool) => Effect::Reads,
        None => Effect::Any { background: false },
    };
    fields::tool_call(fields, fields.text("tool_use_id"), tool, effect)
}
