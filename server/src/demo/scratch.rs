//! The demo's scratch directory: real files from the binary, its own store, and snapshots for
//! comparison.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use backstitch_agents as agents;
use tempfile::TempDir;

/// Files of this project, and an image.
pub const FILES: &[(&str, &[u8])] = &[
    ("README.md", include_bytes!("../../../README.md")),
    ("LICENSE", include_bytes!("../../../LICENSE-MIT")),
    ("logo.png", include_bytes!("logo.png")),
    (
        "src/line.rs",
        include_bytes!("../../frontend/src/terminal/line.rs"),
    ),
    (
        "src/render.rs",
        include_bytes!("../../frontend/src/render.rs"),
    ),
    ("src/hook.rs", include_bytes!("../hook/mod.rs")),
];

pub struct Scratch {
    root: PathBuf,
    /// Removes the directory on drop.
    _temporary: Option<TempDir>,
    kept: bool,
}

impl Scratch {
    pub fn make(dir: Option<&Path>, keep: bool) -> Result<Self> {
        if let Some(dir) = dir {
            fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
            if fs::read_dir(dir)?.next().is_some() {
                bail!("{} is not empty", dir.display());
            }
            return Ok(Self {
                root: dir.canonicalize()?,
                _temporary: None,
                kept: true,
            });
        }
        let temporary = tempfile::Builder::new()
            .prefix("backstitch-demo-")
            .tempdir()
            .context("making a scratch directory")?;
        let root = temporary.path().canonicalize()?;
        let temporary = if keep {
            let _ = temporary.keep();
            None
        } else {
            Some(temporary)
        };
        Ok(Self {
            root,
            _temporary: temporary,
            kept: keep,
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn kept(&self) -> bool {
        self.kept
    }

    pub fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    pub fn store(&self) -> PathBuf {
        self.root.join("store")
    }

    /// Keeps the commands' state inside the scratch directory, and ignores the user's settings. Nothing of the user is decided
    /// there, so that an agent may run the demo, too.
    pub fn environment(&self, command: &mut Command) {
        for mark in agents::marks() {
            command.env_remove(mark);
        }
        command
            .env("XDG_STATE_HOME", self.root.join("state"))
            .env("XDG_CONFIG_HOME", self.root.join("config"))
            .env_remove("CLAUDE_PROJECT_DIR");
    }

    /// Lets commands below the demo, which is the agent too, decide on held calls.
    pub fn allow_control(&self) -> Result<()> {
        let dir = self.root.join("config/backstitch");
        fs::create_dir_all(&dir)?;
        // the store of the hooks is that of the commands
        let store = toml_edit::Value::from(self.store().display().to_string());
        let settings = format!("[agents]\nallowControl = true\n\n[store]\ndir = {store}\n");
        fs::write(dir.join("config.toml"), settings)?;
        Ok(())
    }

    /// Writes the files and returns their number.
    pub fn fill(&self) -> Result<usize> {
        for (path, bytes) in FILES {
            let file = self.workspace().join(path);
            fs::create_dir_all(file.parent().unwrap_or(&self.root))?;
            fs::write(file, bytes)?;
        }
        Ok(FILES.len())
    }

    pub fn snapshot(&self) -> Result<TreeSnapshot> {
        TreeSnapshot::of(&self.workspace())
    }
}

/// Files with mode and bytes, and directories (None), by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeSnapshot(BTreeMap<String, Option<(bool, Vec<u8>)>>);

impl TreeSnapshot {
    /// The tree below a directory.
    pub fn of(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.read(root, root)
            .with_context(|| format!("reading {}", root.display()))?;
        Ok(tree)
    }

    /// The tree without a directory of its root.
    #[must_use]
    pub fn without(mut self, dir: &str) -> Self {
        let below = format!("{dir}/");
        self.0
            .retain(|path, _| path != dir && !path.starts_with(&below));
        self
    }

    fn read(&mut self, root: &Path, dir: &Path) -> std::io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            let name = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                self.0.insert(name, None);
                self.read(root, &path)?;
            } else {
                let executable = executable(&fs::metadata(&path)?);
                self.0.insert(name, Some((executable, fs::read(&path)?)));
            }
        }
        Ok(())
    }

    pub fn text(&self, path: &str) -> Option<String> {
        let (_, bytes) = self.0.get(path)?.as_ref()?;
        String::from_utf8(bytes.clone()).ok()
    }

    /// Replaces a file's bytes.
    pub fn put(&mut self, path: &str, bytes: Vec<u8>) {
        let executable = matches!(self.0.get(path), Some(Some((true, _))));
        self.0.insert(path.to_owned(), Some((executable, bytes)));
    }

    /// Returns the paths at which two trees differ.
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let mut paths: Vec<String> = self
            .0
            .iter()
            .filter(|(path, value)| other.0.get(*path) != Some(value))
            .map(|(path, _)| path.clone())
            .collect();
        paths.extend(
            other
                .0
                .keys()
                .filter(|path| !self.0.contains_key(*path))
                .cloned(),
        );
        paths
    }
}

#[cfg(unix)]
fn executable(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    meta.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn executable(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_has_files_directories_and_bytes() {
        let scratch = Scratch::make(None, false).unwrap();
        assert_eq!(scratch.fill().unwrap(), FILES.len());
        let before = scratch.snapshot().unwrap();
        let work = scratch.workspace();
        fs::create_dir(work.join("docs")).unwrap();
        fs::remove_file(work.join("LICENSE")).unwrap();
        fs::write(work.join("logo.png"), b"\0").unwrap();
        let after = scratch.snapshot().unwrap();
        assert_eq!(before.differing(&after), ["LICENSE", "logo.png", "docs"]);
    }

    #[test]
    fn directory_with_files_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x"), "").unwrap();
        assert!(Scratch::make(Some(dir.path()), false).is_err());
    }
}
