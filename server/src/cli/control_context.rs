//! Context of the commands about breakpoints and held calls.

use std::path::{Path, PathBuf};

use backstitch_control::{Control, PathReader, PauseFilter};
use backstitch_core::{Engine, Error, Locate, Workspace};

use super::context::{self, current_dir};
use super::options::GlobalArgs;
use crate::control::paths;
use crate::control::pattern::pattern;
use crate::opening;
use crate::render;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out::Out;

/// Name of this client in rows.
pub const CLIENT: &str = backstitch_control::TERMINAL;

/// Context of a command about breakpoints and held calls. None of them needs the history but `back`.
pub struct ControlContext<'a> {
    pub workspace: Workspace,
    pub out: &'a Out,
}

impl<'a> ControlContext<'a> {
    pub fn open(global: &GlobalArgs, out: &'a Out) -> CliResult<Self> {
        Ok(Self {
            workspace: context::find(global)?,
            out,
        })
    }

    /// True if hooks of this workspace use another store than this command.
    pub fn is_elsewhere(&self) -> bool {
        let root = self.workspace.root.as_path();
        let of_hooks = Workspace::find(&Locate {
            workspace: Some(root),
            store_dir: None,
            cwd: root,
        });
        of_hooks.is_ok_and(|other| other.store_dir != self.workspace.store_dir)
    }

    /// As `session`, for a session that has to exist.
    pub fn known_session(&self, typed: Option<&str>) -> CliResult<Option<String>> {
        let found = self.session(typed)?;
        if let (Some(typed), Some(found)) = (typed, &found) {
            let is_recorded = match Engine::open_with(&self.workspace, opening::COMMAND.existing())
            {
                Ok(engine) => engine.history().native_session(found)?.is_some(),
                Err(Error::NoStore(_)) => false,
                Err(error) => return Err(error.into()),
            };
            // a session whose first call is held has no record yet
            let is_held = || -> CliResult<bool> {
                let Some(control) = self.existing()? else {
                    return Ok(false);
                };
                let mut open = control.pauses().list(PauseFilter::Open)?.into_iter();
                Ok(open.any(|pause| pause.call.session == *found))
            };
            if !is_recorded && !is_held()? {
                return Err(
                    CliError::not_found(format!("there is no session `{}`", render::clean(typed)))
                        .hint("`backstitch log --json` has their ids; the letters of the timeline name them, too"),
                );
            }
        }
        Ok(found)
    }

    /// Returns the agent of a session, if something of it is recorded or held.
    pub fn agent_of(&self, session: Option<&str>) -> CliResult<Option<String>> {
        let Some(session) = session else {
            return Ok(None);
        };
        if let Some(control) = self.existing()? {
            let held = control.pauses().list(PauseFilter::Open)?.into_iter();
            let mut held = held.filter(|pause| pause.call.session == session);
            if let Some(pause) = held.next() {
                return Ok(Some(pause.call.agent));
            }
        }
        match Engine::open_with(&self.workspace, opening::COMMAND.existing()) {
            Ok(engine) => Ok(engine.history().agent_of(session)?),
            Err(Error::NoStore(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the agent's own id of a session that was typed. A session of which nothing is recorded is named by its id.
    pub fn session(&self, typed: Option<&str>) -> CliResult<Option<String>> {
        let Some(typed) = typed else {
            return Ok(None);
        };
        let known = match Engine::open_with(&self.workspace, opening::COMMAND.existing()) {
            Ok(engine) => engine.history().native_session(typed)?,
            Err(Error::NoStore(_)) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Some(known.unwrap_or_else(|| typed.to_owned())))
    }

    /// The database; made if it is missing.
    pub fn create(&self) -> CliResult<Control> {
        Ok(Control::open(&self.workspace)?)
    }

    pub fn existing(&self) -> CliResult<Option<Control>> {
        Ok(Control::open_existing(&self.workspace)?)
    }

    /// The database, or an error that nothing was ever armed.
    pub fn required(&self) -> CliResult<Control> {
        self.existing()?.ok_or_else(|| {
            CliError::not_found("this workspace has no breakpoints and no held calls")
                .hint("`backstitch breakpoint add --help` shows how to make one")
        })
    }

    /// Paths as they are typed in this terminal.
    pub fn paths(&self) -> CliResult<TerminalPaths<'_>> {
        Ok(TerminalPaths {
            root: &self.workspace.root,
            cwd: current_dir()?,
        })
    }
}

/// Paths relative to the directory of the terminal.
pub struct TerminalPaths<'a> {
    root: &'a Path,
    cwd: PathBuf,
}

impl PathReader for TerminalPaths<'_> {
    fn pattern(&self, typed: &str) -> backstitch_core::Result<String> {
        Ok(pattern(self.root, &self.cwd, typed))
    }

    fn file(&self, typed: &str) -> backstitch_core::Result<String> {
        let clean = paths::clean(&self.cwd.join(typed));
        let path = Path::new(&paths::inside(self.root, &clean)).to_path_buf();
        let inside = backstitch_core::model::RelPath::from_path(&path).ok_or_else(|| {
            Error::Usage(format!(
                "{} is outside of {}",
                render::clean(typed),
                self.root.display()
            ))
        })?;
        Ok(inside.display())
    }
}
