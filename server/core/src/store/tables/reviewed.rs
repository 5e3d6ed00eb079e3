//! Table `reviewed`: the state of each file that the user has reviewed. Rows are only added; the newest one on the chain
//! of a node counts there.

use rusqlite::{Connection, Row, params};

use super::query::Table;
use crate::error::Result;
use crate::model::{BranchId, ChangeId, ContentId, FileId, FileVersion, NodeId};
use crate::store::{now, state_columns, state_from};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReviewedRow {
    pub id: i64,
    pub file: FileId,
    /// The branch and its head when the user reviewed the file.
    pub branch: BranchId,
    pub node: NodeId,
    /// The file's newest change at that moment; 0: nothing is reviewed.
    pub change: ChangeId,
    /// The state that the user accepted.
    pub state: FileVersion,
    /// The row that counts again when this one is undone.
    pub earlier: Option<i64>,
    /// The lines that the user kept; None: the whole file.
    pub lines: Option<KeptLines>,
}

/// The changes at the lines that the user kept: the file without them, and with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptLines {
    pub from: ContentId,
    pub to: ContentId,
}

/// A row to add.
#[derive(Clone, Debug)]
pub(crate) struct NewReviewed<'a> {
    pub file: FileId,
    pub branch: BranchId,
    pub node: NodeId,
    pub change: ChangeId,
    pub state: &'a FileVersion,
    pub earlier: Option<i64>,
    pub lines: Option<KeptLines>,
}

const REVIEWED: Table = Table("reviewed");

const COLUMNS: &str = "id, file, branch, node, change, path, image, earlier, kept_from, kept_to";

fn read(r: &Row<'_>) -> rusqlite::Result<ReviewedRow> {
    Ok(ReviewedRow {
        id: r.get(0)?,
        file: r.get(1)?,
        branch: r.get(2)?,
        node: r.get(3)?,
        change: r.get(4)?,
        state: state_from(r, 5)?,
        earlier: r.get(7)?,
        lines: Option::zip(r.get(8)?, r.get(9)?).map(|(from, to)| KeptLines { from, to }),
    })
}

/// Returns the rows of a file, newest first.
pub(crate) fn rows(conn: &Connection, file: FileId) -> Result<Vec<ReviewedRow>> {
    let sql = format!("SELECT {COLUMNS} FROM reviewed WHERE file = ?1 ORDER BY id DESC");
    REVIEWED.all(conn, &sql, [file], read)
}

pub(crate) fn row(conn: &Connection, id: i64) -> Result<Option<ReviewedRow>> {
    let sql = format!("SELECT {COLUMNS} FROM reviewed WHERE id = ?1");
    REVIEWED.first(conn, &sql, [id], read)
}

/// Passes all contents on, each at least once.
pub(crate) fn contents(conn: &Connection, take: &mut dyn FnMut(ContentId)) -> Result<()> {
    let sql = "SELECT id, image FROM reviewed WHERE image IS NOT NULL";
    REVIEWED.contents(conn, sql, take)
}

pub(crate) fn insert(conn: &Connection, new: &NewReviewed<'_>) -> Result<()> {
    let (path, image) = state_columns(new.state);
    conn.prepare_cached(
        "INSERT INTO reviewed (file, branch, node, change, path, image, earlier, time, kept_from, kept_to)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
    )?
    .execute(params![
        new.file,
        new.branch,
        new.node,
        new.change,
        path,
        image,
        new.earlier,
        now(),
        new.lines.map(|lines| lines.from),
        new.lines.map(|lines| lines.to),
    ])?;
    Ok(())
}

/// Returns the contents that the kept lines of all rows need.
pub(crate) fn kept_contents(conn: &Connection) -> Result<Vec<ContentId>> {
    let sql = "SELECT kept_from FROM reviewed WHERE kept_from IS NOT NULL
         UNION SELECT kept_to FROM reviewed WHERE kept_to IS NOT NULL";
    REVIEWED.column(conn, sql, [])
}

/// True if the user has reviewed anything.
pub(crate) fn is_used(conn: &Connection) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM reviewed)";
    Ok(conn.prepare_cached(sql)?.query_row([], |r| r.get(0))?)
}
