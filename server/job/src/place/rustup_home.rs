//! The run's `RUSTUP_HOME`: its own settings, and one link for each toolchain of the user.
//!
//! The directory of toolchains is the run's, so that a new toolchain lands there. For rustup a link
//! is a custom toolchain, which it does not update.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::host::Host;
use super::{WithPath, create_private};

pub(super) fn make(home: &Path, host: &Host) -> io::Result<()> {
    let toolchains = home.join("toolchains");
    create_private(&toolchains)?;
    let Some(user) = host.directory("RUSTUP_HOME", ".rustup") else {
        return Ok(());
    };
    let (settings, own) = (user.join("settings.toml"), home.join("settings.toml"));
    if settings.is_file() && !own.exists() {
        fs::copy(&settings, &own).with_path(&settings)?;
    }
    let Ok(entries) = fs::read_dir(user.join("toolchains")) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry.with_path(&user)?;
        // the user's own link leads to a toolchain that was built elsewhere
        let Ok(toolchain) = entry.path().canonicalize() else {
            continue;
        };
        let link = toolchains.join(entry.file_name());
        match symlink(&toolchain, &link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).with_path(&link);
            }
            _ => {}
        }
    }
    Ok(())
}
