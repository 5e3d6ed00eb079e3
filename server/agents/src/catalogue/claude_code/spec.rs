//! Facts about Claude Code: names, versions, settings, and the rules of its edit tools.

use crate::edit_rules::{
    Bom, DeletesLine, Dollars, EditFields, EditRules, EditTool, Ends, Fills, PLAIN_WRITE,
    WriteRules,
};
use crate::fields;
use crate::spec::{AgentPage, AgentSpec, HeldPage, HeldTime, HookForm, SettingsPlaces, Sign};
use crate::spec::{OffSwitch, OffValue, VariableFile, VariableForm};
use serde_json::{Value, json};
use std::path::Path;

const TITLE: &str = "Claude Code";

pub const SPEC: AgentSpec = AgentSpec {
    name: super::events::NAME,
    title: TITLE,
    program: "claude",
    min_version: (2, 1),
    acp_names: &["claude"],
    events: super::hooks::TABLE.events,
    taken: super::answers::TAKEN,
    hook_timeout: super::hooks::TABLE.timeout,
    can_block: super::hooks::TABLE.blocks,
    marks: &["CLAUDECODE"],
    project_variable: Some("CLAUDE_PROJECT_DIR"),
    off_switches: &[
        OffSwitch {
            project: &[".claude/settings.json", ".claude/settings.local.json"],
            user: &[
                ".claude/settings.json",
                "/etc/claude-code/managed-settings.json",
            ],
            key: &["disableAllHooks"],
            off: OffValue::True,
        },
        OffSwitch {
            project: &[],
            user: &["/etc/claude-code/managed-settings.json"],
            key: &["allowManagedHooksOnly"],
            off: OffValue::True,
        },
    ],
    variable_files: &[
        VariableFile {
            file: ".claude/settings.json",
            form: VariableForm::Object(&["env"]),
        },
        VariableFile {
            file: ".claude/settings.local.json",
            form: VariableForm::Object(&["env"]),
        },
    ],
    edit_tools: &[
        EditTool {
            names: &["Edit", "MultiEdit"],
            fields: EditFields::Replaces(&["old_string", "new_string"]),
            rules: &RULES,
        },
        EditTool {
            names: &["Write"],
            fields: EditFields::Writes {
                path: "file_path",
                content: "content",
            },
            rules: &RULES,
        },
    ],
    places: SettingsPlaces {
        variable: Some(("CLAUDE_CONFIG_DIR", "")),
        user_dir: ".claude",
        user_settings: "settings.json",
        project: &[".claude/settings.json", ".claude/settings.local.json"],
        sign: Sign::DirectoryFirst,
    },
    hooks: HookForm::Table(&super::hooks::TABLE),
    parse: super::events::parse,
    encode: super::answers::encode,
    error_text: fields::error_text,
    tools: super::tools::tools,
    command: super::tools::command,
    prompt,
    page: AgentPage {
        title: "Claude Code",
        connected: "hooks in `settings.json`",
        turn: "its id",
        step: "its id",
        tested: Some("2.1.332"),
        held: HeldPage {
            time: HeldTime::For(super::hooks::TABLE.hold),
            denial: "yes",
            changed_input: "yes",
            text: "yes",
            end_of_turn: "yes",
        },
        proxy: "untested: it needs an adapter",
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
    })
}

pub const RULES: EditRules = EditRules {
    agent: TITLE,
    ends: Ends::Majority,
    is_loose: false,
    several_may_match: false,
    deletes_line: DeletesLine::Yes,
    equates_quotes: true,
    edits_as_one: true,
    keeps_final_newline: false,
    fills: Fills::NewOrBlank,
    dollars: Dollars::Plain,
    refuses_links: true,
    refuses_binary: true,
    write: WriteRules {
        bom: Bom::Kept,
        ..PLAIN_WRITE
    },
    doubt: None,
};
