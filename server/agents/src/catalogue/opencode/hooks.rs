//! The hooks in its settings.

use crate::hook_entries::{HookEdit, HookEntry, Hooks};
use crate::settings_plan::{OwnFile, SettingsPlan};
use crate::{hook_table, program};
use anyhow::Result;
use serde_json::Value;
use std::path::Path;

pub(super) const NAME: &str = "opencode";

pub(super) const EVENTS: &[&str] = &[
    "session.created",
    "session.idle",
    "session.deleted",
    "chat.message",
    "tool.execute.before",
    "tool.execute.after",
    "tool.execute.error",
    "experimental.session.compacting",
];

/// Plugin whose line `const PROGRAM = …` names the program of the hooks.
pub(super) const PLUGIN: &str = include_str!("plugin.js");

pub(super) const PROGRAM_LINE: &str = "const PROGRAM = ";

/// First words of the plugin, in any version.
pub(super) const MARK: &str = "// Backstitch for opencode";

/// Time in seconds for which the plugin's hooks hold a call, as it says itself. opencode waits without a limit.
pub(super) const HOLD: u32 = 86_400;

/// Returns the plugin that runs the program of this command.
pub(super) fn plugin(command: &str) -> String {
    let named = program::first_word(command).unwrap_or_default();
    let line = format!("{PROGRAM_LINE}{}", Value::from(named));
    let lines = PLUGIN.lines().map(|own| {
        if own.starts_with(PROGRAM_LINE) {
            line.as_str()
        } else {
            own
        }
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

pub(super) fn plan(settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
    let text = match edit {
        HookEdit::Install { command, .. } | HookEdit::Entries { command, .. } => {
            Some(plugin(command))
        }
        HookEdit::Uninstall => None,
    };
    Ok(SettingsPlan::own(
        settings,
        vec![OwnFile::new(settings, text, MARK)?],
    ))
}

pub(super) fn examine(settings: &Path) -> Result<Hooks> {
    let Some(text) = OwnFile::read(settings, MARK)? else {
        return Ok(Hooks::default());
    };
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(PROGRAM_LINE));
    let named: Option<String> = line.and_then(|line| serde_json::from_str(line).ok());
    let command = format!(
        "{} hook {NAME}",
        program::quoted(&named.unwrap_or_default())
    );
    let outdated = text != plugin(&command);
    let program = hook_table::written_program(&command, NAME).filter(|_| !outdated);
    let entry = |event: &&str| HookEntry {
        event: (*event).to_owned(),
        command: command.clone(),
        text: command.clone(),
        program: program.clone(),
        only_for: None,
    };
    Ok(Hooks {
        outdated,
        entries: EVENTS.iter().map(entry).collect(),
        ..Hooks::default()
    })
}
