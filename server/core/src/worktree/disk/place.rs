//! One name in a directory: what is there, and the few ways of changing it.

use std::io::{Read as _, Seek as _, Write as _};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use super::{DiskEntry, PathHandle, Stat, TEMP_PREFIX, forbidden, stat_in};
use crate::config::MOST;
use crate::content::LARGE;
use crate::error::{Context as _, Result};
use crate::model::{ContentId, Image, Opaque, bytes_path};
use crate::raw_stat::{self, stat_at};

/// Passes a content to a consumer, in one part or several.
pub(crate) type Content<'a> = &'a dyn Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;

/// A file or link that was just created.
#[derive(Debug, Default)]
pub(crate) struct CreatedFile {
    /// None for a link, and if the image has no content.
    pub file: Option<std::fs::File>,
    /// Owner and attributes that it should have and could not be given, with the reasons.
    pub lost: Vec<String>,
}

impl PathHandle<'_> {
    /// Checks that the name may be changed.
    pub(crate) fn may_change(&self) -> Result<()> {
        if self.forbidden {
            Err(forbidden(&self.shown))
        } else {
            Ok(())
        }
    }

    /// True if the directory lists exactly this name, or nothing is there.
    pub(super) fn has_exact_name(&self) -> bool {
        super::exact::is_exact(&self.dir, self.name)
    }

    pub(super) fn stat(&self) -> Result<Stat, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        stat_at(&self.dir, self.name, flags).map(|s| Stat::new(&s))
    }

    /// Reads the path without the configured size limit.
    pub(crate) fn read_entry(&self) -> Result<DiskEntry> {
        self.read_entry_up_to(MOST, LARGE)
    }

    pub(super) fn read_entry_up_to(&self, limit: u64, held: u64) -> Result<DiskEntry> {
        // a file that changes while it is read is read again; after five tries the last result counts
        let mut last = None;
        for _ in 0..5 {
            let stat = match self.stat() {
                Ok(stat) => stat,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => {
                    return Ok(DiskEntry::ABSENT);
                }
                Err(e) => return Err(e).at("check", &self.shown),
            };
            let entry = self.read(stat, limit, held);
            match self.stat() {
                Ok(after)
                    if Stat {
                        racy: true,
                        ..after
                    } == Stat { racy: true, ..stat } =>
                {
                    return Ok(entry);
                }
                _ => last = Some(entry),
            }
        }
        Ok(last.map_or(DiskEntry::ABSENT, |mut entry| {
            if let Some(stat) = &mut entry.stat {
                stat.racy = true;
            }
            entry
        }))
    }

    fn read(&self, stat: Stat, limit: u64, held: u64) -> DiskEntry {
        let opaque = |why| DiskEntry {
            image: Image::Opaque(why),
            stat: Some(stat),
            bytes: None,
            is_dir: false,
        };
        match stat.kind() {
            FileType::Directory => DiskEntry {
                is_dir: true,
                stat: Some(stat),
                ..DiskEntry::ABSENT
            },
            FileType::Symlink => match rustix::fs::readlinkat(&self.dir, self.name, Vec::new()) {
                Ok(target) => {
                    let bytes = target.into_bytes();
                    DiskEntry {
                        image: Image::Symlink {
                            content: ContentId::of(&bytes),
                        },
                        stat: Some(stat),
                        bytes: Some(bytes),
                        is_dir: false,
                    }
                }
                Err(Errno::NOENT | Errno::INVAL) => DiskEntry::ABSENT,
                Err(_) => opaque(Opaque::Unreadable),
            },
            FileType::RegularFile if u64::try_from(stat.size).unwrap_or(0) > limit => {
                opaque(Opaque::TooLarge)
            }
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                match rustix::fs::openat(&self.dir, self.name, flags, Mode::empty()) {
                    Ok(fd) => read_whole(fd.into(), stat, limit, held),
                    Err(Errno::NOENT | Errno::LOOP) => DiskEntry::ABSENT,
                    Err(_) => opaque(Opaque::Unreadable),
                }
            }
            _ => opaque(Opaque::Special),
        }
    }

    /// Writes a new file or link of this name; it must not exist. The content is durable afterwards. Owner, group and
    /// extended attributes are those of `replaced`; returns what could not be given to it.
    pub(crate) fn create(
        &self,
        image: &Image,
        content: Content<'_>,
        replaced: Option<&PathHandle<'_>>,
    ) -> Result<Vec<String>> {
        let created = self.create_unsynced(image, content, None, replaced)?;
        if let Some(file) = created.file {
            file.sync_all().at("sync", &self.shown)?;
        }
        Ok(created.lost)
    }

    /// As `create`, but not durable until the file system is synced. `like` is a file that probably has the same
    /// bytes; its blocks are shared if the file system can do so.
    pub(crate) fn create_unsynced(
        &self,
        image: &Image,
        content: Content<'_>,
        like: Option<&PathHandle<'_>>,
        replaced: Option<&PathHandle<'_>>,
    ) -> Result<CreatedFile> {
        self.may_change()?;
        let hand_on = |file: Option<&std::fs::File>| {
            replaced.map_or_else(Vec::new, |replaced| self.hand_on(file, replaced))
        };
        match image {
            Image::Symlink { .. } => {
                let mut target = Vec::new();
                content(&mut |bytes| {
                    target.extend_from_slice(bytes);
                    Ok(())
                })?;
                rustix::fs::symlinkat(bytes_path(&target), &self.dir, self.name)
                    .at("link", &self.shown)?;
                Ok(CreatedFile {
                    file: None,
                    lost: hand_on(None),
                })
            }
            Image::File {
                mode, content: id, ..
            } => {
                let flags = OFlags::RDWR
                    | OFlags::CREATE
                    | OFlags::EXCL
                    | OFlags::NOFOLLOW
                    | OFlags::CLOEXEC;
                let fd =
                    rustix::fs::openat(&self.dir, self.name, flags, raw_stat::permissions(0o600))
                        .at("create", &self.shown)?;
                let mut file = std::fs::File::from(fd);
                if !like.is_some_and(|like| shares(&mut file, like, id)) {
                    file.set_len(0)
                        .and_then(|()| file.rewind())
                        .at("write", &self.shown)?;
                    let written =
                        content(&mut |bytes| file.write_all(bytes).at("write", &self.shown));
                    // a failed write leaves no partial file
                    written.inspect_err(|_| drop(self.remove()))?;
                }
                crate::fault::point("content written");
                let lost = hand_on(Some(&file));
                rustix::fs::fchmod(&file, raw_stat::permissions(*mode))
                    .at("set the mode of", &self.shown)?;
                Ok(CreatedFile {
                    file: Some(file),
                    lost,
                })
            }
            Image::Absent | Image::InGit { .. } | Image::Opaque(_) => Ok(CreatedFile::default()),
        }
    }

    /// Makes a new file of this name with the content of another file of any size; it must not exist. None, and no
    /// file: the other file no longer has the stat `expected`, or changes meanwhile.
    pub(crate) fn copy_unsynced(
        &self,
        other: &PathHandle<'_>,
        expected: &Stat,
    ) -> Result<Option<std::fs::File>> {
        self.may_change()?;
        let unchanged = || {
            let now = other.stat();
            now.is_ok_and(|now| now.kind() == FileType::RegularFile && expected.is_that_of(&now))
        };
        let (Some(mut from), true) = (other.open(), unchanged()) else {
            return Ok(None);
        };
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let to = rustix::fs::openat(&self.dir, self.name, flags, raw_stat::permissions(0o600))
            .at("create", &self.shown)?;
        let mut to = std::fs::File::from(to);
        if !clones(&to, &from) {
            std::io::copy(&mut from, &mut to).at("write", &self.shown)?;
        }
        if !unchanged() {
            self.remove()?;
            return Ok(None);
        }
        self.hand_on(Some(&to), other);
        let mode = u32::try_from(expected.mode).unwrap_or(0o644) & 0o7777;
        rustix::fs::fchmod(&to, raw_stat::permissions(mode)).at("set the mode of", &self.shown)?;
        Ok(Some(to))
    }

    /// Opens the regular file of this name for reading.
    pub(super) fn open(&self) -> Option<std::fs::File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.dir, self.name, flags, Mode::empty()).ok()?;
        let file = std::fs::File::from(fd);
        file.metadata().is_ok_and(|m| m.is_file()).then_some(file)
    }

    pub(crate) fn remove(&self) -> Result<()> {
        self.may_change()?;
        match rustix::fs::unlinkat(&self.dir, self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e).at("remove", &self.shown),
        }
    }

    /// Returns a handle to another name in the same directory.
    pub(crate) fn sibling<'n>(&self, name: &'n [u8]) -> Result<PathHandle<'n>> {
        let dir = self
            .dir
            .try_clone()
            .at("open the directory of", &self.shown)?;
        Ok(PathHandle {
            dir,
            name,
            shown: self.shown.with_file_name(bytes_path(name)),
            vcs: self.vcs,
            forbidden: self.forbidden || self.vcs.is_name(name),
        })
    }

    /// Swaps a temporary name (`self`) and another, in one step if the file system can do so. Otherwise the other is
    /// absent for a moment and is under `aside`, a third temporary name that is free. If the process dies then,
    /// `mend` finishes the swap.
    pub(crate) fn exchange(&self, other: &PathHandle<'_>, aside: &PathHandle<'_>) -> Result<()> {
        self.may_change()?;
        other.may_change()?;
        // in this direction watchers see the other name deleted, then created; in the opposite one they see it
        // created, then deleted, and an editor takes the file for deleted, or misses the change
        match other.rename_with(self, RenameFlags::EXCHANGE) {
            Err(e) if unsupported(e) => {}
            done => return done.at("exchange", &self.shown),
        }
        if aside.exists() {
            return Err(Errno::EXIST).at("move aside", &other.shown);
        }
        other.rename(aside).at("move aside", &other.shown)?;
        crate::fault::point("moved aside");
        if !self.rename_to_free(other)? {
            // another writer has just made a file there: it stays
            return Err(Errno::EXIST).at("exchange", &other.shown);
        }
        crate::fault::point("put in place");
        aside.rename(self).at("rename", &aside.shown)
    }

    /// Completes or rolls back a multi-step exchange that was interrupted.
    pub(crate) fn mend(&self, other: &PathHandle<'_>, aside: &PathHandle<'_>) -> Result<()> {
        if !aside.exists() {
            return Ok(());
        }
        self.may_change()?;
        other.may_change()?;
        let current = other.read_entry()?;
        if current.image.is_absent() && !current.is_dir {
            aside.rename_to_free(other)?;
            return Ok(());
        }
        let own_image = self.read_entry()?.image;
        if current.image == aside.read_entry()?.image {
            return aside.remove();
        }
        if own_image == current.image {
            self.remove()?;
        } else if !own_image.is_absent() {
            return Ok(());
        }
        aside.rename(self).at("rename", &aside.shown)
    }

    /// Renames this file to a name that must be free. `false`: the name is taken, or this file is gone.
    pub(crate) fn rename_to_free(&self, other: &PathHandle<'_>) -> Result<bool> {
        self.may_change()?;
        other.may_change()?;
        let mut renamed = self.rename_with(other, RenameFlags::NOREPLACE);
        if renamed.is_err_and(unsupported) {
            renamed = self.rename_in_steps(other);
        }
        match renamed {
            Ok(()) => Ok(true),
            Err(Errno::EXIST | Errno::NOENT) => Ok(false),
            Err(e) => Err(e).at("rename", &self.shown),
        }
    }

    fn rename_in_steps(&self, other: &PathHandle<'_>) -> Result<(), Errno> {
        // nobody else uses a temporary name
        if !other.name.starts_with(TEMP_PREFIX) {
            let flags = AtFlags::empty();
            match rustix::fs::linkat(&self.dir, self.name, &other.dir, other.name, flags) {
                Ok(()) => {
                    crate::fault::point("linked");
                    return rustix::fs::unlinkat(&self.dir, self.name, AtFlags::empty());
                }
                Err(Errno::PERM | Errno::MLINK) => {}
                Err(e) if unsupported(e) => {}
                Err(e) => return Err(e),
            }
        }
        if other.exists() {
            return Err(Errno::EXIST);
        }
        self.rename(other)
    }

    fn rename(&self, other: &PathHandle<'_>) -> Result<(), Errno> {
        rustix::fs::renameat(&self.dir, self.name, &other.dir, other.name)
    }

    fn rename_with(&self, other: &PathHandle<'_>, flags: RenameFlags) -> Result<(), Errno> {
        if crate::fault::no_exchange() {
            return Err(Errno::INVAL);
        }
        rustix::fs::renameat_with(&self.dir, self.name, &other.dir, other.name, flags)
    }

    /// Makes a directory of this name if nothing has it, and gives it these permission bits.
    pub(super) fn make_dir(&self, mode: u32) -> Result<()> {
        self.may_change()?;
        match rustix::fs::mkdirat(&self.dir, self.name, raw_stat::permissions(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(e).at("make the directory", &self.shown),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // one that its owner cannot read is changed by its name
        let changed = match rustix::fs::openat(&self.dir, self.name, flags, Mode::empty()) {
            Ok(opened) => rustix::fs::fchmod(opened, raw_stat::permissions(mode)),
            Err(Errno::ACCESS) => rustix::fs::chmodat(
                &self.dir,
                self.name,
                raw_stat::permissions(mode),
                AtFlags::empty(),
            ),
            Err(e) => Err(e),
        };
        changed.at("set the mode of", &self.shown)
    }

    /// Removes the directory of this name if it is empty. Returns false if it stays.
    pub(super) fn remove_dir(&self) -> bool {
        let removed = || rustix::fs::unlinkat(&self.dir, self.name, AtFlags::REMOVEDIR);
        !self.forbidden && matches!(removed(), Ok(()) | Err(Errno::NOENT))
    }

    /// Removes the directory of this name, and those in it, as far as they are empty. No link is followed.
    pub(crate) fn remove_empty(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if self.forbidden {
            return;
        }
        if let Ok(dir) = rustix::fs::openat(&self.dir, self.name, flags, Mode::empty())
            && !self.vcs.is_git_dir_at(&dir)
            && let Ok(entries) = rustix::fs::Dir::read_from(&dir)
        {
            for entry in entries.flatten() {
                let name = entry.file_name().to_bytes();
                let Ok(dir) = dir.try_clone() else { return };
                if name != b"." && name != b".." {
                    let inner = PathHandle {
                        dir,
                        name,
                        shown: self.shown.join(bytes_path(name)),
                        vcs: self.vcs,
                        forbidden: self.vcs.is_name(name),
                    };
                    inner.remove_empty();
                }
            }
        }
        // only ever an empty one
        rustix::fs::unlinkat(&self.dir, self.name, AtFlags::REMOVEDIR).ok();
    }

    /// Separates a file from its other names, so that none of them changes with it.
    pub(crate) fn separate(&self) -> Result<()> {
        let Some(mut file) = self.open() else {
            return Ok(());
        };
        let stat = self.stat().at("check", &self.shown)?;
        if self.links() < 2 || stat.kind() != FileType::RegularFile {
            return Ok(());
        }
        self.may_change()?;
        let of_dir = stat_in(&self.dir, b".");
        let name = [TEMP_PREFIX, b"own-", self.name].concat();
        let copy = self.sibling(&name)?;
        copy.remove()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = rustix::fs::openat(&self.dir, &*name, flags, raw_stat::permissions(0o600));
        let mut made = std::fs::File::from(made.at("create", &copy.shown)?);
        std::io::copy(&mut file, &mut made).at("write", &copy.shown)?;
        let mode = raw_stat::permissions(stat.permissions());
        rustix::fs::fchmod(&made, mode).at("set the mode of", &copy.shown)?;
        made.sync_all().at("sync", &copy.shown)?;
        rustix::fs::renameat(&self.dir, &*name, &self.dir, self.name).at("rename", &self.shown)?;
        // the directory has the entries that it had
        let modified = of_dir.map(|stat| modified(stat.mtime));
        let set = modified.map(|times| rustix::fs::futimens(&self.dir, &times));
        set.unwrap_or(Ok(()))
            .at("set the time of the directory of", &self.shown)
    }

    /// Sets the time of the last change, in nanoseconds since 1970. A link is not followed.
    pub(crate) fn set_modified(&self, nanoseconds: i64) -> Result<()> {
        self.may_change()?;
        let times = modified(nanoseconds);
        rustix::fs::utimensat(&self.dir, self.name, &times, AtFlags::SYMLINK_NOFOLLOW)
            .at("set the time of", &self.shown)
    }

    pub(crate) fn exists(&self) -> bool {
        self.stat().is_ok()
    }
}

/// The time of the last change, in nanoseconds since 1970, and that of the last access as it is.
fn modified(nanoseconds: i64) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: nanoseconds.div_euclid(1_000_000_000),
            tv_nsec: nanoseconds.rem_euclid(1_000_000_000),
        },
    }
}

/// True for the errors of file systems that cannot do it: NFS, 9p, some of FUSE.
fn unsupported(e: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&e)
}

fn read_whole(file: std::fs::File, stat: Stat, limit: u64, held: u64) -> DiskEntry {
    let size = u64::try_from(stat.size).unwrap_or(0);
    if size >= held {
        return read_through(file, stat, limit);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0) + 1);
    // it may have grown; one byte above the limit is enough to tell
    match file.take(limit + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > limit => DiskEntry {
            image: Image::Opaque(Opaque::TooLarge),
            stat: Some(stat),
            bytes: None,
            is_dir: false,
        },
        Ok(_) => DiskEntry {
            image: Image::File {
                mode: u32::try_from(stat.mode).unwrap_or(0o644) & 0o7777,
                content: ContentId::of(&bytes),
                size: bytes.len() as u64,
            },
            stat: Some(stat),
            bytes: Some(bytes),
            is_dir: false,
        },
        Err(_) => DiskEntry {
            image: Image::Opaque(Opaque::Unreadable),
            stat: Some(stat),
            bytes: None,
            is_dir: false,
        },
    }
}

/// Hashes a file without keeping its bytes.
fn read_through(mut file: std::fs::File, stat: Stat, limit: u64) -> DiskEntry {
    let mut hasher = blake3::Hasher::new();
    let image = match hasher.update_reader((&file).take(limit + 1)).map(|_| ()) {
        Ok(()) if hasher.count() > limit => Image::Opaque(Opaque::TooLarge),
        // it shrank meanwhile: a content that is not large is kept
        Ok(()) if hasher.count() < LARGE && file.rewind().is_ok() => {
            return read_whole(file, stat, limit, u64::MAX);
        }
        Ok(()) => Image::File {
            mode: u32::try_from(stat.mode).unwrap_or(0o644) & 0o7777,
            content: ContentId(*hasher.finalize().as_bytes()),
            size: hasher.count(),
        },
        Err(_) => Image::Opaque(Opaque::Unreadable),
    };
    DiskEntry {
        image,
        stat: Some(stat),
        bytes: None,
        is_dir: false,
    }
}

/// Makes a new file share the blocks of another that has exactly these bytes. `false`: it does not, or the file
/// system cannot.
#[cfg(target_os = "linux")]
fn shares(file: &mut std::fs::File, like: &PathHandle<'_>, content: &ContentId) -> bool {
    let Some(other) = like.open() else {
        return false;
    };
    if !clones(file, &other) {
        return false;
    }
    // the other may have changed since it was recorded
    let mut now = blake3::Hasher::new();
    file.rewind().is_ok()
        && now.update_reader(file).is_ok()
        && *now.finalize().as_bytes() == content.0
}

/// Makes a file share the blocks of another, if the file system can.
#[cfg(target_os = "linux")]
fn clones(file: &std::fs::File, other: &std::fs::File) -> bool {
    rustix::fs::ioctl_ficlone(file, other).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn clones(_: &std::fs::File, _: &std::fs::File) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn shares(_: &mut std::fs::File, _: &PathHandle<'_>, _: &ContentId) -> bool {
    false
}
