//! Facts about Cline: names, versions, settings, and the rules of its edit tools.

use crate::edit_rules::{
    DeletesLine, Dollars, EditFields, EditRules, EditTool, Ends, Fills, PLAIN_WRITE,
};
use crate::spec::{AgentPage, AgentSpec, HeldPage, HeldTime, HookForm, SettingsPlaces, Sign};
use serde_json::{Value, json};
use std::path::Path;

const TITLE: &str = "Cline";

pub const SPEC: AgentSpec = AgentSpec {
    name: super::hooks::NAME,
    title: TITLE,
    program: "cline",
    min_version: (3, 0),
    acp_names: &[],
    events: super::hooks::EVENTS,
    taken: super::answers::TAKEN,
    hook_timeout: super::hooks::TIMEOUT,
    can_block: false,
    marks: &["CLINE_BUILD_ENV", "CLINE_CONNECTOR_CLI_LAUNCH"],
    project_variable: None,
    off_switches: &[],
    variable_files: &[],
    edit_tools: &[
        EditTool {
            names: &["editor"],
            fields: EditFields::Replaces(&["old_text", "new_text"]),
            rules: &RULES,
        },
        EditTool {
            names: &["write_to_file"],
            fields: EditFields::Writes {
                path: "path",
                content: "content",
            },
            rules: &RULES,
        },
    ],
    places: SettingsPlaces {
        variable: None,
        user_dir: ".cline",
        user_settings: "hooks",
        project: &[".cline/hooks"],
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
        title: "Cline",
        connected: "programs in `.cline/hooks`",
        turn: "its beginning",
        step: "its id",
        tested: Some("3.0.65"),
        held: HeldPage {
            time: HeldTime::For(super::hooks::HOLD),
            denial: "yes, which ends its run",
            changed_input: "yes",
            text: "yes",
            end_of_turn: "yes",
        },
        proxy: "untested",
    },
};

/// Returns the payload of a prompt.
fn prompt(dir: &Path, prompt: &str) -> Value {
    json!({
        "hookName": "prompt_submit",
        "taskId": "backstitch-doctor",
        "workspaceRoots": [dir],
        "userPromptSubmit": { "prompt": prompt },
    })
}

pub const RULES: EditRules = EditRules {
    agent: TITLE,
    ends: Ends::Adapted,
    is_loose: false,
    several_may_match: false,
    deletes_line: DeletesLine::No,
    equates_quotes: false,
    edits_as_one: false,
    keeps_final_newline: false,
    fills: Fills::AnyNew,
    dollars: Dollars::Anywhere,
    refuses_links: false,
    refuses_binary: false,
    write: PLAIN_WRITE,
    doubt: Some("Cline may write through an editor that formats the text"),
};
