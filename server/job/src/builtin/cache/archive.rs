//! Archives of a cache, by the system's `tar`. Their members are relative to a base of the run, and none has `..` in it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::place::{RunPlace, WithPath};

/// Characters of tar's own words that an error shows.
const MAX_WORDS: usize = 400;

/// A directory that is at another place in each run, and the root for everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Workspace,
    Files,
    Root,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Compression {
    Zstd,
    Gzip,
}

impl Base {
    pub const ALL: [Base; 3] = [Base::Workspace, Base::Files, Base::Root];

    pub fn directory(self, place: &RunPlace) -> PathBuf {
        match self {
            Base::Workspace => place.workspace.clone(),
            Base::Files => place.files.clone(),
            Base::Root => PathBuf::from("/"),
        }
    }

    pub fn file_name(self) -> &'static str {
        match self {
            Base::Workspace => "workspace.tar",
            Base::Files => "files.tar",
            Base::Root => "root.tar",
        }
    }

    /// The first base that contains a path, and the path below it.
    pub fn of<'a>(place: &RunPlace, path: &'a Path) -> (Base, &'a Path) {
        for base in [Base::Workspace, Base::Files] {
            if let Ok(below) = path.strip_prefix(base.directory(place)) {
                return (base, below);
            }
        }
        (Base::Root, path.strip_prefix("/").unwrap_or(path))
    }
}

impl Compression {
    /// The best one of which the program is here.
    pub fn available() -> Compression {
        let version = Command::new("zstd").arg("--version").output();
        if version.is_ok_and(|version| version.status.success()) {
            Compression::Zstd
        } else {
            Compression::Gzip
        }
    }

    fn option(self) -> &'static str {
        match self {
            Compression::Zstd => "--use-compress-program=zstd -q -T0",
            Compression::Gzip => "--use-compress-program=gzip",
        }
    }

    fn reading_option(self) -> &'static str {
        match self {
            Compression::Zstd => "--use-compress-program=zstd -q -d",
            Compression::Gzip => "--use-compress-program=gzip -d",
        }
    }
}

/// Writes an archive of paths below a directory. `list` is a file for their names.
pub(super) fn create(
    archive: &Path,
    list: &Path,
    directory: &Path,
    members: &[&Path],
    compression: Compression,
) -> io::Result<()> {
    let mut names = Vec::new();
    for member in members {
        // no name begins with a dash, which tar would take for an option
        names.extend_from_slice(b"./");
        names.extend_from_slice(member.as_os_str().as_bytes());
        names.push(0);
    }
    File::create(list)
        .and_then(|mut file| file.write_all(&names))
        .with_path(list)?;
    let mut tar = tar();
    tar.arg("-cf")
        .arg(archive)
        .arg(compression.option())
        .arg("-C")
        .arg(directory);
    tar.args(["--null", "-T"]).arg(list);
    run(tar)?;
    // the archive reaches the disk before the cache gets its name
    File::open(archive)
        .and_then(|file| file.sync_all())
        .with_path(archive)?;
    fs::remove_file(list).with_path(list)
}

/// Extracts an archive below a directory.
pub(super) fn extract(
    archive: &Path,
    directory: &Path,
    compression: Compression,
) -> io::Result<()> {
    let mut tar = tar();
    tar.arg("-xf")
        .arg(archive)
        .arg(compression.reading_option())
        .arg("-C")
        .arg(directory);
    run(tar)
}

fn tar() -> Command {
    let mut tar = Command::new("tar");
    for name in ["TAR_OPTIONS", "ZSTD_CLEVEL", "ZSTD_NBTHREADS", "GZIP"] {
        tar.env_remove(name);
    }
    tar.env("LC_ALL", "C");
    tar
}

fn run(mut tar: Command) -> io::Result<()> {
    let output = tar.output().map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("tar cannot be started ({error}): install tar"),
        )
    })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words: String = words.trim().chars().take(MAX_WORDS).collect();
    Err(io::Error::other(format!(
        "tar says: {}",
        words.replace('\n', "; ")
    )))
}
