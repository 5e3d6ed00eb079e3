//! Facts about Gemini CLI: names, versions, settings, and the rules of its edit tools.

use crate::edit_rules::{
    Bom, DeletesLine, Dollars, EditFields, EditRules, EditTool, Ends, Fills, PLAIN_WRITE,
    WriteRules,
};
use crate::gemini_family as family;
use crate::spec::{AgentPage, AgentSpec, HeldPage, HeldTime, HookForm, SettingsPlaces, Sign};
use crate::spec::{OffSwitch, OffValue, VariableFile, VariableForm};
use serde_json::{Value, json};
use std::path::Path;

const TITLE: &str = "Gemini CLI";

pub const SPEC: AgentSpec = AgentSpec {
    name: super::hooks::NAME,
    title: TITLE,
    program: "gemini",
    min_version: (0, 61),
    acp_names: &["gemini"],
    events: super::hooks::TABLE.events,
    taken: super::answers::TAKEN,
    hook_timeout: super::hooks::TABLE.timeout,
    can_block: false,
    marks: &["GEMINI_CLI", "GEMINI_SESSION_ID"],
    project_variable: Some("GEMINI_PROJECT_DIR"),
    off_switches: &[
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
    ],
    variable_files: &[
        VariableFile {
            file: ".gemini/.env",
            form: VariableForm::Dotenv,
        },
        VariableFile {
            file: ".env",
            form: VariableForm::Dotenv,
        },
    ],
    edit_tools: &[
        EditTool {
            names: &["replace"],
            fields: EditFields::Replaces(&["old_string", "new_string"]),
            rules: &RULES,
        },
        EditTool {
            names: &["write_file"],
            fields: EditFields::Writes {
                path: "file_path",
                content: "content",
            },
            rules: &RULES,
        },
    ],
    places: SettingsPlaces {
        variable: None,
        user_dir: ".gemini",
        user_settings: "settings.json",
        project: &[".gemini/settings.json"],
        sign: Sign::Settings,
    },
    hooks: HookForm::Table(&super::hooks::TABLE),
    parse: super::events::parse,
    encode: super::answers::encode,
    error_text: super::events::error_text,
    tools,
    command,
    prompt,
    page: AgentPage {
        title: "Gemini CLI",
        connected: "hooks in `settings.json`",
        turn: "the prompt",
        step: "its order",
        tested: Some("0.61.0"),
        held: HeldPage {
            time: HeldTime::For(super::hooks::TABLE.hold),
            denial: "yes",
            changed_input: "yes, merged into the call's own input",
            text: "after a call and with a prompt",
            end_of_turn: "yes",
        },
        proxy: "tested; its hooks report no calls there",
    },
};

/// Returns the payload of a prompt.
fn prompt(dir: &Path, prompt: &str) -> Value {
    json!({
        "hook_event_name": "BeforeAgent",
        "session_id": "backstitch-doctor",
        "transcript_path": dir.join("none.jsonl"),
        "cwd": dir,
        "prompt": prompt,
    })
}

fn tools() -> Vec<&'static str> {
    family::tools("replace")
}

fn command(tool: &str, input: &Value) -> Option<String> {
    family::command(&tools(), tool, input)
}

pub const RULES: EditRules = EditRules {
    agent: TITLE,
    ends: Ends::AnyCrlf { new_text: true },
    is_loose: true,
    several_may_match: false,
    deletes_line: DeletesLine::No,
    equates_quotes: false,
    edits_as_one: false,
    keeps_final_newline: true,
    fills: Fills::New,
    dollars: Dollars::Plain,
    refuses_links: false,
    refuses_binary: false,
    write: WriteRules {
        bom: Bom::KeptOrLost,
        keeps_crlf: true,
        ..PLAIN_WRITE
    },
    doubt: None,
};
