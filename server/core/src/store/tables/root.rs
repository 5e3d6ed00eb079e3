//! Table `root`: the directories (roots) of a store. Each has one row with its branch. The row of a deleted directory stays for
//! its history, but releases its path and branch. A directory is found by its path, or by its identity after it was
//! moved.

pub(crate) mod scan;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use serde::Serialize;

use super::damage::{InRow, read_all};
use crate::error::Result;
use crate::model::{BranchId, Here, NodeId, RelPath, RootId, bytes_path, os_bytes};
use crate::store::to_json;
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
        .query_row([root], |r| r.get(0))
        .in_row(conn, || format!("row {} of table root", root.0))?;
    Ok(bytes_path(&path))
}

/// Returns the directories that exist.
pub(crate) fn existing(conn: &Connection) -> Result<Vec<(RootId, PathBuf)>> {
    let rows = rows(conn, RootFilter::All)?;
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
    match rows(conn, RootFilter::Branch(branch))?.first() {
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

/// Roots to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RootFilter<'a> {
    All,
    Path(&'a Path),
    Branch(BranchId),
    Identity(DirIdentity),
}

fn read(r: &Row<'_>) -> rusqlite::Result<RootRow> {
    let path: Vec<u8> = r.get(1)?;
    let (inode, btime): (Option<i64>, Option<i64>) = (r.get(2)?, r.get(3)?);
    let identity = inode.zip(btime);
    Ok(RootRow {
        id: r.get(0)?,
        path: bytes_path(&path),
        identity: identity.map(|(inode, btime)| DirIdentity { inode, btime }),
    })
}

pub(crate) fn rows(conn: &Connection, filter: RootFilter<'_>) -> Result<Vec<RootRow>> {
    let path;
    let (condition, values): (&str, &[&dyn ToSql]) = match &filter {
        RootFilter::All => ("", &[]),
        RootFilter::Path(at) => {
            path = os_bytes(at.as_os_str());
            ("WHERE path = ?1", &[&path])
        }
        RootFilter::Branch(branch) => ("WHERE branch = ?1", &[branch]),
        RootFilter::Identity(identity) => (
            "WHERE inode = ?1 AND btime = ?2",
            &[&identity.inode, &identity.btime],
        ),
    };
    let sql = format!("SELECT id, path, inode, btime FROM root {condition} ORDER BY id");
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query(values)?;
    read_all(conn, "root", rows, read)
}

pub(crate) fn at_path(conn: &Connection, path: &Path) -> Result<Vec<RootRow>> {
    rows(conn, RootFilter::Path(path))
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
        let rows = select.query(params![self.id, SAMPLE_FILES])?;
        let files: Vec<RelPath> = read_all(conn, "file_state", rows, |r| r.get(0))?;
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

/// A directory to which a fork was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewFork<'a, E> {
    pub path: &'a Path,
    pub branch: BranchId,
    pub identity: Option<DirIdentity>,
    /// The rules under which it was written.
    pub excludes: &'a E,
}

/// Inserts the root of a fork. Its files are known as after a scan.
pub(crate) fn insert_fork<E: Serialize>(conn: &Connection, new: &NewFork<'_, E>) -> Result<RootId> {
    conn.execute(
        "INSERT INTO root (path, branch, scanned, bare_dirs, excludes, inode, btime, git_index)
         VALUES (?1,?2,?3,x'',?4,?5,?6,'')",
        params![
            os_bytes(new.path.as_os_str()),
            new.branch,
            crate::store::now(),
            to_json(new.excludes)?,
            new.identity.map(|i| i.inode),
            new.identity.map(|i| i.btime),
        ],
    )?;
    Ok(RootId(conn.last_insert_rowid()))
}

/// Returns the branch of a root. None: another directory took it over, or there is no such root.
pub(crate) fn branch(conn: &Connection, root: RootId) -> Result<Option<BranchId>> {
    let found = conn
        .prepare_cached("SELECT branch FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))
        .optional()
        .in_row(conn, || format!("row {} of table root", root.0))?;
    Ok(found.flatten())
}

/// Returns the head of the branch of a root.
pub(crate) fn head(conn: &Connection, root: RootId) -> Result<Option<NodeId>> {
    let sql = "SELECT b.head FROM root r LEFT JOIN branch b ON b.id = r.branch WHERE r.id = ?1";
    Ok(conn.prepare_cached(sql)?.query_row([root], |r| r.get(0))?)
}

pub(crate) fn set_branch(conn: &Connection, root: RootId, branch: BranchId) -> Result<()> {
    conn.execute(
        "UPDATE root SET branch = ?2 WHERE id = ?1",
        params![root, branch],
    )?;
    Ok(())
}

/// Returns the last node and branch of a root without a branch.
pub(crate) fn last_position(conn: &Connection, root: RootId) -> Result<Option<(NodeId, BranchId)>> {
    let read = |r: &Row<'_>| -> rusqlite::Result<(Option<NodeId>, Option<BranchId>)> {
        Ok((r.get(0)?, r.get(1)?))
    };
    let (stood, was) = conn
        .query_row("SELECT stood, was FROM root WHERE id = ?1", [root], read)
        .in_row(conn, || format!("row {} of table root", root.0))?;
    Ok(stood.zip(was))
}

/// Puts a root without a branch on a new one.
pub(crate) fn return_to(conn: &Connection, root: RootId, branch: BranchId) -> Result<()> {
    conn.execute(
        "UPDATE root SET branch = ?2, stood = NULL, was = NULL WHERE id = ?1",
        params![root, branch],
    )?;
    Ok(())
}

/// Takes all roots but one from a branch and records their last node.
pub(crate) fn detach(conn: &Connection, except: Option<RootId>, branch: BranchId) -> Result<()> {
    conn.execute(
        "UPDATE root SET branch = NULL, was = branch,
           stood = (SELECT head FROM branch WHERE id = ?2) WHERE branch = ?2 AND id IS NOT ?1",
        params![except, branch],
    )?;
    Ok(())
}

/// Returns the last nodes of roots without a branch.
pub(crate) fn last_nodes(conn: &Connection) -> Result<Vec<NodeId>> {
    let mut select = conn.prepare_cached("SELECT stood FROM root WHERE stood IS NOT NULL")?;
    let rows = select.query([])?;
    read_all(conn, "root", rows, |r| r.get(0))
}

/// Records that the directory was moved to this path.
pub(crate) fn set_path(conn: &Connection, root: RootId, path: &Path) -> Result<()> {
    conn.execute(
        "UPDATE root SET path = ?2 WHERE id = ?1",
        params![root, os_bytes(path.as_os_str())],
    )?;
    Ok(())
}

pub(crate) fn set_identity(conn: &Connection, root: RootId, identity: DirIdentity) -> Result<()> {
    conn.execute(
        "UPDATE root SET inode = ?2, btime = ?3 WHERE id = ?1",
        params![root, identity.inode, identity.btime],
    )?;
    Ok(())
}

pub(crate) fn delete(conn: &Connection, root: RootId) -> Result<()> {
    conn.execute("DELETE FROM root WHERE id = ?1", [root])?;
    Ok(())
}

/// Deletes all roots but one.
pub(crate) fn delete_others(conn: &Connection, root: RootId) -> Result<()> {
    conn.execute("DELETE FROM root WHERE id <> ?1", [root])?;
    Ok(())
}
