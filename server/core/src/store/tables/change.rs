//! Table `change`: the changes of files in nodes.

use rusqlite::{Connection, Row, params};

use super::call::Writer;
use super::damage::stored_as;
use super::id_list::IdList;
use super::query::{Table, execute};
use crate::error::Result;
use crate::model::{
    BranchId, CallId, Certainty, Change, ChangeId, ContentId, FileId, FileVersion, NodeId, Origin,
    RelPath, Role,
};
use crate::store::row_checksums::{self, ChangeColumns, ChecksumInput};
use crate::store::{SetHash, state_columns, state_from};

pub(super) const CHANGE: Table = Table("change");

stored_as!(Role as i64, "role", { Edit = 0, Restore = 1 });
stored_as!(Certainty as i64, "certainty", { Certain = 0, Group = 1, Uncertain = 2 });

/// A change to add.
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
        let input = ChecksumInput {
            node: self.node,
            file: self.file,
            role,
            before: self.before,
            after: self.after,
            set,
        };
        input.sum()
    }
}

/// Adds a change with this set in force after it.
pub(crate) fn insert(
    conn: &Connection,
    new: &NewChange<'_>,
    role: Role,
    set: SetHash,
) -> Result<ChangeId> {
    let (before_path, before_image) = state_columns(new.before);
    let (after_path, after_image) = state_columns(new.after);
    let sql =
        "INSERT INTO change (node, file, role, before_path, before_image, after_path, after_image,
           session, call, session_certainty, step_certainty, provisional, made_dirs, set_after, sum)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)";
    let values = params![
        new.node,
        new.file,
        role,
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
    ];
    execute(conn, sql, values)?;
    Ok(ChangeId(conn.last_insert_rowid()))
}

/// Updates the set after a change that was just added.
pub(crate) fn set_set_of_new(
    conn: &Connection,
    id: ChangeId,
    (new, role): (&NewChange<'_>, Role),
    set: SetHash,
) -> Result<()> {
    let sql = "UPDATE change SET set_after = ?1, sum = ?2 WHERE id = ?3";
    execute(conn, sql, params![set, new.sum(role, set), id])?;
    Ok(())
}

/// Updates the set after a change, and its checksum.
pub(crate) fn set_set(conn: &Connection, id: ChangeId, set: SetHash) -> Result<()> {
    let sql = "UPDATE change SET set_after = ?2 WHERE id = ?1";
    execute(conn, sql, params![id, set])?;
    update_checksum(conn, id)
}

/// Updates the checksum of a row that was intact before it was changed.
fn update_checksum(conn: &Connection, id: ChangeId) -> Result<()> {
    let sql =
        "SELECT id, node, file, role, before_path, before_image, after_path, after_image, set_after
         FROM change WHERE id = ?1";
    let sum = CHANGE.one(conn, sql, [id], |r| {
        let (before, after) = (state_from(r, 4)?, state_from(r, 6)?);
        let input = ChecksumInput {
            node: r.get(1)?,
            file: r.get(2)?,
            role: r.get(3)?,
            before: &before,
            after: &after,
            set: r.get(8)?,
        };
        Ok(input.sum())
    })?;
    let sql = "UPDATE change SET sum = ?2 WHERE id = ?1";
    execute(conn, sql, params![id, sum])?;
    Ok(())
}

/// One edit in place of several.
pub(crate) struct MergedChange<'a> {
    pub node: NodeId,
    pub before: &'a FileVersion,
    pub after: &'a FileVersion,
    pub origin: Origin,
    pub made_dirs: u32,
    pub set: SetHash,
}

/// Makes an edit stand for several.
pub(crate) fn replace(conn: &Connection, id: ChangeId, merged: &MergedChange<'_>) -> Result<()> {
    let (before_path, before_image) = state_columns(merged.before);
    let (after_path, after_image) = state_columns(merged.after);
    let sql = "UPDATE change SET node = ?2, before_path = ?3, before_image = ?4, after_path = ?5,
           after_image = ?6, session = ?7, call = ?8, session_certainty = ?9, step_certainty = ?10,
           provisional = 0, made_dirs = ?11, set_after = ?12 WHERE id = ?1";
    let values = params![
        id,
        merged.node,
        before_path,
        before_image,
        after_path,
        after_image,
        merged.origin.session,
        merged.origin.call,
        merged.origin.session_certainty,
        merged.origin.step_certainty,
        merged.made_dirs,
        merged.set
    ];
    execute(conn, sql, values)?;
    update_checksum(conn, id)
}

/// Makes provisional attributions to a call certain, once it has reported its end.
pub(crate) fn confirm(conn: &Connection, call: CallId) -> Result<()> {
    let sql = "UPDATE change SET session_certainty = ?2,
           step_certainty = (SELECT CASE WHEN grp IS NULL THEN ?2 ELSE ?3 END FROM call WHERE id = ?1),
           provisional = 0
         WHERE call = ?1 AND provisional = 1";
    execute(
        conn,
        sql,
        params![call, Certainty::Certain, Certainty::Group],
    )?;
    Ok(())
}

/// Keeps the changes of these calls without their call.
pub(crate) fn detach_calls(conn: &Connection, calls: IdList) -> Result<()> {
    let ids = calls.ids();
    let sql = format!("UPDATE change SET call = NULL WHERE call IN {ids}");
    execute(conn, &sql, [])?;
    Ok(())
}

pub(crate) fn delete(conn: &Connection, id: ChangeId) -> Result<()> {
    execute(conn, "DELETE FROM change WHERE id = ?1", [id])?;
    Ok(())
}

const COLUMNS: &str =
    "c.id, c.node, c.file, c.role, c.before_path, c.before_image, c.after_path, c.after_image,
    c.set_after, c.sum, c.session, c.call, c.session_certainty, c.step_certainty, c.made_dirs";

fn read(r: &Row<'_>) -> rusqlite::Result<Change> {
    with_columns(r, row_checksums::read(r, 1)?)
}

/// Reads a change for display. A damaged row must not hide the others.
fn read_shown(r: &Row<'_>) -> rusqlite::Result<Change> {
    with_columns(r, row_checksums::read_unchecked(r, 1)?)
}

fn with_columns(r: &Row<'_>, columns: ChangeColumns) -> rusqlite::Result<Change> {
    Ok(Change {
        id: r.get(0)?,
        node: columns.node,
        file: columns.file,
        role: columns.role,
        before: columns.before,
        after: columns.after,
        origin: origin_from(r, 10)?,
        made_dirs: r.get(14)?,
    })
}

/// Reads the columns from `at` on: session, call, and the certainty of both.
pub(super) fn origin_from(r: &Row<'_>, at: usize) -> rusqlite::Result<Origin> {
    Ok(Origin {
        session: r.get(at)?,
        call: r.get(at + 1)?,
        session_certainty: r.get(at + 2)?,
        step_certainty: r.get(at + 3)?,
    })
}

pub(crate) fn get(conn: &Connection, id: ChangeId) -> Result<Option<Change>> {
    let sql = format!("SELECT {COLUMNS} FROM change c WHERE c.id = ?1");
    CHANGE.first(conn, &sql, [id], read)
}

/// Returns the newest node that changed a file.
pub(crate) fn newest_node(conn: &Connection, file: FileId) -> Result<Option<NodeId>> {
    Ok(conn
        .prepare_cached("SELECT MAX(node) FROM change WHERE file = ?1")?
        .query_row([file], |r| r.get(0))?)
}

/// Returns the call that wrote a file last, if its session is certain. None: it was somebody else, or a restore.
pub(crate) fn newest_author(conn: &Connection, file: FileId) -> Result<Option<Writer>> {
    let sql = "SELECT call, session, session_certainty, role FROM change WHERE file = ?1 ORDER BY id DESC LIMIT 1";
    let author = CHANGE.first(conn, sql, [file], |r| {
        let certainty: Certainty = r.get(2)?;
        let role: Role = r.get(3)?;
        Ok((r.get(0)?, r.get(1)?, certainty, role))
    })?;
    Ok(match author {
        Some((Some(call), Some(session), Certainty::Certain, Role::Edit)) => {
            Some(Writer { call, session })
        }
        _ => None,
    })
}

/// Returns the node of a change.
pub(crate) fn node_of(conn: &Connection, id: ChangeId) -> Result<Option<NodeId>> {
    CHANGE.value_of(conn, "SELECT node FROM change WHERE id = ?1", &id)
}

/// Returns the set in force after a change.
pub(crate) fn set_after(conn: &Connection, id: ChangeId) -> Result<SetHash> {
    let set = CHANGE.value_of(conn, "SELECT set_after FROM change WHERE id = ?1", &id)?;
    set.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
}

/// Returns the changes of a node, oldest first.
pub(crate) fn of_node(conn: &Connection, node: NodeId) -> Result<Vec<Change>> {
    let sql = format!("SELECT {COLUMNS} FROM change c WHERE c.node = ?1 ORDER BY c.id");
    CHANGE.all(conn, &sql, [node], read)
}

/// Returns the changes of a node for display.
pub(crate) fn shown_of_node(conn: &Connection, node: NodeId) -> Result<Vec<Change>> {
    let sql = format!("SELECT {COLUMNS} FROM change c WHERE c.node = ?1 ORDER BY c.id");
    CHANGE.all(conn, &sql, [node], read_shown)
}

/// Returns the changes of a file on every branch, oldest first.
pub(crate) fn of_file(conn: &Connection, file: FileId) -> Result<Vec<Change>> {
    let sql = format!("SELECT {COLUMNS} FROM change c WHERE c.file = ?1 ORDER BY c.id");
    CHANGE.all(conn, &sql, [file], read)
}

/// Returns the changes of a file on every branch, oldest first, each with the set in force after it.
pub(crate) fn of_file_with_sets(conn: &Connection, file: FileId) -> Result<Vec<(Change, SetHash)>> {
    let sql = format!("SELECT {COLUMNS} FROM change c WHERE c.file = ?1 ORDER BY c.id");
    CHANGE.all(conn, &sql, [file], |r| Ok((read(r)?, r.get(8)?)))
}

/// Returns edits after this one whose lines are not counted yet, oldest first, for display.
pub(crate) fn uncounted(conn: &Connection, after: ChangeId, limit: usize) -> Result<Vec<Change>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM change c WHERE c.id > ?1 AND c.role = ?3
           AND NOT EXISTS (SELECT 1 FROM counted WHERE counted.change = c.id) ORDER BY c.id LIMIT ?2"
    );
    CHANGE.all(conn, &sql, params![after, limit, Role::Edit], read_shown)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    OldestFirst,
    NewestFirst,
}

/// A change of a file, met on a walk over all of them. Its columns are read and checked on demand.
pub(crate) struct ChangeRow<'r> {
    row: &'r Row<'r>,
}

impl ChangeRow<'_> {
    pub(crate) fn id(&self) -> rusqlite::Result<ChangeId> {
        self.row.get(0)
    }

    /// The branch of its node, and the node.
    pub(crate) fn place(&self) -> rusqlite::Result<(BranchId, NodeId)> {
        Ok((self.row.get(1)?, self.row.get(2)?))
    }

    pub(crate) fn columns(&self) -> rusqlite::Result<ChangeColumns> {
        row_checksums::read(self.row, 3)
    }
}

/// Walks over the changes of a file on every branch, until `take` has a result.
pub(crate) fn find_of_file<T>(
    conn: &Connection,
    file: FileId,
    order: Order,
    mut take: impl FnMut(&ChangeRow<'_>) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let columns = row_checksums::COLUMNS;
    let order = match order {
        Order::OldestFirst => "ASC",
        Order::NewestFirst => "DESC",
    };
    let sql = format!(
        "SELECT c.id, n.branch, n.id, {columns} FROM change c JOIN node n ON n.id = c.node
         WHERE c.file = ?1 ORDER BY c.id {order}"
    );
    CHANGE.find(conn, &sql, [file], |row| take(&ChangeRow { row }))
}

/// True if `is_wanted` accepts the branch and the node of a change of the file.
pub(crate) fn is_any_of_file(
    conn: &Connection,
    file: FileId,
    is_wanted: impl Fn(BranchId, NodeId) -> bool,
) -> Result<bool> {
    let sql = "SELECT n.branch, n.id FROM change c JOIN node n ON n.id = c.node WHERE c.file = ?1";
    let found = CHANGE.find(conn, sql, [file], |r| {
        Ok(is_wanted(r.get(0)?, r.get(1)?).then_some(()))
    })?;
    Ok(found.is_some())
}

/// Returns the newest restore of a file, with its node and the label of that.
pub(crate) fn newest_restore(
    conn: &Connection,
    file: FileId,
) -> Result<Option<(ChangeId, NodeId, Option<String>)>> {
    let sql = "SELECT c.id, n.id, n.label FROM change c JOIN node n ON n.id = c.node
         WHERE c.file = ?1 AND c.role = ?2 ORDER BY c.id DESC LIMIT 1";
    CHANGE.first(conn, sql, params![file, Role::Restore], |r| {
        Ok((r.get(0)?, r.get(1)?, r.get(2)?))
    })
}

/// Returns the file that was moved away from a path last.
pub(crate) fn moved_from(conn: &Connection, path: &RelPath) -> Result<Option<FileId>> {
    let sql = "SELECT file FROM change WHERE before_path = ?1 AND after_path IS NOT NULL
           AND after_path <> before_path ORDER BY id DESC LIMIT 1";
    CHANGE.first(conn, sql, [path], |r| r.get(0))
}

/// Passes all contents on, each at least once.
pub(crate) fn contents(conn: &Connection, take: &mut dyn FnMut(ContentId)) -> Result<()> {
    let before = "SELECT id, before_image FROM change WHERE before_image IS NOT NULL";
    CHANGE.contents(conn, before, take)?;
    let after = "SELECT id, after_image FROM change WHERE after_image IS NOT NULL";
    CHANGE.contents(conn, after, take)
}

pub(crate) fn count(conn: &Connection) -> Result<u64> {
    CHANGE.number(conn, "SELECT COUNT(*) FROM change", [])
}

/// Returns the number of changes with a file before or after them.
pub(crate) fn count_with_image(conn: &Connection) -> Result<i64> {
    let sql =
        "SELECT COUNT(*) FROM change WHERE before_image IS NOT NULL OR after_image IS NOT NULL";
    CHANGE.number(conn, sql, [])
}
