//! Edits of the user while a job stands.

use crate::run::WorkflowAdditions;

use super::{JobSession, StopPlace};

impl JobSession {
    /// Takes up what the user has changed, without a step forward. False if there is nothing to say.
    pub fn sync(&mut self) -> Result<bool, String> {
        if matches!(self.stop, StopPlace::Frozen(_)) {
            return Err("A step is frozen: edits are taken up after its end.".to_owned());
        }
        Ok(self.take_up())
    }

    /// Takes up what the user has changed meanwhile, before a step runs. A frozen step is in the middle, and takes up nothing. True if
    /// there is something to say.
    pub(super) fn take_up(&mut self) -> bool {
        if matches!(self.stop, StopPlace::Frozen(_)) {
            return false;
        }
        let of_workflow = self.run.take_up_workflow();
        if !of_workflow.is_empty() && matches!(self.stop, StopPlace::Before(_)) {
            self.stand();
        }
        let of_sources = self.seen.take_up(&mut self.run, self.history.engine());
        let of_sources = of_sources.unwrap_or_else(|reason| vec![reason]);
        let has_notes = !of_workflow.is_empty() || !of_sources.is_empty();
        for sentence in of_workflow.into_iter().chain(of_sources) {
            self.notes.add(self.run.mask(&sentence));
        }
        has_notes
    }

    /// Parts that edits of the workflow have added, as its file has them now, and to which nobody has agreed. Steps do not run before.
    /// A frozen step is in the middle, and nothing is read.
    pub fn additions(&mut self) -> Option<WorkflowAdditions> {
        if matches!(self.stop, StopPlace::Frozen(_)) {
            return None;
        }
        self.run.workflow().additions().cloned()
    }

    /// Says that a person knows additions.
    pub fn agree(&mut self, added: &WorkflowAdditions) {
        self.run.workflow().agree(added);
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
