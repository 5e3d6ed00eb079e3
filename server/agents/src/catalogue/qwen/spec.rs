//! Facts about Qwen Code: names, versions, settings, and the rules of its edit tools.

use crate::edit_rules::{DeletesLine, EditFields, EditRules, EditTool, Ends};
use crate::fields;
use crate::gemini_family as family;
use crate::spec::{AgentPage, AgentSpec, HeldPage, HeldTime, HookForm, SettingsPlaces, Sign};
use crate::spec::{OffSwitch, OffValue, VariableFile, VariableForm};
use serde_json::{Value, json};
use std::path::Path;

const TITLE: &str = "Qwen Code";

pub const SPEC: AgentSpec = AgentSpec {
    name: super::hooks::NAME,
    title: TITLE,
    program: "qwen",
    min_version: (0, 24),
    acp_names: &["qwen"],
    events: super::hooks::TABLE.events,
    taken: super::answers::TAKEN,
    hook_timeout: super::hooks::TABLE.timeout,
    can_block: false,
    marks: &["QWEN_CODE", "QWEN_CODE_SESSION_ID"],
    project_variable: Some("QWEN_PROJECT_DIR"),
    off_switches: &[
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
    ],
    variable_files: &[
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
    ],
    edit_tools: &[EditTool {
        names: &["edit"],
        fields: EditFields::Replaces(&["old_string", "new_string"]),
        rules: &RULES,
    }],
    places: SettingsPlaces {
        variable: None,
        user_dir: ".qwen",
        user_settings: "settings.json",
        project: &[".qwen/settings.json"],
        sign: Sign::Settings,
    },
    hooks: HookForm::Table(&super::hooks::TABLE),
    parse: super::events::parse,
    encode: super::answers::encode,
    error_text: fields::error_text,
    tools,
    command,
    prompt,
    page: AgentPage {
        title: "Qwen Code",
        connected: "hooks in `settings.json`",
        turn: "its id",
        step: "its id",
        tested: Some("0.24.4"),
        held: HeldPage {
            time: HeldTime::For(super::hooks::TABLE.hold),
            denial: "yes",
            changed_input: "no: it ignores one",
            text: "with a prompt",
            end_of_turn: "no",
        },
        proxy: "tested",
    },
};

/// Returns the payload of a prompt.
fn prompt(dir: &Path, prompt: &str) -> Value {
    json!({
        "hook_event_name": "UserPromptSubmit",
        "session_id": "backstitch-doctor",
        "transcript_path": dir.join("none.jsonl"),
        "cwd": dir,
        "prompt": prompt,
        "submitted_prompt": prompt,
    })
}

fn tools() -> Vec<&'static str> {
    family::tools("edit")
}

fn command(tool: &str, input: &Value) -> Option<String> {
    family::command(&tools(), tool, input)
}

const RULES: EditRules = EditRules {
    agent: TITLE,
    ends: Ends::AnyCrlf { new_text: false },
    deletes_line: DeletesLine::Yes,
    keeps_final_newline: false,
    ..crate::catalogue::gemini::RULES
};
