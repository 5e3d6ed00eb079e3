//! Records what is typed and not saved, a moment after the last key: so that a checkpoint of an agent's prompt
//! holds it, and nothing is lost with the editor. Owns when; what a buffer is belongs to the engine.

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

/// After the last key.
const QUIET: Duration = Duration::from_millis(150);
/// However long somebody types.
const LATEST: Duration = Duration::from_secs(1);
/// What could not be recorded is tried again after this.
const AGAIN: Duration = Duration::from_secs(5);
/// A document that was closed and opens again within this was read anew, not left.
const REOPENS: Duration = Duration::from_millis(400);

/// Runs until the server ends.
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

/// Has the store hold what all documents of a workspace have, now. `begins`: makes it where there is none.
pub async fn keep_all(session: &ServerState, handle: &WorkspaceHandle, begins: bool) {
    for (uri, _) in session.documents.of(handle) {
        keep(session, &uri, Why { begins, ..TYPED }).await;
    }
}

/// Somebody may have written to a file just what its document holds and was not saved.
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

/// Before the server ends in order: what was typed last is recorded, and the editor's place is given up. What the
/// user did not save is gone then by the user's will, but for what checkpoints have of it.
pub async fn leave(session: &ServerState) {
    for handle in session.handles() {
        handle.leave().await;
    }
}

/// Why a document is looked at.
#[derive(Clone, Copy, Debug)]
struct Why {
    /// The editor says that it saved it.
    saved: bool,
    /// The store is made where there is none.
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

/// Has the store hold what a document has and its file does not. Text that is not saved begins the history of a
/// workspace that shows by itself that it is one: the first prompt finds it there.
async fn keep(session: &ServerState, uri: &str, why: Why) {
    let Some(document) = session.documents.get(uri).filter(Document::has_lines) else {
        return;
    };
    let Some(place) = document.place.clone() else {
        return;
    };
    // one file under two names: what is typed in the other counts
    let clean = document.text == document.saved;
    if clean && session.documents.dirty_at(&place, uri) {
        return;
    }
    // what cannot be put in the file's bytes is kept as the client has it, for people
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
                    // the editor made something else of it on the way to the disk
                    engine.clean_buffer(&lease, &open.path, true)?;
                }
                engine.put_buffer(&lease, &open).map(|_| ())
            };
            handle.act(begins, put).await
        }
        _ => {
            // it showed what a restore had given it, and does not any more
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
        // nothing that comes by itself: too large, or no file at all
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

/// What the user saved while an agent may be writing is the user's.
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

/// Has a document that could not be recorded be looked at once more.
fn again(touched: UnboundedSender<DocumentEvent>, uri: String) {
    tokio::spawn(async move {
        tokio::time::sleep(AGAIN).await;
        touched.send(DocumentEvent::Changed(uri)).ok();
    });
}

/// A document was left.
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
            // what it had when it was closed, with what was typed since
            let changed = |text: &Vec<u8>| Some(ContentId::of(text)) != save.disk.content();
            let text = text.filter(changed);
            pending_saves::closed(session, &handle, &save, text).await;
        }
        Ok(None) | Err(Error::NoStore(_)) => {}
        Err(error) => tracing::warn!("{}: {error}", path.display()),
    }
}
