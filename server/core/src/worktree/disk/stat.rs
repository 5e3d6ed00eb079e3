//! What the file system says of a path, and how much that proves.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, StatxFlags};

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
        is_old(self.mtime, self.ctime, moment)
    }

    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(u32::try_from(self.mode).unwrap_or(0))
    }

    pub(super) fn new(s: &rustix::fs::Statx) -> Self {
        let nanos = |t: rustix::fs::StatxTimestamp| {
            t.tv_sec
                .saturating_mul(1_000_000_000)
                .saturating_add(i64::from(t.tv_nsec))
        };
        let (mtime, ctime) = (nanos(s.stx_mtime), nanos(s.stx_ctime));
        let now = crate::store::now().saturating_mul(1000);
        Self {
            size: i64::try_from(s.stx_size).unwrap_or(i64::MAX),
            mtime,
            ctime,
            btime: nanos(s.stx_btime),
            dev: (i64::from(s.stx_dev_major) << 32) | i64::from(s.stx_dev_minor),
            inode: s.stx_ino.cast_signed(),
            mode: i64::from(s.stx_mode),
            racy: !is_old(mtime, ctime, now),
            linked: s.stx_nlink > 1,
        }
    }
}

fn is_old(mtime: i64, ctime: i64, moment: i64) -> bool {
    i128::from(moment) - i128::from(mtime.max(ctime)) >= margin(mtime, ctime)
}

/// How fine the time stamps of a file system are, as far as these tell.
fn margin(mtime: i64, ctime: i64) -> i128 {
    let coarse = mtime % 1_000_000_000 == 0 && ctime % 1_000_000_000 == 0;
    if coarse { RACY_COARSE } else { RACY }
}

pub(super) const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

/// A directory, whatever its name: inodes are used again, but not with the same birth. Devices are numbered
/// anew with every start of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirIdentity {
    pub inode: i64,
    pub btime: i64,
}

impl DirIdentity {
    /// None where there is no directory, or the file system does not tell.
    pub(crate) fn of(dir: &Path) -> Option<Self> {
        let stat = rustix::fs::statx(rustix::fs::CWD, dir, AtFlags::empty(), WANTED).ok()?;
        Self::from(&Stat::new(&stat))
    }

    pub(super) fn from(stat: &Stat) -> Option<Self> {
        let told = stat.btime != 0 && stat.kind() == FileType::Directory;
        told.then_some(Self {
            inode: stat.inode,
            btime: stat.btime,
        })
    }
}

/// What is at a name in a directory.
pub(crate) fn stat_in(dir: &OwnedFd, name: &[u8]) -> Option<Stat> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let stat = rustix::fs::statx(dir, name, flags, WANTED).ok()?;
    Some(Stat::new(&stat))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const MILLI: i64 = 1_000_000;

    /// With stamps on whole seconds a change within the same second leaves them equal; with fine ones ten
    /// milliseconds tell.
    #[test]
    fn coarse_stamps_prove_later_than_fine_ones() {
        let (whole, fine) = (1_000 * SECOND, 1_000 * SECOND + 7);
        for (mtime, ctime, wait) in [
            (whole, whole, 2 * SECOND),
            (fine, fine, 10 * MILLI),
            // a tool may set the one to a whole second, nothing sets the other
            (whole, fine, 10 * MILLI),
            (fine, whole, 10 * MILLI),
            (whole, whole - 5 * SECOND, 2 * SECOND),
            (0, 0, 2 * SECOND),
        ] {
            let changed = mtime.max(ctime);
            assert!(!is_old(mtime, ctime, changed), "{mtime} {ctime}");
            assert!(!is_old(mtime, ctime, changed + wait - 1), "{mtime} {ctime}");
            assert!(is_old(mtime, ctime, changed + wait), "{mtime} {ctime}");
        }
        // from the future: never, and without an overflow
        assert!(!is_old(i64::MAX, i64::MAX, i64::MIN));
        assert!(!is_old(fine + SECOND, fine, fine));
    }
}
