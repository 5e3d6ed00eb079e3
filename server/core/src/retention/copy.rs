//! A private copy of a store's database, beside it, for a dry run of `gc`.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::error::{Context, Result};
use crate::store::{Store, private_file};

const PREFIX: &str = "gc-copy-";

pub(super) struct Copy {
    pub conn: Connection,
    _file: TempFile,
}

/// A file that is deleted on drop.
struct TempFile(PathBuf);

impl Drop for TempFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

impl Copy {
    pub(super) fn of(store: &Store) -> Result<Self> {
        let path = store.dir.join(format!("{PREFIX}{}", std::process::id()));
        // VACUUM INTO accepts an existing empty file; create it with private permissions
        private_file(&path)
            .create(true)
            .truncate(true)
            .write(true)
            .open(&path)
            .at("create", &path)?;
        let file = TempFile(path);
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

/// Removes copies left by processes that died. The caller holds the gc lock.
pub(super) fn remove_stale(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}
