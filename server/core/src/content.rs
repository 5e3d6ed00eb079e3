//! Facts about contents that do not depend on where they are stored: text or binary, the sizes from which they are
//! handled differently, and the name that git gives them.

use gix_hash::{Kind, ObjectId};

/// Contents of this size and above are stored in pieces, and no scan holds one whole (bytes).
pub(crate) const LARGE: u64 = 16 << 20;

/// Contents of at least this many bytes are not compared by lines or merged: `Image::is_too_long`.
pub(crate) const MAX_MERGE_BYTES: u64 = 64 << 20;

/// True for content without a NUL byte.
pub fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0)
}

/// Returns the object id of a blob with these bytes.
pub(crate) fn blob_id(kind: Kind, bytes: &[u8]) -> Option<ObjectId> {
    let mut hasher = gix_hash::hasher(kind);
    hasher.update(format!("blob {}\0", bytes.len()).as_bytes());
    hasher.update(bytes);
    hasher.try_finalize().ok()
}
