//! Devin Desktop, once Windsurf: the hooks of Cascade, as its documents describe them. It was not run: it has no program without
//! an account. A call has no id; its own event tells of each kind of tool.

mod answers;
mod events;
mod hooks;
mod spec;
mod tools;

use crate::adapter::Agent;
use crate::spec::AgentSpec;
use backstitch_core::capture::AgentEvent;
use serde_json::Value;

#[derive(Clone, Copy, Debug)]
pub struct Devin;

impl Agent for Devin {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn waits(&self, event: &AgentEvent) -> bool {
        event.name.starts_with("pre_")
    }

    fn with_input(&self, _: &[u8], _: &Value) -> Option<Vec<u8>> {
        // it takes none
        None
    }
}
