//! Coverage of a checkpoint: the paths and directories that it captured, and those that it could not.

use serde::{Deserialize, Serialize};

use super::path::RelPath;

/// Coverage of a checkpoint: what it captured and what it could not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Number of paths captured by this node's scan.
    pub captured: u64,
    /// Number of paths and directories skipped by the ignore rules.
    pub ignored: u64,
    /// True while a background scan is still running. Its results are not included yet.
    #[serde(default)]
    pub pending: bool,
    pub items: Vec<CoverageItem>,
    /// Directories that were made, removed or got other permission bits, as far as files do not tell it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<DirChange>,
    /// Changes of the list of directories that files alone do not tell. A directory without bits is not in the list, since
    /// files tell of it, or since it is not there. None: there is none, or an older version kept `directories` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noted: Option<Vec<DirChange>>,
}

impl Coverage {
    /// Returns the changes of the list of directories that files alone do not tell. Older versions kept only those that were
    /// made, removed or changed.
    #[must_use]
    pub fn noted_changes(&self) -> &[DirChange] {
        self.noted.as_deref().unwrap_or(&self.directories)
    }

    /// Notes the changes of that list.
    pub(crate) fn set_noted(&mut self, changes: Vec<DirChange>) {
        let is_told = !changes.is_empty() || !self.directories.is_empty();
        self.noted = is_told.then_some(changes);
    }

    /// Leaves out the changes of all other directories.
    pub(crate) fn retain_dirs(&mut self, is_kept: impl Fn(&RelPath) -> bool) {
        self.directories.retain(|change| is_kept(&change.path));
        let mut noted = self.noted.take().unwrap_or_default();
        noted.retain(|change| is_kept(&change.path));
        self.set_noted(noted);
    }

    /// The coverage without the paths that stay out of the history, whoever works: those of a scan before which nothing
    /// changed.
    pub(crate) fn without_standing(&self) -> Self {
        let mut own = self.clone();
        own.items.retain(|item| !item.reason.is_lasting());
        own
    }

    pub fn count(&self, reason: Reason) -> usize {
        self.items.iter().filter(|i| i.reason == reason).count()
    }

    pub fn note(&mut self, path: &[u8], reason: Reason, detail: impl Into<String>) {
        if !self
            .items
            .iter()
            .any(|i| i.path == path && i.reason == reason)
        {
            self.items.push(CoverageItem {
                path: path.to_vec(),
                reason,
                detail: detail.into(),
            });
        }
    }
}

/// Change of a directory: its permission bits before and after. None: it is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirChange {
    pub path: RelPath,
    pub before: Option<u32>,
    pub after: Option<u32>,
}

impl DirChange {
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self {
            path: self.path.clone(),
            before: self.after,
            after: self.before,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageItem {
    /// Path as bytes. Paths outside the root are absolute.
    pub path: Vec<u8>,
    pub reason: Reason,
    #[serde(default)]
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    TooLarge,
    Outside,
    /// Excluded by the settings, which no tool overrides.
    Excluded,
    Unreadable,
    Special,
    /// A capture that failed: a hook error, a deadline, or a store that is not writable.
    Failed,
    /// A directory of version control, whatever its name.
    VersionControl,
    /// A path that the ignore rules hide, and that is gone or has changed.
    Ignored,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Outside => "outside",
            Self::Excluded => "excluded",
            Self::Unreadable => "unreadable",
            Self::Special => "special",
            Self::Failed => "failed",
            Self::VersionControl => "version_control",
            Self::Ignored => "ignored",
        }
    }

    /// True if a path stays out of the history as long as it is as it is.
    pub(crate) fn is_lasting(self) -> bool {
        matches!(
            self,
            Self::TooLarge | Self::Unreadable | Self::Special | Self::VersionControl
        )
    }
}
