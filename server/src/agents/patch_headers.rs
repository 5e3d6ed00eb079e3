//! The paths in the headers of a patch, in the form that Codex began and others took over. Pure.

use std::path::PathBuf;

const HEADERS: [&str; 4] = [
    "*** Update File: ",
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// Returns each path once. Relative ones count from the directory of the call.
pub fn paths(patch: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for line in patch.lines() {
        let path = HEADERS.iter().find_map(|header| line.strip_prefix(header));
        if let Some(path) = path.map(|path| PathBuf::from(path.trim()))
            && !paths.contains(&path)
        {
            paths.push(path);
        }
    }
    paths
}
