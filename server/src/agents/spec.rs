//! The declaration of an agent: its facts. One constant an agent.

use super::answer::AnswerPart;
use super::edit_rules::EditTool;

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
