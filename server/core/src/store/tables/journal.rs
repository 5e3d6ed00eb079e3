//! Tables `journal`, `journal_file`, `journal_left` and `journal_edit`: the paths, files and documents of an operation.

use rusqlite::{Connection, Row, params};

use super::damage::{InRow, read_all, stored_as};
use super::id_list::IdList;
use crate::error::{Error, Result};
use crate::model::{ChangeId, ContentId, FileId, FileVersion, Image, NodeId, OpId, RelPath};
use crate::store::{json, state_columns, state_from, to_json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineState {
    Planned,
    /// Skipped: another process changed the path, or a symlink was in the way.
    Left,
}
stored_as!(LineState as text, "state of a path", { Planned = "planned", Left = "left" });

/// One path of an operation.
#[derive(Clone, Debug)]
pub(crate) struct JournalLine {
    pub path: RelPath,
    pub before: Image,
    pub after: Image,
    /// Number of directories that are created or deleted with the file.
    pub made_dirs: u32,
    /// Temporary name during the exchange.
    pub temp: String,
    pub state: LineState,
    pub detail: String,
}

/// Adds a planned path.
pub(crate) fn insert_line(conn: &Connection, op: OpId, line: &JournalLine) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO journal (operation, path, before, after, made_dirs, temp, state, detail)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
    )?
    .execute(params![
        op,
        line.path,
        line.before,
        line.after,
        line.made_dirs,
        line.temp,
        line.state,
        line.detail
    ])?;
    Ok(())
}

/// Returns the paths of an operation, sorted.
pub(crate) fn lines(conn: &Connection, op: OpId) -> Result<Vec<JournalLine>> {
    let mut select = conn.prepare_cached(
        "SELECT path, before, after, made_dirs, temp, state, detail FROM journal WHERE operation = ?1 ORDER BY path",
    )?;
    let rows = select.query([op])?;
    read_all(conn, &format!("journal of {op}"), rows, |r| {
        Ok(JournalLine {
            path: r.get(0)?,
            before: r.get(1)?,
            after: r.get(2)?,
            made_dirs: r.get(3)?,
            temp: r.get(4)?,
            state: r.get(5)?,
            detail: r.get(6)?,
        })
    })
}

/// Marks a path as skipped.
pub(crate) fn leave(conn: &Connection, op: OpId, path: &RelPath, why: &str) -> Result<()> {
    conn.prepare_cached(
        "UPDATE journal SET state = ?4, detail = ?3 WHERE operation = ?1 AND path = ?2",
    )?
    .execute(params![op, path, why, LineState::Left])?;
    Ok(())
}

/// A document of an operation.
#[derive(Clone, Debug)]
pub(crate) struct JournalEdit {
    pub path: RelPath,
    pub editor: String,
    pub pid: u32,
    /// Image on disk until the editor saves, and recorded image.
    pub waits: Option<(Image, Image)>,
    /// Unsaved text, and the content it was loaded from.
    pub text: Option<(ContentId, Option<ContentId>)>,
    /// Text of the document after the restore.
    pub made: Option<ContentId>,
}

pub(crate) fn insert_edit(conn: &Connection, op: OpId, edit: &JournalEdit) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO journal_edit (operation, path, editor, pid, disk, wanted, text, base, made)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    )?
    .execute(params![
        op,
        edit.path,
        edit.editor,
        edit.pid,
        edit.waits.map(|(disk, _)| disk),
        edit.waits.map(|(_, wanted)| wanted),
        edit.text.map(|(text, _)| text),
        edit.text.and_then(|(_, base)| base),
        edit.made
    ])?;
    Ok(())
}

pub(crate) fn edits(conn: &Connection, op: OpId) -> Result<Vec<JournalEdit>> {
    let mut select = conn.prepare_cached(
        "SELECT path, editor, pid, disk, wanted, text, base, made FROM journal_edit WHERE operation = ?1",
    )?;
    let rows = select.query([op])?;
    read_all(conn, &format!("journal_edit of {op}"), rows, |r| {
        let (disk, wanted): (Option<Image>, Option<Image>) = (r.get(3)?, r.get(4)?);
        let (text, base): (Option<ContentId>, Option<ContentId>) = (r.get(5)?, r.get(6)?);
        Ok(JournalEdit {
            path: r.get(0)?,
            editor: r.get(1)?,
            pid: r.get(2)?,
            waits: disk.zip(wanted),
            text: text.map(|text| (text, base)),
            made: r.get(7)?,
        })
    })
}

/// Two tables of files with the same columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    /// The files that change on disk.
    OnDisk,
    /// The files that change on the branch being left, and not on disk.
    Left,
}

impl Files {
    const ALL: [Self; 2] = [Self::OnDisk, Self::Left];

    const fn table(self) -> &'static str {
        match self {
            Self::OnDisk => "journal_file",
            Self::Left => "journal_left",
        }
    }
}

/// A file of an operation.
#[derive(Clone, Debug)]
pub(crate) struct JournalFile {
    pub file: FileId,
    pub before: FileVersion,
    pub after: FileVersion,
    /// True if the user decided the outcome. It is an edit, and the sets stay.
    pub as_user: bool,
    pub taken_out: Vec<ChangeId>,
    pub put_back: Vec<ChangeId>,
}

pub(crate) fn insert_file(
    conn: &Connection,
    files: Files,
    op: OpId,
    file: &JournalFile,
) -> Result<()> {
    let (before_path, before_image) = state_columns(&file.before);
    let (after_path, after_image) = state_columns(&file.after);
    conn.prepare_cached(&format!(
        "INSERT INTO {} (operation, file, before_path, before_image, after_path, after_image,
           as_user, taken_out, put_back) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
        files.table()
    ))?
    .execute(params![
        op,
        file.file,
        before_path,
        before_image,
        after_path,
        after_image,
        file.as_user,
        to_json(&file.taken_out)?,
        to_json(&file.put_back)?
    ])?;
    Ok(())
}

/// Reads a list of changes. The row is that of a file of an operation.
fn changes(
    conn: &Connection,
    r: &Row<'_>,
    at: usize,
    (files, op, file): (Files, OpId, FileId),
) -> Result<Vec<ChangeId>> {
    let column = r.as_ref().column_name(at)?;
    let row = || format!("{column} of file {} in {} of {op}", file.0, files.table());
    let text: String = r.get(at).in_row(conn, row)?;
    json(conn, row, &text)
}

pub(crate) fn files(conn: &Connection, files: Files, op: OpId) -> Result<Vec<JournalFile>> {
    let table = files.table();
    let mut select = conn.prepare_cached(&format!(
        "SELECT file, before_path, before_image, after_path, after_image, as_user, taken_out, put_back
         FROM {table} WHERE operation = ?1 ORDER BY file",
    ))?;
    let mut rows = select.query([op])?;
    let mut found = Vec::new();
    while let Some(r) = rows.next()? {
        let id: FileId = r.get(0)?;
        let row = || format!("file {} in {table} of {op}", id.0);
        found.push(JournalFile {
            file: id,
            before: state_from(r, 1).in_row(conn, row)?,
            after: state_from(r, 3).in_row(conn, row)?,
            as_user: r.get(5).in_row(conn, row)?,
            taken_out: changes(conn, r, 6, (files, op, id))?,
            put_back: changes(conn, r, 7, (files, op, id))?,
        });
    }
    Ok(found)
}

/// The edits that a restore would have moved, had the user not decided the outcome.
#[derive(Clone, Debug)]
pub(crate) struct DecidedMoves {
    /// The node of the restore.
    pub node: NodeId,
    pub taken_out: Vec<ChangeId>,
    pub put_back: Vec<ChangeId>,
}

const DECIDED: &str = "SELECT o.node, o.id, f.file, f.taken_out, f.put_back FROM operation o
     JOIN journal_file f ON f.operation = o.id WHERE f.as_user <> 0";

fn read_decided(conn: &Connection, r: &Row<'_>) -> Result<DecidedMoves> {
    let row = (Files::OnDisk, r.get(1)?, r.get(2)?);
    Ok(DecidedMoves {
        node: r.get(0)?,
        taken_out: changes(conn, r, 3, row)?,
        put_back: changes(conn, r, 4, row)?,
    })
}

/// Returns the moves of a restore in whose node the user decided the outcome of a file.
pub(crate) fn decided_at(
    conn: &Connection,
    node: NodeId,
    file: FileId,
) -> Result<Option<DecidedMoves>> {
    let sql = format!("{DECIDED} AND o.node = ?1 AND o.to_branch IS NULL AND f.file = ?2");
    let mut select = conn.prepare_cached(&sql)?;
    let mut rows = select.query(params![node, file])?;
    let row = rows.next()?;
    row.map(|row| read_decided(conn, row)).transpose()
}

/// Returns the moves of all restores in which the user decided an outcome.
pub(crate) fn decided(conn: &Connection) -> Result<Vec<DecidedMoves>> {
    let mut select = conn.prepare_cached(&format!("{DECIDED} AND o.node IS NOT NULL"))?;
    let mut rows = select.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read_decided(conn, row)?);
    }
    Ok(all)
}

/// Reads the lists of every row. Returns the errors of damaged ones.
pub(crate) fn damaged_lists(conn: &Connection) -> Result<Vec<Error>> {
    let mut damaged = Vec::new();
    for files in Files::ALL {
        let table = files.table();
        let sql = format!("SELECT operation, file, taken_out, put_back FROM {table} ORDER BY 1, 2");
        let mut select = conn.prepare(&sql)?;
        let mut rows = select.query([])?;
        while let Some(r) = rows.next()? {
            let row = (files, r.get(0)?, r.get(1)?);
            for at in [2, 3] {
                damaged.extend(changes(conn, r, at, row).err());
            }
        }
    }
    Ok(damaged)
}

/// Columns of images and of contents.
const IMAGES: [(&str, &str); 8] = [
    ("journal", "before"),
    ("journal", "after"),
    ("journal_file", "before_image"),
    ("journal_file", "after_image"),
    ("journal_left", "before_image"),
    ("journal_left", "after_image"),
    ("journal_edit", "disk"),
    ("journal_edit", "wanted"),
];
const CONTENTS: [(&str, &str); 3] = [
    ("journal_edit", "text"),
    ("journal_edit", "base"),
    ("journal_edit", "made"),
];

/// Passes on the contents of all rows.
pub(crate) fn contents(conn: &Connection, take: &mut dyn FnMut(ContentId)) -> Result<()> {
    for (table, column) in IMAGES {
        let sql = format!("SELECT operation, {column} FROM {table} WHERE {column} IS NOT NULL");
        let mut select = conn.prepare_cached(&sql)?;
        let mut rows = select.query([])?;
        while let Some(r) = rows.next()? {
            let image: Image = r.get(1).in_row(conn, || row_of(r, table))?;
            image.content().map(&mut *take);
        }
    }
    for (table, column) in CONTENTS {
        let sql = format!("SELECT operation, {column} FROM {table} WHERE {column} IS NOT NULL");
        let mut select = conn.prepare_cached(&sql)?;
        let mut rows = select.query([])?;
        while let Some(r) = rows.next()? {
            take(r.get(1).in_row(conn, || row_of(r, table))?);
        }
    }
    Ok(())
}

fn row_of(r: &Row<'_>, table: &str) -> String {
    match r.get::<_, OpId>(0) {
        Ok(op) => format!("a row of {op} in {table}"),
        Err(_) => format!("a row of {table}"),
    }
}

/// Deletes the journals of operations.
pub(crate) fn delete(conn: &Connection, operations: IdList) -> Result<()> {
    for table in ["journal", "journal_file", "journal_left", "journal_edit"] {
        let sql = format!(
            "DELETE FROM {table} WHERE operation IN {}",
            operations.ids()
        );
        conn.execute(&sql, [])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_path_is_an_error_that_names_the_row() {
        let conn = crate::store::migrate::in_memory();
        conn.execute_batch(
            "PRAGMA foreign_keys=OFF;
             INSERT INTO journal (operation, path, before, after, made_dirs, temp, state)
               VALUES (2, x'61', x'00', x'00', 0, 't', 'planned'), (2, x'62', x'00', x'00', 0, 't', 'gone');
             INSERT INTO journal_edit (operation, path, editor, pid, text) VALUES (2, x'63', 'Vim', 1, x'00');",
        )
        .expect("rows");
        let said = lines(&conn, OpId(2)).expect_err("damage").to_string();
        assert!(
            said.ends_with(
                "row `b` of table journal of op2 is damaged: `gone` is no state of a path"
            ),
            "{said}"
        );
        let said = edits(&conn, OpId(2)).expect_err("damage").to_string();
        assert!(
            said.contains("row `c` of table journal_edit of op2"),
            "{said}"
        );
        let said = contents(&conn, &mut |_| ())
            .expect_err("damage")
            .to_string();
        assert!(
            said.contains("a row of op2 in journal_edit is damaged"),
            "{said}"
        );
    }
}
