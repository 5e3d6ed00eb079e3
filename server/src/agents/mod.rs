//! Parsers of agents' hook payloads, one file per agent. Pure; owns no I/O and no state.

pub mod claude_code;

use backstitch_core::capture::AgentEvent;

/// Reason why a payload is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// Not a JSON object.
    NotJson(String),
    /// A required field is missing.
    Missing(&'static str),
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotJson(why) => write!(f, "the payload is not a JSON object: {why}"),
            Self::Missing(field) => write!(f, "the payload has no `{field}`"),
        }
    }
}

impl std::error::Error for ParseError {}

/// An agent that has hooks.
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    /// Name in `backstitch hook NAME` and in the store.
    pub name: &'static str,
    /// Environment variable of the hook that holds the project's directory.
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

/// Parses any bytes as a payload of each agent. Checks that the result is an event or a one-line error.
#[cfg(any(test, fuzzing))]
pub fn exercise(payload: &[u8]) {
    for agent in AGENTS {
        match (agent.parse)(payload) {
            Ok(event) => assert!(!event.session.is_empty(), "{payload:?}"),
            Err(error) => {
                let text = error.to_string();
                assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    /// Replays the inputs that fuzzing found (`tests/fuzz/found`).
    #[test]
    fn inputs_found_by_fuzzing_pass() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/found/payload");
        for file in std::fs::read_dir(folder).unwrap() {
            super::exercise(&std::fs::read(file.unwrap().path()).unwrap());
        }
    }
}
