//! Plan under construction: the states of each file, merged and decided, and the order in which the rest is added.

use std::collections::{BTreeMap, BTreeSet};

use super::file_decision::{FileDecision, PlannedChange};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, OpKind, subject};
use crate::model::{ChangeId, FileId, FileVersion, Image, NodeId, Placed, RelPath};
use crate::restore::goal::{EditPlan, SetDelta};
use crate::restore::marker_label;
use crate::restore::not_captured::{gap_of, not_captured, opaque};
use crate::restore::replay::{MergeOutcome, Replay};
use crate::restore::types::{
    Action, ActionKind, Conflict, FilePlan, Gap, GapKind, OnConflict, Plan, Request,
};
use crate::worktree::file_state;

pub(in crate::restore) struct PlanBuilder<'a> {
    pub engine: &'a Engine,
    pub r: &'a Request,
    pub head: NodeId,
    pub plan: Plan,
    pub(super) matched_hunks: BTreeSet<String>,
    /// Conflicts that count only if a chosen hunk is in their file.
    pub(super) hunk_conflicts: Vec<Conflict>,
    /// True if a file that would change is outside the requested paths.
    pub(super) leaves_files: bool,
    /// Paths that stay as they are because an editor that cannot be asked has unsaved text there, with its name.
    pub(super) left: BTreeMap<RelPath, String>,
}

impl PlanBuilder<'_> {
    pub(super) fn fill(&mut self, edits: &EditPlan) -> Result<()> {
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        let label = self.marker_label()?;
        self.plan.gaps.clone_from(&edits.gaps);
        self.plan.nothing.clone_from(&edits.nothing);
        for (file, moves) in &edits.moves {
            if moves.is_empty() {
                continue;
            }
            self.file(&ancestry, edits, &label, *file, moves)?;
        }
        if !self.r.hunks.is_empty() {
            let unknown: Vec<&str> = self
                .r
                .hunks
                .iter()
                .filter(|h| !self.matched_hunks.contains(*h))
                .map(String::as_str)
                .collect();
            if !unknown.is_empty() && !self.hunk_conflicts.is_empty() {
                self.plan.conflicts.append(&mut self.hunk_conflicts);
            } else if !unknown.is_empty() {
                return Err(Error::refused(
                    format!("no hunk {} in what would be restored", unknown.join(", ")),
                    Hint::Hunks,
                ));
            }
        }
        self.finish(&ancestry, edits.node)
    }

    /// Completes the plan: obstacles, gaps, actions, documents and fingerprint.
    pub(in crate::restore) fn finish(
        &mut self,
        ancestry: &Ancestry<'_>,
        target: Option<NodeId>,
    ) -> Result<()> {
        self.leave_version_control()?;
        self.unreadable()?;
        self.skip_blocked();
        self.collisions()?;
        self.fixed();
        self.gaps(ancestry, target)?;
        self.note_git_branch();
        self.note_ignored_that_come_back();
        self.actions();
        self.late_saves()?;
        self.directories(ancestry)?;
        self.plan.about_files = self.fingerprint();
        self.documents()?;
        self.plan.fingerprint = if self.plan.documents.is_empty() && self.plan.held.is_empty() {
            self.plan.about_files.clone()
        } else {
            self.fingerprint()
        };
        Ok(())
    }

    /// Returns the label of the target's side in conflict markers; empty where none are written.
    pub(in crate::restore) fn marker_label(&self) -> Result<String> {
        if self.r.on_conflict != OnConflict::Markers {
            return Ok(String::new());
        }
        let (conn, here) = (&self.engine.store.conn, self.engine.here);
        let about = (self.plan.target.as_str(), &self.plan.limits);
        let subject = subject::find(conn, here, self.plan.kind, about, self.plan.of)?;
        Ok(marker_label::of(&subject))
    }

    fn within_scope(&self, states: &[&FileVersion]) -> bool {
        let mut placed = states.iter().filter_map(|s| s.as_ref());
        self.r.paths.is_empty() || placed.any(|p| self.is_in_scope(&p.path))
    }

    pub(super) fn is_in_scope(&self, path: &RelPath) -> bool {
        let scopes = &self.r.paths;
        scopes.is_empty() || scopes.iter().any(|scope| path.within(scope.bytes()))
    }

    /// Adds one file to the plan: its change, its conflicts, or the reason why it stays as it is.
    fn file(
        &mut self,
        ancestry: &Ancestry<'_>,
        edits: &EditPlan,
        label: &str,
        file: FileId,
        moves: &SetDelta,
    ) -> Result<()> {
        let current = self
            .engine
            .history()
            .state_known(ancestry, file, self.head)?;
        let outcome = self.merge_outcome(ancestry, label, file, moves, &current)?;
        if !self.within_scope(&[&current, &outcome.state]) {
            self.leaves_files |= current != outcome.state;
            return Ok(());
        }
        let part = FilePlan {
            file,
            before: current,
            after: outcome.state,
            taken_out: moves.take_out.iter().copied().collect(),
            put_back: moves.put_back.iter().copied().collect(),
            as_user: !outcome.conflicts.is_empty() || moves.arrives.is_some(),
            merged: outcome.merged,
            new_content: outcome.content,
        };
        self.note_written_again(&part, edits.kind)?;
        let by_hunk = !self.r.hunks.is_empty();
        let on_conflict = self.r.on_conflict;
        match FileDecision::of(
            part,
            outcome.opaque,
            outcome.conflicts,
            on_conflict,
            by_hunk,
        ) {
            FileDecision::Unchanged => Ok(()),
            FileDecision::NotCaptured(path, why) => {
                self.skip(path, gap_of(why), not_captured(why));
                Ok(())
            }
            FileDecision::Undecided(conflicts) => {
                self.plan.undecided.extend(&moves.take_out);
                self.plan.conflicts.extend(conflicts);
                Ok(())
            }
            FileDecision::Change(change) => self.add_change(*change),
        }
    }

    /// Adds a gap for a file that stays although the edits that made it are taken out, since it was deleted and written
    /// again.
    fn note_written_again(&mut self, part: &FilePlan, kind: OpKind) -> Result<()> {
        let stays = part.before == part.after && !part.as_user;
        let (Some(placed), Some(oldest)) = (&part.before, part.taken_out.first()) else {
            return Ok(());
        };
        if !stays || kind != OpKind::Rewind || !part.put_back.is_empty() {
            return Ok(());
        }
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        for id in history::in_force(&ancestry, part.file, self.head)? {
            if id < *oldest || part.taken_out.contains(&id) {
                continue;
            }
            if history::change(conn, id)?.after.is_none() {
                self.plan.gaps.push(Gap {
                    path: Some(placed.path.bytes().to_vec()),
                    kind: GapKind::Unknown,
                    detail: "it was deleted and written again since; it stays as it is".into(),
                });
                break;
            }
        }
        Ok(())
    }

    /// Builds the state of a file without the edits to take out and with those to put back.
    fn merge_outcome(
        &mut self,
        ancestry: &Ancestry<'_>,
        label: &str,
        file: FileId,
        moves: &SetDelta,
        current: &FileVersion,
    ) -> Result<MergeOutcome> {
        if let Some(placed) = &moves.arrives {
            let stays = current.is_none() && self.stands_unnamed(placed)?;
            let state = Some(placed.clone()).filter(|_| !stays);
            return Ok(MergeOutcome {
                opaque: opaque(&state),
                state,
                ..MergeOutcome::default()
            });
        }
        let now = history::in_force(ancestry, file, self.head)?;
        let mut wanted: BTreeSet<ChangeId> = now.difference(&moves.take_out).copied().collect();
        wanted.extend(&moves.put_back);
        let mut replay = Replay {
            store: &self.engine.store,
            file,
            current,
            now: &now,
            wanted: &wanted,
            on_conflict: self.r.on_conflict,
            target: label,
        };
        // the file was first captured on another branch: without an edit here it is absent
        let elsewhere =
            wanted.is_empty() && !self.engine.history().seen_at(ancestry, file, self.head)?;
        let mut outcome = if elsewhere {
            MergeOutcome::default()
        } else {
            replay.run()?
        };
        let fails = self.r.on_conflict == OnConflict::Fail && !outcome.conflicts.is_empty();
        if fails && !self.r.hunks.is_empty() && self.within_scope(&[current]) {
            // a chosen hunk may lie outside the conflicts; it is the same with the rest left as it is
            self.hunk_conflicts.append(&mut outcome.conflicts);
            replay.on_conflict = OnConflict::Current;
            outcome = replay.run()?;
        }
        Ok(outcome)
    }

    /// True if an arriving file is on disk already: untracked, or captured on this branch without an identity.
    fn stands_unnamed(&self, placed: &Placed) -> Result<bool> {
        let row = file_state::get(&self.engine.store.conn, self.engine.here.root, &placed.path)?;
        let is_unnamed = row.is_none_or(|row| row.file.is_none());
        let there = || self.engine.root.reread_entry(&placed.path, &placed.image);
        Ok(is_unnamed && there()?.image == placed.image)
    }

    /// Adds a change, as far as it is in the chosen hunks, with its conflicts.
    fn add_change(&mut self, change: PlannedChange) -> Result<()> {
        let mut part = change.part;
        if !self.r.hunks.is_empty() && !self.pick(&mut part)? {
            return Ok(());
        }
        if let Some((path, why)) = change.left {
            self.skip(path, GapKind::Failed, &format!("left as it is: {why}"));
        }
        self.plan.conflicts.extend(change.conflicts);
        if !part.as_user || part.before != part.after {
            self.plan.files.push(part);
        }
        Ok(())
    }

    pub(in crate::restore) fn skip(&mut self, path: RelPath, kind: GapKind, why: &str) {
        self.plan.gaps.push(Gap {
            path: Some(path.bytes().to_vec()),
            kind,
            detail: why.into(),
        });
        self.plan.actions.push(Action {
            path,
            kind: ActionKind::Skip,
            from: None,
            reason: Some(why.into()),
            before: Image::Absent,
            after: Image::Absent,
        });
    }
}
