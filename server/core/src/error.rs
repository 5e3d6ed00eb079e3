//! Errors in words for the user: the thing, the reason, the next step.

use std::path::{Path, PathBuf};

use crate::hint::{Hint, Listed};

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
    /// A turn or checkpoint with a number above the newest. 0: there is none yet.
    #[error("there is no {what} {name}: {}", newest_words(*newest, name))]
    NoNumber {
        what: &'static str,
        name: String,
        newest: i64,
    },
    #[error("{0} no longer exists: `gc` squashed it into another checkpoint")]
    Squashed(String),
    #[error("{what} `{name}` not found")]
    NotFound { what: &'static str, name: String },
    #[error("no call is held")]
    NothingHeld,
    /// Number of files in a plan with unresolved conflicts.
    #[error("files with conflicts: {open}; nothing was changed")]
    Conflicts { open: usize },
    #[error("{path} does not exist {place}")]
    NoFile { path: String, place: String },
    /// A file whose lines are asked for.
    #[error("`{0}` does not exist")]
    NoLines(String),
    #[error("`{0}` is in no checkpoint")]
    NoPath(String),
    /// A switch was requested for some paths only.
    #[error("{target} switches to {branch} as a whole: it cannot be limited to some paths")]
    Whole { target: String, branch: String },
    /// The request was cancelled.
    #[error("cancelled; nothing was changed")]
    CalledOff,
    /// A decision on a pause that is decided already.
    #[error("{pause} was decided on already: {outcome}, {by}")]
    Resumed {
        pause: String,
        outcome: String,
        /// Its author or its rule: `in a terminal`, `since nobody watched`.
        by: String,
    },
    /// A decision on another input than the one that runs by now.
    #[error("the input of {pause} was changed meanwhile{}", .by.as_ref().map_or_else(String::new, |by| format!(", in {by}")))]
    InputChanged { pause: String, by: Option<String> },
    #[error("there is no pause `{0}`")]
    UnknownPause(String),
    #[error("there is no REPL session `{0}`")]
    UnknownSession(String),
    #[error("the REPL session {session} is closed: {reason}")]
    SessionClosed { session: String, reason: String },
    /// The paused program did not answer in time.
    #[error("no answer within {ms} ms")]
    EvalTimeout { ms: i64 },
    #[error("`{0}` is missing, or empty")]
    MissingField(&'static str),
    #[error("{0}")]
    Usage(String),
    /// A name that several things have.
    #[error("{reason}")]
    Ambiguous { reason: String, hint: Hint },
    #[error("{reason}")]
    Refused { reason: String, hint: Option<Hint> },
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

/// Names the newest turn or checkpoint, by the letter of a name.
fn newest_words(newest: i64, name: &str) -> String {
    match newest {
        0 => "none was recorded yet".to_owned(),
        newest => format!("the newest is {}{newest}", &name[..1]),
    }
}

impl Error {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused { .. }
            | Self::Resumed { .. }
            | Self::InputChanged { .. }
            | Self::SessionClosed { .. }
            | Self::EvalTimeout { .. }
            | Self::Conflicts { .. }
            | Self::CalledOff => ErrorKind::Refused,
            Self::Usage(_)
            | Self::MissingField(_)
            | Self::Ambiguous { .. }
            | Self::Whole { .. } => ErrorKind::Usage,
            Self::NoStore(_)
            | Self::NoRevision(_)
            | Self::NoNumber { .. }
            | Self::Squashed(_)
            | Self::NotFound { .. }
            | Self::NothingHeld
            | Self::NoFile { .. }
            | Self::NoLines(_)
            | Self::NoPath(_)
            | Self::UnknownPause(_)
            | Self::UnknownSession(_) => ErrorKind::NotFound,
            Self::Damaged { .. } | Self::TooNew { .. } | Self::Blob { .. } => ErrorKind::Store,
            Self::Sqlite(source) if is_damage(source) => ErrorKind::Store,
            Self::Sqlite(source) => match source.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                    ErrorKind::Store
                }
                _ => ErrorKind::Other,
            },
            Self::Io { .. } => ErrorKind::Other,
        }
    }

    /// Returns the next step, if there is one.
    pub fn hint(&self) -> Option<Hint> {
        let unreadable = || Hint::terminal("`backstitch verify` shows what is still readable");
        Some(match self {
            Self::Refused { hint, .. } => return hint.clone(),
            Self::Ambiguous { hint, .. } => hint.clone(),
            Self::Conflicts { .. } => Hint::Decide,
            Self::Whole { .. } => Hint::Whole,
            Self::InputChanged { .. } => "look at the call again; it stays held".into(),
            Self::NoStore(_) => Hint::Begin,
            Self::NoRevision(_) | Self::NoNumber { .. } | Self::Squashed(_) => Hint::Revisions,
            Self::NotFound { what, .. } => Hint::List(Listed::of(what)?),
            Self::NothingHeld => Hint::terminal("`backstitch pauses --all` lists earlier ones"),
            Self::NoFile { path, .. } => Hint::Whereabouts { path: path.clone() },
            Self::NoLines(_) => {
                "a line breakpoint begins with the lines as they are; a path breakpoint is for new files".into()
            }
            Self::NoPath(_) => "check how it is spelled".into(),
            Self::TooNew { .. } => Hint::Newer,
            Self::Damaged { .. } | Self::Blob { .. } => unreadable(),
            Self::Sqlite(source) if is_damage(source) => unreadable(),
            Self::Sqlite(source) => match source.sqlite_error_code()? {
                rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase => {
                    unreadable()
                }
                rusqlite::ErrorCode::DiskFull => "free some disk space and try again".into(),
                rusqlite::ErrorCode::CannotOpen
                | rusqlite::ErrorCode::ReadOnly
                | rusqlite::ErrorCode::PermissionDenied => Hint::Unwritable,
                rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked => {
                    "another process is using the store; try again".into()
                }
                _ => return None,
            },
            Self::Io { source, .. } => unwritable(source.kind())?.into(),
            _ => return None,
        })
    }

    pub fn refused(reason: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Refused {
            reason: reason.into(),
            hint: Some(hint.into()),
        }
    }
}

/// True if a row holds what no row of ours does.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
    )
}

/// Returns the next step for a file or directory that cannot be used.
fn unwritable(kind: std::io::ErrorKind) -> Option<&'static str> {
    use std::io::ErrorKind;
    match kind {
        ErrorKind::NotADirectory => {
            Some("a file is where a directory must be: move it, or choose another place")
        }
        ErrorKind::PermissionDenied => {
            Some("check its permissions and those of the directories above it")
        }
        ErrorKind::ReadOnlyFilesystem => {
            Some("the file system is read-only: choose another place, or mount it writable")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("free some disk space and try again")
        }
        _ => None,
    }
}

/// Adds the file name to an I/O error.
pub trait Context<T> {
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
