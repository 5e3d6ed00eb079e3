//! Table `change` by its files, paths and authors: what changed, where, and by whom.

use rusqlite::{Connection, params};

use super::change::{CHANGE, origin_from};
use crate::error::Result;
use crate::model::{
    BranchId, Certainty, ChangeId, ContentId, FileId, Image, Kind, NodeId, Origin, RelPath, Role,
    TurnId,
};

/// Returns all files with changes.
pub(crate) fn all(conn: &Connection) -> Result<Vec<FileId>> {
    CHANGE.column(conn, "SELECT DISTINCT file FROM change", [])
}

/// Returns the number of files with edits.
pub(crate) fn count_edited(conn: &Connection) -> Result<i64> {
    let sql = "SELECT COUNT(DISTINCT file) FROM change WHERE role = ?1";
    CHANGE.number(conn, sql, [Role::Edit])
}

/// Returns the files that a node changed.
pub(crate) fn of_node(conn: &Connection, node: NodeId) -> Result<Vec<FileId>> {
    CHANGE.column(conn, "SELECT file FROM change WHERE node = ?1", [node])
}

/// Returns the files that were ever at a path.
pub(crate) fn at_path(conn: &Connection, path: &RelPath) -> Result<Vec<FileId>> {
    let sql = "SELECT file FROM change WHERE after_path = ?1
         UNION SELECT file FROM change INDEXED BY change_left
         WHERE before_path = ?1 AND before_path IS NOT NULL AND before_path IS NOT after_path";
    CHANGE.column(conn, sql, [path])
}

/// True if a file is known to have had this content.
pub(crate) fn has_had(conn: &Connection, file: FileId, content: ContentId) -> Result<bool> {
    let sql = "SELECT id, before_image, after_image FROM change WHERE file = ?1";
    let found = CHANGE.find(conn, sql, [file], |r| {
        let images: [Option<Image>; 2] = [r.get(1)?, r.get(2)?];
        let mut contents = images.into_iter().flatten().map(|image| image.content());
        Ok(contents.any(|of| of == Some(content)).then_some(()))
    })?;
    Ok(found.is_some())
}

/// Returns the files with changes that are not known to be the user's, with the first such node of each branch.
pub(crate) fn by_agents(conn: &Connection) -> Result<Vec<(FileId, BranchId, NodeId)>> {
    let sql = "SELECT c.file, n.branch, MIN(n.id) FROM change c JOIN node n ON n.id = c.node
         WHERE c.session IS NOT NULL OR c.session_certainty = ?1 GROUP BY c.file, n.branch";
    CHANGE.all(conn, sql, [Certainty::Uncertain], |r| {
        Ok((r.get(0)?, r.get(1)?, r.get(2)?))
    })
}

/// Returns the edits of a turn's steps with their nodes.
pub(crate) fn edits_of_steps(conn: &Connection, turn: TurnId) -> Result<Vec<(ChangeId, NodeId)>> {
    let sql = "SELECT c.id, c.node FROM node n JOIN change c ON c.node = n.id
         WHERE n.turn = ?1 AND n.kind = ?2 AND c.role = ?3";
    CHANGE.all(conn, sql, params![turn, Kind::Step, Role::Edit], |r| {
        Ok((r.get(0)?, r.get(1)?))
    })
}

/// The author of a change.
pub(crate) struct AuthorRow {
    pub node: NodeId,
    /// Time of the node.
    pub time: i64,
    /// Turn of the node.
    pub turn: Option<TurnId>,
    /// A restore is the user's.
    pub origin: Origin,
    /// The call of `origin`.
    pub call: Option<AuthorCall>,
}

/// The parts of a tool call that are shown with an author.
pub(crate) struct AuthorCall {
    pub tool: String,
    pub iteration: i64,
    pub subagent: Option<String>,
    pub turn: Option<TurnId>,
}

pub(crate) fn author_of(conn: &Connection, change: ChangeId) -> Result<Option<AuthorRow>> {
    let sql = "SELECT c.id, c.node, c.role, c.session, c.call, c.session_certainty, c.step_certainty, n.time,
           n.turn, k.tool, k.iteration, k.subagent, k.turn
         FROM change c JOIN node n ON n.id = c.node LEFT JOIN call k ON k.id = c.call WHERE c.id = ?1";
    CHANGE.first(conn, sql, [change], |r| {
        let origin = match r.get(2)? {
            Role::Edit => origin_from(r, 3)?,
            Role::Restore => Origin::USER,
        };
        let call = || -> rusqlite::Result<AuthorCall> {
            Ok(AuthorCall {
                tool: r.get(9)?,
                iteration: r.get(10)?,
                subagent: r.get(11)?,
                turn: r.get(12)?,
            })
        };
        Ok(AuthorRow {
            node: r.get(1)?,
            time: r.get(7)?,
            turn: r.get(8)?,
            origin,
            call: origin.call.map(|_| call()).transpose()?,
        })
    })
}

/// A path and the bounds of all paths below it.
pub(super) fn path_bounds(path: &RelPath) -> [Vec<u8>; 3] {
    let with = |end: u8| [path.bytes(), &[end]].concat();
    [path.bytes().to_vec(), with(b'/'), with(b'/' + 1)]
}

/// Returns nodes that changed a path or one below it, at most `limit`, in no order and not without duplicates.
pub(crate) fn nodes_of_path(
    conn: &Connection,
    path: &RelPath,
    limit: usize,
) -> Result<Vec<NodeId>> {
    let [exact, from, to] = path_bounds(path);
    let sql = "SELECT node FROM change WHERE after_path = ?1
         UNION ALL SELECT node FROM change WHERE after_path > ?2 AND after_path < ?3
         UNION ALL SELECT node FROM change INDEXED BY change_left
           WHERE before_path IS NOT NULL AND before_path IS NOT after_path AND before_path = ?1
         UNION ALL SELECT node FROM change INDEXED BY change_left
           WHERE before_path IS NOT NULL AND before_path IS NOT after_path AND before_path > ?2 AND before_path < ?3
         LIMIT ?4";
    CHANGE.column(conn, sql, params![exact, from, to, limit])
}
