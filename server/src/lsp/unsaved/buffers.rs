//! Records text that is typed and not saved, a moment after the last key. A checkpoint of an agent's prompt then
//! includes it, and it is not lost with the editor. Owns the timing; the engine owns the recorded buffers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use backstitch_core::model::{ContentId, RelPath};
use backstitch_core::{Error, OpenText};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tower_lsp::gen_lsp_types::MessageType;

use super::pending_saves;
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::document::{self, Document, DocumentPath, Documents};
use crate::lsp::messages::notice;
use crate::lsp::session::{
    DocumentEvent, SavedText, ServerState, TypingEvent, TypingPause, Workspaces,
};

/// Delay before a failed recording is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(5);
/// A document that is closed and opened again within this time was reloaded by the editor.
const REOPEN_WINDOW: Duration = Duration::from_millis(400);

/// Records the documents of all events. Runs until the server ends.
pub async fn record(server: Arc<ServerState>, mut events: UnboundedReceiver<DocumentEvent>) {
    let mut dirty: BTreeSet<String> = BTreeSet::new();
    let mut typing = TypingPause::default();
    loop {
        match typing.next(&mut events).await {
            TypingEvent::End => return,
            TypingEvent::Pause => {
                for uri in std::mem::take(&mut dirty) {
                    record_buffer(&server, &uri, TYPED).await;
                }
            }
            TypingEvent::Event(DocumentEvent::Changed(uri)) => {
                dirty.insert(uri);
                typing.note_change();
            }
            TypingEvent::Event(DocumentEvent::Saved { uri, time, text }) => {
                dirty.remove(&uri);
                let options = RecordOptions {
                    saved: Some(time),
                    ..TYPED
                };
                record_buffer(&server, &uri, options).await;
                if let Some(text) = text {
                    record_user_save(&server.documents, &uri, text).await;
                }
            }
            TypingEvent::Event(DocumentEvent::Closed(uri, document)) => {
                dirty.remove(&uri);
                let server = server.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(REOPEN_WINDOW).await;
                    if server.documents.get(&uri).is_none() {
                        on_closed(&server, &document).await;
                        drop(document);
                        server.close_unused();
                    }
                });
            }
        }
    }
}

/// Records the buffers of all documents of a workspace now. `create_store`: creates the store if there is none.
pub async fn record_all(server: &ServerState, handle: &WorkspaceHandle, create_store: bool) {
    for (uri, _) in server.documents.of(handle) {
        record_buffer(
            server,
            &uri,
            RecordOptions {
                create_store,
                ..TYPED
            },
        )
        .await;
    }
}

/// Records documents whose file another process wrote with exactly their unsaved text.
pub async fn record_written_below(server: &ServerState, handle: &WorkspaceHandle) {
    let dirty = |document: &Document| document.text != document.saved;
    for (uri, document) in server.documents.of(handle) {
        let Some(place) = document.place.as_ref().filter(|_| dirty(&document)) else {
            continue;
        };
        let file = document::read(&handle.root().join(place.path.to_path()));
        if file.is_some() && file == document.as_saved() {
            record_buffer(server, &uri, TYPED).await;
        }
    }
}

/// Closes the workspaces at an orderly exit: the last typed text is recorded, and the editor lease is given up. Text
/// that the user did not save is then discarded by the user's choice, except what checkpoints hold.
pub async fn close_all(workspaces: &Workspaces) {
    for handle in workspaces.all() {
        handle.leave().await;
    }
}

/// Options for recording a document's buffer.
#[derive(Clone, Copy, Debug)]
struct RecordOptions {
    /// Time at which the editor saved it, in microseconds since 1970.
    saved: Option<i64>,
    /// The store is created if there is none.
    create_store: bool,
}

const TYPED: RecordOptions = RecordOptions {
    saved: None,
    create_store: false,
};

/// Records the text of a document if its file does not have it. Unsaved text starts the history of a workspace that
/// has a marker, so that the first prompt's checkpoint includes it.
async fn record_buffer(server: &ServerState, uri: &str, options: RecordOptions) {
    let Some(document) = server.documents.get(uri).filter(Document::has_lines) else {
        return;
    };
    let Some(place) = document.place.clone() else {
        return;
    };
    // news from before a restore ends no wait for that restore's text
    let seen = options.saved.unwrap_or(document.sent);
    let saved = options.saved.is_some();
    // the file is open under two names: the text typed in the other document counts
    let clean = document.text == document.saved;
    if clean && server.documents.dirty_at(&place, uri) {
        return;
    }
    // text that the file's encoding cannot represent is recorded as the client has it, for people to read
    let is_typed = document.text != document.saved;
    let plain = || is_typed.then(|| document.bytes());
    let text = document.as_saved().or_else(plain);
    let (base, version) = (document.base(), i64::from(document.version));
    let (handle, path, edition) = (place.handle, place.path, document.edition);
    let path_name = path.display();
    let file = document::read(&handle.root().join(path.to_path()));
    let shown = file.filter(|file| document.shows(file));
    let recorded = match text {
        Some(text)
            if shown.is_none()
                && !server.client.will_reload(&document)
                && !document.is_nothing() =>
        {
            let create_store = options.create_store || handle.workspace().is_marked();
            let save = move |WriteAccess { engine, lease }: WriteAccess<'_>| {
                let open = OpenText {
                    path,
                    text,
                    base,
                    version,
                };
                if saved {
                    // the editor changed the text while it wrote the file
                    engine
                        .documents_mut()
                        .clean_buffer(&lease, &open.path, true, seen)?;
                }
                engine.documents_mut().put_buffer(&lease, &open).map(|_| ())
            };
            handle.act(create_store, save).await
        }
        _ => {
            // it showed a restored text, and shows its file again; a restore whose text has not arrived is a later one
            let was_given = document.restored_base.is_some() || document.shows_file_again;
            let waits = document.expected.iter().any(|edit| !edit.has_arrived);
            let shows_file_again = was_given && shown.is_some() && !waits;
            let clean = move |WriteAccess { engine, lease }: WriteAccess<'_>| {
                engine.documents_mut().clean_buffer(
                    &lease,
                    &path,
                    saved && !waits || shows_file_again,
                    seen,
                )
            };
            handle.act(false, clean).await
        }
    };
    match recorded {
        Ok(()) | Err(Error::NoStore(_)) => {
            server.unrecorded.remove(uri);
            if let Some(file) = shown {
                server.documents.with(uri, |now| {
                    if now.edition == edition {
                        now.note_written(&file);
                    }
                });
            }
        }
        Err(error) => on_unrecorded(server, uri, &path_name, &error),
    }
}

/// Warns the user once about a document whose text was not recorded, and schedules another attempt.
fn on_unrecorded(server: &ServerState, uri: &str, path: &str, error: &Error) {
    // trying again does not help: the text is too large, or it is not a file
    if let Error::Refused { .. } = error {
        tracing::warn!("{uri}: not recorded: {error}");
        return;
    }
    if server.unrecorded.insert(uri.to_owned()) {
        let message = notice::not_kept(path, error);
        server.client.say(MessageType::Warning, message);
    }
    retry_later(server.events.sender(), uri.to_owned());
}

/// Attributes text that the user saved to the user, even while an agent may be writing.
async fn record_user_save(documents: &Documents, uri: &str, saved: SavedText) {
    let document = documents.get(uri);
    let Some(DocumentPath { handle, path }) = document.and_then(|document| document.place) else {
        return;
    };
    let SavedText { base, file } = saved;
    let saved = handle.act(false, move |WriteAccess { engine, .. }| {
        engine
            .documents_mut()
            .saved_in_editor(&path, base.as_deref(), &file)
    });
    match saved.await {
        Ok(_) | Err(Error::NoStore(_)) => {}
        Err(error) => tracing::warn!("{uri}: {error}"),
    }
}

/// Schedules another attempt to record a document.
fn retry_later(events: UnboundedSender<DocumentEvent>, uri: String) {
    tokio::spawn(async move {
        tokio::time::sleep(RETRY_DELAY).await;
        events.send(DocumentEvent::Changed(uri)).ok();
    });
}

/// Handles a document that was closed.
async fn on_closed(server: &Arc<ServerState>, document: &Document) {
    let Some(place) = document.place.clone() else {
        return;
    };
    let DocumentPath { handle, path } = place.clone();
    if let Some(other) = server.documents.other_at(&place, "") {
        // it is still open under another name
        record_buffer(server, &other, TYPED).await;
        return;
    }
    let text = document.as_saved();
    let left: RelPath = path.clone();
    let pending = handle.act(false, move |WriteAccess { engine, lease }| {
        engine.documents_mut().drop_buffer(&lease, &left)?;
        engine.documents_mut().check_pending(&left)
    });
    match pending.await {
        Ok(Some(save)) => {
            // the text at the time it was closed, including later typing
            let changed = |text: &Vec<u8>| Some(ContentId::of(text)) != save.disk.content();
            let text = text.filter(changed);
            pending_saves::on_closed(server, &handle, &save, text).await;
        }
        Ok(None) | Err(Error::NoStore(_)) => {}
        Err(error) => tracing::warn!("{}: {error}", path.display()),
    }
}
