//! Options of the commands that restore files.

use std::ffi::{OsStr, OsString};

use backstitch_core::restore::{Goal, OnConflict, Request, Scope};
use clap::{Args, ValueEnum};

use crate::cli::context::CommandContext;
use crate::cli::{choice, complete};
use crate::render;
use crate::terminal::error::CliResult;

/// Options of every command that restores files.
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// Restore only this file or directory (can be repeated)
    #[arg(long = "path", value_name = "PATH", num_args = 1..)]
    pub paths: Vec<OsString>,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
}

/// Options that confirm a change of files.
#[derive(Clone, Debug, Args)]
pub struct ConfirmArgs {
    /// Resolve conflicts this way
    #[arg(long, value_name = "HOW", default_value = "fail", value_parser = choice::resolution())]
    pub on_conflict: OnConflict,
    /// Show the plan and its fingerprint without changing files (new edits on disk are recorded first)
    #[arg(long)]
    pub dry_run: bool,
    /// Apply exactly the plan with this fingerprint, or refuse
    #[arg(long, value_name = "FINGERPRINT")]
    pub plan: Option<String>,
    /// Do not ask for confirmation
    #[arg(short, long, visible_alias = "force")]
    pub yes: bool,
}

impl ConfirmArgs {
    /// Returns the options of a command that has only `--yes`.
    pub fn only(yes: bool) -> Self {
        Self {
            on_conflict: OnConflict::Fail,
            dry_run: false,
            plan: None,
            yes,
        }
    }
}

/// Further options of `rewind` and `revert`.
#[derive(Clone, Debug, Args)]
pub struct SelectionArgs {
    /// Rewind files, the conversation, or both
    #[arg(long, default_value = "code", value_parser = choice::one_of(&Scope::ALL, Scope::name))]
    pub scope: Scope,
    /// Undo only the work of this session (its letter, its id or a unique prefix)
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// Undo only this hunk, by its id in `diff --json` (can be repeated)
    #[arg(long = "hunk", value_name = "ID", num_args = 1..)]
    pub hunks: Vec<String>,
    /// Keep changes whose author is uncertain, or undo them (take); without it, keep them and fail
    #[arg(long, value_name = "WHAT")]
    pub uncertain: Option<UncertainChoice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UncertainChoice {
    Keep,
    Take,
}

impl SelectionArgs {
    /// True if the user has said that uncertain changes stay.
    pub fn keeps_uncertain(&self) -> bool {
        self.uncertain == Some(UncertainChoice::Keep)
    }
}

/// Returns the request that the options describe.
pub fn request(
    context: &CommandContext,
    goal: Goal,
    selection: Option<&SelectionArgs>,
    options: &RestoreArgs,
) -> CliResult<Request> {
    let mut request = Request::new(goal);
    request.paths = context.paths(&options.paths)?;
    for (path, typed) in request.paths.iter().zip(&options.paths) {
        context
            .require(path)
            .map_err(|error| match misplaced(context, typed, options) {
                Some(hint) => error.hint(hint),
                None => error,
            })?;
    }
    request.on_conflict = options.confirm.on_conflict;
    if let Some(selection) = selection {
        request.scope = selection.scope;
        request.session.clone_from(&selection.session);
        request.hunks.clone_from(&selection.hunks);
        request.take_uncertain = selection.uncertain == Some(UncertainChoice::Take);
    }
    Ok(request)
}

/// Returns a hint if the place was typed after the paths, and was taken for one of them.
fn misplaced(context: &CommandContext, typed: &OsStr, options: &RestoreArgs) -> Option<String> {
    let rev = typed.to_str()?;
    context.engine.history().resolve(rev).ok()?;
    let others = options.paths.iter().filter(|path| *path != typed);
    let paths: Vec<String> = others
        .map(|path| render::argument(&path.to_string_lossy()))
        .collect();
    let (rev, paths) = (render::argument(rev), paths.join(" "));
    (!paths.is_empty()).then(|| {
        format!("a checkpoint goes before the paths: `backstitch rewind {rev} --path {paths}`")
    })
}
