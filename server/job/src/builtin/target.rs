//! Places to which a built-in action writes, or from which it takes files, by the inputs of a step.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::ActionCall;

/// The absolute path of an input, relative to the workspace; `~` is the home of the step.
pub(super) fn absolute(call: &ActionCall<'_>, path: &str) -> PathBuf {
    let home = call.variable("HOME").unwrap_or("/");
    let path = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            PathBuf::from(format!("{home}{rest}"))
        }
        _ => call.place.workspace.join(path),
    };
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

/// Refuses a path of the user: a workflow that names one would read or replace the user's files.
pub(super) fn check_allowed(call: &ActionCall<'_>, path: &Path) -> Result<(), String> {
    let real = real_path(path);
    let is_in = |dir: &Path| real.starts_with(real_path(dir));
    let is_of_run =
        is_in(&call.place.files) || (call.place.is_in_place && is_in(&call.place.workspace));
    if is_of_run {
        return Ok(());
    }
    let home = call.options.host.home();
    let user = [Some(call.repository.root.clone()), home];
    if user.iter().flatten().any(|dir| is_in(dir)) {
        return Err(format!(
            "the path {} belongs to the user and not to the run: name one below the workspace, $HOME or $RUNNER_TEMP",
            path.display()
        ));
    }
    Ok(())
}

/// The path with its links followed, as far as it exists.
fn real_path(path: &Path) -> PathBuf {
    let mut missing: Vec<OsString> = Vec::new();
    let mut front = path;
    loop {
        if let Ok(real) = front.canonicalize() {
            return missing
                .iter()
                .rev()
                .fold(real, |real, name| real.join(name));
        }
        let (Some(above), Some(name)) = (front.parent(), front.file_name()) else {
            return path.to_owned();
        };
        missing.push(name.to_owned());
        front = above;
    }
}
