//! Looking at the disk, and the one transaction in which what was seen is settled.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::calls;
use super::record_scan::{AFTER, BEFORE, ScanContext, WriteTxn};
use super::snapshot::{self, ScanRequest, Scanned};
use crate::documents::pending::Pending;
use crate::engine::{Engine, Progress};
use crate::error::{Error, Result};
use crate::history;
use crate::model::{Coverage, Kind, NodeId, OpId, RelPath};
use crate::store::{self, Durable};
use crate::worktree::dir_cache;
use crate::worktree::file_state;
use crate::worktree::ignore_rules;
use crate::worktree::recorder::{self, ChangedPaths, Extent};
use crate::worktree::scan::Findings;

/// Of more paths than these that are to be looked at each time, a walk makes an end.
const STRAYS: usize = 2000;

impl Engine {
    /// Goes on with a scan that ran out of time, until it is done. Where another process is at it, this
    /// leaves it to that one.
    pub fn continue_scan(&mut self) -> Result<()> {
        for _ in 0..2 {
            {
                let Some(_alone) = self.store.scan_lock()? else {
                    return Ok(());
                };
                self.scan_to_the_end()?;
                self.store.remove_orphans()?;
            }
            // looked at without the lock: who marks it later gets the lock
            let pending = "SELECT pending <> 0 FROM root WHERE id = ?1";
            let conn = &self.store.conn;
            if !conn.query_row(pending, [self.here.root], |r| r.get(0))? {
                break;
            }
        }
        Ok(())
    }

    fn scan_to_the_end(&mut self) -> Result<()> {
        let only = self.unlike_last_walk(None)?;
        self.unhurried(only.as_ref(), |txn, scanned| {
            txn.take_in(scanned, &ScanContext::between())?;
            Ok(())
        })
    }

    /// A scan that may take long, and for which no rewind is to wait.
    fn unhurried(
        &mut self,
        only: Option<&ChangedPaths>,
        settle: impl Fn(&WriteTxn<'_>, Scanned) -> Result<()>,
    ) -> Result<()> {
        loop {
            let newest = {
                let _lock = self.capture_lock()?;
                self.newest_operation()?
            };
            let scanned = self.scan_these(only, None)?;
            let _lock = self.capture_lock()?;
            if self.newest_operation()? == newest {
                return self.settle_found(AFTER, scanned, settle);
            }
        }
    }

    /// Looks at what may have changed, for a recorder: says where the disk is still not as it is known. With
    /// `record`, what has changed becomes a node, unless a call is open that may write anything: its end finds it.
    pub(crate) fn catch_up(&mut self, extent: &Extent, record: bool) -> Result<Findings> {
        self.refresh()?;
        // what others saw before this moment is recorded by then: told to be as it is known, it stays so
        self.store.after_writers()?;
        let conn = &self.store.conn;
        if self.scan_is_pending()? {
            if record {
                self.continue_scan()?;
            }
        } else if record && !calls::any_writes(conn, self.here.root)? {
            let only = self.nothing_else(extent)?;
            self.unhurried(only.as_ref(), |txn, scanned| {
                if !calls::any_writes(txn.conn, txn.here.root)? {
                    txn.take_in(scanned, &ScanContext::between())?;
                }
                Ok(())
            })?;
        }
        let only = self.nothing_else(extent)?;
        let off = self.progress.off();
        let glance = ScanRequest {
            only: only.as_ref(),
            deadline: None,
            off: off.as_deref(),
        };
        snapshot::differences(&self.store, &self.root, self.here, glance)
    }

    /// What is to be looked at where a recorder says that nothing else was touched. None: everything, since the
    /// rules are not those of the last walk, or that did not come to its end.
    fn nothing_else(&self, extent: &Extent) -> Result<Option<ChangedPaths>> {
        let Extent::Only(touched) = extent else {
            return Ok(None);
        };
        let conn = &self.store.conn;
        let Some(strays) = file_state::unverified(conn, self.here.root)? else {
            return Ok(None);
        };
        if strays.len() > STRAYS {
            return Ok(None);
        }
        let then = file_state::excludes(conn, self.here.root)?;
        let rules = |path: &crate::model::RelPath| path.split().1 == ignore_rules::FILE;
        if self.scan_is_pending()?
            || then.is_none_or(|then| then != self.root.excludes())
            || touched.paths.iter().chain(&strays).any(rules)
        {
            return Ok(None);
        }
        let mut touched = touched.clone();
        touched.paths.extend(strays);
        Ok(Some(touched))
    }

    pub(crate) fn scan_is_pending(&self) -> Result<bool> {
        Ok(self
            .store
            .conn
            .prepare_cached("SELECT pending <> 0 OR scanned IS NULL FROM root WHERE id = ?1")?
            .query_row([self.here.root], |r| r.get(0))?)
    }

    fn newest_operation(&self) -> Result<Option<OpId>> {
        let newest = "SELECT MAX(id) FROM operation";
        Ok(self.store.conn.query_row(newest, [], |r| r.get(0))?)
    }

    /// Whether no agent is at work, as far as is known, and all that any did was looked at: whatever is not recorded is
    /// the user's.
    pub(crate) fn nobody_is_at_work(&self) -> Result<bool> {
        let (conn, root) = (&self.store.conn, self.here.root);
        Ok(!self.scan_is_pending()?
            && !calls::any_at_work(conn, root)?
            && store::gaps::peek(&self.store.dir).is_empty())
    }

    /// Whether these paths are on disk just as they are recorded, and nothing waits for a save there.
    pub(crate) fn are_as_recorded(&self, paths: &BTreeSet<RelPath>) -> Result<bool> {
        let (conn, root) = (&self.store.conn, self.here.root);
        let pending = Pending::of(conn, root)?;
        for path in paths {
            let row = file_state::row(conn, root, path)?;
            let stat = self.root.stat(path);
            let same = match (&row, &stat) {
                (Some(row), Some(stat)) if row.stat.proves(stat) => true,
                (Some(row), Some(_)) => self.root.look_over(path, &row.image)?.image == row.image,
                (None, None) => !self.root.is_blocked(path),
                _ => false,
            };
            if !same || pending.get(path).is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Has every plan begin with a look at the whole tree.
    pub fn be_thorough(&mut self) {
        self.always_scan = true;
    }

    /// Looks at the disk; what has changed becomes a node.
    pub fn look(&mut self) -> Result<Coverage> {
        let _lock = self.capture_lock()?;
        self.look_unlocked()
    }

    pub(crate) fn look_unlocked(&mut self) -> Result<Coverage> {
        let scanned = self.scan(None)?;
        let coverage = scanned.findings.coverage.clone();
        let cause = ScanContext {
            reserved_stay: false,
            ..ScanContext::between()
        };
        self.settle_found(BEFORE, scanned, |txn, scanned| txn.take_in(scanned, &cause))?;
        Ok(coverage)
    }

    /// A checkpoint by hand.
    pub fn checkpoint(&mut self, label: Option<&str>) -> Result<NodeId> {
        self.checkpoint_about(label, None)
    }

    /// The same, with what is to be said of it beside its label.
    pub fn checkpoint_about(
        &mut self,
        label: Option<&str>,
        description: Option<&str>,
    ) -> Result<NodeId> {
        let _lock = self.capture_lock()?;
        let scanned = self.scan(None)?;
        let cause = ScanContext {
            reserved_stay: false,
            ..ScanContext::between()
        };
        self.settle(BEFORE, scanned, |txn, scanned| {
            let coverage = scanned.findings.coverage.clone();
            txn.take_in(scanned, &cause)?;
            let node = txn.node(Kind::Manual, None, None, None, label, &coverage)?;
            if let Some(description) = description {
                history::describe(txn.conn, node, description)?;
            }
            Ok(node)
        })
    }

    fn capture_lock(&mut self) -> Result<store::Lock> {
        self.quiet_lock(Duration::from_secs(30))?.ok_or_else(|| {
            Error::refused(
                "a rewind is under way",
                "wait until it is done, then try again",
            )
        })
    }

    /// Looks at the whole tree, or where a recorder proves that the rest is as it was, at what was touched.
    pub(super) fn scan(&mut self, deadline: Option<Instant>) -> Result<Scanned> {
        let begun = Instant::now();
        let told = recorder::ask(&self.store.dir, self.here.root, self.recorder_timeout);
        let only = match told {
            Some(touched) => {
                let only = self.nothing_else(&Extent::Only(touched))?;
                self.walks_avoided += u64::from(only.is_some());
                only
            }
            None => self.unlike_last_walk(deadline)?,
        };
        // the look itself has its whole time
        let deadline = deadline.map(|deadline| deadline + begun.elapsed());
        self.scan_these(only.as_ref(), deadline)
    }

    /// What is not as the last walk over the whole tree saw it. None: all is to be walked.
    fn unlike_last_walk(&self, deadline: Option<Instant>) -> Result<Option<ChangedPaths>> {
        let (conn, dir) = (&self.store.conn, &self.store.dir);
        match dir_cache::touched(conn, dir, &self.root, self.here, deadline)? {
            Some(touched) => self.nothing_else(&Extent::Only(touched)),
            None => Ok(None),
        }
    }

    fn scan_these(
        &mut self,
        only: Option<&ChangedPaths>,
        deadline: Option<Instant>,
    ) -> Result<Scanned> {
        let off = self.progress.off();
        let glance = ScanRequest {
            only,
            deadline,
            off: off.as_deref(),
        };
        let told = &mut self.progress;
        let mut tick = |done| {
            told.call(Progress {
                what: "looking at files",
                done,
                total: None,
            });
        };
        let (store, root) = (&self.store, &self.root);
        snapshot::scan(store, root, self.here, glance, &mut tick)
    }

    /// One write transaction at the txn; gaps that hooks left behind are taken in with the next node.
    pub(crate) fn settle<S, T>(
        &mut self,
        durable: Durable,
        with: S,
        f: impl FnOnce(&WriteTxn<'_>, S) -> Result<T>,
    ) -> Result<T> {
        self.settle_found(durable, with, |txn, with| {
            txn.news.set(true);
            f(txn, with)
        })
    }

    /// The same, where `f` says by itself whether there is news: where all is as it was, nobody hears of it.
    pub(crate) fn settle_found<S, T>(
        &mut self,
        durable: Durable,
        with: S,
        f: impl FnOnce(&WriteTxn<'_>, S) -> Result<T>,
    ) -> Result<T> {
        let git = crate::worktree::git::head(&self.root.path);
        let (dir, root, here) = (self.store.dir.clone(), &self.root, self.here);
        let mut gaps = None;
        let (dir_cache_bytes, news) = (RefCell::new(None), Cell::new(false));
        let value = self.store.write_telling(durable, |conn| {
            let txn = WriteTxn {
                conn,
                dir: &dir,
                root,
                here,
                git: &git,
                pending: Pending::of(conn, here.root)?,
                dir_cache_bytes: &dir_cache_bytes,
                news: &news,
            };
            // a gap is older than what is recorded now, but a history begins with its start
            let first = txn.head()?.is_some();
            if first {
                gaps = txn.take_in_gaps()?;
            }
            let value = f(&txn, with)?;
            if !first && txn.head()?.is_some() {
                gaps = txn.take_in_gaps()?;
            }
            Ok((value, news.get() || gaps.is_some()))
        })?;
        if let Some(gaps) = gaps {
            crate::fault::point("gaps taken in");
            gaps.done();
        }
        if let Some(dir_cache_bytes) = dir_cache_bytes.take() {
            crate::fault::point("walk taken in");
            // it only spares work
            dir_cache::save(
                &self.store.conn,
                &self.store.dir,
                self.here,
                &dir_cache_bytes,
            )
            .ok();
        }
        Ok(value)
    }
}
