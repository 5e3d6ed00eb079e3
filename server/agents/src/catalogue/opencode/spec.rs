//! Facts about opencode: names, versions, settings, and the rules of its edit tools.

use crate::edit_rules::{
    Bom, DeletesLine, Dollars, EditFields, EditRules, EditTool, Ends, Fills, PLAIN_WRITE,
    WriteRules,
};
use crate::spec::{AgentPage, AgentSpec, HeldPage, HeldTime, HookForm, SettingsPlaces, Sign};
use crate::spec::{VariableFile, VariableForm};
use serde_json::{Value, json};
use std::path::Path;

const TITLE: &str = "opencode";

pub const SPEC: AgentSpec = AgentSpec {
    name: super::hooks::NAME,
    title: TITLE,
    program: "opencode",
    min_version: (1, 18),
    acp_names: &["opencode"],
    events: super::hooks::EVENTS,
    taken: super::answers::TAKEN,
    hook_timeout: super::hooks::HOLD,
    can_block: false,
    marks: &["OPENCODE"],
    project_variable: None,
    off_switches: &[],
    variable_files: &[
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
    ],
    edit_tools: &[
        EditTool {
            names: &["edit", "multiedit"],
            fields: EditFields::Replaces(&["oldString", "newString"]),
            rules: &RULES,
        },
        EditTool {
            names: &["write"],
            fields: EditFields::Writes {
                path: "filePath",
                content: "content",
            },
            rules: &RULES,
        },
    ],
    places: SettingsPlaces {
        variable: Some(("XDG_CONFIG_HOME", "opencode")),
        user_dir: ".config/opencode",
        user_settings: "plugins/backstitch.js",
        project: &[".opencode/plugins/backstitch.js"],
        sign: Sign::Directory,
    },
    hooks: HookForm::Own {
        plan: super::hooks::plan,
        examine: super::hooks::examine,
    },
    parse: super::events::parse,
    encode: super::answers::encode,
    error_text: super::events::error_text,
    tools: super::tools::tools,
    command: super::tools::command,
    prompt,
    page: AgentPage {
        title: "opencode",
        connected: "a plugin, one file",
        turn: "its message",
        step: "its id",
        tested: Some("1.18.33"),
        held: HeldPage {
            time: HeldTime::For(super::hooks::HOLD),
            denial: "yes",
            changed_input: "yes",
            text: "with the call's output",
            end_of_turn: "yes",
        },
        proxy: "tested",
    },
};

/// Returns the payload of a prompt.
fn prompt(dir: &Path, prompt: &str) -> Value {
    json!({
        "hook_event_name": "chat.message",
        "session_id": "backstitch-doctor",
        "message_id": "backstitch-doctor",
        "cwd": dir,
        "prompt": prompt,
    })
}

const RULES: EditRules = EditRules {
    agent: TITLE,
    ends: Ends::Adapted,
    is_loose: true,
    several_may_match: true,
    deletes_line: DeletesLine::No,
    equates_quotes: false,
    edits_as_one: false,
    keeps_final_newline: false,
    fills: Fills::New,
    dollars: Dollars::InAll,
    refuses_links: false,
    refuses_binary: false,
    write: WriteRules {
        bom: Bom::Kept,
        ..PLAIN_WRITE
    },
    doubt: None,
};
