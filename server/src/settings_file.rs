//! Settings files: read, replaced by rename, with a backup of the original. Independent of the format.

mod json;

use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

/// A settings file as it was read.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    /// Path with symbolic links resolved.
    pub path: PathBuf,
    /// None if there is no file.
    pub text: Option<String>,
}

impl SettingsFile {
    pub fn read(path: &Path) -> Result<Self> {
        let path = resolve_links(path);
        let text = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(e).with_context(|| format!("reading {}", path.display())),
        };
        Ok(Self { path, text })
    }

    /// Writes the file. Returns the backup if this call created one.
    pub fn write(&self, text: &str) -> Result<Option<PathBuf>> {
        let backup = self.backup();
        let made = self.text.is_some() && !backup.exists();
        if made {
            fs::copy(&self.path, &backup)
                .with_context(|| format!("writing the backup {}", backup.display()))?;
        }
        replace(&self.path, text)?;
        Ok(made.then_some(backup))
    }

    /// Writes a file that is ours as a whole, without a backup. `is_program`: one that can be run.
    pub fn write_own(&self, text: &str, is_program: bool) -> Result<()> {
        replace(&self.path, text)?;
        #[cfg(unix)]
        if is_program {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&self.path, mode)
                .with_context(|| format!("writing {}", self.path.display()))?;
        }
        Ok(())
    }

    /// Undoes the setup. If the text means the same as the backup, the file gets the backup's bytes. A file
    /// that setup created and that is empty now is deleted.
    pub fn restore(&self, text: &str, empty: bool, same: impl Fn(&str) -> bool) -> Result<()> {
        let backup = self.backup();
        match fs::read_to_string(&backup) {
            Ok(before) if same(&before) => {
                replace(&self.path, &before)?;
                // The backup equals the file now; the next setup makes a new one.
                let _ = fs::remove_file(&backup);
                Ok(())
            }
            Err(_) if empty => self.remove(),
            _ => replace(&self.path, text),
        }
    }

    pub fn remove(&self) -> Result<()> {
        fs::remove_file(&self.path).with_context(|| format!("removing {}", self.path.display()))
    }

    /// Returns the text from before the first write, if there is a backup.
    pub fn backup_text(&self) -> Option<String> {
        fs::read_to_string(self.backup()).ok()
    }

    pub fn remove_backup(&self) {
        let _ = fs::remove_file(self.backup());
    }

    fn backup(&self) -> PathBuf {
        let mut name = self
            .path
            .file_name()
            .map_or_else(OsString::new, OsString::from);
        name.push(".backstitch-backup");
        self.path.with_file_name(name)
    }
}

/// A file of JSON.
#[derive(Clone, Debug)]
pub struct JsonSettings {
    pub file: SettingsFile,
    pub value: Value,
}

impl JsonSettings {
    pub fn read(path: &Path) -> Result<Self> {
        let file = SettingsFile::read(path)?;
        let value = match file.text.as_deref() {
            None => Value::Object(serde_json::Map::new()),
            Some(text) => parse(text).with_context(|| {
                format!(
                    "{} is not valid JSON and was not changed",
                    file.path.display()
                )
            })?,
        };
        Ok(Self { file, value })
    }

    /// Returns an empty file at the same path, for a file that is not valid JSON.
    pub fn blank(path: &Path) -> Self {
        let path = resolve_links(path);
        Self {
            file: SettingsFile { path, text: None },
            value: Value::Object(serde_json::Map::new()),
        }
    }

    /// Returns the file's text with a new value. Only differences are rewritten, with the file's indentation.
    pub fn text_of(&self, value: &Value) -> String {
        let text = self.file.text.as_deref();
        let edited = text.and_then(|text| json::edited(text, &self.value, value));
        edited.unwrap_or_else(|| self.reformat(value))
    }

    fn reformat(&self, value: &Value) -> String {
        let indent = self.file.text.as_deref().and_then(indent).unwrap_or("  ");
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(indent.as_bytes());
        let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
        // Serializing a JSON value to memory cannot fail.
        let _ = value.serialize(&mut serializer);
        let end = if self
            .file
            .text
            .as_deref()
            .is_none_or(|text| text.ends_with('\n'))
        {
            "\n"
        } else {
            ""
        };
        format!("{}{end}", String::from_utf8_lossy(&bytes))
    }

    pub fn write(&self, value: &Value) -> Result<Option<PathBuf>> {
        self.file.write(&self.text_of(value))
    }

    /// Undoes the setup. If the value means the same as the backup, the file gets the backup's bytes.
    pub fn restore(&self, value: &Value, meaning: impl Fn(&Value) -> Value) -> Result<()> {
        let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
        self.file.restore(&self.text_of(value), empty, |before| {
            parse(before).is_ok_and(|before| meaning(&before) == meaning(value))
        })
    }
}

fn parse(text: &str) -> serde_json::Result<Value> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(text)
}

/// Resolves a chain of symbolic links. The target may be missing.
pub fn resolve_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // Linux follows at most 40 links.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Returns the white space before the first indented line.
fn indent(text: &str) -> Option<&str> {
    let line = text.lines().skip(1).find(|line| !line.trim().is_empty())?;
    let width = line.len() - line.trim_start().len();
    (width > 0).then(|| &line[..width])
}

fn replace(path: &Path, text: &str) -> Result<()> {
    let context = || format!("writing {}", path.display());
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).with_context(context)?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // minus the umask
    let mut file = builder
        .prefix(".backstitch")
        .tempfile_in(dir)
        .with_context(context)?;
    file.write_all(text.as_bytes()).with_context(context)?;
    if let Ok(meta) = fs::metadata(path) {
        file.as_file()
            .set_permissions(meta.permissions())
            .with_context(context)?;
    }
    file.as_file().sync_all().with_context(context)?;
    file.persist(path).with_context(context)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_keeps_its_indentation_and_final_newline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(&path, "{\n\t\"a\": 1\n}").unwrap();
        let settings = JsonSettings::read(&path).unwrap();
        assert_eq!(settings.text_of(&settings.value), "{\n\t\"a\": 1\n}");
        let missing = JsonSettings::read(&dir.path().join("none")).unwrap();
        assert_eq!(
            missing.text_of(&serde_json::json!({ "a": 1 })),
            "{\n  \"a\": 1\n}\n"
        );
    }

    #[test]
    fn numbers_keep_their_notation() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        let text = "{\n  \"a\": 123456789012345678901234567890,\n  \"b\": 1.10\n}\n";
        fs::write(&path, text).unwrap();
        let settings = JsonSettings::read(&path).unwrap();
        assert_eq!(settings.text_of(&settings.value), text);
    }

    #[test]
    fn backup_is_the_original_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(&path, "{}").unwrap();
        let first = JsonSettings::read(&path).unwrap();
        let backup = first
            .write(&serde_json::json!({ "a": 1 }))
            .unwrap()
            .unwrap();
        let second = JsonSettings::read(&path).unwrap();
        assert_eq!(second.write(&serde_json::json!({ "a": 2 })).unwrap(), None);
        assert_eq!(fs::read_to_string(backup).unwrap(), "{}");
    }
}
