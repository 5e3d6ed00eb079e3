//! Scans the disk, and records the findings in one transaction.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::time::{Duration, Instant};

use super::Capture;
use super::calls;
use super::interrupts::{self, SilentCall};
use super::snapshot::{self, ScanRequest, Scanned};
use super::write_txn::{AFTER, BEFORE, ScanContext, WriteTxn};
use crate::engine::{Engine, Progress};
use crate::error::{Error, Result};
use crate::model::{Coverage, Kind, NodeId, OpId, RelPath};
use crate::store::tables::root::scan::{self, UnfinishedScan};
use crate::store::tables::{call, node, operation};
use crate::store::{self, Durable};
use crate::worktree::changed_paths::ChangedPaths;
use crate::worktree::dirty::Extent;
use crate::worktree::pending_saves::Pending;
use crate::worktree::scan::Findings;
use crate::worktree::{cookie, dir_cache, file_state, ignore_rules, ignored_paths};

/// Above this many unverified paths, walk the tree instead.
const MAX_UNVERIFIED: usize = 2000;

/// A call that was opened longer ago than this, in microseconds, belongs to an agent that no longer runs.
pub(crate) const MAX_CALL_AGE: i64 = 12 * 3600 * 1_000_000;

impl Capture<&mut Engine> {
    /// Continues a scan that ran out of time until it is done. Does nothing if another process is
    /// already continuing it.
    pub fn continue_scan(&mut self) -> Result<()> {
        self.read_chat_history_locked()?;
        for _ in 0..2 {
            {
                let Some(_alone) = self.engine.store.scan_lock()? else {
                    return Ok(());
                };
                self.finish_scan()?;
                self.engine.store.remove_orphans()?;
            }
            // checked without the lock: a process that marks it later can get the lock
            if scan::unfinished(&self.engine.store.conn, self.engine.here.root)?
                == UnfinishedScan::No
            {
                break;
            }
        }
        Ok(())
    }

    fn read_chat_history_locked(&mut self) -> Result<()> {
        if !self.has_unread_history()? {
            return Ok(());
        }
        let _lock = self.capture_lock()?;
        self.read_chat_history(None)
    }

    fn finish_scan(&mut self) -> Result<()> {
        let only = self.changed_since_last_walk(None)?;
        self.scan_without_lock(only.as_ref(), |txn, scanned| {
            txn.record_scan(scanned, &ScanContext::between())?;
            Ok(())
        })
    }

    /// Scans without the lock, since it may take long and rewinds must not wait for it. Starts over
    /// if an operation came in between.
    fn scan_without_lock(
        &mut self,
        only: Option<&ChangedPaths>,
        record: impl Fn(&WriteTxn<'_>, Scanned) -> Result<()>,
    ) -> Result<()> {
        loop {
            let newest = {
                let _lock = self.capture_lock()?;
                self.newest_operation()?
            };
            let scanned = self.scan_these(only, false, None)?;
            let _lock = self.capture_lock()?;
            if self.newest_operation()? == newest {
                return self.quiet_txn(AFTER, scanned, record);
            }
        }
    }

    /// Scans the paths that may have changed, for a recorder, and returns the remaining differences
    /// from the record. With `record`, changes become a node, unless a call is open that may write
    /// anything: its end records them.
    pub(crate) fn catch_up(&mut self, extent: &Extent, record: bool) -> Result<Findings> {
        self.engine.refresh()?;
        let record = record && self.engine.config().records_automatically();
        // wait for running writers: a path they confirm as recorded stays confirmed
        self.engine.store.after_writers()?;
        let conn = &self.engine.store.conn;
        if self.scan_is_pending()? {
            if record {
                self.continue_scan()?;
            }
        } else if record
            && calls::any_writes(conn, self.engine.here.root)?
            && !self.interrupted()?.is_empty()
        {
            // nobody else records what an interrupted call left
            let _lock = self.capture_lock()?;
            self.record_changes_unlocked()?;
        } else if record && !calls::any_writes(conn, self.engine.here.root)? {
            self.read_chat_history_locked()?;
            let only = self.paths_to_scan(extent)?;
            self.scan_without_lock(only.as_ref(), |txn, scanned| {
                if !calls::any_writes(txn.conn, txn.here.root)? {
                    txn.record_scan(scanned, &ScanContext::between())?;
                }
                Ok(())
            })?;
        }
        let only = self.paths_to_scan(extent)?;
        let off = self.engine.progress.off();
        let request = ScanRequest {
            only: only.as_ref(),
            is_proven: true,
            deadline: None,
            off: off.as_deref(),
        };
        snapshot::differences(
            &self.engine.store,
            &self.engine.root,
            self.engine.here,
            request,
        )
    }

    /// Makes every plan start with a walk of the whole tree.
    pub fn set_always_scan(&mut self) {
        self.engine.always_scan = true;
    }

    /// Scans the disk and records changes as a node.
    pub fn record_changes(&mut self) -> Result<Coverage> {
        let _lock = self.capture_lock()?;
        self.record_changes_unlocked()
    }

    pub(crate) fn record_changes_unlocked(&mut self) -> Result<Coverage> {
        let silent = self.interrupted()?;
        let scanned = self.scan(None)?;
        let coverage = scanned.findings.coverage.clone();
        self.quiet_txn(BEFORE, scanned, |txn, scanned| {
            txn.record_scan(scanned, &on_request(txn, &silent)?)
        })?;
        Ok(coverage)
    }

    /// Creates a checkpoint by hand.
    pub fn checkpoint(&mut self, label: Option<&str>) -> Result<NodeId> {
        self.checkpoint_about(label, None)
    }

    /// Creates a checkpoint by hand, with a description besides its label.
    pub fn checkpoint_about(
        &mut self,
        label: Option<&str>,
        description: Option<&str>,
    ) -> Result<NodeId> {
        let _lock = self.capture_lock()?;
        let silent = self.interrupted()?;
        let scanned = self.scan(None)?;
        self.notifying_txn(BEFORE, scanned, |txn, scanned| {
            let coverage = scanned.findings.coverage.clone();
            txn.record_scan(scanned, &on_request(txn, &silent)?)?;
            let node = txn.node(Kind::Manual, None, None, None, label, &coverage)?;
            if let Some(description) = description {
                node::set_description(txn.conn, node, description)?;
            }
            Ok(node)
        })
    }

    fn capture_lock(&mut self) -> Result<store::Lock> {
        self.engine
            .quiet_lock(Duration::from_secs(30))?
            .ok_or_else(|| {
                Error::refused(
                    "a rewind is under way",
                    "wait until it is done, then try again",
                )
            })
    }

    /// Scans the disk, after everything that an agent without hooks has noted is recorded.
    pub(super) fn scan(&mut self, deadline: Option<Instant>) -> Result<Scanned> {
        self.read_chat_history(deadline)?;
        self.scan_disk(deadline)
    }

    /// Scans the whole tree, or only the touched paths if a recorder proves that the rest is
    /// unchanged.
    pub(super) fn scan_disk(&mut self, deadline: Option<Instant>) -> Result<Scanned> {
        let started = Instant::now();
        let touched = cookie::ask(
            &self.engine.store.dir,
            self.engine.here.root,
            self.engine.recorder_timeout,
        );
        let is_proven = touched.is_some();
        let only = match touched {
            Some(touched) => {
                let only = self.paths_to_scan(&Extent::Only(touched))?;
                self.engine.walks_avoided += u64::from(only.is_some());
                only
            }
            None => self.changed_since_last_walk(deadline)?,
        };
        // the time spent so far does not count against the scan's deadline
        let deadline = deadline.map(|deadline| deadline + started.elapsed());
        self.scan_these(only.as_ref(), is_proven, deadline)
    }

    fn scan_these(
        &mut self,
        only: Option<&ChangedPaths>,
        is_proven: bool,
        deadline: Option<Instant>,
    ) -> Result<Scanned> {
        let off = self.engine.progress.off();
        let request = ScanRequest {
            only,
            is_proven,
            deadline,
            off: off.as_deref(),
        };
        let progress = &mut self.engine.progress;
        let mut tick = |done| {
            progress.call(Progress {
                what: "scanning files",
                done,
                total: None,
            });
        };
        let (store, root) = (&self.engine.store, &self.engine.root);
        snapshot::scan(store, root, self.engine.here, request, &mut tick)
    }

    /// Runs `f` in one write transaction and notifies watchers. Gaps that hooks left behind are
    /// recorded with the next node.
    pub(crate) fn notifying_txn<S, T>(
        &mut self,
        durable: Durable,
        with: S,
        f: impl FnOnce(&WriteTxn<'_>, S) -> Result<T>,
    ) -> Result<T> {
        self.quiet_txn(durable, with, |txn, with| {
            txn.notify.set(true);
            f(txn, with)
        })
    }

    /// Runs `f` in one write transaction. `f` decides whether watchers are notified.
    pub(crate) fn quiet_txn<S, T>(
        &mut self,
        durable: Durable,
        with: S,
        f: impl FnOnce(&WriteTxn<'_>, S) -> Result<T>,
    ) -> Result<T> {
        let git = crate::git::head(&self.engine.root.path);
        let (dir, root, here) = (
            self.engine.store.dir.clone(),
            &self.engine.root,
            self.engine.here,
        );
        let mut gaps = None;
        let (dir_cache_bytes, notify) = (RefCell::new(None), Cell::new(false));
        let ignored = RefCell::new(None);
        let value = self.engine.store.write_notifying(durable, |conn| {
            let txn = WriteTxn {
                conn,
                dir: &dir,
                root,
                here,
                git: &git,
                pending: Pending::of(conn, here.root)?,
                dir_cache_bytes: &dir_cache_bytes,
                ignored_paths: &ignored,
                notify: &notify,
            };
            // a gap is older than the changes recorded now, but a history begins with its start
            let first = txn.head()?.is_some();
            if first {
                gaps = txn.record_gaps()?;
            }
            let value = f(&txn, with)?;
            if !first && txn.head()?.is_some() {
                gaps = txn.record_gaps()?;
            }
            Ok((value, notify.get() || gaps.is_some()))
        })?;
        if let Some(gaps) = gaps {
            crate::fault::point("gaps taken in");
            gaps.done();
        }
        if let Some(paths) = ignored.take() {
            // a lost file costs the news of one change
            ignored_paths::save(&self.engine.store.dir, self.engine.here.root, &paths).ok();
        }
        if let Some(dir_cache_bytes) = dir_cache_bytes.take() {
            crate::fault::point("walk taken in");
            // the cache only saves work, so a failure is ignored
            dir_cache::save(
                &self.engine.store.conn,
                &self.engine.store.dir,
                self.engine.here,
                &dir_cache_bytes,
            )
            .ok();
        }
        Ok(value)
    }
}

/// Context of a scan that somebody asks for: it includes the changes of open calls, and ends calls that were interrupted.
fn on_request(txn: &WriteTxn<'_>, silent: &[SilentCall]) -> Result<ScanContext> {
    let context = interrupts::close_interrupted(txn, silent)?;
    Ok(ScanContext {
        reserved_stay: false,
        ..context.unwrap_or_else(ScanContext::between)
    })
}

impl<E: Deref<Target = Engine>> Capture<E> {
    /// Returns the paths to scan if a recorder says that nothing else was touched. Returns None for
    /// the whole tree: the rules have changed, or the last walk did not finish.
    fn paths_to_scan(&self, extent: &Extent) -> Result<Option<ChangedPaths>> {
        let Extent::Only(touched) = extent else {
            return Ok(None);
        };
        let conn = &self.engine.store.conn;
        let Some(unverified) = file_state::unverified(conn, self.engine.here.root)? else {
            return Ok(None);
        };
        if unverified.len() > MAX_UNVERIFIED {
            return Ok(None);
        }
        let excludes = file_state::excludes(conn, self.engine.here.root)?;
        let is_rule_file = |path: &crate::model::RelPath| path.split().1 == ignore_rules::FILE;
        if self.scan_is_pending()?
            || excludes.is_none_or(|excludes| excludes != self.engine.root.excludes())
            || touched.paths.iter().chain(&unverified).any(is_rule_file)
        {
            return Ok(None);
        }
        let mut touched = touched.clone();
        touched.paths.extend(unverified);
        Ok(Some(touched))
    }

    pub(crate) fn scan_is_pending(&self) -> Result<bool> {
        Ok(!scan::is_complete(
            &self.engine.store.conn,
            self.engine.here.root,
        )?)
    }

    fn newest_operation(&self) -> Result<Option<OpId>> {
        operation::newest(&self.engine.store.conn)
    }

    /// Counts the tool calls in progress in this directory that may write.
    pub fn open_calls(&self) -> Result<usize> {
        let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
        let open = call::count_writing(conn, root, store::now() - MAX_CALL_AGE)?;
        let over = if open == 0 {
            0
        } else {
            self.interrupted()?.len()
        };
        Ok(open.saturating_sub(over))
    }

    /// True if no agent is known to be active and all its changes are recorded. Any unrecorded
    /// change is then the user's.
    pub(crate) fn no_agent_is_active(&self) -> Result<bool> {
        let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
        Ok(!self.scan_is_pending()?
            && !calls::any_at_work(conn, root)?
            && !self.has_unread_history()?
            && store::gaps::peek(&self.engine.store.dir).is_empty())
    }

    /// True if a .gitignore has another content in the record than when the last scan read it.
    pub(crate) fn rules_changed_since_scan(&self) -> Result<bool> {
        let rules = file_state::excludes(&self.engine.store.conn, self.engine.here.root)?;
        Ok(rules.is_some_and(|rules| !rules.moved.is_empty()))
    }

    /// True if these paths are on disk as recorded, and none of them waits for a save.
    pub(crate) fn match_record(&self, paths: &BTreeSet<RelPath>) -> Result<bool> {
        let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
        let pending = Pending::of(conn, root)?;
        for path in paths {
            let row = file_state::row(conn, root, path)?;
            let stat = self.engine.root.stat(path);
            let same = match (&row, &stat) {
                (Some(row), Some(stat)) if row.stat.proves(stat) => true,
                (Some(row), Some(_)) => {
                    self.engine.root.reread_entry(path, &row.image)?.image == row.image
                }
                (None, None) => !self.engine.root.is_blocked(path),
                _ => false,
            };
            if !same || pending.get(path).is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the paths that changed since the last full walk. Returns None if the whole tree must
    /// be walked.
    fn changed_since_last_walk(&self, deadline: Option<Instant>) -> Result<Option<ChangedPaths>> {
        let (conn, dir) = (&self.engine.store.conn, &self.engine.store.dir);
        match dir_cache::changed_paths(conn, dir, &self.engine.root, self.engine.here, deadline)? {
            Some(touched) => self.paths_to_scan(&Extent::Only(touched)),
            None => Ok(None),
        }
    }
}
