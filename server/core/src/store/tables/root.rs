//! The directories (roots) of a store. Each has one row with its branch. The row of a deleted directory stays for
//! its history, but releases its path and branch. A directory is found by its path, or by its identity after it was
//! moved.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::Result;
use crate::model::{BranchId, Here, RelPath, RootId, bytes_path, os_bytes};
use crate::system::DirIdentity;

/// Path stored for a deleted directory. The NUL byte makes it an impossible path; the id makes it unique.
fn released_path(path: &Path, root: RootId) -> Vec<u8> {
    let mut bytes = os_bytes(path.as_os_str());
    bytes.push(0);
    bytes.extend(root.0.to_string().bytes());
    bytes
}

/// Releases the path and branch of the root at this path, whose directory no longer exists.
pub(crate) fn give_up(conn: &Connection, path: &Path) -> Result<()> {
    let root: Option<RootId> = conn
        .query_row(
            "SELECT id FROM root WHERE path = ?1",
            [os_bytes(path.as_os_str())],
            |r| r.get(0),
        )
        .optional()?;
    if let Some(root) = root {
        conn.execute(
            "UPDATE root SET path = ?2, was = COALESCE(branch, was), branch = NULL,
               stood = COALESCE((SELECT head FROM branch WHERE branch.id = root.branch), stood)
             WHERE id = ?1",
            params![root, released_path(path, root)],
        )?;
    }
    Ok(())
}

/// Returns this path to the last root that released it.
pub(crate) fn return_path(conn: &Connection, path: &Path) -> Result<()> {
    let bytes = os_bytes(path.as_os_str());
    let (from, to) = ([&bytes[..], &[0]].concat(), [&bytes[..], &[1]].concat());
    conn.execute(
        "UPDATE root SET path = ?1 WHERE id =
           (SELECT MAX(id) FROM root WHERE path > ?2 AND path < ?3)",
        params![bytes, from, to],
    )?;
    Ok(())
}

/// Returns the path of a directory, or its last one.
pub(crate) fn path(conn: &Connection, root: RootId) -> Result<PathBuf> {
    let path: Vec<u8> = conn
        .prepare_cached("SELECT path FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))?;
    Ok(bytes_path(&path))
}

/// Returns the directories that exist.
pub(crate) fn existing(conn: &Connection) -> Result<Vec<(RootId, PathBuf)>> {
    let rows = rows(conn, "", &[])?;
    let mut existing = Vec::new();
    for row in rows {
        if row.exists(conn)? {
            existing.push((row.id, row.path));
        }
    }
    Ok(existing)
}

/// True if the directory on this branch exists.
pub(crate) fn stands_on(conn: &Connection, branch: BranchId) -> Result<bool> {
    match rows(conn, "WHERE branch = ?1", &[&branch])?.first() {
        Some(row) => row.exists(conn),
        None => Ok(false),
    }
}

/// True if the store was created for this directory, which is then not a fork.
pub(crate) fn is_first(conn: &Connection, root: RootId) -> Result<bool> {
    let first: RootId = conn.query_row("SELECT MIN(id) FROM root", [], |r| r.get(0))?;
    Ok(first == root)
}

pub(crate) struct RootRow {
    pub id: RootId,
    pub path: PathBuf,
    pub identity: Option<DirIdentity>,
}

pub(crate) fn rows(
    conn: &Connection,
    filter: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<RootRow>> {
    let sql = format!("SELECT id, path, inode, btime FROM root {filter} ORDER BY id");
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query_map(values, |r| {
        let path: Vec<u8> = r.get(1)?;
        let (inode, btime): (Option<i64>, Option<i64>) = (r.get(2)?, r.get(3)?);
        let identity = inode.zip(btime);
        Ok(RootRow {
            id: r.get(0)?,
            path: bytes_path(&path),
            identity: identity.map(|(inode, btime)| DirIdentity { inode, btime }),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn at_path(conn: &Connection, path: &Path) -> Result<Vec<RootRow>> {
    rows(conn, "WHERE path = ?1", &[&os_bytes(path.as_os_str())])
}

/// Number of files to check when comparing directories.
const SAMPLE_FILES: usize = 100;

impl RootRow {
    pub(crate) fn exists(&self, conn: &Connection) -> Result<bool> {
        if !self.path.is_dir() {
            return Ok(false);
        }
        match (self.identity, DirIdentity::of(&self.path)) {
            (Some(was), Some(now)) if was != now => self.is_copy(conn),
            _ => Ok(true),
        }
    }

    /// True if a different directory at the path counts as this one: restored from a backup or copied there.
    /// Always true for the directory that the store was created for.
    pub(crate) fn is_copy(&self, conn: &Connection) -> Result<bool> {
        if is_first(conn, self.id)? {
            return Ok(true);
        }
        let mut select =
            conn.prepare_cached("SELECT path FROM file_state WHERE root = ?1 LIMIT ?2")?;
        let files = select
            .query_map(params![self.id, SAMPLE_FILES], |r| r.get::<_, RelPath>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let is_there = |file: &&RelPath| self.path.join(file.to_path()).symlink_metadata().is_ok();
        Ok(files.iter().filter(is_there).count() * 2 >= files.len())
    }
}

/// Returns the directories of the store that are inside this one.
pub(crate) fn below(conn: &Connection, root: &Path) -> Result<Vec<RelPath>> {
    let mut select = conn.prepare_cached("SELECT path FROM root WHERE path > ?1 AND path < ?2")?;
    let root = os_bytes(root.as_os_str());
    let slash: &[u8] = if root.ends_with(b"/") { b"" } else { b"/" };
    let from = [&root[..], slash].concat();
    let to = [&from[..], &[0xff]].concat();
    let rows = select.query_map(params![from, to], |r| r.get::<_, Vec<u8>>(0))?;
    let mut below = Vec::new();
    for path in rows {
        let path = path?;
        if bytes_path(&path).is_dir() {
            below.extend(RelPath::new(&path[from.len()..]));
        }
    }
    Ok(below)
}

/// Returns the root at a path and its branch. No branch: another directory took it over.
pub(crate) fn position(
    conn: &Connection,
    path: &[u8],
) -> Result<Option<(RootId, Option<BranchId>)>> {
    Ok(conn
        .prepare_cached("SELECT id, branch FROM root WHERE path = ?1")?
        .query_row([path], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?)
}

/// Inserts a root on the branch `main`, which is created with the first root.
pub(crate) fn insert_on_main(
    conn: &Connection,
    path: &[u8],
    identity: Option<DirIdentity>,
) -> Result<Here> {
    let branch = super::branch::ensure_main(conn)?;
    conn.execute(
        "INSERT INTO root (path, branch, inode, btime) VALUES (?1,?2,?3,?4)",
        params![
            path,
            branch,
            identity.map(|i| i.inode),
            identity.map(|i| i.btime)
        ],
    )?;
    Ok(Here {
        root: RootId(conn.last_insert_rowid()),
        branch,
    })
}
