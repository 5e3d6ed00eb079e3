//! Cline: its events, its answers, and its hooks, which are programs in a folder that are named after their events. Its command
//! line says nothing of a prompt when a turn begins; the text is in its own record of the session.

mod answers;
mod events;
mod hooks;
mod spec;
mod tools;

use crate::adapter::Agent;
use crate::spec::AgentSpec;
use serde_json::Value;

pub use spec::RULES;

#[derive(Clone, Copy, Debug)]
pub struct Cline;

impl Agent for Cline {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn late_prompt(&self, payload: &[u8]) -> Option<String> {
        events::late_prompt(payload)
    }

    fn with_input(&self, payload: &[u8], input: &Value) -> Option<Vec<u8>> {
        answers::with_input(payload, input)
    }
}
