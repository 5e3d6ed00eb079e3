//! The forms of settings, and the values that are read by them. Pure.

use std::fmt;
use std::path::{Path, PathBuf};

use ignore::gitignore::GitignoreBuilder;
use serde_json::Value;

use super::size;

/// Form of the values of a setting, with its default.
#[derive(Clone, Copy, Debug)]
pub enum SettingForm {
    /// Patterns in .gitignore syntax.
    Patterns,
    /// Bytes: a number, or a text with a unit.
    Size(NumberForm),
    Number(NumberForm),
    Flag {
        default: bool,
    },
    OneOf {
        names: &'static [&'static str],
        default: &'static str,
    },
    /// A directory. The default is elsewhere.
    Dir,
    Program {
        default: &'static str,
        /// The end of the sentence "VALUE is not …".
        what: &'static str,
    },
    /// Names of variables; a `*` at the end stands for any rest.
    Variables,
}

/// Numbers that a setting takes.
#[derive(Clone, Copy, Debug)]
pub struct NumberForm {
    pub default: u64,
    pub least: u64,
    pub most: u64,
    /// The unit of a number: `days`. Examples of a size.
    unit: &'static str,
    /// The meaning of 0, which may be below `least`.
    zero: Option<&'static str>,
}

impl SettingForm {
    pub(super) const fn number(unit: &'static str, default: u64, least: u64, most: u64) -> Self {
        Self::Number(NumberForm {
            default,
            least,
            most,
            unit,
            zero: None,
        })
    }

    /// `examples`: `"10MB" or "512 KiB"`.
    pub(super) const fn size(default: u64, least: u64, most: u64, examples: &'static str) -> Self {
        Self::Size(NumberForm {
            default,
            least,
            most,
            unit: examples,
            zero: None,
        })
    }

    /// `meaning`: of 0, as a sentence.
    pub(super) const fn zero(self, meaning: &'static str) -> Self {
        match self {
            Self::Size(form) => Self::Size(form.with_zero(meaning)),
            Self::Number(form) => Self::Number(form.with_zero(meaning)),
            other => other,
        }
    }

    pub(super) const fn one_of(names: &'static [&'static str], default: &'static str) -> Self {
        Self::OneOf { names, default }
    }

    /// None: the setting has none.
    pub fn default(self) -> Option<Setting> {
        Some(match self {
            Self::Patterns => Setting::Patterns(Vec::new()),
            Self::Size(form) => Setting::Size(form.default),
            Self::Number(form) => Setting::Number(form.default),
            Self::Flag { default } => Setting::Flag(default),
            Self::OneOf { default, .. } => Setting::Name(default),
            Self::Program { default, .. } => Setting::Program(default.to_owned()),
            Self::Variables => Setting::Variables(Vec::new()),
            Self::Dir => return None,
        })
    }
}

impl NumberForm {
    const fn with_zero(self, meaning: &'static str) -> Self {
        Self {
            zero: Some(meaning),
            ..self
        }
    }

    fn takes_zero(self) -> bool {
        self.zero.is_some() || self.least == 0
    }

    fn size(self, value: &Value, shown: &str) -> Result<u64, String> {
        let zero = self.zero.map(|meaning| format!("; {meaning}"));
        match size_in(value) {
            Some(0) if self.takes_zero() => Ok(0),
            Some(bytes) if bytes > self.most => Err(format!(
                "{shown} is above {}, the maximum",
                size::show(self.most)
            )),
            Some(bytes) if bytes < self.least && bytes > 0 => Err(format!(
                "{shown} is less than {}, the minimum",
                size::show(self.least)
            )),
            Some(bytes) if bytes > 0 => Ok(bytes),
            _ => Err(format!(
                "{shown} is not a size; write a number of bytes, or a text such as {}{}",
                self.unit,
                zero.unwrap_or_default()
            )),
        }
    }

    fn number(self, value: &Value, shown: &str) -> Result<u64, String> {
        match value.as_u64() {
            Some(0) if self.takes_zero() => Ok(0),
            Some(number) if (self.least..=self.most).contains(&number) => Ok(number),
            _ => Err(match self.zero {
                Some(meaning) => format!("{shown} is not a number of {}; {meaning}", self.unit),
                None => format!(
                    "{shown} is not a number of {} from {} to {}",
                    self.unit, self.least, self.most
                ),
            }),
        }
    }
}

/// Value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    Patterns(Vec<String>),
    /// In bytes.
    Size(u64),
    Number(u64),
    Flag(bool),
    /// One of the names of its form.
    Name(&'static str),
    /// Absolute path.
    Dir(PathBuf),
    Program(String),
    /// Names of variables.
    Variables(Vec<String>),
}

impl SettingForm {
    /// Parses a value. `shown`: the value as written. `base`: directory for relative paths, if any. Err: the reason
    /// why it is invalid.
    pub(super) fn read(
        self,
        value: &Value,
        shown: &str,
        base: Option<&Path>,
    ) -> Result<Setting, String> {
        Ok(match self {
            Self::Patterns => Setting::Patterns(patterns(value, shown)?),
            Self::Size(form) => Setting::Size(form.size(value, shown)?),
            Self::Number(form) => Setting::Number(form.number(value, shown)?),
            Self::Flag { .. } => match value.as_bool() {
                Some(on) => Setting::Flag(on),
                None => return Err(format!("{shown} is neither true nor false")),
            },
            Self::OneOf { names, .. } => {
                let name = names.iter().find(|name| value.as_str() == Some(name));
                let wrong = || format!("{shown} is not one of {}", names.join(", "));
                Setting::Name(name.ok_or_else(wrong)?)
            }
            Self::Dir => Setting::Dir(dir(value, shown, base)?),
            Self::Program { what, .. } => match value.as_str().map(str::trim) {
                Some(program) if !program.is_empty() => Setting::Program(program.to_owned()),
                _ => return Err(format!("{shown} is not {what}")),
            },
            Self::Variables => Setting::Variables(variables(value, shown)?),
        })
    }
}

impl Setting {
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::Size(number) | Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn name(&self) -> Option<&'static str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the value as JSON.
    pub fn json(&self) -> Value {
        match self {
            Self::Patterns(all) | Self::Variables(all) => Value::from(all.clone()),
            Self::Size(number) | Self::Number(number) => Value::from(*number),
            Self::Flag(on) => Value::from(*on),
            Self::Name(name) => Value::from(*name),
            Self::Dir(path) => Value::from(path.display().to_string()),
            Self::Program(name) => Value::from(name.clone()),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patterns(all) | Self::Variables(all) => {
                write!(f, "{}", Value::from(all.clone()))
            }
            Self::Size(bytes) => write!(f, "{}", size::show(*bytes)),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(on) => write!(f, "{on}"),
            Self::Name(name) => write!(f, "{name}"),
            Self::Dir(path) => write!(f, "{}", path.display()),
            Self::Program(name) => write!(f, "{name}"),
        }
    }
}

/// A number of bytes, or a text such as `10MB`.
fn size_in(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => size::parse(text),
        _ => None,
    }
}

fn patterns(value: &Value, shown: &str) -> Result<Vec<String>, String> {
    let list = value.as_array().ok_or_else(|| {
        format!("{shown} is not a list of patterns; write [\"*.log\", \"/data/\"]")
    })?;
    list.iter().map(pattern).collect()
}

fn pattern(value: &Value) -> Result<String, String> {
    let text = value
        .as_str()
        .ok_or_else(|| format!("{value} in it is not a string"))?;
    let wrong = if text.trim().is_empty() || text.contains(['\n', '\r']) {
        Some("a pattern is one line, and not empty".to_owned())
    } else if text.starts_with('#') {
        Some(
            "a line that begins with # is a comment; write \\# for a name that begins with #"
                .to_owned(),
        )
    } else {
        let added = GitignoreBuilder::new("")
            .add_line(None, text)
            .and_then(|builder| builder.build().map(|_| ()));
        added.err().map(|error| error.to_string())
    };
    match wrong {
        Some(why) => Err(format!("{value} in it is not a .gitignore pattern: {why}")),
        None => Ok(text.to_owned()),
    }
}

fn dir(value: &Value, shown: &str, base: Option<&Path>) -> Result<PathBuf, String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| format!("{shown} is not a directory path"))?;
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = home().filter(|home| home.is_absolute());
            let home = home.ok_or_else(|| {
                format!("{shown}: HOME is not an absolute path, so ~ cannot be used")
            })?;
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(text),
    };
    match base {
        Some(base) => Ok(base.join(path)),
        None if path.is_absolute() => Ok(path),
        None => Err(format!(
            "{shown} is relative; write a path that begins with / or ~/"
        )),
    }
}

fn variables(value: &Value, shown: &str) -> Result<Vec<String>, String> {
    let list = value.as_array().ok_or_else(|| {
        format!("{shown} is not a list of variables; write [\"NPM_CONFIG_REGISTRY\", \"AWS_*\"]")
    })?;
    list.iter().map(variable).collect()
}

fn variable(value: &Value) -> Result<String, String> {
    let name = value
        .as_str()
        .ok_or_else(|| format!("{value} in it is not a string"))?;
    let stem = name.strip_suffix('*').unwrap_or(name);
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    if name.is_empty() || !stem.chars().all(is_name) {
        return Err(format!(
            "{value} in it is not the name of a variable, such as \"AWS_PROFILE\" or \"AWS_*\""
        ));
    }
    Ok(name.to_owned())
}
