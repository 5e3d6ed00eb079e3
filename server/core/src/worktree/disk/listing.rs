//! Directories as a walk lists them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{DiskEntry, PathHandle, Stat};
use crate::content::LARGE;
use crate::error::{Context as _, Result};
use crate::model::bytes_path;
use crate::raw_stat::{stat_at, stat_open};
use crate::vcs::VcsFiles;

/// A directory listed by a walk: its entries, and its descriptor to read them.
pub(crate) struct DirListing {
    dir: OwnedFd,
    path: PathBuf,
    vcs: VcsFiles,
    /// Stat of the directory from before its names were read.
    pub before: Option<Stat>,
    pub entries: Vec<(Vec<u8>, FileType)>,
}

impl DirListing {
    pub(crate) fn read(path: &Path, vcs: VcsFiles) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty())?;
        // taken before the names are read: later changes have a later time
        let before = stat_open(&dir).ok().map(|stat| Stat::new(&stat));
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                entries.push((name.to_vec(), entry.file_type()));
            }
        }
        Ok(Self {
            dir,
            path: path.to_path_buf(),
            vcs,
            before,
            entries,
        })
    }

    /// Permission bits of the directory, if they are not the usual ones.
    pub(crate) fn odd_mode(&self, usual: u32) -> Option<u32> {
        let mode = self.before?.permissions();
        (mode != usual).then_some(mode)
    }

    pub(crate) fn stat(&self, name: &[u8]) -> Option<Stat> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        stat_at(&self.dir, name, flags).ok().map(|s| Stat::new(&s))
    }

    pub(crate) fn read_entry(&self, name: &[u8], limit: u64) -> Result<DiskEntry> {
        let shown = self.path.join(bytes_path(name));
        let dir = self.dir.try_clone().at("open the directory of", &shown)?;
        let place = PathHandle {
            dir,
            name,
            shown,
            vcs: self.vcs,
            forbidden: self.vcs.is_name(name),
        };
        place.read_entry_up_to(limit, LARGE)
    }
}
