//! The place where a job stood before a restore, to which an undo of the restore leads.

use std::time::Instant;

use crate::report::{StepEnd, StepName};
use backstitch_core::restore::Gap;

use super::kept::{BeforeRestore, RunWork};
use super::{JobSession, StopPlace};

/// An undone restore.
#[derive(Clone, Debug)]
pub struct UndoneRestore {
    /// Files and directories that changed.
    pub changed: usize,
    /// Paths that stayed as they were, each with the reason.
    pub gaps: Vec<Gap>,
}

impl BeforeRestore {
    /// The present as a value: files are recorded first.
    pub(super) fn of(session: &mut JobSession) -> Result<BeforeRestore, String> {
        let files = session.history.record_files()?;
        let kept = session.kept_stop();
        Ok(BeforeRestore {
            stop: kept.stop,
            failed: kept.failed,
            at_last: kept.at_last,
            passed: kept.passed,
            files,
            by_hand: kept.by_hand,
            at: Instant::now(),
        })
    }
}

impl JobSession {
    /// Undoes the last restore: files, state and points are as before it. Processes that it ended stay ended.
    pub fn undo(&mut self) -> Result<UndoneRestore, String> {
        if self.undo.is_none() {
            let reason = "No step back is there to undo: none was made since the last step ran.";
            return Err(reason.to_owned());
        }
        // the history keeps later changes
        self.history.record_files()?;
        self.save(&RunWork::Undo)?;
        self.finish_undo()
    }

    /// Does the undo, or the rest of one that was cut off.
    pub(super) fn finish_undo(&mut self) -> Result<UndoneRestore, String> {
        let Some(before) = self.undo.clone() else {
            let (changed, gaps) = (0, Vec::new());
            return Ok(UndoneRestore { changed, gaps });
        };
        let applied = self.history.restore(&before.files)?;
        self.run.set_live_stop(before.stop);
        self.stood_since(before.at);
        self.points.give_back(std::mem::take(&mut self.cut));
        self.points.set_at_last(before.at_last);
        self.points.set_passed(before.passed);
        self.undo = None;
        self.by_hand = before.by_hand;
        self.stand_at(before.failed);
        self.save(&RunWork::Standing)?;
        Ok(UndoneRestore {
            changed: applied.plan.actions.len(),
            gaps: applied.plan.gaps,
        })
    }

    /// Stands after a step that failed, or else before the next one.
    pub(super) fn stand_at(&mut self, failed: Option<(StepName, StepEnd)>) {
        match failed {
            Some((name, end)) => {
                self.stop = StopPlace::Failed(name, end);
                self.stood_since = Instant::now();
            }
            None => self.stand(),
        }
    }
}
