//! Updates documents after a restore by another process, in editors that do not reload files. Unsaved text is merged.

use std::collections::BTreeSet;
use std::sync::Arc;

use backstitch_core::model::{ContentId, NodeId, OpId, RelPath};
use backstitch_core::{
    BranchInfo, Engine, Entry, Followed, OpKind, OpState, OpenText, Operation, Result,
};
use tower_lsp::gen_lsp_types::MessageType;

use super::editing::{self, EditWait, NewText};
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::documents::document::Document;
use crate::lsp::messages::notice;
use crate::lsp::session::ServerState;

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

/// Operations since a position.
#[derive(Debug, Default)]
pub struct DoneSince {
    /// Newest finished operation.
    pub newest: Option<OpId>,
    /// True if a directory was switched to another branch.
    pub switched: bool,
    /// Branches that were created, oldest first.
    pub forked: Vec<BranchInfo>,
    /// Newest checkpoint after a switch of this directory, and its branch.
    pub arrived: Option<(BranchInfo, Option<Entry>)>,
}

/// Returns the operations since a position.
pub fn done_since(engine: &mut Engine, seen: Option<OpId>) -> Result<DoneSince> {
    let mut done = DoneSince {
        newest: seen,
        ..DoneSince::default()
    };
    if engine.documents().news()?.operation == seen {
        return Ok(done);
    }
    let all = engine.history().operations()?;
    // an open operation with a node has changed its files, and only tidies up
    let is_done =
        |op: &&Operation| op.is_finished() || op.state == OpState::Open && op.node.is_some();
    let newest = all.iter().find(is_done).map(|op| op.id);
    done.newest = newest.max(seen);
    let new = all.iter().take_while(|op| Some(op.id) > seen);
    let new: Vec<&Operation> = new.filter(is_done).collect();
    done.switched = new.iter().any(|op| op.to_branch.is_some());
    let forks = |op: &&&Operation| op.kind == OpKind::Fork;
    if !done.switched && !new.iter().any(|op| forks(&op)) {
        return Ok(done);
    }
    // another process may have switched
    engine.refresh()?;
    let branches = engine.history().branches()?;
    for fork in new.iter().rev().filter(forks) {
        let made = branches.iter().rev().find(|b| b.name == fork.target);
        done.forked.extend(made.cloned());
    }
    let reached = new.iter().find_map(|op| op.to_branch);
    // the other directories of this history are not this editor's
    let reached = reached.and_then(|id| branches.into_iter().find(|b| b.id == id && b.current));
    if let Some(branch) = reached {
        let head = branch.head.map(|head| engine.history().entry(head));
        done.arrived = Some((branch, head.transpose()?));
    }
    Ok(done)
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
        if server.client.will_reload(document) || !document.format.is_utf8() {
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
                disk: None,
            }),
            Followed::Collides => collide.push(open.path),
            Followed::Stays => {}
        }
    }
    if !texts.is_empty() {
        editing::apply(&server, &handle, texts, EditWait::Another).await;
    }
    if !collide.is_empty() {
        server
            .client
            .say(MessageType::Warning, notice::collides(&collide));
    }
}
