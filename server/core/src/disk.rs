//! The workspace's files: looking at them, reading them whole, and the few ways of changing one without
//! leaving the root. Every path is walked from the root's own descriptor and no link is followed, so a
//! link swapped in later leads nowhere.

use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, StatxFlags};
use rustix::io::Errno;

use crate::config::{Config, MAX_FILE, MOST, Sources};
use crate::error::{Context, Error, Result};
use crate::model::{ContentId, Image, Opaque, RelPath, bytes_path};
use crate::rules::{Excludes, Excluding};

/// No file of rules is larger.
const SMALL: u64 = 10 << 20;
/// Our own files beside a target while a restore is under way.
pub(crate) const TEMP_PREFIX: &[u8] = b".backstitch-tmp-";
/// A time stamp closer than this to the moment of looking proves nothing.
const RACY: i128 = 10_000_000;
const RACY_COARSE: i128 = 2_000_000_000;

/// What the file system says of a path, enough to know that nothing happened to it since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub size: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    pub ctime: i64,
    pub btime: i64,
    pub dev: i64,
    pub inode: i64,
    /// With the type bits.
    pub mode: i64,
    /// Looked at so soon after its last change that an equal stat is no proof.
    pub racy: bool,
    /// It has other names, through which it may be written unseen. Not kept.
    pub linked: bool,
}

impl Stat {
    /// Whether the file is surely what it was.
    pub(crate) fn proves(&self, now: &Self) -> bool {
        !self.racy && self.is_that_of(now)
    }

    /// Whether both say the same; soon after a change that is no proof of the same content.
    pub(crate) fn is_that_of(&self, now: &Self) -> bool {
        (
            self.size, self.mtime, self.ctime, self.dev, self.inode, self.mode,
        ) == (now.size, now.mtime, now.ctime, now.dev, now.inode, now.mode)
    }

    /// Whether it was changed last long enough before a moment, in nanoseconds since 1970, that no change after that
    /// moment could leave it the same.
    pub(crate) fn is_older_than(&self, moment: i64) -> bool {
        let changed = self.mtime.max(self.ctime);
        i128::from(moment) - i128::from(changed) >= margin(self.mtime, self.ctime)
    }

    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(u32::try_from(self.mode).unwrap_or(0))
    }

    fn new(s: &rustix::fs::Statx) -> Self {
        let nanos = |t: rustix::fs::StatxTimestamp| {
            t.tv_sec
                .saturating_mul(1_000_000_000)
                .saturating_add(i64::from(t.tv_nsec))
        };
        let (mtime, ctime) = (nanos(s.stx_mtime), nanos(s.stx_ctime));
        let now = i128::from(crate::store::now()) * 1000;
        Self {
            size: i64::try_from(s.stx_size).unwrap_or(i64::MAX),
            mtime,
            ctime,
            btime: nanos(s.stx_btime),
            dev: (i64::from(s.stx_dev_major) << 32) | i64::from(s.stx_dev_minor),
            inode: s.stx_ino.cast_signed(),
            mode: i64::from(s.stx_mode),
            racy: now - i128::from(mtime.max(ctime)) < margin(mtime, ctime),
            linked: s.stx_nlink > 1,
        }
    }
}

/// How fine the time stamps of a file system are, as far as these tell.
fn margin(mtime: i64, ctime: i64) -> i128 {
    let coarse = mtime % 1_000_000_000 == 0 && ctime % 1_000_000_000 == 0;
    if coarse { RACY_COARSE } else { RACY }
}

const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

/// A directory, whatever its name: inodes are used again, but not with the same birth. Devices are numbered
/// anew with every start of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub inode: i64,
    pub btime: i64,
}

impl Identity {
    /// None where there is no directory, or the file system does not tell.
    pub(crate) fn of(dir: &Path) -> Option<Self> {
        let stat = rustix::fs::statx(rustix::fs::CWD, dir, AtFlags::empty(), WANTED).ok()?;
        Self::from(&Stat::new(&stat))
    }

    fn from(stat: &Stat) -> Option<Self> {
        let told = stat.btime != 0 && stat.kind() == FileType::Directory;
        told.then_some(Self {
            inode: stat.inode,
            btime: stat.btime,
        })
    }
}

/// A path looked at: None where nothing is, or a directory.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub image: Image,
    pub stat: Option<Stat>,
    /// The content, where the image has one.
    pub bytes: Option<Vec<u8>>,
    pub is_dir: bool,
}

impl Look {
    const NOTHING: Self = Self {
        image: Image::Absent,
        stat: None,
        bytes: None,
        is_dir: false,
    };
}

/// The root directory, held open.
#[derive(Debug)]
pub(crate) struct Root {
    pub path: PathBuf,
    pub sources: Arc<Sources>,
    fd: OwnedFd,
    /// Above so many bytes a content is not kept.
    limit: AtomicU64,
}

/// A directory below the root, and a name in it.
pub(crate) struct Place<'p> {
    dir: OwnedFd,
    name: &'p [u8],
    shown: PathBuf,
}

impl Root {
    pub(crate) fn open(path: &Path, sources: Arc<Sources>) -> Result<Self> {
        let fd = rustix::fs::open(
            path,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .at("open the workspace", path)?;
        let root = Self {
            path: path.to_path_buf(),
            sources,
            fd,
            limit: AtomicU64::new(MAX_FILE),
        };
        root.settings();
        Ok(root)
    }

    /// The settings as they are now. Looks go by them from then on.
    pub(crate) fn settings(&self) -> Arc<Config> {
        let config = self.sources.now();
        self.limit.store(config.max_file_size(), Ordering::Relaxed);
        config
    }

    pub(crate) fn excludes(&self) -> Excludes {
        let excludes = Excludes::read(&self.path, &self.sources);
        let limit = excludes.limit.unwrap_or(MAX_FILE);
        self.limit.store(limit, Ordering::Relaxed);
        excludes
    }

    /// What the settings exclude. None: nothing.
    pub(crate) fn excluding(&self) -> Option<Excluding> {
        Excluding::of(&self.sources.exclude(&self.settings()))
    }

    /// The largest content that is kept where this is what is recorded: what is recorded stays so, as long as it
    /// does not grow.
    pub(crate) fn limit(&self, recorded: &Image) -> u64 {
        let limit = self.limit.load(Ordering::Relaxed);
        match recorded {
            Image::File { size, .. } | Image::InGit { size, .. } => limit.max(*size),
            _ => limit,
        }
    }

    pub(crate) fn identity(&self) -> Option<Identity> {
        let stat = rustix::fs::statx(&self.fd, "", AtFlags::EMPTY_PATH, WANTED).ok()?;
        Identity::from(&Stat::new(&stat))
    }

    /// Makes all that was written below durable.
    pub(crate) fn sync(&self) -> Result<()> {
        #[cfg(target_os = "linux")]
        return rustix::fs::syncfs(&self.fd).at("sync", &self.path);
        #[cfg(not(target_os = "linux"))]
        {
            rustix::fs::sync();
            Ok(())
        }
    }

    /// None where a directory on the way is missing; an error where a link or a file is in the way.
    pub(crate) fn place<'p>(&self, rel: &'p RelPath) -> Result<Option<Place<'p>>> {
        let (dir, name) = rel.split();
        let shown = self.path.join(rel.to_path());
        match self.dir(dir) {
            Ok(dir) => Ok(Some(Place { dir, name, shown })),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(Error::Io {
                what: format!("reach {}", shown.display()),
                source: e.into(),
            }),
        }
    }

    /// Whether something is above a path that is no directory.
    pub(crate) fn is_blocked(&self, rel: &RelPath) -> bool {
        let mut dir = rel.parent();
        while let Some(at) = dir {
            if let Some(stat) = self.stat(&at) {
                return stat.kind() != FileType::Directory;
            }
            dir = at.parent();
        }
        false
    }

    /// Whether a directory is at this path, and no link on the way to it.
    pub(crate) fn is_dir(&self, dir: &[u8]) -> bool {
        self.dir(dir).is_ok()
    }

    /// Whether the name still leads to this directory.
    pub(crate) fn is_there(&self) -> bool {
        let ours = rustix::fs::fstat(&self.fd);
        let named = rustix::fs::stat(&self.path);
        matches!((ours, named), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
    }

    fn dir(&self, dir: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = self
            .fd
            .as_fd()
            .try_clone_to_owned()
            .map_err(|_| Errno::MFILE)?;
        for part in dir.split(|b| *b == b'/').filter(|p| !p.is_empty()) {
            at = rustix::fs::openat(&at, part, flags, Mode::empty())?;
        }
        Ok(at)
    }

    /// Makes the directories above `rel`; says how many were made.
    pub(crate) fn make_parents(&self, rel: &RelPath) -> Result<u32> {
        let (dir, _) = rel.split();
        let shown = self.path.join(rel.to_path());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = self
            .fd
            .as_fd()
            .try_clone_to_owned()
            .at("open", &self.path)?;
        let mut made = 0;
        for part in dir.split(|b| *b == b'/').filter(|p| !p.is_empty()) {
            match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                Ok(()) => made += 1,
                Err(Errno::EXIST) => {}
                Err(e) => return Err(e).at("make the directory of", &shown),
            }
            at = rustix::fs::openat(&at, part, flags, Mode::empty())
                .at("open the directory of", &shown)?;
        }
        Ok(made)
    }

    /// Removes up to `count` directories above `rel`, innermost first, as long as they are empty.
    pub(crate) fn remove_parents(&self, rel: &RelPath, count: u32) {
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

    /// How many of the directories above `rel` do not exist.
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

    /// Looks at a path and reads it whole. What cannot be reached for a link or file on the way is
    /// absent: nothing of the workspace is there.
    pub(crate) fn look(&self, rel: &RelPath) -> Result<Look> {
        self.look_over(rel, &Image::Absent)
    }

    /// The same where this is what is recorded of it.
    pub(crate) fn look_over(&self, rel: &RelPath, recorded: &Image) -> Result<Look> {
        match self.place(rel) {
            Ok(Some(place)) => place.look_up_to(self.limit(recorded)),
            Ok(None) => Ok(Look::NOTHING),
            Err(Error::Io { source, .. })
                if matches!(
                    Errno::from_io_error(&source),
                    Some(Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG)
                ) =>
            {
                Ok(Look::NOTHING)
            }
            Err(e) => Err(e),
        }
    }

    /// What is at a path, links on the way followed: to tell whether it is what was there, not what it is.
    pub(crate) fn stat_at(&self, path: &[u8]) -> Option<Stat> {
        let path = if path.is_empty() { b"." } else { path };
        stat_in(&self.fd, path)
    }

    /// The directory at a path, in which many names are to be looked at; links on the way are followed.
    pub(crate) fn entry(&self, dir: &[u8]) -> Option<OwnedFd> {
        let dir = if dir.is_empty() { b"." } else { dir };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, dir, flags, Mode::empty()).ok()
    }

    /// Whether a directory's time stamps tell that something came into it or went.
    #[cfg(target_os = "linux")]
    pub(crate) fn tells_of_changes(&self) -> bool {
        // ext, XFS, Btrfs, tmpfs, overlay, ZFS, F2FS, bcachefs
        const TELL: [u64; 8] = [
            0xef53,
            0x5846_5342,
            0x9123_683e,
            0x0102_1994,
            0x794c_7630,
            0x2fc1_2fc1,
            0xf2f5_2010,
            0xca45_1a4e,
        ];
        let kind = rustix::fs::fstatfs(&self.fd).map(|fs| fs.f_type);
        kind.is_ok_and(|kind| u64::try_from(kind).is_ok_and(|kind| TELL.contains(&kind)))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn tells_of_changes(&self) -> bool {
        false
    }

    pub(crate) fn stat(&self, rel: &RelPath) -> Option<Stat> {
        let place = self.place(rel).ok()??;
        place.stat().ok()
    }

    /// How many names the file has; 0 where nothing is.
    pub(crate) fn links(&self, rel: &RelPath) -> u32 {
        let place = self.place(rel).ok().flatten();
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = place.and_then(|p| rustix::fs::statx(&p.dir, p.name, flags, WANTED).ok());
        stat.map_or(0, |s| s.stx_nlink)
    }

    /// Makes what happened in the directory of `rel` durable, and in that above each of the `count`
    /// directories that came or went with it.
    pub(crate) fn sync_parents(&self, rel: &RelPath, count: u32) {
        let mut at = rel.parent();
        for _ in 0..=count {
            if let Ok(dir) = self.dir(at.as_ref().map_or(&b""[..], RelPath::bytes)) {
                // some file systems cannot sync directories; there is nothing better to do there
                rustix::fs::fsync(dir).ok();
            }
            let Some(dir) = at else { return };
            at = dir.parent();
        }
    }
}

impl Place<'_> {
    fn stat(&self) -> Result<Stat, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::statx(&self.dir, self.name, flags, WANTED).map(|s| Stat::new(&s))
    }

    /// Reads what is there, whatever limit there is by now.
    pub(crate) fn look(&self) -> Result<Look> {
        self.look_up_to(MOST)
    }

    fn look_up_to(&self, limit: u64) -> Result<Look> {
        // a file that changes under the reader is read again; one that never rests is taken as it was last
        let mut last = None;
        for _ in 0..5 {
            let stat = match self.stat() {
                Ok(stat) => stat,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => {
                    return Ok(Look::NOTHING);
                }
                Err(e) => return Err(e).at("look at", &self.shown),
            };
            let look = self.read(stat, limit);
            match self.stat() {
                Ok(after)
                    if Stat {
                        racy: true,
                        ..after
                    } == Stat { racy: true, ..stat } =>
                {
                    return Ok(look);
                }
                _ => last = Some(look),
            }
        }
        Ok(last.map_or(Look::NOTHING, |mut look| {
            if let Some(stat) = &mut look.stat {
                stat.racy = true;
            }
            look
        }))
    }

    fn read(&self, stat: Stat, limit: u64) -> Look {
        let opaque = |why| Look {
            image: Image::Opaque(why),
            stat: Some(stat),
            bytes: None,
            is_dir: false,
        };
        match stat.kind() {
            FileType::Directory => Look {
                is_dir: true,
                stat: Some(stat),
                ..Look::NOTHING
            },
            FileType::Symlink => match rustix::fs::readlinkat(&self.dir, self.name, Vec::new()) {
                Ok(target) => {
                    let bytes = target.into_bytes();
                    Look {
                        image: Image::Symlink {
                            content: ContentId::of(&bytes),
                        },
                        stat: Some(stat),
                        bytes: Some(bytes),
                        is_dir: false,
                    }
                }
                Err(Errno::NOENT | Errno::INVAL) => Look::NOTHING,
                Err(_) => opaque(Opaque::Unreadable),
            },
            FileType::RegularFile if u64::try_from(stat.size).unwrap_or(0) > limit => {
                opaque(Opaque::TooLarge)
            }
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                match rustix::fs::openat(&self.dir, self.name, flags, Mode::empty()) {
                    Ok(fd) => read_whole(fd.into(), stat, limit),
                    Err(Errno::NOENT | Errno::LOOP) => Look::NOTHING,
                    Err(_) => opaque(Opaque::Unreadable),
                }
            }
            _ => opaque(Opaque::Special),
        }
    }

    /// Writes a new file or link of this name; it must not exist. The content is durable afterwards.
    pub(crate) fn create(&self, image: &Image, bytes: &[u8]) -> Result<()> {
        match self.create_unsynced(image, bytes, None)? {
            Some(file) => file.sync_all().at("sync", &self.shown),
            None => Ok(()),
        }
    }

    /// As `create`, not durable until the file system is synced. `like`: a file that probably holds just
    /// these bytes; where the file system can, they are shared with it.
    pub(crate) fn create_unsynced(
        &self,
        image: &Image,
        bytes: &[u8],
        like: Option<&Place<'_>>,
    ) -> Result<Option<std::fs::File>> {
        match image {
            Image::Symlink { .. } => rustix::fs::symlinkat(bytes_path(bytes), &self.dir, self.name)
                .at("link", &self.shown)
                .map(|()| None),
            Image::File { mode, .. } => {
                let flags = OFlags::RDWR
                    | OFlags::CREATE
                    | OFlags::EXCL
                    | OFlags::NOFOLLOW
                    | OFlags::CLOEXEC;
                let fd =
                    rustix::fs::openat(&self.dir, self.name, flags, Mode::from_raw_mode(0o600))
                        .at("create", &self.shown)?;
                let mut file = std::fs::File::from(fd);
                if !like.is_some_and(|like| shares(&mut file, like, bytes)) {
                    file.set_len(0)
                        .and_then(|()| file.rewind())
                        .and_then(|()| file.write_all(bytes))
                        .at("write", &self.shown)?;
                }
                crate::fault::point("content written");
                rustix::fs::fchmod(&file, Mode::from_raw_mode(*mode))
                    .at("set the mode of", &self.shown)?;
                Ok(Some(file))
            }
            Image::Absent | Image::InGit { .. } | Image::Opaque(_) => Ok(None),
        }
    }

    /// Makes a new file of this name that holds what another does, of any size; it must not exist. None, and
    /// no file: the other is not what it was when it was looked at, or changes meanwhile.
    pub(crate) fn copy_unsynced(
        &self,
        other: &Place<'_>,
        was: &Stat,
    ) -> Result<Option<std::fs::File>> {
        let unchanged = || {
            let now = other.stat();
            now.is_ok_and(|now| now.kind() == FileType::RegularFile && was.is_that_of(&now))
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let from = rustix::fs::openat(&other.dir, other.name, flags, Mode::empty());
        let (Ok(from), true) = (from, unchanged()) else {
            return Ok(None);
        };
        let mut from = std::fs::File::from(from);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let to = rustix::fs::openat(&self.dir, self.name, flags, Mode::from_raw_mode(0o600))
            .at("create", &self.shown)?;
        let mut to = std::fs::File::from(to);
        if !clones(&to, &from) {
            std::io::copy(&mut from, &mut to).at("write", &self.shown)?;
        }
        if !unchanged() {
            self.remove()?;
            return Ok(None);
        }
        let mode = u32::try_from(was.mode).unwrap_or(0o644) & 0o7777;
        rustix::fs::fchmod(&to, Mode::from_raw_mode(mode)).at("set the mode of", &self.shown)?;
        Ok(Some(to))
    }

    pub(crate) fn remove(&self) -> Result<()> {
        match rustix::fs::unlinkat(&self.dir, self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e).at("remove", &self.shown),
        }
    }

    /// The same directory, another name.
    pub(crate) fn sibling<'n>(&self, name: &'n [u8]) -> Result<Place<'n>> {
        let dir = self
            .dir
            .try_clone()
            .at("open the directory of", &self.shown)?;
        Ok(Place {
            dir,
            name,
            shown: self.shown.with_file_name(bytes_path(name)),
        })
    }

    /// Swaps a name of ours (`self`) and another, as one step where the file system can. Elsewhere the
    /// other is absent for a moment and lies under `aside`, a third name that is ours and free; a process
    /// that dies then leaves it to `mend`.
    pub(crate) fn exchange(&self, other: &Place<'_>, aside: &Place<'_>) -> Result<()> {
        // in this direction the other name is told to have gone and come; in the other one it is told to have come
        // and gone, and an editor that watches takes the file for deleted, or for nothing that happened
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
            // another writer made a file there just now: that one stays
            return Err(Errno::EXIST).at("exchange", &other.shown);
        }
        crate::fault::point("put in place");
        aside.rename(self).at("rename", &aside.shown)
    }

    /// Brings an exchange in several steps that was cut off to what it was before it, or is after it.
    pub(crate) fn mend(&self, other: &Place<'_>, aside: &Place<'_>) -> Result<()> {
        if !aside.exists() {
            return Ok(());
        }
        let there = other.look()?;
        if there.image.is_absent() && !there.is_dir {
            aside.rename_to_free(other)?;
            return Ok(());
        }
        let ours = self.look()?.image;
        if there.image == aside.look()?.image {
            return aside.remove();
        }
        if ours == there.image {
            self.remove()?;
        } else if !ours.is_absent() {
            return Ok(());
        }
        aside.rename(self).at("rename", &aside.shown)
    }

    /// Gives this file another name that must be free. `false`: it is not, or this one is gone.
    pub(crate) fn rename_to_free(&self, other: &Place<'_>) -> Result<bool> {
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

    fn rename_in_steps(&self, other: &Place<'_>) -> Result<(), Errno> {
        // a name of ours is nobody else's to take
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

    fn rename(&self, other: &Place<'_>) -> Result<(), Errno> {
        rustix::fs::renameat(&self.dir, self.name, &other.dir, other.name)
    }

    fn rename_with(&self, other: &Place<'_>, flags: RenameFlags) -> Result<(), Errno> {
        if crate::fault::no_exchange() {
            return Err(Errno::INVAL);
        }
        rustix::fs::renameat_with(&self.dir, self.name, &other.dir, other.name, flags)
    }

    pub(crate) fn exists(&self) -> bool {
        self.stat().is_ok()
    }
}

/// What is at a name in a directory.
pub(crate) fn stat_in(dir: &OwnedFd, name: &[u8]) -> Option<Stat> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let stat = rustix::fs::statx(dir, name, flags, WANTED).ok()?;
    Some(Stat::new(&stat))
}

/// What file systems say that cannot do it: NFS, 9p, some of FUSE.
fn unsupported(e: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&e)
}

fn read_whole(file: std::fs::File, stat: Stat, limit: u64) -> Look {
    let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0) + 1);
    // it may have grown since; a little above the limit tells
    match file.take(limit + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > limit => Look {
            image: Image::Opaque(Opaque::TooLarge),
            stat: Some(stat),
            bytes: None,
            is_dir: false,
        },
        Ok(_) => Look {
            image: Image::File {
                mode: u32::try_from(stat.mode).unwrap_or(0o644) & 0o7777,
                content: ContentId::of(&bytes),
                size: bytes.len() as u64,
            },
            stat: Some(stat),
            bytes: Some(bytes),
            is_dir: false,
        },
        Err(_) => Look {
            image: Image::Opaque(Opaque::Unreadable),
            stat: Some(stat),
            bytes: None,
            is_dir: false,
        },
    }
}

/// A directory as the walk sees it: its entries, and itself held open to look at them.
pub(crate) struct Listed {
    dir: OwnedFd,
    path: PathBuf,
    /// What the directory was before its names were read.
    pub before: Option<Stat>,
    pub entries: Vec<(Vec<u8>, FileType)>,
}

impl Listed {
    pub(crate) fn read(path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty())?;
        // of before the names are read: what comes then is later
        let before = rustix::fs::statx(&dir, "", AtFlags::EMPTY_PATH, WANTED);
        let before = before.ok().map(|stat| Stat::new(&stat));
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
            before,
            entries,
        })
    }

    pub(crate) fn stat(&self, name: &[u8]) -> Option<Stat> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::statx(&self.dir, name, flags, WANTED)
            .ok()
            .map(|s| Stat::new(&s))
    }

    pub(crate) fn look(&self, name: &[u8], limit: u64) -> Result<Look> {
        let shown = self.path.join(bytes_path(name));
        let dir = self.dir.try_clone().at("open the directory of", &shown)?;
        Place { dir, name, shown }.look_up_to(limit)
    }
}

/// Makes a new file share the blocks of another that holds just these bytes. `false`: it does not, or the
/// file system cannot.
#[cfg(target_os = "linux")]
fn shares(file: &mut std::fs::File, like: &Place<'_>, bytes: &[u8]) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let Ok(other) = rustix::fs::openat(&like.dir, like.name, flags, Mode::empty()) else {
        return false;
    };
    let other = std::fs::File::from(other);
    if !clones(file, &other) {
        return false;
    }
    // the other may have changed since it was recorded
    let mut now = Vec::with_capacity(bytes.len());
    file.rewind().is_ok() && file.read_to_end(&mut now).is_ok() && now == bytes
}

/// Makes a file share the blocks of another, where the file system can.
#[cfg(target_os = "linux")]
fn clones(file: &std::fs::File, other: &std::fs::File) -> bool {
    rustix::fs::ioctl_ficlone(file, other).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn clones(_: &std::fs::File, _: &std::fs::File) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn shares(_: &mut std::fs::File, _: &Place<'_>, _: &[u8]) -> bool {
    false
}

/// A small regular file whole; None for anything else, such as a fifo that would never end.
/// `follow`: through a link, too.
pub(crate) fn read_small(path: &Path, follow: bool) -> Option<Vec<u8>> {
    read_up_to(path, follow, SMALL)
}

/// The same of one that is no larger than this; of a larger one the beginning.
pub(crate) fn read_up_to(path: &Path, follow: bool, most: u64) -> Option<Vec<u8>> {
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if !follow {
        flags |= OFlags::NOFOLLOW;
    }
    let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
