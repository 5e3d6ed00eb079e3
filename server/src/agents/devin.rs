//! Devin Desktop, once Windsurf: the hooks of Cascade, as its documents describe them. It was not run: it has no program without
//! an account. A call has no id; its own event tells of each kind of tool.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backstitch_core::capture::{
    AgentEvent, Effect, EventKind, PathReport, ToolCall, ToolReport, Wrote,
};
use serde_json::{Value, json};

use super::adapter::{Abilities, Agent, HookEdit, Hooks, ParseError};
use super::answer::{Answer, AnswerPart, HookOutput, ToolDecision};
use super::fields::{self, Common, Fields, command_text};
use super::flat_hooks::FlatHooks;
use super::machine::{home, on_path};
use super::settings_plan::SettingsPlan;
use super::switches::{OffSwitch, VariableFile};

const NAME: &str = "devin";

const HOOKS: FlatHooks = FlatHooks {
    agent: NAME,
    events: &[
        "pre_user_prompt",
        "pre_write_code",
        "post_write_code",
        "pre_run_command",
        "post_run_command",
        "pre_mcp_tool_use",
        "post_mcp_tool_use",
        "post_cascade_response",
    ],
    holding: &["pre_write_code", "pre_run_command", "pre_mcp_tool_use"],
    // its own limit is not documented
    hold: 600,
    command: "command",
    rest: |_, _| json!({ "show_output": false }),
    timeout: 60,
    versioned: false,
};

/// Parts of an answer that it takes, by event.
const TAKEN: &[(&str, &[AnswerPart])] = &[
    ("pre_write_code", &[AnswerPart::Deny]),
    ("pre_run_command", &[AnswerPart::Deny]),
    ("pre_mcp_tool_use", &[AnswerPart::Deny]),
];

/// Exit status of a hook that refuses what is about to happen, with the reason on stderr.
const REFUSED: u8 = 2;

const COMMON: Common = Common {
    session: "trajectory_id",
    event: "agent_action_name",
    turn: Some("execution_id"),
};

const WRITE: &str = "write_code";
const SHELL: &str = "run_command";

#[derive(Clone, Copy, Debug)]
pub struct Devin;

impl Agent for Devin {
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
        let text = String::from_utf8_lossy(payload);
        let info = Fields::read(&text).unwrap_or_default().nested("tool_info");
        event.cwd = info.text("cwd").map(PathBuf::from);
        Ok(event)
    }

    fn waits(&self, event: &AgentEvent) -> bool {
        event.name.starts_with("pre_")
    }

    fn encode(&self, _: &AgentEvent, answer: &Answer) -> HookOutput {
        let Some(ToolDecision::Deny(reason)) = &answer.decision else {
            return HookOutput::default();
        };
        HookOutput {
            stderr: format!("{reason}\n").into_bytes(),
            exit_status: REFUSED,
            ..HookOutput::default()
        }
    }

    fn with_input(&self, _: &[u8], _: &Value) -> Option<Vec<u8>> {
        // it takes none
        None
    }

    fn tools(&self) -> Vec<&'static str> {
        vec![WRITE, SHELL]
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        command_text(input, tool == WRITE || tool == SHELL)
    }

    fn is_attended(&self) -> bool {
        // a hook cannot have it ask
        false
    }

    fn prompt_payload(&self, dir: &Path, prompt: &str) -> Vec<u8> {
        let payload = json!({
            "agent_action_name": "pre_user_prompt",
            "trajectory_id": "backstitch-doctor",
            "execution_id": "backstitch-doctor",
            "tool_info": { "user_prompt": prompt, "cwd": dir },
        });
        payload.to_string().into_bytes()
    }

    fn marks(&self) -> &'static [&'static str] {
        &[]
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
        let directory = home().map(|home| home.join(".codeium/windsurf"));
        let found = self.program().or(directory.filter(|dir| dir.is_dir()))?;
        Some(found.display().to_string())
    }

    fn program(&self) -> Option<PathBuf> {
        on_path("windsurf")
    }

    fn min_version(&self) -> (u32, u32) {
        // its documents name none
        (1, 0)
    }

    fn events(&self) -> &'static [&'static str] {
        HOOKS.events
    }

    fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        let directory = match project {
            Some(root) => Some(root.join(".windsurf")),
            None => home().map(|home| home.join(".codeium/windsurf")),
        };
        directory
            .map(|dir| dir.join("hooks.json"))
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

fn call(tool: &str, fields: &Fields<'_>) -> ToolCall {
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
fn report(call: &ToolCall, info: &Fields<'_>) -> ToolReport {
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
