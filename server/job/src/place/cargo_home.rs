//! The run's `CARGO_HOME`: its own settings and programs, and a registry that all runs share.
//!
//! The registry is a copy beside the runs, not a link to the user's. Cargo guards a registry by a lock in its home; two homes with one
//! registry would have two locks. Packages of the user are hard links, which cost nothing; the index is copied, as cargo rewrites
//! its files.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

use super::host::Host;
use super::{WithPath, create_private, link};

/// Names of the shared parts; the locks go with what they guard.
const SHARED_DIRS: [&str; 2] = ["registry", "git"];
const SHARED_LOCKS: [&str; 2] = [".package-cache", ".package-cache-mutate"];

/// Parts of a registry that cargo cannot make anew without the network.
const SEEDED: [&str; 3] = ["registry/cache", "registry/index", "git/db"];

/// Makes the home, and adds what the user has downloaded to the shared registry.
pub(super) fn make(home: &Path, shared: &Path, host: &Host) -> io::Result<()> {
    create_private(&home.join("bin"))?;
    for name in SHARED_DIRS {
        create_private(&shared.join(name))?;
        link(&shared.join(name), &home.join(name))?;
    }
    for name in SHARED_LOCKS {
        let file = shared.join(name);
        fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)
            .with_path(&file)?;
        link(&file, &home.join(name))?;
    }
    let Some(user) = host.directory("CARGO_HOME", ".cargo") else {
        return Ok(());
    };
    for part in SEEDED {
        let from = user.join(part);
        if from.is_dir() {
            // an unreadable or changing file costs a download, not the run
            let _ = seed(&from, &shared.join(part));
        }
    }
    Ok(())
}

/// Adds files that are missing or older. Links are left out.
fn seed(from: &Path, to: &Path) -> io::Result<()> {
    create_private(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let Ok(found) = fs::symlink_metadata(&source) else {
            continue;
        };
        if found.is_dir() {
            let _ = seed(&source, &target);
        } else if found.is_file() && is_newer(&found, fs::symlink_metadata(&target).ok().as_ref()) {
            let _ = add(&source, &target);
        }
    }
    Ok(())
}

fn is_newer(user: &Metadata, own: Option<&Metadata>) -> bool {
    let Some(own) = own else { return true };
    match (user.modified(), own.modified()) {
        (Ok(user), Ok(own)) => user > own,
        _ => false,
    }
}

/// Adds one file: whole from the beginning, as another run may read it. Packages and packs of git never change.
fn add(source: &Path, target: &Path) -> io::Result<()> {
    let is_fixed = source
        .extension()
        .is_some_and(|extension| extension == "crate" || extension == "pack");
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new.{}", std::process::id()));
    let new = target.with_file_name(name);
    if !(is_fixed && fs::hard_link(source, &new).is_ok()) {
        fs::copy(source, &new)?;
    }
    let renamed = fs::rename(&new, target);
    // a rename of one hard link onto another of the same file does nothing
    let _ = fs::remove_file(&new);
    renamed
}
