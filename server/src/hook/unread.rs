//! Payloads that cannot be read: cut off, not JSON, or too large. Where a breakpoint is armed, such a call does not run:
//! nobody knows if the breakpoint concerns it.

use std::path::PathBuf;

use backstitch_agents::{Agent, Answer, AnswerPart, ToolDecision};
use backstitch_control::armed_at;
use backstitch_core::capture::{AgentEvent, EventKind};
use backstitch_core::record_gap;
use serde_json::{Value, json};

use super::handled::Handled;
use crate::control::words;
use crate::host::agent_events::EventPlace;

/// Number of bytes that are kept of a payload above the limit.
pub const HEAD: usize = 64 << 10;
/// Names of the field with the event, in the payloads of all agents.
const EVENT: [&str; 3] = ["hook_event_name", "hookName", "agent_action_name"];

/// A payload that is not an event.
#[derive(Debug)]
pub struct Unread {
    pub reason: String,
    /// Its beginning.
    pub head: Vec<u8>,
}

impl Unread {
    /// Denies the call if a breakpoint is armed. Err: the reason, since nothing is to be answered.
    pub fn answer(
        self,
        agent: &dyn Agent,
        place: EventPlace<'_>,
        start_dir: Option<PathBuf>,
        warning: &mut Option<String>,
    ) -> Result<Handled, String> {
        let cwd = self.field("cwd").map(PathBuf::from);
        let cwd = cwd
            .filter(|dir| dir.is_dir())
            .or_else(|| agent.locate(None));
        let Some(cwd) = cwd.or(start_dir) else {
            return Err(self.reason);
        };
        let Ok(workspace) = place.find(place.workspace, &cwd) else {
            return Err(self.reason);
        };
        let is_armed = match armed_at(&workspace) {
            None => false,
            Some(Ok(armed)) => !armed.breakpoints.is_empty(),
            Some(Err(_)) => true,
        };
        let Some(event) = self.call(agent).filter(|_| is_armed) else {
            return Err(self.reason);
        };
        let denied = Answer {
            decision: Some(ToolDecision::Deny(words::unreadable(&self.reason))),
            ..Answer::default()
        };
        let output = agent
            .answer(&event, &denied)
            .map_err(|error| format!("{}; {error}", self.reason))?;
        record_gap(&workspace, &self.reason);
        warning.get_or_insert(self.reason);
        Ok(Handled {
            output,
            outcomes: Vec::new(),
        })
    }

    /// Returns the event of a call that is about to run, as far as it is known. None: it is another event.
    fn call(&self, agent: &dyn Agent) -> Option<AgentEvent> {
        let named = EVENT.iter().find_map(|field| self.field(field));
        let taken = agent.abilities().taken.iter();
        let denies = |parts: &[AnswerPart]| parts.contains(&AnswerPart::Deny);
        let mut usual = taken
            .filter(|(_, parts)| denies(parts))
            .map(|(name, _)| *name);
        // it may be a call, if even that cannot be read
        let name = named.or_else(|| usual.next().map(str::to_owned))?;
        let mut payload = json!({
            "session_id": "unread", "conversation_id": "unread", "trajectory_id": "unread", "taskId": "unread",
            "tool_name": "unread", "tool_input": {},
        });
        for field in EVENT {
            payload[field] = Value::from(name.as_str());
        }
        let event = agent.parse(payload.to_string().as_bytes()).ok()?;
        matches!(event.kind, EventKind::Before(_)).then_some(event)
    }

    /// Returns the text of the first field of a name. Quotes within a text are escaped, so it is not part of one.
    fn field(&self, name: &str) -> Option<String> {
        let head = &self.head[..self.head.len().min(HEAD)];
        let head = String::from_utf8_lossy(head);
        let at = head.find(&format!("\"{name}\""))? + name.len() + 2;
        let value = head[at..].trim_start().strip_prefix(':')?.trim_start();
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
        values.next()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backstitch_agents::{AGENTS, agent};

    /// For each agent that can deny, a cut payload of a call is known as one, and others are not.
    #[test]
    fn cut_calls_are_known() {
        for listed in AGENTS {
            for (name, parts) in listed.abilities().taken {
                let head = format!("{{\"{}\": \"{name}\", \"tool_input\": {{\"a", EVENT[0]);
                let unread = Unread {
                    reason: String::new(),
                    head: head.into_bytes(),
                };
                let call = unread.call(*listed);
                if let Some(event) = call {
                    assert!(parts.contains(&AnswerPart::Deny), "{name}");
                    assert!(matches!(event.kind, EventKind::Before(_)));
                }
            }
            let empty = Unread {
                reason: String::new(),
                head: Vec::new(),
            };
            assert!(empty.call(*listed).is_some(), "{}", listed.name());
        }
    }

    #[test]
    fn fields_are_read_from_a_cut_payload() {
        let unread = Unread {
            reason: String::new(),
            head: br#"{"x": "\"cwd\": \"/no\"", "cwd" : "/a \"b\"", "tool_input": {"comm"#.to_vec(),
        };
        assert_eq!(unread.field("cwd").as_deref(), Some("/a \"b\""));
        assert_eq!(unread.field("hook_event_name"), None);
        let claude = agent("claude-code").unwrap();
        let stop = Unread {
            reason: String::new(),
            head: br#"{"hook_event_name": "Stop", "x": NaN}"#.to_vec(),
        };
        assert!(stop.call(claude).is_none());
    }
}
