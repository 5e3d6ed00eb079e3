//! Gemini CLI: its events, its answers, and its settings. A call has no id. A changed input is laid over the call's own.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backstitch_core::capture::{AgentEvent, EventKind, ToolReport};
use serde_json::{Map, Value, json};

use super::adapter::{Abilities, Agent, HookEdit, Hooks, ParseError};
use super::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use super::fields::{self, Common, Fields};
use super::gemini_family as family;
use super::hook_table::HookTable;
use super::machine::{home, on_path};
use super::settings_plan::SettingsPlan;
use super::switches::{OffSwitch, OffValue, VariableFile, VariableForm};
use super::trusted_folders;
use crate::settings_file::JsonForm;

const NAME: &str = "gemini";

#[derive(Clone, Copy, Debug)]
pub struct Gemini;

const TABLE: HookTable = HookTable {
    agent: NAME,
    events: &[
        "SessionStart",
        "SessionEnd",
        "BeforeAgent",
        "AfterAgent",
        "BeforeTool",
        "AfterTool",
    ],
    of_tools: &["BeforeTool", "AfterTool"],
    holding: &["BeforeTool", "AfterTool"],
    // an hour
    hold: 3600,
    timeout: 60,
    short: &[],
    units: 1000,
    named: true,
    blocks: false,
    form: JsonForm::Commented,
};

/// Parts of an answer that it takes, by event.
const TAKEN: &[(&str, &[AnswerPart])] = &[
    (
        "BeforeTool",
        &[AnswerPart::Deny, AnswerPart::Input, AnswerPart::Stop],
    ),
    ("AfterTool", &[AnswerPart::Note, AnswerPart::Stop]),
    ("BeforeAgent", &[AnswerPart::Note]),
];

impl Agent for Gemini {
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
        fields::event(NAME, payload, Common::SHARED, kind)
    }

    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        let mut specific = Map::new();
        if let Some(input) = &answer.input {
            specific.insert("tool_input".to_owned(), input.clone());
        }
        if let Some(note) = &answer.note {
            specific.insert("additionalContext".to_owned(), note.as_str().into());
        }
        let mut document = json!({});
        if !specific.is_empty() {
            specific.insert("hookEventName".to_owned(), event.name.as_str().into());
            document["hookSpecificOutput"] = Value::Object(specific);
        }
        if let Some(ToolDecision::Deny(reason)) = &answer.decision {
            document["decision"] = "deny".into();
            document["reason"] = reason.as_str().into();
        }
        if let Some(reason) = &answer.stop {
            document["continue"] = false.into();
            document["stopReason"] = reason.as_str().into();
        }
        HookOutput {
            stdout: format!("{document}\n").into_bytes(),
            ..HookOutput::default()
        }
    }

    fn lays_input_over(&self) -> bool {
        true
    }

    fn error_text(&self, payload: &[u8]) -> Option<String> {
        let payload: Value = serde_json::from_slice(payload).ok()?;
        let error = &payload["tool_response"]["error"];
        Some(error["message"].as_str()?.to_owned())
    }

    fn tools(&self) -> Vec<&'static str> {
        family::tools("replace")
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        family::command(&self.tools(), tool, input)
    }

    fn is_attended(&self) -> bool {
        // nothing in a hook's environment tells
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hook_event_name": "BeforeAgent",
            "session_id": "backstitch-doctor",
            "transcript_path": dir.join("none.jsonl"),
            "cwd": dir,
            "prompt": prompt,
        });
        payload.to_string().into_bytes()
    }

    fn marks(&self) -> &'static [&'static str] {
        &["GEMINI_CLI", "GEMINI_SESSION_ID"]
    }

    fn off_switches(&self) -> &'static [OffSwitch] {
        &[
            OffSwitch {
                project: &[".gemini/settings.json"],
                user: &[".gemini/settings.json"],
                key: &["hooksConfig", "enabled"],
                off: OffValue::False,
            },
            OffSwitch {
                project: &[".gemini/settings.json"],
                user: &[".gemini/settings.json"],
                key: &["hooksConfig", "disabled"],
                off: OffValue::NamesUs,
            },
            OffSwitch {
                project: &[".gemini/settings.json"],
                user: &[".gemini/settings.json"],
                key: &["hooks", "enabled"],
                off: OffValue::False,
            },
            OffSwitch {
                project: &[".gemini/settings.json"],
                user: &[".gemini/settings.json"],
                key: &["hooks", "disabled"],
                off: OffValue::NamesUs,
            },
            OffSwitch {
                project: &[".gemini/settings.json"],
                user: &[".gemini/settings.json"],
                key: &["tools", "enableHooks"],
                off: OffValue::False,
            },
        ]
    }

    fn variable_files(&self) -> &'static [VariableFile] {
        &[
            VariableFile {
                file: ".gemini/.env",
                form: VariableForm::Dotenv,
            },
            VariableFile {
                file: ".env",
                form: VariableForm::Dotenv,
            },
        ]
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("GEMINI_PROJECT_DIR")
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".gemini"));
        let settings = directory.map(|dir| dir.join("settings.json"));
        let found = self.program().or(settings.filter(|file| file.is_file()))?;
        Some(found.display().to_string())
    }

    fn program(&self) -> Option<PathBuf> {
        on_path("gemini")
    }

    fn min_version(&self) -> (u32, u32) {
        (0, 61)
    }

    fn distrusts(&self, project: &Path) -> Option<String> {
        trusted_folders::gemini_family(("gemini", ".gemini"), true, project)
    }

    fn events(&self) -> &'static [&'static str] {
        TABLE.events
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        family::settings(".gemini", project)
    }

    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        TABLE.plan(settings, edit)
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        TABLE.examine(settings)
    }
}

fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    match name {
        "SessionStart" => EventKind::SessionStart {
            source: fields.text("source").unwrap_or_default(),
        },
        "BeforeAgent" => {
            let text: String = fields.get("prompt").unwrap_or_default();
            let synthetic = text.trim().is_empty();
            EventKind::Prompt { text, synthetic }
        }
        "BeforeTool" => EventKind::Before(family::call(fields, None)),
        "AfterTool" => {
            let call = family::call(fields, None);
            let error = fields.nested("tool_response").raw("error");
            let failed = error.is_some_and(|error| error != "null");
            let report = if failed {
                ToolReport::default()
            } else {
                family::report(&call, fields)
            };
            EventKind::After {
                call,
                report,
                failed,
            }
        }
        "AfterAgent" => EventKind::Stop { background: false },
        "SessionEnd" => EventKind::SessionEnd,
        _ => EventKind::Other,
    }
}
