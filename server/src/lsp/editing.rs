//! Open documents in a restore: what the engine is told of them, and how their new text gets into the editor.
//! What counts is what the client then sends, not that it said yes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use backstitch_core::model::{ContentId, RelPath};
use backstitch_core::restore::OpenDoc;
use serde_json::json;
use tower_lsp::gen_lsp_types::{MessageType, WorkspaceEdit};

use super::document::{self, Document};
use super::edits;
use super::room::Room;
use super::session::{ANSWER, Session};

/// How often to try while the user types into the document.
const TRIES: usize = 3;
/// How long the client may take to send the change that an edit of ours made.
const ECHO: Duration = Duration::from_secs(2);

/// The open documents of a workspace, as they are at one moment.
#[derive(Clone, Debug)]
pub struct Open {
    documents: Vec<Document>,
    reloads: bool,
}

/// A document's text after a restore.
#[derive(Clone, Debug)]
pub struct NewText {
    pub path: RelPath,
    /// What the document had when it was planned.
    pub from: ContentId,
    /// As it would be saved.
    pub content: Vec<u8>,
}

impl Open {
    pub fn of(session: &Session, room: &Room) -> Self {
        let documents = session.documents.of(room).into_iter();
        Self {
            documents: documents.map(|(_, document)| document).collect(),
            reloads: session.abilities().own.reloads_from_disk,
        }
    }

    /// As the engine is told of them; those in another encoding are files like any other.
    pub fn documents(&self, root: &Path) -> Vec<OpenDoc> {
        let documents = self.documents.iter();
        documents
            .filter_map(|document| {
                let path = document.place.as_ref()?.path.clone();
                let text = document.as_saved()?;
                let on_disk = document::read(&root.join(path.to_path()));
                let dirty = on_disk.as_ref() != Some(&text);
                Some(OpenDoc {
                    path,
                    base: document.base(),
                    text: dirty.then_some(text),
                    on_disk: !dirty && self.reloads,
                })
            })
            .collect()
    }
}

/// Puts new texts into their documents. The paths of those that did not take theirs: they wait for a save
/// all the same, and the user is told.
pub async fn apply(session: &Arc<Session>, room: &Arc<Room>, texts: &[NewText]) -> Vec<RelPath> {
    let mut left = Vec::new();
    for text in texts {
        if !one(session, room, text).await {
            left.push(text.path.clone());
        }
    }
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(RelPath::display).collect();
        session.say(
            MessageType::Warning,
            format!(
                "The editor did not take the new text of {}. What you typed is kept; `backstitch undo` takes the rewind back.",
                names.join(", ")
            ),
        );
    }
    left
}

async fn one(session: &Arc<Session>, room: &Arc<Room>, new: &NewText) -> bool {
    for _ in 0..TRIES {
        let Some((uri, document)) = find(session, room, &new.path) else {
            // closed meanwhile: whoever hears of that asks what is to be written
            return false;
        };
        let Some(target) = document.text_of(&new.content) else {
            return false;
        };
        if document.text == target.as_str() {
            return true;
        }
        let unchanged = document
            .as_saved()
            .is_some_and(|text| ContentId::of(&text) == new.from);
        if !unchanged {
            // typed since it was planned
            return false;
        }
        let edits = edits::between(&document.text, &target, session.abilities().encoding);
        let edit = if session.abilities().versioned_edits {
            json!({ "documentChanges": [{
                "textDocument": { "uri": uri, "version": document.version },
                "edits": edits,
            }]})
        } else {
            json!({ "changes": { uri.as_str(): edits } })
        };
        let Ok(edit) = serde_json::from_value::<WorkspaceEdit>(edit) else {
            return false;
        };
        let asked = tokio::time::timeout(ANSWER, session.client.apply_edit(edit));
        match asked.await {
            Ok(Ok(answer)) if !answer.applied => tracing::info!("{uri}: the edit was refused"),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!("{uri}: {error}"),
            Err(_) => tracing::warn!("{uri}: no answer to an edit"),
        }
        if session.comes_to(&uri, &target, ECHO).await {
            return true;
        }
    }
    false
}

fn find(session: &Session, room: &Room, path: &RelPath) -> Option<(String, Document)> {
    let mut all = session.documents.of(room).into_iter();
    all.find(|(_, document)| document.place.as_ref().is_some_and(|p| p.path == *path))
}
