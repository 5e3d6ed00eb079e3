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

/// Any bytes as the payload of each agent: an event, or what is wrong with it in one line.
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
    /// Inputs of the fuzzer that are kept (`tests/fuzz/found`).
    #[test]
    fn what_was_found_once_holds() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/found/payload");
        for file in std::fs::read_dir(folder).unwrap() {
            super::exercise(&std::fs::read(file.unwrap().path()).unwrap());
        }
    }
}
