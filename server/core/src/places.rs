//! Places on this machine: the user's directories, and the marks by which the root of a workspace is known.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::bytes_path;
use crate::vcs::{TOPS, VcsFiles};

/// File in the configuration directory with the user's settings.
pub(crate) const USER_CONFIG: &str = "config.toml";
/// File that marks a directory as a workspace, and holds its settings.
pub(crate) const MARK: &str = ".backstitch.toml";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    pub root: PathBuf,
    pub store_dir: PathBuf,
    /// True if the store belongs to another directory, from which this one was forked.
    pub shared: bool,
    pub kind: WorkspaceKind,
}

/// Kinds of roots, by the files that a history has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// A directory of the user's, recorded as its settings say, without the files of version control.
    #[default]
    Project,
    /// The files of a CI job's run: all of them are recorded. No settings of the user apply.
    Run,
}

/// A directory of the user's: the variable that names another place, and its usual place in the home directory.
#[derive(Clone, Copy, Debug)]
struct UserPlace {
    variable: &'static str,
    usual: &'static str,
}

const STATE: UserPlace = UserPlace {
    variable: "XDG_STATE_HOME",
    usual: ".local/state",
};
const CONFIG: UserPlace = UserPlace {
    variable: "XDG_CONFIG_HOME",
    usual: ".config",
};

impl VcsFiles {
    /// True if the directory of this path is a linked worktree, which is a separate workspace.
    pub fn is_worktree(self, dir: &Path) -> bool {
        self.are_apart() && is_linked_worktree(dir)
    }
}

/// Returns Backstitch's state directory: `$XDG_STATE_HOME/backstitch`, or the platform's default.
pub fn state_dir() -> Result<PathBuf> {
    user_dir(STATE.variable, STATE.usual).ok_or_else(|| {
        Error::refused(
            "neither XDG_STATE_HOME nor HOME names a directory",
            Hint::NoHome,
        )
    })
}

/// Returns the directory of the runs of CI jobs.
pub fn jobs_dir() -> Result<PathBuf> {
    Ok(state_dir()?.join("jobs"))
}

/// Returns Backstitch's configuration directory: `$XDG_CONFIG_HOME/backstitch`, or the platform's default.
pub(crate) fn config_dir() -> Option<PathBuf> {
    user_dir(CONFIG.variable, CONFIG.usual)
}

/// Returns the path of the user's own settings.
pub fn user_config() -> Option<PathBuf> {
    Some(config_dir()?.join(USER_CONFIG))
}

/// Returns the configuration directory, if it is the user's own. Err: a project may have brought it, for an agent hands
/// a project's variables to its hooks.
pub(crate) fn own_config_dir(root: &Path) -> std::result::Result<Option<PathBuf>, PathBuf> {
    match config_dir() {
        Some(dir) if CONFIG.is_brought(&dir, root) => Err(dir),
        dir => Ok(dir),
    }
}

/// Refuses a state directory that a project may have brought, with its key and its stores.
pub(crate) fn check_state_dir(root: &Path) -> Result<()> {
    let Ok(dir) = state_dir() else {
        return Ok(());
    };
    if !STATE.is_brought(&dir, root) {
        return Ok(());
    }
    Err(Error::refused(
        format!(
            "the state directory {} lies in a project: {} may be a project's own, so the histories and the key there are \
             not used",
            dir.display(),
            STATE.variable
        ),
        "name a directory outside of all projects, or unset the variable; `store.dir` in your own config.toml keeps \
         histories elsewhere",
    ))
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

impl UserPlace {
    /// True if this directory may have come with a project: it lies in the workspace at `root`, or in a tree that may
    /// be cloned. Its usual place in the user's home directory is the user's, even where that is a workspace.
    fn is_brought(self, dir: &Path, root: &Path) -> bool {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let home = home.filter(|home| dir == home.join(self.usual).join("backstitch"));
        // a hook asks at each event: the usual place takes the fewest looks
        if home
            .as_deref()
            .is_some_and(|home| !home.starts_with(root) && !is_in_a_clone(home))
        {
            return false;
        }
        let (place, root) = (resolved(dir), resolved(root));
        // the home directory may be a workspace, and is not a clone
        let is_wide = too_wide(&root);
        let is_inside = |place: &Path| !is_wide && place.starts_with(&root) || is_in_a_clone(place);
        let is_users = |home: &Path| !is_inside(&resolved(home)) || is_home_of_user(home);
        is_inside(&place) && !home.as_deref().is_some_and(is_users)
    }
}

/// Returns a path without links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| {
        let real = above.canonicalize().ok()?;
        Some(real.join(path.strip_prefix(above).ok()?))
    });
    found.unwrap_or_else(|| path.to_path_buf())
}

/// True unless the system knows another home directory of this user: `HOME` may be a project's own, too.
fn is_home_of_user(home: &Path) -> bool {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let id = rustix::process::geteuid().as_raw().to_string();
    let known = users.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        (fields.next()? == id).then(|| fields.nth(2))?
    });
    known.is_none_or(|known| Path::new(known) == home)
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
    let home = resolved_home();
    let mut above = place
        .ancestors()
        .filter(|dir| !is_wide(dir, home.as_deref()));
    above.any(is_marked)
}

/// True if the directory is a worktree that git has linked to a repository elsewhere: its own workspace, also inside
/// another one.
pub fn is_linked_worktree(dir: &Path) -> bool {
    crate::system::read_small(&dir.join(".git"), false).is_some_and(|text| names_worktree(&text))
}

/// True for the text of the file `.git` of a linked worktree: it names a directory in the `worktrees` of a repository. A
/// submodule's names one in its `modules`.
pub(crate) fn names_worktree(text: &[u8]) -> bool {
    let Some(path) = text.strip_prefix(b"gitdir: ") else {
        return false;
    };
    let path = bytes_path(path.trim_ascii_end());
    path.parent().and_then(Path::file_name) == Some("worktrees".as_ref())
}

pub(crate) fn too_wide(dir: &Path) -> bool {
    is_wide(dir, resolved_home().as_deref())
}

fn is_wide(dir: &Path, home: Option<&Path>) -> bool {
    dir.parent().is_none() || home == Some(dir)
}

/// Returns the home directory without links. Looking for it takes a system call for each of its parts.
fn resolved_home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from)?;
    Some(home.canonicalize().unwrap_or(home))
}
