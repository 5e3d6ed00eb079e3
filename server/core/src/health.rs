//! Health of a store in its place: its file system and that of the files, its free space, its modes. Reads only;
//! repairs nothing.

use std::path::{Path, PathBuf};

use crate::engine::{Engine, disk_use};
use crate::error::Result;
use crate::store;
use crate::workspace::Workspace;

/// With less free space than this, a capture may fail at any moment.
const LOW_SPACE: u64 = 100 << 20;

/// Health of a store's place. Nothing of it may exist yet.
#[derive(Clone, Debug)]
pub struct Health {
    pub dir: PathBuf,
    pub size: u64,
    /// Free space for this user, in bytes; None: unknown.
    pub free: Option<u64>,
    /// True if it is on a network or served by a program: processes cannot share memory there.
    pub is_remote: bool,
    /// The same for the workspace's files.
    pub tree_is_remote: bool,
    /// Files and directories that others may read or write, with their modes.
    pub open: Vec<(PathBuf, u32)>,
    /// True if nobody can write there, including this user.
    pub read_only: bool,
}

impl Health {
    pub fn is_nearly_full(&self) -> bool {
        self.free.is_some_and(|free| free < LOW_SPACE)
    }
}

/// Checks the place where a workspace's store is, or would be.
pub fn of(workspace: &Workspace) -> Health {
    let dir = workspace.store_dir.clone();
    // the nearest existing directory
    let existing = dir.ancestors().find(|dir| dir.exists()).unwrap_or(&dir);
    let mut open = Vec::new();
    if dir.is_dir() {
        modes(&dir, &mut open);
    }
    Health {
        size: disk_use(&dir),
        free: free(existing),
        is_remote: !store::migrate::shares_memory(existing),
        tree_is_remote: !store::migrate::shares_memory(&workspace.root),
        read_only: !is_writable(existing),
        open,
        dir,
    }
}

#[cfg(unix)]
fn free(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

#[cfg(unix)]
fn is_writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Collects files and directories that others than their owner may use.
#[cfg(unix)]
fn modes(dir: &Path, open: &mut Vec<(PathBuf, u32)>) {
    use std::os::unix::fs::PermissionsExt as _;
    let mut check = |path: &Path| {
        if let Ok(meta) = path.symlink_metadata() {
            let mode = meta.permissions().mode() & 0o777;
            if !meta.is_symlink() && mode & 0o077 != 0 {
                open.push((path.to_path_buf(), mode));
            }
        }
    };
    check(dir);
    let mut subdirs = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            subdirs.push(path);
        } else {
            check(&path);
        }
    }
    for dir in subdirs {
        modes(&dir, open);
    }
}

impl Engine {
    /// Returns what SQLite finds wrong with the database; nothing if it is intact. `verify` checks the contents.
    pub fn quick_check(&self) -> Result<Vec<String>> {
        let mut select = self.store.conn.prepare("PRAGMA quick_check(5)")?;
        let rows = select.query_map([], |r| r.get::<_, String>(0))?;
        let mut wrong = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        wrong.retain(|line| line != "ok");
        Ok(wrong)
    }
}
