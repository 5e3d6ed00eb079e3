//! `$/path`: files of the workflow's own repository at its commit.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::repository::ProjectRepository;
use crate::repository::git::Git;

/// Writes a directory of the repository's commit below `to`, and returns its place. A repository without a commit has its working
/// tree.
pub(super) fn export(
    repository: &ProjectRepository,
    path: &Path,
    to: &Path,
) -> Result<PathBuf, String> {
    let Some(sha) = &repository.sha else {
        return Ok(repository.root.join(path));
    };
    let place = to.join(path);
    if place.is_dir() {
        return Ok(place);
    }
    let path_text = path.to_string_lossy();
    let archive = Git::reading(&repository.root).bytes(&[
        "archive",
        "--format=tar",
        sha,
        "--",
        path_text.as_ref(),
    ]);
    let archive =
        archive.map_err(|error| format!("'$/{path_text}' is not in the commit {sha}: {error}"))?;
    let unpacked = unpack(&archive, to);
    unpacked.map_err(|error| {
        format!(
            "'$/{path_text}' cannot be written to {}: {error}",
            to.display()
        )
    })?;
    Ok(place)
}

fn unpack(archive: &[u8], to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    let mut tar = Command::new("tar")
        .args(["-x", "-f", "-", "-C"])
        .arg(to)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let mut stdin = tar
        .stdin
        .take()
        .ok_or_else(|| std::io::Error::other("tar has no standard input"))?;
    stdin.write_all(archive)?;
    drop(stdin);
    let status = tar.wait()?;
    if status.success() {
        Ok(())
    } else {
        Err(std::io::Error::other(format!("tar: {status}")))
    }
}
