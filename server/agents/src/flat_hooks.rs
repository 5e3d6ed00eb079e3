//! Hooks in a settings file with one flat list of entries for each event, as Copilot, Cursor and Devin Desktop have it. Pure
//! edits of a JSON value; entries of others and the order of keys stay.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::hook_entries::{HookEdit, HookEntry, Hooks};
use super::hook_table;
use super::settings_plan::SettingsPlan;
use crate::settings_file::{JsonForm, JsonSettings};

/// The form of an agent's hooks.
#[derive(Clone, Copy, Debug)]
pub struct FlatHooks {
    /// Name of the agent in `backstitch hook NAME`.
    pub agent: &'static str,
    pub events: &'static [&'static str],
    /// Events at which a hook may hold a call for long.
    pub holding: &'static [&'static str],
    /// Time in seconds that the agent waits for a hook which may hold a call.
    pub hold: u32,
    /// Field of an entry that has the command.
    pub command: &'static str,
    /// Returns the further fields of an entry, by its time-out in seconds and by true for a hook whose failure blocks its
    /// call.
    pub rest: fn(u32, bool) -> Value,
    /// Time in seconds that the agent waits for any other hook.
    pub timeout: u32,
    /// True if the file has the version of its form.
    pub versioned: bool,
}

impl FlatHooks {
    /// Plans an edit of the hooks in a settings file.
    pub fn plan(&self, settings: &Path, edit: HookEdit<'_>) -> Result<SettingsPlan> {
        let table = *self;
        let add = |command, strict| move |value: &mut Value| table.add(value, command, strict);
        match edit {
            HookEdit::Install { command, strict } => SettingsPlan::new(
                JsonSettings::read(settings, JsonForm::Plain)?,
                add(command, strict),
            ),
            HookEdit::Entries { command, strict } => {
                SettingsPlan::new(JsonSettings::blank(settings), add(command, strict))
            }
            HookEdit::Uninstall => SettingsPlan::undo(
                JsonSettings::read(settings, JsonForm::Plain)?,
                |value| self.remove(value),
                without_version,
            ),
        }
    }

    /// Reads the hooks in a settings file.
    pub fn examine(&self, settings: &Path) -> Result<Hooks> {
        if !settings.exists() {
            return Ok(Hooks::default());
        }
        let settings = JsonSettings::read(settings, JsonForm::Plain)?.value;
        let hooks = settings["hooks"].as_object();
        let mut entries = Vec::new();
        let mut blocks_if_killed = false;
        for (event, all) in hooks.into_iter().flatten() {
            for entry in all.as_array().into_iter().flatten() {
                let text = entry[self.command].as_str();
                if let Some(text) = text.filter(|_| self.is_ours(entry)) {
                    let command = hook_table::bare(text);
                    entries.push(HookEntry {
                        event: event.clone(),
                        command: command.to_owned(),
                        text: text.to_owned(),
                        program: hook_table::written_program(text, self.agent),
                        only_for: hook_table::limiting_matcher(entry).map(str::to_owned),
                    });
                    blocks_if_killed |= *entry == self.entry(event, command, true)
                        && *entry != self.entry(event, command, false);
                }
            }
        }
        Ok(Hooks {
            entries,
            blocks_if_killed,
            ..Hooks::default()
        })
    }

    fn is_ours(&self, entry: &Value) -> bool {
        let command = entry[self.command].as_str();
        command.is_some_and(|command| hook_table::runs_us(command, self.agent))
    }

    fn entry(&self, event: &str, command: &str, strict: bool) -> Value {
        let may_hold = self.holding.contains(&event);
        let (command, timeout) = if may_hold {
            (hook_table::held(command, self.hold), self.hold)
        } else {
            (command.to_owned(), self.timeout)
        };
        let mut entry = json!({});
        let rest = (self.rest)(timeout, strict && may_hold);
        let fields = rest.as_object().into_iter().flatten();
        for (name, value) in fields {
            entry[name] = value.clone();
        }
        entry[self.command] = command.into();
        entry
    }

    /// Adds a hook to every event, and replaces an older one of ours. Entries of others stay.
    fn add(&self, settings: &mut Value, command: &str, strict: bool) -> Result<()> {
        self.remove(settings)?;
        let object = settings
            .as_object_mut()
            .context("the settings are not a JSON object")?;
        if self.versioned {
            object.entry("version").or_insert_with(|| 1.into());
        }
        let hooks = object.entry("hooks").or_insert_with(|| json!({}));
        let hooks = hooks
            .as_object_mut()
            .context("`hooks` is not a JSON object")?;
        for event in self.events {
            let all = hooks.entry(*event).or_insert_with(|| json!([]));
            let all = all.as_array_mut();
            all.with_context(|| format!("`hooks.{event}` is not a JSON array"))?
                .push(self.entry(event, command, strict));
        }
        Ok(())
    }

    /// Removes the hooks that `add` added, and what is empty without them.
    fn remove(&self, settings: &mut Value) -> Result<()> {
        let object = settings
            .as_object_mut()
            .context("the settings are not a JSON object")?;
        let Some(hooks) = object.get_mut("hooks") else {
            return Ok(());
        };
        let hooks = hooks
            .as_object_mut()
            .context("`hooks` is not a JSON object")?;
        let before = hooks.len();
        hooks.retain(|_, all| {
            let Some(all) = all.as_array_mut() else {
                return true;
            };
            let count = all.len();
            all.retain(|entry| !self.is_ours(entry));
            !all.is_empty() || all.len() == count
        });
        if hooks.is_empty() && before > 0 {
            object.shift_remove("hooks");
            if self.versioned {
                object.shift_remove("version");
            }
        }
        Ok(())
    }
}

/// Returns the settings without the version, which `add` adds where it is missing, and without empty lists, which have no
/// effect.
fn without_version(settings: &Value) -> Value {
    let mut settings = hook_table::without_empties(settings);
    if let Some(object) = settings.as_object_mut() {
        object.shift_remove("version");
    }
    settings
}
