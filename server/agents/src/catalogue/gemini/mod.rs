//! Gemini CLI: its events, its answers, and its settings. A call has no id. A changed input is laid over the call's own.

mod answers;
mod conversation;
mod events;
mod hooks;
mod spec;

use crate::adapter::Agent;
use crate::conversations::Conversations;
use crate::spec::AgentSpec;
use crate::trusted_folders;
use std::path::Path;

pub use spec::RULES;

#[derive(Clone, Copy, Debug)]
pub struct Gemini;

impl Agent for Gemini {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn lays_input_over(&self) -> bool {
        true
    }

    fn acp_tool<'a>(&self, call: &'a str, _: Option<&'a str>) -> Option<&'a str> {
        // `write_file__write_file_1795663457027_0`
        call.split_once("__").map(|(tool, _)| tool)
    }

    fn conversations(&self) -> Option<&'static dyn Conversations> {
        Some(&conversation::GeminiConversations)
    }

    fn distrusts(&self, project: &Path) -> Option<String> {
        trusted_folders::gemini_family(("gemini", ".gemini"), true, project)
    }
}
