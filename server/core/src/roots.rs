//! The directories of a store. Each has one row, and the branch that it is on; a row whose directory is gone
//! stays, for what happened there, and gives the rest up.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::Result;
use crate::history::{Here, OpKind, branches};
use crate::model::{BranchId, NodeId, RelPath, RootId, bytes_path, os_bytes};

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

/// The directories that are there.
pub(crate) fn standing(conn: &Connection) -> Result<Vec<(RootId, PathBuf)>> {
    let mut select = conn.prepare_cached("SELECT id, path FROM root ORDER BY id")?;
    let rows = select
        .query_map([], |r| {
            let path: Vec<u8> = r.get(1)?;
            Ok((r.get(0)?, bytes_path(&path)))
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(rows.into_iter().filter(|(_, dir)| dir.is_dir()).collect())
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
    let mut number = 2;
    let name = loop {
        let name = format!("{old}-{number}");
        if branches::free(conn, &name).is_ok() {
            break name;
        }
        number += 1;
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
