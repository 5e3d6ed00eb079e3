//! `init`: makes a directory a workspace.

use std::path::{Path, PathBuf};

use backstitch_core::{Engine, Workspace};
use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, TerminalCommand, decides};
use crate::cli::context;
use crate::cli::history::entry_words;
use crate::cli::options::GlobalArgs;
use crate::opening;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out::{self, Out};
use crate::{render, to_protocol};

/// Make a directory a workspace and record its state
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch init\n  backstitch init ~/notes")]
pub struct InitArgs {
    /// Directory to initialize [default: the current one]
    pub dir: Option<PathBuf>,
}

impl TerminalCommand for InitArgs {
    fn declared(&self) -> DeclaredCommand {
        // a workspace inside another one has its own store, in which nothing is armed
        decides("init")
    }
}

/// Makes a directory a workspace.
pub fn init(global: &GlobalArgs, dir: Option<&Path>, out: &Out) -> CliResult<()> {
    let cwd = context::current_dir()?;
    let dir = match (dir, &global.workspace) {
        (Some(dir), _) => cwd.join(dir),
        (None, Some(workspace)) => cwd.join(workspace),
        (None, None) => cwd.clone(),
    };
    if !dir.is_dir() {
        return Err(
            CliError::not_found(format!("{} is not a directory", dir.display()))
                .hint("create it first, or name an existing one"),
        );
    }
    let workspace = Workspace::init(&context::locate(global, &cwd), &dir)?;
    let mut engine = Engine::open_with(&workspace, opening::COMMAND)?;
    engine.on_progress(out.progress());
    context::warn_about_settings(&engine.config(), out);
    let coverage = engine.capture_mut().record_changes()?;
    let status = engine.status()?;
    engine.tidy();
    if out.json {
        return out::answer(json!({
            "workspace": to_protocol::path(&workspace.root),
            "store": to_protocol::path(&workspace.store_dir),
            "tracked_files": status.tracked_files,
            "coverage": to_protocol::coverage(&coverage),
        }));
    }
    out.remark(&format!(
        "{} is a workspace: {} tracked.\n",
        workspace.root.display(),
        render::plural(
            usize::try_from(status.tracked_files).unwrap_or_default(),
            "file",
            "files"
        )
    ))?;
    if let Some(note) = entry_words::coverage_note(&coverage) {
        out.note("note", &note);
    }
    Ok(())
}
