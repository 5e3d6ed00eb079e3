//! Paths as typed: relative to the current directory, or to the root of the workspace.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use backstitch_core::Engine;
use backstitch_core::model::RelPath;

use super::{QueryError, QueryResult};

/// The places that typed paths are relative to.
#[derive(Clone, Copy, Debug)]
pub struct TypedPaths<'a> {
    pub engine: &'a Engine,
    pub cwd: &'a Path,
}

impl TypedPaths<'_> {
    /// Converts a typed path to one relative to the root; None is the root itself. The path is relative to the
    /// current directory. If nothing has that name there, it is relative to the root, as in the output.
    pub fn path(self, typed: &OsStr) -> QueryResult<Option<RelPath>> {
        let typed = Path::new(typed);
        let root = self.engine.root();
        let Some(path) = relative(root, self.cwd, typed)? else {
            return Ok(None);
        };
        if let Ok(Some(other)) = relative(root, root, typed)
            && other != path
            && !self.exists(&path)?
            && self.exists(&other)?
        {
            return Ok(Some(other));
        }
        Ok(Some(path))
    }

    /// True if a file or directory has this path now, or had it at any checkpoint.
    pub fn exists(self, path: &RelPath) -> QueryResult<bool> {
        Ok(self.engine.history().has_path(self.engine.root(), path)?)
    }

    /// Converts typed paths. Returns an empty list, which means all paths, if one of them is the root.
    pub fn paths<S: AsRef<OsStr>>(self, typed: &[S]) -> QueryResult<Vec<RelPath>> {
        let paths: Option<Vec<RelPath>> = typed
            .iter()
            .map(|path| self.path(path.as_ref()))
            .collect::<QueryResult<_>>()?;
        Ok(paths.unwrap_or_default())
    }
}

/// Returns a typed path relative to the root. If the current directory is outside the root, the typed path is
/// relative to the root.
fn relative(root: &Path, cwd: &Path, typed: &Path) -> QueryResult<Option<RelPath>> {
    let base = if cwd.starts_with(root) { cwd } else { root };
    let full = normalize(&base.join(typed));
    let inside = full.strip_prefix(root).map(Path::to_path_buf).or_else(|_| {
        // The path may lead to the root through a symbolic link.
        let parent = full
            .parent()
            .and_then(|dir| dir.canonicalize().ok())
            .unwrap_or_default();
        let real = parent.join(full.file_name().unwrap_or_default());
        real.strip_prefix(root).map(Path::to_path_buf)
    });
    let inside = inside.map_err(|_| {
        QueryError::usage(format!(
            "{} is not in the workspace {}",
            typed.display(),
            root.display()
        ))
        .hint("paths are relative to the current directory or to the workspace's root; --workspace names another workspace")
    })?;
    if inside.as_os_str().is_empty() {
        return Ok(None);
    }
    let path = RelPath::from_path(&inside);
    path.map(Some)
        .ok_or_else(|| QueryError::usage(format!("{} is not a path", typed.display())))
}

/// Removes `.` and `..` lexically, because the path may no longer exist.
pub fn normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normalized.pop();
            }
            other => normalized.push(other),
        }
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cwd: &str, typed: &str) -> QueryResult<Option<String>> {
        let path = relative(Path::new("/w"), Path::new(cwd), Path::new(typed))?;
        Ok(path.map(|path| path.display()))
    }

    #[test]
    fn paths_are_relative_to_the_current_directory() {
        assert_eq!(read("/w/src", "a.rs").unwrap().as_deref(), Some("src/a.rs"));
        assert_eq!(read("/w/src", "../b").unwrap().as_deref(), Some("b"));
        assert_eq!(read("/w/src", "/w/c/./d/").unwrap().as_deref(), Some("c/d"));
        assert_eq!(read("/elsewhere", "a").unwrap().as_deref(), Some("a"));
        assert_eq!(read("/w", ".").unwrap(), None);
    }

    #[test]
    fn paths_outside_are_usage_errors() {
        assert_eq!(
            read("/w", "../x").unwrap_err().kind,
            backstitch_core::ErrorKind::Usage
        );
        assert!(read("/w", "/etc/passwd").is_err());
    }
}
