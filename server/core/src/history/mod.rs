//! The history: nodes with parents, changes of files in nodes, and the edits in force at each node.
//! Owns the records and how they are read. Capture creates them, restore applies them.

mod ancestry;
pub(crate) mod branches;
pub(crate) mod full_text;
pub(crate) mod hunks;
mod log;
mod queries;
mod revs;
mod row_checksums;
mod rows;
mod set_hash;
mod sets;
mod timeline;
mod trees;

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::{Error, Result};
use crate::model::Reason;
use crate::model::{
    BranchId, Change, ChangeId, ContentId, Coverage, FileId, FileVersion, GitHead, Here, Image,
    Kind, Node, NodeId, Origin, Placed, RelPath, Role, RootId,
};
use crate::store::{self, now, state_columns, state_from};
use crate::worktree::backed_content;

pub(crate) use ancestry::{Ancestry, Lineage};
pub use branches::{BranchInfo, Tag};
pub use log::{FileCheckpoints, LogFilter};
pub(crate) use log::{entry, log};
pub(crate) use revs::{names_head, resolve, resolve_op};
pub(crate) use row_checksums::damaged;
pub(crate) use rows::{Rows, inconsistent_edits};
pub(crate) use set_hash::SetHash;
pub(crate) use sets::{
    changes_with_sets, in_force, is_changed, moved_by, partial_restore_of, set_at, state_at,
    version,
};
pub use timeline::{Entry, EntryChange, OpKind, OpState, Operation};
pub(crate) use timeline::{operation, operations, session, turn};
pub use trees::Tree;

pub(crate) struct NewNode<'a> {
    pub kind: Kind,
    pub session: Option<crate::model::SessionId>,
    pub turn: Option<crate::model::TurnId>,
    pub call: Option<crate::model::CallId>,
    pub label: Option<&'a str>,
    pub git: &'a GitHead,
    pub coverage: &'a Coverage,
}

pub(crate) fn head(conn: &Connection, branch: BranchId) -> Result<Option<NodeId>> {
    let (head, newest) = conn
        .prepare_cached(
            "SELECT head, COALESCE((SELECT MAX(id) FROM node WHERE branch = ?1), fork_point)
             FROM branch WHERE id = ?1",
        )?
        .query_row([branch], |r| Ok((r.get(0)?, r.get(1)?)))?;
    if head != newest {
        return Err(row_checksums::damaged(&format!("the head of branch {}", branch.0)).into());
    }
    Ok(head)
}

/// Returns the branch that a node was made on.
pub(crate) fn branch_of(conn: &Connection, node: NodeId) -> Result<BranchId> {
    Ok(conn
        .prepare_cached("SELECT branch FROM node WHERE id = ?1")?
        .query_row([node], |r| r.get(0))?)
}

/// Returns the directory that a node was made in.
pub(crate) fn root_of(conn: &Connection, node: NodeId) -> Result<RootId> {
    Ok(conn
        .prepare_cached("SELECT root FROM node WHERE id = ?1")?
        .query_row([node], |r| r.get(0))?)
}

/// Adds a node at the head of the branch and moves the head to it.
pub(crate) fn insert_node(conn: &Connection, here: Here, new: &NewNode<'_>) -> Result<NodeId> {
    let parent = head(conn, here.branch)?;
    let depth: i64 = match parent {
        None => 0,
        Some(parent) => conn
            .prepare_cached("SELECT depth + 1 FROM node WHERE id = ?1")?
            .query_row([parent], |r| r.get(0))?,
    };
    let coverage = (*new.coverage != Coverage::default())
        .then(|| serde_json::to_string(new.coverage).unwrap_or_default());
    conn.prepare_cached(
        "INSERT INTO node (parent, depth, kind, branch, root, session, turn, call, label, time,
           git_head, git_branch, coverage) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)",
    )?
    .execute(params![
        parent,
        depth,
        new.kind,
        here.branch,
        here.root,
        new.session,
        new.turn,
        new.call,
        new.label,
        now(),
        new.git.head,
        new.git.branch,
        coverage
    ])?;
    let id = NodeId(conn.last_insert_rowid());
    conn.prepare_cached("UPDATE branch SET head = ?1 WHERE id = ?2")?
        .execute(params![id, here.branch])?;
    Ok(id)
}

pub(crate) struct NewChange<'a> {
    pub node: NodeId,
    pub file: FileId,
    pub before: &'a FileVersion,
    pub after: &'a FileVersion,
    pub origin: Origin,
    pub provisional: bool,
    pub made_dirs: u32,
}

impl NewChange<'_> {
    fn sum(&self, role: Role, set: SetHash) -> i32 {
        let input = row_checksums::ChecksumInput {
            node: self.node,
            file: self.file,
            role: i64::from(role == Role::Restore),
            before: self.before,
            after: self.after,
            set,
        };
        input.sum()
    }
}

/// Returns the node at which a file was first known; None: from the start.
pub(crate) fn since(conn: &Connection, file: FileId) -> Result<Option<NodeId>> {
    Ok(conn
        .prepare_cached("SELECT since FROM file WHERE id = ?1")?
        .query_row([file], |r| r.get(0))?)
}

/// Records the state of a file without any edit.
pub(crate) fn note_base(
    conn: &Connection,
    file: FileId,
    path: &RelPath,
    image: Image,
) -> Result<()> {
    let state = Some(Placed {
        path: path.clone(),
        image,
    });
    sets::insert_version(conn, file, SetHash::EMPTY, &state)
}

/// Records the state of a file with this set.
pub(crate) fn note_state(
    conn: &Connection,
    file: FileId,
    set: SetHash,
    state: &FileVersion,
) -> Result<()> {
    sets::insert_version(conn, file, set, state)
}

/// Records an edit. `head` is the previous node, on whose chain the file's set is looked up.
pub(crate) fn insert_edit(
    conn: &Connection,
    head: Option<NodeId>,
    new: &NewChange<'_>,
) -> Result<ChangeId> {
    let before = match head {
        Some(head) => set_at(conn, new.file, head)?,
        None => SetHash::EMPTY,
    };
    sets::insert_version(conn, new.file, before, new.before)?;
    let id = insert_change(conn, new, Role::Edit, before)?;
    let after = before.toggled(id);
    conn.prepare_cached("UPDATE change SET set_after = ?1, sum = ?2 WHERE id = ?3")?
        .execute(params![after, new.sum(Role::Edit, after), id])?;
    sets::insert_version(conn, new.file, after, new.after)?;
    Ok(id)
}

/// Records a restore of a file: the edits it took out of force, and those it put back.
pub(crate) fn insert_restore(
    conn: &Connection,
    head: NodeId,
    new: &NewChange<'_>,
    taken_out: &[ChangeId],
    put_back: &[ChangeId],
) -> Result<ChangeId> {
    let before = set_at(conn, new.file, head)?;
    sets::insert_version(conn, new.file, before, new.before)?;
    let after = taken_out
        .iter()
        .chain(put_back)
        .fold(before, |set, member| set.toggled(*member));
    let id = insert_change(conn, new, Role::Restore, after)?;
    let mut moved =
        conn.prepare_cached("INSERT INTO moved (change, member, sign) VALUES (?1,?2,?3)")?;
    for member in taken_out {
        moved.execute(params![id, member, -1])?;
    }
    for member in put_back {
        moved.execute(params![id, member, 1])?;
    }
    sets::insert_version(conn, new.file, after, new.after)?;
    Ok(id)
}

/// Updates the checksum of a row that was intact before it was changed.
pub(crate) fn update_checksum(conn: &Connection, change: ChangeId) -> Result<()> {
    let sum = conn
        .prepare_cached(
            "SELECT node, file, role, before_path, before_image, after_path, after_image, set_after
             FROM change WHERE id = ?1",
        )?
        .query_row([change], |r| {
            let (before, after) = (state_from(r, 3)?, state_from(r, 5)?);
            let input = row_checksums::ChecksumInput {
                node: r.get(0)?,
                file: r.get(1)?,
                role: r.get(2)?,
                before: &before,
                after: &after,
                set: r.get(7)?,
            };
            Ok(input.sum())
        })?;
    conn.prepare_cached("UPDATE change SET sum = ?2 WHERE id = ?1")?
        .execute(params![change, sum])?;
    Ok(())
}

fn insert_change(
    conn: &Connection,
    new: &NewChange<'_>,
    role: Role,
    set: SetHash,
) -> Result<ChangeId> {
    for placed in [new.before, new.after].into_iter().flatten() {
        backed_content::store_shown(conn, &placed.image)?;
    }
    let (before_path, before_image) = state_columns(new.before);
    let (after_path, after_image) = state_columns(new.after);
    conn.prepare_cached(
        "INSERT INTO change (node, file, role, before_path, before_image, after_path, after_image,
           session, call, session_certainty, step_certainty, provisional, made_dirs, set_after, sum)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)",
    )?
    .execute(params![
        new.node,
        new.file,
        i64::from(role == Role::Restore),
        before_path,
        before_image,
        after_path,
        after_image,
        new.origin.session,
        new.origin.call,
        new.origin.session_certainty,
        new.origin.step_certainty,
        new.provisional,
        new.made_dirs,
        set,
        new.sum(role, set)
    ])?;
    Ok(ChangeId(conn.last_insert_rowid()))
}

const CHANGE: &str =
    "c.id, c.node, c.file, c.role, c.before_path, c.before_image, c.after_path, c.after_image,
    c.set_after, c.sum, c.session, c.call, c.session_certainty, c.step_certainty, c.made_dirs";

fn change_from(r: &Row<'_>) -> rusqlite::Result<Change> {
    change_of_row(r, row_checksums::read(r, 1)?)
}

/// Reads a change for display. A damaged row must not hide the others.
fn shown_from(r: &Row<'_>) -> rusqlite::Result<Change> {
    change_of_row(r, row_checksums::read_unchecked(r, 1)?)
}

fn change_of_row(r: &Row<'_>, columns: row_checksums::ChangeColumns) -> rusqlite::Result<Change> {
    Ok(Change {
        id: r.get(0)?,
        node: columns.node,
        file: columns.file,
        role: if columns.role == 0 {
            Role::Edit
        } else {
            Role::Restore
        },
        before: columns.before,
        after: columns.after,
        origin: Origin {
            session: r.get(10)?,
            call: r.get(11)?,
            session_certainty: r.get(12)?,
            step_certainty: r.get(13)?,
        },
        made_dirs: r.get(14)?,
    })
}

fn changes_where(
    conn: &Connection,
    clause: &str,
    key: i64,
    from: fn(&Row<'_>) -> rusqlite::Result<Change>,
) -> Result<Vec<Change>> {
    let sql = format!("SELECT {CHANGE} FROM change c WHERE c.{clause} = ?1 ORDER BY c.id");
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query_map([key], from)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the changes of a node, for display.
fn shown_changes(conn: &Connection, node: NodeId) -> Result<Vec<Change>> {
    changes_where(conn, "node", node.0, shown_from)
}

pub(crate) fn changes_of_node(conn: &Connection, node: NodeId) -> Result<Vec<Change>> {
    changes_where(conn, "node", node.0, change_from)
}

pub(crate) fn changes_of_file(conn: &Connection, file: FileId) -> Result<Vec<Change>> {
    changes_where(conn, "file", file.0, change_from)
}

/// True if a file is known to have had this content.
pub(crate) fn was_content(conn: &Connection, file: FileId, content: ContentId) -> Result<bool> {
    let mut select =
        conn.prepare_cached("SELECT before_image, after_image FROM change WHERE file = ?1")?;
    let mut rows = select.query([file])?;
    while let Some(row) = rows.next()? {
        for image in [row.get::<_, Option<Image>>(0)?, row.get(1)?] {
            if image.and_then(|image| image.content()) == Some(content) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Returns edits after this one whose lines are not counted yet, oldest first.
pub(crate) fn uncounted(conn: &Connection, after: ChangeId, limit: usize) -> Result<Vec<Change>> {
    let sql = format!(
        "SELECT {CHANGE} FROM change c WHERE c.id > ?1 AND c.role = 0
           AND NOT EXISTS (SELECT 1 FROM counted WHERE counted.change = c.id) ORDER BY c.id LIMIT ?2"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query_map(params![after, limit], shown_from)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn change(conn: &Connection, id: ChangeId) -> Result<Change> {
    let mut found = changes_where(conn, "id", id.0, change_from)?;
    found.pop().ok_or_else(|| Error::NotFound {
        what: "change",
        name: id.0.to_string(),
    })
}

/// Sets the description of a node, in the transaction that makes it.
pub(crate) fn describe(conn: &Connection, id: NodeId, description: &str) -> Result<()> {
    conn.prepare_cached("UPDATE node SET description = ?2 WHERE id = ?1")?
        .execute(params![id, description])?;
    Ok(())
}

pub(crate) fn node(conn: &Connection, id: NodeId) -> Result<Node> {
    type Texts = (Option<String>, Option<String>, Option<i64>);
    let (mut node, (coverage, squashed, scanned)): (Node, Texts) = conn.prepare_cached(
        "SELECT id, parent, depth, kind, branch, session, turn, call, label, time, git_head, git_branch,
           coverage, (SELECT scanned FROM root WHERE root.id = node.root), description, squashed
         FROM node WHERE id = ?1",
    )?
    .query_row([id], |r| {
        let node = Node {
            id: r.get(0)?,
            parent: r.get(1)?,
            depth: r.get(2)?,
            kind: r.get(3)?,
            branch: r.get(4)?,
            session: r.get(5)?,
            turn: r.get(6)?,
            call: r.get(7)?,
            label: r.get(8)?,
            description: r.get(14)?,
            time: r.get(9)?,
            git: GitHead { head: r.get(10)?, branch: r.get(11)? },
            coverage: Coverage::default(),
            squashed: None,
        };
        Ok((node, (r.get(12)?, r.get(15)?, r.get(13)?)))
    })
    .optional()?
    .ok_or_else(|| Error::NoRevision(id.to_string()))?;
    if let Some(text) = coverage {
        node.coverage = store::json(conn, || format!("the coverage of {id}"), &text)?;
    }
    if let Some(text) = squashed {
        let row = || format!("what {id} stands for");
        node.squashed = Some(store::json(conn, row, &text)?);
    }
    if node.coverage.pending && scanned.is_some_and(|s| s > node.time) {
        // the scan that went on is over; what it found late stands in later nodes
        node.coverage.pending = false;
        let why = "the scan ran out of time: what had changed by then was found later, if at all";
        node.coverage.note(b".", Reason::Failed, why);
    }
    Ok(node)
}
