//! The engine: one opened store of one workspace. The command line and the language server use only this.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::chat_history::ChatHistory;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::model::{ContentId, Here};
use crate::places::Workspace;
use crate::store::tables::operation;
use crate::store::tables::root;
use crate::store::{self, Store};
use crate::worktree::disk::Root;

/// Progress of a long operation.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub what: &'static str,
    pub done: u64,
    pub total: Option<u64>,
}

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// True if a missing store is created.
    pub create: bool,
    /// True if the settings stay as they were read first, for a process that ends soon.
    pub read_settings_once: bool,
    /// Limit of the wait for another writer.
    pub busy_timeout: Duration,
    /// The agent without hooks whose chat history is read with each scan.
    pub chat_history: Option<&'static dyn ChatHistory>,
}

impl OpenOptions {
    /// For a process that runs long: settings are read again when they change.
    pub const SERVER: Self = Self {
        create: true,
        read_settings_once: false,
        busy_timeout: store::BUSY_TIMEOUT,
        chat_history: None,
    };
    /// For one command.
    pub const COMMAND: Self = Self {
        read_settings_once: true,
        ..Self::SERVER
    };
    /// For a hook, which prefers a gap to delaying its agent.
    pub const HOOK: Self = Self {
        busy_timeout: store::BUSY_TIMEOUT_HOOK,
        ..Self::COMMAND
    };

    /// The same, with the chat history of this agent.
    #[must_use]
    pub const fn with(self, chat_history: &'static dyn ChatHistory) -> Self {
        Self {
            chat_history: Some(chat_history),
            ..self
        }
    }

    /// The same, for questions alone: a missing store is an error.
    #[must_use]
    pub const fn existing(self) -> Self {
        Self {
            create: false,
            ..self
        }
    }
}

#[derive(Debug)]
pub struct Engine {
    pub(crate) store: Store,
    pub(crate) root: Root,
    pub(crate) here: Here,
    pub(crate) progress: ProgressSink,
    /// Maximum time to wait for a recorder's answer.
    pub(crate) recorder_timeout: Duration,
    /// Number of walks of the tree that a recorder made unnecessary.
    pub(crate) walks_avoided: u64,
    /// Disables planning without a full scan.
    pub(crate) always_scan: bool,
    pub(crate) notice: Option<String>,
    pub(crate) options: OpenOptions,
    pub(crate) upper: UpperLayers,
}

/// Functions of higher layers that lower ones call; `open` installs them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpperLayers {
    /// Finishes an interrupted restore. Requires the lock of restores.
    pub recover: fn(&mut Engine) -> Result<()>,
    /// Opens the store for another directory.
    pub open: fn(&Workspace, OpenOptions) -> Result<Engine>,
}

/// Progress callback and cancellation flag.
#[derive(Default)]
pub(crate) struct ProgressSink {
    callback: Option<Box<dyn FnMut(Progress) + Send>>,
    off: Option<Arc<AtomicBool>>,
}

impl ProgressSink {
    pub(crate) fn call(&mut self, progress: Progress) {
        if let Some(callback) = &mut self.callback {
            callback(progress);
        }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.off
            .as_ref()
            .is_some_and(|off| off.load(Ordering::Relaxed))
    }

    /// Returns the cancellation flag.
    pub(crate) fn off(&self) -> Option<Arc<AtomicBool>> {
        self.off.clone()
    }
}

impl std::fmt::Debug for ProgressSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProgressSink({})", self.callback.is_some())
    }
}

impl Engine {
    /// Reads the current branch and settings again, since another process may have switched. Call it before a write,
    /// with a lock held that prevents a switch.
    pub fn refresh(&mut self) -> Result<()> {
        let branch = root::branch(&self.store.conn, self.here.root)?;
        self.here.branch = branch.ok_or_else(|| {
            Error::refused(
                format!(
                    "another directory uses the branch of {}",
                    self.root.path.display()
                ),
                "open the directory again",
            )
        })?;
        self.root.settings();
        Ok(())
    }

    /// Returns the current settings.
    pub fn config(&self) -> Arc<Config> {
        self.root.settings()
    }

    /// Sets a callback for the progress of scans.
    pub fn on_progress(&mut self, callback: impl FnMut(Progress) + Send + 'static) {
        self.progress.callback = Some(Box::new(callback));
    }

    /// Sets a cancellation flag: scans end with `Error::CalledOff` once it is set. A restore that has begun to change
    /// files is finished all the same.
    pub fn call_off_with(&mut self, off: Arc<AtomicBool>) {
        self.progress.off = Some(off);
    }

    /// Removes the progress callback and the cancellation flag.
    pub fn clear_progress(&mut self) {
        self.progress = ProgressSink::default();
    }

    /// Sets the maximum time to wait for a recorder's answer, after which the tree is walked.
    pub fn wait_for_recorder(&mut self, recorder_timeout: Duration) {
        self.recorder_timeout = recorder_timeout;
    }

    /// For tests: number of walks of the tree that a recorder made unnecessary.
    pub fn walks_avoided(&self) -> u64 {
        self.walks_avoided
    }

    /// Message for the user about something that happened when the store was opened.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    pub fn root(&self) -> &Path {
        &self.root.path
    }

    pub fn content(&self, id: &ContentId) -> Result<Vec<u8>> {
        self.store.content(id)
    }

    /// Reads a content, a large one in pieces. The bytes are verified only if this returns `Ok`.
    pub fn read(&self, id: &ContentId, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.store.read(id, take)
    }

    /// Does housekeeping that a hook has no time for.
    pub fn tidy(&mut self) {
        self.store.tidy();
    }

    /// Takes the lock under which captures scan the disk. Finishes an interrupted restore first, so that no capture
    /// records a half-restored tree.
    pub(crate) fn quiet_lock(&mut self, wait: Duration) -> Result<Option<store::Lock>> {
        let until = Instant::now() + wait;
        let left = || until.saturating_duration_since(Instant::now());
        loop {
            let Some(lock) = self.store.restore_lock(false, left())? else {
                return Ok(None);
            };
            if operation::unfinished(&self.store.conn, self.here.root)?.is_none() {
                self.refresh()?;
                return Ok(Some(lock));
            }
            drop(lock);
            match self.store.restore_lock(true, left())? {
                Some(_lock) => (self.upper.recover)(self)?,
                None => return Ok(None),
            }
        }
    }

    pub(crate) const RESTORE_WAIT: Duration = Duration::from_secs(10);
}

pub(crate) fn disk_use(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    entries
        .flatten()
        .map(|e| match e.metadata() {
            Ok(m) if m.is_dir() => disk_use(&e.path()),
            Ok(m) => m.len(),
            Err(_) => 0,
        })
        .sum()
}
