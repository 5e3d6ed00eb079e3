//! Places on this machine: the user's directories, and the marks by which the root of a workspace is known.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::bytes_path;
use crate::vcs::TOPS;

/// File that marks a directory as a workspace, and holds its settings.
pub(crate) const MARK: &str = ".backstitch.toml";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    pub root: PathBuf,
    pub store_dir: PathBuf,
    /// True if the store belongs to another directory, from which this one was forked.
    pub shared: bool,
}

/// Returns Backstitch's state directory: `$XDG_STATE_HOME/backstitch`, or the platform's default.
pub fn state_dir() -> Result<PathBuf> {
    user_dir("XDG_STATE_HOME", ".local/state").ok_or_else(|| {
        Error::refused(
            "neither XDG_STATE_HOME nor HOME names a directory",
            Hint::NoHome,
        )
    })
}

/// Returns Backstitch's configuration directory: `$XDG_CONFIG_HOME/backstitch`, or the platform's default.
pub(crate) fn config_dir() -> Option<PathBuf> {
    user_dir("XDG_CONFIG_HOME", ".config")
}

/// The user's data of Backstitch: `$XDG_DATA_HOME/backstitch`, or the platform's own place.
pub fn data_dir() -> Option<PathBuf> {
    user_dir("XDG_DATA_HOME", ".local/share")
}

/// Returns Backstitch's directory in the one named by `variable`, else in `place` of the home directory.
fn user_dir(variable: &str, place: &str) -> Option<PathBuf> {
    let env = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let dir = env(variable).or_else(|| {
        let place = if cfg!(target_os = "macos") {
            "Library/Application Support"
        } else {
            place
        };
        Some(env("HOME")?.join(place))
    })?;
    Some(dir.join("backstitch"))
}

/// The directory of stores in the user's state directory.
pub(crate) fn user_stores() -> Result<PathBuf> {
    Ok(state_dir()?.join("workspaces"))
}

/// True if version control has its folder here.
pub(crate) fn is_versioned(dir: &Path) -> bool {
    TOPS.iter().any(|name| dir.join(bytes_path(name)).exists())
}

pub(crate) fn is_marked(dir: &Path) -> bool {
    is_versioned(dir) || dir.join(MARK).exists()
}

/// True if a place lies in a tree that may have been cloned. The home directory does not count: people keep their
/// own files there under version control.
pub(crate) fn is_in_a_clone(place: &Path) -> bool {
    let mut above = place.ancestors().filter(|dir| !too_wide(dir));
    above.any(is_marked)
}

pub(crate) fn too_wide(dir: &Path) -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = home.map(|h| h.canonicalize().unwrap_or(h));
    dir.parent().is_none() || home.as_deref() == Some(dir)
}
