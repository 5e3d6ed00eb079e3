//! Records a restore: one node at the head, its changes, and the new file states.

use std::collections::HashMap;

use rusqlite::params;

use super::journal::{self, JournalEdit, JournalEntry, JournalFile, Phase};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, NewChange, NewNode, OpKind};
use crate::model::Here;
use crate::model::{Coverage, Kind, NodeId, OpId, Origin, Placed, RelPath};
use crate::store::Durable;
use crate::store::tables::buffer;
use crate::worktree::disk::NO_STAT;
use crate::worktree::disk::Stat;
use crate::worktree::file_state;
use crate::worktree::file_state::FileState;
use crate::worktree::pending_saves::{self, NewPending};

impl Engine {
    /// Records an operation from its journal. Returns the new head.
    pub(super) fn record_outcome(&mut self, op: OpId) -> Result<NodeId> {
        let operation = history::operation(&self.store.conn, op)?;
        match operation.to_branch {
            _ if operation.kind == OpKind::Save => self.record_save(op),
            Some(to) => self.record_switch(op, to),
            None => self.record_restore(op),
        }
    }

    /// Clears the pending saves that are now on disk. If the disk differs from the record, the next scan finds it.
    fn record_save(&mut self, op: OpId) -> Result<NodeId> {
        let lines = journal::lines(&self.store.conn, op)?;
        let here = self.here;
        let head = self.store.write(Durable::Power, |conn| {
            for line in lines.iter().filter(|l| !l.left) {
                pending_saves::written(conn, here.root, &line.path)?;
            }
            conn.execute(
                "UPDATE operation SET state = ?2 WHERE id = ?1",
                params![op, Phase::Recorded.name()],
            )?;
            history::head(conn, here.branch)
        })?;
        crate::fault::point("recorded");
        head.ok_or_else(|| Error::NoStore(self.root.path.clone()))
    }

    fn record_restore(&mut self, op: OpId) -> Result<NodeId> {
        let lines = journal::lines(&self.store.conn, op)?;
        let files = journal::files(&self.store.conn, op)?;
        let operation = history::operation(&self.store.conn, op)?;
        let edits = journal::edits(&self.store.conn, op)?;
        let git = crate::git::head(&self.root.path);
        let (root, here, dir) = (&self.root, self.here, self.store.dir.clone());
        // stat before the write transaction
        let changed = lines.iter().map(|l| &l.path);
        let stats: HashMap<&RelPath, Stat> = changed
            .chain(edits.iter().map(|e| &e.path))
            .filter_map(|path| Some((path, root.stat(path)?)))
            .collect();
        let by_path: HashMap<&RelPath, &JournalEntry> =
            lines.iter().map(|l| (&l.path, l)).collect();
        let node = self.store.write(Durable::Power, |conn| {
            let head = history::head(conn, here.branch)?.ok_or_else(|| {
                Error::refused(
                    "the current branch has no head",
                    Hint::terminal("`backstitch verify` checks the store"),
                )
            })?;
            let label = operation.kind.name();
            let label = format!("{label} {}", operation.target);
            let new = NewNode {
                kind: Kind::Rewind,
                session: None,
                turn: None,
                call: None,
                label: Some(&label),
                git: &git,
                coverage: &Coverage::default(),
            };
            let node = history::insert_node(conn, here, &new)?;
            buffer::attach(conn, &dir, here.root, node, Kind::Rewind)?;
            let generation = file_state::next_generation(conn, here.root)?;
            let left = |p: &Option<Placed>| {
                p.as_ref()
                    .and_then(|p| by_path.get(&p.path))
                    .is_some_and(|l| l.left)
            };
            let mut incomplete = false;
            let whole: Vec<&JournalFile> = files
                .iter()
                .filter(|f| {
                    let alone = left(&f.before) || left(&f.after);
                    incomplete |= alone;
                    !alone
                })
                .collect();
            for part in &whole {
                let arrives = part
                    .after
                    .as_ref()
                    .filter(|a| part.before.as_ref().is_none_or(|b| b.path != a.path));
                let made_dirs = arrives
                    .and_then(|a| by_path.get(&a.path))
                    .map_or(0, |l| l.made_dirs);
                let change = NewChange {
                    node,
                    file: part.file,
                    before: &part.before,
                    after: &part.after,
                    origin: Origin::USER,
                    provisional: false,
                    made_dirs,
                };
                if part.as_user {
                    history::insert_edit(conn, Some(head), &change)?;
                } else {
                    history::insert_restore(conn, head, &change, &part.taken_out, &part.put_back)?;
                }
            }
            // remove rows before adding new ones, since a new file may take a removed file's path
            for part in &whole {
                if let Some(from) = &part.before {
                    file_state::remove(conn, here.root, &from.path)?;
                }
                for placed in part.before.iter().chain(&part.after) {
                    pending_saves::done(conn, here.root, &placed.path)?;
                }
            }
            for part in &whole {
                let since = history::since(conn, part.file)?;
                if let Some(to) = &part.after {
                    let row = FileState {
                        image: to.image,
                        file: Some(part.file),
                        since,
                        generation,
                        // the content may have changed between the exchange and this stat
                        stat: stats
                            .get(&to.path)
                            .map_or(NO_STAT, |s| Stat { racy: true, ..*s }),
                    };
                    file_state::put(
                        conn,
                        here.root,
                        &to.path,
                        &row,
                        file_state::Observed::ByName,
                    )?;
                    file_state::note_identity(conn, here.root, part.file, None)?;
                } else {
                    let from = part.before.as_ref().map(|p| &p.path);
                    file_state::note_identity(conn, here.root, part.file, from)?;
                }
            }
            record_documents(conn, here, op, Some(node), &edits)?;
            conn.execute(
                "UPDATE operation SET node = ?2, state = ?3, detail = ?4 WHERE id = ?1",
                params![
                    op,
                    node,
                    Phase::Recorded.name(),
                    if incomplete { "incomplete" } else { "" }
                ],
            )?;
            Ok(node)
        })?;
        crate::fault::point("recorded");
        Ok(node)
    }
}

/// Stores the unsaved text of documents with the node, and notes a pending save for each file that changes in
/// an editor.
pub(super) fn record_documents(
    conn: &rusqlite::Connection,
    here: Here,
    op: OpId,
    node: Option<NodeId>,
    edits: &[JournalEdit],
) -> Result<()> {
    for e in edits {
        if let (Some(node), Some((text, base))) = (node, e.text) {
            let kept = buffer::KeptBuffer {
                path: &e.path,
                editor: &e.editor,
                pid: e.pid,
                content: text,
                base,
                made: e.made,
            };
            buffer::note_made(conn, node, &kept)?;
        }
        if let Some((disk, wanted)) = e.waits {
            let new = NewPending {
                path: &e.path,
                operation: Some(op),
                disk,
                wanted,
                editor: &e.editor,
                pid: e.pid,
            };
            pending_saves::put(conn, here.root, &new)?;
        }
    }
    Ok(())
}
