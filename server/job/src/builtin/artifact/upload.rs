//! `actions/upload-artifact`.

use std::path::{Path, PathBuf};

use super::super::copy::is_plain_file;
use super::super::target::check_allowed;
use super::super::{ActionCall, ActionResult, file_count};
use super::WRITE_ONCE;
use super::store::{self, ArtifactFile};
use crate::glob::{FollowLinks, Globs, SearchRules};

/// Names of left-out links that a warning lists.
const MAX_NAMES: usize = 5;

pub(in super::super) fn run(call: &mut ActionCall<'_>) -> Result<ActionResult, String> {
    let inputs = call.given();
    let paths = inputs.text("path");
    if paths.is_empty() {
        return Err("Input required and not supplied: path".to_owned());
    }
    let mut name = inputs.text_or("name", "artifact").to_owned();
    let is_missing_fine = match inputs.text_or("if-no-files-found", "warn") {
        found @ ("warn" | "error" | "ignore") => found,
        other => {
            return Err(format!(
                "Unrecognized if-no-files-found input. Provided: {other}. Available options: warn,error,ignore"
            ));
        }
    };
    let overwrites = inputs.boolean("overwrite", false)?;
    let is_zipped = inputs.boolean("archive", true)?;
    let files = find(call, paths)?;
    if files.is_empty() {
        let text = format!(
            "No files were found with the provided path: {paths}. No artifacts will be uploaded."
        );
        match is_missing_fine {
            "error" => return Err(text),
            "warn" => call.say(&format!(
                "::warning::{}",
                text.replace('%', "%25").replace('\n', "%0A")
            )),
            _ => call.say(&text),
        }
        return Ok(ActionResult::default());
    }
    if !is_zipped {
        let [only] = files.as_slice() else {
            return Err("When 'archive' is set to false, only a single file can be uploaded: name one file in 'path'".to_owned());
        };
        name = only
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
    }
    store::check_name(&name)?;
    for file in &files {
        store::check_path(&file.path)?;
    }
    put(call, &name, files, overwrites)
}

fn put(
    call: &mut ActionCall<'_>,
    name: &str,
    mut files: Vec<ArtifactFile>,
    overwrites: bool,
) -> Result<ActionResult, String> {
    let dir = &call.place.artifacts;
    let failed = |error: std::io::Error| {
        format!(
            "the artifact '{name}' was not stored: {error}: make room for it and its files readable, then run the job again"
        )
    };
    let known = store::all(dir).map_err(failed)?;
    if let Some(old) = known.iter().find(|artifact| artifact.name == name) {
        if call.version().is_some_and(|version| version < WRITE_ONCE) {
            let mut merged = store::files(old).map_err(failed)?;
            merged.retain(|old| files.iter().all(|file| file.path != old.path));
            merged.append(&mut files);
            files = merged;
        } else if !overwrites {
            return Err(format!(
                "an artifact with the name '{name}' already exists in this run: choose another name, or set overwrite to true"
            ));
        }
    }
    let artifact = store::put(dir, name, &files).map_err(failed)?;
    call.say(&format!(
        "Artifact {name} has {} with {} bytes. It is in {}.",
        file_count(artifact.files),
        artifact.size,
        artifact.files_dir().display()
    ));
    Ok(ActionResult {
        outputs: vec![
            ("artifact-id".to_owned(), artifact.id.to_string()),
            (
                "artifact-url".to_owned(),
                format!("file://{}", artifact.files_dir().display()),
            ),
            ("artifact-digest".to_owned(), artifact.digest),
        ],
        ..ActionResult::default()
    })
}

/// Files of the patterns, with their paths below the common root.
fn find(call: &mut ActionCall<'_>, patterns: &str) -> Result<Vec<ArtifactFile>, String> {
    let place = call.place;
    let home = call.variable("HOME").unwrap_or("/");
    let globs = Globs::parse(patterns, &place.workspace, home.as_ref(), true)
        .map_err(|error| error.to_string())?;
    let starts = globs.search_paths();
    for start in &starts {
        check_allowed(call, start)?;
    }
    let rules = SearchRules {
        excludes_hidden: !call.given().boolean("include-hidden-files", false)?,
        follow: FollowLinks::Into(&[&place.files, &place.workspace]),
        below: None,
    };
    let matches = globs
        .find(rules)
        .map_err(|error| format!("the files for the artifact cannot be read: {error}: make them readable in a step before"))?;
    if !matches.outside.is_empty() {
        let names: Vec<String> = matches
            .outside
            .iter()
            .take(MAX_NAMES)
            .map(|path| path.display().to_string())
            .collect();
        call.say(&format!(
            "::warning::Links to directories outside of the run are left out: {}",
            names.join(", ")
        ));
    }
    let files: Vec<PathBuf> = matches
        .paths
        .into_iter()
        .filter(|path| leads_to_file(path))
        .collect();
    let root = root(&starts, &files);
    let relative = |path: &PathBuf| path.strip_prefix(&root).map(Path::to_owned).ok();
    Ok(files
        .iter()
        .filter_map(|path| {
            Some(ArtifactFile {
                path: relative(path)?,
                // the copy does not follow links
                source: path.canonicalize().ok()?,
            })
        })
        .collect())
}

fn leads_to_file(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| is_plain_file(&path))
}

/// The directory of which the artifact has the files: that of a single file, the one search path, or what all have in common.
fn root(starts: &[PathBuf], files: &[PathBuf]) -> PathBuf {
    match (starts, files) {
        ([start], [file]) if start == file => file.parent().unwrap_or(start).to_owned(),
        ([start], _) => start.clone(),
        (starts, _) => {
            let mut starts = starts.iter();
            let first = starts.next().cloned().unwrap_or_else(|| PathBuf::from("/"));
            starts.fold(first, |common, start| {
                let same = common
                    .components()
                    .zip(start.components())
                    .take_while(|(a, b)| a == b);
                same.map(|(component, _)| component).collect()
            })
        }
    }
}
