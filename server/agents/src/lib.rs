//! Agents: what each reports, understands and has in its settings. `catalogue` has one folder and one row for each, which
//! implements the trait `Agent`; the list `AGENTS` has them all. Also the settings files of agents and editors. Owns no history.

mod adapter;
mod aider;
mod answer;
mod catalogue;
pub mod conversations;
pub mod edit_rules;
mod fields;
mod flat_hooks;
mod gemini_family;
mod hook_entries;
mod hook_table;
pub mod installed;
mod machine;
pub mod own_tools;
pub mod patch_headers;
pub mod program;
mod row_chain;
pub mod settings_file;
mod settings_plan;
mod spec;
pub mod switches;
mod trusted_folders;

use std::path::Path;

use crate::settings_file::{JsonForm, JsonSettings};
use edit_rules::{EditFields, EditTool};

pub use adapter::{Agent, Gated, taken_or_denied};
pub use aider::Aider;
pub use answer::{Answer, AnswerPart, HookOutput, ToolDecision};
pub use catalogue::{AGENTS, CLAUDE_RULES, CLINE_RULES};
pub use fields::{Fields, command_text};
pub use hook_entries::{HookEdit, Hooks};
pub use machine::{home, neutral_dir};
pub use settings_plan::SettingsPlan;
pub use spec::{Abilities, AgentPage, HeldPage, HeldTime};

/// Reason for an agent whose user has not had it trust the project's folder.
pub const UNTRUSTED: &str =
    "it loads the hooks of a project only in a folder that its user trusts, and this one is not";

/// True if the settings of an agent, the user's or the project's, have hooks of others at the end of a call.
pub fn has_other_hooks(agent: &dyn Agent, project: &Path) -> bool {
    let all = agent.settings(None).into_iter();
    all.chain(agent.settings(Some(project))).any(|path| {
        path.is_file()
            && JsonSettings::read(&path, JsonForm::Commented)
                .is_ok_and(|settings| hook_table::has_others(&settings.value, agent.name()))
    })
}

/// Returns the rows of all agents in the documentation: those with hooks, then those that come in another way.
pub fn pages() -> impl Iterator<Item = &'static AgentPage> {
    let listed = AGENTS.iter().map(|agent| &agent.spec().page);
    listed.chain([&aider::PAGE, &catalogue::VSCODE_PAGE])
}

pub fn agent(name: &str) -> Option<&'static dyn Agent> {
    AGENTS.iter().copied().find(|agent| agent.name() == name)
}

/// Marks that are no agent's own: ours on an agent behind `backstitch acp`, and one that several set.
const COMMON_MARKS: [&str; 2] = [ACP_MARK, "AI_AGENT"];
/// Set for an agent that `backstitch acp` runs, and so for its commands.
pub const ACP_MARK: &str = "BACKSTITCH_AGENT";

/// Returns an agent's edit tool with this name and these fields.
pub fn edit_tool(tool: &str, has_fields: impl Fn(EditFields) -> bool) -> Option<&'static EditTool> {
    let mut all = AGENTS.iter().flat_map(|agent| agent.spec().edit_tools);
    all.find(|one| one.names.contains(&tool) && has_fields(one.fields))
}

/// Returns the environment variables by which a command of an agent is known.
pub fn marks() -> impl Iterator<Item = &'static str> {
    let own = AGENTS.iter().flat_map(|agent| agent.spec().marks);
    own.chain(&COMMON_MARKS).copied()
}

/// True if an agent takes this part of an answer at any of its events. One that is not known may.
pub fn takes(name: &str, part: AnswerPart) -> bool {
    agent(name).is_none_or(|agent| {
        let mut taken = agent.abilities().taken.iter();
        taken.any(|(_, parts)| parts.contains(&part))
    })
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

/// Parses any bytes as a payload of each agent. Checks that the result is an event or a one-line error, and that whatever is
/// asked of it next has an answer.
#[cfg(any(test, fuzzing))]
pub fn exercise(payload: &[u8]) {
    use backstitch_core::capture::EventKind;

    for agent in AGENTS {
        let _ = agent.error_text(payload);
        let _ = agent.with_input(payload, &serde_json::Value::Null);
        match agent.parse(payload) {
            Ok(event) => {
                assert!(!event.session.is_empty(), "{payload:?}");
                if let EventKind::Before(call) | EventKind::After { call, .. } = &event.kind {
                    let input = serde_json::from_slice(&call.input).unwrap_or_default();
                    let _ = agent.command(&call.tool, &input);
                }
                let _ = (agent.longest_hold(&event), agent.waits(&event));
                let silent = agent.answer(&event, &Answer::default()).unwrap();
                assert!([&b""[..], b"{}\n"].contains(&silent.stdout.as_slice()));
            }
            Err(error) => {
                let text = error.to_string();
                assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
            }
        }
    }
}

/// Reads any bytes as a record of each agent and cuts it. Checks that a new session tells the planned turns.
#[cfg(any(test, fuzzing))]
pub fn exercise_record(record: &[u8]) {
    use conversations::{CutRequest, Placement, RecordPart, RecordPlace, SessionCut};

    const SESSION: &str = "11111111-2222-4333-8444-555555555555";
    for of in AGENTS.iter().filter_map(|agent| agent.conversations()) {
        let _ = (
            of.base(record),
            of.tells(record),
            of.messages(record, &RecordPart::All),
        );
        let turns = of.turns(record).unwrap_or_default();
        // the first ones and the last
        for turn in turns.iter().take(3).chain(turns.iter().skip(3).last()) {
            let anchor = || turn.anchor.clone();
            let parts = [
                RecordPart::Before(anchor()),
                RecordPart::From(anchor()),
                RecordPart::Turn(anchor()),
            ];
            for part in &parts {
                let _ = of.messages(record, part);
            }
            let cuts = [
                SessionCut::Before(anchor()),
                SessionCut::SummaryOfRest(anchor(), "summary".to_owned()),
                SessionCut::SummaryOfStart(anchor(), "summary".to_owned()),
            ];
            for cut in &cuts {
                let request = CutRequest {
                    place: &RecordPlace::default(),
                    record: Some(Path::new("/a/b/c.jsonl")),
                    cut,
                    into: None,
                    session: SESSION,
                    now: 0,
                    folders: &[],
                };
                match of.cut(record, &request) {
                    Ok(new) => {
                        if let Placement::File { bytes, .. } = &new.placement {
                            new.verify(of, bytes).unwrap();
                        }
                    }
                    Err(refused) => assert!(!refused.to_string().contains('\n')),
                }
            }
        }
    }
}

/// Reads records that are like this one, with lines dropped, doubled, swapped and truncated.
#[cfg(test)]
fn exercise_mutations(record: &[u8]) {
    let mut random: u64 = 45;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random >> 1).unwrap() % below.max(1)
    };
    let lines = record.split_inclusive(|byte| *byte == b'\n');
    let whole: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
    for _ in 0..20 {
        let mut lines = whole.clone();
        for _ in 0..=next(4) {
            let (at, other) = (next(lines.len()), next(lines.len()));
            match next(4) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(other, lines[at].clone()),
                2 => lines.swap(at, other),
                _ => lines[at].truncate(next(200)),
            }
        }
        exercise_record(&lines.concat());
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use backstitch_core::capture::{Effect, EventKind};

    use super::*;

    /// Replays the inputs that fuzzing found (`tests/fuzz/found`).
    #[test]
    fn inputs_found_by_fuzzing_pass() {
        let replay = |target: &str, exercise: fn(&[u8])| {
            let found = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/found");
            for file in std::fs::read_dir(Path::new(found).join(target)).unwrap() {
                exercise(&std::fs::read(file.unwrap().path()).unwrap());
            }
        };
        replay("payload", super::exercise);
        replay("record", super::exercise_record);
    }

    /// Payloads of all agents with a value replaced, removed or moved, and with bytes changed, cut and doubled.
    #[test]
    fn mutated_payloads_never_break() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/agents/payloads");
        let mut random: u64 = 26;
        let mut next = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            usize::try_from(random >> 1).unwrap() % below.max(1)
        };
        let odd = [
            "null",
            "7",
            "-1e400",
            "\"\"",
            "[]",
            "{}",
            "[[{}]]",
            "true",
            "\"\\ud800\"",
        ];
        let mut count = 0;
        for agent in std::fs::read_dir(folder).unwrap().flatten() {
            let Ok(files) = std::fs::read_dir(agent.path()) else {
                continue;
            };
            for file in files {
                let whole = std::fs::read(file.unwrap().path()).unwrap();
                for _ in 0..60 {
                    let mut payload = whole.clone();
                    for _ in 0..=next(3) {
                        let at = next(payload.len());
                        let end = at + next(payload.len() - at);
                        match next(5) {
                            0 => payload.truncate(at),
                            1 => drop(payload.drain(at..end)),
                            2 => payload[at] = u8::try_from(next(256)).unwrap(),
                            3 => {
                                let part = payload[at..end].to_vec();
                                payload.splice(at..at, part);
                            }
                            // another value after a colon
                            _ => {
                                let colon = payload[at..].iter().position(|byte| *byte == b':');
                                let from = at + colon.unwrap_or_default();
                                let to = payload[from..].iter().position(|b| b",}\n".contains(b));
                                let to = from + to.unwrap_or_default();
                                let value = format!(": {}", odd[next(odd.len())]);
                                payload.splice(from..to, value.into_bytes());
                            }
                        }
                        if payload.is_empty() {
                            break;
                        }
                    }
                    super::exercise(&payload);
                    count += 1;
                }
            }
        }
        assert!(count > 6_000, "{count}");
    }

    /// VS Code runs the hooks of Claude Code with its own payloads: the events are Copilot's, whoever is asked.
    #[test]
    fn events_of_vscode_are_copilots() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/agents/payloads/copilot"
        );
        for name in ["copilot", "claude-code"] {
            let file =
                Path::new(folder).join("vscode-PreToolUse-multi_replace_string_in_file.json");
            let event = agent(name).unwrap().parse(&std::fs::read(file).unwrap());
            let event = event.unwrap();
            assert_eq!(event.agent, "copilot");
            let EventKind::Before(call) = event.kind else {
                panic!("{:?}", event.kind)
            };
            assert_eq!(call.id.as_deref(), Some("tool-1"));
            let path = "/home/dev/project/src/main.rs";
            assert_eq!(call.effect, Effect::Names(vec![path.into()]));
        }
    }

    /// The recorded payloads of an agent, each with its file. A folder is named after the agent's program.
    fn payloads(agent: &dyn Agent) -> Vec<(PathBuf, Vec<u8>)> {
        let name = agent.name();
        let folder = Path::new("tests/agents/payloads").join(name.trim_end_matches("-code"));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let files = std::fs::read_dir(root.join(&folder)).unwrap_or_else(|error| {
            let folder = folder.display();
            panic!("{name} has no recorded payloads in {folder}: {error}; tests/agents/record_payloads.py makes them")
        });
        let files = files.map(|file| file.unwrap().path());
        files
            .map(|path| {
                let payload = std::fs::read(&path).unwrap();
                (path, payload)
            })
            .collect()
    }

    /// Payloads of real agents are read: each event that gets a hook is known, calls have their tool and their effect.
    #[test]
    fn recorded_payloads_are_events() {
        for agent in AGENTS {
            let mut calls = 0;
            for (path, payload) in payloads(*agent) {
                let event = agent.parse(&payload).unwrap();
                assert_eq!(event.agent, agent.name());
                assert!(event.cwd.is_some(), "{}", path.display());
                let is_hooked = agent.spec().events.contains(&event.name.as_str());
                let is_known = !matches!(event.kind, EventKind::Other);
                // these events are only noted
                let is_noted = ["SubagentStart", "PermissionRequest"].contains(&&*event.name);
                assert!(is_known || is_noted || !is_hooked, "{}", path.display());
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
            assert!(calls > 3, "{}", agent.name());
        }
    }

    /// An answer that stops or changes a call is one document, and an agent that takes no such part is reported by name.
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
        let holds = |taken: &&(&'static str, &'static [AnswerPart])| {
            taken.1.contains(&AnswerPart::Deny) && !taken.0.to_lowercase().contains("post")
        };
        for agent in AGENTS {
            let name = agent.name();
            let (event, parts) = agent
                .abilities()
                .taken
                .iter()
                .find(holds)
                .expect("a denial");
            let takes_input = parts.contains(&AnswerPart::Input);
            let payload = serde_json::json!({
                "session_id": "s", "hook_event_name": event, "tool_name": "x", "conversation_id": "s",
                "agent_action_name": event, "trajectory_id": "s", "hookName": event, "taskId": "s",
            });
            let event = agent.parse(payload.to_string().as_bytes()).unwrap();
            let output = agent.answer(&event, &denied).unwrap();
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(text.contains("not this file"), "{text}");
            let is_refused = output.exit_status == 2;
            let is_denied = ["\"deny\"", "\"cancel\":true"]
                .iter()
                .any(|word| text.contains(word));
            assert!(is_refused != is_denied, "{name}: {text}");
            assert!(!text.contains("allow"), "{text}");
            let answered = agent.answer(&event, &changed);
            assert_eq!(answered.is_ok(), takes_input, "{name}");
            if let Err(error) = answered {
                let said = format!("{name} does not take a changed input at {}", event.name);
                assert_eq!(error.to_string(), said);
            }
        }
    }

    /// A decision that an agent cannot receive never becomes silence, which would let the call run: it is a denial with the
    /// reason, wherever the agent takes one.
    #[test]
    fn an_answer_that_cannot_be_given_denies() {
        let changed = Answer {
            input: Some(serde_json::json!({ "command": "make" })),
            note: Some("changed".to_owned()),
            ..Answer::default()
        };
        let asked = Answer {
            decision: Some(ToolDecision::Ask("may it?".to_owned())),
            ..Answer::default()
        };
        let ended = Answer {
            stop: Some("enough".to_owned()),
            ..Answer::default()
        };
        let mut refused = 0;
        for agent in AGENTS {
            let name = agent.name();
            for (_, payload) in payloads(*agent) {
                let event = agent.parse(&payload).unwrap();
                let taken = agent.abilities().taken_at(&event.name);
                if !matches!(event.kind, EventKind::Before(_)) || !taken.contains(&AnswerPart::Deny)
                {
                    continue;
                }
                for answer in [&changed, &asked, &ended] {
                    let (output, not_taken) = taken_or_denied(*agent, &event, answer);
                    let said = [output.stdout, output.stderr].concat();
                    let said = String::from_utf8(said).unwrap();
                    assert!(!said.is_empty(), "{name} {}", event.name);
                    if not_taken.is_some() {
                        refused += 1;
                        assert!(said.contains("The call did not run"), "{name}: {said}");
                        let is_denied = output.exit_status == 2
                            || ["\"deny\"", "\"cancel\":true", "\"block\""]
                                .iter()
                                .any(|word| said.contains(word));
                        assert!(is_denied, "{name}: {said}");
                    }
                }
            }
        }
        assert!(refused > 10, "{refused}");
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
            let silent = listed.answer(&event, &Answer::default()).unwrap();
            let is_empty = silent == HookOutput::default();
            assert!(is_empty || silent.stdout == b"{}\n", "{silent:?}");
            assert_eq!(listed.locate(Some(&event)).as_deref(), Some(dir.path()));
            assert!(!listed.settings(Some(Path::new("/work"))).is_empty());
        }
    }
}
