//! The workspaces in which a breakpoint is armed: a directory with a file for each, in the user's state directory. A hook looks
//! for it with one `stat`, so that a call which reaches into another workspace meets the breakpoints there. It can name too
//! much: the file `armed` of a workspace decides.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::armed::{self, Armed};
use backstitch_core::sqlite::private_file;
use backstitch_core::{Context, Error, Result};
use backstitch_core::{Workspace, WorkspaceKind, state_dir};

const NAME: &str = "armed";
/// Workspaces that are looked at for one call.
const MAX_WORKSPACES: usize = 256;

/// A workspace in which a breakpoint is armed.
#[derive(Debug, Serialize, Deserialize)]
struct ArmedPlace {
    root: PathBuf,
    store_dir: PathBuf,
}

fn dir() -> Result<PathBuf> {
    Ok(state_dir()?.join(NAME))
}

/// The file of a workspace. Its name is made of the root and the store.
fn file_of(workspace: &Workspace) -> Result<PathBuf> {
    let mut hash = blake3::Hasher::new();
    hash.update(workspace.root.as_os_str().as_encoded_bytes());
    hash.update(&[0]);
    hash.update(workspace.store_dir.as_os_str().as_encoded_bytes());
    let name = hash.finalize().to_hex();
    Ok(dir()?.join(&name[..32]))
}

/// True if a workspace is in the index.
pub(super) fn is_noted(workspace: &Workspace) -> bool {
    file_of(workspace).is_ok_and(|file| file.exists())
}

/// Notes that breakpoints are armed in a workspace, or that none is.
pub(super) fn note(workspace: &Workspace, is_armed: bool) -> Result<()> {
    let file = file_of(workspace)?;
    if !is_armed {
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).at("remove", &file);
            }
            _ => {}
        }
        // only an empty one goes
        let _ = std::fs::remove_dir(dir()?);
        return Ok(());
    }
    if file.exists() {
        return Ok(());
    }
    let (Some(root), Some(store_dir)) = (workspace.root.to_str(), workspace.store_dir.to_str())
    else {
        return Ok(());
    };
    let dir = dir()?;
    std::fs::create_dir_all(&dir).at("create", &dir)?;
    let entry = ArmedPlace {
        root: root.into(),
        store_dir: store_dir.into(),
    };
    let text = backstitch_core::sqlite::to_json(&entry)?;
    let new = file.with_extension("new");
    let mut open = private_file(&new)
        .create(true)
        .write(true)
        .truncate(true)
        .open(&new)
        .at("write", &new)?;
    std::io::Write::write_all(&mut open, text.as_bytes()).at("write", &new)?;
    std::fs::rename(&new, &file).at("replace", &file)
}

/// Returns what is armed in a workspace, as its file says. None: nothing is. Err: the file cannot be read, or it is gone
/// although the index has the workspace. The rows decide then.
pub fn armed_at(workspace: &Workspace) -> Option<Result<Armed>> {
    match Armed::read(&workspace.store_dir).transpose() {
        // a store that is gone is made again by the recording of this event, and looked at with the next one
        None if workspace.store_dir.is_dir() && is_noted(workspace) => Some(Err(Error::Damaged {
            path: armed::path(&workspace.store_dir),
            reason: "it was removed".to_owned(),
        })),
        read => read,
    }
}

/// Returns the other workspaces in which something is armed. Nothing is read where no workspace has a breakpoint.
pub fn armed_elsewhere(own: &Workspace) -> Vec<(Workspace, Result<Armed>)> {
    let Ok(entries) = dir().and_then(|dir| std::fs::read_dir(&dir).at("read", &dir)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for file in entries.flatten().take(MAX_WORKSPACES) {
        let read = std::fs::read(file.path()).ok();
        let entry = read.and_then(|text| serde_json::from_slice::<ArmedPlace>(&text).ok());
        let Some(entry) = entry else { continue };
        if entry.store_dir == own.store_dir || entry.root == own.root {
            continue;
        }
        match Armed::read(&entry.store_dir) {
            // its store is gone, or it was written by an older version
            Ok(None) => drop(forget(&file.path(), &entry.store_dir)),
            Ok(Some(armed)) if armed.breakpoints.is_empty() && !armed.pauses => {}
            armed => {
                let workspace = Workspace {
                    root: entry.root,
                    store_dir: entry.store_dir,
                    shared: false,
                    kind: WorkspaceKind::Project,
                };
                found.push((workspace, armed.map(Option::unwrap_or_default)));
            }
        }
    }
    found
}

/// Removes the entry of a store that is not there.
fn forget(entry: &Path, store_dir: &Path) -> std::io::Result<()> {
    if armed::path(store_dir).exists() || store_dir.exists() {
        return Ok(());
    }
    std::fs::remove_file(entry)
}
