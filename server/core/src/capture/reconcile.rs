//! Reconciles the findings of a scan with rows that were written since it began. Reads the facts
//! about each difference, and stores the contents found.

use std::cell::OnceCell;

use super::after_call::{self, is_explained};
use super::calls::{self, Writer, Writers};
use super::decision::{Authors, Decision, PathFacts, Waiting, decide, is_rule_file};
use super::interrupts;
use super::visibility::Visibility;
use super::write_txn::{ScanContext, WriteTxn};
use crate::error::Result;
use crate::model::{Image, RelPath};
use crate::store::tables::reserved;
use crate::worktree::file_state::{self, FileState, FileStates, Observed};
use crate::worktree::ignore_rules::Excludes;
use crate::worktree::scan::Found;

/// The state of the record against which findings are reconciled.
pub(super) struct Reconciliation<'a> {
    txn: &'a WriteTxn<'a>,
    /// The rows when the scan began.
    known: &'a FileStates,
    visibility: Visibility<'a>,
    authors: Authors<'a>,
    /// True if an earlier scan has finished.
    scanned_before: bool,
    /// False if the root has no row, so that none is looked up.
    has_rows: bool,
    any_reserved: bool,
    /// The command whose processes may have continued, and until when, once it was asked for.
    aftermath: OnceCell<Option<(Writer, i64)>>,
}

/// The scan whose findings are reconciled.
pub(super) struct ScanBasis<'a> {
    pub known: &'a FileStates,
    pub excludes: &'a Excludes,
    /// The newest event when the scan began.
    pub since: i64,
    /// True if an earlier scan has finished.
    pub scanned_before: bool,
}

impl<'a> Reconciliation<'a> {
    pub(super) fn new(
        txn: &'a WriteTxn<'a>,
        basis: &ScanBasis<'a>,
        found: &[Found],
        context: &'a ScanContext,
    ) -> Result<Self> {
        let known = basis.known;
        let writers = Writers::since(txn.conn, txn.here.root, basis.since)?;
        Ok(Self {
            authors: Authors {
                context,
                overall: txn.observation(context.observation)?,
                writers,
            },
            visibility: Visibility::new(
                txn.conn,
                txn.dir,
                txn.here.root,
                known,
                basis.excludes,
                found,
            )?,
            has_rows: !known.is_empty() || file_state::any(txn.conn, txn.here.root)?,
            any_reserved: reserved::any(txn.conn)?,
            aftermath: OnceCell::new(),
            scanned_before: basis.scanned_before,
            txn,
            known,
        })
    }

    pub(super) fn visibility(&self) -> &Visibility<'a> {
        &self.visibility
    }

    /// Returns the decisions on all findings that still differ from the record.
    pub(super) fn decisions(
        &self,
        found: Vec<Found>,
        observed_by: Observed,
    ) -> Result<Vec<Decision>> {
        let mut decisions = Vec::new();
        for found in found {
            if let Some(facts) = self.facts(found)? {
                decisions.push(decide(facts, &self.authors, observed_by));
            }
        }
        Ok(decisions)
    }

    /// Returns the facts about a found path, or None if the record already has its image.
    fn facts(&self, found: Found) -> Result<Option<PathFacts>> {
        let row = self.row(&found.path)?;
        if row.as_ref().is_some_and(|row| row.image == found.image) {
            return Ok(None);
        }
        let row = match row {
            Some(row) if row.image.object().is_some() => {
                file_state::get(self.txn.conn, self.txn.here.root, &found.path)?
            }
            row => row,
        };
        let before = row.as_ref().map_or(Image::Absent, |r| r.image);
        let found = self.current(found, row.as_ref())?;
        if found.image == before {
            return Ok(None);
        }
        let reserved = self.reserved(&found.path)?;
        let leave = self.authors.leaves(&found.path, reserved);
        let stored =
            (!leave || is_rule_file(&found.path)) && self.txn.store_found(&found, &before)?;
        let mut facts = PathFacts {
            path: found.path,
            image: found.image,
            stat: found.stat,
            stat_above: None,
            row,
            reserved,
            explained: false,
            by_hook: None,
            stored,
            was_out_of_sight: false,
            made_dirs: 0,
            waiting: None,
        };
        if leave || !stored {
            return Ok(Some(facts));
        }
        if self.authors.ask_for_time() && facts.stat.is_none() {
            facts.stat_above = self.txn.root.stat_above(&facts.path);
        }
        if facts.row.is_none() {
            let path = &facts.path;
            facts.was_out_of_sight = !self.scanned_before || self.visibility.was_out_of_sight(path);
            if !facts.was_out_of_sight {
                facts.made_dirs = self.visibility.made_dirs(path)?;
            }
        }
        if !facts.has_unknown_past() {
            let named = facts.reserved.as_ref();
            let named = named.or_else(|| self.authors.context.unreported.get(&facts.path));
            facts.explained = match named {
                Some(by) => is_explained(self.txn, by.call, before, facts.image)?,
                None => false,
            };
            if named.is_none() && !self.authors.writers.any() {
                let stat = facts.stat.as_ref();
                facts.by_hook = match self.in_aftermath(&facts)? {
                    Some(by) => Some(calls::by_hook(by)),
                    None => after_call::by_hooks(self.txn, facts.row.as_ref(), facts.image, stat)?,
                };
            }
            facts.waiting = self.waiting(&facts)?;
        }
        Ok(Some(facts))
    }

    /// Returns the command whose processes may have made a change after its report.
    fn in_aftermath(&self, facts: &PathFacts) -> Result<Option<Writer>> {
        if self.aftermath.get().is_none() {
            let found = interrupts::aftermath(self.txn.conn, self.txn.here.root)?;
            self.aftermath.set(found).ok();
        }
        let Some((by, until)) = self.aftermath.get().copied().flatten() else {
            return Ok(None);
        };
        let stat = facts.stat.or_else(|| self.txn.root.stat_above(&facts.path));
        let is_later = stat.is_none_or(|stat| stat.is_changed_since(until.saturating_mul(1000)));
        Ok((!is_later).then_some(by))
    }

    /// Returns the row of a path. The first scan looks up no rows path by path.
    fn row(&self, path: &RelPath) -> Result<Option<FileState>> {
        if !self.has_rows {
            return Ok(None);
        }
        file_state::row(self.txn.conn, self.txn.here.root, path)
    }

    /// Returns the finding if it is still current, otherwise reads the path again.
    fn current(&self, found: Found, row: Option<&FileState>) -> Result<Found> {
        // only the first scan trusts a git object as it is
        let late_git_object =
            found.image.object().is_some() && (row.is_some() || self.scanned_before);
        let scanned_row = self.known.get(&found.path);
        let recorded_since = row.map(|r| r.generation) != scanned_row.map(|k| k.generation);
        let changed_since =
            self.scanned_before && !self.txn.is_unchanged(&found.path, &found.image, found.stat);
        if !(late_git_object || recorded_since || changed_since) {
            return Ok(found);
        }
        let record = row.map_or(Image::Absent, |r| r.image);
        let mut now = self.txn.root.reread_entry(&found.path, &record)?;
        self.txn.pending.overlay(&found.path, record, &mut now);
        Ok(Found {
            path: found.path,
            image: now.image,
            stat: now.stat,
            bytes: now.bytes,
        })
    }

    /// Returns the open edit call that has reserved the path.
    fn reserved(&self, path: &RelPath) -> Result<Option<Writer>> {
        if !self.any_reserved {
            return Ok(None);
        }
        calls::reserved(self.txn.conn, self.txn.here.root, path)
    }

    /// Returns the pending save of the recorded image. The texts are compared for a change by the
    /// user only: an agent always starts from the disk.
    fn waiting(&self, facts: &PathFacts) -> Result<Option<Waiting>> {
        let waiting = facts.row.as_ref().zip(self.txn.pending.get(&facts.path));
        let Some((_, save)) = waiting.filter(|(row, save)| save.wanted == row.image) else {
            return Ok(None);
        };
        let by_agent = self.authors.of(facts).origin.session.is_some();
        Ok(Some(Waiting {
            based_on_disk: !by_agent && self.txn.is_based_on_disk(save, facts.image)?,
            save: save.clone(),
        }))
    }
}
