//! Its tools.

use super::events::READ_ONLY_TOOLS;
use crate::fields::command_text;
use serde_json::Value;

/// Tools that write, or run a command.
const WRITING_TOOLS: [&str; 5] = ["Edit", "MultiEdit", "Write", "NotebookEdit", "Bash"];

pub(super) fn tools() -> Vec<&'static str> {
    let reading = READ_ONLY_TOOLS.iter().copied();
    WRITING_TOOLS.into_iter().chain(reading).collect()
}

/// Returns the text of a shell command. Other tools than Bash have one, too: Monitor, PowerShell.
pub(super) fn command(tool: &str, input: &Value) -> Option<String> {
    let is_reader = READ_ONLY_TOOLS.contains(&tool);
    command_text(input, tools().contains(&tool)).filter(|_| !is_reader)
}
