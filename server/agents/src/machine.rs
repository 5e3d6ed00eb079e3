//! Places on this machine: the home directory, and programs on the search path.

use std::path::PathBuf;

pub use backstitch_core::launch::on_path;

/// Directory in which a program of an agent is started for a question of ours: programs load files of the current directory
/// that can have code, such as `bunfig.toml` and `.env`, and the current one may be a stranger's.
pub fn neutral_dir() -> PathBuf {
    home()
        .filter(|home| home.is_dir())
        .unwrap_or_else(|| PathBuf::from("/"))
}

/// Returns the user's home directory.
pub fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|dir| dir.is_absolute())
}
