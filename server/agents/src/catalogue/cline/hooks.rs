//! The hooks in its settings.

use crate::hook_entries::{HookEdit, HookEntry, Hooks};
use crate::hook_table;
use crate::settings_plan::{OwnFile, SettingsPlan};
use anyhow::Result;
use std::path::{Path, PathBuf};

pub(super) const NAME: &str = "cline";

/// Events that get a hook: names of its programs, and of the same events in payloads.
pub(super) const EVENTS: &[&str] = &[
    "TaskStart",
    "TaskResume",
    "TaskCancel",
    "TaskComplete",
    "TaskError",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "SessionShutdown",
];

/// Ending of our programs' names. It runs all whose names have the event before one of its endings; this one is rare, so that
/// the user's own programs keep their names.
pub(super) const ENDING: &str = "bash";

/// First words of our programs, in any version.
pub(super) const MARK: &str = "# Backstitch for Cline";

/// Time in seconds after which it kills a hook, and the time for which ours hold a call.
pub(super) const TIMEOUT: u32 = 120;

pub(super) const HOLD: u32 = 110;

pub(super) fn place(settings: &Path, event: &str) -> PathBuf {
    settings.join(format!("{event}.{ENDING}"))
}

/// Returns the program of an event. A killed hook ends the run; any other failure lets the call through, such as that of a
/// program which is gone.
pub(super) fn program(event: &str, command: &str) -> String {
    let may_hold = ["PreToolUse", "PostToolUse"].contains(&event);
    let run = if may_hold {
        format!(
            r#"{command} --limit {HOLD}
case $? in
137 | 143) echo '{{"cancel": true, "errorMessage": "backstitch: its hook was killed while it held this call"}}' ;;
esac
exit 0"#
        )
    } else {
        command.to_owned()
    };
    format!(
        "#!/bin/sh\n\
         {MARK}: tells it of an event, and carries out its answer. `backstitch setup {NAME}` wrote this file and brings\n\
         # it up to date; `backstitch setup {NAME} --uninstall` removes it.\n\
         {run}\n"
    )
}

pub(super) fn plan(settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
    let files = EVENTS.iter().map(|event| {
        let text = match edit {
            HookEdit::Install { command, .. } | HookEdit::Entries { command, .. } => {
                Some(program(event, command))
            }
            HookEdit::Uninstall => None,
        };
        OwnFile::program(&place(settings, event), text, MARK)
    });
    Ok(SettingsPlan::own(settings, files.collect::<Result<_>>()?))
}

pub(super) fn examine(settings: &Path) -> Result<Hooks> {
    let mut hooks = Hooks::default();
    for event in EVENTS {
        let Some(text) = OwnFile::read(&place(settings, event), MARK)? else {
            continue;
        };
        let line = text
            .lines()
            .find(|line| line.contains(&format!("hook {NAME}")));
        let command = line.map(hook_table::bare).unwrap_or_default();
        let is_other = text != program(event, command);
        hooks.outdated |= is_other;
        hooks.entries.push(HookEntry {
            event: (*event).to_owned(),
            command: command.to_owned(),
            text: line.unwrap_or_default().to_owned(),
            program: hook_table::written_program(command, NAME).filter(|_| !is_other),
            only_for: None,
        });
    }
    Ok(hooks)
}
