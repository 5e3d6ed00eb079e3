//! Agents inside the editor: those at work, and their edits that the client applies.

use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An agent that works in this editor, from the begin of a turn to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveAgent {
    pub agent: String,
    pub session: String,
}

/// The agents at work in this editor.
#[derive(Debug, Default)]
pub struct EditorAgents {
    active: RwLock<Vec<ActiveAgent>>,
    /// Number of agents' edits that the client is applying.
    applying: AtomicUsize,
}

#[derive(Debug)]
pub struct Applying<'s>(&'s AtomicUsize);

impl Drop for Applying<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl EditorAgents {
    /// Returns the agents whose turns have begun in this editor, oldest first.
    pub fn active(&self) -> Vec<ActiveAgent> {
        self.active
            .read()
            .map(|all| all.clone())
            .unwrap_or_default()
    }

    pub fn begin(&self, agent: ActiveAgent) {
        if let Ok(mut all) = self.active.write() {
            all.retain(|other| *other != agent);
            all.push(agent);
        }
    }

    pub fn end(&self, agent: &ActiveAgent) {
        if let Ok(mut all) = self.active.write() {
            all.retain(|other| other != agent);
        }
    }

    /// Returns a guard that is held while the client applies an agent's edit. File events during that time are not
    /// the user's doing.
    pub fn applying(&self) -> Applying<'_> {
        self.applying.fetch_add(1, Ordering::Relaxed);
        Applying(&self.applying)
    }

    /// True while the client applies an edit.
    pub fn is_applying(&self) -> bool {
        self.applying.load(Ordering::Relaxed) > 0
    }
}
