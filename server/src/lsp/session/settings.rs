//! Settings that a client sends: `backstitch.*`. An invalid value is reported, and the previous one stays valid.

#[cfg(test)]
mod tests;

pub use backstitch_core::config::Lenses;
use backstitch_core::config::{Key, Setting, SourceValues, unknown};
use serde_json::{Map, Value};

use crate::lsp::messages::notice::setting as messages;

/// The settings by the way in which they were sent; later ones take precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSettings {
    /// In `initializationOptions`, valid until the server ends.
    initial: SourceValues,
    /// In `didChangeConfiguration`, key by key.
    notified: SourceValues,
    /// In the last answer to `workspace/configuration`, which is complete.
    answered: SourceValues,
}

/// Options of the client itself, beside the settings, in `initializationOptions.backstitch`.
const OPTIONS: [&str; 4] = [
    "reloadsFromDisk",
    "notifications",
    "contentProvider",
    "panels",
];
/// Further options of the client, and the names that each of them takes; the first is the default.
const CHOICES: [(&str, &[&str]); 3] = [
    ("lensForm", &["full", "short"]),
    ("codeActions", &["all", "agentLines"]),
    ("hover", &["all", "agent", "off"]),
];
/// Section of the settings, and the prefix of keys that are written in one string.
pub const SECTION: &str = "backstitch";

/// Keys with their settings. None: it is unset. Err: the value is invalid.
type Read = Vec<(Key, Result<Option<Setting>, ()>)>;

impl ClientSettings {
    /// Returns the client's settings.
    pub fn effective(&self) -> SourceValues {
        self.answered.or(&self.notified).or(&self.initial)
    }

    /// Returns the directory of all stores, as the client set it at the start.
    pub fn store_dir(&self) -> Option<&std::path::Path> {
        match self.initial.get(Key::StoreDir) {
            Some(Setting::Dir(dir)) => Some(dir),
            _ => None,
        }
    }

    /// Applies settings: a section by its name, keys with the section as prefix, or the section's content alone. Keys
    /// are nested or have dots. Keys that are left out stay unchanged. Returns the errors.
    pub fn update(&mut self, sent: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        let Some(all) = sent.as_object() else {
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
            // the section's content alone; else it belongs to another server
            self.section("", all, &mut read, &mut wrong);
        }
        for (key, setting) in self.without_late(read, &mut wrong) {
            match setting {
                Ok(Some(setting)) => {
                    self.notified.set(key, setting);
                    self.answered.remove(key);
                }
                Ok(None) => {
                    self.notified.remove(key);
                    self.answered.remove(key);
                }
                Err(()) => {}
            }
        }
        wrong
    }

    /// Like `update`, for `initializationOptions`, which also has options of the client itself.
    pub fn begin(&mut self, options: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        let Some(all) = options.as_object() else {
            wrong.push(messages::no_options(options));
            return wrong;
        };
        let mut read = Read::new();
        for (key, value) in all {
            if let Some((_, names)) = CHOICES.iter().find(|(option, _)| option == key) {
                if !value.as_str().is_some_and(|value| names.contains(&value)) {
                    wrong.push(messages::no_choice(key, value, names));
                }
            } else if !OPTIONS.contains(&key.as_str()) {
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

    /// Applies the client's answer: the complete section. A key that is left out is unset, unless a notification set
    /// it.
    pub fn answer(&mut self, section: &Map<String, Value>) -> Vec<String> {
        let (mut read, mut wrong) = (Read::new(), Vec::new());
        self.section("", section, &mut read, &mut wrong);
        let before = std::mem::take(&mut self.answered);
        for (key, setting) in self.without_late(read, &mut wrong) {
            match setting {
                Ok(Some(setting)) => self.answered.set(key, setting),
                Ok(None) => self.notified.remove(key),
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
            let current = self.effective();
            wrong.push(messages::no_value(SECTION, key, why, current.get(key)));
        }
        read.push((key, setting.map(Some).map_err(|_| ())));
    }

    /// Removes settings that come too late: stores are located at the start.
    fn without_late(&self, mut read: Read, wrong: &mut Vec<String>) -> Read {
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
