//! Images: the content and type of a path.

use super::ids::ContentId;
use super::path::RelPath;

/// Content and type of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Image {
    Absent,
    /// Permission bits (0o7777) and content.
    File {
        mode: u32,
        content: ContentId,
        size: u64,
    },
    /// A file that never changed, whose content is a git blob and not in the store. Occurs in file states, never
    /// in recorded changes.
    InGit {
        mode: u32,
        size: u64,
        object: gix_hash::ObjectId,
    },
    /// A link; its target is the content.
    Symlink {
        content: ContentId,
    },
    /// The path exists, but its content was not captured.
    Opaque(Opaque),
}

/// Reason why a content was not captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Opaque {
    TooLarge,
    Unreadable,
    /// A socket, device, fifo, or a directory where a file was.
    Special,
}

impl Image {
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    pub fn content(&self) -> Option<ContentId> {
        match self {
            Self::File { content, .. } | Self::Symlink { content } => Some(*content),
            Self::Absent | Self::InGit { .. } | Self::Opaque(_) => None,
        }
    }

    /// True if it is a file too large to be held in memory whole.
    pub(crate) fn is_large(&self) -> bool {
        matches!(self, Self::File { size, .. } if *size >= crate::content::LARGE)
    }

    /// True if it is a file too large to compare by lines, which takes several times its size of memory.
    pub fn is_too_long(&self) -> bool {
        matches!(self, Self::File { size, .. } if *size >= crate::content::MAX_MERGE_BYTES)
    }

    /// Returns the git blob of a content that only git has.
    pub(crate) fn object(&self) -> Option<gix_hash::ObjectId> {
        match self {
            Self::InGit { object, .. } => Some(*object),
            _ => None,
        }
    }

    /// Returns the mode as git writes it. None if git has no such entry.
    pub fn git_mode(&self) -> Option<u32> {
        match self {
            Self::File { mode, .. } | Self::InGit { mode, .. } if mode & 0o111 != 0 => {
                Some(0o100_755)
            }
            Self::File { .. } | Self::InGit { .. } => Some(0o100_644),
            Self::Symlink { .. } => Some(0o120_000),
            Self::Absent | Self::Opaque(_) => None,
        }
    }
}

/// Path and image of a file. As a `FileVersion`, None means deleted or not created yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placed {
    pub path: RelPath,
    pub image: Image,
}

pub type FileVersion = Option<Placed>;
