//! Git-backed content: files whose content git holds and the store does not. Owns how such content gets into the
//! store before any change of its path is recorded: from the disk if it is still there, else from git.

use std::path::{Path, PathBuf};

use gix_hash::ObjectId;
use rusqlite::{Connection, TransactionState};
use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::git::backed::{self, GitBacked};
use crate::git::objects::Repository;
use crate::model::{ContentId, Image, Opaque, RelPath, RootId};
use crate::store;
use crate::store::tables::root;
use crate::worktree::file_state;
use crate::worktree::git_index::{self, Index};

/// Returns the image with content that the store can hold; an image that is not git's is returned unchanged. Content
/// that git no longer has becomes unreadable.
pub(crate) fn materialize(
    conn: &Connection,
    root: RootId,
    path: &RelPath,
    image: Image,
) -> Result<Image> {
    let Image::InGit { mode, object, size } = image else {
        return Ok(image);
    };
    let source = GitBacked {
        path: path.clone(),
        object,
        size,
        work_trees: work_trees(conn, root)?,
    };
    let Some(bytes) = source.read()? else {
        return Ok(Image::Opaque(Opaque::Unreadable));
    };
    let own = Image::File {
        mode,
        content: ContentId::of(&bytes),
        size: bytes.len() as u64,
    };
    if conn.transaction_state(None::<&str>)? == TransactionState::Write {
        // stored without a base, so the store directory does not matter
        store::put(conn, Path::new(""), &bytes, None)?;
        file_state::set_materialized(conn, path, &image, &own)?;
    } else if let Some(content) = own.content() {
        backed::remember(content, source);
    }
    Ok(own)
}

/// Stores content that was only shown so far, before its image is recorded.
pub(crate) fn store_shown(conn: &Connection, image: &Image) -> Result<()> {
    let Some(id) = image.content() else {
        return Ok(());
    };
    if backed::is_known(&id)
        && !store::has(conn, &id)?
        && let Some(bytes) = backed::content(&id)
    {
        store::put(conn, Path::new(""), &bytes, None)?;
    }
    Ok(())
}

/// Returns the work trees whose repositories may hold content of this root: its own, and those of the other roots. A
/// fork keeps the file states of its origin.
fn work_trees(conn: &Connection, root: RootId) -> Result<Vec<PathBuf>> {
    let mut work_trees = vec![root::path(conn, root)?];
    let others = root::existing(conn)?;
    work_trees.extend(
        others
            .into_iter()
            .filter(|(id, _)| *id != root)
            .map(|(_, path)| path),
    );
    Ok(work_trees)
}

/// Returns the work trees that may hold git-backed content of a root; none if it has none.
pub(crate) fn backing_work_trees(conn: &Connection, root: RootId) -> Result<Vec<PathBuf>> {
    match root::scan::git_index(conn, root)? {
        Some(_) => work_trees(conn, root),
        None => Ok(Vec::new()),
    }
}

/// Returns the repositories of these work trees.
pub(crate) fn repositories(work_trees: &[PathBuf]) -> Vec<Repository> {
    work_trees
        .iter()
        .filter_map(|work_tree| Repository::of(work_tree))
        .collect()
}

/// Git-backed files whose blobs git may soon remove.
#[derive(Debug, Default)]
pub(crate) struct StaleEntries {
    /// Paths to read while they are unchanged.
    pub paths: FxHashSet<RelPath>,
    /// Signature of the checked index. None: it has not changed.
    pub index: Option<String>,
}

/// Finds files whose blob git's index no longer has. The index protects a blob from git's own `gc`.
pub(crate) fn stale_entries(
    conn: &Connection,
    root: RootId,
    repositories: &[Repository],
) -> Result<StaleEntries> {
    let Some(before) = root::scan::git_index(conn, root)? else {
        return Ok(StaleEntries::default());
    };
    let repository = repositories.first();
    let now = repository.map_or_else(String::new, git_index::signature);
    if !now.is_empty() && now == before {
        return Ok(StaleEntries::default());
    }
    let index = repository.and_then(Index::read);
    let indexed = |path: &RelPath, image: &Image| match (&index, image) {
        (Some(index), Image::InGit { object, .. }) => index.holds(path, object),
        _ => false,
    };
    let backed = file_state::all_git_backed(conn, root)?.into_iter();
    Ok(StaleEntries {
        paths: backed
            .filter(|(path, image)| !indexed(path, image))
            .map(|(path, _)| path)
            .collect(),
        index: Some(now),
    })
}

/// Returns the files whose content neither the disk nor git has.
pub(crate) fn missing(
    conn: &Connection,
    root: RootId,
    backed: &[(RelPath, ObjectId)],
) -> Result<Vec<RelPath>> {
    let mut left: Vec<&(RelPath, ObjectId)> = backed.iter().collect();
    let work_trees = backing_work_trees(conn, root)?;
    for repository in repositories(&work_trees) {
        let objects: Vec<ObjectId> = left.iter().map(|(_, object)| *object).collect();
        let sizes = repository.sizes(&objects)?;
        let without = left
            .into_iter()
            .zip(sizes)
            .filter(|(_, size)| size.is_none());
        left = without.map(|(backed, _)| backed).collect();
    }
    let gone = left
        .into_iter()
        .filter(|(path, object)| backed::on_disk(&work_trees, path, object, u64::MAX).is_none());
    Ok(gone.map(|(path, _)| path.clone()).collect())
}
