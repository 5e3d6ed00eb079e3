//! The hooks in its settings.

use crate::hook_table::HookTable;
use crate::settings_file::JsonForm;

pub(super) const NAME: &str = "gemini";

pub(super) const TABLE: HookTable = HookTable {
    agent: NAME,
    events: &[
        "SessionStart",
        "SessionEnd",
        "BeforeAgent",
        "AfterAgent",
        "BeforeTool",
        "AfterTool",
    ],
    of_tools: &["BeforeTool", "AfterTool"],
    holding: &["BeforeTool", "AfterTool"],
    // an hour
    hold: 3600,
    timeout: 60,
    short: &[],
    units: 1000,
    named: true,
    blocks: false,
    form: JsonForm::Commented,
};
