//! The workspace that a server works in. It is found, and its store opened, anew for each call: nothing is held between
//! calls, and a history that begins later is seen.

use std::path::PathBuf;

use backstitch_core::model::RelPath;
use backstitch_core::{Engine, Error, Locate, Workspace};

use super::answer::ToolError;
use crate::opening;
use crate::query::paths::TypedPaths;
use crate::render;

#[derive(Clone, Debug)]
pub struct WorkspaceAccess {
    /// Directory named by the user.
    pub workspace: Option<PathBuf>,
    pub store_dir: Option<PathBuf>,
    pub cwd: PathBuf,
}

impl WorkspaceAccess {
    pub fn find(&self) -> Result<Workspace, ToolError> {
        let found = Workspace::find(&Locate {
            workspace: self.workspace.as_deref(),
            store_dir: self.store_dir.as_deref(),
            cwd: &self.cwd,
        });
        Ok(found?)
    }

    /// Opens the store of an existing history.
    pub fn open(&self) -> Result<Engine, ToolError> {
        let options = opening::COMMAND.existing();
        Ok(noted(Engine::open_with(&self.find()?, options)?))
    }

    /// As `open`. None: nothing has been recorded yet.
    pub fn open_recorded(&self) -> Result<Option<Engine>, ToolError> {
        match Engine::open_with(&self.find()?, opening::COMMAND.existing()) {
            Ok(engine) => Ok(Some(noted(engine))),
            Err(Error::NoStore(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// As `open`; begins the history if there is none.
    pub fn open_or_begin(&self) -> Result<Engine, ToolError> {
        let engine = Engine::open_with(&self.find()?, opening::COMMAND)?;
        Ok(noted(engine))
    }

    fn typed<'a>(&'a self, engine: &'a Engine) -> TypedPaths<'a> {
        TypedPaths {
            engine,
            cwd: &self.cwd,
        }
    }

    /// Converts the path of one file.
    pub fn file(&self, engine: &Engine, typed: &str) -> Result<RelPath, ToolError> {
        self.typed(engine).path(typed.as_ref())?.ok_or_else(|| {
            let shown = render::clean(typed);
            ToolError::usage(format!("`{shown}` is the workspace itself")).hint("name a file")
        })
    }

    /// Converts paths, which exist or did. An empty list means all.
    pub fn paths(&self, engine: &Engine, typed: &[String]) -> Result<Vec<RelPath>, ToolError> {
        let paths = self.typed(engine).paths(typed)?;
        for path in &paths {
            if !self.typed(engine).exists(path)? {
                let unknown = Error::NoPath(render::path(path.bytes()));
                return Err(ToolError::from(unknown).hint(
                    "check how it is spelled; `log` with `all` shows the files that changed",
                ));
            }
        }
        Ok(paths)
    }
}

/// Logs what a command notes on stderr: a moved directory, errors in settings.
fn noted(engine: Engine) -> Engine {
    if let Some(notice) = engine.notice() {
        tracing::warn!("{notice}");
    }
    for problem in engine.config().problems() {
        tracing::warn!("{problem}");
    }
    engine
}
