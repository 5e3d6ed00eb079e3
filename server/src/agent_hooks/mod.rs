//! Hooks of ours in the settings of agents: the settings files, the hooks in them, and the program that they run. Shared
//! by `setup`, which adds and repairs hooks, and `doctor`, which checks them.

pub mod claude_code;
pub mod program;

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use crate::agents;
use crate::settings_file::JsonSettings;

/// Returns the agents on this machine, with the path by which each was found.
pub fn found() -> Vec<(&'static str, String)> {
    let directory = claude_dir()
        .filter(|dir| dir.is_dir())
        .map(|dir| dir.display().to_string());
    let program = || on_path("claude").map(|file| file.display().to_string());
    directory
        .or_else(program)
        .map(|path| (agents::claude_code::NAME, path))
        .into_iter()
        .collect()
}

/// Returns the possible files of Claude Code's settings: the user's and a project's.
pub fn settings_of_claude_code(project: &Path) -> Vec<PathBuf> {
    settings_of_user()
        .into_iter()
        .chain(settings_of_project(project))
        .collect()
}

/// Returns the file of the user's own settings of Claude Code.
pub fn settings_of_user() -> Option<PathBuf> {
    Some(claude_dir()?.join("settings.json"))
}

/// Returns the possible files of a project's settings of Claude Code.
pub fn settings_of_project(project: &Path) -> Vec<PathBuf> {
    let own = ["settings.json", "settings.local.json"];
    own.map(|name| project.join(".claude").join(name)).into()
}

/// Returns the path of Claude Code's program.
pub fn claude_on_path() -> Option<PathBuf> {
    on_path("claude")
}

/// Returns the events and commands of the Backstitch hooks in a settings file.
pub fn hooks_in(path: &Path) -> Result<Vec<(String, String)>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    Ok(claude_code::ours(&JsonSettings::read(path)?.value))
}

/// True if a settings file disables all hooks.
pub fn hooks_disabled(path: &Path) -> bool {
    let settings = path.exists().then(|| JsonSettings::read(path));
    settings.is_some_and(|read| {
        read.is_ok_and(|settings| settings.value["disableAllHooks"] == Value::Bool(true))
    })
}

/// Returns the directory of the user's settings of Claude Code.
pub fn claude_dir() -> Option<PathBuf> {
    let named = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|dir| !dir.is_empty());
    named
        .map(PathBuf::from)
        .or_else(|| home().map(|home| home.join(".claude")))
}

/// Returns the user's home directory.
pub fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|dir| dir.is_absolute())
}

/// Returns the path of a program.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(&name))
        .find(|file| file.is_file())
}
