//! The workflow file that a start names.

use std::fs;
use std::path::{Path, PathBuf};

use backstitch_job::repository::ProjectRepository;

use super::super::{WORKFLOWS, workflow_files};
use crate::terminal::error::{CliError, CliResult, ExitKind};

/// The workflow file that the user means: a path, or a name in .github/workflows.
pub fn workflow_file(repository: &ProjectRepository, file: &Path) -> CliResult<PathBuf> {
    let folder = repository.root.join(WORKFLOWS);
    let places = [
        file.to_owned(),
        folder.join(file),
        folder.join(file.with_extension("yml")),
        folder.join(file.with_extension("yaml")),
    ];
    places
        .into_iter()
        .find(|place| place.symlink_metadata().is_ok_and(|found| !found.is_dir()))
        .ok_or_else(|| {
            let known: Vec<String> = workflow_files(&repository.root)
                .iter()
                .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
                .collect();
            let hint = if known.is_empty() {
                format!("no workflows are in {WORKFLOWS}; name a file by its path")
            } else {
                format!("workflows here: {}", known.join(", "))
            };
            CliError::new(
                ExitKind::NotFound,
                format!("{}: no such workflow", file.display()),
            )
            .hint(hint)
        })
}

/// Name of a workflow relative to the repository, and its text.
pub fn read_workflow(repository: &ProjectRepository, file: &Path) -> CliResult<(String, String)> {
    let text = fs::read(file).map_err(|error| {
        CliError::new(
            ExitKind::Failed,
            format!("{} cannot be read: {error}", file.display()),
        )
    })?;
    let text = String::from_utf8(text).map_err(|error| {
        CliError::new(
            ExitKind::Failed,
            format!("{} is not UTF-8: {error}", file.display()),
        )
        .hint("save the workflow as UTF-8")
    })?;
    let full = file.canonicalize()?;
    let name = full.strip_prefix(&repository.root).unwrap_or(&full);
    Ok((name.to_string_lossy().into_owned(), text))
}
