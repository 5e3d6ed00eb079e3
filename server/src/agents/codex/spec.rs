//! Facts about Codex: names, versions, settings, and the rules of its edit tools.

use crate::agents::spec::AgentSpec;
use crate::agents::spec::{OffSwitch, OffValue, VariableFile, VariableForm};

const TITLE: &str = "Codex";

pub const SPEC: AgentSpec = AgentSpec {
    name: super::hooks::NAME,
    title: TITLE,
    program: "codex",
    min_version: (0, 169),
    acp_names: &["codex"],
    events: super::hooks::TABLE.events,
    taken: super::answers::TAKEN,
    hook_timeout: super::hooks::TABLE.timeout,
    can_block: false,
    marks: &["CODEX_MANAGED_BY_NPM", "CODEX_THREAD_ID", "CODEX_SANDBOX"],
    project_variable: None,
    off_switches: &[
        OffSwitch {
            project: &[".codex/config.toml"],
            user: &[".codex/config.toml"],
            key: &["features", "hooks"],
            off: OffValue::False,
        },
        OffSwitch {
            project: &[".codex/config.toml"],
            user: &[".codex/config.toml"],
            key: &["features", "codex_hooks"],
            off: OffValue::False,
        },
    ],
    variable_files: &[VariableFile {
        file: ".codex/config.toml",
        form: VariableForm::Object(&["shell_environment_policy", "set"]),
    }],
    edit_tools: &[],
};
