//! Follows the rows of breakpoints and held calls of all workspaces, and has their changes announced. Notices calls whose
//! hook died.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use backstitch_control::PauseState;
use backstitch_core::Result;
use tokio::sync::mpsc::UnboundedReceiver;

use super::announcements;
use super::changes::{self, Announced, ControlRows};
use crate::control::predict::read_disk;
use crate::control::shown;
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::session::ServerState;
use crate::lsp::session::control_state::{ControlState, HeldHere, Shown};

/// Interval at which hooks that died are noticed while a call is held.
const TICK: Duration = Duration::from_millis(250);

/// Handles the news about held calls of all workspaces. Runs until the server ends.
pub async fn follow(server: Arc<ServerState>, mut events: UnboundedReceiver<PathBuf>) {
    let mut all: HashMap<PathBuf, Announced> = HashMap::new();
    server.client.wait_until_ready().await;
    loop {
        let waits = all.values().any(Announced::waits);
        let root = if waits {
            tokio::time::timeout(TICK, events.recv()).await
        } else {
            Ok(events.recv().await)
        };
        let roots: Vec<PathBuf> = match root {
            Ok(Some(root)) => vec![root],
            Ok(None) => return,
            Err(_) => {
                let held = all.iter().filter(|(_, one)| one.waits());
                held.map(|(root, _)| root.clone()).collect()
            }
        };
        for root in roots {
            let Some(handle) = server.workspaces.at(&root) else {
                all.remove(&root);
                continue;
            };
            let announced = all.entry(root).or_default();
            if let Err(error) = look(&server, &handle, announced).await {
                tracing::info!("{}: {error}", handle.root().display());
            }
        }
    }
}

/// Reads the rows, and announces the differences to the last time.
async fn look(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    announced: &mut Announced,
) -> Result<()> {
    let seen = announced.clone();
    let workspace = handle.workspace().clone();
    let rows = handle.control(false, move |control| {
        changes::read(&workspace, control, &seen)
    });
    let Some(rows) = rows.await? else {
        // there is none yet, or it was removed with the store
        *announced = Announced::nothing();
        if server.control.shown.remove(handle.root()).is_some() {
            server.client.refresh_lenses();
        }
        return Ok(());
    };
    let changes = changes::compare(announced, &rows);
    let has_changed = announced.breakpoints != rows.breakpoints;
    announced.breakpoints.clone_from(&rows.breakpoints);
    announced.hit = Some(rows.newest_hit);
    announced.pause = Some(rows.newest_pause);
    announced.entry = Some(rows.newest_entry);
    announced.attempt = Some(rows.newest_attempt);
    announced.open_repls.clone_from(&rows.open_repls);
    if has_changed || !changes.is_empty() {
        keep(&server.control, handle, &rows);
        server.client.refresh_lenses();
    }
    announcements::announce(server, handle, &rows, &changes, has_changed).await;
    Ok(())
}

/// Keeps the state for lenses and code actions.
fn keep(control: &ControlState, handle: &WorkspaceHandle, rows: &ControlRows) {
    let held = rows.open.iter().filter(|p| p.state == PauseState::Held);
    let held = held.map(|pause| {
        let shown = shown::now(pause, &read_disk);
        let here = HeldHere {
            pause: pause.clone(),
            predicted: shown.predicted,
        };
        (pause.id, here)
    });
    let shown = Shown {
        held: held.collect(),
        lines: rows.lines.clone(),
    };
    let root = handle.root().to_path_buf();
    control.shown.insert(root, Arc::new(shown));
}
