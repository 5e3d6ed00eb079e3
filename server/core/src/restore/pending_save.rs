//! The end of a pending save that its editor will not do: the outcome is written now, or taken back.

use std::ops::Deref;

use super::Restore;
use crate::capture::withdraw::closer;
use crate::capture::write_txn::AFTER;
use crate::documents::{PendingChoice, PendingOutcome, PendingSave, busy};
use crate::engine::Engine;
use crate::error::Result;
use crate::merge::{Favor, merge3};
use crate::model::{ContentId, Image, RelPath};

impl Restore<&mut Engine> {
    /// Resolves a pending save that will not happen: the document was closed, or its editor died.
    pub fn resolve_pending(
        &mut self,
        path: &RelPath,
        how: &PendingChoice,
    ) -> Result<PendingOutcome> {
        match how {
            PendingChoice::WriteNow(text) => self.write_pending(path, text.as_deref()),
            PendingChoice::Forget => self.engine.documents_mut().forget_pending(path),
        }
    }

    fn write_pending(&mut self, path: &RelPath, text: Option<&[u8]>) -> Result<PendingOutcome> {
        let lock = self.engine.store.restore_lock(true, Engine::RESTORE_WAIT)?;
        let _lock = lock.ok_or_else(busy)?;
        self.engine.refresh()?;
        self.recover_locked()?;
        self.engine.capture_mut().record_changes_unlocked()?;
        let Some(p) = self.engine.documents().waiting(path)? else {
            return Ok(PendingOutcome::Nothing);
        };
        let before = self.engine.history().head()?;
        let text = text.map(|text| self.with_outcome(&p, text)).transpose()?;
        let (content, size) = match (text.as_deref(), p.wanted) {
            (Some(text), _) => {
                let id = ContentId::of(text);
                let like = p.wanted.content();
                let dir = self.engine.store.dir.clone();
                self.engine
                    .store
                    .write(AFTER, |conn| crate::store::put(conn, &dir, text, like))?;
                (id, text.len() as u64)
            }
            (None, Image::File { content, size, .. }) => (content, size),
            (None, _) => return Ok(PendingOutcome::Nothing),
        };
        let mode = match p.disk {
            Image::File { mode, .. } => mode,
            _ => 0o644,
        };
        let to = Image::File {
            mode,
            content,
            size,
        };
        self.save_now(&p, to)?;
        self.engine.capture_mut().record_changes_unlocked()?;
        let node = self
            .engine
            .history()
            .head()?
            .filter(|head| before != Some(*head));
        Ok(PendingOutcome::Done { node })
    }
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Returns the text to write for an editor's text while a restore waits for its save. If the
    /// text does not include the outcome yet, the outcome is merged in. On conflict the typed text
    /// wins.
    fn with_outcome(&self, p: &PendingSave, text: &[u8]) -> Result<Vec<u8>> {
        let bytes = |image: Image| -> Result<Vec<u8>> {
            let content = image.content();
            let read = content
                .map(|content| self.engine.content(&content))
                .transpose()?;
            Ok(read.unwrap_or_default())
        };
        let (disk, wanted) = (bytes(p.disk)?, bytes(p.wanted)?);
        if closer(text, &disk, &wanted) {
            return Ok(merge3(&disk, text, &wanted, Favor::Ours).bytes);
        }
        Ok(text.to_vec())
    }
}
