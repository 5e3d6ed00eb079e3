//! Large contents, which are stored before the transaction that names them.

use std::io::Read as _;

use super::{DiskEntry, Root};
use crate::content::LARGE;
use crate::error::{Error, Result};
use crate::model::{Image, RelPath};
use crate::store::{self, Store};

/// Stores a large content that was read at a path. If the file changes meanwhile, stores its new content and
/// updates `entry`. `false`: the file keeps changing or can no longer be read.
pub(crate) fn store_ahead(
    root: &Root,
    store: &Store,
    rel: &RelPath,
    entry: &mut DiskEntry,
    recorded: &Image,
) -> Result<bool> {
    for _ in 0..5 {
        let Image::File { mode, content, .. } = entry.image else {
            return Ok(true);
        };
        let is_held = entry.bytes.is_some() || !entry.image.is_large();
        if is_held || entry.image == *recorded || store::has(&store.conn, &content)? {
            return Ok(true);
        }
        let max_size = root.limit(recorded);
        let before = root.stat(rel);
        let Some(file) = root.open_file(rel) else {
            return Ok(false);
        };
        let (stored, size) = match store.put_ahead(file.take(max_size + 1), recorded.content()) {
            Ok(Some(stored)) => stored,
            // the transaction that names the content stores it
            Ok(None) => return Ok(true),
            Err(Error::Io { .. }) => return Ok(false),
            Err(e) => return Err(e),
        };
        if stored == content {
            return Ok(true);
        }
        let at_rest = before
            .zip(root.stat(rel))
            .is_some_and(|(before, after)| before.is_that_of(&after));
        if at_rest && (LARGE..=max_size).contains(&size) {
            entry.image = Image::File {
                mode,
                content: stored,
                size,
            };
            entry.stat = None;
            return Ok(true);
        }
        *entry = root.reread_entry(rel, recorded)?;
    }
    Ok(false)
}
