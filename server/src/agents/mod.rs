//! Agents: what each reports, understands and has in its settings. One file per agent implements the trait `Agent`; the
//! list `AGENTS` has them all. Owns no history.

mod adapter;
mod answer;
mod claude_code;
mod codex;
mod fields;
mod gemini;
mod gemini_family;
mod hook_table;
mod machine;
pub mod program;
mod qwen;
mod settings_plan;

pub use adapter::{Abilities, Agent, Gated, HookEdit, Hooks};
pub use answer::{Answer, AnswerPart, HookOutput, ToolDecision};
pub use machine::home;
pub use settings_plan::SettingsPlan;

/// All agents. The command line lists them in this order.
pub static AGENTS: &[&dyn Agent] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &qwen::Qwen,
];

pub fn agent(name: &str) -> Option<&'static dyn Agent> {
    AGENTS.iter().copied().find(|agent| agent.name() == name)
}

/// Returns the names of the usual tools of all agents.
pub fn tool_names() -> Vec<&'static str> {
    AGENTS.iter().flat_map(|agent| agent.tools()).collect()
}

/// Returns the agents on this machine, with the path by which each was found.
pub fn found() -> Vec<(&'static str, String)> {
    let found = |agent: &&dyn Agent| Some((agent.name(), agent.found()?));
    AGENTS.iter().filter_map(found).collect()
}

/// Parses any bytes as a payload of each agent. Checks that the result is an event or a one-line error.
#[cfg(any(test, fuzzing))]
pub fn exercise(payload: &[u8]) {
    for agent in AGENTS {
        match agent.parse(payload) {
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
    use std::path::Path;

    use backstitch_core::capture::EventKind;

    use super::*;

    /// Replays the inputs that fuzzing found (`tests/fuzz/found`).
    #[test]
    fn inputs_found_by_fuzzing_pass() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/found/payload");
        for file in std::fs::read_dir(folder).unwrap() {
            super::exercise(&std::fs::read(file.unwrap().path()).unwrap());
        }
    }

    #[test]
    fn every_agent_reads_its_own_prompt_and_may_say_nothing() {
        for listed in AGENTS {
            let name = listed.name();
            assert_eq!(agent(name).map(Agent::name), Some(name), "names are unique");
            // the payload that `doctor` sends is a prompt in this workspace
            let dir = tempfile::tempdir().unwrap();
            let payload = listed.prompt_payload(dir.path(), "hello");
            let event = listed.parse(&payload).unwrap();
            assert_eq!(event.agent, name);
            assert!(
                matches!(&event.kind, EventKind::Prompt { text, synthetic: false } if text == "hello"),
                "{event:?}"
            );
            let silent = listed.answer(&event, &Answer::default());
            assert_eq!(silent, Ok(HookOutput::default()));
            assert_eq!(listed.locate(Some(&event)).as_deref(), Some(dir.path()));
            assert!(!listed.settings(Some(Path::new("/work"))).is_empty());
        }
    }
}
