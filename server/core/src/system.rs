//! Reading single files, telling directories apart, and finding programs, without a root.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::raw_stat::{RawStat, kind, stat_at};

/// Maximum size of an ignore or attributes file.
const MAX_SMALL_FILE: u64 = 10 << 20;

/// Attributes that belong to a content, which the kernel sets and checks by itself. A new content never gets them.
const OF_CONTENT: [&str; 3] = ["security.capability", "security.ima", "security.evm"];

/// Maximum number of bytes of a list of names, and of a value: the kernel's own limits.
const MAX_ATTRIBUTE_BYTES: usize = 64 << 10;

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
        let stat = stat_at(rustix::fs::CWD, dir, AtFlags::empty()).ok()?;
        Self::from(&stat)
    }

    pub(crate) fn from(stat: &RawStat) -> Option<Self> {
        let is_dir = kind(stat.mode) == FileType::Directory;
        (stat.btime != 0 && is_dir).then_some(Self {
            inode: stat.inode.cast_signed(),
            btime: stat.btime,
        })
    }
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

/// Reads a text of a version control system whole, as [`read_small`] does. None as well where it is not UTF-8.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(read_up_to(path, true, MAX_TEXT)?).ok()
}

/// Maximum size of a text of a version control system, such as a list of packed references.
const MAX_TEXT: u64 = 1 << 30;

/// Maximum size of a settings file.
const MAX_SETTINGS: u64 = 64 << 20;

/// Reads a settings file, which a stranger may have made: links are followed, and anything but a regular file is an error, such
/// as a fifo that would never end.
pub fn read_settings(path: &Path) -> Result<String> {
    let text = String::from_utf8(settings_bytes(path)?);
    text.map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

/// As [`read_settings`], for a file that its own program reads although it is not UTF-8.
pub fn read_settings_lossy(path: &Path) -> Result<String> {
    Ok(String::from_utf8_lossy(&settings_bytes(path)?).into_owned())
}

fn settings_bytes(path: &Path) -> Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    if meta.len() > MAX_SETTINGS {
        return Err(Error::new(ErrorKind::FileTooLarge, "it is above 64 MiB"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_SETTINGS).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the path of a program on the search path. Relative directories of the search path are skipped: a stranger's
/// workspace may be the current directory.
pub fn program_on_path(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(&name))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let meta = std::fs::metadata(file);
    meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Copies the extended attributes of the file at a path, as `copy_attributes` does. Links are followed.
pub fn copy_attributes_of(path: &Path, to: &File) -> Vec<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(from) => copy_attributes(&from.into(), to),
        Err(_) => Vec::new(),
    }
}

/// Copies the extended attributes of a file, access control lists among them. Returns those that could not be copied, with
/// the reasons.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(crate) fn copy_attributes(from: &File, to: &File) -> Vec<String> {
    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
    let mut lost = Vec::new();
    for name in all_attributes(from) {
        let mut value = vec![0; MAX_ATTRIBUTE_BYTES];
        let copied = fgetxattr(from, name.as_str(), &mut value[..])
            .and_then(|size| fsetxattr(to, name.as_str(), &value[..size], XattrFlags::empty()));
        match copied {
            // removed meanwhile, or one that the system sets by itself
            Ok(()) | Err(Errno::NODATA) => {}
            Err(_) if name.starts_with("security.") => {}
            Err(e) => {
                let why = std::io::Error::from(e);
                lost.push(format!("attribute {name} not restored: {why}"));
            }
        }
    }
    lost
}

/// Returns the names of the extended attributes of a file, without those of its content.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn all_attributes(file: &File) -> Vec<String> {
    use rustix::fs::{flistxattr, flistxattr_query};
    // most files have none
    let size = match flistxattr_query(file) {
        Ok(size) if size > 0 => size + 256,
        _ => return Vec::new(),
    };
    let mut names = vec![0; size.min(MAX_ATTRIBUTE_BYTES)];
    let Ok(size) = flistxattr(file, &mut names[..]) else {
        return Vec::new();
    };
    let names = names[..size].split(|byte| *byte == 0);
    let names = names.filter_map(|name| std::str::from_utf8(name).ok());
    names
        .filter(|name| !name.is_empty() && !OF_CONTENT.contains(name))
        .map(str::to_owned)
        .collect()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn all_attributes(_: &File) -> Vec<String> {
    Vec::new()
}

/// Returns the names of the extended attributes that people or programs have given a file.
pub(crate) fn attribute_names(file: &File) -> Vec<String> {
    let mut names = all_attributes(file);
    // the system sets these by itself
    names.retain(|name| !name.starts_with("security."));
    names
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn copy_attributes(_: &File, _: &File) -> Vec<String> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_is_an_error_and_never_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("settings.json");
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).unwrap();
        let error = read_settings(&fifo).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(read_text(&fifo), None);
        assert!(read_settings(dir.path()).is_err());
        let gone = read_settings(&dir.path().join("gone")).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
    }
}
