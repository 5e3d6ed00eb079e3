//! Facts about Devin Desktop: names, versions, settings, and the rules of its edit tools.

use crate::fields;
use crate::spec::{AgentPage, AgentSpec, HeldPage, HeldTime, HookForm, SettingsPlaces, Sign};
use serde_json::{Value, json};
use std::path::Path;

const TITLE: &str = "Devin Desktop";

pub const SPEC: AgentSpec = AgentSpec {
    name: super::hooks::NAME,
    title: TITLE,
    program: "windsurf",
    // its documents name none
    min_version: (1, 0),
    acp_names: &[],
    events: super::hooks::HOOKS.events,
    taken: super::answers::TAKEN,
    hook_timeout: super::hooks::HOOKS.timeout,
    can_block: false,
    marks: &[],
    project_variable: None,
    off_switches: &[],
    variable_files: &[],
    edit_tools: &[],
    places: SettingsPlaces {
        variable: None,
        user_dir: ".codeium/windsurf",
        user_settings: "hooks.json",
        project: &[".windsurf/hooks.json"],
        sign: Sign::Directory,
    },
    hooks: HookForm::Flat(&super::hooks::HOOKS),
    parse: super::events::parse,
    encode: super::answers::encode,
    error_text: fields::error_text,
    tools: super::tools::tools,
    command: super::tools::command,
    prompt,
    page: AgentPage {
        title: "Devin Desktop (Windsurf)",
        connected: "Cascade's `hooks.json`",
        turn: "its id",
        step: "its order",
        tested: None,
        held: HeldPage {
            time: HeldTime::For(super::hooks::HOOKS.hold),
            denial: "yes",
            changed_input: "no",
            text: "no",
            end_of_turn: "no",
        },
        proxy: "does not speak it",
    },
};

/// Returns the payload of a prompt.
fn prompt(dir: &Path, prompt: &str) -> Value {
    json!({
        "agent_action_name": "pre_user_prompt",
        "trajectory_id": "backstitch-doctor",
        "execution_id": "backstitch-doctor",
        "tool_info": { "user_prompt": prompt, "cwd": dir },
    })
}
