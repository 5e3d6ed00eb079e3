//! Facts that the system tells about an entry of a directory: by `statx` on Linux, by `stat` elsewhere.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;
use rustix::path::Arg;

/// The facts about an entry. Times are in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawStat {
    /// With the type bits.
    pub mode: u32,
    pub size: u64,
    pub mtime: i64,
    pub ctime: i64,
    /// 0 where the file system does not tell it.
    pub btime: i64,
    pub device: i64,
    pub inode: u64,
    pub links: u32,
    pub uid: u32,
    pub gid: u32,
    pub is_mount_point: bool,
    pub is_immutable: bool,
    pub is_append_only: bool,
}

/// The facts about a name in a directory.
pub(crate) fn stat_at(dir: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<RawStat, Errno> {
    system::stat_at(dir, name, flags)
}

/// The facts about an open file or directory.
pub(crate) fn stat_open(file: impl AsFd) -> Result<RawStat, Errno> {
    system::stat_open(file)
}

/// The type in a mode. The system's own integer for modes differs.
pub(crate) fn kind(mode: u32) -> FileType {
    FileType::from_raw_mode(system::raw_mode(mode))
}

/// Permission bits of a mode.
pub(crate) fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(system::raw_mode(mode))
}

/// Nanoseconds since 1970.
fn nanos(seconds: i64, nanoseconds: i64) -> i64 {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}

#[cfg(target_os = "linux")]
mod system {
    use std::os::fd::AsFd;

    use rustix::fs::{AtFlags, RawMode, Statx, StatxAttributes, StatxFlags, StatxTimestamp};
    use rustix::io::Errno;
    use rustix::path::Arg;

    use super::{RawStat, nanos};

    const MASK: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

    pub(super) fn raw_mode(mode: u32) -> RawMode {
        mode
    }

    pub(super) fn stat_at(
        dir: impl AsFd,
        name: impl Arg,
        flags: AtFlags,
    ) -> Result<RawStat, Errno> {
        rustix::fs::statx(dir, name, flags, MASK).map(|stat| facts(&stat))
    }

    pub(super) fn stat_open(file: impl AsFd) -> Result<RawStat, Errno> {
        stat_at(file, "", AtFlags::EMPTY_PATH)
    }

    fn facts(stat: &Statx) -> RawStat {
        let time = |time: StatxTimestamp| nanos(time.tv_sec, i64::from(time.tv_nsec));
        let has = |mark| stat.stx_attributes.contains(mark);
        RawStat {
            mode: u32::from(stat.stx_mode),
            size: stat.stx_size,
            mtime: time(stat.stx_mtime),
            ctime: time(stat.stx_ctime),
            btime: time(stat.stx_btime),
            device: (i64::from(stat.stx_dev_major) << 32) | i64::from(stat.stx_dev_minor),
            inode: stat.stx_ino,
            links: stat.stx_nlink,
            uid: stat.stx_uid,
            gid: stat.stx_gid,
            is_mount_point: has(StatxAttributes::MOUNT_ROOT),
            is_immutable: has(StatxAttributes::IMMUTABLE),
            is_append_only: has(StatxAttributes::APPEND),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::os::fd::AsFd;

    use rustix::fs::{AtFlags, RawMode, Stat};
    use rustix::io::Errno;
    use rustix::path::Arg;

    use super::{RawStat, nanos};

    /// `UF_IMMUTABLE` and `SF_IMMUTABLE` of `sys/stat.h`.
    const IMMUTABLE: u32 = 0x2 | 0x2_0000;
    /// `UF_APPEND` and `SF_APPEND`.
    const APPEND: u32 = 0x4 | 0x4_0000;

    pub(super) fn raw_mode(mode: u32) -> RawMode {
        mode.try_into().unwrap_or(0)
    }

    pub(super) fn stat_at(
        dir: impl AsFd,
        name: impl Arg,
        flags: AtFlags,
    ) -> Result<RawStat, Errno> {
        rustix::fs::statat(dir, name, flags).map(|stat| facts(&stat))
    }

    pub(super) fn stat_open(file: impl AsFd) -> Result<RawStat, Errno> {
        rustix::fs::fstat(file).map(|stat| facts(&stat))
    }

    fn facts(stat: &Stat) -> RawStat {
        RawStat {
            mode: u32::from(stat.st_mode),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime: nanos(stat.st_mtime, stat.st_mtime_nsec),
            ctime: nanos(stat.st_ctime, stat.st_ctime_nsec),
            btime: nanos(stat.st_birthtime, stat.st_birthtime_nsec),
            device: i64::from(stat.st_dev),
            inode: stat.st_ino,
            links: u32::from(stat.st_nlink),
            uid: stat.st_uid,
            gid: stat.st_gid,
            // a directory that is a mount point has another device than the one above, which `rename` tells, too
            is_mount_point: false,
            is_immutable: stat.st_flags & IMMUTABLE != 0,
            is_append_only: stat.st_flags & APPEND != 0,
        }
    }
}
