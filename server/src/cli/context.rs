//! Context of a command: the opened workspace, the output, and the parsing of typed revisions and
//! paths.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use backstitch_core::config::Config;
use backstitch_core::control::Control;
use backstitch_core::model::{NodeId, RelPath};
use backstitch_core::{Engine, Locate, OpenOptions, Workspace};

use super::args::GlobalArgs;
use super::error::{CliError, CliResult, ExitKind};
use super::out::Out;
use crate::render;

#[derive(Debug)]
pub struct CommandContext<'a> {
    pub engine: Engine,
    pub workspace: Workspace,
    pub root: PathBuf,
    pub out: &'a Out,
    cwd: PathBuf,
}

/// Finds the workspace from the options and the current directory.
pub fn find(global: &GlobalArgs) -> CliResult<Workspace> {
    if let Some(named) = &global.workspace {
        let dir = named.display();
        let meta = std::fs::metadata(named).map_err(|error| {
            let kind = match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => ExitKind::NotFound,
                _ => ExitKind::Failed,
            };
            CliError::new(kind, format!("cannot open the workspace {dir}: {error}"))
                .hint("--workspace takes an existing directory; the default is the current one")
        })?;
        if !meta.is_dir() {
            return Err(CliError::usage(format!("{dir} is not a directory"))
                .hint("--workspace takes the directory that the files are in"));
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

/// Warns about errors in the settings files.
pub fn warn_about_settings(config: &Config, out: &Out) {
    for problem in config.problems() {
        out.note("warning", &problem);
    }
}

pub fn current_dir() -> CliResult<PathBuf> {
    std::env::current_dir().map_err(|e| CliError::failed(format!("the current directory: {e}")))
}

impl<'a> CommandContext<'a> {
    /// Opens the workspace. Only a command that records creates a missing store.
    pub fn open(global: &GlobalArgs, records: bool, out: &'a Out) -> CliResult<Self> {
        let workspace = find(global)?;
        let mut engine = if records {
            Engine::open_with(&workspace, OpenOptions::COMMAND)?
        } else {
            Engine::open_with(&workspace, OpenOptions::COMMAND.existing())?
        };
        engine.on_progress(out.progress());
        if let Some(notice) = engine.notice() {
            out.note("note", notice);
        }
        warn_about_settings(&engine.config(), out);
        Ok(Self {
            workspace,
            root: engine.root().to_path_buf(),
            engine,
            out,
            cwd: current_dir()?,
        })
    }

    pub fn node(&self, rev: &str) -> CliResult<NodeId> {
        self.head()?;
        Ok(self.engine.history().resolve(rev)?)
    }

    /// Opens the database of breakpoints and held calls. None: there is none.
    pub fn control(&self) -> CliResult<Option<Control>> {
        Ok(Control::open_existing(&self.workspace)?)
    }

    /// Resolves a revision for a command that continues from it. If it names `@` or the current branch, unrecorded
    /// changes on disk become a checkpoint first.
    pub fn node_now(&mut self, rev: &str) -> CliResult<NodeId> {
        if self.engine.history().names_head(rev)? {
            self.engine.capture_mut().record_changes()?;
        }
        self.node(rev)
    }

    /// Returns the newest checkpoint, or an error if there is none yet.
    pub fn head(&self) -> CliResult<NodeId> {
        let head = self.engine.history().head()?;
        Ok(head.ok_or_else(|| backstitch_core::Error::NoStore(self.root.clone()))?)
    }

    /// Converts a typed path to one relative to the root; None is the root itself. The path is relative to the
    /// current directory. If nothing has that name there, it is relative to the root, as in the output.
    pub fn path(&self, typed: &OsStr) -> CliResult<Option<RelPath>> {
        let typed = Path::new(typed);
        let Some(path) = relative(&self.root, &self.cwd, typed)? else {
            return Ok(None);
        };
        if let Ok(Some(other)) = relative(&self.root, &self.root, typed)
            && other != path
            && !self.exists(&path)?
            && self.exists(&other)?
        {
            return Ok(Some(other));
        }
        Ok(Some(path))
    }

    /// True if a file or directory has this path now, or had it at any checkpoint.
    pub fn exists(&self, path: &RelPath) -> CliResult<bool> {
        Ok(self.engine.history().has_path(&self.root, path)?)
    }

    /// Returns an error if nothing has or had this path.
    pub fn require(&self, path: &RelPath) -> CliResult<()> {
        if self.exists(path)? {
            return Ok(());
        }
        let unknown = backstitch_core::Error::NoPath(render::path(path.bytes()));
        Err(CliError::from(unknown).hint("`backstitch log --all` shows the files that changed"))
    }

    /// Converts typed paths. Returns an empty list, which means all paths, if one of them is the root.
    pub fn paths<S: AsRef<OsStr>>(&self, typed: &[S]) -> CliResult<Vec<RelPath>> {
        let paths: Option<Vec<RelPath>> = typed
            .iter()
            .map(|path| self.path(path.as_ref()))
            .collect::<CliResult<_>>()?;
        Ok(paths.unwrap_or_default())
    }
}

/// Returns a typed path relative to the root. If the current directory is outside the root, the typed path is
/// relative to the root.
fn relative(root: &Path, cwd: &Path, typed: &Path) -> CliResult<Option<RelPath>> {
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
        CliError::usage(format!(
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
        .ok_or_else(|| CliError::usage(format!("{} is not a path", typed.display())))
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

    fn read(cwd: &str, typed: &str) -> CliResult<Option<String>> {
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
            super::super::error::ExitKind::Usage
        );
        assert!(read("/w", "/etc/passwd").is_err());
    }
}
