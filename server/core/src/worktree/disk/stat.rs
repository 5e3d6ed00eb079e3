//! File stats, and how much they prove.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType};

/// A timestamp closer than this to the time of the stat proves nothing, in nanoseconds.
use crate::raw_stat::{self, RawStat, stat_at};

const RACY: i128 = 10_000_000;
const RACY_COARSE: i128 = 2_000_000_000;

/// The stat of a path, detailed enough to prove that the path is unchanged.
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
    /// Taken so soon after the last change that an equal stat is no proof.
    pub racy: bool,
    /// True if it has other names, through which it may be written unnoticed. Not stored.
    pub linked: bool,
}

impl Stat {
    /// True if an equal stat proves the file unchanged.
    pub(crate) fn proves(&self, now: &Self) -> bool {
        !self.racy && self.is_that_of(now)
    }

    /// True if both stats are equal; soon after a change that does not prove equal content.
    pub(crate) fn is_that_of(&self, now: &Self) -> bool {
        (
            self.size, self.mtime, self.ctime, self.dev, self.inode, self.mode,
        ) == (now.size, now.mtime, now.ctime, now.dev, now.inode, now.mode)
    }

    /// True if the last change was long enough before `moment`, in nanoseconds since 1970. A change after that moment
    /// would then alter the stat.
    pub(crate) fn is_older_than(&self, moment: i64) -> bool {
        is_old(self.mtime, self.ctime, moment)
    }

    /// True if the last change was at `moment` or later, in nanoseconds since 1970.
    pub(crate) fn is_changed_since(&self, moment: i64) -> bool {
        self.ctime >= moment
    }

    pub(crate) fn kind(&self) -> FileType {
        raw_stat::kind(u32::try_from(self.mode).unwrap_or(0))
    }

    /// Permission bits, with setuid, setgid and sticky.
    pub(crate) fn permissions(&self) -> u32 {
        u32::try_from(self.mode).unwrap_or(0) & 0o7777
    }

    pub(super) fn new(s: &RawStat) -> Self {
        let (mtime, ctime) = (s.mtime, s.ctime);
        let now = crate::store::now().saturating_mul(1000);
        Self {
            size: i64::try_from(s.size).unwrap_or(i64::MAX),
            mtime,
            ctime,
            btime: s.btime,
            dev: s.device,
            inode: s.inode.cast_signed(),
            mode: i64::from(s.mode),
            racy: !is_old(mtime, ctime, now),
            linked: s.links > 1,
        }
    }
}

fn is_old(mtime: i64, ctime: i64, moment: i64) -> bool {
    i128::from(moment) - i128::from(mtime.max(ctime)) >= margin(mtime, ctime)
}

/// Returns the timestamp granularity of the file system, as far as these timestamps show.
fn margin(mtime: i64, ctime: i64) -> i128 {
    let coarse = mtime % 1_000_000_000 == 0 && ctime % 1_000_000_000 == 0;
    if coarse { RACY_COARSE } else { RACY }
}

/// A stat that proves nothing: the path is read again at the next scan.
pub(crate) const NO_STAT: Stat = Stat {
    size: -1,
    mtime: 0,
    ctime: 0,
    btime: 0,
    dev: 0,
    inode: 0,
    mode: 0,
    racy: true,
    linked: false,
};

/// Returns the stat of a name in a directory.
pub(crate) fn stat_in(dir: &OwnedFd, name: &[u8]) -> Option<Stat> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let stat = stat_at(dir, name, flags).ok()?;
    Some(Stat::new(&stat))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const MILLI: i64 = 1_000_000;

    /// Two changes within a second leave equal whole-second timestamps; fine timestamps differ after ten
    /// milliseconds.
    #[test]
    fn coarse_timestamps_prove_later_than_fine_ones() {
        let (whole, fine) = (1_000 * SECOND, 1_000 * SECOND + 7);
        for (mtime, ctime, wait) in [
            (whole, whole, 2 * SECOND),
            (fine, fine, 10 * MILLI),
            // a tool may set mtime to a whole second; nothing sets ctime
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
