//! `actions/checkout` without the network: files and history of the user's repository, in a repository of the run.

mod materialize;
mod options;
mod revision;
mod storage;
mod tree;

use std::path::{Path, PathBuf};

use super::copy::below_workspace;
use super::inputs::Inputs;
use super::{ActionCall, ActionResult, CheckoutMode, file_count};
use crate::place::{RunPlace, create_private, empty_tree, remove_tree};
use crate::repository::ProjectRepository;
use materialize::materialize;
use options::{cannot_write, options};
use revision::Revision;
use tree::Changes;

pub(super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, String> {
    let inputs = call.given();
    let options = options(inputs, call.options.checkout)?;
    let wanted = inputs.text("ref");
    let path = inputs.text("path");
    let name = inputs.text("repository");
    let is_own = name.is_empty() || name.eq_ignore_ascii_case(&call.repository.full_name());
    let other = if is_own {
        None
    } else {
        Some(mapped(call, name, wanted)?)
    };
    let source = other.as_ref().unwrap_or(call.repository);
    if call.place.is_in_place {
        return in_place(call, source, is_own, wanted, path);
    }
    let workspace = call.place.workspace.clone();
    let target = below_workspace(&workspace, path)?;
    create_private(&target).map_err(|error| cannot_write(&error))?;
    let source = source.clone();
    let revision = Revision::of(&source, wanted, options.mode)?;
    let changes = materialize(call, &source, &revision, &options, &target)
        .inspect_err(|_| abandon(&target, options.clean))?;
    call.say(&summary(&source, &revision, &changes));
    let below = target.strip_prefix(&workspace).ok();
    let below =
        below.filter(|_| is_own && revision.is_working_tree && options.sparse.patterns.is_empty());
    Ok(ActionResult {
        working_tree: below.map(|dir| dir.to_string_lossy().into_owned()),
        ..done(&revision)
    })
}

/// Removes the half tree of a checkout that was killed: a later step would take it for a whole one.
pub(super) fn clean_up(place: &RunPlace, inputs: Inputs<'_>) {
    let Ok(options) = options(inputs, CheckoutMode::default()) else {
        return;
    };
    if place.is_in_place {
        return;
    }
    if let Ok(target) = below_workspace(&place.workspace, inputs.text("path")) {
        abandon(&target, options.clean);
    }
}

/// Leaves no half tree. Without `clean` files of a step may be there: they stay, without a repository.
fn abandon(target: &Path, is_clean: bool) {
    // the step has failed already, and nothing more can be done here
    let _ = if is_clean {
        empty_tree(target)
    } else {
        remove_tree(&target.join(".git"))
    };
}

fn done(revision: &Revision) -> ActionResult {
    let commit = revision.commit.clone().unwrap_or_default();
    ActionResult {
        outputs: vec![
            ("ref".to_owned(), revision.git_ref.clone()),
            ("commit".to_owned(), commit),
        ],
        ..ActionResult::default()
    }
}

/// Directory of the user that stands for another repository.
fn mapped(call: &ActionCall<'_>, name: &str, wanted: &str) -> Result<ProjectRepository, String> {
    let directory = |key: &str| {
        let named = |(known, _): &&(String, PathBuf)| known.eq_ignore_ascii_case(key);
        call.options.repositories.iter().find(named)
    };
    let found = directory(&format!("{name}@{wanted}")).or_else(|| directory(name));
    let Some((_, dir)) = found else {
        return Err(format!(
            "the repository {name} is not on this machine, and nothing is downloaded: clone it, and name its directory by --action {name}=DIR"
        ));
    };
    ProjectRepository::of(dir)
        .map_err(|error| format!("the directory for {name} cannot be used: {error}"))
}

/// A checkout in place leaves the user's working tree as it is.
fn in_place(
    call: &mut ActionCall<'_>,
    source: &ProjectRepository,
    is_own: bool,
    wanted: &str,
    path: &str,
) -> Result<ActionResult, String> {
    let revision = Revision::of(source, wanted, CheckoutMode::Worktree)?;
    if !is_own || !matches!(path, "" | "." | "./") || !revision.is_working_tree {
        return Err(
            "actions/checkout would replace files of your working tree, as this job runs in place: run it in a directory of its \
             own, without inPlace"
                .to_owned(),
        );
    }
    call.say("The job runs in place: the working tree is used as it is.");
    Ok(done(&revision))
}

/// A sentence with the counts of what is not committed.
fn summary(source: &ProjectRepository, revision: &Revision, changes: &Changes) -> String {
    let commit = revision
        .commit
        .as_deref()
        .map_or("no commit", |commit| &commit[..commit.len().min(10)]);
    let place = format!("{} ({})", commit, revision.git_ref);
    if !revision.is_working_tree {
        return format!("Checked out {place} of {}.", source.root.display());
    }
    let parts = [
        (changes.changed, "changed"),
        (changes.deleted, "deleted"),
        (changes.new, "new"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let uncommitted = if parts.is_empty() {
        "nothing is uncommitted".to_owned()
    } else {
        format!("not committed: {}", parts.join(", "))
    };
    format!(
        "Working tree of {} at {place}: {}; {uncommitted}.",
        source.root.display(),
        file_count(changes.files)
    )
}

#[cfg(test)]
mod tests;
