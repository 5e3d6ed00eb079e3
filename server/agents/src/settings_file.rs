//! Settings files: read, replaced by rename, with a backup of the original. Independent of the format.

mod json;

use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use backstitch_core::read_settings;
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
        let text = match read_settings(&path) {
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
        match read_settings(&backup) {
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
        read_settings(&self.backup()).ok()
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

/// The form of JSON that a program reads in its settings, as it was tried. It is as strict here, or setup would name hooks that
/// the program never sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonForm {
    Plain,
    /// With a byte order mark, or without.
    Marked,
    /// With comments, which stay.
    Commented,
}

impl JsonForm {
    fn parse(self, text: &str) -> serde_json::Result<Value> {
        let text = match self {
            Self::Plain | Self::Commented => text,
            Self::Marked => text.strip_prefix(MARK).unwrap_or(text),
        };
        let text = match self {
            Self::Commented => json::without_comments(text),
            Self::Plain | Self::Marked => text.into(),
        };
        if text.trim().is_empty() {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        serde_json::from_str(&text)
    }
}

/// The byte order mark.
const MARK: char = '\u{feff}';

/// A file of JSON.
#[derive(Clone, Debug)]
pub struct JsonSettings {
    pub file: SettingsFile,
    pub value: Value,
    form: JsonForm,
}

impl JsonSettings {
    pub fn read(path: &Path, form: JsonForm) -> Result<Self> {
        let file = SettingsFile::read(path)?;
        let value = match file.text.as_deref() {
            None => Value::Object(serde_json::Map::new()),
            Some(text) if text.starts_with(MARK) && form != JsonForm::Marked => bail!(
                "{} begins with a byte order mark and was not changed; save it as UTF-8 without one, and run this again",
                file.path.display()
            ),
            Some(text) => form.parse(text).with_context(|| {
                format!(
                    "{} is not valid JSON and was not changed",
                    file.path.display()
                )
            })?,
        };
        Ok(Self { file, value, form })
    }

    /// Fails if the file cannot get this value without a loss of something else that it has.
    pub fn check(&self, value: &Value) -> Result<()> {
        let Some(text) = self
            .file
            .text
            .as_deref()
            .filter(|text| !text.trim().is_empty())
        else {
            return Ok(());
        };
        if *value == self.value || self.edited(text, value).is_some() {
            return Ok(());
        }
        match json::duplicate(text) {
            Some(key) => {
                bail!("it has the key `{key}` twice; leave one of them, and run this again")
            }
            None => bail!("it cannot be edited in place"),
        }
    }

    fn edited(&self, text: &str, value: &Value) -> Option<String> {
        let (mark, text) = match text.strip_prefix(MARK) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let edited = json::edited(text, &self.value, value, |text| self.form.parse(text).ok())?;
        Some(if mark {
            format!("{MARK}{edited}")
        } else {
            edited
        })
    }

    /// Returns an empty file at the same path, for a file that is not valid JSON.
    pub fn blank(path: &Path) -> Self {
        let path = resolve_links(path);
        Self {
            file: SettingsFile { path, text: None },
            value: Value::Object(serde_json::Map::new()),
            form: JsonForm::Plain,
        }
    }

    /// Returns the file's text with a new value. Only differences are rewritten, with the file's indentation.
    pub fn text_of(&self, value: &Value) -> String {
        let text = self.file.text.as_deref();
        let edited = text.and_then(|text| self.edited(text, value));
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
        let text = self.text_of(value);
        let comments = self.comments(&text);
        let empty = value.as_object().is_some_and(serde_json::Map::is_empty) && comments.is_empty();
        self.file.restore(&text, empty, |before| {
            let is_same = self.comments(before) == comments;
            let before = self.form.parse(before);
            is_same && before.is_ok_and(|before| meaning(&before) == meaning(value))
        })
    }

    fn comments(&self, text: &str) -> String {
        match self.form {
            JsonForm::Commented => json::comments(text),
            JsonForm::Plain | JsonForm::Marked => String::new(),
        }
    }
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

/// Begin of the names of files that are not finished yet, before the number of the process that writes one.
const UNFINISHED: &str = ".backstitch-new-";

/// Begin of the name of a file that this process has not finished yet.
pub fn unfinished() -> String {
    format!("{UNFINISHED}{}-", std::process::id())
}

/// Removes the files in a directory that a killed process has not finished.
pub fn remove_unfinished(dir: &Path) {
    remove_of_ended(dir, UNFINISHED);
}

/// Removes the user's own entries of a directory that are named `PREFIX PROCESS-…` after a process that has ended.
pub fn remove_of_ended(dir: &Path, prefix: &str) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
        let number = number.and_then(|rest| rest.split('-').next()?.parse().ok());
        let (Some(number), Ok(meta)) = (number, entry.metadata()) else {
            continue;
        };
        if is_running(number) || !is_own(&meta) {
            continue;
        }
        let _ = if meta.is_dir() {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
    }
}

#[cfg(unix)]
fn is_own(meta: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(meta) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_: &fs::Metadata) -> bool {
    true
}

fn is_running(number: i32) -> bool {
    let number = rustix::process::Pid::from_raw(number);
    number.is_some_and(|pid| {
        rustix::process::test_kill_process(pid).is_ok() || pid == rustix::process::getpid()
    })
}

fn replace(path: &Path, text: &str) -> Result<()> {
    let context = || format!("writing {}", path.display());
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).with_context(context)?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // minus the umask
    let mut file = builder
        .prefix(&unfinished())
        .tempfile_in(dir)
        .with_context(context)?;
    file.write_all(text.as_bytes()).with_context(context)?;
    if let Ok(meta) = fs::metadata(path) {
        hand_on(path, &meta, file.as_file());
        file.as_file()
            .set_permissions(meta.permissions())
            .with_context(context)?;
    }
    file.as_file().sync_all().with_context(context)?;
    file.persist(path).with_context(context)?;
    Ok(())
}

/// Gives a file that replaces another the owner, group and extended attributes of that one, where the system allows it.
fn hand_on(path: &Path, replaced: &fs::Metadata, new: &fs::File) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let _ = fchown(new, Some(replaced.uid()), Some(replaced.gid()));
    }
    backstitch_core::copy_attributes_of(path, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_keeps_its_indentation_and_final_newline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(&path, "{\n\t\"a\": 1\n}").unwrap();
        let settings = JsonSettings::read(&path, JsonForm::Plain).unwrap();
        assert_eq!(settings.text_of(&settings.value), "{\n\t\"a\": 1\n}");
        let missing = JsonSettings::read(&dir.path().join("none"), JsonForm::Plain).unwrap();
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
        let settings = JsonSettings::read(&path, JsonForm::Plain).unwrap();
        assert_eq!(settings.text_of(&settings.value), text);
    }

    #[test]
    fn a_killed_process_leaves_nothing_after_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let name = |name: &str| dir.path().join(name);
        let gone = name(".backstitch-new-4194304-aB3dE6");
        let own = name(&format!("{}aB3dE6", unfinished()));
        let others = [own, name(".backstitch-new-note"), name(".backstitchignore")];
        for path in others.iter().chain([&gone]) {
            fs::write(path, "x").unwrap();
        }
        remove_unfinished(dir.path());
        assert!(!gone.exists());
        assert!(others.iter().all(|path| path.exists()));
    }

    #[test]
    fn backup_is_the_original_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        fs::write(&path, "{}").unwrap();
        let first = JsonSettings::read(&path, JsonForm::Plain).unwrap();
        let backup = first
            .write(&serde_json::json!({ "a": 1 }))
            .unwrap()
            .unwrap();
        let second = JsonSettings::read(&path, JsonForm::Plain).unwrap();
        assert_eq!(second.write(&serde_json::json!({ "a": 2 })).unwrap(), None);
        assert_eq!(fs::read_to_string(backup).unwrap(), "{}");
    }
}
