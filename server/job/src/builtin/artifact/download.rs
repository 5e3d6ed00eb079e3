//! `actions/download-artifact`.

use std::fs;
use std::path::Path;

use super::super::copy::{Directories, copy_file};
use super::super::target::{absolute, check_allowed};
use super::super::{ActionCall, ActionResult, file_count};
use super::WRITE_ONCE;
use super::store::{self, Artifact};
use crate::glob::name_matches;

pub(in super::super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, String> {
    let inputs = call.given();
    let (name, pattern, ids) = (
        inputs.text("name"),
        inputs.text("pattern"),
        inputs.text("artifact-ids"),
    );
    let merges = inputs.boolean("merge-multiple", false)?;
    refuse_other_runs(call)?;
    let target = absolute(call, inputs.text("path"));
    check_allowed(call, &target)?;
    let known = known(call)?;
    // a single artifact gets no further directory, also by its id from version 5 on
    let (wanted, is_single) = if !name.is_empty() {
        let found = known.into_iter().find(|artifact| artifact.name == name);
        let missing = || {
            format!(
                "Unable to download artifact(s): Artifact not found for name: {name}. Upload it in a step before, or in a job that \
                 this one needs"
            )
        };
        (vec![found.ok_or_else(missing)?], true)
    } else if !ids.is_empty() {
        let found = by_ids(known, ids)?;
        let is_single =
            found.len() == 1 && call.version().is_none_or(|version| version > WRITE_ONCE);
        (found, is_single)
    } else {
        let is_wanted =
            |artifact: &Artifact| pattern.is_empty() || name_matches(pattern, &artifact.name);
        (known.into_iter().filter(is_wanted).collect(), false)
    };
    for artifact in &wanted {
        let dir = if is_single || merges {
            target.clone()
        } else {
            target.join(&artifact.name)
        };
        copy(artifact, &dir).map_err(|error| {
            format!(
                "the artifact '{}' was not downloaded: {error}: make room for it and the directory writable, then run the job again",
                artifact.name
            )
        })?;
        call.say(&format!(
            "Artifact {}: {} in {}",
            artifact.name,
            file_count(artifact.files),
            dir.display()
        ));
    }
    call.say(&format!("Total of {} artifact(s) downloaded", wanted.len()));
    Ok(ActionResult {
        outputs: vec![(
            "download-path".to_owned(),
            target.to_string_lossy().into_owned(),
        )],
        ..ActionResult::default()
    })
}

/// Artifacts of this run and of the jobs that it needs; those of this run first.
fn known(call: &ActionCall<'_>) -> Result<Vec<Artifact>, String> {
    let mut known: Vec<Artifact> = Vec::new();
    let dirs = std::iter::once(&call.place.artifacts).chain(&call.options.needed_artifacts);
    for dir in dirs {
        let found = store::all(dir)
            .map_err(|error| format!("the artifacts of the run cannot be read: {error}"))?;
        for artifact in found {
            if !known.iter().any(|known| known.name == artifact.name) {
                known.push(artifact);
            }
        }
    }
    known.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(known)
}

fn by_ids(known: Vec<Artifact>, ids: &str) -> Result<Vec<Artifact>, String> {
    let mut wanted = Vec::new();
    for id in ids
        .split([',', '\n'])
        .map(str::trim)
        .filter(|id| !id.is_empty())
    {
        let id: u64 = id
            .parse()
            .map_err(|_| format!("Invalid artifact ID: '{id}'. Must be a number."))?;
        wanted.push(id);
    }
    let found: Vec<Artifact> = known
        .into_iter()
        .filter(|artifact| wanted.contains(&artifact.id))
        .collect();
    match wanted
        .iter()
        .find(|id| found.iter().all(|artifact| artifact.id != **id))
    {
        Some(id) => Err(format!(
            "no artifact of this run has the id {id}: take it from the output artifact-id of an upload"
        )),
        None => Ok(found),
    }
}

/// Other runs and repositories have their artifacts on GitHub.
fn refuse_other_runs(call: &ActionCall<'_>) -> Result<(), String> {
    let inputs = call.given();
    let (run, repository) = (inputs.text("run-id"), inputs.text("repository"));
    let is_other_run = !run.is_empty() && call.variable("GITHUB_RUN_ID") != Some(run);
    let is_other =
        !repository.is_empty() && !repository.eq_ignore_ascii_case(&call.repository.full_name());
    if is_other_run || is_other {
        return Err("artifacts of other runs are not on this machine, and nothing is downloaded: leave out run-id and repository".to_owned());
    }
    Ok(())
}

/// Puts the files of an artifact below a directory. A link below it is replaced, not followed.
fn copy(artifact: &Artifact, dir: &Path) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut directories = Directories::below(dir);
    for file in store::files(artifact)? {
        directories.make(file.path.parent().unwrap_or(Path::new("")))?;
        copy_file(&file.source, &dir.join(&file.path), false)?;
    }
    Ok(())
}
