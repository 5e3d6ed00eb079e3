//! opencode: a plugin of ours, which is one file, tells its events and carries out the answers. A turn is named by the message
//! of its user; a subagent is a separate session, told as a thread of the session that began it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backstitch_core::capture::{
    AgentEvent, Effect, EventKind, PathReport, ToolCall, ToolReport, Wrote,
};
use serde_json::{Value, json};

use super::adapter::{Abilities, Agent, HookEdit, HookEntry, Hooks, ParseError};
use super::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use super::fields::{self, Common, Fields, command_text};
use super::machine::{home, on_path};
use super::own_tools::is_own;
use super::settings_plan::{OwnFile, SettingsPlan};
use super::switches::{OffSwitch, VariableFile, VariableForm};
use super::{hook_table, patch_headers, program};

const NAME: &str = "opencode";

const EVENTS: &[&str] = &[
    "session.created",
    "session.idle",
    "session.deleted",
    "chat.message",
    "tool.execute.before",
    "tool.execute.after",
    "tool.execute.error",
    "experimental.session.compacting",
];

/// Tools that write no file themselves.
const READ_ONLY_TOOLS: &[&str] = &[
    "read",
    "glob",
    "grep",
    "list",
    "webfetch",
    "websearch",
    "codesearch",
    "todowrite",
    "todoread",
    "skill",
    "lsp",
    "question",
    "plan_enter",
    "plan_exit",
    // a subagent's calls are reported one by one
    "task",
];

/// Tool that edits files by a patch.
const PATCH: &str = "apply_patch";

const COMMON: Common = Common {
    turn: Some("message_id"),
    ..Common::SHARED
};

/// Parts of an answer that the plugin takes, by event.
const TAKEN: &[(&str, &[AnswerPart])] = &[
    (
        "tool.execute.before",
        &[
            AnswerPart::Deny,
            AnswerPart::Input,
            AnswerPart::Note,
            AnswerPart::Stop,
        ],
    ),
    ("tool.execute.after", &[AnswerPart::Note, AnswerPart::Stop]),
];

/// Plugin whose line `const PROGRAM = …` names the program of the hooks.
const PLUGIN: &str = include_str!("opencode/plugin.js");
const PROGRAM_LINE: &str = "const PROGRAM = ";
/// First words of the plugin, in any version.
const MARK: &str = "// Backstitch for opencode";

/// Time in seconds for which the plugin's hooks hold a call, as it says itself. opencode waits without a limit.
const HOLD: u32 = 86_400;

#[derive(Clone, Copy, Debug)]
pub struct OpenCode;

impl Agent for OpenCode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            taken: TAKEN,
            hook_timeout: HOLD,
        }
    }

    fn parse(&self, payload: &[u8]) -> Result<AgentEvent, ParseError> {
        fields::event(NAME, payload, COMMON, kind)
    }

    fn waits(&self, event: &AgentEvent) -> bool {
        // it tells of a call that failed, and continues
        event.name != "tool.execute.error"
    }

    fn encode(&self, _: &AgentEvent, answer: &Answer) -> HookOutput {
        let mut document = json!({});
        if let Some(ToolDecision::Deny(reason)) = &answer.decision {
            document["deny"] = reason.as_str().into();
        }
        if let Some(input) = &answer.input {
            document["input"] = input.clone();
        }
        for (name, text) in [("note", &answer.note), ("stop", &answer.stop)] {
            if let Some(text) = text {
                document[name] = text.as_str().into();
            }
        }
        HookOutput {
            stdout: format!("{document}\n").into_bytes(),
            ..HookOutput::default()
        }
    }

    fn error_text(&self, payload: &[u8]) -> Option<String> {
        let payload: Value = serde_json::from_slice(payload).ok()?;
        let response = payload.get("tool_response")?;
        let text = response["error"].as_str();
        text.or_else(|| response["output"].as_str())
            .map(str::to_owned)
    }

    fn tools(&self) -> Vec<&'static str> {
        let writing = ["edit", "write", PATCH, "bash"];
        let reading = READ_ONLY_TOOLS.iter().copied();
        writing.into_iter().chain(reading).collect()
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        let is_reader = READ_ONLY_TOOLS.contains(&tool);
        command_text(input, self.tools().contains(&tool)).filter(|_| !is_reader)
    }

    fn is_attended(&self) -> bool {
        // a plugin cannot have it ask
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "hook_event_name": "chat.message",
            "session_id": "backstitch-doctor",
            "message_id": "backstitch-doctor",
            "cwd": dir,
            "prompt": prompt,
        });
        payload.to_string().into_bytes()
    }

    fn marks(&self) -> &'static [&'static str] {
        &["OPENCODE"]
    }

    fn off_switches(&self) -> &'static [OffSwitch] {
        &[]
    }

    fn variable_files(&self) -> &'static [VariableFile] {
        &[
            VariableFile {
                file: ".env",
                form: VariableForm::Dotenv,
            },
            VariableFile {
                file: ".env.local",
                form: VariableForm::Dotenv,
            },
            VariableFile {
                file: ".env.development",
                form: VariableForm::Dotenv,
            },
            VariableFile {
                file: ".env.production",
                form: VariableForm::Dotenv,
            },
        ]
    }

    fn project_variable(&self) -> Option<&'static str> {
        None
    }

    fn found(&self) -> Option<String> {
        let directory = user_directory().filter(|dir| dir.is_dir());
        let found = self.program().or(directory)?;
        Some(found.display().to_string())
    }

    fn program(&self) -> Option<PathBuf> {
        on_path("opencode")
    }

    fn min_version(&self) -> (u32, u32) {
        (1, 18)
    }

    fn events(&self) -> &'static [&'static str] {
        EVENTS
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        let directory = match project {
            Some(root) => Some(root.join(".opencode")),
            None => user_directory(),
        };
        directory
            .map(|dir| dir.join("plugins/backstitch.js"))
            .into_iter()
            .collect()
    }

    fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        let text = match edit {
            HookEdit::Install { command, .. } | HookEdit::Entries { command, .. } => {
                Some(plugin(command))
            }
            HookEdit::Uninstall => None,
        };
        Ok(SettingsPlan::own(
            settings,
            vec![OwnFile::new(settings, text, MARK)?],
        ))
    }

    fn examine(&self, settings: &Path) -> Result<Hooks> {
        let Some(text) = OwnFile::read(settings, MARK)? else {
            return Ok(Hooks::default());
        };
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(PROGRAM_LINE));
        let named: Option<String> = line.and_then(|line| serde_json::from_str(line).ok());
        let command = format!(
            "{} hook {NAME}",
            program::quoted(&named.unwrap_or_default())
        );
        let outdated = text != plugin(&command);
        let program = hook_table::written_program(&command, NAME).filter(|_| !outdated);
        let entry = |event: &&str| HookEntry {
            event: (*event).to_owned(),
            command: command.clone(),
            text: command.clone(),
            program: program.clone(),
            only_for: None,
        };
        Ok(Hooks {
            outdated,
            entries: EVENTS.iter().map(entry).collect(),
            ..Hooks::default()
        })
    }
}

/// Returns the plugin that runs the program of this command.
fn plugin(command: &str) -> String {
    let named = program::first_word(command).unwrap_or_default();
    let line = format!("{PROGRAM_LINE}{}", Value::from(named));
    let lines = PLUGIN.lines().map(|own| {
        if own.starts_with(PROGRAM_LINE) {
            line.as_str()
        } else {
            own
        }
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

/// Returns the directory of the user's settings.
fn user_directory() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty());
    let base = named
        .map(PathBuf::from)
        .or_else(|| home().map(|home| home.join(".config")));
    Some(base?.join("opencode"))
}

fn kind(name: &str, fields: &Fields<'_>) -> EventKind {
    match name {
        "session.created" => EventKind::SessionStart {
            source: "startup".to_owned(),
        },
        "chat.message" => {
            let text: String = fields.get("prompt").unwrap_or_default();
            let synthetic = text.trim().is_empty();
            EventKind::Prompt { text, synthetic }
        }
        "tool.execute.before" => EventKind::Before(call(fields)),
        "tool.execute.after" | "tool.execute.error" => {
            let call = call(fields);
            let exit: Option<i64> = fields
                .nested("tool_response")
                .nested("metadata")
                .get("exit");
            let failed = name == "tool.execute.error" || exit.is_some_and(|exit| exit != 0);
            let report = if failed {
                ToolReport {
                    exit,
                    ..ToolReport::default()
                }
            } else {
                report(&call, fields, exit)
            };
            EventKind::After {
                call,
                report,
                failed,
            }
        }
        "session.idle" if fields.text("agent_id").is_some() => EventKind::SubagentStop,
        "session.idle" => EventKind::Stop { background: false },
        "session.deleted" => EventKind::SessionEnd,
        "experimental.session.compacting" => EventKind::Compact,
        _ => EventKind::Other,
    }
}

fn call(fields: &Fields<'_>) -> ToolCall {
    let tool = fields.text("tool_name").unwrap_or_default();
    let input = fields.nested("tool_input");
    let named = match tool.as_str() {
        "edit" | "write" => input.text("filePath").map(|path| vec![PathBuf::from(path)]),
        PATCH => {
            let patch: String = input.get("patchText").unwrap_or_default();
            Some(patch_headers::paths(&patch)).filter(|paths| !paths.is_empty())
        }
        _ => None,
    };
    let effect = match named {
        Some(paths) => Effect::Names(paths),
        None if READ_ONLY_TOOLS.contains(&tool.as_str()) || is_own(&tool) => Effect::Reads,
        None => Effect::Any { background: false },
    };
    fields::tool_call(fields, fields.text("tool_use_id"), tool, effect)
}

/// Returns an edit tool's report of its own work: the text that it wrote, where the input has all of it.
fn report(call: &ToolCall, fields: &Fields<'_>, exit: Option<i64>) -> ToolReport {
    let Effect::Names(paths) = &call.effect else {
        return ToolReport {
            exit,
            ..ToolReport::default()
        };
    };
    let whole: Option<String> = fields.nested("tool_input").get("content");
    let whole = whole.filter(|_| call.tool == "write");
    let reported = paths.iter().map(|path| PathReport {
        path: path.clone(),
        found: None,
        wrote: whole.clone().map(Wrote::Whole),
    });
    ToolReport {
        paths: reported.collect(),
        exit: None,
    }
}
