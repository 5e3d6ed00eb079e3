//! Qwen Code: its events, its answers, and its settings. A prompt is reported again after each result of a tool; only the first
//! time it has `submitted_prompt`.

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

const NAME: &str = "qwen";
/// Name of a prompt that is told again. Text for the model in the answer to it makes the agent loop for ever.
const REPEAT: &str = "UserPromptSubmit (again)";

#[derive(Clone, Copy, Debug)]
pub struct Qwen;

const TABLE: HookTable = HookTable {
    agent: NAME,
    events: &[
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "SubagentStop",
        "Stop",
    ],
    of_tools: &["PreToolUse", "PostToolUse", "PostToolUseFailure"],
    holding: &["PreToolUse", "PostToolUse", "PostToolUseFailure"],
    // an hour
    hold: 3600,
    timeout: 60,
    short: &[],
    units: 1000,
    named: true,
    blocks: false,
    form: JsonForm::Commented,
};

const COMMON: Common = Common {
    turn: Some("prompt_id"),
    ..Common::SHARED
};

/// Parts of an answer that it takes, by event. A changed input is documented, and not applied.
const TAKEN: &[(&str, &[AnswerPart])] = &[
    ("PreToolUse", &[AnswerPart::Deny]),
    ("UserPromptSubmit", &[AnswerPart::Note]),
];

impl Agent for Qwen {
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
        let mut event = fields::event(NAME, payload, COMMON, kind)?;
        if let (
            "UserPromptSubmit",
            EventKind::Prompt {
                synthetic: true, ..
            },
        ) = (event.name.as_str(), &event.kind)
        {
            REPEAT.clone_into(&mut event.name);
        }
        Ok(event)
    }

    fn encode(&self, event: &AgentEvent, answer: &Answer) -> HookOutput {
        let mut specific = Map::new();
        let mut add = |name: &str, value: &str| specific.insert(name.to_owned(), value.into());
        add("hookEventName", &event.name);
        if let Some(ToolDecision::Deny(reason)) = &answer.decision {
            add("permissionDecision", "deny");
            add("permissionDecisionReason", reason);
        }
        if let Some(note) = &answer.note {
            add("additionalContext", note);
        }
        let document = json!({ "hookSpecificOutput": specific });
        HookOutput {
            stdout: format!("{document}\n").into_bytes(),
            ..HookOutput::default()
        }
    }

    fn tools(&self) -> Vec<&'static str> {
        family::tools("edit")
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
            "hook_event_name": "UserPromptSubmit",
            "session_id": "backstitch-doctor",
            "transcript_path": dir.join("none.jsonl"),
            "cwd": dir,
            "prompt": prompt,
            "submitted_prompt": prompt,
        });
        payload.to_string().into_bytes()
    }

    fn marks(&self) -> &'static [&'static str] {
        &["QWEN_CODE", "QWEN_CODE_SESSION_ID"]
    }

    fn off_switches(&self) -> &'static [OffSwitch] {
        &[
            OffSwitch {
                project: &[".qwen/settings.json"],
                user: &[".qwen/settings.json"],
                key: &["disableAllHooks"],
                off: OffValue::True,
            },
            OffSwitch {
                project: &[".qwen/settings.json"],
                user: &[".qwen/settings.json"],
                key: &["hooksConfig", "enabled"],
                off: OffValue::False,
            },
            OffSwitch {
                project: &[".qwen/settings.json"],
                user: &[".qwen/settings.json"],
                key: &["hooksConfig", "disabled"],
                off: OffValue::NamesUs,
            },
            OffSwitch {
                project: &[".qwen/settings.json"],
                user: &[".qwen/settings.json"],
                key: &["hooks", "enabled"],
                off: OffValue::False,
            },
            OffSwitch {
                project: &[".qwen/settings.json"],
                user: &[".qwen/settings.json"],
                key: &["hooks", "disabled"],
                off: OffValue::NamesUs,
            },
        ]
    }

    fn variable_files(&self) -> &'static [VariableFile] {
        &[
            VariableFile {
                file: ".qwen/.env",
                form: VariableForm::Dotenv,
            },
            VariableFile {
                file: ".env",
                form: VariableForm::Dotenv,
            },
            VariableFile {
                file: ".qwen/settings.json",
                form: VariableForm::Object(&["env"]),
            },
        ]
    }

    fn project_variable(&self) -> Option<&'static str> {
        Some("QWEN_PROJECT_DIR")
    }

    fn found(&self) -> Option<String> {
        let directory = home().map(|home| home.join(".qwen"));
        let settings = directory.map(|dir| dir.join("settings.json"));
        let found = self.program().or(settings.filter(|file| file.is_file()))?;
        Some(found.display().to_string())
    }

    fn program(&self) -> Option<PathBuf> {
        on_path("qwen")
    }

    fn min_version(&self) -> (u32, u32) {
        (0, 24)
    }

    fn distrusts(&self, project: &Path) -> Option<String> {
        trusted_folders::gemini_family(("qwen", ".qwen"), false, project)
    }

    fn events(&self) -> &'static [&'static str] {
        TABLE.events
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        family::settings(".qwen", project)
    }

    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        TABLE.plan(settings, edit)
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        TABLE.examine(settings)
    }
}

fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    let call = || family::call(fields, fields.text("tool_call_id"));
    match name {
        "SessionStart" => EventKind::SessionStart {
            source: fields.text("source").unwrap_or_default(),
        },
        "UserPromptSubmit" => {
            let typed = fields.text("submitted_prompt");
            EventKind::Prompt {
                synthetic: typed.is_none(),
                text: typed.unwrap_or_default(),
            }
        }
        "PreToolUse" => EventKind::Before(call()),
        "PostToolUse" => {
            let call = call();
            let report = family::report(&call, fields);
            EventKind::After {
                call,
                report,
                failed: false,
            }
        }
        "PostToolUseFailure" => EventKind::After {
            call: call(),
            report: ToolReport::default(),
            failed: true,
        },
        "PostToolBatch" => EventKind::BatchEnd,
        "SubagentStop" => EventKind::SubagentStop,
        "Stop" | "StopFailure" => EventKind::Stop { background: false },
        "SessionEnd" => EventKind::SessionEnd,
        "PreCompact" => EventKind::Compact,
        _ => EventKind::Other,
    }
}
