//! Its tools.

use crate::fields::command_text;
use serde_json::Value;

pub(super) const WRITE: &str = "write_code";

pub(super) const SHELL: &str = "run_command";

pub(super) fn tools() -> Vec<&'static str> {
    vec![WRITE, SHELL]
}

pub(super) fn command(tool: &str, input: &Value) -> Option<String> {
    command_text(input, tool == WRITE || tool == SHELL)
}
