//! Which tree belongs to which store: finding the workspace of a path, and its place in the user's
//! state directory.

use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::model::{ContentId, os_bytes};
use crate::scan::VCS;
use crate::store;

/// The file that marks a directory as a workspace.
const MARK: &str = ".backstitch.toml";

/// Where to look for a workspace.
#[derive(Clone, Copy, Debug)]
pub struct Locate<'a> {
    /// Named by the user; then nothing is looked for.
    pub workspace: Option<&'a Path>,
    /// Holds the stores of all workspaces, instead of the user's state directory.
    pub store_dir: Option<&'a Path>,
    pub cwd: &'a Path,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    pub root: PathBuf,
    pub store_dir: PathBuf,
}

impl Workspace {
    /// The workspace of a path: one that exists already and encloses it; else the nearest
    /// `.backstitch.toml`; else the outermost version-control root; else the directory itself. The root
    /// of the file system and the home directory only once they have been initialised.
    pub fn find(l: &Locate<'_>) -> Result<Self> {
        let from = l.workspace.unwrap_or(l.cwd);
        let from = from.canonicalize().at("open the workspace", from)?;
        if !from.is_dir() {
            return Err(Error::Usage(format!(
                "{} is not a directory",
                from.display()
            )));
        }
        let base = base(l)?;
        let at = |root: &Path| Self {
            root: root.to_path_buf(),
            store_dir: base.join(store_name(root)),
        };
        let exists = |w: &Self| w.store_dir.join("store.db").is_file();
        if l.workspace.is_some() {
            let here = at(&from);
            return if exists(&here) || !too_wide(&from) {
                Ok(here)
            } else {
                Err(refusal(&from))
            };
        }
        if let Some(known) = from.ancestors().map(at).find(exists) {
            return Ok(known);
        }
        let marked = from.ancestors().find(|dir| dir.join(MARK).is_file());
        let versioned = || {
            from.ancestors()
                .filter(|dir| !too_wide(dir))
                .filter(|dir| {
                    VCS.iter()
                        .any(|v| dir.join(crate::model::bytes_path(v)).exists())
                })
                .last()
        };
        let root = marked.or_else(versioned).unwrap_or(&from);
        if too_wide(root) {
            Err(refusal(root))
        } else {
            Ok(at(root))
        }
    }

    /// Makes a directory a workspace of its own, whatever encloses it.
    pub fn init(l: &Locate<'_>, dir: &Path) -> Result<Self> {
        let root = dir.canonicalize().at("open", dir)?;
        if !root.is_dir() {
            return Err(Error::Usage(format!(
                "{} is not a directory",
                root.display()
            )));
        }
        let store_dir = base(l)?.join(store_name(&root));
        store::make_private_dir(&store_dir)?;
        Ok(Self { root, store_dir })
    }
}

/// The user's state directory of Backstitch: `$XDG_STATE_HOME/backstitch`, or the platform's own place.
pub fn state_dir() -> Result<PathBuf> {
    let env = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let dir = env("XDG_STATE_HOME").or_else(|| {
        let home = env("HOME")?;
        Some(if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else {
            home.join(".local/state")
        })
    });
    dir.map(|d| d.join("backstitch")).ok_or_else(|| {
        Error::refused(
            "neither XDG_STATE_HOME nor HOME names a directory",
            "set HOME, or pass --store-dir",
        )
    })
}

fn base(l: &Locate<'_>) -> Result<PathBuf> {
    match l.store_dir {
        Some(dir) => std::path::absolute(dir).at("find", dir),
        None => Ok(state_dir()?.join("workspaces")),
    }
}

/// Readable, and different for every root.
fn store_name(root: &Path) -> String {
    let name: String = root
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '_'
            }
        })
        .take(48)
        .collect();
    let hash = ContentId::of(&os_bytes(root.as_os_str())).to_string();
    format!(
        "{}-{}",
        if name.is_empty() { "root" } else { &name },
        &hash[..16]
    )
}

fn too_wide(dir: &Path) -> bool {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = home.map(|h| h.canonicalize().unwrap_or(h));
    dir.parent().is_none() || home.as_deref() == Some(dir)
}

fn refusal(dir: &Path) -> Error {
    Error::refused(
        format!("{} is too wide to be a workspace by itself", dir.display()),
        "work in a directory below it, or run `backstitch init` there to insist",
    )
}
