//! The declaration of an agent: its facts, and the functions of its folder. One constant an agent.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use backstitch_core::capture::AgentEvent;
use serde_json::Value;

use super::answer::{Answer, AnswerPart, HookOutput};
use super::edit_rules::EditTool;
use super::fields::ParseError;
use super::flat_hooks::FlatHooks;
use super::hook_entries::{HookEdit, Hooks};
use super::hook_table::HookTable;
use super::machine::home;
use super::settings_plan::SettingsPlan;

const HOUR: u32 = 60 * 60;
const DAY: u32 = 24 * HOUR;

#[derive(Clone, Copy, Debug)]
pub struct AgentSpec {
    /// Name in `backstitch hook NAME`, in `backstitch setup NAME` and in the store.
    pub name: &'static str,
    /// As people call it.
    pub title: &'static str,
    /// Its program, as found on `PATH`.
    pub program: &'static str,
    /// Oldest supported version, major and minor: the first that reports every recorded event.
    pub min_version: (u32, u32),
    /// Names by which it, or its program, calls itself in the Agent Client Protocol. With `-` and more behind it, too.
    pub acp_names: &'static [&'static str],
    /// Events that get a hook, by the agent's own names.
    pub events: &'static [&'static str],
    /// Parts of an answer that it takes, by event.
    pub taken: &'static [(&'static str, &'static [AnswerPart])],
    /// Time that it waits for a hook, in seconds, as setup writes it.
    pub hook_timeout: u32,
    /// True if a hook that fails can be made to block its call.
    pub can_block: bool,
    /// Environment variables that it sets for the commands that it runs. A decision where one is set is refused.
    pub marks: &'static [&'static str],
    /// Environment variable of the hook that holds the project's directory.
    pub project_variable: Option<&'static str>,
    /// Settings that end all of its hooks.
    pub off_switches: &'static [OffSwitch],
    /// Files of a project whose variables it hands to its hooks.
    pub variable_files: &'static [VariableFile],
    /// Its edit and write tools whose effect is predicted by rules of their own.
    pub edit_tools: &'static [EditTool],
    /// Places of its settings.
    pub places: SettingsPlaces,
    /// Form of the hooks in its settings.
    pub hooks: HookForm,
    /// Parses the payload of a hook.
    pub parse: fn(&[u8]) -> Result<AgentEvent, ParseError>,
    /// Encodes an answer.
    pub encode: fn(&AgentEvent, &Answer) -> HookOutput,
    /// Returns the text of the error in the payload of a call that failed.
    pub error_text: fn(&[u8]) -> Option<String>,
    /// Returns the names of its usual tools.
    pub tools: fn() -> Vec<&'static str>,
    /// Returns the text of a shell command, by the tool and its input.
    pub command: fn(&str, &Value) -> Option<String>,
    /// Returns a payload for a prompt in a directory.
    pub prompt: fn(&Path, &str) -> Value,
    /// Its rows in the documentation.
    pub page: AgentPage,
}

/// The rows of an agent in the tables of the documentation, in Markdown.
#[derive(Clone, Copy, Debug)]
pub struct AgentPage {
    pub title: &'static str,
    /// The way in which its events come.
    pub connected: &'static str,
    /// The signs by which a turn and a step are recognized.
    pub turn: &'static str,
    pub step: &'static str,
    /// The version that the tests run. None: its part was made from the agent's documents.
    pub tested: Option<&'static str>,
    pub held: HeldPage,
    /// Its state behind the Agent Client Protocol.
    pub proxy: &'static str,
}

/// The row of an agent in the table of held calls: the time, and the answers that the agent takes.
#[derive(Clone, Copy, Debug)]
pub struct HeldPage {
    pub time: HeldTime,
    pub denial: &'static str,
    pub changed_input: &'static str,
    pub text: &'static str,
    pub end_of_turn: &'static str,
}

impl HeldPage {
    /// No call can be held.
    pub const NONE: Self = Self {
        time: HeldTime::No,
        denial: "no",
        changed_input: "no",
        text: "no",
        end_of_turn: "no",
    };
}

/// Time for which an agent's calls are held at most, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldTime {
    /// No call can be held.
    No,
    For(u32),
    /// `of`: the calls that are held for a shorter time.
    Mostly {
        time: u32,
        shorter: u32,
        of: &'static str,
    },
}

impl fmt::Display for HeldTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::No => f.write_str("no"),
            Self::For(DAY) => f.write_str("a day"),
            Self::For(HOUR) => f.write_str("an hour"),
            Self::For(time) if time.is_multiple_of(60) => write!(f, "{} min", time / 60),
            Self::For(time) => write!(f, "{time} s"),
            Self::Mostly { time, shorter, of } => {
                write!(f, "{}; {} {of}", Self::For(time), Self::For(shorter))
            }
        }
    }
}

/// The settings of an agent, and the sign by which it is known on a machine.
#[derive(Clone, Copy, Debug)]
pub struct SettingsPlaces {
    /// A variable that names the directory of the user's settings, or one above it. With the path below it.
    pub variable: Option<(&'static str, &'static str)>,
    /// The directory of the user's settings below the home directory.
    pub user_dir: &'static str,
    /// The settings in that directory. Empty: the directory itself.
    pub user_settings: &'static str,
    /// The settings of a project. Setup writes the first.
    pub project: &'static [&'static str],
    pub sign: Sign,
}

/// The sign of an agent beside its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The directory of the user's settings.
    Directory,
    /// The same, and it is looked for before the program.
    DirectoryFirst,
    /// The user's settings.
    Settings,
}

impl SettingsPlaces {
    /// Returns the directory of the user's settings.
    pub fn user_dir(&self) -> Option<PathBuf> {
        let named = self.variable.and_then(|(name, below)| {
            let dir = std::env::var_os(name).filter(|dir| !dir.is_empty())?;
            Some(joined(PathBuf::from(dir), below))
        });
        named.or_else(|| Some(home()?.join(self.user_dir)))
    }

    /// Returns the user's settings.
    pub fn user_settings(&self) -> Option<PathBuf> {
        Some(joined(self.user_dir()?, self.user_settings))
    }

    /// Returns the settings of a project, or the user's own.
    pub fn settings(&self, project: Option<&Path>) -> Vec<PathBuf> {
        match project {
            Some(root) => self.project.iter().map(|path| root.join(path)).collect(),
            None => self.user_settings().into_iter().collect(),
        }
    }
}

/// An empty path adds nothing, not even a slash.
fn joined(dir: PathBuf, below: &str) -> PathBuf {
    if below.is_empty() {
        dir
    } else {
        dir.join(below)
    }
}

/// Form of the hooks in an agent's settings.
#[derive(Clone, Copy, Debug)]
pub enum HookForm {
    Table(&'static HookTable),
    Flat(&'static FlatHooks),
    Own {
        plan: fn(&Path, HookEdit<'_>) -> Result<SettingsPlan>,
        examine: fn(&Path) -> Result<Hooks>,
    },
}

impl AgentSpec {
    pub fn abilities(&self) -> Abilities {
        Abilities {
            taken: self.taken,
            hook_timeout: self.hook_timeout,
        }
    }
}

/// Abilities of an agent with regard to hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Parts of an answer that the agent takes, by its own names of events. It waits for the hook before a tool call if it
    /// takes a decision there.
    pub taken: &'static [(&'static str, &'static [AnswerPart])],
    /// Time that the agent waits for a hook, in seconds, as setup writes it. It continues without the hook then.
    pub hook_timeout: u32,
}

impl Abilities {
    /// Returns the parts of an answer that the agent takes at one of its events.
    pub fn taken_at(&self, event: &str) -> &'static [AnswerPart] {
        let at = self.taken.iter().find(|(name, _)| *name == event);
        at.map_or(&[], |(_, parts)| parts)
    }
}

/// A setting that ends all hooks of an agent.
#[derive(Clone, Copy, Debug)]
pub struct OffSwitch {
    /// Its files, relative to a project.
    pub project: &'static [&'static str],
    /// Its files, relative to the home directory, or absolute.
    pub user: &'static [&'static str],
    /// Names of the setting, from the outermost object to the value.
    pub key: &'static [&'static str],
    pub off: OffValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffValue {
    True,
    False,
    /// A list of disabled hooks that names ours.
    NamesUs,
}

/// A file whose variables an agent hands to its hooks. One is looked for in a directory and all those above it.
#[derive(Clone, Copy, Debug)]
pub struct VariableFile {
    pub file: &'static str,
    pub form: VariableForm,
}

#[derive(Clone, Copy, Debug)]
pub enum VariableForm {
    /// Lines `NAME=value`.
    Dotenv,
    /// An object of names and values, below these keys.
    Object(&'static [&'static str]),
}
