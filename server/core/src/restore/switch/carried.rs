//! Edits of the user that a switch carries along, or that an earlier one has carried.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry, OpKind, Operation};
use crate::model::{Change, ChangeId, FileId, FileVersion, Kind, NodeId, Origin, Role};
use crate::restore::Restore;
use crate::restore::journal;
use crate::store::tables::node;

/// Edits by file.
pub(super) type EditsByFile = BTreeMap<FileId, BTreeSet<ChangeId>>;

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Returns the user's edits that a switch carries: recorded on this branch since this root switched to it, with
    /// only such edits after them.
    pub(super) fn users_edits(&self, ancestry: &Ancestry<'_>, head: NodeId) -> Result<EditsByFile> {
        let conn = &self.engine.store.conn;
        let came = self.came_here_at()?;
        let mut edits = EditsByFile::new();
        let mut at = Some(head);
        while let Some(id) = at.filter(|id| Some(*id) > came) {
            let node = history::node(conn, id)?;
            let changes = history::changes_of_node(conn, id)?;
            let users = |c: &Change| c.role == Role::Edit && c.origin == Origin::USER;
            // a squashed checkpoint is the user's alone if no agent had a part in it
            let is_users = match (&node.kind, &node.squashed) {
                (Kind::External, _) => true,
                (Kind::Squash, Some(of)) => of.turns == 0 && of.agents.is_empty(),
                _ => false,
            };
            if !is_users || node.branch != self.engine.here.branch || !changes.iter().all(users) {
                break;
            }
            for change in changes {
                edits.entry(change.file).or_default().insert(change.id);
            }
            at = ancestry.parent(id)?;
        }
        Ok(edits)
    }

    /// Returns the edits that a switch, or its redo, recorded for carried edits.
    pub(super) fn carried_by(&self, done: &Operation) -> Result<EditsByFile> {
        let conn = &self.engine.store.conn;
        let mut edits = EditsByFile::new();
        for op in history::operations(conn)? {
            let again = op.kind == OpKind::Redo && op.of == Some(done.id);
            if (op.id != done.id && !again) || !op.is_finished() {
                continue;
            }
            let files = journal::files(conn, op.id)?;
            let carried: BTreeSet<FileId> =
                files.iter().filter(|f| f.as_user).map(|f| f.file).collect();
            if carried.is_empty() {
                continue;
            }
            // the first node of the branch after the switch
            let Some(made) = node::first_after(conn, op.to_branch, op.node)? else {
                continue;
            };
            for change in history::changes_of_node(conn, made)? {
                if change.role == Role::Edit && carried.contains(&change.file) {
                    edits.entry(change.file).or_default().insert(change.id);
                }
            }
        }
        Ok(edits)
    }

    /// Returns the files that a switch, or the last redo of it, created on disk.
    pub(super) fn brought_by(&self, done: &Operation) -> Result<BTreeMap<FileId, FileVersion>> {
        let conn = &self.engine.store.conn;
        let last = history::operations(conn)?.into_iter().find(|op| {
            let again = op.kind == OpKind::Redo && op.of == Some(done.id);
            (op.id == done.id || again) && op.is_finished()
        });
        let files = journal::files(conn, last.map_or(done.id, |op| op.id))?;
        let created = files
            .into_iter()
            .filter(|f| f.before.is_none() && f.after.is_some());
        Ok(created.map(|f| (f.file, f.after)).collect())
    }

    /// Returns the head of this branch when this root switched to it. None: the root has always been on it.
    fn came_here_at(&self) -> Result<Option<NodeId>> {
        let all = history::operations(&self.engine.store.conn)?;
        let is_kept = |of| all.iter().any(|o| o.id == of && o.undone_by.is_none());
        // an undo returns to the state before the switch
        let stands = |op: &Operation| match op.kind {
            OpKind::Switch => op.undone_by.is_none(),
            OpKind::Redo => op.of.is_some_and(is_kept),
            OpKind::Rewind
            | OpKind::Revert
            | OpKind::Undo
            | OpKind::Fork
            | OpKind::Branch
            | OpKind::Tag
            | OpKind::Save => false,
        };
        let came = all.iter().find(|op| {
            op.root == self.engine.here.root
                && op.to_branch == Some(self.engine.here.branch)
                && op.is_finished()
                && stands(op)
        });
        Ok(came.and_then(|op| op.node))
    }
}
