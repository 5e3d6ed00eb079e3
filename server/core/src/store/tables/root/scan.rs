//! Columns of the table `root` about scans: the rules, the gaps and the end of the last one, and the generation of the rows
//! in `file_state`.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::model::{Coverage, RootId, SessionId};
use crate::store::tables::damage::{InRow, unknown_value};
use crate::store::{json, now, to_json};

/// A scan that ran out of time and continues elsewhere, with the author of the changes that it finds late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnfinishedScan {
    /// The last scan is complete.
    No,
    /// The author is not known.
    ByAnyone,
    By(SessionId),
}

impl UnfinishedScan {
    const fn stored(self) -> i64 {
        match self {
            Self::No => 0,
            Self::ByAnyone => -1,
            Self::By(session) => session.0,
        }
    }
}

impl ToSql for UnfinishedScan {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.stored().into())
    }
}

impl FromSql for UnfinishedScan {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value.as_i64()? {
            0 => Ok(Self::No),
            -1 => Ok(Self::ByAnyone),
            session @ 1.. => Ok(Self::By(SessionId(session))),
            other => Err(unknown_value("session with an unfinished scan", &other)),
        }
    }
}

/// Name of a root's row in errors.
fn row_of(root: RootId) -> impl Fn() -> String {
    move || format!("row {} of table root", root.0)
}

/// Reads one column of a root.
fn column<T: FromSql>(conn: &Connection, root: RootId, column: &str) -> Result<T> {
    conn.prepare_cached(&format!("SELECT {column} FROM root WHERE id = ?1"))?
        .query_row([root], |r| r.get(0))
        .in_row(conn, row_of(root))
}

pub(crate) fn unfinished(conn: &Connection, root: RootId) -> Result<UnfinishedScan> {
    column(conn, root, "pending")
}

/// True if the last scan is complete, and there was one.
pub(crate) fn is_complete(conn: &Connection, root: RootId) -> Result<bool> {
    Ok(unfinished(conn, root)? == UnfinishedScan::No && !is_first(conn, root)?)
}

/// True if no scan of the root has finished yet.
pub(crate) fn is_first(conn: &Connection, root: RootId) -> Result<bool> {
    column(conn, root, "scanned IS NULL")
}

/// Makes the next scan of every root find changes whose author is not known, unless one is known already.
pub(crate) fn mark_unrecorded(conn: &Connection) -> Result<()> {
    conn.execute(
        "UPDATE root SET pending = ?1 WHERE pending = ?2",
        [UnfinishedScan::ByAnyone, UnfinishedScan::No],
    )?;
    Ok(())
}

/// The view of the last scan.
#[derive(Clone, Debug)]
pub(crate) struct LastScan {
    /// Time of the last finished scan, in microseconds since 1970; None: none has finished yet.
    pub scanned: Option<i64>,
    pub coverage: Coverage,
    /// Directories without a known file, separated by NUL.
    pub bare_dirs: Vec<u8>,
}

pub(crate) fn last(conn: &Connection, root: RootId) -> Result<LastScan> {
    let read = |r: &Row<'_>| -> rusqlite::Result<(Option<i64>, String, Option<Vec<u8>>)> {
        Ok((r.get(0)?, r.get(1)?, r.get(2)?))
    };
    let (scanned, text, bare_dirs) = conn
        .prepare_cached("SELECT scanned, coverage, bare_dirs FROM root WHERE id = ?1")?
        .query_row([root], read)
        .in_row(conn, row_of(root))?;
    Ok(LastScan {
        scanned,
        coverage: coverage_from(conn, root, &text)?,
        bare_dirs: bare_dirs.unwrap_or_default(),
    })
}

/// Returns what the last scan did not capture.
pub(crate) fn coverage(conn: &Connection, root: RootId) -> Result<Coverage> {
    let text: Option<String> = conn
        .prepare_cached("SELECT coverage FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))
        .optional()
        .in_row(conn, row_of(root))?;
    let read = text.map(|text| coverage_from(conn, root, &text));
    Ok(read.transpose()?.unwrap_or_default())
}

fn coverage_from(conn: &Connection, root: RootId, text: &str) -> Result<Coverage> {
    json(conn, || format!("the coverage of root {}", root.0), text)
}

/// Returns the rules of the last scan; None: there was none.
pub(crate) fn excludes<T: DeserializeOwned>(conn: &Connection, root: RootId) -> Result<Option<T>> {
    let text: Option<String> = column(conn, root, "excludes")?;
    let row = || format!("the rules of root {}", root.0);
    text.map(|text| json(conn, row, &text)).transpose()
}

pub(crate) fn set_excludes(
    conn: &Connection,
    root: RootId,
    excludes: &impl Serialize,
) -> Result<()> {
    let text = to_json(excludes)?;
    conn.prepare_cached("UPDATE root SET excludes = ?2 WHERE id = ?1")?
        .execute(params![root, text])?;
    Ok(())
}

/// Returns the directories that the last scan noted, as JSON. None: none has noted any.
pub(crate) fn noted_dirs<T: DeserializeOwned>(
    conn: &Connection,
    root: RootId,
) -> Result<Option<T>> {
    let text: Option<String> = column(conn, root, "directories")?;
    let row = || format!("the directories of root {}", root.0);
    text.map(|text| json(conn, row, &text)).transpose()
}

pub(crate) fn set_noted_dirs(
    conn: &Connection,
    root: RootId,
    noted: &impl Serialize,
) -> Result<()> {
    let text = to_json(noted)?;
    conn.prepare_cached("UPDATE root SET directories = ?2 WHERE id = ?1")?
        .execute(params![root, text])?;
    Ok(())
}

/// `bare_dirs`: as in `LastScan`.
pub(crate) fn set_bare_dirs(conn: &Connection, root: RootId, bare_dirs: &[u8]) -> Result<()> {
    conn.prepare_cached("UPDATE root SET bare_dirs = ?2 WHERE id = ?1")?
        .execute(params![root, bare_dirs])?;
    Ok(())
}

/// State of a root that the next scan replaces.
#[derive(Clone, Debug)]
pub(crate) struct RootBefore {
    pub scanned: Option<i64>,
    pub unfinished: UnfinishedScan,
    /// JSON. The scan replaces it, also if it is damaged.
    pub coverage: String,
}

pub(crate) fn before(conn: &Connection, root: RootId) -> Result<RootBefore> {
    let read = |r: &Row<'_>| {
        Ok(RootBefore {
            scanned: r.get(0)?,
            unfinished: r.get(1)?,
            coverage: r.get(2)?,
        })
    };
    conn.prepare_cached("SELECT scanned, pending, coverage FROM root WHERE id = ?1")?
        .query_row([root], read)
        .in_row(conn, row_of(root))
}

/// Result of a scan. None leaves a column as it is.
#[derive(Clone, Debug)]
pub(crate) struct NewScan<'a, E> {
    /// True if it did not run out of time.
    pub is_finished: bool,
    pub unfinished: UnfinishedScan,
    pub coverage: &'a Coverage,
    pub excludes: Option<&'a E>,
    pub bare_dirs: Option<Vec<u8>>,
    pub git_index: Option<String>,
}

pub(crate) fn record<E: Serialize>(
    conn: &Connection,
    root: RootId,
    new: &NewScan<'_, E>,
) -> Result<()> {
    let excludes = new.excludes.map(to_json).transpose()?;
    conn.execute(
        "UPDATE root SET scanned = COALESCE(?2, scanned), pending = ?3, coverage = ?4,
           excludes = COALESCE(?5, excludes),
           bare_dirs = COALESCE(?6, bare_dirs), git_index = COALESCE(?7, git_index) WHERE id = ?1",
        params![
            root,
            new.is_finished.then(now),
            new.unfinished,
            to_json(new.coverage)?,
            excludes,
            new.bare_dirs,
            new.git_index
        ],
    )?;
    Ok(())
}

/// Forgets all scans of all roots.
pub(crate) fn reset(conn: &Connection) -> Result<()> {
    conn.execute(
        "UPDATE root SET scanned = NULL, bare_dirs = NULL, directories = NULL, excludes = NULL, pending = ?1,
           strays = 0,
           coverage = '{\"captured\":0,\"ignored\":0,\"items\":[]}'",
        [UnfinishedScan::No],
    )?;
    Ok(())
}

/// Signature of git's index when it last had every git-backed blob of this root.
pub(crate) fn git_index(conn: &Connection, root: RootId) -> Result<Option<String>> {
    column(conn, root, "git_index")
}

/// Generation of the last recorded full walk.
pub(crate) fn last_walk(conn: &Connection, root: RootId) -> Result<Option<i64>> {
    column(conn, root, "walked")
}

/// True if a full walk has listed the paths that walks do not visit.
pub(crate) fn has_unvisited(conn: &Connection, root: RootId) -> Result<bool> {
    column(conn, root, "strays")
}

/// Records that a full walk has listed the paths that it did not visit.
pub(crate) fn set_walked(conn: &Connection, root: RootId, generation: i64) -> Result<()> {
    conn.prepare_cached("UPDATE root SET strays = 1, walked = ?2 WHERE id = ?1")?
        .execute(params![root, generation])?;
    Ok(())
}

/// Returns the generation of the rows written last.
pub(crate) fn generation(conn: &Connection, root: RootId) -> Result<i64> {
    column(conn, root, "generation")
}

/// Starts the generation for rows written from now on in this transaction.
pub(crate) fn next_generation(conn: &Connection, root: RootId) -> Result<i64> {
    conn.prepare_cached(
        "UPDATE root SET generation = generation + 1 WHERE id = ?1 RETURNING generation",
    )?
    .query_row([root], |r| r.get(0))
    .in_row(conn, row_of(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: RootId = RootId(1);

    fn with_root() -> Connection {
        let conn = crate::store::migrate::in_memory();
        conn.execute("INSERT INTO root (id, path) VALUES (1, x'2f61')", [])
            .expect("a root");
        conn
    }

    fn set_pending(conn: &Connection, pending: i64) {
        conn.execute("UPDATE root SET pending = ?1", [pending])
            .expect("set");
    }

    #[test]
    fn an_unfinished_scan_keeps_its_author() {
        let conn = with_root();
        assert_eq!(unfinished(&conn, ROOT).expect("read"), UnfinishedScan::No);
        mark_unrecorded(&conn).expect("marked");
        let anyone = UnfinishedScan::ByAnyone;
        assert_eq!(unfinished(&conn, ROOT).expect("read"), anyone);
        for scan in [UnfinishedScan::By(SessionId(4)), anyone, UnfinishedScan::No] {
            set_pending(&conn, scan.stored());
            assert_eq!(unfinished(&conn, ROOT).expect("read"), scan);
        }
        set_pending(&conn, 4);
        mark_unrecorded(&conn).expect("marked");
        let by = UnfinishedScan::By(SessionId(4));
        assert_eq!(unfinished(&conn, ROOT).expect("read"), by);
    }

    #[test]
    fn a_damaged_author_is_an_error_that_names_the_row() {
        let conn = with_root();
        set_pending(&conn, -2);
        let said = before(&conn, ROOT).expect_err("damage").to_string();
        assert!(
            said.ends_with(
                "row 1 of table root is damaged: `-2` is no session with an unfinished scan"
            ),
            "{said}"
        );
    }

    #[test]
    fn a_root_begins_as_a_reset_one() {
        let conn = with_root();
        let begun = before(&conn, ROOT).expect("read");
        conn.execute(
            "UPDATE root SET coverage = '', pending = 3, scanned = 1",
            [],
        )
        .expect("set");
        reset(&conn).expect("reset");
        let now = before(&conn, ROOT).expect("read");
        assert_eq!(format!("{now:?}"), format!("{begun:?}"));
    }
}
