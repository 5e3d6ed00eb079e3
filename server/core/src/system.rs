//! Reading single files, and telling directories apart, without a root.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Statx, StatxFlags};

/// Maximum size of an ignore or attributes file.
const MAX_SMALL_FILE: u64 = 10 << 20;

pub(crate) const STATX_MASK: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

/// Identity of a directory, independent of its name. Inodes are reused, but not with the same birth time. Device
/// numbers change with every system start, so they are not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirIdentity {
    pub inode: i64,
    pub btime: i64,
}

impl DirIdentity {
    /// Returns none where there is no directory, or where the file system does not tell times of birth.
    pub(crate) fn of(dir: &Path) -> Option<Self> {
        let stat = rustix::fs::statx(rustix::fs::CWD, dir, AtFlags::empty(), STATX_MASK).ok()?;
        Self::from(&stat)
    }

    pub(crate) fn from(stat: &Statx) -> Option<Self> {
        let btime = nanos(stat.stx_btime);
        let is_dir = FileType::from_raw_mode(u32::from(stat.stx_mode)) == FileType::Directory;
        (btime != 0 && is_dir).then_some(Self {
            inode: stat.stx_ino.cast_signed(),
            btime,
        })
    }
}

/// Nanoseconds since 1970.
pub(crate) fn nanos(t: rustix::fs::StatxTimestamp) -> i64 {
    t.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(i64::from(t.tv_nsec))
}

/// Reads a small regular file whole; None for anything else, such as a fifo that would never end. `follow`: follow a
/// link.
pub(crate) fn read_small(path: &Path, follow: bool) -> Option<Vec<u8>> {
    read_up_to(path, follow, MAX_SMALL_FILE)
}

/// Reads at most `max_size` bytes of a regular file.
pub(crate) fn read_up_to(path: &Path, follow: bool, max_size: u64) -> Option<Vec<u8>> {
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if !follow {
        flags |= OFlags::NOFOLLOW;
    }
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(max_size).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
