//! Facts about Codex: names, versions, settings, and the rules of its edit tools.

use crate::spec::{AgentPage, AgentSpec, HeldPage, HeldTime, HookForm, SettingsPlaces, Sign};
use crate::spec::{OffSwitch, OffValue, VariableFile, VariableForm};
use serde_json::{Value, json};
use std::path::Path;

const TITLE: &str = "Codex";

pub const SPEC: AgentSpec = AgentSpec {
    name: super::hooks::NAME,
    title: TITLE,
    program: "codex",
    min_version: (0, 169),
    acp_names: &["codex"],
    events: super::hooks::TABLE.events,
    taken: super::answers::TAKEN,
    hook_timeout: super::hooks::TABLE.timeout,
    can_block: false,
    marks: &["CODEX_MANAGED_BY_NPM", "CODEX_THREAD_ID", "CODEX_SANDBOX"],
    project_variable: None,
    off_switches: &[
        OffSwitch {
            project: &[".codex/config.toml"],
            user: &[".codex/config.toml"],
            key: &["features", "hooks"],
            off: OffValue::False,
        },
        OffSwitch {
            project: &[".codex/config.toml"],
            user: &[".codex/config.toml"],
            key: &["features", "codex_hooks"],
            off: OffValue::False,
        },
    ],
    variable_files: &[VariableFile {
        file: ".codex/config.toml",
        form: VariableForm::Object(&["shell_environment_policy", "set"]),
    }],
    edit_tools: &[],
    places: SettingsPlaces {
        variable: Some(("CODEX_HOME", "")),
        user_dir: ".codex",
        user_settings: "hooks.json",
        project: &[".codex/hooks.json"],
        sign: Sign::DirectoryFirst,
    },
    hooks: HookForm::Table(&super::hooks::TABLE),
    parse: super::events::parse,
    encode: super::answers::encode,
    error_text: super::events::error_text,
    tools: super::tools::tools,
    command: super::tools::command,
    prompt,
    page: AgentPage {
        title: "Codex",
        connected: "`hooks.json`, once you trust it",
        turn: "its id",
        step: "its id",
        tested: Some("0.169.0"),
        held: HeldPage {
            time: HeldTime::Mostly {
                time: super::hooks::TABLE.hold,
                shorter: super::events::SCRIPT_HOLD,
                of: "for a call in a script of its model",
            },
            denial: "yes",
            changed_input: "yes",
            text: "with a prompt",
            end_of_turn: "a denial asks for it",
        },
        proxy: "untested: it needs an adapter",
    },
};

/// Returns the payload of a prompt.
fn prompt(dir: &Path, prompt: &str) -> Value {
    json!({
        "hook_event_name": "UserPromptSubmit",
        "session_id": "backstitch-doctor",
        "turn_id": "backstitch-doctor",
        "transcript_path": dir.join("none.jsonl"),
        "cwd": dir,
        "prompt": prompt,
    })
}
