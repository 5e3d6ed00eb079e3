//! Listens for what other processes commit: the bell of a store, watched, and looked at now and then besides,
//! since a watcher may miss one. Owns when to look; what is new is the engine's to say.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use backstitch_core::{Error, Result};
use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc::UnboundedSender;

use super::messages::refusal;
use super::workspace::WorkspaceHandle;

/// Of the workspace with this root.
#[derive(Clone, Debug)]
pub enum StoreNews {
    /// From here on its bell is listened to.
    Opened(PathBuf),
    Rang(PathBuf),
}

/// How long a ring that the watcher missed may go unheard.
const LOOK: Duration = Duration::from_millis(250);

/// Sends the workspace's root each time that its bell has rung, until nobody listens or the workspace is left.
pub fn listen(handle: &Arc<WorkspaceHandle>, heard: UnboundedSender<StoreNews>) -> Result<()> {
    let (bell, root) = (handle.workspace().bell(), handle.root().to_path_buf());
    let handle = Arc::downgrade(handle);
    let thread = std::thread::Builder::new().name("backstitch news".into());
    let spawned = thread.spawn(move || {
        let is_over = || heard.is_closed() || handle.strong_count() == 0;
        follow(&bell, &root, &heard, &is_over);
    });
    spawned.map(|_| ()).map_err(|source| Error::Io {
        what: refusal::START_THREAD.into(),
        source,
    })
}

fn follow(
    bell: &Path,
    root: &Path,
    heard: &UnboundedSender<StoreNews>,
    is_over: &dyn Fn() -> bool,
) {
    let (rings, ringing) = channel();
    let name = bell.file_name().map(ToOwned::to_owned);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let of_bell = |event: &notify::Event| {
            let mut paths = event.paths.iter();
            paths.any(|path| path.file_name() == name.as_deref())
        };
        if event.is_ok_and(|event| !event.kind.is_access() && of_bell(&event)) {
            rings.send(()).ok();
        }
    })
    .inspect_err(|error| tracing::warn!("no watcher, looking from time to time: {error}"))
    .ok();
    let mut watched = false;
    let mut last = std::fs::read(bell).ok();
    heard.send(StoreNews::Opened(root.to_path_buf())).ok();
    while !is_over() {
        if let (false, Some(watcher), Some(dir)) = (watched, &mut watcher, bell.parent()) {
            // there may be no store yet
            watched = watcher.watch(dir, RecursiveMode::NonRecursive).is_ok();
        }
        match ringing.recv_timeout(LOOK) {
            Ok(()) => while ringing.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
        }
        let now = std::fs::read(bell).ok();
        // written anew in two steps: an empty bell is one that is about to ring
        if now != last && now.as_ref().is_none_or(|text| !text.is_empty()) {
            last = now;
            if heard.send(StoreNews::Rang(root.to_path_buf())).is_err() {
                return;
            }
        }
    }
}
