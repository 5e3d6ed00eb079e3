//! Which tree belongs to which store: finding the workspace of a path, and its place in the user's
//! state directory.

use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::model::{ContentId, bytes_path, os_bytes};
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
    /// The store is that of another directory, from which this one was forked.
    pub shared: bool,
}

/// In the place of a forked directory's own store: where its store is.
const SHARED: &str = "shared";

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
        let at = |root: &Path| Self::at(&base, root);
        if l.workspace.is_some() {
            let here = at(&from);
            return if here.exists() || !too_wide(&from) {
                Ok(here)
            } else {
                Err(refusal(&from))
            };
        }
        if let Some(known) = from.ancestors().map(at).find(Self::exists) {
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

    fn at(base: &Path, root: &Path) -> Self {
        let own = base.join(store_name(root));
        let shared = std::fs::read(own.join(SHARED)).ok();
        Self {
            root: root.to_path_buf(),
            shared: shared.is_some(),
            store_dir: shared.map_or(own, |other| bytes_path(&other)),
        }
    }

    fn exists(&self) -> bool {
        self.shared || self.store_dir.join("store.db").is_file()
    }

    /// The workspace that encloses a place, and has a store beside this one.
    pub(crate) fn enclosing(place: &Path, store_dir: &Path) -> Option<Self> {
        let base = store_dir.parent().unwrap_or(store_dir);
        let mut all = place.ancestors().skip(1).map(|dir| Self::at(base, dir));
        all.find(Self::exists)
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
        if store_dir.join(SHARED).is_file() {
            return Err(Error::refused(
                format!(
                    "{} is a workspace already, forked from another",
                    root.display()
                ),
                "`backstitch status` there says which",
            ));
        }
        store::make_private_dir(&store_dir)?;
        Ok(Self {
            root,
            store_dir,
            shared: false,
        })
    }
}

/// Whether a store is a directory's own, not that of the one it was forked from.
pub(crate) fn owns(root: &Path, store_dir: &Path) -> bool {
    store_dir.file_name() == Some(store_name(root).as_ref())
}

/// What stands in the place of a directory's own store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shares {
    Nothing,
    /// The way to this store.
    This,
}

/// Whether a directory may come to use this store: it has no history of its own.
pub(crate) fn may_share(root: &Path, store_dir: &Path) -> Result<Shares> {
    let own = own_dir(root, store_dir);
    let other = std::fs::read(own.join(SHARED)).ok();
    let this = other
        .as_ref()
        .map(|o| *o == os_bytes(store_dir.as_os_str()));
    if own.join("store.db").exists() || this == Some(false) {
        return Err(Error::refused(
            format!("{} has a history of its own", root.display()),
            format!("name another directory, or move {} aside", own.display()),
        ));
    }
    Ok(if this.is_some() {
        Shares::This
    } else {
        Shares::Nothing
    })
}

/// Has a directory use the store of another.
pub(crate) fn share(root: &Path, store_dir: &Path) -> Result<()> {
    if may_share(root, store_dir)? == Shares::This {
        return Ok(());
    }
    let own = own_dir(root, store_dir);
    store::make_private_dir(&own)?;
    let path = own.join(SHARED);
    store::private_file(&path)
        .create(true)
        .truncate(true)
        .write(true)
        .open(&path)
        .and_then(|mut file| {
            std::io::Write::write_all(&mut file, &os_bytes(store_dir.as_os_str()))?;
            file.sync_all()
        })
        .at("write", &path)
}

/// Takes that back.
pub(crate) fn unshare(root: &Path, store_dir: &Path) {
    let own = own_dir(root, store_dir);
    let ours = std::fs::read(own.join(SHARED)).ok();
    if ours.is_some_and(|ours| ours == os_bytes(store_dir.as_os_str())) {
        std::fs::remove_file(own.join(SHARED)).ok();
        std::fs::remove_dir(own).ok();
    }
}

/// The place of a directory's own store, beside this one.
fn own_dir(root: &Path, store_dir: &Path) -> PathBuf {
    let beside = store_dir.parent().unwrap_or(store_dir);
    beside.join(store_name(root))
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
