//! Directories below a root: made with a file, removed once they are empty, and made durable.

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Root, exact};
use crate::error::{Context as _, Result};
use crate::model::RelPath;

impl Root {
    /// Permission bits of a directory, with no link on the way to it. None: there is none.
    pub(crate) fn dir_mode(&self, dir: &RelPath) -> Option<u32> {
        let stat = self.stat(dir)?;
        (stat.kind() == FileType::Directory).then(|| stat.permissions())
    }

    /// Makes a directory and those above it, or changes the permission bits of one that is there.
    pub(crate) fn make_dir(&self, dir: &RelPath, mode: u32) -> Result<()> {
        self.make_parents(dir)?;
        let Some(place) = self.place(dir)? else {
            return Ok(());
        };
        place.make_dir(mode)
    }

    /// Removes a directory and those in it, as far as they are empty.
    pub(crate) fn remove_empty_dirs(&self, dir: &RelPath) {
        if let Ok(Some(place)) = self.place(dir) {
            place.remove_empty();
        }
    }

    /// Removes a directory if it is empty. Returns false if it stays.
    pub(crate) fn remove_dir(&self, dir: &RelPath) -> bool {
        match self.place(dir) {
            Ok(Some(place)) => place.remove_dir(),
            _ => true,
        }
    }

    /// Makes the directories above `rel`; returns how many were made.
    pub(crate) fn make_parents(&self, rel: &RelPath) -> Result<u32> {
        let (dir, _) = rel.split();
        let shown = self.path.join(rel.to_path());
        self.may_change(rel)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = self
            .fd
            .as_fd()
            .try_clone_to_owned()
            .at("open", &self.path)?;
        let mut made = 0;
        for part in dir.split(|b| *b == b'/').filter(|p| !p.is_empty()) {
            let is_new = match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(e) => return Err(e).at("make the directory of", &shown),
            };
            at = exact::open_dir(&at, part, flags).at("open the directory of", &shown)?;
            if is_new {
                made += 1;
                self.disinherit(&at)
                    .at("set the mode of the directory of", &shown)?;
            }
        }
        Ok(made)
    }

    /// Takes the group bit from a new directory of a run, which has it from the directory above. A directory that had it
    /// gets it back by its own mode.
    fn disinherit(&self, dir: &OwnedFd) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(rustix::fs::fstat(dir)?.st_mode & 0o7777);
        if self.has_past_times() && mode.contains(Mode::SGID) {
            rustix::fs::fchmod(dir, mode - Mode::SGID)?;
        }
        Ok(())
    }

    /// Removes up to `count` directories above `rel`, innermost first, as long as they are empty.
    pub(crate) fn remove_parents(&self, rel: &RelPath, count: u32) {
        if self.vcs_dir(rel).is_some() {
            return;
        }
        let mut dir = rel.parent();
        for _ in 0..count {
            let Some(at) = dir else { return };
            let Ok(Some(place)) = self.place(&at) else {
                return;
            };
            if rustix::fs::unlinkat(&place.dir, place.name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
            dir = at.parent();
        }
    }

    /// Counts the directories above `rel` that do not exist.
    pub(crate) fn missing_parents(&self, rel: &RelPath) -> u32 {
        let mut missing = 0;
        let mut dir = rel.parent();
        while let Some(at) = dir {
            match self.dir(at.bytes()) {
                Ok(_) => break,
                Err(_) => missing += 1,
            }
            dir = at.parent();
        }
        missing
    }

    /// Makes changes durable in the directories of these paths. Does the same above each of the directories that were made or
    /// removed with a path, by their number. Each directory is synced once, after all changes: a sync between two changes
    /// of one directory would write each by itself.
    pub(crate) fn sync_parents<'p>(&self, changed: impl IntoIterator<Item = (&'p RelPath, u32)>) {
        let mut dirs: BTreeSet<Option<RelPath>> = BTreeSet::new();
        for (path, count) in changed {
            let mut at = path.parent();
            for _ in 0..=count {
                let above = at.as_ref().and_then(RelPath::parent);
                let is_root = at.is_none();
                dirs.insert(at);
                if is_root {
                    break;
                }
                at = above;
            }
        }
        for dir in dirs {
            if let Ok(dir) = self.dir(dir.as_ref().map_or(&b""[..], RelPath::bytes)) {
                // some file systems cannot sync directories; nothing better can be done there
                rustix::fs::fsync(dir).ok();
            }
        }
    }
}
