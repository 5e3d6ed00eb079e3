//! Contents that only git has and that a reader without write access asked for: where each can be read again.
//! A map by hash for the whole process. A change is recorded with contents that only this map leads to
//! (`worktree/backed_content.rs`, `store_shown`), so no entry may be dropped while a plan may still be carried out.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use gix_hash::ObjectId;
use rustc_hash::FxHashMap;

use super::objects::{self, Repository};
use crate::error::Result;
use crate::model::{ContentId, RelPath};
use crate::system::read_up_to;

/// Contents that were read through a connection that must not write, and where to read them again.
static SHOWN: Mutex<Option<FxHashMap<ContentId, GitBacked>>> = Mutex::new(None);

#[derive(Clone)]
pub(crate) struct GitBacked {
    pub path: RelPath,
    pub object: ObjectId,
    pub size: u64,
    /// Work trees whose files or repositories may hold the content.
    pub work_trees: Vec<PathBuf>,
}

impl GitBacked {
    pub(crate) fn read(&self) -> Result<Option<Vec<u8>>> {
        let found = on_disk(&self.work_trees, &self.path, &self.object, self.size);
        if found.is_some() {
            return Ok(found);
        }
        for work_tree in &self.work_trees {
            let Some(repository) = Repository::of(work_tree) else {
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

/// Reads content that was shown but not stored.
pub(crate) fn content(id: &ContentId) -> Option<Vec<u8>> {
    let backed = {
        let all = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        all.as_ref()?.get(id)?.clone()
    };
    let bytes = backed.read().ok()??;
    (ContentId::of(&bytes) == *id).then_some(bytes)
}

/// Notes where a content can be read.
pub(crate) fn remember(id: ContentId, content: GitBacked) {
    let mut all = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    all.get_or_insert_default().insert(id, content);
}

/// Returns true if a content was noted.
pub(crate) fn is_known(id: &ContentId) -> bool {
    let all = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    all.as_ref().is_some_and(|all| all.contains_key(id))
}

/// Reads a file from the first of these directories that has exactly this blob.
pub(crate) fn on_disk(
    work_trees: &[PathBuf],
    path: &RelPath,
    object: &ObjectId,
    size: u64,
) -> Option<Vec<u8>> {
    work_trees.iter().find_map(|work_tree| {
        let bytes = read_up_to(&work_tree.join(path.to_path()), false, size)?;
        objects::is_blob(object, &bytes).then_some(bytes)
    })
}
