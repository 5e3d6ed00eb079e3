//! Facts about a file beside its content and its permission bits: owner, group and extended attributes, which a file that
//! is replaced hands on, and the marks that prevent its replacement.

use std::fs::File;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::PathHandle;
use crate::raw_stat::{RawStat, stat_at, stat_open};
use crate::system::{attribute_names, copy_attributes};

/// Owner and group of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileOwner {
    pub uid: u32,
    pub gid: u32,
}

impl FileOwner {
    fn of(stat: &RawStat) -> Self {
        Self {
            uid: stat.uid,
            gid: stat.gid,
        }
    }
}

impl std::fmt::Display for FileOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.uid, self.gid)
    }
}

/// Reason why no other file can take the place of a file, or of a name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fixed {
    MountPoint,
    Immutable,
    AppendOnly,
    /// Entries of its directory cannot be changed.
    Directory,
    ReadOnlyFileSystem,
}

impl Fixed {
    /// Words that follow "cannot be restored: ".
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::MountPoint => "it is a mount point, which no other file can replace",
            Self::Immutable => "it is marked as immutable (chattr +i)",
            Self::AppendOnly => "it is marked as append-only (chattr +a)",
            Self::Directory => "its directory cannot be written to",
            Self::ReadOnlyFileSystem => "its file system is read-only",
        }
    }
}

impl PathHandle<'_> {
    fn raw_stat(&self) -> Option<RawStat> {
        stat_at(&self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    /// Number of names of the file; 0 if nothing is there.
    pub(crate) fn links(&self) -> u32 {
        self.raw_stat().map_or(0, |stat| stat.links)
    }

    /// Owner and group of what has this name.
    pub(crate) fn owner(&self) -> Option<FileOwner> {
        self.raw_stat().as_ref().map(FileOwner::of)
    }

    /// Returns the facts that a file written anew at another name would not have, in words. None: there are none.
    pub(crate) fn own_facts(&self) -> Option<String> {
        let owner = self.owner()?;
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        let is_other = (owner.uid, owner.gid) != (uid.as_raw(), gid.as_raw());
        let mut facts: Vec<String> = is_other
            .then(|| format!("owner and group {owner}"))
            .into_iter()
            .collect();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::openat(&self.dir, self.name, flags, Mode::empty()) {
            let names = attribute_names(&file.into());
            facts.extend((!names.is_empty()).then(|| names.join(", ")));
        }
        (!facts.is_empty()).then(|| facts.join("; "))
    }

    /// Returns the reason why no file can take or leave this name, as far as that can be told without a change.
    pub(crate) fn fixed(&self) -> Option<Fixed> {
        let marks = |stat: &RawStat| {
            if stat.is_mount_point {
                Some(Fixed::MountPoint)
            } else if stat.is_immutable {
                Some(Fixed::Immutable)
            } else if stat.is_append_only {
                Some(Fixed::AppendOnly)
            } else {
                None
            }
        };
        if let Some(found) = self.raw_stat().as_ref().and_then(marks) {
            return Some(found);
        }
        let above = stat_open(&self.dir).ok().as_ref().and_then(marks);
        if matches!(above, Some(Fixed::Immutable | Fixed::AppendOnly)) {
            return Some(Fixed::Directory);
        }
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        match rustix::fs::accessat(&self.dir, ".", access, AtFlags::EACCESS) {
            Err(Errno::ROFS) => Some(Fixed::ReadOnlyFileSystem),
            Err(Errno::ACCESS | Errno::PERM) => Some(Fixed::Directory),
            _ => None,
        }
    }

    /// True if the permission bits of the directory of this name do not let its entries be changed.
    pub(crate) fn is_closed(&self) -> bool {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        let found = rustix::fs::accessat(&self.dir, self.name, access, AtFlags::EACCESS);
        found == Err(Errno::ACCESS)
    }

    /// Gives a new file, or a link of this name, the owner, group and extended attributes of another file. Call it before
    /// the mode is set: a change of the owner clears bits of the mode. Returns what could not be given, and why.
    pub(super) fn hand_on(&self, new: Option<&File>, other: &PathHandle<'_>) -> Vec<String> {
        let mut lost = Vec::new();
        if let (Some(theirs), Some(own)) = (other.owner(), self.owner()) {
            lost.extend(self.give_to(theirs, own));
        }
        if let Some(new) = new {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            if let Ok(from) = rustix::fs::openat(&other.dir, other.name, flags, Mode::empty()) {
                lost.extend(copy_attributes(&from.into(), new));
            }
        }
        lost
    }

    /// Changes owner and group of this name, as far as they differ. Returns what could not be changed.
    pub(super) fn give_to(&self, wanted: FileOwner, own: FileOwner) -> Option<String> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let give = |uid: Option<u32>, gid: Option<u32>| {
            let (uid, gid) = (uid.map(Uid::from_raw), gid.map(Gid::from_raw));
            rustix::fs::chownat(&self.dir, self.name, uid, gid, flags)
        };
        let uid = (wanted.uid != own.uid).then_some(wanted.uid);
        let gid = (wanted.gid != own.gid).then_some(wanted.gid);
        if uid.is_none() && gid.is_none() {
            return None;
        }
        let error = give(uid, gid).err()?;
        // an ordinary user may give a file to a group of theirs
        let has_group = gid.is_none() || give(None, gid).is_ok();
        Some(match uid {
            Some(uid) if has_group => owner_lost(uid, error),
            Some(_) => format!(
                "owner not restored: it belonged to {wanted}: {}",
                std::io::Error::from(error)
            ),
            None => format!(
                "group not restored: it belonged to group {}: {}",
                wanted.gid,
                std::io::Error::from(error)
            ),
        })
    }
}

/// Words for an owner that a file does not get back.
pub(super) fn owner_lost(uid: u32, why: Errno) -> String {
    let why = std::io::Error::from(why);
    format!("owner not restored: it belonged to user {uid}: {why}")
}
