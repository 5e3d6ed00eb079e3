//! Announces to the client what other processes did. Lenses are refreshed, Backstitch's own clients get each
//! checkpoint, and the user is warned when an agent wrote below unsaved text. Restores that a command line hands to
//! this editor are applied.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use backstitch_core::model::{Change, ContentId, Kind, NodeId, OpId, RelPath};
use backstitch_core::{Entry, Error, LogFilter, OpenText, RecorderStatus, RequestOutcome, Result};
use backstitch_protocol::{
    BreakpointsChanged, ChangedOnDisk, DidCheckpoint, DidFork, DidHit, DidPause, DidResume,
    DidRewind, DidSwitch, PauseChanged, Recorder, ReplChanged, ReplOutput, Status, TimelineChanged,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tower_lsp::gen_lsp_types::{
    LspNotificationMethod, MessageDirection, MessageType, Notification,
};

use super::buffers;
use super::disk_merge;
use super::document::{self, Document, DocumentPath};
use super::editing::{self, EditWait, OpenDocuments};
use super::external_changes::{self, DoneSince};
use super::messages::notice;
use super::pending_saves;
use super::restore;
use super::session::ServerState;
use super::uri;
use crate::host::store_watcher::StoreEvent;
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
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
        let (root, Some(handle)) = (root.clone(), server.handle_at(root)) else {
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
        tokio::spawn(serve(server.clone(), handle.clone()));
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
                announce(&server, &handle, &new.entries, &new.done).await;
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
    server.wait_until_ready().await;
    if !server.features().own.notifications {
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
        Ok(Since {
            position: HistoryPosition { head, operation },
            entries,
            done,
        })
    });
    asked.await
}

async fn announce(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    entries: &[Entry],
    done: &DoneSince,
) {
    let wants = server.features().own.notifications;
    let workspace = to_protocol::path(handle.root());
    for entry in entries {
        warn_unsaved_below(server, handle, entry).await;
        if wants {
            let made = DidCheckpoint {
                workspace: workspace.clone(),
                checkpoint: to_protocol::checkpoint(entry),
            };
            server
                .client
                .send_notification::<CheckpointNotification>(made)
                .await;
            if let (Some(operation), Some(subject)) = (&entry.operation, &entry.subject) {
                let rewound = DidRewind {
                    workspace: workspace.clone(),
                    operation: to_protocol::operation(operation, subject),
                    checkpoint: entry.node.id.to_string(),
                };
                server
                    .client
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
                .send_notification::<SwitchNotification>(switched)
                .await;
        }
        let changed = TimelineChanged { workspace };
        server
            .client
            .send_notification::<TimelineNotification>(changed)
            .await;
    }
}

/// A change of an agent that concerns an open document.
struct Concerned {
    uri: String,
    document: Document,
    place: DocumentPath,
    change: Change,
    /// True if the user typed text that is not saved.
    is_typed: bool,
}

impl Concerned {
    /// Returns the file's new path, if it was renamed.
    fn renamed_to(&self) -> Option<&RelPath> {
        let after = self.change.after.as_ref()?;
        let was = self.change.before.as_ref()?;
        (was.path == self.place.path && after.path != was.path).then_some(&after.path)
    }
}

/// Returns the open documents whose unsaved text is above a change of an agent, or whose file it renamed.
fn concerned(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    entry: &Entry,
) -> Vec<Concerned> {
    let mut found = Vec::new();
    for (uri, document) in server.documents.of(handle) {
        let Some(place) = document.place.clone() else {
            continue;
        };
        let mut changes = entry.changes.iter().map(|c| &c.change);
        let Some(change) = changes.find(|c| touches(c, &place.path)) else {
            continue;
        };
        let is_typed = is_typed(&document, change, handle.root());
        let concerned = Concerned {
            uri,
            change: change.clone(),
            is_typed,
            document,
            place,
        };
        if is_typed || concerned.renamed_to().is_some() {
            found.push(concerned);
        }
    }
    found
}

/// Records unsaved text of files that an agent wrote to at the agent's checkpoint, and tells the user about these files and
/// about renamed ones.
async fn warn_unsaved_below(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    entry: &Entry,
) {
    if entry.node.kind != Kind::Step {
        return;
    }
    let found = concerned(server, handle, entry);
    if found.is_empty() {
        return;
    }
    let typed = found.iter().filter(|concerned| concerned.is_typed);
    let texts = typed.map(
        |Concerned {
             document, place, ..
         }| OpenText {
            path: place.path.clone(),
            text: document.as_saved().unwrap_or_else(|| document.bytes()),
            base: document.base(),
            version: i64::from(document.version),
        },
    );
    let (texts, node): (Vec<OpenText>, NodeId) = (texts.collect(), entry.node.id);
    let keeping = handle.act(false, move |WriteAccess { engine, lease }| {
        engine.documents_mut().keep_buffers(&lease, node, &texts)
    });
    let kept = keeping.await.map(|()| node);
    let agent = entry.session.as_ref().map(|s| s.agent.as_str());
    if server.features().own.notifications {
        if let Err(error) = &kept {
            let done: Vec<String> = found
                .iter()
                .map(|c| notice::what_was_done(&c.change))
                .collect();
            server.say(
                MessageType::Warning,
                notice::written_below(&done, Err(error)),
            );
        }
        for concerned in &found {
            notify_changed(server, handle, entry, agent, concerned).await;
        }
        return;
    }
    let (typed, renamed): (Vec<&Concerned>, Vec<&Concerned>) =
        found.iter().partition(|concerned| concerned.is_typed);
    let done = |all: &[&Concerned]| -> Vec<String> {
        all.iter()
            .map(|c| notice::what_was_done(&c.change))
            .collect()
    };
    if !renamed.is_empty() {
        let message = notice::renamed(agent, node, &done(&renamed));
        server.say(MessageType::Info, message);
    }
    if typed.is_empty() {
        return;
    }
    let message = notice::written_below(&done(&typed), kept);
    let can_merge = |c: &&&Concerned| c.renamed_to().is_none() && c.change.after.is_some();
    let uris: Vec<String> = typed
        .iter()
        .filter(can_merge)
        .map(|c| c.uri.clone())
        .collect();
    if uris.is_empty() {
        server.say(MessageType::Warning, message);
    } else {
        tokio::spawn(disk_merge::offer(server.clone(), message, uris));
    }
}

/// Tells one of Backstitch's own clients about a change on disk.
async fn notify_changed(
    server: &ServerState,
    handle: &WorkspaceHandle,
    entry: &Entry,
    agent: Option<&str>,
    concerned: &Concerned,
) {
    let renamed_to = concerned.renamed_to();
    let moved = renamed_to.map(|path| uri::of_path(&handle.root().join(path.to_path())));
    let changed = ChangedOnDisk {
        workspace: to_protocol::path(handle.root()),
        uri: concerned.uri.clone(),
        agent: agent.map(str::to_owned),
        checkpoint: entry.node.id.to_string(),
        conflicts: if concerned.is_typed {
            disk_merge::conflicts(&concerned.document)
        } else {
            0
        },
        unsaved: concerned.is_typed,
        renamed_to: moved,
        deleted: concerned.change.after.is_none(),
    };
    server
        .client
        .send_notification::<ChangedNotification>(changed)
        .await;
}

fn touches(change: &Change, path: &RelPath) -> bool {
    let mut states = [&change.before, &change.after].into_iter().flatten();
    states.any(|placed| placed.path == *path)
}

/// True if a document has text that the user typed: neither loaded nor saved, nor on disk, nor the state before or
/// after this step, which the editor may have read in between.
fn is_typed(document: &Document, change: &Change, root: &Path) -> bool {
    if document.text == document.saved {
        return false;
    }
    let (Some(text), Some(place)) = (document.as_saved(), &document.place) else {
        return true;
    };
    let id = Some(ContentId::of(&text));
    let mut states = [&change.before, &change.after].into_iter().flatten();
    let read = states.any(|placed| placed.image.content() == id);
    !read && document::read(&root.join(place.path.to_path())).as_ref() != Some(&text)
}

/// Applies restores that other processes hand to this editor.
async fn serve(server: Arc<ServerState>, handle: Arc<WorkspaceHandle>) {
    let _guard = handle.serving.lock().await;
    let (server, handle) = (&server, &handle);
    let taken = handle.act(false, |WriteAccess { engine, lease }| {
        engine.restore_mut().take_requests(&lease)
    });
    for mut handed in taken.await.unwrap_or_default() {
        let open = OpenDocuments::of(server, handle);
        let id = handed.id;
        handed.request.unreadable = open.unreadable(handle.root());
        let done = handle.act(false, move |WriteAccess { engine, .. }| {
            let open = open.documents(engine.root());
            let outcome = engine.restore_mut().serve(&handed, open, &mut |_| {});
            let texts = match &outcome {
                Ok(applied) => restore::texts(engine, &applied.plan)?,
                Err(_) => Vec::new(),
            };
            Ok((RequestOutcome::of(&outcome), texts))
        });
        let Ok((mut answer, texts)) = done.await else {
            continue;
        };
        let unconfirmed = editing::apply(server, handle, texts, EditWait::Another).await;
        (answer.not_taken, answer.awaited) = (unconfirmed.not_taken, unconfirmed.awaited);
        let answered = handle.act(false, move |WriteAccess { engine, .. }| {
            engine.restore_mut().answer_request(id, &answer)
        });
        if let Err(error) = answered.await {
            tracing::warn!("a request of another process: {error}");
        }
        server.changed(handle);
    }
}

/// Declares a notification to the client.
macro_rules! notification {
    ($name:ident, $params:ty, $method:literal) => {
        #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
        pub enum $name {}

        impl Notification for $name {
            type Params = $params;
            const METHOD: LspNotificationMethod<'static> = LspNotificationMethod::Custom($method);
            const MESSAGE_DIRECTION: MessageDirection = MessageDirection::ServerToClient;
        }
    };
}

notification!(
    CheckpointNotification,
    DidCheckpoint,
    "backstitch/didCheckpoint"
);
notification!(RewindNotification, DidRewind, "backstitch/didRewind");
notification!(ForkNotification, DidFork, "backstitch/didFork");
notification!(SwitchNotification, DidSwitch, "backstitch/didSwitch");
notification!(
    TimelineNotification,
    TimelineChanged,
    "backstitch/timelineChanged"
);
notification!(
    ChangedNotification,
    ChangedOnDisk,
    "backstitch/changedOnDisk"
);
notification!(StatusNotification, Status, "backstitch/status");
notification!(PauseNotification, DidPause, "backstitch/didPause");
notification!(ResumeNotification, DidResume, "backstitch/didResume");
notification!(
    PauseChangedNotification,
    PauseChanged,
    "backstitch/pauseChanged"
);
notification!(
    BreakpointsNotification,
    BreakpointsChanged,
    "backstitch/breakpointsChanged"
);
notification!(HitNotification, DidHit, "backstitch/didHit");
notification!(ReplOutputNotification, ReplOutput, "backstitch/replOutput");
notification!(
    ReplChangedNotification,
    ReplChanged,
    "backstitch/replChanged"
);
