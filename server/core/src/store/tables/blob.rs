//! Table `blob`: contents by their hashes, with the place and the form in which each is stored. The rows, not the bytes:
//! `store::blobs` encodes and verifies those.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::damage::{InRow, read_all, stored_as};
use crate::error::{Error, Result};
use crate::model::ContentId;

/// Form in which a content is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Raw,
    Zstd,
    /// Compressed against another content.
    Delta,
    /// The hashes of its pieces, which are contents.
    Pieces,
}
stored_as!(Coding as i64, "encoding of a content", { Raw = 0, Zstd = 1, Delta = 2, Pieces = 3 });

/// Place of a content in a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    pub pack: String,
    pub at: u64,
    pub len: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct BlobRow {
    pub n: i64,
    pub size: usize,
    pub coding: Coding,
    /// Row number of the content that it is stored against.
    pub base: Option<i64>,
    /// Its version number in its chain.
    pub pos: i64,
    pub data: Option<Vec<u8>>,
    pub packing: Option<Packing>,
}

const COLUMNS: &str = "n, size, coding, base, pos, data, pack, at, len";

fn read(r: &Row<'_>) -> rusqlite::Result<BlobRow> {
    let pack: Option<String> = r.get(6)?;
    let packing = |pack| -> rusqlite::Result<Packing> {
        Ok(Packing {
            pack,
            at: r.get(7)?,
            len: r.get(8)?,
        })
    };
    Ok(BlobRow {
        n: r.get(0)?,
        size: r.get(1)?,
        coding: r.get(2)?,
        base: r.get(3)?,
        pos: r.get(4)?,
        data: r.get(5)?,
        packing: pack.map(packing).transpose()?,
    })
}

/// Turns a damaged row into an error about its content, which costs that content alone.
fn content_error(hash: String) -> impl FnOnce(Error) -> Error {
    move |e| match e {
        Error::Damaged { reason, .. } => Error::Blob { hash, reason },
        other => other,
    }
}

pub(crate) fn by_hash(conn: &Connection, id: &ContentId) -> Result<Option<BlobRow>> {
    one(conn, "hash", id, || id.to_string())
}

pub(crate) fn by_number(conn: &Connection, n: i64) -> Result<Option<BlobRow>> {
    one(conn, "n", &n, || format!("row {n}"))
}

fn one(
    conn: &Connection,
    column: &str,
    key: &dyn ToSql,
    name: impl Fn() -> String,
) -> Result<Option<BlobRow>> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM blob WHERE {column} = ?1"))?
        .query_row([key], read)
        .optional()
        .in_row(conn, || "its row of table blob".to_owned())
        .map_err(content_error(name()))
}

pub(crate) fn has(conn: &Connection, id: &ContentId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM blob WHERE hash = ?1")?
        .exists([id])?)
}

/// Returns the row number of a content, for columns that refer to it.
pub(crate) fn number(conn: &Connection, id: &ContentId) -> Result<i64> {
    Ok(conn
        .prepare_cached("SELECT n FROM blob WHERE hash = ?1")?
        .query_row([id], |r| r.get(0))?)
}

pub(crate) fn hash(conn: &Connection, n: i64) -> Result<ContentId> {
    conn.prepare_cached("SELECT hash FROM blob WHERE n = ?1")?
        .query_row([n], |r| r.get(0))
        .in_row(conn, || format!("row {n} of table blob"))
}

/// Returns the list of pieces of a content. None: it is in one piece, or missing.
pub(crate) fn pieces(conn: &Connection, id: &ContentId) -> Result<Option<Vec<u8>>> {
    let data: Option<Option<Vec<u8>>> = conn
        .prepare_cached("SELECT data FROM blob WHERE hash = ?1 AND coding = ?2")?
        .query_row(params![id, Coding::Pieces], |r| r.get(0))
        .optional()
        .in_row(conn, || "its row of table blob".to_owned())
        .map_err(content_error(id.to_string()))?;
    let list = |data: Option<Vec<u8>>| {
        data.ok_or_else(|| Error::Blob {
            hash: id.to_string(),
            reason: "does not list its pieces".into(),
        })
    };
    data.map(list).transpose()
}

/// A content to add to the database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewBlob<'a> {
    pub id: ContentId,
    pub size: u64,
    pub coding: Coding,
    pub base: Option<i64>,
    pub pos: i64,
    pub data: &'a [u8],
}

/// Adds a content, unless it is there.
pub(crate) fn insert(conn: &Connection, new: &NewBlob<'_>) -> Result<()> {
    conn.prepare_cached(
        "INSERT OR IGNORE INTO blob (hash, size, coding, base, pos, data) VALUES (?1,?2,?3,?4,?5,?6)",
    )?
    .execute(params![
        new.id, new.size, new.coding, new.base, new.pos, new.data
    ])?;
    Ok(())
}

/// A content to add that is in a pack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewPacked {
    pub id: ContentId,
    pub size: usize,
    pub coding: Coding,
    pub at: u64,
    pub len: usize,
}

/// Adds contents of a pack, unless they are there.
pub(crate) fn insert_packed(conn: &Connection, pack: &str, rows: &[NewPacked]) -> Result<()> {
    let mut insert = conn.prepare_cached(
        "INSERT OR IGNORE INTO blob (hash, size, coding, pack, at, len) VALUES (?1,?2,?3,?4,?5,?6)",
    )?;
    for r in rows {
        insert.execute(params![r.id, r.size, r.coding, pack, r.at, r.len])?;
    }
    Ok(())
}

/// Replaces the stored form of a content by one that needs no other content.
pub(crate) fn set_alone(conn: &Connection, n: i64, coding: Coding, data: &[u8]) -> Result<()> {
    conn.prepare_cached(
        "UPDATE blob SET coding = ?2, base = NULL, pos = 0, data = ?3, pack = NULL, at = NULL, len = NULL
         WHERE n = ?1",
    )?
    .execute(params![n, coding, data])?;
    Ok(())
}

/// Returns the names of all packs.
pub(crate) fn packs(conn: &Connection) -> Result<HashSet<String>> {
    let mut select =
        conn.prepare("SELECT DISTINCT pack FROM blob WHERE data IS NULL AND pack IS NOT NULL")?;
    let rows = select.query([])?;
    read_all(conn, "blob", rows, |r| r.get(0))
}

/// Returns the bytes in use of each pack.
pub(crate) fn bytes_by_pack(conn: &Connection) -> Result<HashMap<String, u64>> {
    let mut select = conn.prepare(
        "SELECT pack, SUM(len) FROM blob WHERE data IS NULL AND pack IS NOT NULL GROUP BY pack",
    )?;
    let rows = select.query([])?;
    read_all(conn, "blob", rows, |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Returns the bytes of all packs that are in use.
pub(crate) fn packed_bytes(conn: &Connection) -> Result<u64> {
    let sql = "SELECT COALESCE(SUM(len), 0) FROM blob WHERE data IS NULL";
    Ok(conn.query_row(sql, [], |r| r.get(0))?)
}

/// Returns the bytes of the contents in the database.
pub(crate) fn inline_bytes(conn: &Connection) -> Result<u64> {
    let sql = "SELECT COALESCE(SUM(LENGTH(data)), 0) FROM blob";
    Ok(conn.query_row(sql, [], |r| r.get(0))?)
}

/// Row number, position and length of a content in a pack.
pub(crate) type PackPlace = (i64, u64, usize);

/// Returns the contents of a pack in their order.
pub(crate) fn in_pack(conn: &Connection, pack: &str) -> Result<Vec<PackPlace>> {
    let mut select =
        conn.prepare("SELECT n, at, len FROM blob WHERE data IS NULL AND pack = ?1 ORDER BY at")?;
    let rows = select.query([pack])?;
    read_all(conn, "blob", rows, |r| {
        Ok((r.get(0)?, r.get(1)?, r.get(2)?))
    })
}

/// Points a content of the pack `old` to its place in the pack `new`.
pub(crate) fn repack(conn: &Connection, n: i64, (old, new): (&str, &str), at: u64) -> Result<()> {
    conn.prepare_cached("UPDATE blob SET pack = ?2, at = ?3 WHERE n = ?1 AND pack = ?4")?
        .execute(params![n, new, at, old])?;
    Ok(())
}

pub(crate) fn count(conn: &Connection) -> Result<u64> {
    Ok(conn.query_row("SELECT COUNT(*) FROM blob", [], |r| r.get(0))?)
}

/// Returns the hashes of all contents, or the error of a row.
pub(crate) fn hashes(conn: &Connection) -> Result<Vec<Result<ContentId>>> {
    let mut select = conn.prepare("SELECT n, hash FROM blob ORDER BY n")?;
    let mut rows = select.query([])?;
    let mut all = Vec::new();
    while let Some(r) = rows.next()? {
        let row = || {
            let n: rusqlite::Result<i64> = r.get(0);
            n.map_or_else(
                |_| "a row of table blob".to_owned(),
                |n| format!("row {n} of table blob"),
            )
        };
        all.push(r.get(1).in_row(conn, row));
    }
    Ok(all)
}

/// Passes on number, hash and list of pieces of each content in pieces.
pub(crate) fn lists_of_pieces(
    conn: &Connection,
    take: &mut dyn FnMut(i64, ContentId, &[u8]),
) -> Result<()> {
    let mut select = conn
        .prepare_cached("SELECT n, hash, data FROM blob WHERE coding = ?1 AND data IS NOT NULL")?;
    let mut rows = select.query([Coding::Pieces])?;
    while let Some(r) = rows.next()? {
        let n: i64 = r.get(0)?;
        let row = || format!("row {n} of table blob");
        let data: Vec<u8> = r.get(2).in_row(conn, row)?;
        take(n, r.get(1).in_row(conn, row)?, &data);
    }
    Ok(())
}

/// Size of a content, and of its stored form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredSize {
    pub n: i64,
    pub hash: ContentId,
    pub base: Option<i64>,
    pub size: u64,
    pub len: u64,
}

pub(crate) fn sizes(conn: &Connection) -> Result<Vec<StoredSize>> {
    let mut select = conn
        .prepare_cached("SELECT n, hash, base, size, COALESCE(LENGTH(data), len, 0) FROM blob")?;
    let rows = select.query([])?;
    read_all(conn, "blob", rows, |r| {
        Ok(StoredSize {
            n: r.get(0)?,
            hash: r.get(1)?,
            base: r.get(2)?,
            size: r.get(3)?,
            len: r.get(4)?,
        })
    })
}

pub(crate) fn delete(conn: &Connection, n: i64) -> Result<()> {
    conn.prepare_cached("DELETE FROM blob WHERE n = ?1")?
        .execute([n])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_row_costs_its_content_alone() {
        let conn = crate::store::migrate::in_memory();
        let id = ContentId::of(b"text");
        conn.execute(
            "INSERT INTO blob (n, hash, size, coding, data) VALUES (1, ?1, 4, 9, x'74657874')",
            [id],
        )
        .expect("a row");
        let said = by_hash(&conn, &id).expect_err("damage").to_string();
        assert_eq!(
            said,
            format!(
                "content {id}: its row of table blob is damaged: `9` is no encoding of a content"
            )
        );
        conn.execute("UPDATE blob SET coding = 0, size = -1", [])
            .expect("a row");
        let said = by_number(&conn, 1).expect_err("damage").to_string();
        assert!(
            said.contains("row 1: its row of table blob is damaged"),
            "{said}"
        );
        let said = sizes(&conn).expect_err("damage").to_string();
        assert!(
            said.contains("row 1 of table blob is damaged: -1 is out of range"),
            "{said}"
        );
    }
}
