//! Branches and tags: names that follow new checkpoints, and names that stay.

use rusqlite::Connection;

use super::{OpKind, branch_of};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::{BranchId, Here, NodeId, RootId, bytes_path};
use crate::store::tables::branch::{self, BranchRow, NewBranch};
use crate::store::tables::{operation, root, tag};

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

fn info_of(row: BranchRow, here: Here) -> BranchInfo {
    BranchInfo {
        id: row.id,
        name: original_name(row.name),
        head: row.head,
        parent: row.parent.map(original_name),
        fork_point: row.fork_point,
        created: row.created,
        description: row.description,
        current: row.id == here.branch,
        deleted: row.is_deleted,
        root: row
            .other_root
            .map(|path| bytes_path(&path))
            .filter(|dir| dir.is_dir()),
        nodes: row.nodes,
    }
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
    let rows = branch::all(conn, here.root)?.into_iter();
    rows.map(|row| drop_stale_root(conn, info_of(row, here)))
        .collect()
}

pub(crate) fn info(conn: &Connection, here: Here, id: BranchId) -> Result<BranchInfo> {
    let row = branch::get(conn, here.root, id)?;
    drop_stale_root(conn, info_of(row, here))
}

/// Drops a root whose directory is gone, even if another directory has its path.
fn drop_stale_root(conn: &Connection, branch: BranchInfo) -> Result<BranchInfo> {
    let gone = branch.root.is_some() && !root::stands_on(conn, branch.id)?;
    let root = branch.root.filter(|_| !gone);
    Ok(BranchInfo { root, ..branch })
}

pub(crate) fn find(conn: &Connection, name: &str) -> Result<BranchId> {
    branch::find(conn, name)?.ok_or_else(|| Error::NotFound {
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
    let new = NewBranch {
        name,
        head: from,
        parent: branch_of(conn, from)?,
        description,
    };
    branch::insert(conn, &new)
}

/// Creates a branch and records the operation.
pub(crate) fn fork(
    conn: &Connection,
    here: Here,
    name: &str,
    from: NodeId,
    description: Option<&str>,
) -> Result<BranchId> {
    let id = create(conn, name, from, description)?;
    record(conn, here, OpKind::Fork, name, Some(from))?;
    Ok(id)
}

pub(crate) fn rename(conn: &Connection, branch: BranchId, name: &str) -> Result<()> {
    check_name(conn, name)?;
    branch::rename(conn, branch, name)
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
    // no branch is ever created with such a name
    let name = format!("{}{DELETED_SUFFIX}{})", gone.name, branch.0);
    branch::set_deleted(conn, branch, &name)?;
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
    tag::insert(conn, name, node)
}

/// Deletes a tag. Returns its node.
pub(crate) fn untag(conn: &Connection, name: &str) -> Result<NodeId> {
    tag::delete(conn, name)?.ok_or_else(|| Error::NotFound {
        what: "tag",
        name: name.to_owned(),
    })
}

/// Pins or unpins a node. Returns false if nothing changed.
pub(crate) fn pin(conn: &Connection, node: NodeId, pinned: bool) -> Result<bool> {
    if pinned {
        tag::insert_pin(conn, node)
    } else {
        tag::delete_pin(conn, node)
    }
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
            "letters, digits, blanks, `-`, `_`, `.` and `/` make good names",
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
    if name.starts_with(' ') || name.ends_with(' ') || name.contains("  ") {
        return Err(refuse(
            "it starts or ends with a blank, or has two in a row",
        ));
    }
    if name.contains(DELETED_SUFFIX) {
        return Err(refuse("deleted branches have such names"));
    }
    let is_forbidden = |c: char| {
        c.is_whitespace() && c != ' '
            || c.is_control()
            || "@^~:?*[\"'`\\".contains(c)
            || is_invisible(c)
    };
    if name.starts_with('-') || name.contains(is_forbidden) {
        return Err(refuse("it has a reserved character"));
    }
    // as in git (git-check-ref-format), so that a valid name, with `-` for each blank, can be a git branch, too
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
    let is_taken = [
        ("branch", branch::has_name(conn, name)?),
        ("tag", tag::has_name(conn, name)?),
    ];
    match is_taken.into_iter().find(|(_, taken)| *taken) {
        Some((what, _)) => Err(Error::refused(
            format!("there is a {what} `{name}` already"),
            "choose another name, or delete that one first",
        )),
        None => Ok(()),
    }
}
