//! The environment of the user, which a run takes few variables from.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The environment of the user, taken once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    pub variables: Vec<(OsString, OsString)>,
}

impl Host {
    /// The environment of this process.
    pub fn of_process() -> Host {
        Host {
            variables: std::env::vars_os().collect(),
        }
    }

    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let named = |(key, _): &&(OsString, OsString)| key == name;
        let value = self.variables.iter().find(named);
        value
            .map(|(_, value)| value.as_os_str())
            .filter(|value| !value.is_empty())
    }

    /// Directory that a variable names, or its usual place below the home.
    pub fn directory(&self, name: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.get(name).map(PathBuf::from);
        named.or_else(|| self.home().map(|home| home.join(below_home)))
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// Absolute directories of PATH, each once. A relative one would be the workspace's own.
    pub fn path(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for dir in std::env::split_paths(self.get("PATH").unwrap_or_default()) {
            match dir.to_str() {
                Some(dir) if dir.starts_with('/') && !all.iter().any(|known| known == dir) => {
                    all.push(dir.to_owned());
                }
                _ => {}
            }
        }
        all
    }
}
