//! A planned edit of an agent's settings: a value that can be shown before it is carried out. Owns no format of an agent.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::settings_file::{JsonSettings, SettingsFile};

/// Planned edit of an agent's settings.
#[derive(Clone, Debug)]
pub struct SettingsPlan(PlannedEdit);

#[derive(Clone, Debug)]
enum PlannedEdit {
    /// Edit of a file in JSON that others write, too.
    Json {
        settings: JsonSettings,
        value: Value,
        /// Set if the plan undoes the setup: settings that it maps to the same value mean the same.
        meaning: Option<fn(&Value) -> Value>,
    },
    /// Files that are ours as a whole, at or below a path.
    Own { place: PathBuf, files: Vec<OwnFile> },
}

/// A file that is ours as a whole.
#[derive(Clone, Debug)]
pub struct OwnFile {
    file: SettingsFile,
    /// None: the file is to be gone.
    wanted: Option<String>,
    is_program: bool,
}

impl OwnFile {
    /// Plans a file of ours. Fails if there is one without our mark in its first two lines, which is not ours.
    pub fn new(path: &Path, wanted: Option<String>, mark: &str) -> Result<Self> {
        let file = SettingsFile::read(path)?;
        let is_other = file
            .text
            .as_deref()
            .is_some_and(|text| !is_marked(text, mark));
        if is_other && wanted.is_some() {
            bail!(
                "{} is not a file of Backstitch and was not changed; move it away, and run this again",
                file.path.display()
            );
        }
        let wanted = if is_other { file.text.clone() } else { wanted };
        Ok(Self {
            file,
            wanted,
            is_program: false,
        })
    }

    /// The same as a program that can be run.
    pub fn program(path: &Path, wanted: Option<String>, mark: &str) -> Result<Self> {
        Ok(Self {
            is_program: true,
            ..Self::new(path, wanted, mark)?
        })
    }

    /// Returns the text of a file of ours. None: there is none, or it is not ours.
    pub fn read(path: &Path, mark: &str) -> Result<Option<String>> {
        let text = SettingsFile::read(path)?.text;
        Ok(text.filter(|text| is_marked(text, mark)))
    }

    fn carry_out(&self) -> Result<()> {
        match &self.wanted {
            wanted if *wanted == self.file.text => Ok(()),
            Some(text) => self.file.write_own(text, self.is_program),
            None => self.file.remove(),
        }
    }
}

/// True if one of the first two lines begins with the mark: a program has its interpreter in the first.
fn is_marked(text: &str, mark: &str) -> bool {
    text.lines().take(2).any(|line| line.starts_with(mark))
}

impl SettingsPlan {
    /// Plans an edit of the settings.
    pub fn new(
        settings: JsonSettings,
        edit: impl FnOnce(&mut Value) -> Result<()>,
    ) -> Result<Self> {
        Self::edit(settings, edit, None)
    }

    /// Plans the removal of what setup added. If the rest means the same as the backup, the file gets the bytes of the
    /// backup.
    pub fn undo(
        settings: JsonSettings,
        edit: impl FnOnce(&mut Value) -> Result<()>,
        meaning: fn(&Value) -> Value,
    ) -> Result<Self> {
        Self::edit(settings, edit, Some(meaning))
    }

    fn edit(
        settings: JsonSettings,
        edit: impl FnOnce(&mut Value) -> Result<()>,
        meaning: Option<fn(&Value) -> Value>,
    ) -> Result<Self> {
        let mut value = settings.value.clone();
        edit(&mut value)
            .and_then(|()| settings.check(&value))
            .with_context(|| format!("{} was not changed", settings.file.path.display()))?;
        Ok(Self(PlannedEdit::Json {
            settings,
            value,
            meaning,
        }))
    }

    /// Plans files of our own at or below a path.
    pub fn own(place: &Path, files: Vec<OwnFile>) -> Self {
        Self(PlannedEdit::Own {
            place: place.to_owned(),
            files,
        })
    }

    /// Returns the path of the settings, with symbolic links of a file resolved.
    pub fn path(&self) -> &Path {
        match &self.0 {
            PlannedEdit::Json { settings, .. } => &settings.file.path,
            PlannedEdit::Own { place, .. } => place,
        }
    }

    /// Returns the whole new file. Several files are set apart by lines with their paths.
    pub fn text(&self) -> String {
        match &self.0 {
            PlannedEdit::Json {
                settings, value, ..
            } => settings.text_of(value),
            PlannedEdit::Own { files, .. } => {
                let told = files.iter().filter_map(|file| {
                    let text = file.wanted.as_deref()?;
                    Some(match files.len() {
                        1 => text.to_owned(),
                        _ => format!("==> {} <==\n{text}", file.file.path.display()),
                    })
                });
                told.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// True if a file would change.
    pub fn is_change(&self) -> bool {
        match &self.0 {
            PlannedEdit::Json {
                settings, value, ..
            } => *value != settings.value,
            PlannedEdit::Own { files, .. } => {
                files.iter().any(|file| file.wanted != file.file.text)
            }
        }
    }

    /// Writes the files. Returns the backup if this call created one.
    pub fn carry_out(&self) -> Result<Option<PathBuf>> {
        match &self.0 {
            PlannedEdit::Json {
                settings,
                value,
                meaning: None,
            } => settings.write(value),
            PlannedEdit::Json {
                settings,
                value,
                meaning: Some(meaning),
            } => settings.restore(value, meaning).map(|()| None),
            PlannedEdit::Own { files, .. } => {
                for file in files {
                    file.carry_out()?;
                }
                Ok(None)
            }
        }
    }
}
