//! Agents: what each reports, understands and has in its settings. One file per agent implements the trait `Agent`; the
//! list `AGENTS` has them all. Owns no history.

mod adapter;
mod answer;
mod claude_code;
mod codex;
mod copilot;
mod fields;
mod gemini;
mod gemini_family;
mod hook_table;
mod machine;
mod opencode;
mod patch_headers;
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
    &opencode::OpenCode,
    &copilot::Copilot,
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

    use backstitch_core::capture::{Effect, EventKind};

    use super::*;

    /// Replays the inputs that fuzzing found (`tests/fuzz/found`).
    #[test]
    fn inputs_found_by_fuzzing_pass() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/found/payload");
        for file in std::fs::read_dir(folder).unwrap() {
            super::exercise(&std::fs::read(file.unwrap().path()).unwrap());
        }
    }

    /// Payloads of real agents are read: each event that gets a hook is known, calls have their tool and their effect.
    #[test]
    fn recorded_payloads_are_events() {
        for agent in AGENTS {
            let name = agent.name().trim_end_matches("-code");
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/agents/payloads");
            let folder = Path::new(folder).join(name);
            let mut calls = 0;
            for file in std::fs::read_dir(&folder).unwrap() {
                let path = file.unwrap().path();
                let event = agent.parse(&std::fs::read(&path).unwrap()).unwrap();
                assert_eq!(event.agent, agent.name());
                assert!(event.cwd.is_some(), "{}", path.display());
                let is_hooked = agent.events().contains(&event.name.as_str());
                let is_known = !matches!(event.kind, EventKind::Other);
                let starts = event.name == "SubagentStart";
                assert!(is_known || starts || !is_hooked, "{}", path.display());
                let (EventKind::Before(call) | EventKind::After { call, .. }) = &event.kind else {
                    continue;
                };
                calls += 1;
                assert!(
                    agent.tools().contains(&call.tool.as_str()),
                    "{}",
                    path.display()
                );
                let input = serde_json::from_slice(&call.input).unwrap();
                let is_shell = agent.command(&call.tool, &input).is_some();
                let is_any = matches!(call.effect, Effect::Any { .. });
                assert_eq!(is_shell, is_any, "{}", path.display());
            }
            assert!(calls > 3, "{name}");
        }
    }

    /// An answer that stops or changes a call is one document, and an agent that takes no such part is told by name.
    #[test]
    fn answers_are_documents() {
        let denied = Answer {
            decision: Some(ToolDecision::Deny("not this file".to_owned())),
            ..Answer::default()
        };
        let changed = Answer {
            input: Some(serde_json::json!({ "command": "make" })),
            ..Answer::default()
        };
        for (name, takes_input) in [("codex", true), ("gemini", true), ("qwen", false)] {
            let agent = agent(name).unwrap();
            let event = if name == "gemini" {
                "BeforeTool"
            } else {
                "PreToolUse"
            };
            let payload = serde_json::json!({ "session_id": "s", "hook_event_name": event, "tool_name": "x" });
            let event = agent.parse(payload.to_string().as_bytes()).unwrap();
            let output = agent.answer(&event, &denied).unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(
                text.contains("not this file") && text.contains("\"deny\""),
                "{text}"
            );
            assert!(!text.contains("allow"), "{text}");
            let answered = agent.answer(&event, &changed);
            assert_eq!(answered.is_ok(), takes_input, "{name}");
            if let Err(error) = answered {
                let said = format!("{name} does not take a changed input at {}", event.name);
                assert_eq!(error.to_string(), said);
            }
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
