//! One file per agent: the vendor's payload becomes an `AgentEvent`. Pure; owns no I/O and no state.

pub mod claude_code;

use backstitch_core::capture::AgentEvent;

/// Why a payload is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Not a JSON object.
    NotJson(String),
    /// A field without which nothing can be recorded.
    Missing(&'static str),
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotJson(why) => write!(f, "the payload is no JSON object: {why}"),
            Self::Missing(field) => write!(f, "the payload has no `{field}`"),
        }
    }
}

impl std::error::Error for ParseError {}

/// An agent that has hooks.
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    /// As typed in `backstitch hook NAME`, and as stored.
    pub name: &'static str,
    /// The variable that holds the project's directory in the hook's environment.
    pub project_dir: &'static str,
    pub parse: fn(&[u8]) -> Result<AgentEvent, ParseError>,
}

pub const AGENTS: &[Agent] = &[Agent {
    name: claude_code::NAME,
    project_dir: "CLAUDE_PROJECT_DIR",
    parse: claude_code::parse,
}];

pub fn agent(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.name == name)
}
