//! Health of a store in its place: its file system and that of the files, its free space, its modes. Reads only;
//! repairs nothing.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::config::{Config, Sources};
use crate::engine::{Engine, disk_use};
use crate::error::Result;
use crate::model::{RelPath, bytes_path, os_bytes};
use crate::places::{MARK, Workspace};
use crate::store;
use crate::system::read_small;
use crate::vcs::is_vcs_name;
use crate::worktree::ignore_rules::{self, ExcludePatterns, Excludes, Rules};

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

/// So many files are looked at to tell whether anything is left to record.
const FILES: usize = 1000;

/// The warning where nothing is recorded: a setting turns it off, or the workspace's own file of settings excludes all
/// that there is. A clone can bring such a file, and then nothing is recorded without a word. None: something is
/// recorded, or there is nothing.
pub fn nothing_recorded(workspace: &Workspace, config: &Config) -> Option<String> {
    if let Some(place) = config.turned_off_at() {
        return Some(format!(
            "{place}: recording is off: `checkpoints.automatic` is false, so that agents' work is not recorded and \
             cannot be rewound; `backstitch checkpoint` still records the current state"
        ));
    }
    let place = config.narrowed_at()?;
    let sources = Sources::of(workspace);
    let now = Excludes::read(&workspace.root, &sources);
    // as it would be without that file
    let user = Excludes {
        exclude: sources.exclude_of_user(config),
        limit: None,
        ..now.clone()
    };
    let (excluding, limit) = (ExcludePatterns::of(&now.exclude), config.max_file_size());
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
            if is_ours || is_vcs_name(&name) {
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
            "{place} excludes everything: nothing of what agents do here is recorded, and nothing can be rewound. Remove \
             its `capture` lines if you did not write them"
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
