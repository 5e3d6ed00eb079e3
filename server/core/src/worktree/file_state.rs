//! The table of what is known to be on disk: the state of the head, path by path, with the stat that
//! spares reading it again. Owns reading and writing of these rows.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::Result;
use crate::model::{Coverage, FileId, Image, NodeId, RelPath, RootId};
use crate::store;
use crate::worktree::disk::Stat;
use crate::worktree::git::backed_content;
use crate::worktree::ignore_rules::{self, Excludes};
use crate::worktree::recorder::ChangedPaths;
use crate::worktree::scan::{FileState, FileStates};

const COLUMNS: &str =
    "path, image, file, since, generation, size, mtime, ctime, btime, dev, inode, mode, racy";

fn read(r: &Row<'_>) -> rusqlite::Result<(RelPath, FileState)> {
    Ok((
        r.get(0)?,
        FileState {
            image: r.get(1)?,
            file: r.get(2)?,
            since: r.get(3)?,
            generation: r.get(4)?,
            stat: Stat {
                size: r.get(5)?,
                mtime: r.get(6)?,
                ctime: r.get(7)?,
                btime: r.get(8)?,
                dev: r.get(9)?,
                inode: r.get(10)?,
                mode: r.get(11)?,
                racy: r.get(12)?,
                linked: false,
            },
        },
    ))
}

pub(crate) fn all(conn: &Connection, root: RootId) -> Result<FileStates> {
    let sql = format!("SELECT {COLUMNS} FROM file_state WHERE root = ?1");
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query_map([root], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What is known of a path. A content that is git's becomes the store's own first, as far as this may write.
pub(crate) fn get(conn: &Connection, root: RootId, path: &RelPath) -> Result<Option<FileState>> {
    let Some(mut known) = row(conn, root, path)? else {
        return Ok(None);
    };
    known.image = backed_content::materialize(conn, root, path, known.image)?;
    Ok(Some(known))
}

/// The same as it stands, with git's contents left to git.
pub(crate) fn row(conn: &Connection, root: RootId, path: &RelPath) -> Result<Option<FileState>> {
    let sql = format!("SELECT {COLUMNS} FROM file_state WHERE root = ?1 AND path = ?2");
    let mut select = conn.prepare_cached(&sql)?;
    Ok(select
        .query_row(params![root, path], read)
        .optional()?
        .map(|(_, known)| known))
}

/// Replaces what git has by what the store has, in every root that knows it: the same.
pub(crate) fn set_materialized(
    conn: &Connection,
    path: &RelPath,
    lent: &Image,
    own: &Image,
) -> Result<()> {
    conn.prepare_cached(
        "UPDATE file_state SET image = ?3 WHERE root IN (SELECT id FROM root) AND path = ?1
           AND image = ?2",
    )?
    .execute(params![path, lent, own])?;
    Ok(())
}

/// What git's index was when it had every blob of what is known.
pub(crate) fn index(conn: &Connection, root: RootId) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached("SELECT git_index FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))?)
}

/// Which walk over the whole tree was taken in last.
pub(crate) fn last_walk(conn: &Connection, root: RootId) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("SELECT walked FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))?)
}

/// Whether no look at all of a root came to its end yet.
pub(crate) fn is_first_look(conn: &Connection, root: RootId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT scanned IS NULL FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))?)
}

/// Files that never changed and whose content is git's, and the blobs.
pub(crate) fn all_lent(conn: &Connection, root: RootId) -> Result<Vec<(RelPath, Image)>> {
    // an image of git's begins with 4
    let mut select = conn.prepare_cached(
        "SELECT path, image FROM file_state WHERE root = ?1 AND substr(image, 1, 1) = x'04'",
    )?;
    let rows = select.query_map([root], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Files that came into sight after the start and never changed, and since when they are known.
pub(crate) fn strangers(conn: &Connection, root: RootId) -> Result<Vec<(RelPath, NodeId)>> {
    let mut select = conn.prepare_cached(
        // by itself SQLite would rather read the whole table
        "SELECT path, since FROM file_state INDEXED BY file_state_since
         WHERE root = ?1 AND file IS NULL AND since IS NOT NULL",
    )?;
    let rows = select.query_map([root], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether anything is known.
pub(crate) fn any(conn: &Connection, root: RootId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM file_state WHERE root = ?1")?
        .exists([root])?)
}

/// Under which path this very file, by inode and birth time, was known last. Reads the whole table.
pub(crate) fn path_of(conn: &Connection, root: RootId, s: &Stat) -> Result<Option<RelPath>> {
    if s.btime == 0 {
        return Ok(None);
    }
    Ok(conn
        .prepare_cached(
            "SELECT path FROM file_state WHERE root = ?1 AND inode = ?2 AND dev = ?3 AND btime = ?4",
        )?
        .query_row(params![root, s.inode, s.dev, s.btime], |r| r.get(0))
        .optional()?)
}

/// How it came to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observed {
    /// A walk over the tree came by the path.
    ByWalk,
    /// Somebody named it, or looked at it alone: no walk came by yet, or ever may.
    ByName,
}

pub(crate) fn put(
    conn: &Connection,
    root: RootId,
    path: &RelPath,
    known: &FileState,
    met: Observed,
) -> Result<()> {
    keep_rules(conn, root, path)?;
    let new = || -> Result<bool> {
        let mut there =
            conn.prepare_cached("SELECT 1 FROM file_state WHERE root = ?1 AND path = ?2")?;
        Ok(!there.exists(params![root, path])?)
    };
    if known.stat.size < 0 || met == Observed::ByName && new()? {
        insert_unverified(conn, root, path, known.generation)?;
    }
    let s = &known.stat;
    conn.prepare_cached(
        "INSERT OR REPLACE INTO file_state (root, path, image, file, since, generation, size, mtime, ctime,
           btime, dev, inode, mode, racy) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)",
    )?
    .execute(params![
        root,
        path,
        known.image,
        known.file,
        known.since,
        known.generation,
        s.size,
        s.mtime,
        s.ctime,
        s.btime,
        s.dev,
        s.inode,
        s.mode,
        s.racy
    ])?;
    Ok(())
}

pub(crate) fn remove(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    keep_rules(conn, root, path)?;
    conn.prepare_cached("DELETE FROM file_state WHERE root = ?1 AND path = ?2")?
        .execute(params![root, path])?;
    // a directory that is moved away and back leaves what is in it as it was seen before
    mark_unverified(conn, root, path)
}

/// Before the record of a .gitignore moves on: the last scan went by the old one, which says later what
/// that scan could not see.
fn keep_rules(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    if path.split().1 != ignore_rules::FILE {
        return Ok(());
    }
    let Some(mut excludes) = excludes(conn, root)? else {
        return Ok(());
    };
    let content = row(conn, root, path)?.and_then(|row| row.image.content());
    excludes.note(path, content);
    conn.prepare_cached("UPDATE root SET excludes = ?2 WHERE id = ?1")?
        .execute(params![
            root,
            serde_json::to_string(&excludes).unwrap_or_default()
        ])?;
    Ok(())
}

/// What the last look did not take up.
pub(crate) fn coverage(conn: &Connection, root: RootId) -> Result<Coverage> {
    let text: Option<String> = conn
        .prepare_cached("SELECT coverage FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))
        .optional()?;
    let read = text.map(|text| coverage_from(conn, root, &text));
    Ok(read.transpose()?.unwrap_or_default())
}

/// Reads the column `coverage` of a root.
pub(crate) fn coverage_from(conn: &Connection, root: RootId, text: &str) -> Result<Coverage> {
    store::json(conn, || format!("the coverage of root {}", root.0), text)
}

/// The rules of the last scan; None before the first.
pub(crate) fn excludes(conn: &Connection, root: RootId) -> Result<Option<Excludes>> {
    let json: Option<String> = conn
        .prepare_cached("SELECT excludes FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))?;
    let row = || format!("the rules of root {}", root.0);
    json.map(|json| store::json(conn, row, &json)).transpose()
}

/// Notes a new stat of an unchanged image, unless the row moved on meanwhile.
pub(crate) fn update_stat(
    conn: &Connection,
    root: RootId,
    path: &RelPath,
    generation: i64,
    s: &Stat,
) -> Result<()> {
    if s.size < 0 {
        mark_unverified(conn, root, path)?;
    }
    conn.prepare_cached(
        "UPDATE file_state SET size=?4, mtime=?5, ctime=?6, btime=?7, dev=?8, inode=?9, mode=?10, racy=?11
         WHERE root = ?1 AND path = ?2 AND generation = ?3",
    )?
    .execute(params![
        root, path, generation, s.size, s.mtime, s.ctime, s.btime, s.dev, s.inode, s.mode, s.racy
    ])?;
    Ok(())
}

/// Has everybody who comes look at this path; a walk that is under way may have come by it already.
pub(crate) fn mark_unverified(conn: &Connection, root: RootId, path: &RelPath) -> Result<()> {
    insert_unverified(conn, root, path, generation(conn, root)? + 1)
}

/// Notes a path that is to be looked at by whoever does not walk the tree.
fn insert_unverified(
    conn: &Connection,
    root: RootId,
    path: &RelPath,
    generation: i64,
) -> Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO stray (root, path, generation) VALUES (?1,?2,?3)")?
        .execute(params![root, path, generation])?;
    Ok(())
}

/// Paths that are to be looked at by whoever does not walk the tree. None: a walk has yet to tell.
pub(crate) fn unverified(conn: &Connection, root: RootId) -> Result<Option<Vec<RelPath>>> {
    let whole: bool = conn
        .prepare_cached("SELECT strays FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))?;
    if !whole {
        return Ok(None);
    }
    let mut select = conn.prepare_cached("SELECT path FROM stray WHERE root = ?1")?;
    let rows = select.query_map([root], |r| r.get(0))?;
    Ok(Some(rows.collect::<rusqlite::Result<_>>()?))
}

/// After a walk over the whole tree that began at generation `since`: these known paths it did not come by.
pub(crate) fn walked(
    conn: &Connection,
    root: RootId,
    since: i64,
    unmet: &[RelPath],
    generation: i64,
) -> Result<()> {
    conn.prepare_cached("DELETE FROM stray WHERE root = ?1 AND generation <= ?2")?
        .execute(params![root, since])?;
    for path in unmet {
        insert_unverified(conn, root, path, generation)?;
    }
    conn.prepare_cached("UPDATE root SET strays = 1, walked = ?2 WHERE id = ?1")?
        .execute(params![root, generation])?;
    Ok(())
}

/// The generation of the rows written last.
pub(crate) fn generation(conn: &Connection, root: RootId) -> Result<i64> {
    Ok(conn
        .prepare_cached("SELECT generation FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))?)
}

/// The generation of rows written from now on in this transaction.
pub(crate) fn next_generation(conn: &Connection, root: RootId) -> Result<i64> {
    Ok(conn
        .prepare_cached(
            "UPDATE root SET generation = generation + 1 WHERE id = ?1 RETURNING generation",
        )?
        .query_row([root], |r| r.get(0))?)
}

/// The rows of paths that may have changed.
pub(crate) fn some(conn: &Connection, root: RootId, touched: &ChangedPaths) -> Result<FileStates> {
    let mut rows = FileStates::default();
    for dir in touched.tops() {
        rows.extend(below(conn, root, dir.bytes())?);
    }
    for path in touched.paths.iter().chain(&touched.trees) {
        if let Some(row) = row(conn, root, path)? {
            rows.insert(path.clone(), row);
        }
    }
    Ok(rows)
}

/// How many known paths a directory holds, at any depth.
pub(crate) fn count_below(conn: &Connection, root: RootId, dir: &RelPath) -> Result<usize> {
    let (from, to) = ([dir.bytes(), b"/"].concat(), [dir.bytes(), b"0"].concat());
    Ok(conn
        .prepare_cached(
            "SELECT COUNT(*) FROM file_state WHERE root = ?1 AND path > ?2 AND path < ?3",
        )?
        .query_row(params![root, from, to], |r| r.get(0))?)
}

/// The known paths in a directory, at any depth.
fn below(conn: &Connection, root: RootId, dir: &[u8]) -> Result<FileStates> {
    let (from, to) = ([dir, b"/"].concat(), [dir, b"0"].concat());
    let sql =
        format!("SELECT {COLUMNS} FROM file_state WHERE root = ?1 AND path > ?2 AND path < ?3");
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query_map(params![root, from, to], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether any known path lies in this directory.
pub(crate) fn directory_known(conn: &Connection, root: RootId, dir: &RelPath) -> Result<bool> {
    let (from, to) = ([dir.bytes(), b"/"].concat(), [dir.bytes(), b"0"].concat());
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM file_state WHERE root = ?1 AND path > ?2 AND path < ?3 LIMIT 1",
        )?
        .exists(params![root, from, to])?)
}

/// The identity that a path now absent had.
pub(crate) fn gone(conn: &Connection, root: RootId, path: &RelPath) -> Result<Option<FileId>> {
    Ok(conn
        .prepare_cached("SELECT file FROM gone WHERE root = ?1 AND path = ?2")?
        .query_row(params![root, path], |r| r.get(0))
        .optional()?)
}

/// The identities of all paths now absent.
pub(crate) fn all_gone(conn: &Connection, root: RootId) -> Result<Vec<(RelPath, FileId)>> {
    let mut select = conn.prepare_cached("SELECT path, file FROM gone WHERE root = ?1")?;
    let rows = select.query_map([root], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Where a file is now: keeps the identity of paths for when they return.
pub(crate) fn note_identity(
    conn: &Connection,
    root: RootId,
    file: FileId,
    absent_at: Option<&RelPath>,
) -> Result<()> {
    conn.prepare_cached("DELETE FROM gone WHERE root = ?1 AND file = ?2")?
        .execute(params![root, file])?;
    if let Some(path) = absent_at {
        conn.prepare_cached("INSERT OR REPLACE INTO gone (root, path, file) VALUES (?1,?2,?3)")?
            .execute(params![root, path, file])?;
    }
    Ok(())
}

/// Gives a file that never changed an identity, in every root that has it: what one changes is the same
/// file as what another left alone.
pub(crate) fn identify(conn: &Connection, path: &RelPath, since: Option<NodeId>) -> Result<FileId> {
    let file = new_file(conn, since)?;
    conn.prepare_cached(
        "UPDATE file_state SET file = ?1 WHERE root IN (SELECT id FROM root) AND path = ?2
           AND file IS NULL AND since IS ?3",
    )?
    .execute(params![file, path, since])?;
    if let Some(since) = since {
        conn.prepare_cached("INSERT INTO adopted (node, file) VALUES (?1,?2)")?
            .execute(params![since, file])?;
    }
    Ok(file)
}

/// Files that came into sight in other roots, never changed since.
pub(crate) fn seen_elsewhere(conn: &Connection, root: RootId) -> Result<Vec<(RelPath, FileState)>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM file_state INDEXED BY file_state_since
         WHERE root IN (SELECT id FROM root WHERE id <> ?1) AND file IS NULL AND since IS NOT NULL"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query_map([root], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn new_file(conn: &Connection, since: Option<NodeId>) -> Result<FileId> {
    conn.prepare_cached("INSERT INTO file (since) VALUES (?1)")?
        .execute([since])?;
    Ok(FileId(conn.last_insert_rowid()))
}
