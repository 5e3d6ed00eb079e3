//! Branches and tags: names that follow new checkpoints, and names that stay.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{OpKind, branch_of};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::Here;
use crate::model::{BranchId, NodeId, RootId, bytes_path};
use crate::store::now;
use crate::store::tables::{operation, root};

#[derive(Clone, Debug)]
pub struct BranchInfo {
    pub id: BranchId,
    /// The original name if the branch is deleted. Another branch may have it by now.
    pub name: String,
    pub head: Option<NodeId>,
    pub parent: Option<String>,
    pub fork_point: Option<NodeId>,
    /// Microseconds since 1970.
    pub created: i64,
    pub description: Option<String>,
    pub current: bool,
    /// True if its name was given up; its checkpoints stay.
    pub deleted: bool,
    /// The directory on this branch, if it is another one than this.
    pub root: Option<std::path::PathBuf>,
    /// Number of checkpoints made on it.
    pub nodes: i64,
}

#[derive(Clone, Debug)]
pub struct Tag {
    pub name: String,
    pub node: NodeId,
    pub created: i64,
}

/// True if a branch begins at this node.
pub(crate) fn fork_at(conn: &Connection, node: NodeId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM branch WHERE fork_point = ?1")?
        .exists([node])?)
}

const BRANCH: &str =
    "SELECT b.id, b.name, b.head, p.name, b.fork_point, b.created, b.description, b.deleted IS NOT NULL,
       (SELECT path FROM root WHERE branch = b.id AND id <> ?1),
       COALESCE((SELECT depth FROM node WHERE id = b.head), -1)
         - COALESCE((SELECT depth FROM node WHERE id = b.fork_point), -1)
     FROM branch b LEFT JOIN branch p ON p.id = b.parent";

fn branch_from(r: &Row<'_>, here: Here) -> rusqlite::Result<BranchInfo> {
    let id: BranchId = r.get(0)?;
    let parent: Option<String> = r.get(3)?;
    Ok(BranchInfo {
        id,
        name: original_name(r.get(1)?),
        head: r.get(2)?,
        parent: parent.map(original_name),
        fork_point: r.get(4)?,
        created: r.get(5)?,
        description: r.get(6)?,
        current: id == here.branch,
        deleted: r.get(7)?,
        root: r
            .get::<_, Option<Vec<u8>>>(8)?
            .map(|path| bytes_path(&path))
            .filter(|dir| dir.is_dir()),
        nodes: r.get(9)?,
    })
}

/// Separates the original name of a deleted branch from its id.
const DELETED_SUFFIX: &str = " (deleted, ";

/// Returns the name that a branch had before it was deleted.
fn original_name(name: String) -> String {
    match name.find(DELETED_SUFFIX) {
        Some(at) => name[..at].to_owned(),
        None => name,
    }
}

/// Returns all branches, including deleted ones, oldest first.
pub(crate) fn list(conn: &Connection, here: Here) -> Result<Vec<BranchInfo>> {
    let mut select = conn.prepare_cached(&format!("{BRANCH} ORDER BY b.id"))?;
    let rows = select.query_map([here.root], |r| branch_from(r, here))?;
    rows.map(|branch| drop_stale_root(conn, branch?)).collect()
}

pub(crate) fn names(conn: &Connection) -> Result<HashMap<BranchId, String>> {
    let mut select = conn.prepare_cached("SELECT id, name FROM branch")?;
    let rows = select.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn info(conn: &Connection, here: Here, id: BranchId) -> Result<BranchInfo> {
    let branch = conn
        .prepare_cached(&format!("{BRANCH} WHERE b.id = ?2"))?
        .query_row(params![here.root, id], |r| branch_from(r, here))?;
    drop_stale_root(conn, branch)
}

/// Drops a root whose directory is gone, even if another directory has its path.
fn drop_stale_root(conn: &Connection, branch: BranchInfo) -> Result<BranchInfo> {
    let gone = branch.root.is_some() && !root::stands_on(conn, branch.id)?;
    let root = branch.root.filter(|_| !gone);
    Ok(BranchInfo { root, ..branch })
}

pub(crate) fn find(conn: &Connection, name: &str) -> Result<BranchId> {
    conn.prepare_cached("SELECT id FROM branch WHERE name = ?1 AND deleted IS NULL")?
        .query_row([name], |r| r.get(0))
        .optional()?
        .ok_or_else(|| Error::NotFound {
            what: "branch",
            name: name.to_owned(),
        })
}

/// Creates a branch that starts at this node.
pub(crate) fn create(
    conn: &Connection,
    name: &str,
    from: NodeId,
    description: Option<&str>,
) -> Result<BranchId> {
    check_name(conn, name)?;
    let parent = branch_of(conn, from)?;
    conn.prepare_cached(
        "INSERT INTO branch (name, head, parent, fork_point, created, description) VALUES (?1,?2,?3,?2,?4,?5)",
    )?
    .execute(params![name, from, parent, now(), description])?;
    Ok(BranchId(conn.last_insert_rowid()))
}

pub(crate) fn rename(conn: &Connection, branch: BranchId, name: &str) -> Result<()> {
    check_name(conn, name)?;
    conn.prepare_cached("UPDATE branch SET name = ?2 WHERE id = ?1")?
        .execute(params![branch, name])?;
    Ok(())
}

/// Deletes a branch. Its checkpoints stay and can be named by their numbers.
pub(crate) fn delete(conn: &Connection, here: Here, branch: BranchId) -> Result<BranchInfo> {
    let gone = info(conn, here, branch)?;
    if gone.current {
        return Err(Error::refused(
            format!("{} is the current branch", gone.name),
            Hint::terminal("`backstitch switch` to another one first"),
        ));
    }
    if let Some(dir) = &gone.root {
        return Err(Error::refused(
            format!("{} is the branch of {}", gone.name, dir.display()),
            "switch that directory to another branch first, or remove it",
        ));
    }
    conn.prepare_cached("UPDATE branch SET deleted = ?2, name = ?3 WHERE id = ?1")?
        .execute(params![
            branch,
            now(),
            // a name that cannot be typed, so no branch is ever created with it
            format!("{}{DELETED_SUFFIX}{})", gone.name, branch.0)
        ])?;
    // a directory that is gone and comes back continues from its last node
    root::detach(conn, None, branch)?;
    Ok(gone)
}

/// Detaches missing roots from a branch that another root takes over.
pub(crate) fn take_over(conn: &Connection, root: RootId, branch: BranchId) -> Result<()> {
    root::detach(conn, Some(root), branch)
}

pub(crate) fn tag(conn: &Connection, name: &str, node: NodeId) -> Result<()> {
    check_name(conn, name)?;
    conn.prepare_cached("INSERT INTO tag (name, node, created) VALUES (?1,?2,?3)")?
        .execute(params![name, node, now()])?;
    Ok(())
}

/// Deletes a tag. Returns its node.
pub(crate) fn untag(conn: &Connection, name: &str) -> Result<NodeId> {
    conn.prepare_cached("DELETE FROM tag WHERE name = ?1 RETURNING node")?
        .query_row([name], |r| r.get(0))
        .optional()?
        .ok_or_else(|| Error::NotFound {
            what: "tag",
            name: name.to_owned(),
        })
}

pub(crate) fn tags(conn: &Connection) -> Result<Vec<Tag>> {
    let mut select = conn.prepare_cached("SELECT name, node, created FROM tag ORDER BY name")?;
    let rows = select.query_map([], |r| {
        Ok(Tag {
            name: r.get(0)?,
            node: r.get(1)?,
            created: r.get(2)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Pins or unpins a node. Returns false if nothing changed.
pub(crate) fn pin(conn: &Connection, node: NodeId, pinned: bool) -> Result<bool> {
    let changed = if pinned {
        conn.prepare_cached("INSERT OR IGNORE INTO pin (node, time) VALUES (?1,?2)")?
            .execute(params![node, now()])?
    } else {
        conn.prepare_cached("DELETE FROM pin WHERE node = ?1")?
            .execute([node])?
    };
    Ok(changed > 0)
}

pub(crate) fn pins(conn: &Connection) -> Result<HashSet<NodeId>> {
    let mut select = conn.prepare_cached("SELECT node FROM pin")?;
    let rows = select.query_map([], |r| r.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Records a naming operation, which `undo` does not reverse.
pub(crate) fn record(
    conn: &Connection,
    here: Here,
    kind: OpKind,
    target: &str,
    node: Option<NodeId>,
) -> Result<()> {
    let at = node.map_or_else(String::new, |node| format!("at {node}"));
    operation::insert_done(conn, here, kind, (target, &at))
}

/// Maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 255;

/// True for direction marks and characters without width: they make two names look the same.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Checks that a branch or tag may have this name. It must differ from every other way to name a
/// checkpoint.
pub(crate) fn check_name(conn: &Connection, name: &str) -> Result<()> {
    let refuse = |why: &str| {
        Error::refused(
            format!("`{name}` cannot be a name: {why}"),
            "letters, digits, `-`, `_`, `.` and `/` make good names",
        )
    };
    let is_number = name
        .strip_prefix(['c', 't'])
        .or_else(|| name.strip_prefix("op"))
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    if name.is_empty() {
        return Err(refuse("it is empty"));
    }
    if is_number {
        return Err(refuse(
            "checkpoints, turns and operations have such numbers",
        ));
    }
    if name.len() > MAX_NAME_BYTES {
        let shown: String = name.chars().take(32).collect();
        return Err(Error::refused(
            format!("`{shown}…` cannot be a name: it is longer than {MAX_NAME_BYTES} bytes"),
            Hint::ShorterName,
        ));
    }
    let is_forbidden = |c: char| {
        c.is_whitespace() || c.is_control() || "@^~:?*[\"'`\\".contains(c) || is_invisible(c)
    };
    if name.starts_with('-') || name.contains(is_forbidden) {
        return Err(refuse("it has a reserved character"));
    }
    // as in git (git-check-ref-format), so that a valid name can be a git branch, too
    if name.contains("..") {
        return Err(refuse("it has two dots in a row"));
    }
    if name.split('/').any(str::is_empty) {
        return Err(refuse(
            "it starts or ends with a slash, or has two in a row",
        ));
    }
    let dotted = |part: &str| part.starts_with('.') || part.strip_suffix(".lock").is_some();
    if name.ends_with('.') || name.split('/').any(dotted) {
        return Err(refuse(
            "no part of it may start with a dot, or end with a dot or `.lock`",
        ));
    }
    let taken = |what: &str, sql: &str| -> Result<()> {
        if conn.prepare_cached(sql)?.exists([name])? {
            return Err(Error::refused(
                format!("there is a {what} `{name}` already"),
                "choose another name, or delete that one first",
            ));
        }
        Ok(())
    };
    taken("branch", "SELECT 1 FROM branch WHERE name = ?1")?;
    taken("tag", "SELECT 1 FROM tag WHERE name = ?1")
}
