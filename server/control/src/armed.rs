//! The file `armed` beside the store: everything that may concern a tool call. A hook looks for it with one `stat`, and
//! opens no database where it is missing. It can name too much, never too little.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::breakpoint::Breakpoint;
use super::tables::{breakpoint, message, pause};
use backstitch_core::sqlite::{now, private_file};
use backstitch_core::{Context, Error, Result};

const NAME: &str = "armed";
/// Version of the file's form.
const VERSION: u32 = 1;
/// A pause whose hook died keeps the file for this long, so that a call that ran all the same is noticed.
/// Microseconds.
const LOST: i64 = 3600 * 1_000_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Armed {
    version: u32,
    /// Enabled breakpoints, in the order in which they were made.
    pub breakpoints: Vec<Breakpoint>,
    /// True if a pause is open, or one was lost lately.
    #[serde(default)]
    pub pauses: bool,
    /// True if a text waits for a session.
    #[serde(default)]
    pub messages: bool,
}

/// Returns the path of the file.
pub fn path(store_dir: &Path) -> PathBuf {
    store_dir.join(NAME)
}

impl Armed {
    /// Reads the file. None: nothing is armed. Err: it cannot be read, and the database has to be asked.
    pub fn read(store_dir: &Path) -> Result<Option<Self>> {
        let path = path(store_dir);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).at("read", &path),
        };
        Self::parse(&bytes)
            .map(Some)
            .map_err(|reason| Error::Damaged { path, reason })
    }

    /// Reads the text of the file. Err: the reason for which it cannot be read.
    pub(crate) fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        let armed: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if armed.version != VERSION {
            return Err(format!("version {}", armed.version));
        }
        Ok(armed)
    }

    /// Returns what the rows say.
    pub(crate) fn of(conn: &Connection) -> Result<Self> {
        let mut breakpoints = breakpoint::all(conn)?;
        breakpoints.retain(|breakpoint| breakpoint.enabled);
        Ok(Self {
            version: VERSION,
            breakpoints,
            pauses: pause::any_open(conn, now() - LOST)?,
            messages: message::any_waiting(conn)?,
        })
    }

    pub(crate) fn has_breakpoints(&self) -> bool {
        !self.breakpoints.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.breakpoints.is_empty() && !self.pauses && !self.messages
    }

    /// True if nothing that the rows arm is missing here. It may name more.
    pub(crate) fn names_all_of(&self, rows: &Self) -> bool {
        // counts and problems change without the file
        let bare = |one: &Breakpoint| Breakpoint {
            hits: 0,
            problem: None,
            ..one.clone()
        };
        let is_named = |row: &Breakpoint| {
            let named = self.breakpoints.iter().filter(|one| one.id == row.id);
            named.map(bare).any(|one| one == bare(row))
        };
        rows.breakpoints.iter().all(is_named)
            && (self.pauses || !rows.pauses)
            && (self.messages || !rows.messages)
    }

    /// Returns both together. A breakpoint that both have is there twice, the newer form after the older one.
    pub(crate) fn with(mut self, newer: Self) -> Self {
        for breakpoint in newer.breakpoints {
            if !self.breakpoints.contains(&breakpoint) {
                self.breakpoints.push(breakpoint);
            }
        }
        self.breakpoints.sort_by_key(|breakpoint| breakpoint.id);
        self.pauses |= newer.pauses;
        self.messages |= newer.messages;
        self.version = VERSION;
        self
    }

    /// Replaces the file by rename, or removes it if nothing is armed. Requires the write lock of the database.
    pub(crate) fn replace(&self, store_dir: &Path) -> Result<()> {
        let path = path(store_dir);
        if self.is_empty() {
            return match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error).at("remove", &path),
                _ => Ok(()),
            };
        }
        let text = backstitch_core::sqlite::to_json(self)?;
        if std::fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(());
        }
        let beside = store_dir.join(format!("{NAME}.new"));
        let mut file = private_file(&beside)
            .create(true)
            .write(true)
            .truncate(true)
            .open(&beside)
            .at("write", &beside)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_data())
            .at("write", &beside)?;
        std::fs::rename(&beside, &path).at("replace", &path)
    }
}

impl super::Control {
    /// Returns what is armed, as the rows say it.
    pub fn armed(&self) -> Result<super::Armed> {
        super::Armed::of(&self.conn)
    }
}
