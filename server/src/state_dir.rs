//! Where this user's state lives. Owns the rule and nothing that is kept there.

use std::path::PathBuf;

/// `<state dir>/backstitch`: `$XDG_STATE_HOME` where it is absolute, else the platform's own place.
pub fn backstitch() -> Option<PathBuf> {
    base().map(|dir| dir.join("backstitch"))
}

/// The user's home directory.
pub fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|dir| dir.is_absolute())
}

fn base() -> Option<PathBuf> {
    let xdg = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute());
    xdg.or_else(|| {
        if cfg!(windows) {
            std::env::var_os("LOCALAPPDATA").map(PathBuf::from)
        } else if cfg!(target_os = "macos") {
            home().map(|dir| dir.join("Library/Application Support"))
        } else {
            home().map(|dir| dir.join(".local/state"))
        }
    })
}
