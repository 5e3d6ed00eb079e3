//! A private copy of a store's database, beside it, on which `gc` is tried.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::error::{Context, Result};
use crate::store::{Store, private_file};

const START: &str = "gc-copy-";

pub(super) struct Copy {
    pub conn: Connection,
    _file: Removed,
}

/// A file that goes with whoever has it.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

impl Copy {
    pub(super) fn of(store: &Store) -> Result<Self> {
        let path = store.dir.join(format!("{START}{}", std::process::id()));
        // SQLite writes into a file that is there and empty: one that is private
        private_file(&path)
            .create(true)
            .truncate(true)
            .write(true)
            .open(&path)
            .at("create", &path)?;
        let file = Removed(path);
        store
            .conn
            .execute("VACUUM INTO ?1", [file.0.to_string_lossy()])?;
        let conn = Connection::open(&file.0)?;
        conn.execute_batch(
            "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF;",
        )?;
        Ok(Self { conn, _file: file })
    }
}

/// Removes what one left that died. Nobody else is at it.
pub(super) fn remove_left(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(START) {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}
