//! Switches to another branch: every file changes from its state at this head to its state at the other head. A switch
//! records no node, except for carried edits, which become a node on the other branch.

mod branch_path;
mod carried;
mod record;

use std::collections::{BTreeMap, BTreeSet};

use super::goal::SwitchTarget;
use super::not_captured::{gap_of, not_captured, opaque};
use super::plan::PlanBuilder;
use super::replay::Replay;
use super::types::{Conflict, FilePlan, Gap, GapKind, OnConflict, SwitchBranch};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, OpKind, Operation, branches};
use crate::model::{ChangeId, FileId, FileVersion, NodeId, RelPath};
use branch_path::{BranchPath, vacated_paths};
use carried::EditsByFile;

impl PlanBuilder<'_> {
    /// Plans a switch: every file changes to its state on the other branch, with the carried edits.
    pub(super) fn switch(&mut self, target: &SwitchTarget) -> Result<()> {
        let engine = self.engine;
        let conn = &engine.store.conn;
        let to = self.head_of_target(target)?;
        let ancestry = Ancestry::new(conn);
        let done = target
            .of
            .map(|op| history::operation(conn, op))
            .transpose()?;
        let is_of = |kind| done.as_ref().filter(|_| target.kind == kind);
        let carried = if let Some(done) = is_of(OpKind::Redo) {
            engine.restore().carried_by(done)?
        } else if target.carry {
            engine.restore().users_edits(&ancestry, self.head)?
        } else {
            EditsByFile::new()
        };
        let mut brought = BTreeMap::new();
        if let Some(done) = is_of(OpKind::Undo) {
            self.uncarry(&ancestry, done)?;
            brought = engine.restore().brought_by(done)?;
        }
        let changed = engine.history().files_between(&ancestry, self.head, to)?;
        let mut files = changed.clone();
        files.extend(engine.history().adopted_between(&ancestry, self.head, to)?);
        files.extend(carried.keys());
        let files: Vec<BranchPath> = files
            .into_iter()
            .map(|file| engine.restore().branch_path(&ancestry, file, self.head, to))
            .collect::<Result<_>>()?;
        // created by the switch that is undone, where the other branch does not know it
        let leaves = |f: &BranchPath| {
            f.after.is_none() && brought.get(&f.file).is_some_and(|made| *made == f.before)
        };
        let mut vacated = vacated_paths(&files);
        let leaving = files.iter().filter(|f| leaves(f));
        vacated.extend(leaving.filter_map(|f| f.before.as_ref().map(|p| p.path.clone())));
        for part in files.iter().filter(|f| leaves(f)) {
            self.take(FilePlan::of_states(part.file, part.before.clone(), None));
        }
        for BranchPath {
            file,
            before,
            after,
        } in &files
        {
            let Some(after) = after else {
                continue;
            };
            if before.is_none() && self.is_on_disk(after, &vacated)? {
                continue;
            }
            let mut part = FilePlan::of_states(*file, before.clone(), after.clone());
            if let Some(edits) = carried.get(file)
                && !self.carry(&ancestry, target, to, edits, &mut part)?
            {
                continue;
            }
            self.take(part);
        }
        self.delete_in_the_way(&files);
        self.note_changed_unknown_files(&files, &changed, &target.target);
        self.finish(&ancestry, Some(to))
    }

    /// Returns the head of the target branch. Refuses a branch that another directory is on, and a part of a branch.
    fn head_of_target(&self, target: &SwitchTarget) -> Result<NodeId> {
        let engine = self.engine;
        let to = match target.to {
            SwitchBranch::New(node) => return Ok(node),
            SwitchBranch::Existing(branch) => branch,
        };
        let there = branches::info(&engine.store.conn, engine.here, to)?;
        if !self.r.paths.is_empty() {
            return Err(Error::Whole {
                target: target.target.clone(),
                branch: there.name,
            });
        }
        if let Some(dir) = &there.root {
            return Err(Error::refused(
                format!("{} is the branch of {}", there.name, dir.display()),
                "work there, or fork it: a branch has one directory at a time",
            ));
        }
        there
            .head
            .ok_or_else(|| Error::NoStore(engine.root.path.clone()))
    }

    /// True if an arriving file is on disk already, and no other file vacates its path.
    fn is_on_disk(&self, after: &FileVersion, vacated: &BTreeSet<RelPath>) -> Result<bool> {
        let Some(placed) = after.as_ref().filter(|p| !vacated.contains(&p.path)) else {
            return Ok(false);
        };
        let entry = self.engine.root.reread_entry(&placed.path, &placed.image)?;
        Ok(entry.image == placed.image)
    }

    /// Deletes the files that the other branch does not know and whose paths it needs. The others of them stay.
    fn delete_in_the_way(&mut self, files: &[BranchPath]) {
        let after = self.plan.files.iter().filter_map(|f| f.after.as_ref());
        let arriving: BTreeSet<RelPath> = after.map(|placed| placed.path.clone()).collect();
        let planned: BTreeSet<FileId> = self.plan.files.iter().map(|f| f.file).collect();
        let unknown = files.iter().filter(|f| f.after.is_none());
        for BranchPath { file, before, .. } in unknown.filter(|f| !planned.contains(&f.file)) {
            if before.as_ref().is_some_and(|p| arriving.contains(&p.path)) {
                self.take(FilePlan::of_states(*file, before.clone(), None));
            }
        }
    }

    /// Adds gaps for the files that were changed or renamed on this branch, and whose state on the other branch is
    /// unknown. A file that was never changed since its first capture is the same on both, and needs no word.
    fn note_changed_unknown_files(
        &mut self,
        files: &[BranchPath],
        changed: &BTreeSet<FileId>,
        branch: &str,
    ) {
        let planned: BTreeSet<FileId> = self.plan.files.iter().map(|f| f.file).collect();
        let stays = |f: &&BranchPath| {
            f.after.is_none() && changed.contains(&f.file) && !planned.contains(&f.file)
        };
        for placed in files.iter().filter(stays).filter_map(|f| f.before.as_ref()) {
            self.plan.gaps.push(Gap {
                path: Some(placed.path.bytes().to_vec()),
                kind: GapKind::Unknown,
                detail: format!("its state on {branch} is not known; it stays as it is"),
            });
        }
    }

    /// Adds a file to the plan, or skips it if one of its contents was not captured.
    fn take(&mut self, part: FilePlan) {
        if part.before == part.after && !part.as_user && part.put_back.is_empty() {
            return;
        }
        let unkept = opaque(&part.before).or_else(|| opaque(&part.after));
        let at = part.before.as_ref().or(part.after.as_ref());
        match (unkept, at) {
            (Some(why), Some(at)) => self.skip(at.path.clone(), gap_of(why), not_captured(why)),
            _ => self.plan.files.push(part),
        }
    }

    /// Takes out the edits that the undone switch had carried to this branch.
    fn uncarry(&mut self, ancestry: &Ancestry<'_>, done: &Operation) -> Result<()> {
        let engine = self.engine;
        let there = done.to_branch.unwrap_or(engine.here.branch);
        let there = branches::info(&engine.store.conn, engine.here, there)?;
        let Some(head) = there.head else {
            return Ok(());
        };
        for (file, edits) in engine.restore().carried_by(done)? {
            let now = history::in_force(ancestry, file, head)?;
            let out: BTreeSet<ChangeId> = now.intersection(&edits).copied().collect();
            if out.is_empty() || there.deleted {
                continue;
            }
            if !there.current {
                let name = &there.name;
                return Err(Error::refused(
                    format!(
                        "{} carried your edits to {name}, which is not the current branch",
                        done.id
                    ),
                    Hint::UndoThere {
                        op: done.id,
                        branch: name.clone(),
                    },
                ));
            }
            let before = history::state_at(ancestry, file, head)?;
            let wanted: BTreeSet<ChangeId> = now.difference(&out).copied().collect();
            let outcome = Replay {
                store: &engine.store,
                file,
                current: &before,
                now: &now,
                wanted: &wanted,
                on_conflict: self.r.on_conflict,
                target: "without what was carried",
            }
            .run()?;
            let at = before
                .as_ref()
                .or(outcome.state.as_ref())
                .map(|p| p.path.clone());
            if let (Some(why), Some(at)) = (outcome.opaque.or_else(|| opaque(&before)), at) {
                let why = gap_of(why);
                self.skip(
                    at,
                    why,
                    "its content was not captured; the carried edits stay there",
                );
                continue;
            }
            let collide = !outcome.conflicts.is_empty();
            self.collide(outcome.conflicts, &format!("carried to {}", there.name));
            if collide && self.r.on_conflict == OnConflict::Fail {
                continue;
            }
            self.plan.left.push(FilePlan {
                file,
                before,
                after: outcome.state,
                taken_out: out.into_iter().collect(),
                put_back: Vec::new(),
                as_user: collide,
                merged: outcome.merged,
                new_content: outcome.content,
            });
        }
        self.plan.left.retain(|f| !f.as_user || f.before != f.after);
        Ok(())
    }

    fn collide(&mut self, conflicts: Vec<Conflict>, with: &str) {
        let resolution = self.r.on_conflict.resolution();
        self.plan
            .conflicts
            .extend(conflicts.into_iter().map(|c| Conflict {
                resolution,
                reason: format!("{with}: {}", c.reason),
                ..c
            }));
    }

    /// Merges the user's edits onto the other branch's state. Returns `false` on an unresolved conflict.
    fn carry(
        &mut self,
        ancestry: &Ancestry<'_>,
        target: &SwitchTarget,
        to: NodeId,
        edits: &BTreeSet<ChangeId>,
        part: &mut FilePlan,
    ) -> Result<bool> {
        let now = history::in_force(ancestry, part.file, to)?;
        let wanted: BTreeSet<ChangeId> = now.union(edits).copied().collect();
        if wanted == now {
            return Ok(true);
        }
        let mut replay = Replay {
            store: &self.engine.store,
            file: part.file,
            current: &part.after,
            now: &now,
            wanted: &wanted,
            // the replay takes put-back edits as the target's side; for the user they are the current side
            on_conflict: match self.r.on_conflict {
                OnConflict::Current => OnConflict::Target,
                OnConflict::Target => OnConflict::Current,
                other => other,
            },
            target: "your edits",
        };
        let mut outcome = replay.run()?;
        let collide = !outcome.conflicts.is_empty();
        if collide && self.r.on_conflict == OnConflict::Markers && outcome.state == part.after {
            // a file without lines cannot hold markers: the carried edits win
            replay.on_conflict = OnConflict::Target;
            outcome = replay.run()?;
        }
        let conflicts = std::mem::take(&mut outcome.conflicts);
        self.collide(conflicts, &format!("carried to {}", target.target));
        if collide && self.r.on_conflict == OnConflict::Fail {
            return Ok(false);
        }
        if target.kind == OpKind::Redo && !collide {
            // the same edits return, not new ones
            part.put_back = wanted.difference(&now).copied().collect();
        } else {
            part.as_user = outcome.state != part.after;
        }
        part.merged = outcome.merged;
        part.new_content = outcome.content;
        part.after = outcome.state;
        Ok(true)
    }
}
