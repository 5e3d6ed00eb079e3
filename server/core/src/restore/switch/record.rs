//! Record of a switch, in one transaction: the root's branch, the file states, and a node for what comes along.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::Path;

use rusqlite::Connection;

use super::branch_path::BranchPath;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::history::{self, Ancestry, NewChange, NewNode, branches};
use crate::model::{
    BranchId, Coverage, FileId, FileVersion, GitHead, Here, Image, Kind, NodeId, OpId, Origin,
    RelPath,
};
use crate::restore::Restore;
use crate::restore::journal::{self, JournalEdit, JournalEntry, JournalFile};
use crate::restore::record::record_documents;
use crate::store::tables::root::{self, scan};
use crate::store::tables::{file, operation};
use crate::store::{self, Durable};
use crate::worktree::disk::{NO_STAT, Root, Stat};
use crate::worktree::file_state::{self, FileState};
use crate::worktree::ignore_rules::{Rules, was_ignored};
use crate::worktree::{backed_content, pending_saves};

impl Restore<&mut Engine> {
    /// Records a switch from its journal: the root's branch, the new file states, and the carried edits. Returns the
    /// new head.
    pub(in crate::restore) fn record_switch(&mut self, op: OpId, to: BranchId) -> Result<NodeId> {
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

/// Kind and label of the node that a switch makes on the branch it enters. `label` is for restored edits, `from` is the
/// branch being left.
fn arrival_label(carried: &[JournalFile], label: &str, from: &str) -> (Kind, String) {
    if carried.iter().any(|f| !f.put_back.is_empty()) {
        (Kind::Rewind, label.to_owned())
    } else if carried.is_empty() {
        (Kind::External, "first captured".to_owned())
    } else {
        (Kind::External, format!("carried from {from}"))
    }
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
    use crate::model::{ChangeId, ContentId, Placed};

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
}
