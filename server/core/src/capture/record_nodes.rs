//! Records transitions as nodes and changes of the history, and updates the file states to them.

use std::collections::BTreeSet;

use super::calls::{self, Observation};
use super::transition::Transition;
use super::write_txn::{ScanContext, WriteTxn};
use crate::error::Result;
use crate::history::{self, NewChange, hunks};
use crate::model::{
    CallId, ChangeId, Coverage, CoverageItem, FileVersion, Kind, NodeId, Reason, SessionId, TurnId,
};
use crate::store;
use crate::store::tables::root::scan;
use crate::store::tables::{call, file};
use crate::worktree::disk::NO_STAT;
use crate::worktree::file_state::{self, FileState};
use crate::worktree::pending_saves;

/// Hunks are recorded eagerly for nodes with at most this many changes.
const MAX_EAGER_HUNKS: usize = 32;

impl WriteTxn<'_> {
    /// Records transitions as nodes and updates the file state rows. With `always`, a node is made
    /// even without transitions.
    pub(crate) fn record(
        &self,
        steps: &[Transition],
        context: &ScanContext,
        coverage: &Coverage,
        always: bool,
        generation: i64,
    ) -> Result<Option<NodeId>> {
        if steps.is_empty() && !always {
            return Ok(None);
        }
        // changes of the call that ends are its step; others come before it, in their own node
        let mut last = None;
        let owners: BTreeSet<Option<CallId>> =
            steps.iter().map(|s| s.attribution.origin.call).collect();
        let end_of = match context.observation {
            Observation::AtEndOf(writer) | Observation::Interrupted(writer) => Some(writer.call),
            _ => None,
        };
        let ordered = owners
            .iter()
            .copied()
            .filter(|o| end_of.is_none() || *o != end_of)
            .chain(
                end_of
                    .filter(|_| always || owners.contains(&end_of))
                    .map(Some),
            )
            .collect::<Vec<_>>();
        let ordered = if ordered.is_empty() {
            vec![None]
        } else {
            ordered
        };
        let last_index = ordered.len() - 1;
        for (index, owner) in ordered.into_iter().enumerate() {
            let own: Vec<&Transition> = steps
                .iter()
                .filter(|s| s.attribution.origin.call == owner)
                .collect();
            let head = self.head()?;
            let (kind, session, turn, call) = if let Some(call) = owner {
                let by = call::row(self.conn, call)?;
                (Kind::Step, Some(by.session), by.turn, Some(call))
            } else {
                let (session, turn) = self.common_session(&own)?;
                (Kind::External, session, turn, None)
            };
            let none = Coverage::default();
            let coverage = if index == last_index { coverage } else { &none };
            let made = self.node(kind, session, turn, call, None, coverage)?;
            // with more changes, line-by-line questions are unlikely to follow
            let eager = own.len() <= MAX_EAGER_HUNKS;
            for step in own {
                let change = self.record_step(made, head, step, generation)?;
                if eager {
                    hunks::note(self.conn, self.dir, change, &step.before, &step.after)?;
                }
            }
            last = Some(made);
        }
        Ok(last)
    }

    /// Returns the session and turn of changes by an unknown writer, if all of them point to one
    /// session.
    fn common_session(&self, own: &[&Transition]) -> Result<(Option<SessionId>, Option<TurnId>)> {
        let mut sessions = own.iter().map(|s| s.attribution.origin.session);
        let Some(Some(session)) = sessions.next() else {
            return Ok((None, None));
        };
        if sessions.any(|s| s != Some(session)) {
            return Ok((None, None));
        }
        Ok((Some(session), calls::turn(self.conn, session, None)?))
    }

    fn record_step(
        &self,
        node: NodeId,
        head: Option<NodeId>,
        step: &Transition,
        generation: i64,
    ) -> Result<ChangeId> {
        let root = self.here.root;
        let path = |state: &FileVersion| state.as_ref().map(|p| p.path.clone());
        let (from, to) = (path(&step.before), path(&step.after));
        let file = match (step.file, from.as_ref().or(to.as_ref())) {
            (Some(file), _) => file,
            (None, Some(at)) if from.is_none() => match file::gone_at(self.conn, root, at)? {
                Some(file) => file,
                None => file::insert(self.conn, None)?,
            },
            (None, Some(at)) => file_state::identify(self.conn, at, step.since)?,
            (None, None) => file::insert(self.conn, step.since)?,
        };
        let change = NewChange {
            node,
            file,
            before: &step.before,
            after: &step.after,
            origin: step.attribution.origin,
            provisional: step.attribution.provisional,
            made_dirs: step.made_dirs,
        };
        let change = history::insert_edit(self.conn, head, &change)?;
        for path in [&from, &to].into_iter().flatten() {
            if self.pending.get(path).is_some() {
                pending_saves::done(self.conn, root, path)?;
            }
        }
        if from != to
            && let Some(from) = &from
        {
            file_state::remove(self.conn, root, from)?;
        }
        match &step.after {
            Some(placed) => {
                let row = FileState {
                    image: placed.image,
                    file: Some(file),
                    since: step.since,
                    generation,
                    stat: step.stat.unwrap_or(NO_STAT),
                };
                file_state::put(self.conn, root, &placed.path, &row, step.observed_by)?;
                file::set_gone(self.conn, root, file, None)?;
            }
            None => file::set_gone(self.conn, root, file, from.as_ref())?,
        }
        Ok(change)
    }

    /// Records the gaps that hooks left behind as a separate node.
    pub(crate) fn record_gaps(&self) -> Result<Option<store::gaps::TakenGaps>> {
        let Some(gaps) = store::gaps::take(self.conn, self.dir)? else {
            return Ok(None);
        };
        let mut coverage = Coverage::default();
        for detail in &gaps.gaps {
            // gaps have no path that tells them apart
            if coverage.items.iter().all(|item| item.detail != *detail) {
                coverage.items.push(CoverageItem {
                    path: b".".to_vec(),
                    reason: Reason::Failed,
                    detail: detail.clone(),
                });
            }
        }
        if !coverage.items.is_empty() {
            let label = Some("not recorded");
            self.node(Kind::External, None, None, None, label, &coverage)?;
            // the next scan finds the agent's changes of that time, with no known author
            scan::mark_unrecorded(self.conn)?;
        }
        Ok(Some(gaps))
    }
}
