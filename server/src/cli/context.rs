//! Context of a command: the opened workspace, the output, and the parsing of typed revisions and
//! paths.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use backstitch_control::Control;
use backstitch_core::config::Config;
use backstitch_core::model::{NodeId, RelPath};
use backstitch_core::{Engine, Locate, Workspace};

use super::options::GlobalArgs;
use crate::opening;
use crate::query::paths::TypedPaths;
use crate::query::revs;
use crate::render;
use crate::terminal::error::{CliError, CliResult, ExitKind};
use crate::terminal::out::Out;

#[derive(Debug)]
pub struct CommandContext<'a> {
    pub engine: Engine,
    pub workspace: Workspace,
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
            Engine::open_with(&workspace, opening::COMMAND)?
        } else {
            Engine::open_with(&workspace, opening::COMMAND.existing())?
        };
        engine.on_progress(out.progress());
        if let Some(notice) = engine.notice() {
            out.note("note", notice);
        }
        warn_about_settings(&engine.config(), out);
        Ok(Self {
            workspace,
            engine,
            out,
            cwd: current_dir()?,
        })
    }

    pub fn node(&self, rev: &str) -> CliResult<NodeId> {
        Ok(revs::node(&self.engine, rev)?)
    }

    /// Opens the database of breakpoints and held calls. None: there is none.
    pub fn control(&self) -> CliResult<Option<Control>> {
        Ok(Control::open_existing(&self.workspace)?)
    }

    /// Resolves a revision for a command that continues from it. If it names `@` or the current branch, unrecorded
    /// changes on disk become a checkpoint first.
    pub fn node_now(&mut self, rev: &str) -> CliResult<NodeId> {
        Ok(revs::node_now(&mut self.engine, rev)?)
    }

    fn typed(&self) -> TypedPaths<'_> {
        TypedPaths {
            engine: &self.engine,
            cwd: &self.cwd,
        }
    }

    /// Converts a typed path to one relative to the root; None is the root itself.
    pub fn path(&self, typed: &OsStr) -> CliResult<Option<RelPath>> {
        Ok(self.typed().path(typed)?)
    }

    /// True if a file or directory has this path now, or had it at any checkpoint.
    pub fn exists(&self, path: &RelPath) -> CliResult<bool> {
        Ok(self.typed().exists(path)?)
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
        Ok(self.typed().paths(typed)?)
    }
}
