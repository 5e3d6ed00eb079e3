//! Writing of small files: durably, and with errors that name the file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;

pub(crate) trait WithPath<T> {
    /// Adds the path to the error's text; its kind stays.
    fn with_path(self, path: &Path) -> io::Result<T>;
}

impl<T> WithPath<T> for io::Result<T> {
    fn with_path(self, path: &Path) -> io::Result<T> {
        self.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }
}

/// Writes a private file as a whole: after a crash it has the old text or the new one.
pub(crate) fn write_durably(file: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(file, |new| write_new(new, bytes)?.sync_all())?;
    match file.parent() {
        Some(dir) => File::open(dir)
            .and_then(|dir| dir.sync_all())
            .with_path(dir),
        None => Ok(()),
    }
}

/// Writes a private file that only its run needs. A run does not outlive a crash of the machine, so nothing is synced.
pub(crate) fn write_for_run(file: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(file, |new| write_new(new, bytes).map(drop))
}

/// Makes a link that only its run needs, in place of what has the name.
pub(crate) fn link_for_run(file: &Path, target: &Path) -> io::Result<()> {
    replace(file, |new| {
        remove_old(new)?;
        symlink(target, new)
    })
}

/// Makes the new file under another name, and gives it its name then.
fn replace(file: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new.{}", std::process::id()));
    let new = file.with_file_name(name);
    if let Err(error) = make(&new).and_then(|()| fs::rename(&new, file)) {
        // the old file stays, and a part of the new one helps nobody
        let _ = fs::remove_file(&new);
        return Err(error).with_path(file);
    }
    Ok(())
}

/// Writes a file that was not there: a link that a step made under its name is not followed.
fn write_new(file: &Path, bytes: &[u8]) -> io::Result<File> {
    remove_old(file)?;
    let mut options = OpenOptions::new();
    let mut new = options
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(file)?;
    new.write_all(bytes)?;
    Ok(new)
}

/// Removes what a process that was killed has left under a name.
fn remove_old(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a link. One that is there stays as it is.
pub(super) fn link(to: &Path, at: &Path) -> io::Result<()> {
    match symlink(to, at) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error).with_path(at),
        _ => Ok(()),
    }
}
