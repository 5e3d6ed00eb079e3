//! Unsaved text above an agent's change, and renamed files of open documents: records the text at the agent's checkpoint,
//! and informs the user.

use std::path::Path;
use std::sync::Arc;

use backstitch_core::model::{Change, ContentId, Kind, NodeId, RelPath};
use backstitch_core::{Entry, OpenText};
use backstitch_protocol::ChangedOnDisk;
use tower_lsp::gen_lsp_types::MessageType;

use super::disk_merge;
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::document::{self, Document, DocumentPath, Documents};
use crate::lsp::documents::uri;
use crate::lsp::handler::notifications::ChangedNotification;
use crate::lsp::messages::{known_editors, notice};
use crate::lsp::session::{EditorClient, ServerState};
use crate::render;
use crate::to_protocol;

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
    documents: &Documents,
    handle: &Arc<WorkspaceHandle>,
    entry: &Entry,
) -> Vec<Concerned> {
    let mut found = Vec::new();
    for (uri, document) in documents.of(handle) {
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
pub async fn warn_unsaved_below(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    entry: &Entry,
) {
    if entry.node.kind != Kind::Step {
        return;
    }
    tell_stale(server, handle, entry);
    let found = concerned(&server.documents, handle, entry);
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
    if server.client.features().own.notifications {
        if let Err(error) = &kept {
            let done: Vec<String> = found
                .iter()
                .map(|c| notice::what_was_done(&c.change))
                .collect();
            server.client.say(
                MessageType::Warning,
                notice::written_below(&done, Err(error)),
            );
        }
        for concerned in &found {
            notify_changed(&server.client, handle, entry, agent, concerned).await;
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
        server.client.say(MessageType::Info, message);
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
        server.client.say(MessageType::Warning, message);
    } else {
        tokio::spawn(disk_merge::offer(server.clone(), message, uris));
    }
}

/// Tells the user of an editor that keeps the text of an open file though an agent changed the file. It does so once until
/// the document changes.
fn tell_stale(server: &ServerState, handle: &Arc<WorkspaceHandle>, entry: &Entry) {
    let features = server.client.features();
    let Some(reload) = known_editors::reload_command(&features.name) else {
        return;
    };
    if features.own.notifications {
        return;
    }
    let mut paths = Vec::new();
    for (uri, document) in server.documents.of(handle) {
        let Some(place) = &document.place else {
            continue;
        };
        let written = entry.changes.iter().map(|c| &c.change).any(|change| {
            let after = change.after.as_ref();
            after.is_some_and(|placed| placed.path == place.path)
        });
        let is_loaded = document.text == document.saved;
        if written && is_loaded && is_stale(&document, &handle.root().join(place.path.to_path())) {
            let told = server.written_below.insert(uri, document.version);
            if told != Some(document.version) {
                paths.push(render::path(place.path.bytes()));
            }
        }
    }
    if !paths.is_empty() {
        let agent = entry.session.as_ref().map(|s| s.agent.as_str());
        let message = notice::stale(agent, &paths, reload);
        server.client.say(MessageType::Info, message);
    }
}

/// True if a document without unsaved text is not as its file is.
fn is_stale(document: &Document, path: &Path) -> bool {
    match (document.as_saved(), document::read(path)) {
        (Some(text), Some(there)) => text != there,
        _ => false,
    }
}

/// Tells one of Backstitch's own clients about a change on disk.
async fn notify_changed(
    client: &EditorClient,
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
    client
        .connection
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
