//! Removal of a directory with everything in it, whatever modes a step gave it. It follows no links.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, openat, statat};

use super::write::WithPath;

/// Removes a directory. Read-only and unreadable directories in it are opened first.
pub(crate) fn remove_tree(dir: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(CWD.as_fd(), dir)?;
            std::fs::remove_dir_all(dir).with_path(dir)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.with_path(dir),
    }
}

/// Removes what is in a directory; the directory itself stays.
pub(crate) fn empty_tree(dir: &Path) -> io::Result<()> {
    if let Ok(found) = std::fs::symlink_metadata(dir) {
        let mut permissions = found.permissions();
        let mode = std::os::unix::fs::PermissionsExt::mode(&permissions);
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, mode | 0o700);
        std::fs::set_permissions(dir, permissions).with_path(dir)?;
    }
    for entry in std::fs::read_dir(dir).with_path(dir)? {
        let entry = entry.with_path(dir)?;
        let path = entry.path();
        if entry.file_type().with_path(&path)?.is_dir() {
            remove_tree(&path)?;
        } else {
            std::fs::remove_file(&path).with_path(&path)?;
        }
    }
    Ok(())
}

/// Lets the user read, write and enter a directory and all below it.
fn open_up<P: rustix::path::Arg + Copy>(
    above: std::os::fd::BorrowedFd<'_>,
    name: P,
) -> io::Result<()> {
    chmodat(above, name, Mode::RWXU, AtFlags::empty())?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = openat(above, name, flags, Mode::empty())?;
    for name in directories(&dir)? {
        open_up(dir.as_fd(), name.as_c_str())?;
    }
    Ok(())
}

fn directories(dir: &OwnedFd) -> io::Result<Vec<std::ffi::CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name: &CStr = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                FileType::from_raw_mode(statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)
            }
            kind => kind,
        };
        if kind == FileType::Directory {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
