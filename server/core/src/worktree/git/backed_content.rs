//! Files whose content is git's and not in the store. Owns how such a content becomes the store's own: before anything
//! that happens to its path is recorded, from the disk while that still has it, else from git.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gix_hash::ObjectId;
use rusqlite::{Connection, TransactionState};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Result;
use crate::model::{ContentId, Image, Opaque, RelPath, RootId};
use crate::worktree::file_state;
use crate::worktree::git::index::{self, Index};
use crate::worktree::git::objects::{self, Repository};
use crate::{roots, store};

/// Where contents are that a reader asked for who must not write.
static ASKED_FOR: Mutex<Option<FxHashMap<ContentId, GitBacked>>> = Mutex::new(None);

#[derive(Clone)]
struct GitBacked {
    path: RelPath,
    object: ObjectId,
    size: u64,
    /// The directories that may have it, or whose repositories may.
    places: Vec<PathBuf>,
}

/// What stands at a path, with a content of the store's: the same where it is none of git's. What git had and has no
/// more is unreadable.
pub(crate) fn materialize(
    conn: &Connection,
    root: RootId,
    path: &RelPath,
    image: Image,
) -> Result<Image> {
    let Image::InGit { mode, object, size } = image else {
        return Ok(image);
    };
    let seen = GitBacked {
        path: path.clone(),
        object,
        size,
        places: places(conn, root)?,
    };
    let Some(bytes) = seen.read()? else {
        return Ok(Image::Opaque(Opaque::Unreadable));
    };
    let own = Image::File {
        mode,
        content: ContentId::of(&bytes),
        size: bytes.len() as u64,
    };
    if conn.transaction_state(None::<&str>)? == TransactionState::Write {
        // stored by itself: the folder of what it might be stored against does not matter
        store::put(conn, Path::new(""), &bytes, None)?;
        file_state::set_materialized(conn, path, &image, &own)?;
    } else if let Some(content) = own.content() {
        let mut all = ASKED_FOR.lock().unwrap_or_else(PoisonError::into_inner);
        all.get_or_insert_default().insert(content, seen);
    }
    Ok(own)
}

/// A content that is git's still, and that somebody asked about.
pub(crate) fn content(id: &ContentId) -> Option<Vec<u8>> {
    let seen = {
        let all = ASKED_FOR.lock().unwrap_or_else(PoisonError::into_inner);
        all.as_ref()?.get(id)?.clone()
    };
    let bytes = seen.read().ok()??;
    (ContentId::of(&bytes) == *id).then_some(bytes)
}

/// Before an image is recorded: a content that was only shown so far becomes the store's own.
pub(crate) fn keep(conn: &Connection, image: &Image) -> Result<()> {
    let Some(id) = image.content() else {
        return Ok(());
    };
    let is_seen = {
        let all = ASKED_FOR.lock().unwrap_or_else(PoisonError::into_inner);
        all.as_ref().is_some_and(|all| all.contains_key(&id))
    };
    if is_seen
        && !store::has(conn, &id)?
        && let Some(bytes) = content(&id)
    {
        store::put(conn, Path::new(""), &bytes, None)?;
    }
    Ok(())
}

impl GitBacked {
    fn read(&self) -> Result<Option<Vec<u8>>> {
        let found = on_disk(&self.places, &self.path, &self.object, self.size);
        if found.is_some() {
            return Ok(found);
        }
        for place in &self.places {
            let Some(repository) = Repository::of(place) else {
                continue;
            };
            let mut found = None;
            repository.blobs(&[self.object], |_, bytes| {
                found = bytes;
                Ok(())
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// Where repositories may be that lent what is known of this root: its own, and those of the others, since a fork goes
/// on with what its origin knew.
fn places(conn: &Connection, root: RootId) -> Result<Vec<PathBuf>> {
    let mut places = vec![roots::path(conn, root)?];
    let others = roots::standing(conn)?;
    places.extend(
        others
            .into_iter()
            .filter(|(id, _)| *id != root)
            .map(|(_, path)| path),
    );
    Ok(places)
}

/// A file as one of these directories has it, if that is this blob.
pub(crate) fn on_disk(
    places: &[PathBuf],
    path: &RelPath,
    object: &ObjectId,
    size: u64,
) -> Option<Vec<u8>> {
    places.iter().find_map(|place| {
        let bytes = crate::worktree::disk::read_up_to(&place.join(path.to_path()), false, size)?;
        objects::is(object, &bytes).then_some(bytes)
    })
}

/// The directories that may have what is lent to a root; none where nothing of it is.
pub(crate) fn lenders(conn: &Connection, root: RootId) -> Result<Vec<PathBuf>> {
    match file_state::index(conn, root)? {
        Some(_) => places(conn, root),
        None => Ok(Vec::new()),
    }
}

/// The repositories that these are the work trees of.
pub(crate) fn repositories(places: &[PathBuf]) -> Vec<Repository> {
    places
        .iter()
        .filter_map(|place| Repository::of(place))
        .collect()
}

/// What git may not keep much longer.
#[derive(Debug, Default)]
pub(crate) struct StaleEntries {
    /// Paths to be read, as long as they are what they were.
    pub paths: FxHashSet<RelPath>,
    /// The index that was asked. None: it was so before.
    pub index: Option<String>,
}

/// Files that git's index does not have any more as they are known: it is what keeps a blob from git's own `gc`.
pub(crate) fn stale_entries(
    conn: &Connection,
    root: RootId,
    repositories: &[Repository],
) -> Result<StaleEntries> {
    let Some(then) = file_state::index(conn, root)? else {
        return Ok(StaleEntries::default());
    };
    let repository = repositories.first();
    let now = repository.map_or_else(String::new, index::signature);
    if !now.is_empty() && now == then {
        return Ok(StaleEntries::default());
    }
    let index = repository.and_then(Index::read);
    let kept = |path: &RelPath, image: &Image| match (&index, image) {
        (Some(index), Image::InGit { object, .. }) => index.holds(path, object),
        _ => false,
    };
    let lent = file_state::all_lent(conn, root)?.into_iter();
    Ok(StaleEntries {
        paths: lent
            .filter(|(path, image)| !kept(path, image))
            .map(|(path, _)| path)
            .collect(),
        index: Some(now),
    })
}

/// Those of these files whose content neither the disk nor git has.
pub(crate) fn missing(
    conn: &Connection,
    root: RootId,
    lent: &[(RelPath, ObjectId)],
) -> Result<Vec<RelPath>> {
    let mut left: Vec<&(RelPath, ObjectId)> = lent.iter().collect();
    let places = lenders(conn, root)?;
    for repository in repositories(&places) {
        let objects: Vec<ObjectId> = left.iter().map(|(_, object)| *object).collect();
        let sizes = repository.sizes(&objects)?;
        let without = left
            .into_iter()
            .zip(sizes)
            .filter(|(_, size)| size.is_none());
        left = without.map(|(lent, _)| lent).collect();
    }
    let gone = left
        .into_iter()
        .filter(|(path, object)| on_disk(&places, path, object, u64::MAX).is_none());
    Ok(gone.map(|(path, _)| path.clone()).collect())
}
