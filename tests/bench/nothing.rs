//! The minimum of any process, for the benchmark to compare with: it starts and ends.
//!
//! `bench-nothing append FILE` makes one write durable first. `bench-nothing replace FILE...` replaces files, each
//! atomically, all of them durable at the end.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Result, Write as _};
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|mode| mode.to_str()) {
        Some("append") => args.try_for_each(|path| append(Path::new(&path))),
        Some("replace") => replace(args),
        _ => Ok(()),
    }
}

fn append(path: &Path) -> Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(&[b'x'; 1024])?;
    file.sync_data()
}

fn replace(paths: impl Iterator<Item = OsString>) -> Result<()> {
    let mut dirs = BTreeSet::new();
    for path in paths.map(PathBuf::from) {
        let temp = path.with_extension("new");
        let mut file = File::create(&temp)?;
        file.write_all(&[b'x'; 8192])?;
        file.sync_all()?;
        fs::rename(&temp, &path)?;
        dirs.extend(path.parent().map(Path::to_owned));
    }
    dirs.iter().try_for_each(|dir| File::open(dir)?.sync_all())
}
