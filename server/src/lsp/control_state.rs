//! Held calls and breakpoints as they were announced last, for lenses and code actions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use backstitch_core::control::{Breakpoint, Pause, PauseId};
use backstitch_protocol::PredictedFile;
use dashmap::DashMap;

use crate::control::moves;
use crate::host::workspace::WorkspaceHandle;

/// The state of all workspaces.
#[derive(Debug, Default)]
pub struct ControlState {
    pub shown: DashMap<PathBuf, Arc<Shown>>,
    /// True once the client has answered a question about a held call: somebody sits there.
    pub has_answered: AtomicBool,
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
    /// True if the file of a breakpoint at lines is gone.
    pub fn has_lost_lines(&self, handle: &WorkspaceHandle) -> bool {
        self.of(handle).is_some_and(|shown| {
            let mut lines = shown.lines.iter();
            lines.any(|(one, _)| moves::missing(handle.workspace(), one).is_some())
        })
    }

    pub fn of(&self, handle: &WorkspaceHandle) -> Option<Arc<Shown>> {
        self.shown.get(handle.root()).map(|shown| shown.clone())
    }
}
