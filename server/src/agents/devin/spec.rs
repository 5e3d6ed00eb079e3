//! Facts about Devin Desktop: names, versions, settings, and the rules of its edit tools.

use crate::agents::spec::AgentSpec;

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
};
