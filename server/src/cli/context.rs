//! What a command works with: the opened workspace, the way out, and the reading of revisions and
//! paths as typed.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use backstitch_core::config::Config;
use backstitch_core::model::{NodeId, RelPath};
use backstitch_core::{Engine, Locate, LogFilter, Workspace};

use super::args::GlobalArgs;
use super::error::{CliError, CliResult, ExitKind};
use super::out::Out;
use crate::render;

#[derive(Debug)]
pub struct CommandContext<'a> {
    pub engine: Engine,
    pub root: PathBuf,
    pub out: &'a Out,
    cwd: PathBuf,
}

/// The workspace that the options and the current directory name.
pub fn find(global: &GlobalArgs) -> CliResult<Workspace> {
    if let Some(named) = &global.workspace {
        let dir = named.display();
        let meta = std::fs::metadata(named).map_err(|error| {
            let kind = match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => ExitKind::NotFound,
                _ => ExitKind::Failed,
            };
            CliError::new(
                kind,
                format!("the workspace {dir} cannot be opened: {error}"),
            )
            .hint("--workspace names an existing directory; without it the current one counts")
        })?;
        if !meta.is_dir() {
            return Err(CliError::usage(format!("{dir} is not a directory"))
                .hint("--workspace names the directory that the files are in"));
        }
    }
    Ok(Workspace::find(&locate(global, &current_dir()?))?)
}

pub fn locate<'a>(global: &'a GlobalArgs, cwd: &'a Path) -> Locate<'a> {
    Locate {
        workspace: global.workspace.as_deref(),
        store_dir: global.store_dir.as_deref(),
        cwd,
    }
}

/// Says what is wrong in the files of settings.
pub fn warn_of_settings(config: &Config, out: &Out) {
    for problem in config.problems() {
        out.note("warning", &problem);
    }
}

pub fn current_dir() -> CliResult<PathBuf> {
    std::env::current_dir().map_err(|e| CliError::failed(format!("the current directory: {e}")))
}

impl<'a> CommandContext<'a> {
    /// Only a command that records makes a store where there is none.
    pub fn open(global: &GlobalArgs, records: bool, out: &'a Out) -> CliResult<Self> {
        let workspace = find(global)?;
        let mut engine = if records {
            Engine::open(&workspace)?
        } else {
            Engine::open_existing(&workspace)?
        };
        engine.on_progress(out.progress());
        if let Some(notice) = engine.notice() {
            out.note("note", notice);
        }
        warn_of_settings(&engine.config(), out);
        Ok(Self {
            root: engine.root().to_path_buf(),
            engine,
            out,
            cwd: current_dir()?,
        })
    }

    pub fn node(&self, rev: &str) -> CliResult<NodeId> {
        self.head()?;
        Ok(self.engine.resolve(rev)?)
    }

    /// The same for a command that goes on from there. Where `@` or the branch that one is on is named, that is
    /// the disk as it is now: what is not recorded of it becomes a checkpoint first.
    pub fn node_now(&mut self, rev: &str) -> CliResult<NodeId> {
        if self.engine.names_head(rev)? {
            self.engine.record_changes()?;
        }
        self.node(rev)
    }

    /// The newest checkpoint, of which there may be none yet.
    pub fn head(&self) -> CliResult<NodeId> {
        let head = self.engine.head()?;
        Ok(head.ok_or_else(|| backstitch_core::Error::NoStore(self.root.clone()))?)
    }

    /// A path as typed, relative to the root; None for the root itself. It counts from the current
    /// directory; what is not known there counts from the root, as answers write it.
    pub fn path(&self, typed: &OsStr) -> CliResult<Option<RelPath>> {
        let typed = Path::new(typed);
        let Some(path) = relative(&self.root, &self.cwd, typed)? else {
            return Ok(None);
        };
        if let Ok(Some(other)) = relative(&self.root, &self.root, typed)
            && other != path
            && !self.knows(&path)?
            && self.knows(&other)?
        {
            return Ok(Some(other));
        }
        Ok(Some(path))
    }

    /// Whether a file or directory of this name is there, or was at any checkpoint.
    pub fn knows(&self, path: &RelPath) -> CliResult<bool> {
        if self.root.join(path.to_path()).symlink_metadata().is_ok() {
            return Ok(true);
        }
        if let Some(head) = self.engine.head()?
            && self
                .engine
                .paths_at(head)?
                .iter()
                .any(|p| p.within(path.bytes()))
        {
            return Ok(true);
        }
        let ever = self.engine.log(&LogFilter {
            limit: Some(1),
            path: Some(path.clone()),
            all_branches: true,
            ..LogFilter::default()
        })?;
        Ok(!ever.is_empty())
    }

    /// The same, or the error that says so.
    pub fn known(&self, path: &RelPath) -> CliResult<()> {
        if self.knows(path)? {
            return Ok(());
        }
        let path = render::path(path.bytes());
        Err(CliError::not_found(format!("no checkpoint knows {path}"))
            .hint("`backstitch log --all` shows the paths that changed"))
    }

    /// Paths as typed; empty, which means all, where one of them is the root.
    pub fn paths<S: AsRef<OsStr>>(&self, typed: &[S]) -> CliResult<Vec<RelPath>> {
        let paths: Option<Vec<RelPath>> = typed
            .iter()
            .map(|path| self.path(path.as_ref()))
            .collect::<CliResult<_>>()?;
        Ok(paths.unwrap_or_default())
    }
}

/// Outside the root, the current directory says nothing about the workspace: what is typed counts from
/// the root.
fn relative(root: &Path, cwd: &Path, typed: &Path) -> CliResult<Option<RelPath>> {
    let base = if cwd.starts_with(root) { cwd } else { root };
    let full = normal(&base.join(typed));
    let inside = full.strip_prefix(root).map(Path::to_path_buf).or_else(|_| {
        // The root may have been reached through a link.
        let parent = full
            .parent()
            .and_then(|dir| dir.canonicalize().ok())
            .unwrap_or_default();
        let real = parent.join(full.file_name().unwrap_or_default());
        real.strip_prefix(root).map(Path::to_path_buf)
    });
    let inside = inside.map_err(|_| {
        CliError::usage(format!(
            "{} is not in the workspace {}",
            typed.display(),
            root.display()
        ))
        .hint("paths count from the current directory or from the workspace's root; --workspace names another")
    })?;
    if inside.as_os_str().is_empty() {
        return Ok(None);
    }
    let path = RelPath::from_path(&inside);
    path.map(Some)
        .ok_or_else(|| CliError::usage(format!("{} is no path", typed.display())))
}

/// Without `.` and `..`, by the letters alone: what is named may no longer exist.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cwd: &str, typed: &str) -> CliResult<Option<String>> {
        let path = relative(Path::new("/w"), Path::new(cwd), Path::new(typed))?;
        Ok(path.map(|path| path.display()))
    }

    #[test]
    fn paths_count_from_the_current_directory() {
        assert_eq!(read("/w/src", "a.rs").unwrap().as_deref(), Some("src/a.rs"));
        assert_eq!(read("/w/src", "../b").unwrap().as_deref(), Some("b"));
        assert_eq!(read("/w/src", "/w/c/./d/").unwrap().as_deref(), Some("c/d"));
        assert_eq!(read("/elsewhere", "a").unwrap().as_deref(), Some("a"));
        assert_eq!(read("/w", ".").unwrap(), None);
    }

    #[test]
    fn what_lies_outside_is_wrong_use() {
        assert_eq!(
            read("/w", "../x").unwrap_err().kind,
            super::super::error::ExitKind::Usage
        );
        assert!(read("/w", "/etc/passwd").is_err());
    }
}
