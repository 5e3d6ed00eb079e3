//! Edits of the user while a job stands.

use std::path::PathBuf;

use crate::run::{StandingJob, WorkflowAdditions};

use super::sources::{SeenSources, TakenEdits};
use super::{JobSession, StopPlace};

impl JobSession {
    /// Takes up what the user has changed, without a step forward. False if there is nothing to say.
    pub fn sync(&mut self) -> Result<bool, String> {
        if matches!(self.stop, StopPlace::Frozen(_)) {
            return Err("A step is frozen: edits are taken up after its end.".to_owned());
        }
        let has_notes = take_up(self, true);
        let blind = SeenSources::blindness(&self.run);
        let is_blind = blind.is_some();
        if let Some(sentence) = blind {
            self.notes.add(sentence);
        }
        Ok(has_notes || is_blind)
    }

    /// Takes up what the user has changed meanwhile, before a step runs. A frozen step is in the middle, and takes up nothing. True if
    /// there is something to say.
    pub(super) fn take_up(&mut self) -> bool {
        let with_files = !self.waits_for_sync;
        take_up(self, with_files)
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

/// From now on edits of the user's files are taken up by `:sync` alone. Those of the workflow are taken up as ever.
pub fn take_edits_by_word(session: &mut JobSession) {
    session.waits_for_sync = true;
}

fn take_up(session: &mut JobSession, with_files: bool) -> bool {
    if matches!(session.stop, StopPlace::Frozen(_)) {
        return false;
    }
    let of_workflow = session.run.take_up_workflow();
    if !of_workflow.is_empty() && matches!(session.stop, StopPlace::Before(_)) {
        session.stand();
    }
    let of_sources = if with_files {
        let engine = session.history.engine();
        session.seen.take_up(&mut session.run, engine)
    } else {
        Ok(TakenEdits::default())
    };
    let of_sources = match of_sources {
        Ok(TakenEdits { mut notes, files }) => {
            notes.extend(entered_notes(&session.run, &files));
            notes
        }
        Err(reason) => vec![reason],
    };
    let has_notes = !of_workflow.is_empty() || !of_sources.is_empty();
    for sentence in of_workflow.into_iter().chain(of_sources) {
        session.notes.add(session.run.mask(&sentence));
    }
    has_notes
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

/// Sentences about composite actions in which the job stands and whose text has changed: their steps were read when they began.
fn entered_notes(run: &StandingJob, files: &[PathBuf]) -> Vec<String> {
    let workspace = &run.place().workspace;
    let entered = run.steps_ahead().entered;
    let changed = entered.into_iter().filter(|(dir, _)| {
        let place = workspace.join(dir);
        let names = ["action.yml", "action.yaml"].map(|name| place.join(name));
        files.iter().any(|file| names.contains(file))
    });
    let notes = changed.map(|(dir, step)| {
        let numbers: Vec<String> = step.path.iter().map(|place| (place + 1).to_string()).collect();
        let number = numbers.join(".");
        format!(
            "The steps of {} are those of its earlier text: go back before '{}' (:goto {number}) to run the new one.",
            dir.display(),
            step.name
        )
    });
    notes.collect()
}
