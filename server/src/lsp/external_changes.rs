//! Updates documents after a restore by another process, in editors that do not reload files. Unsaved text is merged.

use std::collections::BTreeSet;
use std::sync::Arc;

use backstitch_core::model::{ContentId, NodeId, OpId, RelPath};
use backstitch_core::{Engine, Entry, Followed, OpenText, Result};
use tower_lsp::gen_lsp_types::MessageType;

use super::document::Document;
use super::editing::{self, EditWait, NewText};
use super::messages::notice;
use super::session::ServerState;
use crate::host::workspace::{WorkspaceHandle, WriteAccess};

/// The documents that a restore affects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Affected {
    /// All documents: another branch was checked out.
    All,
    Paths(BTreeSet<RelPath>),
}

impl Affected {
    fn contains(&self, path: &RelPath) -> bool {
        match self {
            Self::All => true,
            Self::Paths(paths) => paths.contains(path),
        }
    }
}

/// Returns the paths that restores among the entries changed, and the newest node of these; None without a restore.
pub fn restored(entries: &[Entry], switched: bool) -> Option<(Affected, Option<NodeId>)> {
    let restores = entries.iter().filter(|entry| entry.operation.is_some());
    let newest = restores.clone().map(|entry| entry.node.id).max();
    if switched {
        return Some((Affected::All, newest));
    }
    let changes = restores.flat_map(|entry| &entry.changes);
    let states = changes.flat_map(|c| [&c.change.before, &c.change.after]);
    let paths = states.flatten().map(|placed| placed.path.clone()).collect();
    newest.map(|newest| (Affected::Paths(paths), Some(newest)))
}

/// Returns the newest finished operation, and true if a switch is among those after `seen`.
pub fn done_since(engine: &Engine, seen: Option<OpId>) -> Result<(Option<OpId>, bool)> {
    if engine.documents().news()?.operation == seen {
        return Ok((seen, false));
    }
    let all = engine.history().operations()?;
    let newest = all.iter().find(|op| op.is_finished()).map(|op| op.id);
    let mut new = all.iter().take_while(|op| Some(op.id) > seen);
    let switched = new.any(|op| op.is_finished() && op.to_branch.is_some());
    Ok((newest.max(seen), switched))
}

/// Updates the affected documents. A restore by this server has already updated them.
pub async fn follow(
    server: Arc<ServerState>,
    handle: Arc<WorkspaceHandle>,
    affected: Affected,
    node: Option<NodeId>,
) {
    let _alone = (handle.restoring.lock().await, handle.serving.lock().await);
    let concerned = |document: &Document| {
        let place = document
            .place
            .as_ref()
            .filter(|p| affected.contains(&p.path))?;
        if server.will_reload(document) || !document.format.is_utf8() {
            return None;
        }
        Some(OpenText {
            path: place.path.clone(),
            text: document.as_saved()?,
            base: document.base(),
            version: i64::from(document.version),
        })
    };
    let documents = server.documents.of(&handle);
    let open: Vec<OpenText> = documents.iter().filter_map(|(_, d)| concerned(d)).collect();
    if open.is_empty() {
        return;
    }
    let asked = handle.act(false, move |WriteAccess { engine, lease }| {
        let mut followed = Vec::new();
        for text in open {
            let becomes = engine.documents().follow(&text)?;
            if becomes == Followed::Stays {
                continue;
            }
            let typed = text.base != Some(ContentId::of(&text.text));
            if let Some(node) = node.filter(|_| typed) {
                engine
                    .documents_mut()
                    .keep_buffers(&lease, node, std::slice::from_ref(&text))?;
            }
            followed.push((text, becomes));
        }
        Ok(followed)
    });
    let followed = match asked.await {
        Ok(followed) => followed,
        Err(error) => {
            tracing::warn!("{}: {error}", handle.root().display());
            return;
        }
    };
    let (mut texts, mut collide) = (Vec::new(), Vec::new());
    for (open, becomes) in followed {
        match becomes {
            Followed::Becomes(content, base) => texts.push(NewText {
                from: ContentId::of(&open.text),
                path: open.path,
                content,
                base: Some(base),
            }),
            Followed::Collides => collide.push(open.path),
            Followed::Stays => {}
        }
    }
    if !texts.is_empty() {
        editing::apply(&server, &handle, texts, EditWait::Another).await;
    }
    if !collide.is_empty() {
        server.say(MessageType::Warning, notice::collides(&collide));
    }
}
