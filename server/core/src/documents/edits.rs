//! Edits that an agent makes in an editor instead of on disk: recorded as its steps at once, and waiting for the
//! save as a rewind does that changed an open document.

use super::EditorLease;
use super::pending::{self, NewPending};
use crate::capture::calls::{self, Attribution, ToolOutcome, Writer};
use crate::capture::edit_call::{EXCLUDED, transition};
use crate::capture::record_scan::{self, AFTER, ScanContext, Transition, WriteTxn};
use crate::capture::{AgentEvent, DEADLINE, ToolCall, reported};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{Certainty, Coverage, Image, NodeId, Opaque, Reason, RelPath};
use crate::store;
use crate::worktree::disk::DiskEntry;
use crate::worktree::file_state;
use crate::worktree::scan::FileState;

/// What an agent did to one open document.
#[derive(Clone, Debug)]
pub struct InEditor {
    pub path: RelPath,
    /// As it would have been saved before, with what the user typed.
    pub before: Vec<u8>,
    /// As it would be saved now.
    pub after: Vec<u8>,
}

impl Engine {
    /// Refuses where what stands at one of these paths cannot be recorded before it is destroyed.
    pub fn can_be_kept(&self, paths: &[RelPath]) -> Result<()> {
        let excluding = self.root.excluding();
        for path in paths {
            let recorded = file_state::row(&self.store.conn, self.here.root, path)?.is_some();
            let excluded = || excluding.as_ref().is_some_and(|all| all.holds(path));
            let why = match self.look_known(path)?.image {
                Image::Opaque(Opaque::TooLarge) => "is too large to be recorded",
                Image::Opaque(Opaque::Unreadable) => "cannot be read, and so not recorded",
                Image::Opaque(Opaque::Special) => "is no regular file, and cannot be recorded",
                Image::File { .. } | Image::Symlink { .. } if !recorded && excluded() => {
                    "is excluded by your settings, and not recorded"
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

    /// Those of these paths that the history knows, or would take up by itself.
    pub fn belonging(&self, paths: Vec<RelPath>) -> Result<Vec<RelPath>> {
        let mut own = Vec::new();
        for path in paths {
            let row = file_state::row(&self.store.conn, self.here.root, &path)?;
            if row.is_some() || !self.is_hidden(&path) {
                own.push(path);
            }
        }
        Ok(own)
    }

    /// The edits that are recorded, and the paths that the settings exclude.
    fn apart<'e>(&self, edits: &'e [InEditor]) -> Result<(Vec<&'e InEditor>, Vec<RelPath>)> {
        let Some(excluding) = self.root.excluding() else {
            return Ok((edits.iter().collect(), Vec::new()));
        };
        let (mut own, mut excluded) = (Vec::new(), Vec::new());
        for edit in edits {
            let row = file_state::row(&self.store.conn, self.here.root, &edit.path)?;
            if row.is_none() && excluding.holds(&edit.path) {
                excluded.push(edit.path.clone());
            } else {
                own.push(edit);
            }
        }
        Ok((own, excluded))
    }

    /// Takes in a call whose edits stand in an editor and not on disk. What the user had typed before it is
    /// the user's; a file that does not exist yet is found when it is saved.
    pub fn record_in_editor(
        &mut self,
        lease: &EditorLease,
        e: &AgentEvent,
        call: &ToolCall,
        edits: &[InEditor],
    ) -> Result<Option<NodeId>> {
        let lock = self.quiet_lock(DEADLINE)?;
        let _lock = lock.ok_or_else(|| {
            Error::refused(
                "a rewind is under way and did not end within 2 s",
                "the edit stands in the editor; it is recorded as yours when it is saved",
            )
        })?;
        if self.head()?.is_none() {
            self.look_unlocked()?;
        }
        let (edits, excluded) = self.apart(edits)?;
        let looks = edits.iter().map(|edit| self.look_known(&edit.path));
        let looks = looks.collect::<Result<Vec<DiskEntry>>>()?;
        let node = self.settle(AFTER, looks, |txn, looks| {
            let (row, _) = reported(txn, e, call)?;
            let Some(row) = row else { return Ok(None) };
            let seq = calls::record_event(txn.conn, e, row.session, row.turn, Some(row.id))?;
            let sure =
                record_scan::by_call(row.session, row.id, Certainty::Certain, Certainty::Certain);
            let (mut steps, mut places) = (Vec::new(), Vec::new());
            let mut coverage = Coverage::default();
            for path in &excluded {
                coverage.note(path.bytes(), Reason::Excluded, EXCLUDED);
            }
            for (edit, look) in edits.iter().zip(&looks) {
                match txn.in_editor(edit, look, sure)? {
                    Some(step) => {
                        steps.push(step);
                        places.push((&edit.path, look.image));
                    }
                    None => coverage.note(
                        edit.path.bytes(),
                        Reason::Failed,
                        "not a file yet; found when it is saved",
                    ),
                }
            }
            calls::close(txn.conn, row.id, seq, ToolOutcome::Done)?;
            let own = Writer {
                call: row.id,
                session: row.session,
            };
            let cause = ScanContext {
                situation: calls::Observation::AtEndOf(own),
                ..ScanContext::between()
            };
            let generation = file_state::next_generation(txn.conn, txn.here.root)?;
            let news = !coverage.items.is_empty();
            let node = txn.record(&steps, &cause, &coverage, news, generation)?;
            for (step, (path, disk)) in steps.iter().zip(places) {
                let Some(after) = &step.after else { continue };
                if after.image == disk {
                    pending::done(txn.conn, txn.here.root, path)?;
                    continue;
                }
                let new = NewPending {
                    path,
                    operation: None,
                    disk,
                    wanted: after.image,
                    editor: &lease.info.name,
                    pid: lease.info.pid,
                };
                pending::put(txn.conn, txn.here.root, &new)?;
            }
            Ok(node)
        })?;
        self.store.tidy();
        Ok(node)
    }
}

impl WriteTxn<'_> {
    /// The agent's part of what became of a document, once the record has what was there before it.
    fn in_editor(
        &self,
        edit: &InEditor,
        look: &DiskEntry,
        sure: Attribution,
    ) -> Result<Option<Transition>> {
        let Image::File { mode, .. } = look.image else {
            return Ok(None);
        };
        let root = self.here.root;
        let row = file_state::get(self.conn, root, &edit.path)?;
        let waits = row.as_ref().zip(self.pending.get(&edit.path));
        let waits = waits.is_some_and(|(row, p)| p.wanted == row.image && p.disk == look.image);
        let known = row.as_ref().map_or(Image::Absent, |row| row.image);
        if !waits && known != look.image && self.keep_seen(&edit.path, look, &known)? {
            self.between(
                &edit.path,
                row.as_ref(),
                look.image,
                look,
                Attribution::USER,
            )?;
        }
        let row = file_state::get(self.conn, root, &edit.path)?;
        let before = self.image(mode, &edit.before, row.as_ref())?;
        let again = row.as_ref().filter(|row| row.image != before);
        let again = again.map(|row| self.put_back(&edit.path, row, before));
        let row = again.transpose()?.flatten().or(row);
        if row.as_ref().is_none_or(|row| row.image != before) {
            self.between(&edit.path, row.as_ref(), before, look, Attribution::USER)?;
        }
        let row = file_state::get(self.conn, root, &edit.path)?;
        let after = self.image(mode, &edit.after, row.as_ref())?;
        Ok(Some(transition(
            &edit.path,
            row.as_ref(),
            after,
            look,
            sure,
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
