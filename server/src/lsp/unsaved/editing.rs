//! Open documents in a restore: their state for the engine, and the edits that bring their new text into the editor.
//! Only the changes that the client then sends count, not its confirmation.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use backstitch_core::PendingSave;
use backstitch_core::model::{ContentId, RelPath};
use backstitch_core::restore::OpenDoc;
use ropey::Rope;
use serde_json::{Value, json};
use tower_lsp::gen_lsp_types::{MessageType, TextEdit, WorkspaceEdit};

use crate::host::workspace::WorkspaceHandle;
use crate::lsp::documents::document::{self, Document, Documents};
use crate::lsp::documents::edits;
use crate::lsp::messages;
use crate::lsp::session::client_capabilities::ClientFeatures;
use crate::lsp::session::{ANSWER, DocumentEvent, EditorClient, ServerState};

/// Number of attempts while the user types into the document.
const TRIES: usize = 3;
/// How long a command waits for the change that our edit causes.
const COMMAND_TIMEOUT: Duration = Duration::from_millis(300);
/// How long the client may take to send the change. Eglot sends it when idle, which it is only after the command is
/// answered.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(5);

/// Snapshot of the open documents of a workspace.
#[derive(Clone, Debug)]
pub struct OpenDocuments {
    documents: Vec<Document>,
    reloads: bool,
}

/// A document's text after a restore.
#[derive(Clone, Debug)]
pub struct NewText {
    pub path: RelPath,
    /// Content of the document at the time of planning.
    pub from: ContentId,
    /// The text as a save would write it.
    pub content: Vec<u8>,
    /// The document's new base.
    pub base: Option<ContentId>,
    /// Content on disk that becomes the base, instead, as soon as the text arrives.
    pub disk: Option<Arc<[u8]>>,
}

impl OpenDocuments {
    pub fn of(server: &ServerState, handle: &WorkspaceHandle) -> Self {
        let documents = server.documents.of(handle).into_iter();
        Self {
            documents: documents.map(|(_, document)| document).collect(),
            reloads: server.client.features().own.reloads_from_disk,
        }
    }

    /// Returns the documents with unsaved text that cannot be merged.
    pub fn unreadable(&self, root: &Path) -> Vec<RelPath> {
        let of = |document: &Document| {
            let path = document.place.as_ref()?.path.clone();
            let on_disk = document::read(&root.join(path.to_path()));
            document.is_unreadable(on_disk.as_deref()).then_some(path)
        };
        self.documents.iter().filter_map(of).collect()
    }

    /// Returns the documents for the engine; those in another encoding count as plain files.
    pub fn documents(&self, root: &Path) -> Vec<OpenDoc> {
        let documents = self.documents.iter();
        documents
            .filter_map(|document| {
                let path = document.place.as_ref()?.path.clone();
                let text = document.as_saved().filter(|_| document.format.is_utf8())?;
                let on_disk = document::read(&root.join(path.to_path()));
                // the client reloads it: a file that was just written has not arrived there yet
                let clean = self.reloads && document.text == document.saved;
                let clean = clean || document.is_nothing();
                let dirty = !clean && !on_disk.is_some_and(|file| document.shows(&file));
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

/// Documents whose new text has not arrived yet. They wait for a save all the same.
#[derive(Clone, Debug, Default)]
pub struct UnconfirmedEdits {
    /// Closed, refused, or typed into meanwhile.
    pub not_taken: Vec<RelPath>,
    /// The client has confirmed the edit, but not sent the change yet.
    pub awaited: Vec<RelPath>,
}

/// Outcome of one edit.
pub enum EditFate {
    /// The document with this URI has its new text.
    Arrived(String),
    NotTaken,
    /// The client has confirmed it for the document with this URI and version.
    Unconfirmed(String, i32),
}

/// An edit that the client has confirmed.
struct ClientAnswer {
    path: RelPath,
    uri: String,
    version: i32,
    base: Option<ContentId>,
}

/// The caller that waits for documents to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditWait {
    /// A command of the client, which may send changes only after the answer.
    Command,
    /// Another process.
    Another,
}

/// Puts new texts into their documents, all at once. Warns the user about documents that do not get theirs, now or
/// later.
pub async fn apply(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    texts: Vec<NewText>,
    caller: EditWait,
) -> UnconfirmedEdits {
    let mut unconfirmed = UnconfirmedEdits::default();
    let mut answers: Vec<ClientAnswer> = Vec::new();
    let mut tasks = Vec::new();
    for text in texts {
        let (path, base) = (text.path.clone(), text.base);
        let (server, handle) = (server.clone(), handle.clone());
        let task = async move { put_text(&server, &handle, &text, caller).await };
        tasks.push((path, base, tokio::spawn(task)));
    }
    for (path, base, task) in tasks {
        match task.await {
            Ok(EditFate::Arrived(uri)) => set_base(server, &uri, base),
            Ok(EditFate::Unconfirmed(uri, version)) => {
                unconfirmed.awaited.push(path.clone());
                answers.push(ClientAnswer {
                    path,
                    uri,
                    version,
                    base,
                });
            }
            Ok(EditFate::NotTaken) | Err(_) => unconfirmed.not_taken.push(path),
        }
    }
    warn(&server.client, &unconfirmed.not_taken);
    if !answers.is_empty() {
        tokio::spawn(follow_up(server.clone(), answers));
    }
    unconfirmed
}

/// Updates a document that still shows the old content of a file to the written one, if its editor does not reload.
pub async fn follow_disk(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    save: &PendingSave,
) {
    let (Some(from), false) = (
        save.disk.content(),
        server.client.features().own.reloads_from_disk,
    ) else {
        return;
    };
    let shows =
        find(&server.documents, handle, &save.path).and_then(|(_, document)| document.as_saved());
    let file = document::read(&handle.root().join(save.path.to_path()));
    if let (Some(content), true) = (file, shows.is_some_and(|text| ContentId::of(&text) == from)) {
        let path = save.path.clone();
        let base = Some(ContentId::of(&content));
        let new = NewText {
            path,
            from,
            content,
            base,
            disk: None,
        };
        apply(server, handle, vec![new], EditWait::Another).await;
    }
}

/// Sets the restored content as the base of a document's unsaved text.
fn set_base(server: &ServerState, uri: &str, base: Option<ContentId>) {
    server
        .documents
        .with(uri, |document| document.set_base(base));
    server.events.send(DocumentEvent::Changed(uri.to_owned()));
}

/// Waits for changes that the client has confirmed.
async fn follow_up(server: Arc<ServerState>, answers: Vec<ClientAnswer>) {
    let mut left = Vec::new();
    for ClientAnswer {
        path,
        uri,
        version,
        base,
    } in answers
    {
        if changes_from(&server, &uri, version).await {
            set_base(&server, &uri, base);
        } else if server.documents.get(&uri).is_some() {
            left.push(path);
        }
    }
    warn(&server.client, &left);
}

/// Waits until the client sends another version of a document; true if it does.
pub async fn changes_from(server: &ServerState, uri: &str, version: i32) -> bool {
    let moved = |document: &Document| document.version != version;
    server
        .events
        .wait_for(&server.documents, uri, CHANGE_TIMEOUT, moved)
        .await
}

fn warn(client: &EditorClient, left: &[RelPath]) {
    if left.is_empty() {
        return;
    }
    client.say(MessageType::Warning, messages::notice::not_taken(left));
}

/// Puts a new text into its document.
pub async fn put_text(
    server: &ServerState,
    handle: &WorkspaceHandle,
    new: &NewText,
    caller: EditWait,
) -> EditFate {
    let timeout = match caller {
        EditWait::Command => COMMAND_TIMEOUT,
        EditWait::Another => CHANGE_TIMEOUT,
    };
    for _ in 0..TRIES {
        let Some((uri, document)) = find(&server.documents, handle, &new.path) else {
            // closed meanwhile: the handler of `didClose` asks the user whether to write the file
            return EditFate::NotTaken;
        };
        let Some(target) = document.text_of(&new.content) else {
            return EditFate::NotTaken;
        };
        let after = Rope::from_str(&target);
        let expecting = server.documents.with(&uri, |document| {
            if document.text == after {
                if let Some(disk) = &new.disk {
                    document.rebase(disk);
                }
                return None;
            }
            Some(document.expect_edit(after.clone(), new.disk.clone()))
        });
        let id = match expecting {
            Some(Some(id)) => id,
            Some(None) => return EditFate::Arrived(uri),
            None => return EditFate::NotTaken,
        };
        let forget = || {
            server
                .documents
                .with(&uri, |document| document.forget_edit(id))
        };
        if !document.is(new.from) {
            // typed since it was planned
            forget();
            return EditFate::NotTaken;
        }
        let edits = edits::between(&document.text, &target, server.client.features().encoding);
        let edit = change(server.client.features(), &uri, document.version, &edits);
        let Ok(edit) = serde_json::from_value::<WorkspaceEdit>(edit) else {
            forget();
            return EditFate::NotTaken;
        };
        let refused = is_refused(&server.client, &uri, edit).await;
        let timeout = if refused { COMMAND_TIMEOUT } else { timeout };
        let has_arrived = |document: &Document| document.has_arrived(id) || document.text == after;
        if server
            .events
            .wait_for(&server.documents, &uri, timeout, has_arrived)
            .await
        {
            forget();
            return EditFate::Arrived(uri);
        }
        let now = server.documents.get(&uri);
        let is_same = now.is_some_and(|now| now.version == document.version);
        if !refused && is_same {
            // The edit may be applied and not sent yet: a second one would then hit other text.
            return EditFate::Unconfirmed(uri, document.version);
        }
        forget();
        tracing::info!("{uri}: the edit was refused, or something was typed");
    }
    EditFate::NotTaken
}

/// Has the client apply an edit. Returns true if it refuses, and false without an answer.
async fn is_refused(client: &EditorClient, uri: &str, edit: WorkspaceEdit) -> bool {
    let asked = tokio::time::timeout(ANSWER, client.connection.apply_edit(edit));
    match asked.await {
        Ok(Ok(answer)) => !answer.applied,
        Ok(Err(error)) => {
            tracing::warn!("{uri}: {error}");
            true
        }
        Err(_) => {
            tracing::warn!("{uri}: no answer to an edit");
            false
        }
    }
}

/// Builds the edits of a document in the form that the client supports.
fn change(features: &ClientFeatures, uri: &str, version: i32, edits: &[TextEdit]) -> Value {
    if !features.versioned_edits {
        return json!({ "changes": { uri: edits } });
    }
    let document = json!({ "uri": uri, "version": version });
    if !features.annotated_edits {
        return json!({ "documentChanges": [{ "textDocument": document, "edits": edits }] });
    }
    let annotated = edits.iter().map(|edit| {
        json!({ "range": edit.range, "newText": edit.new_text, "annotationId": "backstitch" })
    });
    let annotated: Vec<Value> = annotated.collect();
    json!({
        "documentChanges": [{ "textDocument": document, "edits": annotated }],
        "changeAnnotations": { "backstitch": {
            "label": messages::EDIT,
            "needsConfirmation": false,
        }},
    })
}

/// Returns the document of a file; of two under different names, the one with unsaved text.
fn find(
    documents: &Documents,
    handle: &WorkspaceHandle,
    path: &RelPath,
) -> Option<(String, Document)> {
    let all = documents.of(handle).into_iter();
    let of_it =
        all.filter(|(_, document)| document.place.as_ref().is_some_and(|p| p.path == *path));
    of_it.max_by_key(|(_, document)| document.text != document.saved)
}
