//! Edits that an agent makes in an editor instead of on disk. They are recorded as its steps at
//! once, and wait for a save like a rewind of an open document.

use super::EditorDocuments;
use super::EditorLease;
use crate::capture::calls::{self, Attribution, ToolOutcome, Writer};
use crate::capture::named_paths::EXCLUDED;
use crate::capture::named_record::transition;
use crate::capture::transition::Transition;
use crate::capture::write_txn::{AFTER, ScanContext, WriteTxn};
use crate::capture::{AgentEvent, DEADLINE, ToolCall, reported};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{Certainty, Coverage, Image, NodeId, Opaque, Reason, RelPath};
use crate::store;
use crate::store::tables::root::scan;
use crate::worktree::disk::DiskEntry;
use crate::worktree::file_state;
use crate::worktree::file_state::FileState;
use crate::worktree::pending_saves::{self, NewPending};
use std::ops::Deref;

/// An agent's edit of one open document.
#[derive(Clone, Debug)]
pub struct InEditor {
    pub path: RelPath,
    /// The text that would have been saved before, including the user's typing.
    pub before: Vec<u8>,
    /// The text that would be saved now.
    pub after: Vec<u8>,
}

impl EditorDocuments<&mut Engine> {
    /// Records a call whose edits are in an editor and not on disk. Text typed before the call is
    /// attributed to the user. A file that does not exist yet is recorded when it is saved.
    pub fn record_in_editor(
        &mut self,
        lease: &EditorLease,
        e: &AgentEvent,
        call: &ToolCall,
        edits: &[InEditor],
    ) -> Result<Option<NodeId>> {
        let lock = self.engine.quiet_lock(DEADLINE)?;
        let _lock = lock.ok_or_else(|| {
            Error::refused(
                "a rewind is under way and did not end within 2 s",
                "the edit stays in the editor and will be recorded as yours when you save it",
            )
        })?;
        if self.engine.history().head()?.is_none() {
            self.engine.capture_mut().record_changes_unlocked()?;
        }
        let (edits, excluded) = self.split_excluded(edits)?;
        let entries = edits
            .iter()
            .map(|edit| self.engine.capture().disk_entry(&edit.path));
        let entries = entries.collect::<Result<Vec<DiskEntry>>>()?;
        let node = self
            .engine
            .capture_mut()
            .notifying_txn(AFTER, entries, |txn, entries| {
                let (row, _) = reported(txn, e, call)?;
                let Some(row) = row else { return Ok(None) };
                let seq = calls::record_event(txn.conn, e, row.session, row.turn, Some(row.id))?;
                let own = Writer {
                    call: row.id,
                    session: row.session,
                };
                let mut coverage = Coverage::default();
                for path in &excluded {
                    coverage.note(path.bytes(), Reason::Excluded, EXCLUDED);
                }
                let all = edits.iter().copied().zip(&entries);
                let steps = txn.editor_steps(all, own, &mut coverage)?;
                calls::close(txn.conn, row.id, seq, ToolOutcome::Done)?;
                let node = txn.record_editor_steps(&steps, own, &coverage)?;
                txn.wait_for_saves(&steps, lease)?;
                Ok(node)
            })?;
        self.engine.store.tidy();
        Ok(node)
    }
}

impl<E: Deref<Target = Engine>> EditorDocuments<E> {
    /// Returns an error if the current state of a path cannot be recorded before it is overwritten.
    pub fn check_recordable(&self, paths: &[RelPath]) -> Result<()> {
        let excluding = self.engine.root.excluding();
        for path in paths {
            let recorded =
                file_state::row(&self.engine.store.conn, self.engine.here.root, path)?.is_some();
            if self.engine.root.vcs_dir(path).is_some() {
                return Err(Error::refused(
                    format!(
                        "{} belongs to version control; nothing was changed",
                        path.display()
                    ),
                    "its content is not recorded and could not be restored; use its own tool",
                ));
            }
            let excluded = || excluding.as_ref().is_some_and(|all| all.holds(path));
            let why = match self.engine.capture().disk_entry(path)?.image {
                Image::Opaque(Opaque::TooLarge) => "is too large to be recorded",
                Image::Opaque(Opaque::Unreadable) => "cannot be read or recorded",
                Image::Opaque(Opaque::Special) => "is not a regular file and cannot be recorded",
                Image::File { .. } | Image::Symlink { .. } if !recorded && excluded() => {
                    "is excluded by your settings and not recorded"
                }
                _ => continue,
            };
            return Err(Error::refused(
                format!("{} {why}; nothing was changed", path.display()),
                "leave it out of the edit, or move or delete it by hand first",
            ));
        }
        Ok(())
    }

    /// Returns the paths that are recorded, or would be captured.
    pub fn captured_paths(&self, paths: Vec<RelPath>) -> Result<Vec<RelPath>> {
        let mut own = Vec::new();
        for path in paths {
            let row = file_state::row(&self.engine.store.conn, self.engine.here.root, &path)?;
            if row.is_some() || !self.engine.blamer().is_hidden(&path) {
                own.push(path);
            }
        }
        Ok(own)
    }

    /// Splits edits into recorded ones and paths that the settings exclude.
    fn split_excluded<'e>(
        &self,
        edits: &'e [InEditor],
    ) -> Result<(Vec<&'e InEditor>, Vec<RelPath>)> {
        let Some(excluding) = self.engine.root.excluding() else {
            return Ok((edits.iter().collect(), Vec::new()));
        };
        let (mut own, mut excluded) = (Vec::new(), Vec::new());
        for edit in edits {
            let row = file_state::row(&self.engine.store.conn, self.engine.here.root, &edit.path)?;
            if row.is_none() && excluding.holds(&edit.path) {
                excluded.push(edit.path.clone());
            } else {
                own.push(edit);
            }
        }
        Ok((own, excluded))
    }
}

/// A call's edits of documents.
#[derive(Default)]
struct EditorSteps<'e> {
    transitions: Vec<Transition>,
    /// For each of these: the path, and the image that the disk has meanwhile.
    places: Vec<(&'e RelPath, Image)>,
}

impl WriteTxn<'_> {
    /// Returns the steps of a call's edits. A document without a file is a gap.
    fn editor_steps<'e>(
        &self,
        edits: impl Iterator<Item = (&'e InEditor, &'e DiskEntry)>,
        own: Writer,
        coverage: &mut Coverage,
    ) -> Result<EditorSteps<'e>> {
        let certain = calls::by_call(
            own.session,
            own.call,
            Certainty::Certain,
            Certainty::Certain,
        );
        let mut steps = EditorSteps::default();
        for (edit, entry) in edits {
            match self.editor_transition(edit, entry, certain)? {
                Some(transition) => {
                    steps.transitions.push(transition);
                    steps.places.push((&edit.path, entry.image));
                }
                None => coverage.note(
                    edit.path.bytes(),
                    Reason::Failed,
                    "not a file yet; captured when it is saved",
                ),
            }
        }
        Ok(steps)
    }

    fn record_editor_steps(
        &self,
        steps: &EditorSteps<'_>,
        own: Writer,
        coverage: &Coverage,
    ) -> Result<Option<NodeId>> {
        let context = ScanContext {
            observation: calls::Observation::AtEndOf(own),
            ..ScanContext::between()
        };
        let generation = scan::next_generation(self.conn, self.here.root)?;
        let news = !coverage.items.is_empty();
        self.record(&steps.transitions, &context, coverage, news, generation)
    }

    /// Lets the documents wait for a save, where the disk does not have their outcome.
    fn wait_for_saves(&self, steps: &EditorSteps<'_>, lease: &EditorLease) -> Result<()> {
        for (step, (path, disk)) in steps.transitions.iter().zip(&steps.places) {
            let Some(after) = &step.after else { continue };
            if after.image == *disk {
                pending_saves::done(self.conn, self.here.root, path)?;
                continue;
            }
            let new = NewPending {
                path,
                operation: None,
                disk: *disk,
                wanted: after.image,
                editor: &lease.info.name,
                pid: lease.info.pid,
            };
            pending_saves::put(self.conn, self.here.root, &new)?;
        }
        Ok(())
    }

    /// Returns the agent's transition of a document, after recording the text before it.
    fn editor_transition(
        &self,
        edit: &InEditor,
        entry: &DiskEntry,
        certain: Attribution,
    ) -> Result<Option<Transition>> {
        let Image::File { mode, .. } = entry.image else {
            return Ok(None);
        };
        let root = self.here.root;
        let row = file_state::get(self.conn, root, &edit.path)?;
        let waiting = row.as_ref().zip(self.pending.get(&edit.path));
        let waiting =
            waiting.is_some_and(|(row, p)| p.wanted == row.image && p.disk == entry.image);
        let known = row.as_ref().map_or(Image::Absent, |row| row.image);
        if !waiting && known != entry.image && self.store_entry(&edit.path, entry, &known)? {
            self.record_between(
                &edit.path,
                row.as_ref(),
                entry.image,
                entry,
                Attribution::USER,
            )?;
        }
        let row = file_state::get(self.conn, root, &edit.path)?;
        let before = self.image(mode, &edit.before, row.as_ref())?;
        let withdrawn = row.as_ref().filter(|row| row.image != before);
        let withdrawn = withdrawn.map(|row| self.put_back(&edit.path, row, before));
        let row = withdrawn.transpose()?.flatten().or(row);
        if row.as_ref().is_none_or(|row| row.image != before) {
            self.record_between(&edit.path, row.as_ref(), before, entry, Attribution::USER)?;
        }
        let row = file_state::get(self.conn, root, &edit.path)?;
        let after = self.image(mode, &edit.after, row.as_ref())?;
        Ok(Some(transition(
            &edit.path,
            row.as_ref(),
            after,
            entry,
            certain,
            0,
        )))
    }

    fn image(&self, mode: u32, text: &[u8], like: Option<&FileState>) -> Result<Image> {
        let like = like.and_then(|row| row.image.content());
        Ok(Image::File {
            mode,
            content: store::put(self.conn, self.dir, text, like)?,
            size: text.len() as u64,
        })
    }
}
