//! Places on this machine: the home directory, and programs on the path.

use std::path::PathBuf;

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
