//! Whether a store can do its work where it is: its file system and that of the files, its room, its modes. Reads; mends nothing.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::config::{Config, Sources};
use crate::engine::{Engine, disk_use};
use crate::error::Result;
use crate::model::{RelPath, bytes_path, is_vcs, os_bytes};
use crate::store;
use crate::workspace::{MARK, Workspace};
use crate::worktree::disk::read_small;
use crate::worktree::ignore_rules::{self, Excludes, Excluding, Rules};

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

/// So many files are looked at to tell whether anything is left to record.
const FILES: usize = 1000;

/// The warning where the workspace's own file of settings excludes all that there is: a clone can bring such a file, and
/// then nothing is recorded without a word. None: something is recorded, or there is nothing.
pub fn nothing_recorded(workspace: &Workspace, config: &Config) -> Option<String> {
    let place = config.narrowed_by_workspace()?;
    let sources = Sources::of(workspace);
    let now = Excludes::read(&workspace.root, &sources);
    // as it would be without that file
    let user = Excludes {
        exclude: sources.exclude_of_user(config),
        limit: None,
        ..now.clone()
    };
    let (excluding, limit) = (Excluding::of(&now.exclude), config.max_file_size());
    let mut dirs = VecDeque::from([(Vec::new(), Rules::base(&user))]);
    let mut looked = 0;
    while let Some((dir, above)) = dirs.pop_front() {
        let mut text = |file: &RelPath| read_small(&workspace.root.join(file.to_path()), false);
        let rules = ignore_rules::own(&above, &dir, &mut text);
        let entries = std::fs::read_dir(workspace.root.join(bytes_path(&dir)));
        for entry in entries.into_iter().flatten().flatten() {
            let name = os_bytes(&entry.file_name());
            let is_ours = [ignore_rules::FILE, MARK.as_bytes()].contains(&name.as_slice());
            let path = match dir.as_slice() {
                b"" => RelPath::new(name.as_slice()),
                dir => RelPath::new([dir, b"/", name.as_slice()].concat()),
            };
            let (Some(path), Ok(kind)) = (path, entry.file_type()) else {
                continue;
            };
            if is_ours || is_vcs(&name) {
                continue;
            }
            if kind.is_dir() {
                let inside = rules.enter(path.bytes());
                dirs.extend(inside.map(|rules| (path.bytes().to_vec(), rules)));
                continue;
            }
            if rules.hides(path.bytes()) {
                continue;
            }
            looked += 1;
            let is_excluded = excluding.as_ref().is_some_and(|e| e.holds(&path));
            let is_large = || entry.metadata().is_ok_and(|meta| meta.len() > limit);
            if !is_excluded && !is_large() {
                return None;
            }
            if looked == FILES {
                dirs.clear();
                break;
            }
        }
    }
    (looked > 0).then(|| {
        format!(
            "{place}: this file of the workspace excludes everything: nothing of what agents do here is recorded, and \
             nothing can be rewound; take out its `capture` lines if you did not write them"
        )
    })
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
