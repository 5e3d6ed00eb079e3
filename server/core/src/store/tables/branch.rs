//! Table `branch`: lines of history with a name. The head of a branch is its newest node.

use rusqlite::{Connection, Row, params};

use super::query::{Table, execute, exists};
use crate::error::Result;
use crate::model::{BranchId, NodeId, RootId};
use crate::store::now;

const BRANCH: Table = Table("branch");

/// Name of the branch that a store begins with.
const MAIN: &str = "main";

/// A branch as stored.
pub(crate) struct BranchRow {
    pub id: BranchId,
    pub name: String,
    pub head: Option<NodeId>,
    /// Name of the branch that it was forked from.
    pub parent: Option<String>,
    pub fork_point: Option<NodeId>,
    /// Microseconds since 1970.
    pub created: i64,
    pub description: Option<String>,
    pub is_deleted: bool,
    /// Path of another root on this branch.
    pub other_root: Option<Vec<u8>>,
    /// Number of nodes made on it.
    pub nodes: i64,
}

const ROWS: &str =
    "SELECT b.id, b.name, b.head, p.name, b.fork_point, b.created, b.description, b.deleted IS NOT NULL,
       (SELECT path FROM root WHERE branch = b.id AND id <> ?1),
       COALESCE((SELECT depth FROM node WHERE id = b.head), -1)
         - COALESCE((SELECT depth FROM node WHERE id = b.fork_point), -1)
     FROM branch b LEFT JOIN branch p ON p.id = b.parent";

fn read(r: &Row<'_>) -> rusqlite::Result<BranchRow> {
    Ok(BranchRow {
        id: r.get(0)?,
        name: r.get(1)?,
        head: r.get(2)?,
        parent: r.get(3)?,
        fork_point: r.get(4)?,
        created: r.get(5)?,
        description: r.get(6)?,
        is_deleted: r.get(7)?,
        other_root: r.get(8)?,
        nodes: r.get(9)?,
    })
}

/// Returns all branches, including deleted ones, oldest first. `root`: the current root.
pub(crate) fn all(conn: &Connection, root: RootId) -> Result<Vec<BranchRow>> {
    BRANCH.all(conn, &format!("{ROWS} ORDER BY b.id"), [root], read)
}

/// Returns one branch. `root`: the current root.
pub(crate) fn get(conn: &Connection, root: RootId, id: BranchId) -> Result<BranchRow> {
    let sql = format!("{ROWS} WHERE b.id = ?2");
    BRANCH.one(conn, &sql, params![root, id], read)
}

/// Returns the names of all branches as stored.
pub(crate) fn names<C: FromIterator<(BranchId, String)>>(conn: &Connection) -> Result<C> {
    let sql = "SELECT id, name FROM branch";
    BRANCH.all(conn, sql, [], |r| Ok((r.get(0)?, r.get(1)?)))
}

pub(crate) fn name(conn: &Connection, id: BranchId) -> Result<String> {
    let name = BRANCH.value_of(conn, "SELECT name FROM branch WHERE id = ?1", &id)?;
    name.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
}

/// Returns the branch with this name, unless it is deleted.
pub(crate) fn find(conn: &Connection, name: &str) -> Result<Option<BranchId>> {
    let sql = "SELECT id FROM branch WHERE name = ?1 AND deleted IS NULL";
    BRANCH.value_of(conn, sql, &name)
}

/// True if a branch has this name as stored.
pub(crate) fn has_name(conn: &Connection, name: &str) -> Result<bool> {
    exists(conn, "SELECT 1 FROM branch WHERE name = ?1", [name])
}

/// Returns the head of the branch with this name; None: no such branch, or it has no node.
pub(crate) fn head_of_name(conn: &Connection, name: &str) -> Result<Option<NodeId>> {
    let head = BRANCH.value_of(conn, "SELECT head FROM branch WHERE name = ?1", &name)?;
    Ok(head.flatten())
}

/// Returns the recorded head of a branch, and the head that follows from its nodes.
pub(crate) fn heads(conn: &Connection, id: BranchId) -> Result<(Option<NodeId>, Option<NodeId>)> {
    let sql = "SELECT id, head, COALESCE((SELECT MAX(id) FROM node WHERE branch = ?1), fork_point)
         FROM branch WHERE id = ?1";
    BRANCH.one(conn, sql, [id], |r| Ok((r.get(1)?, r.get(2)?)))
}

/// Returns the recorded fork point of a branch, and the parent of its first node.
pub(crate) fn starts(conn: &Connection, id: BranchId) -> Result<(Option<NodeId>, Option<NodeId>)> {
    let sql =
        "SELECT id, fork_point, (SELECT parent FROM node WHERE branch = ?1 ORDER BY id LIMIT 1)
         FROM branch WHERE id = ?1";
    BRANCH.one(conn, sql, [id], |r| Ok((r.get(1)?, r.get(2)?)))
}

/// True if a branch begins at this node.
pub(crate) fn is_fork_point(conn: &Connection, node: NodeId) -> Result<bool> {
    exists(conn, "SELECT 1 FROM branch WHERE fork_point = ?1", [node])
}

/// Returns the number of branches that are not deleted.
pub(crate) fn count(conn: &Connection) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM branch WHERE deleted IS NULL";
    BRANCH.number(conn, sql, [])
}

/// Returns the sum of the fork points, which differs after most changes of branches.
pub(crate) fn stamp(conn: &Connection) -> Result<i64> {
    BRANCH.number(conn, "SELECT COALESCE(SUM(fork_point), 0) FROM branch", [])
}

/// A branch to add. It begins at `head`.
pub(crate) struct NewBranch<'a> {
    pub name: &'a str,
    pub head: NodeId,
    pub parent: BranchId,
    pub description: Option<&'a str>,
}

pub(crate) fn insert(conn: &Connection, new: &NewBranch<'_>) -> Result<BranchId> {
    let sql = "INSERT INTO branch (name, head, parent, fork_point, created, description) VALUES (?1,?2,?3,?2,?4,?5)";
    let values = params![new.name, new.head, new.parent, now(), new.description];
    execute(conn, sql, values)?;
    Ok(BranchId(conn.last_insert_rowid()))
}

/// Returns the branch that a store begins with, and creates it if there is none of its name.
pub(crate) fn ensure_main(conn: &Connection) -> Result<BranchId> {
    let sql = "INSERT OR IGNORE INTO branch (name, created) VALUES (?1, ?2)";
    execute(conn, sql, params![MAIN, now()])?;
    let main = BRANCH.value_of(conn, "SELECT id FROM branch WHERE name = ?1", &MAIN)?;
    main.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
}

pub(crate) fn set_head(conn: &Connection, id: BranchId, head: NodeId) -> Result<()> {
    let sql = "UPDATE branch SET head = ?1 WHERE id = ?2";
    execute(conn, sql, params![head, id])?;
    Ok(())
}

pub(crate) fn rename(conn: &Connection, id: BranchId, name: &str) -> Result<()> {
    let sql = "UPDATE branch SET name = ?2 WHERE id = ?1";
    execute(conn, sql, params![id, name])?;
    Ok(())
}

/// Marks a branch as deleted and frees its name.
pub(crate) fn set_deleted(conn: &Connection, id: BranchId, name: &str) -> Result<()> {
    let sql = "UPDATE branch SET deleted = ?2, name = ?3 WHERE id = ?1";
    execute(conn, sql, params![id, now(), name])?;
    Ok(())
}

/// Deletes the row of a branch that nothing refers to.
pub(crate) fn delete_unused(conn: &Connection, id: Option<BranchId>) -> Result<()> {
    let sql =
        "DELETE FROM branch WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM node WHERE branch = ?1)
           AND NOT EXISTS (SELECT 1 FROM branch WHERE parent = ?1)
           AND NOT EXISTS (SELECT 1 FROM root WHERE branch = ?1 OR was = ?1)
           AND NOT EXISTS (SELECT 1 FROM operation WHERE branch = ?1 OR to_branch = ?1)
           AND NOT EXISTS (SELECT 1 FROM conversation WHERE branch = ?1)";
    execute(conn, sql, [id])?;
    Ok(())
}

/// Deletes all branches but this one, which begins anew as that of an empty store.
pub(crate) fn clear(conn: &Connection, keep: BranchId) -> Result<()> {
    execute(conn, "DELETE FROM branch WHERE id <> ?1", [keep])?;
    let sql =
        "UPDATE branch SET name = ?1, head = NULL, parent = NULL, fork_point = NULL, created = ?2,
           description = NULL, deleted = NULL";
    execute(conn, sql, params![MAIN, now()])?;
    Ok(())
}
