//! Switches to another branch: every file changes from its state at this head to its state at the other head. A switch
//! records no node, except for carried edits, which become a node on the other branch.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;
use std::path::Path;

use rusqlite::Connection;

use super::Restore;
use super::goal::SwitchTarget;
use super::journal::{self, JournalEdit, JournalEntry, JournalFile};
use super::not_captured::{gap_of, not_captured, opaque};
use super::plan::PlanBuilder;
use super::record::record_documents;
use super::replay::Replay;
use super::types::{Conflict, FilePlan, Gap, GapKind, OnConflict, SwitchBranch};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, NewChange, NewNode, OpKind, Operation, branches};
use crate::model::{
    BranchId, ChangeId, Coverage, FileId, FileVersion, GitHead, Here, Image, Kind, NodeId, OpId,
    Origin, RelPath, Role,
};
use crate::store::tables::root::{self, scan};
use crate::store::tables::{file, node, operation};
use crate::store::{self, Durable};
use crate::worktree::disk::{NO_STAT, Root, Stat};
use crate::worktree::file_state::{self, FileState};
use crate::worktree::ignore_rules::{Rules, was_ignored};
use crate::worktree::{backed_content, pending_saves};

impl PlanBuilder<'_> {
    /// Plans a switch: every file changes to its state on the other branch, with the carried edits.
    pub(super) fn switch(&mut self, turnout: &SwitchTarget) -> Result<()> {
        let engine = self.engine;
        let conn = &engine.store.conn;
        let to = self.head_of_target(turnout)?;
        let ancestry = Ancestry::new(conn);
        let done = turnout
            .of
            .map(|op| history::operation(conn, op))
            .transpose()?;
        let carried = match (&done, turnout.kind) {
            (Some(done), OpKind::Redo) => engine.restore().carried_by(done)?,
            _ if turnout.carry => engine.restore().users_edits(&ancestry, self.head)?,
            _ => EditsByFile::new(),
        };
        let mut brought = BTreeMap::new();
        if let (Some(done), OpKind::Undo) = (&done, turnout.kind) {
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
                && !self.carry(&ancestry, turnout, to, edits, &mut part)?
            {
                continue;
            }
            self.take(part);
        }
        self.delete_in_the_way(&files);
        self.note_changed_unknown_files(&files, &changed, &turnout.target);
        self.finish(&ancestry, Some(to))
    }

    /// Returns the head of the target branch. Refuses a branch that another directory is on, and a part of a branch.
    fn head_of_target(&self, turnout: &SwitchTarget) -> Result<NodeId> {
        let engine = self.engine;
        let to = match turnout.to {
            SwitchBranch::New(node) => return Ok(node),
            SwitchBranch::Existing(branch) => branch,
        };
        let there = branches::info(&engine.store.conn, engine.here, to)?;
        if !self.r.paths.is_empty() {
            return Err(Error::Whole {
                target: turnout.target.clone(),
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
        turnout: &SwitchTarget,
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
        self.collide(conflicts, &format!("carried to {}", turnout.target));
        if collide && self.r.on_conflict == OnConflict::Fail {
            return Ok(false);
        }
        if turnout.kind == OpKind::Redo && !collide {
            // the same edits are put back, not new ones
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

/// Edits by file.
type EditsByFile = BTreeMap<FileId, BTreeSet<ChangeId>>;

/// States of a file on both branches.
#[derive(Debug)]
struct BranchPath {
    file: FileId,
    before: FileVersion,
    /// None: the file is not known on the other branch.
    after: Option<FileVersion>,
}

impl Restore<&mut Engine> {
    /// Records a switch from its journal: the root's branch, the new file states, and the carried edits. Returns the
    /// new head.
    pub(super) fn record_switch(&mut self, op: OpId, to: BranchId) -> Result<NodeId> {
        let record = self.switch_record(op, to)?;
        let (root, dir) = (&self.engine.root, &self.engine.store.dir);
        let node = self
            .engine
            .store
            .write(Durable::Power, |conn| record.write(conn, root, dir))?;
        self.engine.here = record.there;
        crate::fault::point("recorded");
        Ok(node)
    }
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Returns the user's edits that a switch carries: recorded on this branch since this root switched to it, with
    /// only such edits after them.
    fn users_edits(&self, ancestry: &Ancestry<'_>, head: NodeId) -> Result<EditsByFile> {
        let conn = &self.engine.store.conn;
        let came = self.came_here_at()?;
        let mut edits = EditsByFile::new();
        let mut at = Some(head);
        while let Some(id) = at.filter(|id| Some(*id) > came) {
            let node = history::node(conn, id)?;
            let changes = history::changes_of_node(conn, id)?;
            let users = |c: &crate::model::Change| c.role == Role::Edit && c.origin == Origin::USER;
            // a squashed checkpoint is the user's alone if no agent had a part in it
            let is_users = match (&node.kind, &node.squashed) {
                (Kind::External, _) => true,
                (Kind::Squash, Some(of)) => of.turns == 0 && of.agents.is_empty(),
                _ => false,
            };
            if !is_users || node.branch != self.engine.here.branch || !changes.iter().all(users) {
                break;
            }
            for change in changes {
                edits.entry(change.file).or_default().insert(change.id);
            }
            at = ancestry.parent(id)?;
        }
        Ok(edits)
    }

    /// Returns the head of this branch when this root switched to it. None: the root has always been on it.
    fn came_here_at(&self) -> Result<Option<NodeId>> {
        let all = history::operations(&self.engine.store.conn)?;
        let stands = |op: &Operation| match (op.kind, op.of) {
            (OpKind::Switch, _) => op.undone_by.is_none(),
            (OpKind::Redo, Some(of)) => all.iter().any(|o| o.id == of && o.undone_by.is_none()),
            // an undo returns to the state before the switch
            _ => false,
        };
        let came = all.iter().find(|op| {
            op.root == self.engine.here.root
                && op.to_branch == Some(self.engine.here.branch)
                && op.is_finished()
                && stands(op)
        });
        Ok(came.and_then(|op| op.node))
    }

    /// Returns the edits that a switch, or its redo, recorded for carried edits.
    fn carried_by(&self, done: &Operation) -> Result<EditsByFile> {
        let conn = &self.engine.store.conn;
        let mut edits = EditsByFile::new();
        for op in history::operations(conn)? {
            let again = op.kind == OpKind::Redo && op.of == Some(done.id);
            if (op.id != done.id && !again) || !op.is_finished() {
                continue;
            }
            let files = journal::files(conn, op.id)?;
            let carried: BTreeSet<FileId> =
                files.iter().filter(|f| f.as_user).map(|f| f.file).collect();
            if carried.is_empty() {
                continue;
            }
            // the first node of the branch after the switch
            let Some(made) = node::first_after(conn, op.to_branch, op.node)? else {
                continue;
            };
            for change in history::changes_of_node(conn, made)? {
                if change.role == Role::Edit && carried.contains(&change.file) {
                    edits.entry(change.file).or_default().insert(change.id);
                }
            }
        }
        Ok(edits)
    }

    /// Returns the files that a switch, or the last redo of it, created on disk.
    fn brought_by(&self, done: &Operation) -> Result<BTreeMap<FileId, FileVersion>> {
        let conn = &self.engine.store.conn;
        let last = history::operations(conn)?.into_iter().find(|op| {
            let again = op.kind == OpKind::Redo && op.of == Some(done.id);
            (op.id == done.id || again) && op.is_finished()
        });
        let files = journal::files(conn, last.map_or(done.id, |op| op.id))?;
        let created = files
            .into_iter()
            .filter(|f| f.before.is_none() && f.after.is_some());
        Ok(created.map(|f| (f.file, f.after)).collect())
    }

    /// Returns the files whose file state a switch changes.
    fn ways(&self, from: NodeId, to: NodeId) -> Result<Vec<BranchPath>> {
        let _moment = self.engine.store.reading()?;
        let ancestry = Ancestry::new(&self.engine.store.conn);
        let mut files = self.engine.history().files_between(&ancestry, from, to)?;
        files.extend(self.engine.history().adopted_between(&ancestry, from, to)?);
        let file = |file| self.branch_path(&ancestry, file, from, to);
        files.into_iter().map(file).collect()
    }

    /// Returns the states of a file at the heads of both branches.
    fn branch_path(
        &self,
        ancestry: &Ancestry<'_>,
        file: FileId,
        from: NodeId,
        to: NodeId,
    ) -> Result<BranchPath> {
        let known_there = self.engine.history().known_at(ancestry, file, to)?;
        let after = known_there.then(|| history::state_at(ancestry, file, to));
        Ok(BranchPath {
            file,
            before: self.engine.history().state_known(ancestry, file, from)?,
            after: after.transpose()?,
        })
    }

    /// Reads what the record of a switch needs. The lock is held, so this does not change before the write.
    fn switch_record(&self, op: OpId, to: BranchId) -> Result<SwitchRecord> {
        let conn = &self.engine.store.conn;
        let lines = journal::lines(conn, op)?;
        let operation = history::operation(conn, op)?;
        let here = self.engine.here;
        let heads = (history::head(conn, here.branch)?, history::head(conn, to)?);
        let (Some(from), Some(target)) = heads else {
            return Err(Error::NoStore(self.engine.root.path.clone()));
        };
        let is_carried = |f: &JournalFile| f.as_user || !f.put_back.is_empty();
        let restored = lines.iter().filter(|l| !l.left);
        let stat = |line: &JournalEntry| {
            let stat = self.engine.root.stat(&line.path)?;
            Some((line.path.clone(), Stat { racy: true, ..stat }))
        };
        Ok(SwitchRecord {
            op,
            here,
            there: Here { branch: to, ..here },
            from,
            target,
            label: format!("{} {}", operation.kind.name(), operation.target),
            files: self.ways(from, target)?,
            only_here: self.unnamed_only_here(target)?,
            carried: journal::files(conn, op)?
                .into_iter()
                .filter(is_carried)
                .collect(),
            uncarried: journal::left(conn, op)?,
            edits: journal::edits(conn, op)?,
            stats: restored.filter_map(stat).collect(),
            incomplete: lines.iter().any(|l| l.left),
            git: crate::git::head(&self.engine.root.path),
        })
    }

    /// Returns the files without identity that were first captured on this branch alone.
    fn unnamed_only_here(&self, target: NodeId) -> Result<Vec<(RelPath, FileState)>> {
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        let mut only_here = Vec::new();
        for (path, row) in file_state::all(conn, self.engine.here.root)? {
            if let (None, Some(since)) = (row.file, row.since)
                && !ancestry.is_ancestor(since, target)?
            {
                only_here.push((path, row));
            }
        }
        Ok(only_here)
    }
}

/// Data for the record of a switch, read before its write transaction.
struct SwitchRecord {
    op: OpId,
    here: Here,
    /// This root on the entered branch.
    there: Here,
    /// Head of the branch being left.
    from: NodeId,
    /// Head of the entered branch.
    target: NodeId,
    /// Label of the nodes that move edits.
    label: String,
    /// Files whose state differs between the branches.
    files: Vec<BranchPath>,
    /// Files without identity that only the branch being left knows.
    only_here: Vec<(RelPath, FileState)>,
    /// Files with edits that the switch carries to the entered branch.
    carried: Vec<JournalFile>,
    /// Files with carried edits that the undo of a switch takes out on the branch being left.
    uncarried: Vec<JournalFile>,
    edits: Vec<JournalEdit>,
    stats: HashMap<RelPath, Stat>,
    /// True if a path was skipped.
    incomplete: bool,
    git: GitHead,
}

impl SwitchRecord {
    /// Writes the record. Returns the new head of the entered branch.
    fn write(&self, conn: &Connection, root: &Root, dir: &Path) -> Result<NodeId> {
        let (here, to) = (self.here, self.there.branch);
        let unsaved = self.unsaved_node(conn)?;
        let records = Records {
            conn,
            here,
            generation: scan::next_generation(conn, here.root)?,
            stats: &self.stats,
        };
        let uncarried = self.uncarried_node(conn)?;
        let unknown_there = self.remove_old_states(conn)?;
        self.place_files(&records)?;
        record_documents(conn, here, self.op, unsaved, &self.edits)?;
        branches::take_over(conn, here.root, to)?;
        root::set_branch(conn, here.root, to)?;
        let found = self.found_on_disk(conn, root, dir, unknown_there)?;
        let arrived = self.arrival_node(conn, !found.is_empty())?;
        if let Some(node) = arrived {
            self.place_carried(&records, node)?;
            records.put_found(found, node)?;
        }
        operation::set_recorded(
            conn,
            self.op,
            (self.target, uncarried.or(arrived)),
            if self.incomplete { "incomplete" } else { "" },
        )?;
        Ok(arrived.unwrap_or(self.target))
    }

    /// Node for the unsaved text of documents on the branch being left. None if there is no such text.
    fn unsaved_node(&self, conn: &Connection) -> Result<Option<NodeId>> {
        let is_unsaved = self.edits.iter().any(|e| e.text.is_some());
        let label = "not saved before a switch";
        is_unsaved
            .then(|| node_of(conn, self.here, Kind::Manual, label, &self.git))
            .transpose()
    }

    /// Node on the branch being left that takes carried edits out. None if there are none.
    fn uncarried_node(&self, conn: &Connection) -> Result<Option<NodeId>> {
        if self.uncarried.is_empty() {
            return Ok(None);
        }
        let node = node_of(conn, self.here, Kind::Rewind, &self.label, &self.git)?;
        for part in &self.uncarried {
            let change = change_of(node, part.file, &part.before, &part.after);
            if part.as_user {
                history::insert_edit(conn, Some(self.from), &change)?;
            } else {
                history::insert_restore(conn, self.from, &change, &part.taken_out, &[])?;
            }
        }
        Ok(Some(node))
    }

    /// Removes the file states that the switch replaces. Returns the files that the entered branch does not know.
    fn remove_old_states(&self, conn: &Connection) -> Result<Vec<(RelPath, Image)>> {
        let here = self.here;
        let mut unknown_there = Vec::new();
        // files first captured on this branch alone get an identity, by which they are found again
        for (path, row) in &self.only_here {
            // within the transaction, since contents referenced from now on must be in the store
            let image = backed_content::materialize(conn, here.root, path, row.image)?;
            let file = file_state::identify(conn, path, row.since)?;
            history::note_base(conn, file, path, image)?;
            file_state::remove(conn, here.root, path)?;
            unknown_there.push((path.clone(), image));
        }
        for file in &self.files {
            if let Some(before) = &file.before {
                file_state::remove(conn, here.root, &before.path)?;
                if file.after.is_none() {
                    unknown_there.push((before.path.clone(), before.image));
                }
            }
        }
        Ok(unknown_there)
    }

    /// Notes the states of the entered branch, and ends the pending saves that the switch replaces.
    fn place_files(&self, records: &Records<'_>) -> Result<()> {
        for file in &self.files {
            if let Some(after) = &file.after {
                records.place(file.file, &file.before, after)?;
            }
            let after = file.after.iter().flatten();
            for placed in file.before.iter().chain(after) {
                pending_saves::done(records.conn, self.here.root, &placed.path)?;
            }
        }
        Ok(())
    }

    /// Returns those of `unknown_there` that are on disk still: the entered branch takes them up, unless it ignores
    /// them.
    fn found_on_disk(
        &self,
        conn: &Connection,
        root: &Root,
        dir: &Path,
        unknown_there: Vec<(RelPath, Image)>,
    ) -> Result<Vec<(RelPath, Image)>> {
        let mut unknown = Vec::new();
        for (path, image) in unknown_there {
            if file_state::get(conn, self.here.root, &path)?.is_none() {
                unknown.push((path, image));
            }
        }
        let mut found = seen_there(conn, self.here, dir, unknown)?;
        found.retain(|(path, _)| root.stat(path).is_some());
        Ok(found)
    }

    /// Node on the entered branch for carried edits and found files. None if there are neither.
    fn arrival_node(&self, conn: &Connection, has_found: bool) -> Result<Option<NodeId>> {
        if self.carried.is_empty() && !has_found {
            return Ok(None);
        }
        let from = branches::info(conn, self.there, self.here.branch)?.name;
        let (kind, label) = arrival_label(&self.carried, &self.label, &from);
        node_of(conn, self.there, kind, &label, &self.git).map(Some)
    }

    /// Records the carried edits at a node of the entered branch, with the file states that they make.
    fn place_carried(&self, records: &Records<'_>, node: NodeId) -> Result<()> {
        let (conn, target) = (records.conn, self.target);
        for part in &self.carried {
            let before = &history::state_at(&Ancestry::new(conn), part.file, target)?;
            let change = change_of(node, part.file, before, &part.after);
            if part.as_user {
                history::insert_edit(conn, Some(target), &change)?;
            } else {
                history::insert_restore(conn, target, &change, &[], &part.put_back)?;
            }
            if let Some(before) = before {
                file_state::remove(conn, self.here.root, &before.path)?;
            }
            records.place(part.file, before, &part.after)?;
        }
        Ok(())
    }
}

/// Kind and label of the node that a switch makes on the branch it enters. `label` is for edits that are put back,
/// `from` is the branch being left.
fn arrival_label(carried: &[JournalFile], label: &str, from: &str) -> (Kind, String) {
    if carried.iter().any(|f| !f.put_back.is_empty()) {
        (Kind::Rewind, label.to_owned())
    } else if carried.is_empty() {
        (Kind::External, "first captured".to_owned())
    } else {
        (Kind::External, format!("carried from {from}"))
    }
}

/// Paths that a file leaves in the switch. Content found at such a path belongs to the file that leaves, even if an
/// arriving file has equal content.
fn vacated_paths(files: &[BranchPath]) -> BTreeSet<RelPath> {
    let vacated = |file: &BranchPath| {
        let from = &file.before.as_ref()?.path;
        let after = file.after.as_ref()?.as_ref();
        let stays = after.is_some_and(|to| to.path == *from);
        (!stays).then(|| from.clone())
    };
    files.iter().filter_map(vacated).collect()
}

/// Writer of file states for files that change on disk.
struct Records<'a> {
    conn: &'a Connection,
    here: Here,
    generation: i64,
    stats: &'a HashMap<RelPath, Stat>,
}

impl Records<'_> {
    fn place(&self, file: FileId, before: &FileVersion, after: &FileVersion) -> Result<()> {
        let Some(after) = after else {
            let left = before.as_ref().map(|p| &p.path);
            return match left {
                Some(_) => file::set_gone(self.conn, self.here.root, file, left),
                None => Ok(()),
            };
        };
        let row = FileState {
            image: after.image,
            file: Some(file),
            since: file::since(self.conn, file)?,
            generation: self.generation,
            // files that were not exchanged are read at the next scan
            stat: self.stats.get(&after.path).copied().unwrap_or(NO_STAT),
        };
        file_state::put(
            self.conn,
            self.here.root,
            &after.path,
            &row,
            file_state::Observed::ByName,
        )?;
        file::set_gone(self.conn, self.here.root, file, None)
    }

    /// Notes files without identity that are first captured at this node.
    fn put_found(&self, found: Vec<(RelPath, Image)>, node: NodeId) -> Result<()> {
        for (path, image) in found {
            let row = FileState {
                image,
                file: None,
                since: Some(node),
                generation: self.generation,
                stat: NO_STAT,
            };
            let observed = file_state::Observed::ByName;
            file_state::put(self.conn, self.here.root, &path, &row, observed)?;
        }
        Ok(())
    }
}

/// Returns the paths that the current rules do not ignore.
fn seen_there(
    conn: &Connection,
    here: Here,
    dir: &Path,
    paths: Vec<(RelPath, Image)>,
) -> Result<Vec<(RelPath, Image)>> {
    if paths.is_empty() {
        return Ok(paths);
    }
    let rules = Rules::base(&file_state::excludes(conn, here.root)?.unwrap_or_default());
    let mut failed = None;
    let mut text = |file: &RelPath| {
        let read = || -> Result<Option<Vec<u8>>> {
            let row = file_state::get(conn, here.root, file)?;
            let content = row.and_then(|row| row.image.content());
            content.map(|id| store::get(conn, dir, &id)).transpose()
        };
        read().unwrap_or_else(|e| {
            failed = Some(e);
            None
        })
    };
    let seen = paths
        .into_iter()
        .filter(|(path, _)| !was_ignored(&rules, path, &mut text))
        .collect();
    // rules that cannot be read may hide anything
    failed.map_or(Ok(seen), Err)
}

fn change_of<'a>(
    node: NodeId,
    file: FileId,
    before: &'a FileVersion,
    after: &'a FileVersion,
) -> NewChange<'a> {
    NewChange {
        node,
        file,
        before,
        after,
        origin: Origin::USER,
        provisional: false,
        made_dirs: 0,
    }
}

fn node_of(
    conn: &Connection,
    here: Here,
    kind: Kind,
    label: &str,
    git: &GitHead,
) -> Result<NodeId> {
    let new = NewNode {
        kind,
        session: None,
        turn: None,
        call: None,
        label: Some(label),
        git,
        coverage: &Coverage::default(),
    };
    history::insert_node(conn, here, &new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentId, Placed};

    fn at(path: &str) -> FileVersion {
        let image = Image::Symlink {
            content: ContentId([1; 32]),
        };
        RelPath::new(path).map(|path| Placed { path, image })
    }

    #[test]
    fn the_node_of_an_arrival_is_named_after_what_arrives() {
        let carried = |put_back| JournalFile {
            file: FileId(1),
            before: None,
            after: at("a"),
            as_user: true,
            taken_out: Vec::new(),
            put_back,
        };
        let name = |files: &[JournalFile]| arrival_label(files, "redo op1", "main");
        assert_eq!(name(&[]), (Kind::External, "first captured".to_owned()));
        let edits = [carried(Vec::new())];
        assert_eq!(
            name(&edits),
            (Kind::External, "carried from main".to_owned())
        );
        let edits = [carried(Vec::new()), carried(vec![ChangeId(1)])];
        assert_eq!(name(&edits), (Kind::Rewind, "redo op1".to_owned()));
    }

    #[test]
    fn a_path_is_vacated_by_a_file_that_is_elsewhere_or_deleted_on_the_other_branch() {
        let file = |before, after| BranchPath {
            file: FileId(1),
            before,
            after,
        };
        let files = [
            file(at("stays"), Some(at("stays"))),
            file(at("moves"), Some(at("moved"))),
            file(at("deleted"), Some(None)),
            file(at("unknown there"), None),
            file(None, Some(at("arrives"))),
        ];
        let vacated = vacated_paths(&files);
        let vacated: Vec<_> = vacated.iter().map(RelPath::display).collect();
        assert_eq!(vacated, ["deleted", "moves"]);
    }
}
