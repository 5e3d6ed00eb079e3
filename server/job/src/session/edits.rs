//! Edits of the user while a job stands.

use super::{JobSession, StopPlace};

impl JobSession {
    /// Takes up what the user has changed, without a step forward. False if there is nothing to say.
    pub fn sync(&mut self) -> Result<bool, String> {
        if matches!(self.stop, StopPlace::Frozen(_)) {
            return Err("A step is frozen: edits are taken up after its end.".to_owned());
        }
        self.take_up();
        Ok(!self.notes.is_empty())
    }

    /// Takes up what the user has changed meanwhile, before a step runs. A frozen step is in the middle, and takes up nothing.
    pub(super) fn take_up(&mut self) {
        if matches!(self.stop, StopPlace::Frozen(_)) {
            return;
        }
        if self.take_up_workflow() && matches!(self.stop, StopPlace::Before(_)) {
            self.stand();
        }
        match self.seen.take_up(&mut self.run, self.history.engine()) {
            Ok(notes) => self.notes.extend(notes),
            Err(reason) => self.notes.push(reason),
        }
    }

    /// Takes up the workflow alone, after a restore. True if there is something to say.
    pub(super) fn take_up_workflow(&mut self) -> bool {
        let notes = self.run.take_up_workflow();
        let has_notes = !notes.is_empty();
        self.notes.extend(notes);
        has_notes
    }

    /// Sentences about edits that were taken up since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        let notes = std::mem::take(&mut self.notes);
        notes.iter().map(|note| self.run.mask(note)).collect()
    }
}
