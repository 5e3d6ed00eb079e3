//! The keys and their values. Pure.

use std::fmt;
use std::path::{Path, PathBuf};

use ignore::gitignore::GitignoreBuilder;
use serde_json::Value;

use super::silence::{OnTimeout, Unattended};
use super::size;

/// Default of `capture.maxFileSize`.
pub(crate) const MAX_FILE: u64 = 10 << 20;
/// Maximum of `capture.maxFileSize`: each thread of a scan holds a whole content in memory, and a merge holds three.
pub(crate) const MOST: u64 = 256 << 20;

/// Default of `store.keepDays`.
const KEEP_DAYS: u64 = 30;
const MOST_DAYS: u64 = 36_500;
/// Default of `repl.evalTimeout` in seconds, and its maximum.
const EVAL_TIMEOUT: u64 = 30;
const MOST_EVAL: u64 = 86_400;
/// Default of `repl.maxObject`, and its maximum: a message has the whole value.
const MAX_OBJECT: u64 = 8 << 20;
const MOST_OBJECT: u64 = 16 << 20;
/// Default of `store.maxBytes`.
const MAX_BYTES: u64 = 5 << 30;
const LEAST_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Exclude,
    Include,
    MaxFileSize,
    CodeLens,
    Restore,
    StoreDir,
    KeepDays,
    MaxBytes,
    MaxCheckpoints,
    Automatic,
    PauseTimeout,
    PauseOnTimeout,
    PauseUnattended,
    AllowControl,
    EvalTimeout,
    Shell,
    MaxObject,
}

/// Value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// In bytes.
    Size(u64),
    /// In bytes. 0: no limit.
    Quota(u64),
    Days(u64),
    /// 0: no limit.
    Count(u64),
    Flag(bool),
    /// Patterns in .gitignore syntax.
    Patterns(Vec<String>),
    /// Absolute path.
    Dir(PathBuf),
    Lenses(Lenses),
    Restoring(Restoring),
    /// In seconds. 0: no limit.
    Seconds(u64),
    OnTimeout(OnTimeout),
    Unattended(Unattended),
    Program(String),
}

/// Scope of code lenses above agents' lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lenses {
    #[default]
    All,
    /// Only the newest session of the workspace.
    Session,
    /// Only the newest turn of the workspace.
    LatestTurn,
    Off,
}

/// Handling of others' edits made after the target of a rewind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restoring {
    /// Others' edits stay.
    #[default]
    Merge,
    /// Others' edits are undone, too.
    Exact,
}

/// The strictness of an outcome: the higher, the less runs unasked.
fn strictness(setting: &Setting) -> Option<u8> {
    Some(match setting {
        Setting::OnTimeout(OnTimeout::Allow) | Setting::Unattended(Unattended::Allow) => 0,
        Setting::OnTimeout(OnTimeout::Ask) | Setting::Unattended(Unattended::Ask) => 1,
        Setting::OnTimeout(OnTimeout::Deny) | Setting::Unattended(Unattended::Hold) => 2,
        Setting::Unattended(Unattended::Deny) => 3,
        _ => return None,
    })
}

/// A way by which a value comes that need not be the user's own: a clone can bring it, and an agent can write it. The
/// user's own `config.toml` and the command line always count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The workspace's own file.
    Workspace,
    /// An editor, whose settings may be those of a project: the server cannot tell them from the user's.
    Editor,
}

impl SettingOrigin {
    pub const ALL: [Self; 2] = [Self::Workspace, Self::Editor];

    pub(super) fn subject(self) -> &'static str {
        match self {
            Self::Workspace => "a file in a workspace",
            Self::Editor => "an editor's settings, which a project can set, too,",
        }
    }
}

/// The values of a key that loosen what is in force without them: less is kept, more is recorded, fewer calls are held,
/// the user's own edits go, or a program runs. Only the user says such a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looser {
    /// No value does.
    Never,
    Any,
    Smaller,
    Larger,
    /// As `Smaller`, where 0 means no limit.
    SmallerLimit,
    True,
    Exact,
    /// An outcome that lets more run.
    LessStrict,
    /// Patterns are added in front of those in force: the later of two that match decides, and that is the user's.
    Patterns,
}

/// By whom a key may be loosened is the same for all: by the user alone.
#[derive(Clone, Copy, Debug)]
struct LooseningRule {
    looser: Looser,
    /// The end of the sentence "an editor's settings …", with which a looser value is refused.
    refusal: &'static str,
    /// The ways for the user to say it.
    instead: &'static str,
}

const CONFIG: &str = "set it in your own config.toml";
const LESS_RECORDED: &str = "may have less recorded, never more";
const MORE_KEPT: &str = "may ask for more to be kept, never for less";
const MORE_HELD: &str = "may have more calls held, never fewer";

impl Lenses {
    const ALL: [Self; 4] = [Self::All, Self::Session, Self::LatestTurn, Self::Off];

    fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Session => "session",
            Self::LatestTurn => "latestTurn",
            Self::Off => "off",
        }
    }
}

impl Restoring {
    const ALL: [Self; 2] = [Self::Merge, Self::Exact];

    fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Exact => "exact",
        }
    }
}

impl Key {
    pub const ALL: [Self; 17] = [
        Self::Exclude,
        Self::Include,
        Self::MaxFileSize,
        Self::CodeLens,
        Self::Restore,
        Self::StoreDir,
        Self::KeepDays,
        Self::MaxBytes,
        Self::MaxCheckpoints,
        Self::Automatic,
        Self::PauseTimeout,
        Self::PauseOnTimeout,
        Self::PauseUnattended,
        Self::AllowControl,
        Self::EvalTimeout,
        Self::Shell,
        Self::MaxObject,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Exclude => "capture.exclude",
            Self::Include => "capture.include",
            Self::MaxFileSize => "capture.maxFileSize",
            Self::CodeLens => "codeLens",
            Self::Restore => "restore.default",
            Self::StoreDir => "store.dir",
            Self::KeepDays => "store.keepDays",
            Self::MaxBytes => "store.maxBytes",
            Self::MaxCheckpoints => "checkpoints.max",
            Self::Automatic => "checkpoints.automatic",
            Self::PauseTimeout => "pause.timeout",
            Self::PauseOnTimeout => "pause.onTimeout",
            Self::PauseUnattended => "pause.unattended",
            Self::AllowControl => "agents.allowControl",
            Self::EvalTimeout => "repl.evalTimeout",
            Self::Shell => "repl.shell",
            Self::MaxObject => "repl.maxObject",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// True if the name is a group of keys, such as `capture`.
    pub fn is_group(name: &str) -> bool {
        let in_it = |key: &Self| {
            let rest = key.name().strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        Self::ALL.iter().any(in_it)
    }

    /// True if an editor's value applies to other processes, too. `store.dir` cannot: it locates the store that holds
    /// the value.
    pub(super) fn is_shared(self) -> bool {
        !matches!(self, Self::CodeLens | Self::StoreDir)
    }

    pub(super) fn default(self) -> Option<Setting> {
        Some(match self {
            Self::Exclude | Self::Include => Setting::Patterns(Vec::new()),
            Self::MaxFileSize => Setting::Size(MAX_FILE),
            Self::CodeLens => Setting::Lenses(Lenses::default()),
            Self::Restore => Setting::Restoring(Restoring::default()),
            Self::KeepDays => Setting::Days(KEEP_DAYS),
            Self::MaxBytes => Setting::Quota(MAX_BYTES),
            Self::MaxCheckpoints => Setting::Count(0),
            Self::Automatic => Setting::Flag(true),
            Self::PauseTimeout => Setting::Seconds(0),
            Self::PauseOnTimeout => Setting::OnTimeout(OnTimeout::default()),
            Self::PauseUnattended => Setting::Unattended(Unattended::Ask),
            Self::AllowControl => Setting::Flag(false),
            Self::EvalTimeout => Setting::Seconds(EVAL_TIMEOUT),
            Self::Shell => Setting::Program("sh".to_owned()),
            Self::MaxObject => Setting::Size(MAX_OBJECT),
            Self::StoreDir => return None,
        })
    }

    /// The one declaration of what may loosen a key.
    fn loosening(self) -> LooseningRule {
        let (looser, refusal) = match self {
            Self::CodeLens => (Looser::Never, ""),
            Self::Exclude => (Looser::Patterns, LESS_RECORDED),
            Self::Include => (Looser::Any, LESS_RECORDED),
            Self::MaxFileSize | Self::MaxObject => (Looser::Larger, LESS_RECORDED),
            // "do not record" is a wish that a person may have in an editor, and it is said wherever people look
            Self::Automatic => (Looser::True, LESS_RECORDED),
            Self::Restore => (Looser::Exact, "cannot have your own edits taken out"),
            Self::StoreDir => (
                Looser::Any,
                "cannot name the place of histories, for it may come with a clone",
            ),
            Self::KeepDays => (Looser::Smaller, MORE_KEPT),
            Self::MaxBytes | Self::MaxCheckpoints => (Looser::SmallerLimit, MORE_KEPT),
            Self::PauseTimeout => (Looser::SmallerLimit, MORE_HELD),
            Self::PauseOnTimeout | Self::PauseUnattended => (Looser::LessStrict, MORE_HELD),
            Self::AllowControl => (Looser::True, "cannot let agents decide on their own calls"),
            // evaluations have the rights of their program, so nobody else sets them up
            Self::EvalTimeout | Self::Shell => (Looser::Any, "cannot set up evaluations"),
        };
        let instead = if self == Self::Restore {
            "set it in your own config.toml, or pass --exact"
        } else if self == Self::StoreDir {
            "set it in your own config.toml, or pass --store-dir"
        } else {
            CONFIG
        };
        LooseningRule {
            looser,
            refusal,
            instead,
        }
    }

    /// Returns the value in force if somebody else than the user says this, and `own` is in force without it. The only
    /// way by which such a value comes into force. Err: the reason why it is not heeded.
    pub(super) fn heeded(
        self,
        own: Option<&Setting>,
        said: &Setting,
        origin: SettingOrigin,
    ) -> Result<Setting, String> {
        let rule = self.loosening();
        if own == Some(said) || !rule.looser.loosens(own, said) {
            return Ok(rule.looser.joined(own, said));
        }
        Err(format!(
            "{} {}; {}",
            origin.subject(),
            rule.refusal,
            rule.instead
        ))
    }

    /// Parses a value. `shown`: the value as written. `base`: directory for relative paths, if any. Err: the reason
    /// why it is invalid.
    pub fn read(self, value: &Value, shown: &str, base: Option<&Path>) -> Result<Setting, String> {
        match self {
            Self::Exclude | Self::Include => patterns(value, shown).map(Setting::Patterns),
            Self::MaxFileSize => bytes(value, shown).map(Setting::Size),
            Self::CodeLens => one_of(value, shown, &Lenses::ALL, Lenses::name).map(Setting::Lenses),
            Self::Restore => {
                one_of(value, shown, &Restoring::ALL, Restoring::name).map(Setting::Restoring)
            }
            Self::StoreDir => dir(value, shown, base).map(Setting::Dir),
            Self::KeepDays => match value.as_u64() {
                Some(days) if (1..=MOST_DAYS).contains(&days) => Ok(Setting::Days(days)),
                _ => Err(format!(
                    "{shown} is not a number of days from 1 to {MOST_DAYS}"
                )),
            },
            Self::MaxBytes => quota(value, shown).map(Setting::Quota),
            Self::PauseTimeout => match value.as_u64() {
                Some(seconds) => Ok(Setting::Seconds(seconds)),
                None => Err(format!(
                    "{shown} is not a number of seconds; 0 is as long as the agent waits"
                )),
            },
            Self::EvalTimeout => match value.as_u64() {
                Some(seconds) if (1..=MOST_EVAL).contains(&seconds) => {
                    Ok(Setting::Seconds(seconds))
                }
                _ => Err(format!(
                    "{shown} is not a number of seconds from 1 to {MOST_EVAL}"
                )),
            },
            Self::MaxObject => object_bytes(value, shown).map(Setting::Size),
            Self::Shell => match value.as_str().map(str::trim) {
                Some(program) if !program.is_empty() => Ok(Setting::Program(program.to_owned())),
                _ => Err(format!(
                    "{shown} is not the name of a shell, such as \"bash\""
                )),
            },
            Self::PauseOnTimeout => {
                one_of(value, shown, &OnTimeout::ALL, OnTimeout::name).map(Setting::OnTimeout)
            }
            Self::PauseUnattended => {
                one_of(value, shown, &Unattended::ALL, Unattended::name).map(Setting::Unattended)
            }
            Self::MaxCheckpoints => match value.as_u64() {
                Some(count) => Ok(Setting::Count(count)),
                None => Err(format!(
                    "{shown} is not a number of checkpoints; 0 means no limit"
                )),
            },
            Self::Automatic | Self::AllowControl => match value.as_bool() {
                Some(on) => Ok(Setting::Flag(on)),
                None => Err(format!("{shown} is neither true nor false")),
            },
        }
    }
}

impl Looser {
    /// True if a value is looser than the one in force. A value of a kind that is not known here is.
    fn loosens(self, own: Option<&Setting>, said: &Setting) -> bool {
        match self {
            Self::Never | Self::Patterns => false,
            Self::Any => true,
            Self::True => *said != Setting::Flag(false),
            Self::Exact => *said != Setting::Restoring(Restoring::Merge),
            Self::LessStrict => match (own.and_then(strictness), strictness(said)) {
                (Some(own), Some(said)) => said < own,
                _ => true,
            },
            Self::Smaller | Self::Larger | Self::SmallerLimit => {
                match (own.and_then(Setting::number), said.number()) {
                    (Some(own), Some(said)) => match self {
                        Self::Smaller => said < own,
                        Self::Larger => said > own,
                        _ => said != 0 && (own == 0 || said < own),
                    },
                    _ => true,
                }
            }
        }
    }

    fn joined(self, own: Option<&Setting>, said: &Setting) -> Setting {
        match (self, own, said) {
            (Self::Patterns, Some(Setting::Patterns(own)), Setting::Patterns(said)) => {
                let mut all = said.clone();
                all.extend(own.iter().cloned());
                Setting::Patterns(all)
            }
            _ => said.clone(),
        }
    }
}

/// Message for an unknown key, with the list of known keys.
pub fn unknown() -> String {
    let names = Key::ALL.map(Key::name);
    format!("unknown setting; the settings are {}", names.join(", "))
}

/// A number of bytes, or a text such as `10MB`.
fn size_in(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => size::parse(text),
        _ => None,
    }
}

fn bytes(value: &Value, shown: &str) -> Result<u64, String> {
    match size_in(value) {
        Some(bytes) if bytes > MOST => Err(format!(
            "{shown} is above {}, the maximum",
            size::show(MOST)
        )),
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(format!(
            "{shown} is not a size; write a number of bytes, or a text such as \"10MB\" or \"512 KiB\""
        )),
    }
}

fn object_bytes(value: &Value, shown: &str) -> Result<u64, String> {
    match size_in(value) {
        Some(bytes) if bytes <= MOST_OBJECT => Ok(bytes),
        Some(_) => Err(format!(
            "{shown} is above {}, the maximum",
            size::show(MOST_OBJECT)
        )),
        None => Err(format!(
            "{shown} is not a size; write a number of bytes, or a text such as \"8 MiB\"; 0 keeps no value"
        )),
    }
}

fn quota(value: &Value, shown: &str) -> Result<u64, String> {
    match size_in(value) {
        Some(bytes) if bytes == 0 || bytes >= LEAST_BYTES => Ok(bytes),
        Some(_) => Err(format!(
            "{shown} is less than {}, the minimum",
            size::show(LEAST_BYTES)
        )),
        None => Err(format!(
            "{shown} is not a size; write a number of bytes, or a text such as \"2GB\" or \"500 MiB\"; 0 means no limit"
        )),
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

fn one_of<T: Copy>(
    value: &Value,
    shown: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T, String> {
    let named = |one: &&T| value.as_str() == Some(name(**one));
    all.iter().find(named).copied().ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        format!("{shown} is not one of {}", names.join(", "))
    })
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

impl Setting {
    fn number(&self) -> Option<u64> {
        match self {
            Self::Size(n) | Self::Quota(n) | Self::Days(n) | Self::Count(n) | Self::Seconds(n) => {
                Some(*n)
            }
            _ => None,
        }
    }

    /// Returns the value as JSON.
    pub fn json(&self) -> Value {
        match self {
            Self::Flag(on) => Value::from(*on),
            Self::Size(n) | Self::Quota(n) | Self::Days(n) | Self::Count(n) | Self::Seconds(n) => {
                Value::from(*n)
            }
            Self::OnTimeout(outcome) => Value::from(outcome.name()),
            Self::Unattended(outcome) => Value::from(outcome.name()),
            Self::Patterns(all) => Value::from(all.clone()),
            Self::Dir(path) => Value::from(path.display().to_string()),
            Self::Lenses(lenses) => Value::from(lenses.name()),
            Self::Restoring(how) => Value::from(how.name()),
            Self::Program(name) => Value::from(name.clone()),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(bytes) | Self::Quota(bytes) => write!(f, "{}", size::show(*bytes)),
            Self::Flag(on) => write!(f, "{on}"),
            Self::Days(n) | Self::Count(n) | Self::Seconds(n) => write!(f, "{n}"),
            Self::OnTimeout(outcome) => write!(f, "{}", outcome.name()),
            Self::Unattended(outcome) => write!(f, "{}", outcome.name()),
            Self::Patterns(all) => write!(f, "{}", Value::from(all.clone())),
            Self::Dir(path) => write!(f, "{}", path.display()),
            Self::Lenses(lenses) => write!(f, "{}", lenses.name()),
            Self::Restoring(how) => write!(f, "{}", how.name()),
            Self::Program(name) => write!(f, "{name}"),
        }
    }
}
