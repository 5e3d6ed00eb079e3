//! The catalogue of agents: one folder and one row each. Tables of the documentation are made from it.

use crate::adapter::Agent;

pub use claude_code::RULES as CLAUDE_RULES;
pub use cline::RULES as CLINE_RULES;
pub use copilot::VSCODE_PAGE;

/// Declares the agents. The command line lists them in this order.
macro_rules! agents {
    ($($folder:ident: $agent:ident,)+) => {
        $(mod $folder;)+

        /// All agents.
        pub static AGENTS: &[&dyn Agent] = &[$(&$folder::$agent),+];
    };
}

agents! {
    claude_code: ClaudeCode,
    codex: Codex,
    opencode: OpenCode,
    copilot: Copilot,
    gemini: Gemini,
    qwen: Qwen,
    cline: Cline,
    cursor: Cursor,
    devin: Devin,
}
