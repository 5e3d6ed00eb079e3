//! Qwen Code: its events, its answers, and its settings. A prompt is reported again after each result of a tool; only the first
//! time it has `submitted_prompt`.

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

#[derive(Clone, Copy, Debug)]
pub struct Qwen;

impl Agent for Qwen {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn conversations(&self) -> Option<&'static dyn Conversations> {
        Some(&conversation::QwenConversations)
    }

    fn distrusts(&self, project: &Path) -> Option<String> {
        trusted_folders::gemini_family(("qwen", ".qwen"), false, project)
    }
}
