//! Announces to the client what other processes did. Lenses are refreshed, and Backstitch's own clients get each checkpoint.
//! Restores that a command line hands to this editor are applied.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use backstitch_core::model::{NodeId, OpId};
use backstitch_core::{Entry, Error, LogFilter, RecorderStatus, Result};
use backstitch_protocol::{
    DidCheckpoint, DidFork, DidRewind, DidSwitch, ListedConversation, Recorder, Status,
    TimelineChanged,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::conversation::conversation_of;
use crate::host::store_watcher::StoreEvent;
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::commands::handed_over;
use crate::lsp::handler::notifications::{
    CheckpointNotification, ForkNotification, RewindNotification, StatusNotification,
    SwitchNotification, TimelineNotification,
};
use crate::lsp::session::ServerState;
use crate::lsp::unsaved::external_changes::{self, DoneSince};
use crate::lsp::unsaved::written_below::warn_unsaved_below;
use crate::lsp::unsaved::{buffers, pending_saves};
use crate::to_protocol;

/// Maximum number of checkpoints that are announced one by one; after more, the client has to read the timeline
/// again.
const MAX_ANNOUNCED: usize = 50;

/// Handles the events of all stores. Runs until the server ends.
pub async fn follow(
    server: Arc<ServerState>,
    mut events: UnboundedReceiver<StoreEvent>,
    control: UnboundedSender<PathBuf>,
) {
    let mut last: HashMap<PathBuf, HistoryPosition> = HashMap::new();
    while let Some(event) = events.recv().await {
        if let StoreEvent::Opened(root) | StoreEvent::ControlCommitted(root) = &event {
            control.send(root.clone()).ok();
        }
        let (StoreEvent::Opened(root) | StoreEvent::Committed(root)) = &event else {
            continue;
        };
        let (root, Some(handle)) = (root.clone(), server.workspaces.at(root)) else {
            continue;
        };
        server.check_settings(&handle);
        if let StoreEvent::Opened(_) = event {
            // later entries are new
            if let Ok(new) = read_new(&handle, None).await {
                last.insert(root, new.position);
            }
            continue;
        }
        if server.control.has_lost_lines(&handle) {
            // their file may have another name now
            control.send(root.clone()).ok();
        }
        server.changed(&handle);
        tokio::spawn(handed_over::serve(server.clone(), handle.clone()));
        let since = last.get(&root).copied();
        if since.is_none() {
            // a store may have appeared: text typed before it is recorded
            buffers::record_all(&server, &handle, false).await;
        } else {
            buffers::record_written_below(&server, &handle).await;
        }
        match read_new(&handle, since).await {
            Ok(new) => {
                if since.is_some_and(|since| new.position.head < since.head) {
                    // another history: unsaved text is not in it yet
                    buffers::record_all(&server, &handle, false).await;
                }
                last.insert(root, new.position);
                announce(&server, &handle, &new).await;
                if let Some((affected, node)) =
                    external_changes::restored(&new.entries, new.done.switched)
                {
                    let followed = external_changes::follow(server.clone(), handle, affected, node);
                    tokio::spawn(followed);
                }
            }
            Err(Error::NoStore(_)) => {
                // the store was removed: unsaved text starts another one
                last.remove(&root);
                buffers::record_all(&server, &handle, false).await;
            }
            Err(error) => tracing::info!("{}: {error}", root.display()),
        }
    }
}

/// Handles each workspace that is opened, until the server ends.
pub async fn follow_workspaces(
    server: Arc<ServerState>,
    mut opened: UnboundedReceiver<Arc<WorkspaceHandle>>,
) {
    while let Some(handle) = opened.recv().await {
        tokio::spawn(report_recorder(server.clone(), handle.clone()));
        tokio::spawn(pending_saves::offer_leftovers(server.clone(), handle));
    }
}

/// Sends the recorder's status of a workspace, now and after each change.
pub async fn report_recorder(server: Arc<ServerState>, handle: Arc<WorkspaceHandle>) {
    server.client.wait_until_ready().await;
    if !server.client.features().own.notifications {
        return;
    }
    let mut standing = handle.standing();
    let root = handle.root().to_path_buf();
    drop(handle);
    loop {
        let recorder = match &*standing.borrow_and_update() {
            RecorderStatus::Waiting => Recorder::Waiting,
            RecorderStatus::Watching { directories } => Recorder::Watching {
                directories: *directories,
            },
            RecorderStatus::Failed(reason) => Recorder::Failed {
                reason: reason.clone(),
            },
        };
        let status = Status {
            workspace: to_protocol::text(root.as_os_str().as_encoded_bytes()),
            recorder,
        };
        server
            .client
            .connection
            .send_notification::<StatusNotification>(status)
            .await;
        if standing.changed().await.is_err() {
            return;
        }
    }
}

/// Position up to which a store's history was handled.
#[derive(Clone, Copy, Debug)]
struct HistoryPosition {
    head: NodeId,
    operation: Option<OpId>,
}

/// Events since a position.
struct Since {
    position: HistoryPosition,
    /// Oldest first; empty if there was no position before.
    entries: Vec<Entry>,
    done: DoneSince,
    /// Conversations that went back with the files of the entries' operations.
    conversations: Vec<ListedConversation>,
}

async fn read_new(handle: &WorkspaceHandle, since: Option<HistoryPosition>) -> Result<Since> {
    let asked = handle.ask(move |engine| {
        let newest = engine.history().log(&LogFilter {
            limit: Some(if since.is_some() { MAX_ANNOUNCED } else { 1 }),
            all_branches: true,
            ..LogFilter::default()
        })?;
        let head = newest.iter().map(|entry| entry.node.id).max();
        let head = head.unwrap_or(NodeId(0));
        let new = |entry: &Entry| since.is_some_and(|last| entry.node.id > last.head);
        let mut entries: Vec<Entry> = newest.into_iter().filter(new).collect();
        entries.reverse();
        let seen = since.and_then(|position| position.operation);
        let mut done = external_changes::done_since(engine, seen)?;
        let operation = done.newest;
        if since.is_none() {
            done = DoneSince::default();
        }
        let operations = entries.iter().filter_map(|entry| entry.operation.as_ref());
        let found = operations.map(|operation| conversation_of(engine, operation.id));
        // a notification has no error: a damaged row is named where it is asked for
        let conversations = found.filter_map(|found| found.ok().flatten()).collect();
        Ok(Since {
            conversations,
            position: HistoryPosition { head, operation },
            entries,
            done,
        })
    });
    asked.await
}

async fn announce(server: &Arc<ServerState>, handle: &Arc<WorkspaceHandle>, new: &Since) {
    let wants = server.client.features().own.notifications;
    let workspace = to_protocol::path(handle.root());
    let done = &new.done;
    for entry in &new.entries {
        warn_unsaved_below(server, handle, entry).await;
        if wants {
            let made = DidCheckpoint {
                workspace: workspace.clone(),
                checkpoint: to_protocol::checkpoint(entry),
            };
            server
                .client
                .connection
                .send_notification::<CheckpointNotification>(made)
                .await;
            if let (Some(operation), Some(subject)) = (&entry.operation, &entry.subject) {
                let rewound = DidRewind {
                    workspace: workspace.clone(),
                    operation: to_protocol::operation(operation, subject),
                    checkpoint: entry.node.id.to_string(),
                    conversation: new
                        .conversations
                        .iter()
                        .find(|one| one.operation == Some(operation.id.to_string()))
                        .cloned(),
                };
                server
                    .client
                    .connection
                    .send_notification::<RewindNotification>(rewound)
                    .await;
            }
        }
    }
    if wants {
        for branch in &done.forked {
            let forked = DidFork {
                workspace: workspace.clone(),
                branch: to_protocol::branch(branch),
            };
            server
                .client
                .connection
                .send_notification::<ForkNotification>(forked)
                .await;
        }
        if let Some((branch, head)) = &done.arrived {
            let call = head.as_ref().and_then(|head| head.call.as_ref());
            let switched = DidSwitch {
                workspace: workspace.clone(),
                branch: to_protocol::branch(branch),
                iteration: call.map(|call| call.iteration),
            };
            server
                .client
                .connection
                .send_notification::<SwitchNotification>(switched)
                .await;
        }
        let changed = TimelineChanged { workspace };
        server
            .client
            .connection
            .send_notification::<TimelineNotification>(changed)
            .await;
    }
}
