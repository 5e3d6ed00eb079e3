//! The write transaction of a root in which capture records, and what all recorders need of it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::calls::{Observation, Writer};
use crate::error::{Error, Result};
use crate::history::{self, NewNode};
use crate::model::{
    CallId, Coverage, GitHead, Here, Image, Kind, NodeId, RelPath, SessionId, TurnId,
};
use crate::store::tables::root::scan::{self, UnfinishedScan};
use crate::store::tables::{branch, buffer};
use crate::store::{self, Durable};
use crate::worktree::disk::{DiskEntry, Root, Stat};
use crate::worktree::ignored_paths::IgnoredPath;
use crate::worktree::pending_saves::Pending;

/// Durability for commits before a tool runs: content would be lost with the machine otherwise.
pub(crate) const BEFORE: Durable = Durable::Power;
pub(crate) const AFTER: Durable = Durable::Process;

/// A write transaction of a root, with everything that recording needs besides the findings.
pub(crate) struct WriteTxn<'a> {
    pub conn: &'a Connection,
    pub dir: &'a std::path::Path,
    pub root: &'a Root,
    pub here: Here,
    pub git: &'a GitHead,
    /// Files that wait for a save.
    pub pending: Pending,
    /// Directory cache of a full walk recorded in this transaction.
    pub dir_cache_bytes: &'a RefCell<Option<Vec<u8>>>,
    /// The ignored paths after the scan recorded in this transaction.
    pub ignored_paths: &'a RefCell<Option<Vec<IgnoredPath>>>,
    /// True if watchers of the store are to be notified of this transaction.
    pub notify: &'a Cell<bool>,
}

/// Context in which a scan is recorded.
#[derive(Clone, Debug)]
pub(crate) struct ScanContext {
    pub observation: Observation,
    /// Paths that calls named without a later report.
    pub unreported: BTreeMap<RelPath, Writer>,
    /// Calls that are known to have ended before now.
    pub over: Option<CallsOver>,
    pub coverage: Coverage,
    /// An open call, and the time until which nothing is its work, in microseconds since 1970.
    pub idle_until: Option<(CallId, i64)>,
    /// Leave paths that an open edit call has reserved to that call.
    pub reserved_stay: bool,
    /// Paths that the same transaction records itself.
    pub left_out: BTreeSet<RelPath>,
}

/// Interrupted calls, and the time from which on nothing is their work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallsOver {
    pub calls: BTreeSet<CallId>,
    /// In microseconds since 1970.
    pub since: i64,
    /// A session whose agent may have worked longer than that: then such a change is uncertain.
    pub doubt: Option<Doubt>,
}

/// A session that may have changed files until a time, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Doubt {
    pub session: SessionId,
    pub until: i64,
}

impl ScanContext {
    pub(crate) fn between() -> Self {
        Self {
            observation: Observation::Between,
            unreported: BTreeMap::new(),
            over: None,
            coverage: Coverage::default(),
            idle_until: None,
            reserved_stay: true,
            left_out: BTreeSet::new(),
        }
    }
}

impl WriteTxn<'_> {
    pub(crate) fn head(&self) -> Result<Option<NodeId>> {
        history::head(self.conn, self.here.branch)
    }

    /// Returns the head if it belongs to this branch alone. Otherwise adds a node, since files that
    /// become visible there concern no other branch.
    pub(crate) fn unshared_head(&self) -> Result<Option<NodeId>> {
        let head = self.head()?;
        let shared = match head {
            Some(head) => {
                history::branch_of(self.conn, head)? != self.here.branch
                    || branch::is_fork_point(self.conn, head)?
            }
            None => false,
        };
        if !shared {
            return Ok(head);
        }
        let label = Some("first captured");
        let none = Coverage::default();
        self.node(Kind::External, None, None, None, label, &none)
            .map(Some)
    }

    /// Returns the observation for a change found now. It is `Late` if an earlier scan did not
    /// finish, or if hooks could not record.
    pub(crate) fn observation(&self, default: Observation) -> Result<Observation> {
        Ok(match scan::unfinished(self.conn, self.here.root)? {
            UnfinishedScan::No => default,
            UnfinishedScan::ByAnyone => Observation::Late(None),
            UnfinishedScan::By(session) => Observation::Late(Some(session)),
        })
    }

    /// True if the path still matches `image`, as far as its stat tells. A recorder may meanwhile
    /// have confirmed the recorded state; that confirmation would no longer hold.
    pub(crate) fn is_unchanged(&self, path: &RelPath, image: &Image, stat: Option<Stat>) -> bool {
        match (stat, self.root.stat(path)) {
            (Some(recorded), Some(now)) => recorded.is_that_of(&now),
            // an image whose stat proves nothing is read again anyway
            (None, Some(_)) => !image.is_absent(),
            (None, None) => image.is_absent(),
            (Some(_), None) => false,
        }
    }

    /// Stores the content of a disk entry.
    pub(crate) fn store_entry(
        &self,
        path: &RelPath,
        entry: &DiskEntry,
        like: &Image,
    ) -> Result<bool> {
        self.store_bytes(path, entry.image, entry.bytes.as_deref(), Some(like))
    }

    /// Stores a content. Returns `false` if its bytes were not read and the file no longer has
    /// them; the next scan finds the new state.
    pub(super) fn store_bytes(
        &self,
        path: &RelPath,
        image: Image,
        bytes: Option<&[u8]>,
        like: Option<&Image>,
    ) -> Result<bool> {
        let like = like.and_then(Image::content);
        if let Some(bytes) = bytes {
            store::put(self.conn, self.dir, bytes, like)?;
            return Ok(true);
        }
        let Image::File { content, size, .. } = image else {
            return Ok(true);
        };
        if !image.is_large() || store::has(self.conn, &content)? {
            return Ok(true);
        }
        // the content stored ahead is missing: rare, so read the file here although others wait
        let Some(file) = self.root.open_file(path) else {
            return Ok(false);
        };
        let all = std::io::Read::take(file, size);
        match store::put_stream(self.conn, self.dir, all, like) {
            Ok((stored, _)) => Ok(stored == content),
            Err(Error::Io { .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Adds a node after the head of this branch, and makes it the head.
    pub(crate) fn node(
        &self,
        kind: Kind,
        session: Option<SessionId>,
        turn: Option<TurnId>,
        call: Option<CallId>,
        label: Option<&str>,
        coverage: &Coverage,
    ) -> Result<NodeId> {
        let new = NewNode {
            kind,
            session,
            turn,
            call,
            label,
            git: self.git,
            coverage,
        };
        let node = history::insert_node(self.conn, self.here, &new)?;
        self.notify.set(true);
        buffer::attach(self.conn, self.dir, self.here.root, node, kind)?;
        Ok(node)
    }
}
