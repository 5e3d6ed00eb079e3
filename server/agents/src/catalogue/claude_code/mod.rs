//! Claude Code: its events, its answers, and its settings.

mod answers;
mod conversation;
mod events;
mod hooks;
mod spec;
mod tokens;
mod tools;

use crate::adapter::Agent;
use crate::conversations::Conversations;
use crate::spec::AgentSpec;
use std::path::Path;

pub use spec::RULES;

#[derive(Clone, Copy, Debug)]
pub struct ClaudeCode;

impl Agent for ClaudeCode {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn tokens(&self, transcript: &Path, prompt_id: Option<&str>) -> Option<u64> {
        tokens::of_turn(transcript, prompt_id)
    }

    fn conversations(&self) -> Option<&'static dyn Conversations> {
        Some(&conversation::ClaudeConversations)
    }

    fn is_attended(&self) -> bool {
        // headless it is 0, and a question means a refusal there
        std::env::var_os("CLAUDE_CODE_SESSION_ATTENDED").is_none_or(|value| value != "0")
    }
}
