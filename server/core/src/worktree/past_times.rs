//! Times of the files and directories of a CI job's run, as they were before something changed them. `make` and git decide by
//! them, so a step back sets them again. Only the store of a run has these tables. Triggers write the log of files, so that no
//! writer of `file_state` can forget it. The log only grows: the time at a mark is that of the first row after it.

use rusqlite::{Connection, params};

use crate::error::Result;
use crate::model::{RelPath, RootId};
use crate::worktree::scan::DirTimes;

/// The tables and the triggers. A row of `file_state` without a stat has the size -1: its time is not known.
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS past_time (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  root INTEGER NOT NULL REFERENCES root(id),
  path BLOB NOT NULL,
  is_dir INTEGER NOT NULL,
  mtime INTEGER                       -- nanoseconds since 1970; NULL: nothing of this kind was there
);
CREATE TABLE IF NOT EXISTS dir_time (
  root INTEGER NOT NULL REFERENCES root(id),
  path BLOB NOT NULL,
  mtime INTEGER NOT NULL,
  PRIMARY KEY (root, path)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS file_time_inserted BEFORE INSERT ON file_state
WHEN NOT EXISTS (SELECT 1 FROM file_state AS old WHERE old.root = NEW.root AND old.path = NEW.path
  AND (old.mtime = NEW.mtime OR old.size < 0))
BEGIN
  INSERT INTO past_time (root, path, is_dir, mtime) VALUES (NEW.root, NEW.path, 0,
    (SELECT old.mtime FROM file_state AS old WHERE old.root = NEW.root AND old.path = NEW.path));
END;
CREATE TRIGGER IF NOT EXISTS file_time_updated AFTER UPDATE OF mtime ON file_state
WHEN OLD.mtime <> NEW.mtime AND OLD.size >= 0
BEGIN
  INSERT INTO past_time (root, path, is_dir, mtime) VALUES (OLD.root, OLD.path, 0, OLD.mtime);
END;
CREATE TRIGGER IF NOT EXISTS file_time_deleted AFTER DELETE ON file_state WHEN OLD.size >= 0
BEGIN
  INSERT INTO past_time (root, path, is_dir, mtime) VALUES (OLD.root, OLD.path, 0, OLD.mtime);
END;
CREATE TRIGGER IF NOT EXISTS dir_time_inserted AFTER INSERT ON dir_time
BEGIN
  INSERT INTO past_time (root, path, is_dir, mtime) VALUES (NEW.root, NEW.path, 1, NULL);
END;
CREATE TRIGGER IF NOT EXISTS dir_time_updated AFTER UPDATE OF mtime ON dir_time WHEN OLD.mtime <> NEW.mtime
BEGIN
  INSERT INTO past_time (root, path, is_dir, mtime) VALUES (OLD.root, OLD.path, 1, OLD.mtime);
END;
CREATE TRIGGER IF NOT EXISTS dir_time_deleted AFTER DELETE ON dir_time
BEGIN
  INSERT INTO past_time (root, path, is_dir, mtime) VALUES (OLD.root, OLD.path, 1, OLD.mtime);
END;";

/// Makes the tables in the store of a run.
pub(crate) fn prepare(conn: &Connection) -> Result<()> {
    Ok(conn.execute_batch(TABLES)?)
}

/// Takes in the times of directories that a scan found.
pub(crate) fn record_dirs(conn: &Connection, root: RootId, found: &DirTimes) -> Result<()> {
    let mut delete = conn.prepare_cached("DELETE FROM dir_time WHERE root = ?1 AND path = ?2")?;
    for dir in gone(conn, root, found)? {
        delete.execute(params![root, dir])?;
    }
    for (dir, mtime) in &found.there {
        set_dir(conn, root, dir, *mtime)?;
    }
    Ok(())
}

/// Directories whose times the log does not have yet as a scan found them.
pub(crate) fn unrecorded_dirs(
    conn: &Connection,
    root: RootId,
    found: &DirTimes,
) -> Result<Vec<RelPath>> {
    let mut all = gone(conn, root, found)?;
    let mut known =
        conn.prepare_cached("SELECT 1 FROM dir_time WHERE root = ?1 AND path = ?2 AND mtime = ?3")?;
    for (dir, mtime) in &found.there {
        if !known.exists(params![root, dir, mtime])? {
            all.push(dir.clone());
        }
    }
    Ok(all)
}

/// Sets the time of a directory.
pub(crate) fn set_dir(conn: &Connection, root: RootId, dir: &RelPath, mtime: i64) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO dir_time (root, path, mtime) VALUES (?1, ?2, ?3)
         ON CONFLICT (root, path) DO UPDATE SET mtime = excluded.mtime",
    )?
    .execute(params![root, dir, mtime])?;
    Ok(())
}

/// Known directories that are gone: after a walk of the whole tree, those that it did not meet.
fn gone(conn: &Connection, root: RootId, found: &DirTimes) -> Result<Vec<RelPath>> {
    let mut select = conn.prepare_cached("SELECT path FROM dir_time WHERE root = ?1")?;
    if found.is_whole {
        let there: std::collections::HashSet<&RelPath> =
            found.there.iter().map(|(dir, _)| dir).collect();
        let known = select.query_map([root], |r| r.get(0))?;
        let known: Vec<RelPath> = known.collect::<rusqlite::Result<_>>()?;
        return Ok(known
            .into_iter()
            .filter(|dir| !there.contains(dir))
            .collect());
    }
    let mut below = conn
        .prepare_cached("SELECT path FROM dir_time WHERE root = ?1 AND path >= ?2 AND path < ?3")?;
    let mut all = Vec::new();
    for dir in &found.gone {
        // names such as `dir-x` lie between a directory and those in it
        let end = [dir.bytes(), b"0"].concat();
        let rows = below.query_map(params![root, dir, end], |r| r.get(0))?;
        for row in rows {
            let known: RelPath = row?;
            if known.within(dir.bytes()) {
                all.push(known);
            }
        }
    }
    Ok(all)
}

/// Returns the newest row of the log: what follows it happened later.
pub(crate) fn newest(conn: &Connection) -> Result<i64> {
    let newest = "SELECT COALESCE(MAX(id), 0) FROM past_time";
    Ok(conn.prepare_cached(newest)?.query_row([], |r| r.get(0))?)
}

/// A path with the time that it had.
#[derive(Debug)]
pub(crate) struct PastTime {
    pub path: RelPath,
    pub is_dir: bool,
    /// Nanoseconds since 1970. None: nothing of this kind was there.
    pub mtime: Option<i64>,
}

/// Returns the files and directories whose time changed after a mark. A path may be a file
/// at one moment and a directory at another, so each kind has its log. Directories
/// come last, as a change of a file may change their times.
pub(crate) fn at(conn: &Connection, root: RootId, mark: i64) -> Result<Vec<PastTime>> {
    let mut select = conn.prepare_cached(
        "SELECT path, is_dir, mtime FROM past_time WHERE id IN
           (SELECT MIN(id) FROM past_time WHERE root = ?1 AND id > ?2 GROUP BY path, is_dir) ORDER BY is_dir, path",
    )?;
    let rows = select.query_map(params![root, mark], |r| {
        Ok(PastTime {
            path: r.get(0)?,
            is_dir: r.get(1)?,
            mtime: r.get(2)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
