//! Records text that is typed and not saved, a moment after the last key. A checkpoint of an agent's prompt then
//! includes it, and it is not lost with the editor. Owns the timing; the engine owns the recorded buffers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use backstitch_core::model::{ContentId, RelPath};
use backstitch_core::{Error, OpenText};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;
use tower_lsp::gen_lsp_types::MessageType;

use super::document::{self, Document, DocumentPath};
use super::messages::notice;
use super::pending_saves;
use super::session::{DocumentEvent, SavedText, ServerState};
use super::workspace::{WorkspaceHandle, WriteAccess};

/// Time without a key after which a buffer is recorded.
const QUIET: Duration = Duration::from_millis(150);
/// Maximum delay while the user keeps typing.
const LATEST: Duration = Duration::from_secs(1);
/// Delay before a failed recording is tried again.
const AGAIN: Duration = Duration::from_secs(5);
/// A document that is closed and opened again within this time was reloaded by the editor.
const REOPENS: Duration = Duration::from_millis(400);

/// Records the documents of all events. Runs until the server ends.
pub async fn record(session: Arc<ServerState>, mut touched: UnboundedReceiver<DocumentEvent>) {
    let mut waiting: BTreeSet<String> = BTreeSet::new();
    let mut first: Option<Instant> = None;
    loop {
        let due = first.map(|first| (first + LATEST).min(Instant::now() + QUIET));
        let next = match due {
            None => touched.recv().await,
            Some(due) => {
                let Ok(next) = tokio::time::timeout_at(due, touched.recv()).await else {
                    first = None;
                    for uri in std::mem::take(&mut waiting) {
                        keep(&session, &uri, TYPED).await;
                    }
                    continue;
                };
                next
            }
        };
        match next {
            None => return,
            Some(DocumentEvent::Changed(uri)) => {
                waiting.insert(uri);
                first.get_or_insert_with(Instant::now);
            }
            Some(DocumentEvent::Saved(uri, saved)) => {
                waiting.remove(&uri);
                keep(&session, &uri, SAVED).await;
                if let Some(saved) = saved {
                    users(&session, &uri, saved).await;
                }
            }
            Some(DocumentEvent::Closed(uri, document)) => {
                waiting.remove(&uri);
                let session = session.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(REOPENS).await;
                    if session.documents.get(&uri).is_none() {
                        closed(&session, &document).await;
                        drop(document);
                        session.leave_rooms();
                    }
                });
            }
        }
    }
}

/// Records the buffers of all documents of a workspace now. `begins`: creates the store if there is none.
pub async fn keep_all(session: &ServerState, handle: &WorkspaceHandle, begins: bool) {
    for (uri, _) in session.documents.of(handle) {
        keep(session, &uri, Why { begins, ..TYPED }).await;
    }
}

/// Records documents whose file another process wrote with exactly their unsaved text.
pub async fn written_below(session: &ServerState, handle: &WorkspaceHandle) {
    let dirty = |document: &Document| document.text != document.saved;
    for (uri, document) in session.documents.of(handle) {
        let Some(place) = document.place.as_ref().filter(|_| dirty(&document)) else {
            continue;
        };
        let file = document::read(&handle.root().join(place.path.to_path()));
        if file.is_some() && file == document.as_saved() {
            keep(session, &uri, TYPED).await;
        }
    }
}

/// Closes the workspaces at an orderly exit: the last typed text is recorded, and the editor lease is given up. Text
/// that the user did not save is then discarded by the user's choice, except what checkpoints hold.
pub async fn leave(session: &ServerState) {
    for handle in session.handles() {
        handle.leave().await;
    }
}

/// Options for recording a document's buffer.
#[derive(Clone, Copy, Debug)]
struct Why {
    /// The editor has saved it.
    saved: bool,
    /// The store is created if there is none.
    begins: bool,
}

const TYPED: Why = Why {
    saved: false,
    begins: false,
};
const SAVED: Why = Why {
    saved: true,
    begins: false,
};

/// Records the text of a document if its file does not have it. Unsaved text starts the history of a workspace that
/// has a marker, so that the first prompt's checkpoint includes it.
async fn keep(session: &ServerState, uri: &str, why: Why) {
    let Some(document) = session.documents.get(uri).filter(Document::has_lines) else {
        return;
    };
    let Some(place) = document.place.clone() else {
        return;
    };
    // the file is open under two names: the text typed in the other document counts
    let clean = document.text == document.saved;
    if clean && session.documents.dirty_at(&place, uri) {
        return;
    }
    // text that the file's encoding cannot represent is recorded as the client has it, for people to read
    let is_typed = document.text != document.saved;
    let plain = || is_typed.then(|| document.bytes());
    let text = document.as_saved().or_else(plain);
    let (base, version) = (document.base(), i64::from(document.version));
    let (handle, path, edition) = (place.handle, place.path, document.edition);
    let place_name = path.display();
    let file = document::read(&handle.root().join(path.to_path()));
    let shown = file.filter(|file| document.shows(file));
    let kept = match text {
        Some(text)
            if shown.is_none() && !session.will_reload(&document) && !document.is_nothing() =>
        {
            let begins = why.begins || handle.workspace().is_marked();
            let put = move |WriteAccess { engine, lease }: WriteAccess<'_>| {
                let open = OpenText {
                    path,
                    text,
                    base,
                    version,
                };
                if why.saved {
                    // the editor changed the text while it wrote the file
                    engine.clean_buffer(&lease, &open.path, true)?;
                }
                engine.put_buffer(&lease, &open).map(|_| ())
            };
            handle.act(begins, put).await
        }
        _ => {
            // it showed a restored text, and shows its file again
            let was_given = document.given.is_some() || document.taken_back;
            let taken_back = was_given && shown.is_some();
            let clean = move |WriteAccess { engine, lease }: WriteAccess<'_>| {
                engine.clean_buffer(&lease, &path, why.saved || taken_back)
            };
            handle.act(false, clean).await
        }
    };
    match kept {
        Ok(()) | Err(Error::NoStore(_)) => {
            session.unkept.remove(uri);
            if let Some(file) = shown {
                session.documents.with(uri, |now| {
                    if now.edition == edition {
                        now.written(&file);
                    }
                });
            }
        }
        // trying again does not help: the text is too large, or it is not a file
        Err(error @ Error::Refused { .. }) => tracing::warn!("{uri}: not recorded: {error}"),
        Err(error) => {
            if session.unkept.insert(uri.to_owned()) {
                let said = notice::not_kept(&place_name, &error);
                session.say(MessageType::Warning, said);
            }
            again(session.touches(), uri.to_owned());
        }
    }
}

/// Attributes text that the user saved to the user, even while an agent may be writing.
async fn users(session: &ServerState, uri: &str, saved: SavedText) {
    let document = session.documents.get(uri);
    let Some(DocumentPath { handle, path }) = document.and_then(|document| document.place) else {
        return;
    };
    let SavedText { base, file } = saved;
    let saved = handle.act(false, move |WriteAccess { engine, .. }| {
        engine.saved_in_editor(&path, base.as_deref(), &file)
    });
    match saved.await {
        Ok(_) | Err(Error::NoStore(_)) => {}
        Err(error) => tracing::warn!("{uri}: {error}"),
    }
}

/// Schedules another attempt to record a document.
fn again(touched: UnboundedSender<DocumentEvent>, uri: String) {
    tokio::spawn(async move {
        tokio::time::sleep(AGAIN).await;
        touched.send(DocumentEvent::Changed(uri)).ok();
    });
}

/// Handles a document that was closed.
async fn closed(session: &Arc<ServerState>, document: &Document) {
    let Some(place) = document.place.clone() else {
        return;
    };
    let DocumentPath { handle, path } = place.clone();
    if let Some(other) = session.documents.other_at(&place, "") {
        // it is still open under another name
        keep(session, &other, TYPED).await;
        return;
    }
    let text = document.as_saved();
    let left: RelPath = path.clone();
    let waits = handle.act(false, move |WriteAccess { engine, lease }| {
        engine.drop_buffer(&lease, &left)?;
        engine.still_waits(&left)
    });
    match waits.await {
        Ok(Some(save)) => {
            // the text at the time it was closed, including later typing
            let changed = |text: &Vec<u8>| Some(ContentId::of(text)) != save.disk.content();
            let text = text.filter(changed);
            pending_saves::closed(session, &handle, &save, text).await;
        }
        Ok(None) | Err(Error::NoStore(_)) => {}
        Err(error) => tracing::warn!("{}: {error}", path.display()),
    }
}
