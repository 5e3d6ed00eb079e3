//! The agent behind the proxy at the gate: its answers are those that it offers in its question. Pure.

use backstitch_agents::{self as agents, Abilities, Agent, AnswerPart, Gated, command_text};
use serde_json::{Value, json};

use super::acts::QUESTION;
use super::message::PermissionOption;

/// An agent that asks its client.
pub struct AcpAgent {
    /// Its adapter, if it has one: it knows its shells.
    adapter: Option<&'static dyn Agent>,
}

impl AcpAgent {
    pub fn of(name: &str) -> Self {
        Self {
            adapter: agents::agent(name),
        }
    }
}

impl Gated for AcpAgent {
    fn abilities(&self) -> Abilities {
        Abilities {
            // "ask": the question goes on to the client. A changed input is not part of the protocol
            taken: &[(
                QUESTION,
                &[AnswerPart::Deny, AnswerPart::Stop, AnswerPart::Ask],
            )],
            hook_timeout: 0,
        }
    }

    fn command(&self, tool: &str, input: &Value) -> Option<String> {
        if let Some(adapter) = self.adapter
            && let Some(command) = adapter.command(tool, input)
        {
            return Some(command);
        }
        // the names of an agent's tools are for people here
        command_text(input, false)
    }

    fn with_input(&self, _payload: &[u8], _input: &Value) -> Option<Vec<u8>> {
        None
    }

    fn error_text(&self, _payload: &[u8]) -> Option<String> {
        None
    }

    fn is_attended(&self) -> bool {
        // its client asks a person
        true
    }
}

/// Returns the answer to a question that refuses the call. `id`: of the request, as it stood in its line.
pub fn refusal(id: &str, options: &[PermissionOption], cancels: bool) -> String {
    let find = |kind: &str| options.iter().find(|option| option.kind == kind);
    let option = find("reject_once").or_else(|| find("reject_always"));
    let outcome = match option.filter(|_| !cancels) {
        Some(option) => json!({ "outcome": "selected", "optionId": option.option_id }),
        None => json!({ "outcome": "cancelled" }),
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"outcome\":{outcome}}}}}\n")
}

/// Returns the notification that ends a turn.
pub fn cancellation(session: &str) -> String {
    let message = json!({
        "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session },
    });
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(kinds: &[&str]) -> Vec<PermissionOption> {
        let options = kinds.iter().map(|kind| PermissionOption {
            option_id: format!("id of {kind}"),
            kind: (*kind).to_owned(),
        });
        options.collect()
    }

    #[test]
    fn a_refusal_is_the_narrowest_option_that_the_agent_offers() {
        let all = options(&["allow_once", "reject_always", "reject_once"]);
        assert_eq!(
            refusal("\"a\\u0031\"", &all, false),
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0031\",\"result\":{\"outcome\":\
             {\"outcome\":\"selected\",\"optionId\":\"id of reject_once\"}}}\n"
        );
        let always = refusal("7", &options(&["allow_once", "reject_always"]), false);
        assert!(always.contains("id of reject_always"), "{always}");
        for cancelled in [
            refusal("7", &options(&["allow_once"]), false),
            refusal("7", &all, true),
        ] {
            assert!(cancelled.contains("\"cancelled\""), "{cancelled}");
        }
    }
}
