//! The catalogue of agents: one folder and one row each. Tables of the documentation are made from it.

mod claude_code;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod devin;
mod gemini;
mod opencode;
mod qwen;

use crate::adapter::Agent;

pub use claude_code::RULES as CLAUDE_RULES;
pub use cline::RULES as CLINE_RULES;
pub use copilot::VSCODE_PAGE;

/// All agents. The command line lists them in this order.
pub static AGENTS: &[&dyn Agent] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &opencode::OpenCode,
    &copilot::Copilot,
    &gemini::Gemini,
    &qwen::Qwen,
    &cline::Cline,
    &cursor::Cursor,
    &devin::Devin,
];
