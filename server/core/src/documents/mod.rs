//! Language servers at work on the store, and what they hold that is on no disk yet. Owns who is there
//! (`attach`), their unsaved text (`buffers`), files that wait for a save (`pending`), what comes back that
//! was not saved (`again`), and what others ask of them (`requests`); how a document is changed is theirs.

mod buffers;
mod edits;
mod follow;
pub(crate) mod pending;
mod requests;
mod saves;
#[cfg(test)]
mod tests;
mod user_renames;
mod withdrawn;

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

pub(crate) use buffers::{
    KeptBuffer, alive, attach, editor, kept_of, node_rows, note_made, text_of,
};
pub use buffers::{OpenText, Orphan, Unsaved};
pub use edits::InEditor;
pub use follow::Followed;
pub use pending::{PendingChoice, PendingOutcome, PendingSave};
pub(crate) use requests::{HAND_OVER, in_the_way, named, only_one};
pub use requests::{Handed, RequestOutcome};

use crate::engine::Engine;
use crate::error::{Context, Error, Result};
use crate::model::{EditorId, NodeId, OpId, RootId};
use crate::store::{self, Durable, Lock, Store};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditorInfo {
    pub id: EditorId,
    /// What the client calls itself: `Helix`, `Visual Studio Code`.
    pub name: String,
    /// Of the language server.
    pub pid: u32,
    /// Microseconds since 1970.
    pub started: i64,
}

/// What has happened to a store, at a glance: anything that differs is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct News {
    /// Changes with every commit of another connection; says nothing between two engines.
    pub data_version: i64,
    pub node: Option<NodeId>,
    pub operation: Option<OpId>,
    /// The newest event of an agent.
    pub event: Option<i64>,
}

/// A language server's place among the editors. Dropping it leaves: its unsaved text is forgotten then,
/// files that wait for a save go on waiting. If the process dies instead, the text stays for the next.
#[derive(Debug)]
pub struct EditorLease {
    pub(crate) info: EditorInfo,
    pub(crate) root: RootId,
    dir: PathBuf,
    lock: Option<Lock>,
}

impl EditorLease {
    pub fn id(&self) -> EditorId {
        self.info.id
    }

    pub fn info(&self) -> &EditorInfo {
        &self.info
    }
}

impl Drop for EditorLease {
    fn drop(&mut self) {
        // who died has no time for this, and what cannot be removed is seen to be left over
        let leave = || -> Result<()> {
            if !Store::exists(&self.dir)? {
                return Ok(());
            }
            let store = Store::open(&self.dir)?;
            store.write(Durable::Process, |conn| remove(conn, self.info.id))
        };
        leave().ok();
        self.lock = None;
        std::fs::remove_file(lock_file(&self.dir, self.info.id)).ok();
    }
}

impl Engine {
    /// Takes a place among the editors of this workspace.
    pub fn attach_editor(&mut self, name: &str) -> Result<EditorLease> {
        let (dir, root) = (self.store.dir.clone(), self.here.root);
        store::make_private_dir(&dir.join("editors"))?;
        let (pid, started) = (std::process::id(), store::now());
        let left = self.left_over()?;
        let (id, lock) = self.store.write(Durable::Process, |conn| {
            for editor in &left {
                let holds = "SELECT 1 FROM buffer WHERE editor = ?1 LIMIT 1";
                if !conn.prepare_cached(holds)?.exists([editor])? {
                    remove(conn, *editor)?;
                }
            }
            conn.execute(
                "INSERT INTO editor (root, name, pid, started) VALUES (?1,?2,?3,?4)",
                params![root, name, pid, started],
            )?;
            let id = EditorId(conn.last_insert_rowid());
            // before anybody can see the row: without the lock it would be taken for left over
            let lock = store::lock(&lock_file(&dir, id), true, Duration::from_secs(1))?;
            let taken = || Error::refused("an editor's lock is taken", "try again in a moment");
            Ok((id, lock.ok_or_else(taken)?))
        })?;
        for editor in left {
            std::fs::remove_file(lock_file(&dir, editor)).ok();
        }
        Ok(EditorLease {
            info: EditorInfo {
                id,
                name: name.to_owned(),
                pid,
                started,
            },
            root,
            dir,
            lock: Some(lock),
        })
    }

    /// The language servers at work on this workspace.
    pub fn editors(&self) -> Result<Vec<EditorInfo>> {
        let mut all = rows(&self.store.conn, self.here.root)?;
        all.retain(|editor| is_alive(&self.store.dir, editor.id));
        Ok(all)
    }

    /// Whether anything was committed since the last time this engine was asked, and what is newest. Three
    /// look-ups: made for asking whenever the bell rings.
    pub fn news(&self) -> Result<News> {
        let conn = &self.store.conn;
        let newest = |sql: &str| -> Result<Option<i64>> {
            Ok(conn.prepare_cached(sql)?.query_row([], |r| r.get(0))?)
        };
        Ok(News {
            data_version: conn.query_row("PRAGMA data_version", [], |r| r.get(0))?,
            node: newest("SELECT MAX(id) FROM node")?.map(NodeId),
            operation: newest("SELECT MAX(id) FROM operation")?.map(OpId),
            event: newest("SELECT MAX(seq) FROM event")?,
        })
    }

    /// The file that is written after every commit that others may want to hear of.
    pub fn bell(&self) -> PathBuf {
        self.store.bell()
    }

    fn left_over(&self) -> Result<Vec<EditorId>> {
        let all = rows(&self.store.conn, self.here.root)?;
        let dead = all.into_iter().map(|editor| editor.id);
        Ok(dead.filter(|id| !is_alive(&self.store.dir, *id)).collect())
    }
}

fn rows(conn: &Connection, root: RootId) -> Result<Vec<EditorInfo>> {
    let mut select = conn
        .prepare_cached("SELECT id, name, pid, started FROM editor WHERE root = ?1 ORDER BY id")?;
    let rows = select.query_map([root], |r| {
        Ok(EditorInfo {
            id: r.get(0)?,
            name: r.get(1)?,
            pid: r.get(2)?,
            started: r.get(3)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn row(conn: &Connection, id: EditorId) -> Result<Option<EditorInfo>> {
    Ok(conn
        .prepare_cached("SELECT id, name, pid, started FROM editor WHERE id = ?1")?
        .query_row([id], |r| {
            Ok(EditorInfo {
                id: r.get(0)?,
                name: r.get(1)?,
                pid: r.get(2)?,
                started: r.get(3)?,
            })
        })
        .optional()?)
}

/// Removes an editor with all that hangs on it.
fn remove(conn: &Connection, id: EditorId) -> Result<()> {
    for sql in [
        "DELETE FROM buffer WHERE editor = ?1",
        "DELETE FROM request WHERE editor = ?1",
        "DELETE FROM editor WHERE id = ?1",
    ] {
        conn.execute(sql, [id])?;
    }
    Ok(())
}

/// The row of a lease, which a `clear` may have taken away.
fn ensure(conn: &Connection, lease: &EditorLease) -> Result<()> {
    let i = &lease.info;
    conn.prepare_cached(
        "INSERT OR IGNORE INTO editor (id, root, name, pid, started) VALUES (?1,?2,?3,?4,?5)",
    )?
    .execute(params![i.id, lease.root, i.name, i.pid, i.started])?;
    Ok(())
}

fn lock_file(dir: &std::path::Path, id: EditorId) -> PathBuf {
    dir.join("editors").join(format!("{}.lock", id.0))
}

/// Whether the language server still holds its lock. What cannot be told counts as alive: then its text is
/// left to it.
fn is_alive(dir: &std::path::Path, id: EditorId) -> bool {
    let path = lock_file(dir, id);
    match std::fs::File::open(&path).at("open", &path) {
        Ok(file) => !matches!(file.try_lock_shared(), Ok(())),
        Err(Error::Io { source, .. }) => source.kind() != std::io::ErrorKind::NotFound,
        Err(_) => true,
    }
}
