//! Facts about Cursor: names, versions, settings, and the rules of its edit tools.

use crate::spec::{AgentPage, AgentSpec, HeldPage, HeldTime, HookForm, SettingsPlaces, Sign};
use serde_json::{Value, json};
use std::path::Path;

const TITLE: &str = "Cursor";

pub const SPEC: AgentSpec = AgentSpec {
    name: super::hooks::NAME,
    title: TITLE,
    program: "cursor",
    // the first that tells of each tool before it runs
    min_version: (2, 4),
    acp_names: &[],
    events: super::hooks::HOOKS.events,
    taken: super::answers::TAKEN,
    hook_timeout: super::hooks::HOOKS.timeout,
    can_block: true,
    marks: &["CURSOR_AGENT"],
    project_variable: Some("CURSOR_PROJECT_DIR"),
    off_switches: &[],
    variable_files: &[],
    edit_tools: &[],
    places: SettingsPlaces {
        variable: None,
        user_dir: ".cursor",
        user_settings: "hooks.json",
        project: &[".cursor/hooks.json"],
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
        title: "Cursor",
        connected: "`.cursor/hooks.json`, from version 2.4",
        turn: "its id",
        step: "its id",
        tested: None,
        held: HeldPage {
            time: HeldTime::For(super::hooks::HOOKS.hold),
            denial: "yes",
            changed_input: "yes",
            text: "after a call",
            end_of_turn: "no",
        },
        proxy: "untested",
    },
};

/// Returns the payload of a prompt.
fn prompt(dir: &Path, prompt: &str) -> Value {
    json!({
        "hook_event_name": "beforeSubmitPrompt",
        "conversation_id": "backstitch-doctor",
        "generation_id": "backstitch-doctor",
        "workspace_roots": [dir],
        "prompt": prompt,
    })
}
