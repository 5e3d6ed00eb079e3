//! Questions about the history of the current root and branch.

use std::path::Path;

use super::{BranchInfo, Entry, LogFilter, Operation, OperationSubject, subject};
use crate::engine::{Engine, Progress};
use crate::error::{Error, Result};
use crate::history;
use crate::model::{Here, NodeId, OpId, RelPath};
use crate::store::Store;
use crate::store::tables::{branch, change, node};

impl Engine {
    /// Brings the full-text index up to date and reports progress. A search does so, too.
    pub fn read_words(&mut self) -> Result<()> {
        let progress = &mut self.progress;
        history::full_text::update(&self.store, &mut |done, total| {
            progress.call(Progress {
                what: "indexing text",
                done,
                total: Some(total),
            });
        })
    }
}

/// Questions about the history of the current root and branch.
#[derive(Clone, Copy, Debug)]
pub struct History<'a> {
    pub(super) store: &'a Store,
    pub(super) here: Here,
}

impl Engine {
    /// The history of the current root and branch.
    pub fn history(&self) -> History<'_> {
        History {
            store: &self.store,
            here: self.here,
        }
    }
}

impl History<'_> {
    pub fn head(&self) -> Result<Option<NodeId>> {
        history::head(&self.store.conn, self.here.branch)
    }

    pub fn branch_name(&self) -> Result<String> {
        branch::name(&self.store.conn, self.here.branch)
    }

    pub fn branches(&self) -> Result<Vec<BranchInfo>> {
        history::branches::list(&self.store.conn, self.here)
    }

    /// True if a file or directory has this path now, or had it at any checkpoint.
    pub fn has_path(&self, root: &Path, path: &RelPath) -> Result<bool> {
        if root.join(path.to_path()).symlink_metadata().is_ok() {
            return Ok(true);
        }
        if let Some(head) = self.head()?
            && self.paths_at(head)?.iter().any(|p| p.within(path.bytes()))
        {
            return Ok(true);
        }
        let ever = self.log(&LogFilter {
            limit: Some(1),
            path: Some(path.clone()),
            all_branches: true,
            ..LogFilter::default()
        })?;
        Ok(!ever.is_empty())
    }

    /// Returns the other paths of the file that was moved away from a path last: the newest first. Empty: none was.
    pub fn other_paths(&self, path: &RelPath) -> Result<Vec<RelPath>> {
        let conn = &self.store.conn;
        let Some(file) = change::moved_from(conn, path)? else {
            return Ok(Vec::new());
        };
        let mut others: Vec<RelPath> = Vec::new();
        for change in change::of_file(conn, file)?.into_iter().rev() {
            let sides = [change.after, change.before].into_iter().flatten();
            for placed in sides {
                if placed.path != *path && !others.contains(&placed.path) {
                    others.push(placed.path);
                }
            }
        }
        Ok(others)
    }

    /// The timeline, newest first.
    pub fn log(&self, filter: &LogFilter) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        self.log_each(filter, |entry| {
            entries.push(entry);
            Ok::<_, Error>(())
        })?;
        Ok(entries)
    }

    /// Passes the timeline on, newest first, as it is read.
    pub fn log_each<E: From<Error>>(
        &self,
        filter: &LogFilter,
        take: impl FnMut(Entry) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if filter.text.is_some() {
            history::full_text::update(self.store, &mut |_, _| {})?;
        }
        let moment = self.store.reading()?;
        let counts = history::log_each(self.store, self.here, filter, take)?;
        drop(moment);
        counts.keep(self.store);
        Ok(())
    }

    pub fn entry(&self, id: NodeId) -> Result<Entry> {
        let moment = self.store.reading()?;
        let (entry, counts) = history::entry(self.store, self.here, id)?;
        drop(moment);
        counts.keep(self.store);
        Ok(entry)
    }

    /// For tests: returns edits whose state in the timeline of a branch differs from its set in force.
    #[doc(hidden)]
    pub fn inconsistent_edits(&self) -> Result<Vec<crate::model::ChangeId>> {
        let _moment = self.store.reading()?;
        let heads = self.branches()?.into_iter().filter_map(|b| b.head);
        let wrong: Vec<Vec<_>> = heads
            .map(|head| history::inconsistent_edits(&self.store.conn, head))
            .collect::<Result<_>>()?;
        Ok(wrong.concat())
    }

    /// Resolves a reference to a node: `c12`, `c12^`, `t4`, `@`, `@~2`, a tag, a branch, a label.
    pub fn resolve(&self, rev: &str) -> Result<NodeId> {
        history::resolve(&self.store.conn, self.here, rev)
    }

    /// True if a reference is relative to the head of the current branch: `@`, `@~2`, the branch's name.
    pub fn names_head(&self, rev: &str) -> Result<bool> {
        let recorded = self.head()?.is_some();
        Ok(recorded && history::names_head(rev, &self.branch_name()?))
    }

    pub fn resolve_op(&self, op: &str) -> Result<OpId> {
        history::resolve_op(&self.store.conn, op)
    }

    /// Operations, newest first.
    pub fn operations(&self) -> Result<Vec<Operation>> {
        let _moment = self.store.reading()?;
        history::operations(&self.store.conn)
    }

    /// Returns the subject of an operation, for its title.
    pub fn subject(&self, operation: &Operation) -> Result<OperationSubject> {
        subject::of_operation(&self.store.conn, self.here, operation)
    }

    /// Returns the step nodes of this node's turn, oldest first.
    pub fn turn_steps(&self, node: NodeId) -> Result<Vec<NodeId>> {
        node::steps_beside(&self.store.conn, node)
    }
}
