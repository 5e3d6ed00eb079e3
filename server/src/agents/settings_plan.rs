//! A planned edit of an agent's settings file: a value that can be shown before it is carried out. Owns no format of an
//! agent.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::settings_file::JsonSettings;

/// Planned edit of a settings file in JSON.
#[derive(Clone, Debug)]
pub struct SettingsPlan {
    settings: JsonSettings,
    value: Value,
    /// Set if the plan undoes the setup: settings that it maps to the same value mean the same.
    meaning: Option<fn(&Value) -> Value>,
}

impl SettingsPlan {
    /// Plans an edit of the settings.
    pub fn new(
        settings: JsonSettings,
        edit: impl FnOnce(&mut Value) -> Result<()>,
    ) -> Result<Self> {
        let mut value = settings.value.clone();
        edit(&mut value)
            .with_context(|| format!("{} was not changed", settings.file.path.display()))?;
        Ok(Self {
            settings,
            value,
            meaning: None,
        })
    }

    /// Plans the removal of what setup added. If the rest means the same as the backup, the file gets the bytes of the
    /// backup.
    pub fn undo(
        settings: JsonSettings,
        edit: impl FnOnce(&mut Value) -> Result<()>,
        meaning: fn(&Value) -> Value,
    ) -> Result<Self> {
        Ok(Self {
            meaning: Some(meaning),
            ..Self::new(settings, edit)?
        })
    }

    /// Returns the path of the file, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        &self.settings.file.path
    }

    /// Returns the whole new file.
    pub fn text(&self) -> String {
        self.settings.text_of(&self.value)
    }

    /// True if the file would change.
    pub fn is_change(&self) -> bool {
        self.value != self.settings.value
    }

    /// Writes the file. Returns the backup if this call created one.
    pub fn carry_out(&self) -> Result<Option<PathBuf>> {
        match self.meaning {
            None => self.settings.write(&self.value),
            Some(meaning) => self.settings.restore(&self.value, meaning).map(|()| None),
        }
    }
}
