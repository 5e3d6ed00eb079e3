//! The run's `RUSTUP_HOME`: its own settings, and toolchains whose files are links to the user's.
//!
//! For rustup a toolchain is what its name says. Through a link to the user's directory, `rustup update stable` or a
//! `rust-toolchain.toml` with components would change the toolchain of the user. So each directory is the run's. A file is
//! replaced by another of the same name, and never written into; those that rustup edits are copies.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::host::Host;
use super::{RunPlace, WithPath, create_private, link};

/// Directory of a toolchain with rustup's lists of what is installed.
const LISTS: &str = "lib/rustlib";

/// Makes the home. The toolchains lie outside of what a step back changes.
pub(super) fn make(home: &Path, place: &RunPlace, host: &Host) -> io::Result<()> {
    let toolchains = place.dir.join("toolchains");
    create_private(&toolchains)?;
    create_private(home)?;
    link(&toolchains, &home.join("toolchains"))?;
    let Some(user) = host.directory("RUSTUP_HOME", ".rustup") else {
        return Ok(());
    };
    let (settings, own) = (user.join("settings.toml"), home.join("settings.toml"));
    if settings.is_file() && !own.exists() {
        fs::copy(&settings, &own).with_path(&settings)?;
    }
    let of_user = user.join("toolchains");
    let Ok(of_user) = of_user.canonicalize() else {
        return Ok(());
    };
    for entry in fs::read_dir(&of_user).with_path(&of_user)? {
        let entry = entry.with_path(&of_user)?;
        let (source, own) = (entry.path(), toolchains.join(entry.file_name()));
        let Ok(found) = source.canonicalize() else {
            continue;
        };
        if fs::symlink_metadata(&own).is_ok() || !found.is_dir() {
            continue;
        }
        match found.strip_prefix(&of_user) {
            // a toolchain that was built elsewhere, which rustup does not change
            Err(_) => link(&found, &own)?,
            Ok(name) if found != source => link(&toolchains.join(name), &own)?,
            // a file that cannot be read is missing in the run, and nothing else
            Ok(_) => {
                let _ = copy(&source, &own, &whole_directories(&source));
            }
        }
    }
    Ok(())
}

/// Directories that are installed and removed as one, such as the documentation.
fn whole_directories(toolchain: &Path) -> HashSet<PathBuf> {
    let mut all = HashSet::new();
    let entries = fs::read_dir(toolchain.join(LISTS));
    for entry in entries.into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("manifest-") {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            let names = text.lines().filter_map(|line| line.strip_prefix("dir:"));
            all.extend(names.map(|name| toolchain.join(name)));
        }
    }
    all
}

fn copy(source: &Path, own: &Path, whole: &HashSet<PathBuf>) -> io::Result<()> {
    create_private(own)?;
    let is_list = source.ends_with(LISTS);
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        let (source, own) = (entry.path(), own.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() && !whole.contains(&source) {
            copy(&source, &own, whole)?;
        } else if kind.is_file() && is_list {
            fs::copy(&source, &own)?;
        } else if !(kind.is_file() && fs::hard_link(&source, &own).is_ok()) {
            // on another file system, or of another user
            symlink(&source, &own)?;
        }
    }
    Ok(())
}
