//! Hooks of ours in a settings file, and edits of them. Pure.

use std::path::{Path, PathBuf};

/// Edit of the hooks in a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEdit<'a> {
    /// Every event gets a hook that runs this command. An older hook of ours is replaced in its place.
    Install {
        command: &'a str,
        /// True if a call does not run whose hook failed in any way.
        strict: bool,
    },
    /// The same in an empty file, for one that cannot be edited: its user adds the entries by hand.
    Entries {
        command: &'a str,
        strict: bool,
    },
    Uninstall,
}

/// A hook in a settings file that looks like one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEntry {
    pub event: String,
    /// Its command without the limit and the guard.
    pub command: String,
    /// The whole text that the agent runs.
    pub text: String,
    /// The program that it runs, if the text is exactly one that setup writes for any program.
    pub program: Option<PathBuf>,
    /// The matcher that has the agent run it for some calls alone.
    pub only_for: Option<String>,
}

/// Hooks of ours in a settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    pub entries: Vec<HookEntry>,
    /// Events whose hooks may hold a call, and do not know for how long: an older version wrote them.
    pub without_limit: Vec<&'static str>,
    /// True if another version of Backstitch wrote them, so that they may do less.
    pub outdated: bool,
    /// True if a call does not run whose hook was killed together with its shell.
    pub blocks_if_killed: bool,
}

impl Hooks {
    /// Returns the different commands, in the order of the file.
    pub fn commands(&self) -> Vec<&str> {
        let mut commands: Vec<&str> = Vec::new();
        for entry in &self.entries {
            if !commands.contains(&entry.command.as_str()) {
                commands.push(&entry.command);
            }
        }
        commands
    }

    /// True if a hook is run each time that this event happens.
    pub fn cover(&self, event: &str) -> bool {
        let mut all = self.entries.iter();
        all.any(|entry| entry.event == event && entry.only_for.is_none())
    }

    /// Returns the different texts of hooks that are not as setup writes them.
    pub fn altered(&self) -> Vec<&str> {
        let mut texts: Vec<&str> = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.program.is_none()) {
            if !texts.contains(&entry.text.as_str()) {
                texts.push(&entry.text);
            }
        }
        texts
    }

    /// Returns the different programs of the hooks that are exactly as setup writes them. A settings file of a stranger can
    /// have such hooks, too.
    pub fn programs(&self) -> Vec<&Path> {
        let mut programs: Vec<&Path> = Vec::new();
        for program in self
            .entries
            .iter()
            .filter_map(|entry| entry.program.as_deref())
        {
            if !programs.contains(&program) {
                programs.push(program);
            }
        }
        programs
    }
}
