//! Edits of the user while a job stands.

use crate::run::WorkflowAdditions;

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
        let notes = self.run.take_up_workflow();
        if !notes.is_empty() && matches!(self.stop, StopPlace::Before(_)) {
            self.stand();
        }
        self.notes.extend(notes);
        match self.seen.take_up(&mut self.run, self.history.engine()) {
            Ok(notes) => self.notes.extend(notes),
            Err(reason) => self.notes.push(reason),
        }
    }

    /// Parts that edits of the workflow have added, as its file has them now, and to which nobody has agreed. Steps do not run before.
    /// A frozen step is in the middle, and nothing is read.
    pub fn additions(&mut self) -> Option<WorkflowAdditions> {
        if matches!(self.stop, StopPlace::Frozen(_)) {
            return None;
        }
        let workflow = self.run.workflow();
        self.notes.extend(workflow.take_problem());
        workflow.additions().cloned()
    }

    /// Says that a person knows additions.
    pub fn agree(&mut self, added: &WorkflowAdditions) {
        self.run.workflow().agree(added);
    }

    /// Sentences about edits that were taken up since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        let notes = std::mem::take(&mut self.notes);
        notes.iter().map(|note| self.run.mask(note)).collect()
    }
}

/// Refuses to run steps that nobody knows.
pub(super) fn check_agreed(session: &mut JobSession) -> Result<(), String> {
    let Some(added) = session.additions() else {
        return Ok(());
    };
    let parts = added.reaching.iter().chain(&added.absent);
    let parts: Vec<String> = parts
        .map(|part| format!("line {}: {}", part.line, part.text))
        .collect();
    let parts = parts.join(", ");
    Err(format!(
        "The workflow has new parts to which nobody has agreed: {parts}. Agree to them, or change the workflow."
    ))
}
