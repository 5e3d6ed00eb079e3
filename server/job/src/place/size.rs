//! Disk space of a run.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of a block, as the system counts them.
const BLOCK: u64 = 512;

/// Bytes on disk of a directory with everything in it. Files with several names count once, and what cannot be read counts nothing.
pub fn disk_size(dir: &Path) -> u64 {
    let mut seen = HashSet::new();
    let mut left: Vec<PathBuf> = vec![dir.to_owned()];
    let mut size = 0;
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else {
                continue;
            };
            size += new_bytes(&found, &mut seen);
            if found.is_dir() {
                left.push(entry.path());
            }
        }
    }
    size
}

fn new_bytes(found: &Metadata, seen: &mut HashSet<(u64, u64)>) -> u64 {
    let is_new = found.is_dir() || found.nlink() < 2 || seen.insert((found.dev(), found.ino()));
    if is_new { found.blocks() * BLOCK } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_files_count_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let below = dir.path().join("a/b");
        fs::create_dir_all(&below).expect("directories");
        let empty = disk_size(dir.path());
        fs::write(below.join("one"), vec![1; 100_000]).expect("a file");
        let one = disk_size(dir.path());
        assert!(one >= empty + 100_000, "{empty} {one}");
        fs::hard_link(below.join("one"), dir.path().join("two")).expect("a link");
        std::os::unix::fs::symlink("/usr", dir.path().join("three")).expect("a link");
        assert!(disk_size(dir.path()) < one + 100_000);
    }
}
