//! Whether a store can do its work where it is: its file system and that of the files, its room, its modes. Reads; mends nothing.

use std::path::{Path, PathBuf};

use crate::engine::{Engine, disk_use};
use crate::error::Result;
use crate::store;
use crate::workspace::Workspace;

/// With less than that free, a capture may fail at any moment.
const ROOM: u64 = 100 << 20;

/// What was found of a store's place. Nothing of it may exist yet.
#[derive(Clone, Debug)]
pub struct Health {
    pub dir: PathBuf,
    pub size: u64,
    /// Free for this user, in bytes; None: that cannot be told.
    pub free: Option<u64>,
    /// Over a network, or by a program: processes cannot share memory there.
    pub is_remote: bool,
    /// The same of the files that it is about.
    pub tree_is_remote: bool,
    /// What others may read or write, with its mode.
    pub open: Vec<(PathBuf, u32)>,
    /// Nobody can write there, this user neither.
    pub read_only: bool,
}

impl Health {
    pub fn is_nearly_full(&self) -> bool {
        self.free.is_some_and(|free| free < ROOM)
    }
}

/// Looks at the place where a workspace's store is, or would be.
pub fn of(workspace: &Workspace) -> Health {
    let dir = workspace.store_dir.clone();
    // what will hold it
    let there = dir.ancestors().find(|dir| dir.exists()).unwrap_or(&dir);
    let mut open = Vec::new();
    if dir.is_dir() {
        modes(&dir, &mut open);
    }
    Health {
        size: disk_use(&dir),
        free: free(there),
        is_remote: !store::migrate::shares_memory(there),
        tree_is_remote: !store::migrate::shares_memory(&workspace.root),
        read_only: !is_writable(there),
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

/// Files and directories that anybody but their owner may use.
#[cfg(unix)]
fn modes(dir: &Path, open: &mut Vec<(PathBuf, u32)>) {
    use std::os::unix::fs::PermissionsExt as _;
    let mut look = |path: &Path| {
        if let Ok(meta) = path.symlink_metadata() {
            let mode = meta.permissions().mode() & 0o777;
            if !meta.is_symlink() && mode & 0o077 != 0 {
                open.push((path.to_path_buf(), mode));
            }
        }
    };
    look(dir);
    let mut inner = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            inner.push(path);
        } else {
            look(&path);
        }
    }
    for dir in inner {
        modes(&dir, open);
    }
}

impl Engine {
    /// What SQLite finds wrong with the database; nothing where it is whole. Contents are `verify`'s.
    pub fn quick_check(&self) -> Result<Vec<String>> {
        let mut select = self.store.conn.prepare("PRAGMA quick_check(5)")?;
        let rows = select.query_map([], |r| r.get::<_, String>(0))?;
        let mut wrong = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        wrong.retain(|line| line != "ok");
        Ok(wrong)
    }
}
