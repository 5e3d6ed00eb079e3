//! Files of the workspace that match a pattern now. Owns the bound of such a search.

use std::path::Path;

use backstitch_control::{SearchedFiles, fixed_start, glob};

use super::paths::relative;

/// Maximum number of entries of directories that are read for one word of a command.
const MAX_WALK: usize = 5000;

/// True if a file below a directory matches, or the directory is too large to tell. `left`: entries that may be read.
fn any_below(root: &Path, dir: &Path, is_match: &dyn Fn(&str) -> bool, left: &mut usize) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return false;
    };
    for entry in entries.flatten() {
        if *left == 0 {
            return true;
        }
        *left -= 1;
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let found = if is_dir {
            entry.file_name() != ".git" && any_below(root, &path, is_match, left)
        } else {
            is_match(&relative(root, &path))
        };
        if found {
            return true;
        }
    }
    false
}

/// Returns the paths that a word with wildcards stands for, as a shell expands it. `word`: relative to the root.
pub fn expanded(root: &Path, word: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for part in word.split('/').filter(|part| !part.is_empty()) {
        let join = |dir: &str, name: &str| {
            if dir.is_empty() {
                name.to_owned()
            } else {
                format!("{dir}/{name}")
            }
        };
        let (fixed, is_plain) = fixed_start(part);
        if is_plain {
            found = found.iter().map(|dir| join(dir, &fixed)).collect();
            continue;
        }
        let Ok(pattern) = glob(part) else {
            return Vec::new();
        };
        // `**` stands for no directory, too
        let mut next = if part == "**" {
            found.clone()
        } else {
            Vec::new()
        };
        for dir in &found {
            let Ok(entries) = std::fs::read_dir(root.join(dir)) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                // a wildcard does not stand for the first dot
                let is_hidden = name.starts_with('.') && !part.starts_with('.');
                if !is_hidden && pattern.is_match(&name) && next.len() < MAX_WALK {
                    next.push(join(dir, &name));
                }
            }
        }
        found = next;
    }
    found
}

/// True if a file below a directory of the workspace matches, or the directory is too large to tell.
pub fn has_below(root: &Path, dir: &str, pattern: &str) -> bool {
    let Ok(pattern) = glob(pattern) else {
        return true;
    };
    let is_match = |path: &str| pattern.is_match(path);
    any_below(root, &root.join(dir), &is_match, &mut MAX_WALK.clone())
}

/// True if a file of the workspace matches both patterns, or the tree is too large to tell.
pub fn has_both(root: &Path, search: &SearchedFiles, pattern: &str) -> bool {
    let (Ok(one), Ok(other)) = (glob(pattern), glob(&search.glob)) else {
        return true;
    };
    let is_match = |path: &str| one.is_match(path) && other.is_match(path);
    any_below(
        root,
        &root.join(&search.dir),
        &is_match,
        &mut MAX_WALK.clone(),
    )
}

/// True if a file of the workspace matches a pattern now. None: the tree is too large to tell.
pub fn matches_now(root: &Path, pattern: &str) -> Option<bool> {
    let (fixed, is_whole) = fixed_start(pattern);
    if is_whole || fixed.starts_with('/') {
        return Some(root.join(&fixed).symlink_metadata().is_ok());
    }
    let pattern = glob(pattern).ok()?;
    let dir = fixed.rsplit_once('/').map_or("", |(dir, _)| dir);
    let mut left = MAX_WALK;
    let is_match = |path: &str| pattern.is_match(path);
    let found = any_below(root, &root.join(dir), &is_match, &mut left);
    (left > 0).then_some(found)
}
