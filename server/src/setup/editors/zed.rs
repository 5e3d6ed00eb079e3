//! Zed's extension: a small crate in the user's data directory, which Zed builds and loads as a "dev extension". Owns
//! its files and Zed's build outputs; files that the user adds stay.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use backstitch_agents::home;
use backstitch_agents::settings_file::SettingsFile;

use super::super::{SetupOutcome, SetupRequest};

/// Start of the manifest, which marks the directory as ours.
const MARKER: &str = "# Written by `backstitch setup zed`";
const MANIFEST: &str = "extension.toml";

/// Outputs of Zed's build.
const BUILD_OUTPUTS: [&str; 3] = ["Cargo.lock", "extension.wasm", "target"];

/// Returns the path and text of each file. The manifest's source is not named `Cargo.toml`, because cargo would then
/// exclude these files from the package. Zed runs `binary` if it finds no other.
fn files(binary: &str) -> [(&'static str, String); 5] {
    [
        (MANIFEST, include_str!("zed/extension.toml").to_owned()),
        ("Cargo.toml", include_str!("zed/crate.toml").to_owned()),
        ("src/lib.rs", include_str!("zed/lib.rs").to_owned()),
        ("binary", format!("{binary}\n")),
        (
            "backstitch-job.json",
            include_str!("zed/backstitch-job.json").to_owned(),
        ),
    ]
}

/// Writes or removes the directory. Returns the outcome and the text of all files.
pub fn run(dir: &Path, binary: &str, request: SetupRequest) -> Result<(SetupOutcome, String)> {
    let files = files(binary);
    let outcome = if request.print {
        SetupOutcome::Printed
    } else if request.uninstall {
        remove(dir, &files)?
    } else {
        write(dir, &files)?
    };
    let text = files.map(|(name, text)| format!("==> {name} <==\n{text}"));
    Ok((outcome, text.join("\n")))
}

fn write(dir: &Path, files: &[(&str, String)]) -> Result<SetupOutcome> {
    if dir.exists() && !is_ours(dir)? && fs::read_dir(dir)?.next().is_some() {
        bail!(
            "{} exists and is not from Backstitch; it was not changed",
            dir.display()
        )
    }
    let mut outcome = SetupOutcome::Unchanged;
    for (name, text) in files {
        let path = dir.join(name);
        let found = SettingsFile::read(&path)?;
        if found.text.as_deref() != Some(text) {
            // the replaced file is ours and needs no backup
            SettingsFile {
                text: None,
                ..found
            }
            .write(text)?;
            outcome = SetupOutcome::Written;
        }
    }
    Ok(outcome)
}

fn remove(dir: &Path, files: &[(&str, String)]) -> Result<SetupOutcome> {
    if !is_ours(dir)? {
        return Ok(SetupOutcome::Unchanged);
    }
    let names = files.iter().map(|(name, _)| *name);
    // remove the manifest last, so that an interrupted run can be repeated
    for name in names
        .rev()
        .chain(BUILD_OUTPUTS)
        .filter(|name| *name != MANIFEST)
    {
        remove_path(&dir.join(name))?;
    }
    remove_path(&dir.join(MANIFEST))?;
    // directories with files of the user stay
    let _ = fs::remove_dir(dir.join("src"));
    let _ = fs::remove_dir(dir);
    Ok(SetupOutcome::Written)
}

fn remove_path(path: &Path) -> Result<()> {
    let removed = if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn is_ours(dir: &Path) -> Result<bool> {
    let manifest = SettingsFile::read(&dir.join(MANIFEST))?;
    Ok(manifest.text.is_some_and(|text| text.starts_with(MARKER)))
}

/// Returns the extension's directory, below the user's data directory.
pub fn extension_dir() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let named = named.filter(|dir| dir.is_absolute());
    let windows = || std::env::var_os("LOCALAPPDATA").map(PathBuf::from);
    let data = named
        .or_else(|| cfg!(windows).then(windows).flatten())
        .or_else(|| home().map(|home| home.join(".local/share")))?;
    Some(data.join("backstitch").join("zed"))
}

#[cfg(test)]
mod tests {
    use toml_edit::DocumentMut;

    use super::*;

    #[test]
    fn languages_are_listed_once() {
        let [(_, manifest), (_, cargo), ..] = files("/bin/backstitch");
        assert!(manifest.starts_with(MARKER));
        let manifest: DocumentMut = manifest.parse().unwrap();
        let cargo: DocumentMut = cargo.parse().unwrap();
        assert_eq!(cargo["lib"]["crate-type"][0].as_str(), Some("cdylib"));
        let languages = manifest["language_servers"]["backstitch"]["languages"].as_array();
        let languages = languages.unwrap().iter();
        let mut languages: Vec<&str> = languages.filter_map(|name| name.as_str()).collect();
        let all = languages.len();
        assert!(all > 100 && languages.contains(&"Rust"), "{languages:?}");
        languages.sort_unstable();
        languages.dedup();
        assert_eq!(languages.len(), all);
    }
}
