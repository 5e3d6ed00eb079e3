//! Costs of other ways to keep checkpoints, on the same tree: those that public tools build on git. Each is the
//! sequence of git commands that such a tool runs, without the tool's own layers above it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::measure::timed;

/// A way to keep checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `git stash create` in the user's own repository.
    Stash,
    /// A separate repository, to which everything is added and committed.
    Shadow,
    /// The same, starting with the objects and the index of the user's repository.
    Seeded,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stash => "git stash create",
            Self::Shadow => "a shadow repository",
            Self::Seeded => "a seeded repository",
        }
    }
}

#[derive(Debug)]
pub struct Rival {
    pub way: Way,
    root: PathBuf,
    store: PathBuf,
}

impl Rival {
    /// `store` is the directory of the separate repository, on the same file system.
    pub fn new(way: Way, root: &Path, store: PathBuf) -> Self {
        Self {
            way,
            root: root.to_owned(),
            store,
        }
    }

    /// Deletes all checkpoints.
    pub fn forget(&self) -> Result<()> {
        if self.store.exists() {
            fs::remove_dir_all(&self.store)?;
        }
        Ok(())
    }

    /// Creates the first checkpoint.
    pub fn begin(&self) -> Result<Duration> {
        timed(|| {
            if self.way != Way::Stash {
                fs::create_dir_all(&self.store)?;
                self.git(&["init", "-q"])?;
                self.git(&["config", "gc.auto", "0"])?;
            }
            if self.way == Way::Seeded {
                let objects = self.root.join(".git/objects");
                let text = objects.to_str().context("a path in UTF-8")?;
                fs::write(self.store.join("objects/info/alternates"), text)?;
                fs::copy(self.root.join(".git/index"), self.store.join("index"))?;
            }
            self.checkpoint()
        })
    }

    /// Creates another checkpoint.
    pub fn snap(&self) -> Result<Duration> {
        timed(|| self.checkpoint())
    }

    fn checkpoint(&self) -> Result<String> {
        match self.way {
            Way::Stash => {
                self.git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
                let stash = self.git(&["stash", "create", "checkpoint"])?;
                if stash.is_empty() {
                    return self.git(&["rev-parse", "HEAD"]);
                }
                self.git(&["update-ref", "refs/bench/checkpoint", &stash])?;
                Ok(stash)
            }
            Way::Shadow => {
                self.git(&["add", "-A"])?;
                self.git(&["commit", "-q", "--allow-empty", "-m", "checkpoint"])?;
                self.git(&["rev-parse", "HEAD"])
            }
            Way::Seeded => {
                let changed = self.git(&["status", "--porcelain", "-z", "--no-renames"])?;
                if !changed.is_empty() {
                    self.git(&["add", "-A"])?;
                }
                self.git(&["write-tree"])
            }
        }
    }

    /// Restores files from a checkpoint.
    pub fn restore(&self, checkpoint: &str, files: &[&str]) -> Result<Duration> {
        let args = [&["checkout", "-q", checkpoint, "--"], files].concat();
        timed(|| self.git(&args))
    }

    /// Shows the difference between a checkpoint and the disk.
    pub fn diff(&self, checkpoint: &str, file: &str) -> Result<Duration> {
        timed(|| {
            if self.way != Way::Stash {
                self.git(&["add", "-A"])?;
                return self.git(&["diff", "--cached", checkpoint, "--", file]);
            }
            self.git(&["diff", checkpoint, "--", file])
        })
    }

    /// Makes git stat every file and refresh its index.
    pub fn refresh(&self) -> Result<()> {
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "--allow-empty", "-m", "as it is"])?;
        self.git(&["update-index", "-q", "--refresh"])?;
        self.git(&["update-index", "--force-write-index"])?;
        Ok(())
    }

    pub fn newest(&self) -> Result<String> {
        self.checkpoint()
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        let mut command = Command::new("git");
        command
            .current_dir(&self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["-c", "user.name=Dev", "-c", "user.email=dev@example.com"])
            .stdin(Stdio::null());
        if self.way != Way::Stash {
            command
                .env("GIT_DIR", &self.store)
                .env("GIT_WORK_TREE", &self.root);
        }
        let output = command.args(args).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "git {args:?}: {said}");
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}
