//! Copies of files into a run. Neither side follows a link: what a name of the user or of a step leads to outside stays there.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::place::{WithPath, remove_tree};

/// Directories below a root, each looked at once.
#[derive(Debug)]
pub(crate) struct Directories {
    root: PathBuf,
    known: HashMap<PathBuf, bool>,
}

impl Directories {
    pub fn below(root: &Path) -> Directories {
        let known = HashMap::from([(PathBuf::new(), true)]);
        Directories {
            root: root.to_owned(),
            known,
        }
    }

    /// True if the relative path and all above it are directories, and no links.
    pub fn are_real(&mut self, dir: &Path) -> bool {
        if let Some(known) = self.known.get(dir) {
            return *known;
        }
        let above = dir.parent().is_some_and(|above| self.are_real(above));
        let is_real =
            above && fs::symlink_metadata(self.root.join(dir)).is_ok_and(|found| found.is_dir());
        self.known.insert(dir.to_owned(), is_real);
        is_real
    }

    /// Makes the relative directory and those above it; a link or a file under one of the names is replaced.
    pub fn make(&mut self, dir: &Path) -> io::Result<()> {
        if self.known.get(dir) == Some(&true) {
            return Ok(());
        }
        if let Some(above) = dir.parent() {
            self.make(above)?;
        }
        let path = self.root.join(dir);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                fs::remove_file(&path).with_path(&path)?;
                fs::create_dir(&path).with_path(&path)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir(&path).with_path(&path)?;
            }
            Err(error) => return Err(error).with_path(&path),
        }
        self.known.insert(dir.to_owned(), true);
        Ok(())
    }
}

/// Copies a file; its blocks are shared where the file system can. The mode is one that git knows. Returns the size.
pub(super) fn copy_file(source: &Path, target: &Path, is_executable: bool) -> io::Result<u64> {
    // a pipe under the name would hold the open
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let from = openat(CWD, source, flags, Mode::empty()).map_err(io::Error::from);
    let mut from = File::from(from.with_path(source)?);
    if !from.metadata().with_path(source)?.is_file() {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(error).with_path(source);
    }
    remove_entry(target)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
    if is_executable {
        mode |= Mode::XUSR | Mode::XGRP | Mode::XOTH;
    }
    let to = openat(CWD, target, flags, mode);
    let mut to = File::from(to.map_err(io::Error::from).with_path(target)?);
    if shares_blocks(&to, &from) {
        return to.metadata().map(|file| file.len());
    }
    io::copy(&mut from, &mut to).with_path(target)
}

#[cfg(target_os = "linux")]
fn shares_blocks(to: &File, from: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn shares_blocks(_: &File, _: &File) -> bool {
    false
}

pub(super) fn copy_link(source: &Path, target: &Path) -> io::Result<()> {
    let to = fs::read_link(source).with_path(source)?;
    remove_entry(target)?;
    std::os::unix::fs::symlink(to, target).with_path(target)
}

/// Removes a file, a link or a directory, if there is one.
pub(super) fn remove_entry(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => remove_tree(path),
        Ok(_) => fs::remove_file(path).with_path(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_path(path),
    }
}

/// The directory `path` of a workspace; an error for one outside of it, by its name or by a link.
pub(super) fn below_workspace(workspace: &Path, path: &str) -> Result<PathBuf, String> {
    let mut relative = PathBuf::new();
    let whole = workspace.join(path);
    let outside = || {
        format!(
            "Repository path '{}' is not under '{}'",
            whole.display(),
            workspace.display()
        )
    };
    let below = whole.strip_prefix(workspace).map_err(|_| outside())?;
    for component in below.components() {
        match component {
            Component::Normal(name) => relative.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !relative.pop() {
                    return Err(outside());
                }
            }
            Component::RootDir | Component::Prefix(_) => return Err(outside()),
        }
    }
    let mut dir = workspace.to_owned();
    for name in &relative {
        dir.push(name);
        if fs::symlink_metadata(&dir).is_ok_and(|found| !found.is_dir()) {
            return Err(format!(
                "{} is not a directory, so nothing is put below it: remove it in a step before",
                dir.display()
            ));
        }
    }
    Ok(dir)
}

/// True for a regular file; a link to one is not.
pub(super) fn is_plain_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// A path from bytes that git gives.
pub(super) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
