//! Atomic creation of a directory: it is built under a temporary name and renamed at the end. A process that dies in
//! between leaves a note in the store. The next process finishes the fork if the history has it, and removes it
//! otherwise.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rustix::fs::{CWD, RenameFlags};

use super::target::ForkTarget;
use crate::error::{Context, Error, Result};
use crate::model::{ContentId, RootId, bytes_path, os_bytes};
use crate::store::tables::meta::{self, MetaKey};
use crate::store::tables::{branch, file, operation, root, stray};
use crate::store::{self, Durable, Lock, Store};
use crate::workspace::{self, Shares};
use crate::worktree::disk::TEMP_PREFIX;
use crate::worktree::file_state;

/// Directory of the notes. Each is a file, locked by the process that works on it.
const NOTES_DIR: &str = "forks";
/// Maximum time to wait for the process that is creating the current directory.
const OWN_FORK_WAIT: Duration = Duration::from_secs(10);
/// An incomplete note is deleted after this time.
const NOTE_LIFETIME: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(super) struct PendingFork {
    token: String,
    target: PathBuf,
    /// Outermost directory to create: the target, or a parent of it.
    top: PathBuf,
    /// Temporary path of `top`.
    temp: PathBuf,
    /// State of the target's own store before the fork.
    shared: Shares,
    note: PathBuf,
    _lock: Lock,
}

impl PendingFork {
    pub(super) fn begin(store: &Path, target: &ForkTarget, shared: Shares) -> Result<Self> {
        let dir = store.join(NOTES_DIR);
        store::make_private_dir(&dir)?;
        let seed = format!("{}-{}", store::now(), std::process::id());
        let token = ContentId::of(seed.as_bytes()).to_string()[..16].to_owned();
        let name = [TEMP_PREFIX, b"fork-", token.as_bytes()].concat();
        let temp = if target.exists {
            target.path.join(bytes_path(&name))
        } else {
            target.top.with_file_name(bytes_path(&name))
        };
        let note = dir.join(&token);
        // complete and locked before another process can find it
        let fresh = dir.join(format!("{token}.new"));
        let lock = store::lock(&fresh, true, Duration::ZERO)?
            .ok_or_else(|| Error::refused("another fork has just begun", "try again"))?;
        let text = [
            if shared == Shares::This { b"1" } else { b"0" }.to_vec(),
            os_bytes(temp.as_os_str()),
            os_bytes(target.top.as_os_str()),
            os_bytes(target.path.as_os_str()),
        ];
        let mut file = store::private_file(&fresh)
            .append(true)
            .open(&fresh)
            .at("open", &fresh)?;
        file.write_all(&text.join(&0))
            .and_then(|()| file.sync_all())
            .at("write", &fresh)?;
        std::fs::rename(&fresh, &note).at("rename", &fresh)?;
        let pending = Self {
            token,
            target: target.path.clone(),
            top: target.top.clone(),
            temp,
            shared,
            note,
            _lock: lock,
        };
        crate::fault::point("fork noted");
        let tree = pending.tree();
        if let Err(error) = std::fs::create_dir_all(&tree).at("make", &tree) {
            pending.remove(store);
            return Err(error);
        }
        crate::fault::point("fork begun");
        Ok(pending)
    }

    /// Reads a note that a process left. None: it was removed, or another process works on it.
    fn read_note(note: PathBuf, own: &Path) -> Result<Option<Self>> {
        let read = |note: &Path| {
            let text = std::fs::read(note).ok()?;
            let mut fields = text.split(|b| *b == 0);
            let shared = fields.next()? == b"1";
            let mut path = || fields.next().map(bytes_path);
            Some((shared, path()?, path()?, path()?))
        };
        let Some((.., target)) = read(&note) else {
            return Ok(None);
        };
        let wait = if target == own {
            OWN_FORK_WAIT
        } else {
            Duration::ZERO
        };
        let Some(lock) = store::lock_existing(&note, wait)? else {
            return Ok(None);
        };
        // it may have been finished meanwhile
        let Some((shared, temp, top, target)) = read(&note) else {
            return Ok(None);
        };
        let token = note.file_name().unwrap_or_default().to_string_lossy();
        Ok(Some(Self {
            token: token.into_owned(),
            target,
            top,
            temp,
            shared: if shared {
                Shares::This
            } else {
                Shares::Nothing
            },
            note,
            _lock: lock,
        }))
    }

    /// Temporary path of the target.
    pub(super) fn tree(&self) -> PathBuf {
        match self.target.strip_prefix(&self.top) {
            Ok(below) if !below.as_os_str().is_empty() => self.temp.join(below),
            _ => self.temp.clone(),
        }
    }

    fn meta_key(&self) -> MetaKey {
        MetaKey::Fork(self.token.clone())
    }

    /// Marks the fork as committed. Once this transaction commits, the directory will be finished.
    pub(super) fn commit(&self, conn: &Connection, root: RootId) -> Result<()> {
        meta::set(conn, &self.meta_key(), root)
    }

    fn committed(&self, conn: &Connection) -> Result<Option<RootId>> {
        meta::get(conn, &self.meta_key())
    }

    /// Moves the directory to its final path. On failure nothing of it stays.
    pub(super) fn finish(self, store: &Store) -> Result<()> {
        if let Err(error) = self.move_into_place() {
            self.undo(store)?;
            return Err(error);
        }
        crate::fault::point("fork in place");
        store.write(Durable::Process, |conn| {
            meta::remove(conn, &self.meta_key())
        })?;
        self.remove_note();
        Ok(())
    }

    fn move_into_place(&self) -> Result<()> {
        if !self.temp.is_dir() {
            return Ok(());
        }
        if self.temp.starts_with(&self.target) {
            // an existing empty directory keeps its identity
            for entry in std::fs::read_dir(&self.temp).at("read", &self.temp)? {
                let entry = entry.at("read", &self.temp)?;
                let to = self.target.join(entry.file_name());
                if to.symlink_metadata().is_err() {
                    rename_to_free(&entry.path(), &to)?;
                }
                crate::fault::point("fork entry in place");
            }
            // files created there by others meanwhile stay; ours are in the history
            std::fs::remove_dir_all(&self.temp).at("remove", &self.temp)?;
        } else {
            std::fs::rename(&self.temp, &self.top).map_err(|e| match e.kind() {
                std::io::ErrorKind::DirectoryNotEmpty | std::io::ErrorKind::NotADirectory => {
                    super::target::not_empty(&self.target)
                }
                _ => Error::Io {
                    what: format!("make {}", self.top.display()),
                    source: e,
                },
            })?;
        }
        let above = self.top.parent().unwrap_or(&self.top);
        // some file systems cannot sync directories; ignore that
        std::fs::File::open(above)
            .and_then(|dir| dir.sync_all())
            .ok();
        Ok(())
    }

    /// Undoes a fork after the commit.
    fn undo(self, store: &Store) -> Result<()> {
        store.write(Durable::Power, |conn| {
            if let Some(root) = self.committed(conn)? {
                forget_root(conn, root, &self.target)?;
            }
            meta::remove(conn, &self.meta_key())
        })?;
        self.remove(&store.dir);
        Ok(())
    }

    /// Removes what was written before the commit, and nothing else.
    pub(super) fn remove(self, store: &Path) {
        if self.shared == Shares::Nothing {
            workspace::unshare(&self.target, store);
        }
        let name = self.temp.file_name().unwrap_or_default();
        if os_bytes(name).starts_with(TEMP_PREFIX) {
            std::fs::remove_dir_all(&self.temp).ok();
        }
        if !self.temp.exists() {
            self.remove_note();
        }
    }

    fn remove_note(&self) {
        std::fs::remove_file(&self.note).ok();
        if let Some(dir) = self.note.parent() {
            std::fs::remove_dir(dir).ok();
        }
    }
}

fn rename_to_free(from: &Path, to: &Path) -> Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(_) => std::fs::rename(from, to).at("rename", from),
    }
}

/// Deletes a root that was never used, and its branch.
fn forget_root(conn: &Connection, root: RootId, path: &Path) -> Result<()> {
    let branch = root::branch(conn, root)?;
    file_state::remove_all(conn, root)?;
    file::delete_gone_of(conn, root)?;
    stray::delete_of(conn, root)?;
    root::delete(conn, root)?;
    root::return_path(conn, path)?;
    operation::roll_back_fork(conn, branch)?;
    branch::delete_unused(conn, branch)
}

/// Finishes or removes forks of processes that died. `own`: the current directory.
pub(crate) fn finish_left(store: &Store, own: &Path) -> Result<()> {
    let Ok(notes) = std::fs::read_dir(store.dir.join(NOTES_DIR)) else {
        return Ok(());
    };
    for note in notes.flatten().map(|entry| entry.path()) {
        if note.extension().is_some() {
            let old = |m: std::fs::Metadata| m.modified()?.elapsed().map_err(std::io::Error::other);
            if std::fs::metadata(&note)
                .and_then(old)
                .is_ok_and(|age| age > NOTE_LIFETIME)
            {
                std::fs::remove_file(&note).ok();
            }
            continue;
        }
        let Some(pending) = PendingFork::read_note(note, own)? else {
            continue;
        };
        if pending.committed(&store.conn)?.is_some() {
            // a fork that cannot be finished is removed, and does not concern this command
            pending.finish(store).ok();
        } else if pending.temp.exists() {
            pending.remove(&store.dir);
        } else {
            // not begun, or already finished
            pending.remove_note();
        }
    }
    Ok(())
}
