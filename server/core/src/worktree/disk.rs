//! The workspace's files: stat, whole reads, and the few ways of changing one without leaving the root. Every path is
//! opened from the root's own descriptor without following links, so a link swapped in later leads nowhere.

mod attributes;
mod dirs;
mod exact;
mod large;
mod listing;
mod place;
mod stat;

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(target_os = "linux")]
use rustix::fs::ResolveFlags;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::config::{Config, MAX_FILE, Sources};
use crate::content::LARGE;
use crate::error::{Context, Error, Result};
use crate::hint::Hint;
use crate::model::{ContentId, Image, RelPath};
use crate::places::WorkspaceKind;
use crate::raw_stat::{stat_at, stat_open};
use crate::system::DirIdentity;
use crate::vcs::VcsFiles;
pub(crate) use attributes::Fixed;
pub(crate) use large::store_ahead;
pub(crate) use listing::DirListing;
pub(crate) use place::Content;
pub(crate) use stat::{NO_STAT, Stat, stat_in};

/// Opens a directory in which names are only looked up; Linux can do so without the right to read it.
#[cfg(target_os = "linux")]
const LOOKUP: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const LOOKUP: OFlags = OFlags::RDONLY;

/// Prefix of Backstitch's temporary files beside a target during a restore.
pub(crate) const TEMP_PREFIX: &[u8] = b".backstitch-tmp-";

/// Path as read from disk; absent if there is nothing, or a directory.
#[derive(Clone, Debug)]
pub(crate) struct DiskEntry {
    pub image: Image,
    pub stat: Option<Stat>,
    /// The content, if the image has one and it is not large.
    pub bytes: Option<Vec<u8>>,
    pub is_dir: bool,
}

impl DiskEntry {
    const ABSENT: Self = Self {
        image: Image::Absent,
        stat: None,
        bytes: None,
        is_dir: false,
    };

    /// True if the path holds exactly this text.
    pub(crate) fn holds(&self, text: &[u8]) -> bool {
        match &self.bytes {
            Some(bytes) => bytes == text,
            None => self.image.is_large() && self.image.content() == Some(ContentId::of(text)),
        }
    }
}

/// The root directory, held open.
#[derive(Debug)]
pub(crate) struct Root {
    pub path: PathBuf,
    pub sources: Arc<Sources>,
    pub vcs: VcsFiles,
    fd: OwnedFd,
    /// Contents larger than this many bytes are not captured.
    pub(super) limit: AtomicU64,
}

/// A directory below the root, and a name in it.
pub(crate) struct PathHandle<'p> {
    dir: OwnedFd,
    name: &'p [u8],
    shown: PathBuf,
    vcs: VcsFiles,
    /// It is version control's, and never changed.
    forbidden: bool,
}

/// The refusal to change what is version control's: a hook or a setting there is run.
fn forbidden(shown: &Path) -> Error {
    Error::refused(
        format!(
            "{} is a file of version control, which Backstitch never changes",
            shown.display()
        ),
        Hint::terminal("`backstitch verify` says whether the history is damaged"),
    )
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
            vcs: sources.vcs(),
            sources,
            fd,
            limit: AtomicU64::new(MAX_FILE),
        };
        root.settings();
        Ok(root)
    }

    /// Returns the current settings; later reads use their size limit.
    pub(crate) fn settings(&self) -> Arc<Config> {
        let config = self.sources.now();
        self.limit.store(config.max_file_size(), Ordering::Relaxed);
        config
    }

    /// Returns the size limit for a path with this recorded image. A captured file stays captured as long as it does
    /// not grow.
    pub(crate) fn limit(&self, recorded: &Image) -> u64 {
        let limit = self.limit.load(Ordering::Relaxed);
        match recorded {
            Image::File { size, .. } | Image::InGit { size, .. } => limit.max(*size),
            _ => limit,
        }
    }

    /// True if the times of files and directories are kept.
    pub(crate) fn has_past_times(&self) -> bool {
        self.sources.kind() == WorkspaceKind::Run
    }

    pub(crate) fn identity(&self) -> Option<DirIdentity> {
        let stat = stat_open(&self.fd).ok()?;
        DirIdentity::from(&stat)
    }

    /// Makes everything written below durable.
    pub(crate) fn sync(&self) -> Result<()> {
        #[cfg(target_os = "linux")]
        return rustix::fs::syncfs(&self.fd).at("sync", &self.path);
        #[cfg(not(target_os = "linux"))]
        {
            rustix::fs::sync();
            Ok(())
        }
    }

    /// None if a directory on the path is missing; an error if a link or a file blocks it.
    pub(crate) fn place<'p>(&self, rel: &'p RelPath) -> Result<Option<PathHandle<'p>>> {
        let (dir, name) = rel.split();
        let shown = self.path.join(rel.to_path());
        match self.dir(dir) {
            Ok(dir) => Ok(Some(PathHandle {
                dir,
                name,
                shown,
                vcs: self.vcs,
                forbidden: self.vcs_dir(rel).is_some(),
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(Error::Io {
                what: format!("reach {}", shown.display()),
                source: e.into(),
            }),
        }
    }

    /// Returns the parent of a path. None: it is a directory, with no link on the way to it.
    fn parent_to_check(&self, rel: &RelPath) -> Option<RelPath> {
        rel.parent().filter(|dir| !self.is_dir(dir.bytes()))
    }

    /// True if a parent of the path is not a directory.
    pub(crate) fn is_blocked(&self, rel: &RelPath) -> bool {
        let mut dir = self.parent_to_check(rel);
        while let Some(at) = dir {
            if let Some(stat) = self.stat(&at) {
                return stat.kind() != FileType::Directory;
            }
            dir = at.parent();
        }
        false
    }

    /// True if the nearest existing parent of the path is a regular file. A link does not count: it may have been
    /// swapped in.
    pub(crate) fn is_below_file(&self, rel: &RelPath) -> bool {
        let mut dir = self.parent_to_check(rel);
        while let Some(at) = dir {
            if let Some(stat) = self.stat(&at) {
                return stat.kind() == FileType::RegularFile;
            }
            dir = at.parent();
        }
        false
    }

    /// True if a regular file is at this path.
    pub(crate) fn is_regular_file(&self, rel: &RelPath) -> bool {
        let stat = self.stat(rel);
        stat.is_some_and(|stat| stat.kind() == FileType::RegularFile)
    }

    /// True if there is an entry at a path, of any kind. One that cannot be looked at counts as there.
    pub(crate) fn has_entry(&self, path: &RelPath) -> bool {
        let found = std::fs::symlink_metadata(self.path.join(path.to_path()));
        // a directory on the way may be a file by now
        let is_absent = |error: std::io::Error| {
            use std::io::ErrorKind::{NotADirectory, NotFound};
            matches!(error.kind(), NotFound | NotADirectory)
        };
        !found.is_err_and(is_absent)
    }

    /// True if a directory is at this path, with no link on the way to it.
    pub(crate) fn is_dir(&self, dir: &[u8]) -> bool {
        self.dir(dir).is_ok()
    }

    /// True if the root's path still leads to this directory.
    pub(crate) fn is_there(&self) -> bool {
        let ours = rustix::fs::fstat(&self.fd);
        let named = rustix::fs::stat(&self.path);
        matches!((ours, named), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
    }

    fn dir(&self, dir: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        #[cfg(target_os = "linux")]
        if !dir.is_empty() {
            // by one call; the others tell the reason of a failure, and open what is too long for one
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            match rustix::fs::openat2(&self.fd, dir, flags, Mode::empty(), resolve) {
                Ok(opened) => return Ok(opened),
                Err(error @ (Errno::NOENT | Errno::NOTDIR)) => return Err(error),
                Err(_) => {}
            }
        }
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

    /// Returns the directory of version control that a path lies in, or is, by its names and by what is on disk.
    pub(crate) fn vcs_dir(&self, rel: &RelPath) -> Option<RelPath> {
        let dir = self.vcs.dir_of(&self.fd, rel.bytes());
        dir.and_then(RelPath::new)
    }

    /// Checks that a path may be changed: it is not version control's.
    pub(crate) fn may_change(&self, rel: &RelPath) -> Result<()> {
        if self.vcs_dir(rel).is_some() {
            Err(forbidden(&self.path.join(rel.to_path())))
        } else {
            Ok(())
        }
    }

    /// Reads a path whole. A path blocked by a link or file is absent: it is not in the workspace.
    pub(crate) fn read_entry(&self, rel: &RelPath) -> Result<DiskEntry> {
        self.reread_entry(rel, &Image::Absent)
    }

    /// As `read_entry`, for a path with this recorded image.
    pub(crate) fn reread_entry(&self, rel: &RelPath, recorded: &Image) -> Result<DiskEntry> {
        self.reread_entry_holding(rel, recorded, LARGE)
    }

    /// As `reread_entry`, but keeps the bytes of a content below the size `held`.
    pub(crate) fn reread_entry_holding(
        &self,
        rel: &RelPath,
        recorded: &Image,
        held: u64,
    ) -> Result<DiskEntry> {
        match self.place(rel) {
            Ok(Some(place)) if !self.has_exact_name(rel, &place) => Ok(DiskEntry::ABSENT),
            Ok(Some(place)) => place.read_entry_up_to(self.limit(recorded), held),
            Ok(None) => Ok(DiskEntry::ABSENT),
            Err(Error::Io { source, .. })
                if matches!(
                    Errno::from_io_error(&source),
                    Some(Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG)
                ) =>
            {
                Ok(DiskEntry::ABSENT)
            }
            Err(e) => Err(e),
        }
    }

    /// Opens a file for reading. None if there is none or it cannot be opened.
    pub(crate) fn open_file(&self, rel: &RelPath) -> Option<std::fs::File> {
        self.place(rel).ok()??.open()
    }

    /// Returns the stat of a path, following links in its directories. It tells if a path is unchanged, not what is
    /// there.
    pub(crate) fn stat_at(&self, path: &[u8]) -> Option<Stat> {
        let path = if path.is_empty() { b"." } else { path };
        stat_in(&self.fd, path)
    }

    /// Opens a directory in which many names are to be checked; links in its parents are followed.
    pub(crate) fn open_dir(&self, dir: &[u8]) -> Option<OwnedFd> {
        let dir = if dir.is_empty() { b"." } else { dir };
        let flags = LOOKUP | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, dir, flags, Mode::empty()).ok()
    }

    /// True if a directory's timestamps change whenever an entry is added or removed.
    pub(crate) fn has_reliable_dir_times(&self) -> bool {
        #[cfg(target_os = "linux")]
        {
            // ext, XFS, Btrfs, tmpfs, overlay, ZFS, F2FS, bcachefs
            const RELIABLE: [u64; 8] = [
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
            kind.is_ok_and(|kind| u64::try_from(kind).is_ok_and(|kind| RELIABLE.contains(&kind)))
        }
        #[cfg(not(target_os = "linux"))]
        false
    }

    pub(crate) fn stat(&self, rel: &RelPath) -> Option<Stat> {
        let place = self.place(rel).ok()??;
        let stat = place.stat().ok()?;
        self.has_exact_name(rel, &place).then_some(stat)
    }

    /// True if the directories have exactly the names of this path, or nothing is there. A file system that ignores the
    /// case of names finds a file by other names, too.
    fn has_exact_name(&self, rel: &RelPath, place: &PathHandle<'_>) -> bool {
        place.has_exact_name()
            && rel
                .parent()
                .is_none_or(|dir| self.is_exact_dir(dir.bytes()))
    }

    /// Returns a path with the names that its directories list, where a file system that ignores case finds it by others.
    pub(crate) fn as_listed(&self, rel: RelPath) -> RelPath {
        if self.is_exact_dir(rel.bytes()) {
            return rel;
        }
        let mut listed: Vec<u8> = Vec::new();
        for name in rel.bytes().split(|byte| *byte == b'/') {
            let dir = self.dir(&listed).ok();
            let own = dir.and_then(|dir| exact::listed(&dir, name));
            if !listed.is_empty() {
                listed.push(b'/');
            }
            listed.extend(own.as_deref().unwrap_or(name));
        }
        RelPath::new(listed).unwrap_or(rel)
    }

    /// The same of a directory.
    pub(crate) fn is_exact_dir(&self, dir: &[u8]) -> bool {
        let mut at = RelPath::new(dir);
        while let Some(path) = at {
            let (above, name) = path.split();
            if exact::may_differ(&self.fd, above, name) {
                let is_exact = |above| exact::is_exact(&above, name);
                if !self.dir(above).map_or(true, is_exact) {
                    return false;
                }
            }
            at = path.parent();
        }
        true
    }

    /// Returns the stat of the innermost directory above a path.
    pub(crate) fn stat_above(&self, rel: &RelPath) -> Option<Stat> {
        let mut dir = rel.parent();
        while let Some(at) = dir {
            if let Some(stat) = self.stat(&at) {
                return Some(stat);
            }
            dir = at.parent();
        }
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let root = stat_at(rustix::fs::CWD, &self.path, flags);
        root.ok().map(|found| Stat::new(&found))
    }

    /// Returns the number of names of the file; 0 if nothing is there.
    pub(crate) fn links(&self, rel: &RelPath) -> u32 {
        let place = self.place(rel).ok().flatten();
        place.map_or(0, |place| place.links())
    }

    /// Returns the owner that a file could not be given if it were written anew, in words. None: it keeps its owner.
    pub(crate) fn unowned(&self, rel: &RelPath) -> Option<String> {
        let owner = self.place(rel).ok().flatten()?.owner()?;
        let own = rustix::process::geteuid();
        let keeps = own.is_root() || own.as_raw() == owner.uid;
        (!keeps).then(|| attributes::owner_lost(owner.uid, Errno::PERM))
    }

    /// Returns the owner and the attributes that a file does not take along to another path, in words. None: there are none.
    pub(crate) fn left_behind(&self, rel: &RelPath) -> Option<String> {
        let facts = self.place(rel).ok().flatten()?.own_facts()?;
        Some(format!("it does not take along: {facts}"))
    }

    /// Returns the reason why nothing can take or leave this path, as far as that can be told without a change. A
    /// directory that is missing is created below the nearest one that is there.
    pub(crate) fn fixed(&self, rel: &RelPath) -> Option<Fixed> {
        let mut at = Some(rel.clone());
        while let Some(path) = at {
            match self.place(&path) {
                Ok(Some(place)) => return place.fixed(),
                Ok(None) => at = path.parent(),
                // an obstacle on the way is found elsewhere
                Err(_) => return None,
            }
        }
        None
    }
}
