//! Whether the store holds what it says: every content by its hash, every change by the chain it is on.

use std::collections::HashMap;

use crate::engine::{Engine, Progress};
use crate::error::Result;
use crate::history::{self, Ancestry};
use crate::known;
use crate::model::{ContentId, FileState, Image};

#[derive(Clone, Debug, Default)]
pub struct Verified {
    pub blobs: u64,
    pub nodes: u64,
    pub changes: u64,
    pub problems: Vec<String>,
}

impl Engine {
    /// Reads everything once. Problems are listed, not mended; what they do not name is readable.
    pub fn verify(&self, progress: &mut dyn FnMut(Progress)) -> Result<Verified> {
        let conn = &self.store.conn;
        let mut out = Verified::default();
        let mut select = conn.prepare("PRAGMA integrity_check")?;
        for line in select.query_map([], |r| r.get::<_, String>(0))? {
            let line = line?;
            if line != "ok" {
                out.problems.push(format!("database: {line}"));
            }
        }
        let mut select = conn.prepare("PRAGMA foreign_key_check")?;
        let dangling = select.query_map([], |r| r.get::<_, String>(0))?.count();
        if dangling > 0 {
            out.problems.push(format!(
                "database: {dangling} rows refer to rows that are missing"
            ));
        }
        let total: u64 = conn.query_row("SELECT COUNT(*) FROM blob", [], |r| r.get(0))?;
        let mut select = conn.prepare("SELECT hash FROM blob ORDER BY n")?;
        for id in select.query_map([], |r| r.get::<_, ContentId>(0))? {
            if let Err(e) = self.store.content(&id?) {
                out.problems.push(e.to_string());
            }
            out.blobs += 1;
            progress(Progress {
                what: "reading contents",
                done: out.blobs,
                total: Some(total),
            });
        }
        out.nodes = conn.query_row("SELECT COUNT(*) FROM node", [], |r| r.get(0))?;
        self.verify_changes(&mut out, progress)?;
        self.verify_heads(&mut out)?;
        Ok(out)
    }

    /// Every change begins where the chain before it ended, and its set is what its kind makes of it.
    fn verify_changes(&self, out: &mut Verified, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let conn = &self.store.conn;
        let ancestry = Ancestry::new(conn);
        let total: u64 = conn.query_row("SELECT COUNT(*) FROM change", [], |r| r.get(0))?;
        let mut select = conn.prepare("SELECT id FROM file ORDER BY id")?;
        let files = select
            .query_map([], |r| r.get(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        for file in files {
            let changes = history::changes_of_file(conn, file)?;
            for (at, change) in changes.iter().enumerate() {
                out.changes += 1;
                progress(Progress {
                    what: "checking changes",
                    done: out.changes,
                    total: Some(total),
                });
                let mut before: Option<&FileState> = None;
                for earlier in changes[..at].iter().rev() {
                    if ancestry.is_ancestor(earlier.node, change.node)? {
                        before = Some(&earlier.after);
                        break;
                    }
                }
                if before.is_some_and(|b| *b != change.before) {
                    out.problems.push(format!(
                        "{}: a change does not begin where the one before it ended",
                        change.node
                    ));
                }
                for content in [&change.before, &change.after]
                    .into_iter()
                    .flatten()
                    .filter_map(|p| p.image.content())
                {
                    if !crate::store::has(conn, &content)? {
                        out.problems
                            .push(format!("{}: content {content} is missing", change.node));
                    }
                }
                let set = history::in_force(&ancestry, file, change.node)?;
                if history::SetHash::of(&set) != history::set_at(conn, file, change.node)? {
                    out.problems.push(format!(
                        "{}: what is in force does not match its record",
                        change.node
                    ));
                }
            }
        }
        Ok(())
    }

    /// What is known to be on disk is the state of the head.
    fn verify_heads(&self, out: &mut Verified) -> Result<()> {
        let conn = &self.store.conn;
        let Some(head) = self.head()? else {
            return Ok(());
        };
        let ancestry = Ancestry::new(conn);
        let mut placed = HashMap::new();
        for (path, row) in known::all(conn, self.here.root)? {
            if let Some(content) = row.image.content()
                && !crate::store::has(conn, &content)?
            {
                out.problems
                    .push(format!("{}: its content is missing", path.display()));
            }
            if let Some(file) = row.file {
                placed.insert(file, (path, row.image));
            }
        }
        let mut select = conn.prepare("SELECT DISTINCT file FROM change")?;
        for file in select.query_map([], |r| r.get(0))? {
            let file = file?;
            let state = history::state_at(&ancestry, file, head)?;
            let known: Option<(_, Image)> = placed.get(&file).cloned();
            if state.as_ref().map(|p| (p.path.clone(), p.image)) != known {
                out.problems.push(format!(
                    "what is known of the disk does not match the head: {}",
                    state.map_or_else(|| "a deleted file".to_owned(), |p| p.path.display())
                ));
            }
        }
        Ok(())
    }
}
