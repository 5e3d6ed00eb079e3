//! Paths of the workspace: relative to its root, without links, without dots.

use std::path::{Component, Path, PathBuf};

/// Returns a path relative to the root with `/`, absolute if it is outside of it.
pub fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

/// As `relative`, for a path that may lead into the root through a link outside of it.
pub fn inside(root: &Path, path: &Path) -> String {
    if !path.starts_with(root)
        && let Some(real) = resolved(path)
    {
        return relative(root, &real);
    }
    relative(root, path)
}

/// Returns a path without links. Its end need not exist.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|existing| {
        let real = existing.canonicalize().ok()?;
        let rest = path.strip_prefix(existing).ok()?;
        Some(if rest.as_os_str().is_empty() {
            real
        } else {
            real.join(rest)
        })
    })
}

/// Resolves `.` and `..` without a look at the disk.
pub fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}
