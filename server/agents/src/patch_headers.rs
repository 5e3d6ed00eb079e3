//! The paths in the headers of a patch, in the form that Codex began and others took over. Pure.

use std::path::PathBuf;

const HEADERS: [&str; 4] = [
    "*** Update File: ",
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
];
const DIFF_HEADERS: [&str; 6] = [
    "--- ",
    "+++ ",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
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

/// Returns the paths in the headers of any patch, also in those of `git diff` and `diff -u`. A path `b/x` also counts as `x`.
pub fn paths_of_any(patch: &str) -> Vec<PathBuf> {
    let mut found = paths(patch);
    for line in patch.lines() {
        let path = DIFF_HEADERS
            .iter()
            .find_map(|header| line.strip_prefix(header));
        // a time follows a tab
        let path = path.map(|path| path.split('\t').next().unwrap_or(path).trim());
        let Some(path) = path.filter(|path| !path.is_empty() && *path != "/dev/null") else {
            continue;
        };
        let path = path.trim_matches('"');
        let stripped = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
        for path in std::iter::once(path).chain(stripped).map(PathBuf::from) {
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}
