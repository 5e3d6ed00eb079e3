//! opencode: a plugin of ours, which is one file, tells its events and carries out the answers. A turn is named by the message
//! of its user; a subagent is a separate session, told as a thread of the session that began it.

mod answers;
mod events;
mod hooks;
mod spec;
mod tools;

use crate::adapter::Agent;
use crate::spec::AgentSpec;
use backstitch_core::capture::AgentEvent;

#[derive(Clone, Copy, Debug)]
pub struct OpenCode;

impl Agent for OpenCode {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn waits(&self, event: &AgentEvent) -> bool {
        // it tells of a call that failed, and continues
        event.name != "tool.execute.error"
    }

    fn acp_tool<'a>(&self, _: &'a str, title: Option<&'a str>) -> Option<&'a str> {
        // the first title of a call is the tool
        title
    }
}
