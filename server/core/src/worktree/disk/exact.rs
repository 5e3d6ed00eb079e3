//! Names as a directory lists them. A file system that ignores the case of names, or has another form of their accents,
//! finds a file by other names than its own.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::raw_stat::stat_at;

use super::TEMP_PREFIX;

/// True if the directory lists exactly this name, or nothing is found by it. One more stat tells that on a file system that
/// distinguishes case: the name in the other case is not there.
pub(super) fn is_exact(dir: &OwnedFd, name: &[u8]) -> bool {
    let other: Vec<u8> = name.iter().copied().map(other_case).collect();
    if name.is_ascii() {
        if other == name {
            return true;
        }
        match id(dir, &other) {
            // the directory distinguishes them
            None => return true,
            Some(found) if id(dir, name) != Some(found) => return true,
            Some(_) => {}
        }
    } else if id(dir, name).is_none() {
        return true;
    }
    lists(dir, name).unwrap_or(true)
}

/// False if a name in a directory is the listed one for certain, which one stat tells where case counts.
pub(super) fn may_differ(root: &OwnedFd, above: &[u8], name: &[u8]) -> bool {
    if !name.is_ascii() {
        return true;
    }
    let mut other: Vec<u8> = name.iter().copied().map(other_case).collect();
    if other == name {
        return false;
    }
    if !above.is_empty() {
        other = [above, b"/", &other].concat();
    }
    id(root, &other).is_some()
}

fn other_case(byte: u8) -> u8 {
    if byte.is_ascii_lowercase() {
        byte.to_ascii_uppercase()
    } else {
        byte.to_ascii_lowercase()
    }
}

fn lists(dir: &OwnedFd, name: &[u8]) -> Option<bool> {
    let entries = rustix::fs::Dir::read_from(dir).ok()?;
    let mut names = entries.flatten();
    Some(names.any(|entry| entry.file_name().to_bytes() == name))
}

/// Opens a directory for a file that comes back in it. If the directory has the name in another case, and holds nothing but
/// files that a restore has set aside, it gets this name.
pub(super) fn open_dir(dir: &OwnedFd, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let opened = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    if is_exact(dir, name) {
        return Ok(opened);
    }
    let is_free = rustix::fs::Dir::read_from(&opened)?.flatten().all(|entry| {
        let name = entry.file_name().to_bytes();
        name == b"." || name == b".." || name.starts_with(TEMP_PREFIX)
    });
    if let Some(own) = listed(dir, name).filter(|_| is_free) {
        // it keeps its name where that cannot be changed
        rustix::fs::renameat(dir, own, dir, name).ok();
    }
    Ok(opened)
}

/// Returns the name that a directory lists for the file that is found by this one.
pub(super) fn listed(dir: &OwnedFd, name: &[u8]) -> Option<Vec<u8>> {
    let wanted = id(dir, name)?;
    let entries = rustix::fs::Dir::read_from(dir).ok()?;
    let names: Vec<Vec<u8>> = entries
        .flatten()
        .map(|entry| entry.file_name().to_bytes().to_vec())
        .collect();
    if names.iter().any(|other| other == name) {
        return Some(name.to_vec());
    }
    names
        .into_iter()
        .find(|other| id(dir, other) == Some(wanted))
}

/// Identity of what has this name.
fn id(dir: &OwnedFd, name: &[u8]) -> Option<(i64, u64)> {
    let stat = stat_at(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.device, stat.inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_where_case_is_distinguished() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["Foo", "foo", "a1", "Ä", "12"] {
            std::fs::write(dir.path().join(name), name).expect("written");
        }
        std::fs::hard_link(dir.path().join("a1"), dir.path().join("A1")).expect("linked");
        let fd: OwnedFd = std::fs::File::open(dir.path()).expect("opened").into();
        for name in ["Foo", "foo", "a1", "A1", "Ä", "12", "absent"] {
            assert!(is_exact(&fd, name.as_bytes()), "{name}");
        }
    }
}
