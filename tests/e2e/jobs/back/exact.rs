//! The files of a moment with their modes and times.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// All below a directory by path: modes, times in nanoseconds, and contents or targets.
pub type Exact = BTreeMap<String, (u32, i128, Vec<u8>)>;

pub fn exact(root: &Path) -> Exact {
    let mut found = BTreeMap::new();
    let mut dirs = vec![root.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("a directory").flatten() {
            let (path, stat) = (entry.path(), entry.metadata().expect("metadata"));
            let content = if stat.is_symlink() {
                let target = fs::read_link(&path).expect("a link");
                target.into_os_string().into_encoded_bytes()
            } else if stat.is_file() {
                fs::read(&path).expect("a file")
            } else {
                dirs.extend(stat.is_dir().then(|| path.clone()));
                Vec::new()
            };
            let time = i128::from(stat.mtime()) * 1_000_000_000 + i128::from(stat.mtime_nsec());
            let name = path.strip_prefix(root).expect("below");
            found.insert(name.display().to_string(), (stat.mode(), time, content));
        }
    }
    found
}

/// Paths at which two moments differ, with a word about it.
pub fn differing(one: &Exact, other: &Exact) -> Vec<String> {
    let mut paths: Vec<&String> = one.keys().chain(other.keys()).collect();
    paths.sort();
    paths.dedup();
    let word = |path: &&String| match (one.get(*path), other.get(*path)) {
        (Some(_), None) => Some("missing"),
        (None, Some(_)) => Some("there"),
        (Some(one), Some(other)) if one.0 != other.0 => Some("mode"),
        (Some(one), Some(other)) if one.2 != other.2 => Some("content"),
        (Some(one), Some(other)) if one.1 != other.1 => Some("time"),
        _ => None,
    };
    paths
        .iter()
        .filter_map(|path| Some(format!("{path}: {}", word(path)?)))
        .collect()
}
