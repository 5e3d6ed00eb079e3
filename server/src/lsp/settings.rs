//! What a client says of the settings: `backstitch.*`. Reads it; what is wrong is said, and what held before holds.

#[cfg(test)]
mod tests;

pub use backstitch_core::config::Lenses;
use backstitch_core::config::{Key, Setting, SourceValues, unknown};
use serde_json::{Map, Value};

use super::messages::notice::setting as messages;

/// By how it was said. What was said later is nearer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSettings {
    /// At the start, for good.
    initial: SourceValues,
    /// Unasked, key by key.
    told: SourceValues,
    /// When it was asked: all that there is.
    answered: SourceValues,
}

/// What a client may say of itself beside the settings, in `initializationOptions.backstitch`.
const OPTIONS: [&str; 4] = [
    "reloadsFromDisk",
    "notifications",
    "contentProvider",
    "panels",
];
/// The section of settings, and what stands before its keys where they are written in one.
pub const SECTION: &str = "backstitch";

/// Keys with their settings; None: it is not set any more. Err: it has a value that is none.
type Read = Vec<(Key, Result<Option<Setting>, ()>)>;

impl ClientSettings {
    /// What the client says.
    pub fn said(&self) -> SourceValues {
        self.answered.or(&self.told).or(&self.initial)
    }

    /// Where all stores are, as the client said at the start.
    pub fn store_dir(&self) -> Option<&std::path::Path> {
        match self.initial.get(Key::StoreDir) {
            Some(Setting::Dir(dir)) => Some(dir),
            _ => None,
        }
    }

    /// Takes in the section by its name, its keys with that before them, or the section alone; keys are nested or have
    /// dots. What is not named stays as it is. What was wrong.
    pub fn update(&mut self, told: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        let Some(all) = told.as_object() else {
            return wrong;
        };
        let dotted = |key: &str| Some(key.strip_prefix(SECTION)?.strip_prefix('.')?.to_owned());
        let is_ours = |key: &String| key == SECTION || dotted(key).is_some();
        let mut read = Read::new();
        if all.keys().any(is_ours) {
            match all.get(SECTION) {
                None | Some(Value::Null) => {}
                Some(Value::Object(section)) => self.section("", section, &mut read, &mut wrong),
                Some(other) => wrong.push(messages::no_section(SECTION, other)),
            }
            for (key, value) in all {
                if let Some(key) = dotted(key) {
                    self.value(&key, value, &mut read, &mut wrong);
                }
            }
        } else if all
            .keys()
            .any(|key| Key::named(key).is_some() || Key::is_group(key))
        {
            // the section alone; else another server's settings
            self.section("", all, &mut read, &mut wrong);
        }
        for (key, setting) in self.not_late(read, &mut wrong) {
            match setting {
                Ok(Some(setting)) => {
                    self.told.set(key, setting);
                    self.answered.remove(key);
                }
                Ok(None) => {
                    self.told.remove(key);
                    self.answered.remove(key);
                }
                Err(()) => {}
            }
        }
        wrong
    }

    /// As `update`, with what a client says of itself at the start.
    pub fn begin(&mut self, options: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        let Some(all) = options.as_object() else {
            wrong.push(messages::no_options(options));
            return wrong;
        };
        let mut read = Read::new();
        for (key, value) in all {
            if !OPTIONS.contains(&key.as_str()) {
                self.value(key, value, &mut read, &mut wrong);
            } else if !value.is_boolean() {
                wrong.push(messages::no_flag(key, value));
            }
        }
        for (key, setting) in read {
            if let Ok(Some(setting)) = setting {
                self.initial.set(key, setting);
            }
        }
        wrong
    }

    /// The section itself, which the client was asked for: what it does not have, it did not say, unless it was said
    /// unasked.
    pub fn answer(&mut self, section: &Map<String, Value>) -> Vec<String> {
        let (mut read, mut wrong) = (Read::new(), Vec::new());
        self.section("", section, &mut read, &mut wrong);
        let before = std::mem::take(&mut self.answered);
        for (key, setting) in self.not_late(read, &mut wrong) {
            match setting {
                Ok(Some(setting)) => self.answered.set(key, setting),
                Ok(None) => self.told.remove(key),
                Err(()) => {
                    if let Some(setting) = before.get(key) {
                        self.answered.set(key, setting.clone());
                    }
                }
            }
        }
        wrong
    }

    fn section(
        &self,
        group: &str,
        section: &Map<String, Value>,
        read: &mut Read,
        wrong: &mut Vec<String>,
    ) {
        for (key, value) in section {
            let key = match group {
                "" => key.clone(),
                group => format!("{group}.{key}"),
            };
            self.value(&key, value, read, wrong);
        }
    }

    fn value(&self, name: &str, value: &Value, read: &mut Read, wrong: &mut Vec<String>) {
        if let (Some(section), true) = (value.as_object(), Key::is_group(name)) {
            self.section(name, section, read, wrong);
            return;
        }
        let Some(key) = Key::named(name) else {
            if !(value.is_null() && Key::is_group(name)) {
                wrong.push(messages::unknown(SECTION, name, &unknown()));
            }
            return;
        };
        if value.is_null() {
            read.push((key, Ok(None)));
            return;
        }
        let setting = key.read(value, &value.to_string(), None);
        if let Err(why) = &setting {
            let said = self.said();
            wrong.push(messages::no_value(SECTION, key, why, said.get(key)));
        }
        read.push((key, setting.map(Some).map_err(|_| ())));
    }

    /// Without what comes too late: the stores are found at the start.
    fn not_late(&self, mut read: Read, wrong: &mut Vec<String>) -> Read {
        let late = |(key, setting): &(Key, Result<Option<Setting>, ()>)| {
            let new = setting.as_ref().is_ok_and(Option::is_some);
            let same = || setting.as_ref().ok().and_then(Option::as_ref);
            *key == Key::StoreDir && new && same() != self.initial.get(Key::StoreDir)
        };
        if read.iter().any(late) {
            wrong.push(messages::late_store_dir(SECTION));
        }
        read.retain(|(key, _)| *key != Key::StoreDir);
        read
    }
}
