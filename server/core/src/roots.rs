//! Finding the root that a directory is, when a store is opened: after a move, as a copy, or when its branch was taken
//! over while it was away.

use std::path::Path;

use rusqlite::Connection;

use crate::error::Result;
use crate::history::{OpKind, branches};
use crate::model::{BranchId, Here, RootId};
use crate::places::Workspace;
use crate::store::tables::root::{self, RootFilter, RootRow, at_path, give_up, rows};
use crate::store::{Durable, Store};
use crate::system::DirIdentity;
use crate::workspace::{self};

/// Updates the rows to match the directory on disk: it may have been moved here, or a different directory may be at
/// its path. Returns `false` if the directory does not belong to this store.
pub(crate) fn reconcile(
    store: &Store,
    workspace: &Workspace,
    identity: Option<DirIdentity>,
) -> Result<bool> {
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
        let moved = rows(conn, RootFilter::Identity(identity))?.pop();
        if let Some(moved) = moved.filter(|row| Some(row.id) != id)
            && DirIdentity::of(&moved.path) != Some(identity)
        {
            give_up(conn, &workspace.root)?;
            root::set_path(conn, moved.id, &workspace.root)?;
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
        root::set_identity(conn, here.id, identity)?;
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

/// Creates a branch for a directory that reappeared, at its last node before another directory took over its
/// branch. None: that node is not known.
pub(crate) fn branch_again(conn: &Connection, root: RootId) -> Result<Option<BranchId>> {
    let Some((stood, was)) = root::last_position(conn, root)? else {
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
    root::return_to(conn, root, branch)?;
    branches::record(
        conn,
        Here { root, branch },
        OpKind::Fork,
        &name,
        Some(stood),
    )?;
    Ok(Some(branch))
}
