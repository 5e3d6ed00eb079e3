//! Records what is typed and not saved, a moment after the last key: so that a checkpoint of an agent's prompt
//! holds it, and nothing is lost with the editor. Owns when; what a buffer is belongs to the engine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use backstitch_core::model::RelPath;
use backstitch_core::{Error, OpenText};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use super::document::{self, Document, Place};
use super::room::{Acting, Room};
use super::session::{Session, Touched};
use super::waiting;

/// After the last key.
const QUIET: Duration = Duration::from_millis(150);
/// However long somebody types.
const LATEST: Duration = Duration::from_secs(1);
/// A document that was closed and opens again within this was read anew, not left.
const REOPENS: Duration = Duration::from_millis(400);

/// Runs until the server ends.
pub async fn record(session: Arc<Session>, mut touched: UnboundedReceiver<Touched>) {
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
                        keep(&session, &uri).await;
                    }
                    continue;
                };
                next
            }
        };
        match next {
            None => return,
            Some(Touched::Changed(uri)) => {
                waiting.insert(uri);
                first.get_or_insert_with(Instant::now);
            }
            Some(Touched::Saved(uri)) => {
                waiting.remove(&uri);
                keep(&session, &uri).await;
            }
            Some(Touched::Closed(uri, document)) => {
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

/// Has the store hold what all documents of a workspace have, now.
pub async fn keep_all(session: &Session, room: &Room) {
    for (uri, _) in session.documents.of(room) {
        keep(session, &uri).await;
    }
}

/// Has the store hold what a document has and its file does not.
async fn keep(session: &Session, uri: &str) {
    let Some(document) = session.documents.get(uri).filter(Document::has_lines) else {
        return;
    };
    let Some(place) = document.place.clone() else {
        return;
    };
    // what cannot be put in the file's bytes is kept as the client has it, for people
    let is_typed = document.text != document.saved;
    let plain = || is_typed.then(|| document.bytes());
    let text = document.as_saved().or_else(plain);
    let (base, version) = (document.base(), i64::from(document.version));
    let (path, edition) = (place.path.clone(), document.edition);
    let kept = place.room.act(false, move |Acting { engine, lease }| {
        let file = document::read(&engine.root().join(path.to_path()));
        if let Some(file) = file.filter(|file| document.shows(file)) {
            return engine.drop_buffer(&lease, &path).map(|()| Some(file));
        }
        let Some(text) = text else {
            return engine.drop_buffer(&lease, &path).map(|()| None);
        };
        engine
            .put_buffer(
                &lease,
                &OpenText {
                    path,
                    text,
                    base,
                    version,
                },
            )
            .map(|_| None)
    });
    match kept.await {
        Ok(Some(file)) => {
            session.documents.with(uri, |now| {
                if now.edition == edition {
                    now.saved(Some(&file));
                }
            });
        }
        Ok(None) | Err(Error::NoStore(_)) => {}
        Err(error) => tracing::warn!("{uri}: what is not saved was not recorded: {error}"),
    }
}

/// A document was left.
async fn closed(session: &Arc<Session>, document: &Document) {
    let Some(Place { room, path }) = document.place.clone() else {
        return;
    };
    let dropped: RelPath = path.clone();
    let left = room.act(false, move |Acting { engine, lease }| {
        engine.drop_buffer(&lease, &dropped)?;
        engine.pending_saves()
    });
    match left.await {
        Ok(pending) => {
            for save in pending.iter().filter(|save| save.path == path) {
                waiting::ask(session, &room, save, document).await;
            }
        }
        Err(Error::NoStore(_)) => {}
        Err(error) => tracing::warn!("{}: {error}", path.display()),
    }
}
