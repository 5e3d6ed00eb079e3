//! Removal of the whole history of a workspace. No file of the workspace is touched.

use std::path::PathBuf;

use rusqlite::Connection;

use crate::capture::observe::MAX_CALL_AGE;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::model::Here;
use crate::status::Status;
use crate::store::tables::root::{self, RootFilter};
use crate::store::tables::{branch, call, schema, words};
use crate::store::{self, Durable, gaps};
use crate::workspace;
use crate::worktree::{dir_cache, ignored_paths};

/// Effect of a clear, and reasons against it.
#[derive(Clone, Debug)]
pub struct Clearing {
    pub status: Status,
    /// Tool calls in progress.
    pub open_calls: i64,
    /// Other directories that share this history.
    pub others: Vec<PathBuf>,
}

impl Engine {
    pub fn clearing(&self) -> Result<Clearing> {
        let conn = &self.store.conn;
        let others = root::rows(conn, RootFilter::All)?.into_iter();
        let others = others.filter(|row| row.id != self.here.root);
        let others: Vec<PathBuf> = others.map(|row| row.path).collect();
        let others: Vec<PathBuf> = others.into_iter().filter(|dir| dir.is_dir()).collect();
        if !root::is_first(conn, self.here.root)? {
            let origin = others.first().map_or_else(
                || "another directory".to_owned(),
                |dir| dir.display().to_string(),
            );
            return Err(Error::refused(
                format!(
                    "{} was forked and shares the history of {origin}",
                    self.root().display()
                ),
                Hint::terminal(
                    "run `backstitch clear` there to remove it, or `backstitch branch delete` to delete only a branch",
                ),
            ));
        }
        let open_calls = call::count_open(conn, store::now() - MAX_CALL_AGE)?;
        Ok(Clearing {
            status: self.status()?,
            open_calls,
            others,
        })
    }

    /// Removes everything that was ever recorded. Directories that were forked from this one become workspaces of
    /// their own. Refused while a restore or a capture is in progress.
    pub fn clear(&mut self) -> Result<Clearing> {
        let lock = self.store.restore_lock(true, Self::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(|| {
            Error::refused(
                "a rewind or a capture is in progress",
                "try again in a moment",
            )
        })?;
        self.refresh()?;
        let removed = self.clearing()?;
        let gaps = gaps::take_all(&self.store.dir);
        let here = self.here;
        // every reference is removed with its target
        self.store.conn.execute_batch("PRAGMA foreign_keys=OFF")?;
        let emptied = self.store.write(Durable::Power, |conn| empty(conn, here));
        self.store.conn.execute_batch("PRAGMA foreign_keys=ON")?;
        emptied?;
        if let Some(gaps) = gaps {
            gaps.done();
        }
        for other in &removed.others {
            workspace::unshare(other, &self.store.dir);
        }
        dir_cache::remove(&self.store.dir);
        ignored_paths::remove(&self.store.dir);
        self.store.shrink();
        Ok(removed)
    }
}

/// Keeps only this root, at the beginning of a branch `main`, as in a new store. The numbers of edits and operations
/// continue, so that no number has two meanings.
fn empty(conn: &Connection, here: Here) -> Result<()> {
    schema::clear(conn)?;
    words::clear(conn)?;
    root::delete_others(conn, here.root)?;
    root::scan::reset(conn)?;
    branch::clear(conn, here.branch)
}
