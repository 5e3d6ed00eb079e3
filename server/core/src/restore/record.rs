//! Records a restore: one node at the head, its changes, and the new file states.

use std::collections::HashMap;

use rusqlite::Connection;

use super::Restore;
use super::journal::{self, JournalEdit, JournalEntry, JournalFile};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, NewChange, NewNode, OpKind};
use crate::model::{Coverage, FileVersion, Here, Kind, NodeId, OpId, Origin, Placed, RelPath};
use crate::store::Durable;
use crate::store::tables::operation::{self, OpPhase};
use crate::store::tables::root::scan;
use crate::store::tables::{buffer, file, node_text};
use crate::worktree::disk::{NO_STAT, Stat};
use crate::worktree::file_state::{self, FileState};
use crate::worktree::pending_saves::{self, NewPending};

impl Restore<&mut Engine> {
    /// Records an operation from its journal. Returns the new head.
    pub(super) fn record_outcome(&mut self, op: OpId) -> Result<NodeId> {
        let operation = history::operation(&self.engine.store.conn, op)?;
        match operation.to_branch {
            _ if operation.kind == OpKind::Save => self.record_save(op),
            Some(to) => self.record_switch(op, to),
            None => self.record_restore(op),
        }
    }

    /// Clears the pending saves that are now on disk. If the disk differs from the record, the next scan finds it.
    fn record_save(&mut self, op: OpId) -> Result<NodeId> {
        let lines = journal::lines(&self.engine.store.conn, op)?;
        let here = self.engine.here;
        let head = self.engine.store.write(Durable::Power, |conn| {
            for line in lines.iter().filter(|l| !l.left) {
                pending_saves::written(conn, here.root, &line.path)?;
            }
            operation::set_phase(conn, op, OpPhase::Recorded)?;
            history::head(conn, here.branch)
        })?;
        crate::fault::point("recorded");
        head.ok_or_else(|| Error::NoStore(self.engine.root.path.clone()))
    }

    /// Records a restore on the current branch from its journal. Returns the new node.
    fn record_restore(&mut self, op: OpId) -> Result<NodeId> {
        let lines = journal::lines(&self.engine.store.conn, op)?;
        let files = journal::files(&self.engine.store.conn, op)?;
        let operation = history::operation(&self.engine.store.conn, op)?;
        let edits = journal::edits(&self.engine.store.conn, op)?;
        let git = crate::git::head(&self.engine.root.path);
        let (root, here, dir) = (
            &self.engine.root,
            self.engine.here,
            self.engine.store.dir.clone(),
        );
        // stat before the write transaction
        let changed = lines.iter().map(|l| &l.path);
        let stats: HashMap<&RelPath, Stat> = changed
            .chain(edits.iter().map(|e| &e.path))
            .filter_map(|path| Some((path, root.stat(path)?)))
            .collect();
        let restored = RestoredFiles::of(&lines, &files);
        let label = format!("{} {}", operation.kind.name(), operation.target);
        let mut coverage = Coverage {
            directories: self.told_dirs(op)?,
            ..Coverage::default()
        };
        // the changes of the list are known once the directories are removed
        coverage.set_noted(Vec::new());
        let new = NewNode {
            kind: Kind::Rewind,
            session: None,
            turn: None,
            call: None,
            label: Some(&label),
            git: &git,
            coverage: &coverage,
        };
        let node = self.engine.store.write(Durable::Power, |conn| {
            let head = history::head(conn, here.branch)?.ok_or_else(|| {
                Error::refused(
                    "the current branch has no head",
                    Hint::terminal("`backstitch verify` checks the store"),
                )
            })?;
            let node = history::insert_node(conn, here, &new)?;
            buffer::attach(conn, &dir, here.root, node, Kind::Rewind)?;
            let generation = scan::next_generation(conn, here.root)?;
            restored.insert_changes(conn, head, node)?;
            // remove rows before adding new ones, since a new file may take a removed file's path
            restored.remove_old_states(conn, here)?;
            restored.put_new_states(conn, here, generation, &stats)?;
            record_documents(conn, here, op, Some(node), &edits)?;
            operation::set_recorded(
                conn,
                op,
                (node, None),
                if restored.incomplete {
                    "incomplete"
                } else {
                    ""
                },
            )?;
            Ok(node)
        })?;
        crate::fault::point("recorded");
        Ok(node)
    }
}

/// Files of a journal of which every path was restored. Only these are recorded.
struct RestoredFiles<'a> {
    files: Vec<RestoredFile<'a>>,
    /// True if a file was left out, because one of its paths was skipped.
    incomplete: bool,
}

/// A file to record.
struct RestoredFile<'a> {
    part: &'a JournalFile,
    /// Number of directories that were created with its new path.
    made_dirs: u32,
}

impl<'a> RestoredFiles<'a> {
    /// Selects the restored files of a journal.
    fn of(lines: &'a [JournalEntry], files: &'a [JournalFile]) -> Self {
        let by_path: HashMap<&RelPath, &JournalEntry> =
            lines.iter().map(|l| (&l.path, l)).collect();
        let line = |placed: &Placed| by_path.get(&placed.path);
        let is_left = |state: &FileVersion| state.as_ref().and_then(line).is_some_and(|l| l.left);
        let made_dirs = |part: &JournalFile| {
            let stays = |to: &Placed| {
                part.before
                    .as_ref()
                    .is_some_and(|from| from.path == to.path)
            };
            let arrives = part.after.as_ref().filter(|to| !stays(to));
            arrives.and_then(line).map_or(0, |l| l.made_dirs)
        };
        let whole = files
            .iter()
            .filter(|part| !is_left(&part.before) && !is_left(&part.after));
        let restored: Vec<RestoredFile<'_>> = whole
            .map(|part| RestoredFile {
                part,
                made_dirs: made_dirs(part),
            })
            .collect();
        Self {
            incomplete: restored.len() < files.len(),
            files: restored,
        }
    }

    /// Records the change of each file at the restore's node.
    fn insert_changes(&self, conn: &Connection, head: NodeId, node: NodeId) -> Result<()> {
        for RestoredFile { part, made_dirs } in &self.files {
            let change = NewChange {
                node,
                file: part.file,
                before: &part.before,
                after: &part.after,
                origin: Origin::USER,
                provisional: false,
                made_dirs: *made_dirs,
            };
            if part.as_user {
                history::insert_edit(conn, Some(head), &change)?;
            } else {
                history::insert_restore(conn, head, &change, &part.taken_out, &part.put_back)?;
            }
        }
        Ok(())
    }

    /// Removes the states at the old paths, and the pending saves that the restore replaces.
    fn remove_old_states(&self, conn: &Connection, here: Here) -> Result<()> {
        for RestoredFile { part, .. } in &self.files {
            if let Some(from) = &part.before {
                file_state::remove(conn, here.root, &from.path)?;
            }
            for placed in part.before.iter().chain(&part.after) {
                pending_saves::done(conn, here.root, &placed.path)?;
            }
        }
        Ok(())
    }

    /// Notes the new state of each file, or where it was if it is deleted.
    fn put_new_states(
        &self,
        conn: &Connection,
        here: Here,
        generation: i64,
        stats: &HashMap<&RelPath, Stat>,
    ) -> Result<()> {
        for RestoredFile { part, .. } in &self.files {
            let Some(to) = &part.after else {
                let from = part.before.as_ref().map(|p| &p.path);
                file::set_gone(conn, here.root, part.file, from)?;
                continue;
            };
            let row = FileState {
                image: to.image,
                file: Some(part.file),
                since: file::since(conn, part.file)?,
                generation,
                // the content may have changed between the exchange and this stat
                stat: stats
                    .get(&to.path)
                    .map_or(NO_STAT, |s| Stat { racy: true, ..*s }),
            };
            file_state::put(
                conn,
                here.root,
                &to.path,
                &row,
                file_state::Observed::ByName,
            )?;
            file::set_gone(conn, here.root, part.file, None)?;
        }
        Ok(())
    }
}

/// Stores the unsaved text of documents with the node, and notes a pending save for each file that changes in
/// an editor.
pub(super) fn record_documents(
    conn: &Connection,
    here: Here,
    op: OpId,
    node: Option<NodeId>,
    edits: &[JournalEdit],
) -> Result<()> {
    for e in edits {
        if let (Some(node), Some((text, base))) = (node, e.text) {
            let kept = node_text::KeptBuffer {
                path: &e.path,
                editor: &e.editor,
                pid: e.pid,
                content: text,
                base,
                made: e.made,
            };
            node_text::replace(conn, node, &kept)?;
        }
        if let Some((disk, wanted)) = e.waits {
            let new = NewPending {
                path: &e.path,
                operation: Some(op),
                disk,
                wanted,
                editor: &e.editor,
                pid: e.pid,
            };
            pending_saves::put(conn, here.root, &new)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentId, FileId, Image};

    const TEXT: Image = Image::Symlink {
        content: ContentId([1; 32]),
    };

    fn path(path: &str) -> RelPath {
        RelPath::new(path).expect("a path")
    }

    fn line(at: &str, left: bool, made_dirs: u32) -> JournalEntry {
        JournalEntry {
            path: path(at),
            before: Image::Absent,
            after: TEXT,
            made_dirs,
            temp: None,
            left,
            detail: String::new(),
        }
    }

    fn file(id: i64, before: Option<&str>, after: Option<&str>) -> JournalFile {
        let at = |at| Placed {
            path: path(at),
            image: TEXT,
        };
        JournalFile {
            file: FileId(id),
            before: before.map(at),
            after: after.map(at),
            as_user: false,
            taken_out: Vec::new(),
            put_back: Vec::new(),
        }
    }

    #[test]
    fn a_file_is_recorded_only_if_all_its_paths_were_restored() {
        let lines = [
            line("a", false, 0),
            line("b", true, 0),
            line("c", false, 0),
            line("d", false, 0),
        ];
        let files = [
            file(1, Some("a"), Some("b")),
            file(2, Some("b"), Some("c")),
            file(3, Some("c"), Some("d")),
            file(4, Some("not in the journal"), None),
        ];
        let restored = RestoredFiles::of(&lines, &files);
        let ids: Vec<FileId> = restored.files.iter().map(|f| f.part.file).collect();
        assert_eq!(ids, [FileId(3), FileId(4)]);
        assert!(restored.incomplete);
        assert!(!RestoredFiles::of(&lines, &files[2..]).incomplete);
    }

    #[test]
    fn directories_count_only_for_a_file_that_arrives_at_its_path() {
        let lines = [line("dir/a", false, 1), line("b", false, 0)];
        let made_dirs = |file| RestoredFiles::of(&lines, &[file]).files[0].made_dirs;
        assert_eq!(made_dirs(file(1, None, Some("dir/a"))), 1);
        assert_eq!(made_dirs(file(1, Some("b"), Some("dir/a"))), 1);
        assert_eq!(made_dirs(file(1, Some("dir/a"), Some("dir/a"))), 0);
        assert_eq!(made_dirs(file(1, Some("dir/a"), Some("b"))), 0);
        assert_eq!(made_dirs(file(1, Some("dir/a"), None)), 0);
    }
}
