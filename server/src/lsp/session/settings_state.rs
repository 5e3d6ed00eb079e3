//! The client's settings, and those of each workspace as they were read last.

use std::path::{Path, PathBuf};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use backstitch_core::config::Config;
use dashmap::DashMap;

use super::settings::{ClientSettings, Lenses};
use crate::host::workspace::WorkspaceHandle;

/// Settings of a workspace as they were read last.
#[derive(Clone, Debug)]
pub struct CheckedSettings {
    /// Errors in its settings files.
    pub problems: Vec<String>,
    pub lenses: Lenses,
    pub shows_job_problems: bool,
}

#[derive(Debug)]
pub struct SettingsState {
    client: RwLock<ClientSettings>,
    /// Directory of all stores, from the command line.
    store_dir: Option<PathBuf>,
    checked: DashMap<PathBuf, CheckedSettings>,
    /// True if the client has sent its settings.
    received: AtomicBool,
    /// Number of times that the client was asked for its settings.
    requests: AtomicU64,
}

impl SettingsState {
    pub fn new(store_dir: Option<PathBuf>) -> Self {
        Self {
            client: RwLock::default(),
            store_dir,
            checked: DashMap::new(),
            received: AtomicBool::new(false),
            requests: AtomicU64::new(0),
        }
    }

    /// Returns the client's settings.
    pub fn get(&self) -> ClientSettings {
        self.client.read().map(|s| s.clone()).unwrap_or_default()
    }

    /// Changes the client's settings. Returns true if they differ now, and the errors in them.
    pub fn change(
        &self,
        change: impl FnOnce(&mut ClientSettings) -> Vec<String>,
    ) -> (bool, Vec<String>) {
        let changed = self.client.write().map(|mut own| {
            let before = own.clone();
            let wrong = change(&mut own);
            (*own != before, wrong)
        });
        changed.unwrap_or_default()
    }

    /// Returns the settings of a workspace, including the client's.
    pub fn config(&self, handle: &WorkspaceHandle) -> Config {
        Config::read(handle.workspace()).with_editor(&self.get().effective())
    }

    pub fn store_dir(&self) -> Option<&Path> {
        self.store_dir.as_deref()
    }

    /// Keeps what was read of a workspace. Returns what was read before.
    pub fn keep_checked(&self, root: PathBuf, checked: CheckedSettings) -> Option<CheckedSettings> {
        self.checked.insert(root, checked)
    }

    pub fn set_received(&self) {
        self.received.store(true, Ordering::Relaxed);
    }

    pub fn has_received(&self) -> bool {
        self.received.load(Ordering::Relaxed)
    }

    /// Returns the number of a new request for the client's settings.
    pub fn begin_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn is_newest(&self, request: u64) -> bool {
        self.requests.load(Ordering::Relaxed) == request
    }
}
