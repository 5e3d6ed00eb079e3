//! The repository, its settings, and the JSON document of an answer.

use std::path::PathBuf;

use backstitch_core::Workspace;
use backstitch_core::config::Config;
use backstitch_job::repository::ProjectRepository;

use crate::cli::context;
use crate::cli::options::GlobalArgs;
use crate::terminal::error::{CliError, CliResult, ExitKind};

pub fn repository(global: &GlobalArgs) -> CliResult<ProjectRepository> {
    repository_of(global.workspace.clone())
}

/// The repository around a directory, or around the current one.
pub fn repository_of(directory: Option<PathBuf>) -> CliResult<ProjectRepository> {
    let here = match directory {
        Some(directory) => directory,
        None => std::env::current_dir()?,
    };
    ProjectRepository::of(&here).map_err(|error| CliError::new(ExitKind::Failed, error.to_string()))
}

/// Settings for a repository. One that cannot have a history, such as that of a home directory, has the user's.
pub fn config(repository: &ProjectRepository, global: &GlobalArgs) -> Config {
    let workspace = Workspace::find(&context::locate(global, &repository.root));
    workspace.map_or_else(|_| Config::of_user(), |workspace| Config::read(&workspace))
}

/// The JSON document of an answer.
pub fn document(answer: &impl serde::Serialize) -> CliResult<serde_json::Value> {
    serde_json::to_value(answer).map_err(|error| {
        CliError::new(ExitKind::Failed, format!("the answer is not JSON: {error}"))
    })
}
