//! Facts about Cursor: names, versions, settings, and the rules of its edit tools.

use crate::agents::spec::AgentSpec;

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
};
