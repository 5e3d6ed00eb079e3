//! Held calls and breakpoints as they were announced last, for lenses and code actions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use backstitch_control::{Breakpoint, Pause, PauseId};
use backstitch_protocol::PredictedFile;
use dashmap::DashMap;
use tokio::sync::Notify;

use crate::control::follow_renames;
use crate::host::workspace::WorkspaceHandle;

/// The state of all workspaces.
#[derive(Debug, Default)]
pub struct ControlState {
    pub shown: DashMap<PathBuf, Arc<Shown>>,
    /// True once the client has answered a question about a held call: somebody sits there.
    pub has_answered: AtomicBool,
    /// Questions about held calls that stand. Each is reported once its call is no longer held.
    pub questions: DashMap<(PathBuf, PauseId), Arc<Notify>>,
    last_typed: LastTyped,
}

/// Time of the last change of any document.
#[derive(Debug)]
struct LastTyped {
    began: Instant,
    /// In milliseconds since then.
    at: AtomicU64,
}

impl Default for LastTyped {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            at: AtomicU64::new(0),
        }
    }
}

/// The state of one workspace.
#[derive(Debug, Default)]
pub struct Shown {
    pub held: BTreeMap<PauseId, HeldHere>,
    /// Breakpoints at lines, each with the text in which it was set.
    pub lines: Vec<(Breakpoint, Vec<u8>)>,
}

/// A held call and the files that it would write.
#[derive(Clone, Debug)]
pub struct HeldHere {
    pub pause: Pause,
    pub predicted: Vec<PredictedFile>,
}

impl ControlState {
    /// Notes that the user types.
    pub fn typed(&self) {
        let since = self.last_typed.began.elapsed().as_millis();
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        self.last_typed.at.store(since, Ordering::Relaxed);
    }

    /// Notes that a question about a held call stands.
    pub fn question(&self, root: &Path, id: PauseId) -> Arc<Notify> {
        let key = (root.to_path_buf(), id);
        self.questions.entry(key).or_default().clone()
    }

    /// Notes that the call of a question is not held as it was.
    pub fn void(&self, root: &Path, id: PauseId) {
        if let Some(question) = self.questions.get(&(root.to_path_buf(), id)) {
            // kept until the question looks
            question.notify_one();
        }
    }

    pub fn no_question(&self, root: &Path, id: PauseId) {
        self.questions.remove(&(root.to_path_buf(), id));
    }

    /// Time since the user typed last.
    pub fn idle(&self) -> Duration {
        let last = Duration::from_millis(self.last_typed.at.load(Ordering::Relaxed));
        self.last_typed.began.elapsed().saturating_sub(last)
    }

    /// True if the file of a breakpoint at lines is gone.
    pub fn has_lost_lines(&self, handle: &WorkspaceHandle) -> bool {
        self.of(handle).is_some_and(|shown| {
            let mut lines = shown.lines.iter();
            lines.any(|(one, _)| follow_renames::missing(handle.workspace(), one).is_some())
        })
    }

    pub fn of(&self, handle: &WorkspaceHandle) -> Option<Arc<Shown>> {
        self.shown.get(handle.root()).map(|shown| shown.clone())
    }
}
