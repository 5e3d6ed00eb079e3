//! What can go wrong, in words for the person at the keyboard: the thing, the reason, the next step.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{what}: {source}")]
    Io {
        what: String,
        source: std::io::Error,
    },
    #[error("the store's database: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("store {}: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("store {}: made by a newer Backstitch (schema {found}, this one knows {known})", .path.display())]
    TooNew {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("content {hash}: {reason}")]
    Blob { hash: String, reason: String },
    #[error("nothing has been recorded in {} yet", .0.display())]
    NoStore(PathBuf),
    #[error("no checkpoint `{0}`")]
    NoRevision(String),
    #[error("{what} `{name}` not found")]
    NotFound { what: &'static str, name: String },
    /// So many files of a plan wait for a decision.
    #[error("files in which edits collide: {open}; nothing was changed")]
    Conflicts { open: usize },
    #[error("{path} does not exist {place}")]
    NoFile { path: String, place: String },
    /// Whoever asked did not want it any more.
    #[error("called off; nothing was changed")]
    CalledOff,
    #[error("{0}")]
    Usage(String),
    #[error("{reason}")]
    Refused {
        reason: String,
        hint: Option<String>,
    },
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    Refused,
    Usage,
    NotFound,
    /// The store is damaged or too new.
    Store,
    Other,
}

impl Error {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused { .. } | Self::Conflicts { .. } | Self::CalledOff => ErrorKind::Refused,
            Self::Usage(_) => ErrorKind::Usage,
            Self::NoStore(_)
            | Self::NoRevision(_)
            | Self::NotFound { .. }
            | Self::NoFile { .. } => ErrorKind::NotFound,
            Self::Damaged { .. } | Self::TooNew { .. } | Self::Blob { .. } => ErrorKind::Store,
            Self::Sqlite(source) => match source.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                    ErrorKind::Store
                }
                _ => ErrorKind::Other,
            },
            Self::Io { .. } => ErrorKind::Other,
        }
    }

    /// The next step, where there is one to name.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { hint, .. } => hint.clone(),
            Self::Conflicts { .. } => Some(
                "choose with --on-conflict markers|current|target, narrow it with --path, or take the state as it was with --exact".into(),
            ),
            Self::NoStore(_) => Some(
                "`backstitch checkpoint` records the state now; `backstitch setup` lets an agent report".into(),
            ),
            Self::NoRevision(_) => {
                Some("`backstitch log` lists what there is; c12, t4, @~2, a tag, a branch or a label name one".into())
            }
            Self::NoFile { path, .. } => Some(format!(
                "`backstitch log --path {path}` shows at which checkpoints it was there; any of them can be named"
            )),
            Self::TooNew { .. } => Some("install the newer version, or use another --store-dir".into()),
            Self::Damaged { .. } | Self::Blob { .. } => {
                Some("`backstitch verify` says what is still readable".into())
            }
            Self::Sqlite(source) => match source.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                    Some("`backstitch verify` says what is still readable".into())
                }
                Some(rusqlite::ErrorCode::DiskFull) => Some("free some disk space and try again".into()),
                Some(
                    rusqlite::ErrorCode::CannotOpen
                    | rusqlite::ErrorCode::ReadOnly
                    | rusqlite::ErrorCode::PermissionDenied,
                ) => Some(
                    "the store's directory has to be there and writable; --store-dir names another".into(),
                ),
                Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                    Some("another process works on the store; try again".into())
                }
                _ => None,
            },
            Self::Io { source, .. } => unwritable(source.kind()).map(str::to_owned),
            _ => None,
        }
    }

    pub(crate) fn refused(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            reason: reason.into(),
            hint: Some(hint.into()),
        }
    }
}

/// What to do about a file or directory that cannot be had.
fn unwritable(kind: std::io::ErrorKind) -> Option<&'static str> {
    use std::io::ErrorKind;
    match kind {
        ErrorKind::NotADirectory => {
            Some("a file stands where a directory has to be: move it, or name another place")
        }
        ErrorKind::PermissionDenied => {
            Some("look at the permissions of it, and of the directories above it")
        }
        ErrorKind::ReadOnlyFilesystem => {
            Some("nothing can be written there: name another place, or mount it to be written to")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("free some disk space and try again")
        }
        _ => None,
    }
}

/// Names the file in an I/O error.
pub(crate) trait Context<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io {
            what: format!("{verb} {}", path.display()),
            source,
        })
    }
}

impl<T> Context<T> for rustix::io::Result<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T> {
        self.map_err(|e| Error::Io {
            what: format!("{verb} {}", path.display()),
            source: e.into(),
        })
    }
}
