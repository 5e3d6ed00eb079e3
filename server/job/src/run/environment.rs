//! The variables of a step's program.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::state::{EnvVariables, JobState};
use crate::step::command_files::CommandFiles;

/// Variables in layers; a later one wins.
pub(super) struct Layers<'a> {
    /// Those of the place.
    pub base: &'a [(String, String)],
    pub state: &'a JobState,
    /// Variables of `env` at the step: those of the state, and the step's.
    pub env: &'a EnvVariables,
    /// `GITHUB_…` and `RUNNER_…`.
    pub facts: &'a [(String, String)],
    /// `INPUT_…`, `STATE_…`, `GITHUB_ACTION` and the like.
    pub own: &'a [(String, String)],
    pub files: &'a CommandFiles,
}

impl Layers<'_> {
    /// All variables, with PATH in its final form.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut all: BTreeMap<&str, OsString> = BTreeMap::new();
        for (name, value) in self.base {
            all.insert(name, value.into());
        }
        for (name, value) in self.env.iter() {
            all.insert(name, value.into());
        }
        for (name, value) in self.facts.iter().chain(self.own) {
            all.insert(name, value.into());
        }
        for (name, file) in self.files.variables() {
            all.insert(name, file.as_os_str().to_owned());
        }
        all.insert("PATH", self.path().into());
        let set = all
            .into_iter()
            .filter(|(name, _)| !name.is_empty() && !name.contains('='));
        set.map(|(name, value)| (name.into(), value)).collect()
    }

    /// PATH: the newest directory of the job first.
    pub fn path(&self) -> String {
        let base = self.base.iter().rfind(|(name, _)| name == "PATH");
        let own = self.env.get("PATH");
        let rest = own.or(base.map(|(_, value)| value.as_str())).unwrap_or("");
        let front = self.state.path.iter().rev().map(String::as_str);
        let all: Vec<&str> = front
            .chain([rest])
            .filter(|part| !part.is_empty())
            .collect();
        all.join(":")
    }
}
