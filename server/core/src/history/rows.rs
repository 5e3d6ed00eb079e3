//! Rows of the timeline with everything needed to print them. Their cost does not depend on the
//! length of the history: each edit is checked alone, and its lines are counted once.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::ancestry::Lineage;
use super::timeline::{Entry, EntryChange, ShellCommand};
use super::{Ancestry, damaged, head, node, subject};
use crate::error::Result;
use crate::model::{
    BranchId, Call, Change, ChangeId, ContentId, FileVersion, Here, Kind, Node, NodeId, OpId, Role,
    Session, SessionId, Turn, TurnId,
};
use crate::store::tables::counted::{self, LineCounts};
use crate::store::tables::moved::{self, Move};
use crate::store::tables::node_text::{self, Unsaved};
use crate::store::tables::{branch, call, change, changed_files, operation, session, tag, turn};
use crate::store::{self, ContentReader, Store};

/// Line counts that are not in the store yet.
#[derive(Debug, Default)]
pub(crate) struct NewCounts(Vec<(ChangeId, LineCounts)>);

impl NewCounts {
    /// Saves them for later. If that fails, they are counted again.
    pub(crate) fn keep(self, store: &Store) {
        if self.0.is_empty() || !store.conn.is_autocommit() {
            return;
        }
        let saved = store.note(false, |conn| {
            let mut counts = self.0.iter();
            counts.try_for_each(|(change, counts)| counted::insert(conn, *change, counts))
        });
        drop(saved);
    }
}

/// Builds rows and caches the parts that several rows share.
pub(crate) struct Rows<'a> {
    conn: &'a Connection,
    here: Here,
    /// The lineage of the head at which edits are checked: the current one, or that of the branch that is shown.
    head: Option<Lineage>,
    /// Lineages of other branches, filled on demand.
    heads: HashMap<BranchId, Option<Lineage>>,
    branches: HashMap<BranchId, String>,
    tags: HashMap<NodeId, Vec<String>>,
    pins: HashSet<NodeId>,
    sessions: HashMap<SessionId, Session>,
    turns: HashMap<TurnId, Turn>,
    reader: ContentReader<'a>,
    /// True if any node has unsaved text attached.
    any_unsaved: bool,
    pub(crate) new: NewCounts,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(store: &'a Store, here: Here) -> Result<Self> {
        Self::of_branch(store, here, here.branch)
    }

    /// The rows as this branch has them.
    pub(crate) fn of_branch(store: &'a Store, here: Here, branch: BranchId) -> Result<Self> {
        let conn = &store.conn;
        let mut tags: HashMap<NodeId, Vec<String>> = HashMap::new();
        for tag in tag::all(conn)? {
            tags.entry(tag.node).or_default().push(tag.name);
        }
        Ok(Self {
            conn,
            here,
            head: line_of(conn, branch)?,
            heads: HashMap::new(),
            branches: branch::names(conn)?,
            tags,
            pins: tag::pins(conn)?,
            sessions: HashMap::new(),
            turns: HashMap::new(),
            reader: ContentReader::new(conn, &store.dir),
            any_unsaved: node_text::is_any(conn)?,
            new: NewCounts::default(),
        })
    }

    pub(crate) fn entry(&mut self, id: NodeId) -> Result<Entry> {
        let conn = self.conn;
        let node = node(conn, id)?;
        let mut changes = change::shown_of_node(conn, id)?;
        // a restore may also move edits of files that are absent both before and after it
        changes.retain(|c| c.before.is_some() || c.after.is_some());
        let operation: Option<OpId> = if node.kind == Kind::Rewind {
            operation::of_node(conn, id)?
        } else {
            None
        };
        let operation = operation.map(|o| operation::row(conn, o)).transpose()?;
        let subject = operation.as_ref();
        let subject = subject.map(|done| subject::of_operation(conn, self.here, done));
        let branch = self.branches.get(&node.branch).cloned();
        let branch = branch.ok_or_else(|| damaged(&format!("the branch of {id}")))?;
        let call = node.call.map(|c| call::row(conn, c)).transpose()?;
        Ok(Entry {
            branch,
            tags: self.tags.get(&id).cloned().unwrap_or_default(),
            pinned: self.pins.contains(&id),
            session: node.session.map(|s| self.session(s)).transpose()?,
            turn: node.turn.map(|t| self.turn(t)).transpose()?,
            command: call.as_ref().and_then(|call| self.command(call)),
            call,
            taken_out: self.taken_out(&node, &changes)?,
            changes: changes
                .into_iter()
                .map(|change| {
                    let counts = self.counts(&change);
                    EntryChange {
                        change,
                        added: counts.added,
                        removed: counts.removed,
                        binary: counts.binary,
                    }
                })
                .collect(),
            subject: subject.transpose()?,
            operation,
            unsaved: self.unsaved(id)?,
            node,
        })
    }

    /// Returns the unsaved text at the time a node was made.
    pub(crate) fn unsaved(&mut self, id: NodeId) -> Result<Vec<Unsaved>> {
        if !self.any_unsaved {
            return Ok(Vec::new());
        }
        let mut all = node_text::of_node(self.conn, id)?;
        for unsaved in &mut all {
            // the base may never have been recorded
            let base = match unsaved.base {
                Some(base) if store::has(self.conn, &base)? => Some(base),
                _ => None,
            };
            let old = base.map(|base| self.reader.get(&base)).transpose();
            // a damaged text has no counts; `verify` names it
            if let (Ok(old), Ok(new)) = (old, self.reader.get(&unsaved.content)) {
                (unsaved.added, unsaved.removed, _) =
                    crate::diff::count(&old.unwrap_or_default(), &new);
            }
        }
        Ok(all)
    }

    /// Returns the shell command of a call. A damaged input has none; `verify` reports it.
    fn command(&mut self, call: &Call) -> Option<ShellCommand> {
        ShellCommand::read(&self.reader.get(&call.input?).ok()?)
    }

    fn session(&mut self, id: SessionId) -> Result<Session> {
        if let Some(known) = self.sessions.get(&id) {
            return Ok(known.clone());
        }
        let read = session::row(self.conn, id)?;
        self.sessions.insert(id, read.clone());
        Ok(read)
    }

    fn turn(&mut self, id: TurnId) -> Result<Turn> {
        if let Some(known) = self.turns.get(&id) {
            return Ok(known.clone());
        }
        let read = turn::row(self.conn, id)?;
        self.turns.insert(id, read.clone());
        Ok(read)
    }

    /// True if the node has edits and none of them is in force any longer. Checked at the head, or at
    /// the head of its own branch if the node is not an ancestor of the head. Edits that never were on that
    /// line do not count: a branch that begins at a turn is without its work, and nothing was undone.
    fn taken_out(&mut self, node: &Node, changes: &[Change]) -> Result<bool> {
        let conn = self.conn;
        // a turn is undone if all edits of its steps are
        let steps = match (node.kind, node.turn) {
            (Kind::Turn, Some(turn)) => changed_files::edits_of_steps(conn, turn)?,
            _ => Vec::new(),
        };
        let own = changes.iter().map(|c| (c.role, c.id, c.node));
        let edits = own.filter(|(role, ..)| *role == Role::Edit);
        let edits: Vec<(ChangeId, NodeId)> =
            edits.map(|(_, id, at)| (id, at)).chain(steps).collect();
        if edits.is_empty() {
            return Ok(false);
        }
        let line = match &self.head {
            Some(head) if head.has(node.branch, node.id) => self.head.as_ref(),
            _ => {
                let line = match self.heads.entry(node.branch) {
                    Slot::Occupied(known) => known.into_mut(),
                    Slot::Vacant(slot) => slot.insert(line_of(conn, node.branch)?),
                };
                line.as_ref()
            }
        };
        let Some(line) = line else { return Ok(false) };
        let mut any = false;
        for edit in edits {
            match force(conn, line, node.branch, edit)? {
                Some(true) => return Ok(false),
                Some(false) => any = true,
                None => {}
            }
        }
        Ok(any)
    }

    /// Returns the lines that a change added and removed, counted on first use.
    pub(crate) fn counts(&mut self, change: &Change) -> LineCounts {
        let content = |state: &FileVersion| state.as_ref().and_then(|p| p.image.content());
        let (before, after) = (content(&change.before), content(&change.after));
        if before == after {
            return LineCounts::default();
        }
        let long = |state: &FileVersion| state.as_ref().is_some_and(|p| p.image.is_too_long());
        if long(&change.before) || long(&change.after) {
            return LineCounts {
                binary: true,
                ..LineCounts::default()
            };
        }
        // a damaged row is counted again
        if let Ok(Some(known)) = counted::get(self.conn, change.id) {
            return known;
        }
        let mut bytes = |content: Option<ContentId>| match content {
            Some(content) => self.reader.get(&content),
            None => Ok(std::rc::Rc::default()),
        };
        // damaged content loses its own counts, not the timeline; `verify` reports it
        match (bytes(before), bytes(after)) {
            (Ok(old), Ok(new)) => {
                let (added, removed, binary) = crate::diff::count(&old, &new);
                let counts = LineCounts {
                    added,
                    removed,
                    binary,
                };
                self.new.0.push((change.id, counts));
                counts
            }
            _ => LineCounts {
                binary: true,
                ..LineCounts::default()
            },
        }
    }
}

fn line_of(conn: &Connection, branch: BranchId) -> Result<Option<Lineage>> {
    let head = head(conn, branch)?;
    head.map(|head| Ancestry::new(conn).line(head)).transpose()
}

/// True if an edit made on this branch is in force at the end of a lineage. The newest restore on
/// it that moved the edit decides; without one, the edit must be on the lineage.
fn is_in_force(
    conn: &Connection,
    line: &Lineage,
    branch: BranchId,
    edit: (ChangeId, NodeId),
) -> Result<bool> {
    Ok(force(conn, line, branch, edit)?.unwrap_or(false))
}

/// As `is_in_force`; None if the edit never was on the lineage.
fn force(
    conn: &Connection,
    line: &Lineage,
    branch: BranchId,
    (edit, made_at): (ChangeId, NodeId),
) -> Result<Option<bool>> {
    let newest = moved::newest_of(conn, edit, |branch, node| line.has(branch, node))?;
    Ok(match newest {
        Some(moved) => Some(moved == Move::PutBack),
        None => line.has(branch, made_at).then_some(true),
    })
}

/// Returns edits for which `is_in_force` and the whole set in force disagree. There must be none.
pub(crate) fn inconsistent_edits(conn: &Connection, head: NodeId) -> Result<Vec<ChangeId>> {
    let ancestry = Ancestry::new(conn);
    let line = ancestry.line(head)?;
    let mut wrong = Vec::new();
    for file in changed_files::all(conn)? {
        let set = super::in_force(&ancestry, file, head)?;
        for change in super::changes_of_file(conn, file)? {
            if change.role == Role::Edit {
                let branch = super::branch_of(conn, change.node)?;
                if is_in_force(conn, &line, branch, (change.id, change.node))?
                    != set.contains(&change.id)
                {
                    wrong.push(change.id);
                }
            }
        }
    }
    Ok(wrong)
}
