//! Facts about Copilot CLI: names, versions, settings, and the rules of its edit tools.

use crate::edit_rules::{
    DeletesLine, Dollars, EditFields, EditRules, EditTool, Ends, Fills, PLAIN_WRITE, WriteRules,
};
use crate::spec::{AgentPage, AgentSpec, HeldPage, HeldTime, HookForm, SettingsPlaces, Sign};
use crate::spec::{OffSwitch, OffValue};
use serde_json::{Value, json};
use std::path::Path;

const TITLE: &str = "Copilot CLI";

pub const SPEC: AgentSpec = AgentSpec {
    name: super::hooks::NAME,
    title: TITLE,
    program: "copilot",
    min_version: (1, 0),
    acp_names: &["copilot", "github-copilot"],
    events: super::hooks::EVENTS,
    taken: super::answers::TAKEN,
    hook_timeout: super::hooks::TIMEOUT,
    can_block: false,
    marks: &["COPILOT_CLI"],
    project_variable: None,
    off_switches: &[
        OffSwitch {
            project: &[
                ".github/copilot/settings.json",
                ".github/copilot/settings.local.json",
            ],
            user: &[".copilot/settings.json", ".copilot/config.json"],
            key: &["disableAllHooks"],
            off: OffValue::True,
        },
        OffSwitch {
            project: &[".vscode/settings.json"],
            user: &[],
            key: &["chat.useHooks"],
            off: OffValue::False,
        },
    ],
    variable_files: &[],
    edit_tools: &[
        EditTool {
            names: &["Edit", "edit", "str_replace", "str_replace_editor"],
            fields: EditFields::Replaces(&["old_str", "new_str"]),
            rules: &RULES,
        },
        EditTool {
            names: &["Write", "create", "str_replace_editor"],
            fields: EditFields::Writes {
                path: "path",
                content: "file_text",
            },
            rules: &RULES,
        },
    ],
    places: SettingsPlaces {
        variable: None,
        user_dir: ".copilot",
        user_settings: "hooks/backstitch.json",
        project: &[".github/hooks/backstitch.json"],
        sign: Sign::Directory,
    },
    hooks: HookForm::Flat(&super::hooks::HOOKS),
    parse: super::events::parse,
    encode: super::answers::encode,
    error_text: super::events::error_text,
    tools: super::tools::tools,
    command: super::tools::command,
    prompt,
    page: AgentPage {
        title: "Copilot CLI",
        connected: "a file in `.copilot/hooks`",
        turn: "the prompt",
        step: "its order",
        tested: Some("1.0.102"),
        held: HeldPage {
            time: HeldTime::For(super::hooks::HOLD),
            denial: "yes",
            changed_input: "yes",
            text: "no",
            end_of_turn: "no",
        },
        proxy: "untested",
    },
};

/// Returns the payload of a prompt.
fn prompt(dir: &Path, prompt: &str) -> Value {
    json!({
        "hook_event_name": "UserPromptSubmit",
        "session_id": "backstitch-doctor",
        "cwd": dir,
        "prompt": prompt,
    })
}

const RULES: EditRules = EditRules {
    agent: TITLE,
    ends: Ends::Adapted,
    is_loose: true,
    several_may_match: false,
    deletes_line: DeletesLine::Maybe,
    equates_quotes: false,
    edits_as_one: false,
    keeps_final_newline: false,
    fills: Fills::Empty,
    dollars: Dollars::Plain,
    refuses_links: false,
    refuses_binary: false,
    write: WriteRules {
        refuses_existing: true,
        refuses_new_folder: true,
        ..PLAIN_WRITE
    },
    doubt: None,
};

/// The rows of the agents of VS Code, whose events are of this kind.
pub const VSCODE_PAGE: AgentPage = AgentPage {
    title: "VS Code's agents",
    connected: "the file of Copilot CLI, or hooks of Claude Code",
    turn: "the prompt",
    step: "its id",
    tested: None,
    held: HeldPage {
        time: HeldTime::For(super::hooks::HOLD),
        denial: "yes",
        changed_input: "yes",
        text: "no",
        end_of_turn: "no",
    },
    proxy: "does not speak it",
};
