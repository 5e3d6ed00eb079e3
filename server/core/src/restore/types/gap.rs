//! Gaps: the parts of a state that a restore cannot restore, reported beforehand.

use crate::model::Reason;

/// Part of the state that the restore cannot restore, reported beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// None: the gap does not concern a single path.
    pub path: Option<Vec<u8>>,
    pub kind: GapKind,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapKind {
    Uncertain,
    TooLarge,
    Outside,
    Excluded,
    Unreadable,
    Special,
    Failed,
    Pending,
    /// The state at the target is not known.
    Unknown,
    /// The file has other hard links, which keep its current content.
    HardLink,
    GitHead,
    /// An editor has unsaved changes in it, and the document stays as it is.
    Unsaved,
    /// Owner, group or extended attributes do not come along.
    Attributes,
    /// A directory is not as it was.
    Directory,
    /// A directory of version control, which an older version recorded or the work changed; or a linked worktree.
    VersionControl,
    /// An ignored path, which was not recorded.
    Ignored,
}

/// End of the detail of an ignored directory, if its recorded files come back.
pub const COME_BACK: &str = "the files that were recorded come back";

impl GapKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Uncertain => "uncertain",
            Self::TooLarge => "too_large",
            Self::Outside => "outside",
            Self::Excluded => "excluded",
            Self::Unreadable => "unreadable",
            Self::Special => "special",
            Self::Failed => "failed",
            Self::Pending => "pending",
            Self::Unknown => "unknown",
            Self::HardLink => "hard_link",
            Self::GitHead => "git_head",
            Self::Unsaved => "unsaved",
            Self::Attributes => "attributes",
            Self::Directory => "directory",
            Self::VersionControl => "version_control",
            Self::Ignored => "ignored",
        }
    }
}

impl From<Reason> for GapKind {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::TooLarge => Self::TooLarge,
            Reason::Outside => Self::Outside,
            Reason::Excluded => Self::Excluded,
            Reason::Unreadable => Self::Unreadable,
            Reason::Special => Self::Special,
            Reason::Failed => Self::Failed,
            Reason::VersionControl => Self::VersionControl,
            Reason::Ignored => Self::Ignored,
        }
    }
}
