//! Detects commits of other processes: watches the bell, a file that each commit rewrites, and polls it, since a
//! watcher may miss an event. Owns the timing; the engine reads the new entries.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use backstitch_control::BellWatch;
use backstitch_core::{Error, Result};
use tokio::sync::mpsc::UnboundedSender;

use super::messages;
use super::workspace::WorkspaceHandle;

/// Event of the store of the workspace with this root.
#[derive(Clone, Debug)]
pub enum StoreEvent {
    /// From here on the bell is watched.
    Opened(PathBuf),
    Committed(PathBuf),
    /// Breakpoints or held calls have changed.
    ControlCommitted(PathBuf),
}

/// The event of each bell.
const EVENTS: [fn(PathBuf) -> StoreEvent; 2] =
    [StoreEvent::Committed, StoreEvent::ControlCommitted];

/// Interval of the poll where nothing can be watched.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Sends an event each time that the bell of a workspace has changed, until the receiver is closed or the workspace
/// is dropped.
pub fn listen(handle: &Arc<WorkspaceHandle>, events: UnboundedSender<StoreEvent>) -> Result<()> {
    let workspace = handle.workspace();
    let bells = [workspace.bell(), workspace.control_bell()];
    let root = handle.root().to_path_buf();
    let handle = Arc::downgrade(handle);
    let thread = std::thread::Builder::new().name("backstitch store".into());
    let spawned = thread.spawn(move || {
        let is_over = || events.is_closed() || handle.strong_count() == 0;
        follow(&bells, &root, &events, &is_over);
    });
    spawned.map(|_| ()).map_err(|source| Error::Io {
        what: messages::START_THREAD.into(),
        source,
    })
}

fn follow(
    bells: &[PathBuf; 2],
    root: &Path,
    events: &UnboundedSender<StoreEvent>,
    is_over: &dyn Fn() -> bool,
) {
    let dir = bells[0].parent().unwrap_or(root);
    let mut watch = BellWatch::of(dir);
    let mut last = bells.each_ref().map(|bell| std::fs::read(bell).ok());
    events.send(StoreEvent::Opened(root.to_path_buf())).ok();
    while !is_over() {
        if watch.is_watching() {
            watch.wait(None);
        } else {
            // there may be no store yet
            std::thread::sleep(POLL_INTERVAL);
            watch = BellWatch::of(dir);
        }
        let sent = bells
            .iter()
            .zip(&mut last)
            .zip(EVENTS)
            .all(|((bell, last), event)| {
                let now = std::fs::read(bell).ok();
                // the bell is rewritten in two steps: an empty one is about to change
                let has_rung = now != *last && now.as_ref().is_none_or(|text| !text.is_empty());
                if has_rung {
                    *last = now;
                }
                !has_rung || events.send(event(root.to_path_buf())).is_ok()
            });
        if !sent {
            return;
        }
    }
}
