//! Codex CLI: its events, its answers, and its settings. Edits are patches with the paths in their headers. It runs a hook only
//! once its user trusts it; `trust` asks for that in the agent's own way.

mod answers;
mod conversation;
mod events;
mod hooks;
mod spec;
mod tools;
mod trust;

use crate::adapter::Agent;
use crate::conversations::Conversations;
use crate::spec::AgentSpec;
use anyhow::{Context, Result};
use backstitch_core::capture::AgentEvent;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct Codex;

impl Agent for Codex {
    fn spec(&self) -> &'static AgentSpec {
        &spec::SPEC
    }

    fn conversations(&self) -> Option<&'static dyn Conversations> {
        Some(&conversation::CodexConversations)
    }

    fn longest_hold(&self, event: &AgentEvent) -> Option<Duration> {
        events::longest_hold(event)
    }

    fn untrusted(&self, dir: &Path) -> Option<Result<Vec<String>>> {
        let files = self.hook_files(dir);
        if files.is_empty() {
            return Some(Ok(Vec::new()));
        }
        let program = self.program().context("codex is not on the search path");
        Some(program.and_then(|program| trust::untrusted(&program, dir, &files)))
    }

    fn trust(&self, dir: &Path) -> Result<usize> {
        let program = self.program().context("codex is not on the search path")?;
        trust::trust(&program, dir, &self.hook_files(dir))
    }

    fn forget_trust(&self, settings: &Path) -> Result<()> {
        let (Some(own), true) = (
            settings.parent(),
            !self.examine(settings)?.entries.is_empty(),
        ) else {
            return Ok(());
        };
        let program = self.program().context("codex is not on the search path")?;
        let dir = own.parent().unwrap_or(own);
        let config = spec::SPEC
            .places
            .user_dir()
            .map(|dir| dir.join("config.toml"));
        trust::forget(&program, dir, settings, config.as_deref())
    }
}

impl Codex {
    /// Returns the files of the user and of a project that have hooks of ours.
    fn hook_files(self, dir: &Path) -> trust::HookFiles {
        let all = [None, Some(dir)].into_iter();
        let all = all.flat_map(|project| self.settings(project));
        let all = all.filter_map(|path| {
            let entries = self.examine(&path).ok()?.entries.into_iter();
            let ours = entries.filter(|entry| trust::is_this(&entry.text));
            Some((path, ours.map(|entry| entry.event).collect()))
        });
        all.filter(|(_, events): &(PathBuf, Vec<String>)| !events.is_empty())
            .collect()
    }
}
