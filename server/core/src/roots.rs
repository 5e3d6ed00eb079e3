//! The directories (roots) of a store. Each has one row with its branch. The row of a deleted directory stays for
//! its history, but releases its path and branch. A directory is found by its path, or by its identity after it was
//! moved.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::Result;
use crate::history::{OpKind, branches};
use crate::model::Here;
use crate::model::{BranchId, NodeId, RelPath, RootId, bytes_path, os_bytes};
use crate::store::{Durable, Store};
use crate::system::DirIdentity;
use crate::workspace::{self, Workspace};

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

struct RootRow {
    id: RootId,
    path: PathBuf,
    identity: Option<DirIdentity>,
}

fn rows(conn: &Connection, filter: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<RootRow>> {
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

fn at_path(conn: &Connection, path: &Path) -> Result<Vec<RootRow>> {
    rows(conn, "WHERE path = ?1", &[&os_bytes(path.as_os_str())])
}

/// Number of files to check when comparing directories.
const SAMPLE_FILES: usize = 100;

impl RootRow {
    fn exists(&self, conn: &Connection) -> Result<bool> {
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
    fn is_copy(&self, conn: &Connection) -> Result<bool> {
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

/// Updates the rows to match the directory on disk: it may have been moved here, or a different directory may be at
/// its path. Returns `false` if the directory does not belong to this store.
pub(crate) fn reconcile(
    store: &Store,
    workspace: &Workspace,
    identity: Option<DirIdentity>,
) -> Result<bool> {
    let path = os_bytes(workspace.root.as_os_str());
    let by_path = |conn: &Connection| -> Result<Option<RootRow>> {
        Ok(at_path(conn, &workspace.root)?.pop())
    };
    let Some(identity) = identity else {
        return Ok(true);
    };
    let taken = |path: &Path| Ok(!at_path(&store.conn, path)?.is_empty());
    if by_path(&store.conn)?.is_some_and(|row| row.identity == Some(identity)) {
        workspace.bind(identity, taken)?;
        return Ok(true);
    }
    let state = store.write_notifying(Durable::Power, |conn| {
        let here = by_path(conn)?;
        let id = here.as_ref().map(|row| row.id);
        let by_identity = "WHERE inode = ?1 AND btime = ?2";
        let moved = rows(conn, by_identity, &[&identity.inode, &identity.btime])?.pop();
        if let Some(moved) = moved.filter(|row| Some(row.id) != id)
            && DirIdentity::of(&moved.path) != Some(identity)
        {
            give_up(conn, &workspace.root)?;
            conn.execute(
                "UPDATE root SET path = ?2 WHERE id = ?1",
                params![moved.id, path],
            )?;
            return Ok((RootState::Ours, true));
        }
        let Some(here) = here else {
            let state = if workspace.shared {
                RootState::Unknown
            } else {
                // its row is inserted next
                RootState::Ours
            };
            return Ok((state, false));
        };
        if here.identity.is_some() && !here.is_copy(conn)? {
            give_up(conn, &workspace.root)?;
            return Ok((RootState::Another, true));
        }
        conn.execute(
            "UPDATE root SET inode = ?2, btime = ?3 WHERE id = ?1",
            params![here.id, identity.inode, identity.btime],
        )?;
        Ok((RootState::Ours, true))
    })?;
    match state {
        RootState::Ours => workspace.bind(identity, taken)?,
        RootState::Another => workspace::unshare(&workspace.root, &store.dir),
        RootState::Unknown => {}
    }
    Ok(state == RootState::Ours)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RootState {
    Ours,
    /// A different directory at the path of one of this store's directories.
    Another,
    /// A directory that refers to this store, which has no row for it.
    Unknown,
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

/// Creates a branch for a directory that reappeared, at its last node before another directory took over its
/// branch. None: that node is not known.
pub(crate) fn branch_again(conn: &Connection, root: RootId) -> Result<Option<BranchId>> {
    let (stood, was): (Option<NodeId>, Option<BranchId>) =
        conn.query_row("SELECT stood, was FROM root WHERE id = ?1", [root], |r| {
            Ok((r.get(0)?, r.get(1)?))
        })?;
    let (Some(stood), Some(was)) = (stood, was) else {
        return Ok(None);
    };
    let here = Here { root, branch: was };
    let old = branches::info(conn, here, was)?.name;
    let old = old.split(" (").next().unwrap_or_default();
    // the old name may be too long for a suffix, or no longer valid
    let mut names = [old, "again"].into_iter().flat_map(|name| {
        let numbered = move |n| format!("{name}-{n}");
        (2..1000).map(numbered)
    });
    let Some(name) = names.find(|name| branches::check_name(conn, name).is_ok()) else {
        return Ok(None);
    };
    let branch = branches::create(conn, &name, stood, None)?;
    conn.execute(
        "UPDATE root SET branch = ?2, stood = NULL, was = NULL WHERE id = ?1",
        params![root, branch],
    )?;
    branches::record(
        conn,
        Here { root, branch },
        OpKind::Fork,
        &name,
        Some(stood),
    )?;
    Ok(Some(branch))
}
