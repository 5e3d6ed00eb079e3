//! The directories of a store. Each has one row, and the branch that it is on; a row whose directory is gone
//! stays, for what happened there, and gives the rest up. A directory is known by its path, and by its identity
//! when it was moved.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::Result;
use crate::history::{Here, OpKind, branches};
use crate::model::{BranchId, NodeId, RelPath, RootId, bytes_path, os_bytes};
use crate::store::{Durable, Store};
use crate::workspace::{self, Workspace};
use crate::worktree::disk::DirIdentity;

/// The path of a directory that is gone: none that can be. The number keeps it apart from others that were
/// there once.
fn left_path(path: &Path, root: RootId) -> Vec<u8> {
    let mut bytes = os_bytes(path.as_os_str());
    bytes.push(0);
    bytes.extend(root.0.to_string().bytes());
    bytes
}

/// Gives up the root at this path, whose directory is gone: the path and the branch are free.
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
            params![root, left_path(path, root)],
        )?;
    }
    Ok(())
}

/// The last one that was given up at this path has it again.
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

/// Where a directory is, or was last.
pub(crate) fn path(conn: &Connection, root: RootId) -> Result<PathBuf> {
    let path: Vec<u8> = conn
        .prepare_cached("SELECT path FROM root WHERE id = ?1")?
        .query_row([root], |r| r.get(0))?;
    Ok(bytes_path(&path))
}

/// The directories that are there.
pub(crate) fn standing(conn: &Connection) -> Result<Vec<(RootId, PathBuf)>> {
    let rows = rows(conn, "", &[])?;
    let mut standing = Vec::new();
    for row in rows {
        if row.stands(conn)? {
            standing.push((row.id, row.path));
        }
    }
    Ok(standing)
}

/// Whether the directory that is on this branch is there.
pub(crate) fn stands_on(conn: &Connection, branch: BranchId) -> Result<bool> {
    match rows(conn, "WHERE branch = ?1", &[&branch])?.first() {
        Some(row) => row.stands(conn),
        None => Ok(false),
    }
}

/// Whether a store was made for this directory, not for that from which it was forked.
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

/// So many files are looked for to tell a directory from another.
const FILES: usize = 100;

impl RootRow {
    fn stands(&self, conn: &Connection) -> Result<bool> {
        if !self.path.is_dir() {
            return Ok(false);
        }
        match (self.identity, DirIdentity::of(&self.path)) {
            (Some(was), Some(now)) if was != now => self.is_copy(conn),
            _ => Ok(true),
        }
    }

    /// Whether another directory at its path is it all the same: restored, or copied there. One that a store
    /// was made for always is.
    fn is_copy(&self, conn: &Connection) -> Result<bool> {
        if is_first(conn, self.id)? {
            return Ok(true);
        }
        let mut select =
            conn.prepare_cached("SELECT path FROM file_state WHERE root = ?1 LIMIT ?2")?;
        let files = select
            .query_map(params![self.id, FILES], |r| r.get::<_, RelPath>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let is_there = |file: &&RelPath| self.path.join(file.to_path()).symlink_metadata().is_ok();
        Ok(files.iter().filter(is_there).count() * 2 >= files.len())
    }
}

/// Has the row of this directory agree with what stands there: it may have been moved here, or another may
/// have come to its path. `false`: it is none of this store's.
pub(crate) fn settle(
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
    let settled = store.write_telling(Durable::Power, |conn| {
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
            let settled = if workspace.shared {
                RootState::Unknown
            } else {
                // it is about to get its row
                RootState::Ours
            };
            return Ok((settled, false));
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
    match settled {
        RootState::Ours => workspace.bind(identity, taken)?,
        RootState::Another => workspace::unshare(&workspace.root, &store.dir),
        RootState::Unknown => {}
    }
    Ok(settled == RootState::Ours)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RootState {
    Ours,
    /// It came to the path of one of ours.
    Another,
    /// It is said to be of this store, which knows nothing of it.
    Unknown,
}

/// Those of them that lie in this one.
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

/// Gives a directory that came back a branch of its own, from where it stood when another one took its branch
/// over. None: that is not known.
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
    // a name may be as long as names can be, or none that is given any more
    let mut names = [old, "again"].into_iter().flat_map(|name| {
        let numbered = move |n| format!("{name}-{n}");
        (2..1000).map(numbered)
    });
    let Some(name) = names.find(|name| branches::free(conn, name).is_ok()) else {
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
