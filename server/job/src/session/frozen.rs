//! A job that stands in a step whose processes are frozen.

use std::time::{Duration, Instant};

use crate::report::StepName;
use crate::run::{PendingStep, StandingJob, undo_frozen};

use super::{JobSession, StopPlace};

/// A frozen step.
#[derive(Clone, Debug)]
pub struct FrozenStop {
    /// The step that is frozen: within the step that was committed to, or the same.
    pub name: StepName,
    /// Time for which it ran.
    pub ran: Duration,
    /// The step that was committed to.
    pub(super) step: PendingStep,
}

impl JobSession {
    /// True if the step is frozen now.
    pub(super) fn is_frozen(&mut self, step: &PendingStep) -> bool {
        let Some(name) = self.run.frozen().cloned() else {
            return false;
        };
        self.run.set_may_freeze(false);
        self.stood_since = Instant::now();
        self.stop = StopPlace::Frozen(Box::new(FrozenStop {
            name,
            ran: self.run.frozen_after(),
            step: step.clone(),
        }));
        true
    }

    /// Kills a frozen step with all its processes. It has failed, and the job stands at it.
    pub fn kill(&mut self) -> Result<(), String> {
        self.end_frozen(StandingJob::kill_frozen)
    }

    fn end_frozen(&mut self, end: fn(&mut StandingJob)) -> Result<(), String> {
        let StopPlace::Frozen(frozen) = &self.stop else {
            return Err("No step is frozen here, so none can be killed.".to_owned());
        };
        let step = frozen.step.clone();
        self.stood_since(self.stood_since);
        end(&mut self.run);
        let ended = self.run.take_last();
        self.close_call(&step, true)?;
        match ended {
            Some((name, end)) => self.stop = StopPlace::Failed(name, end),
            None => self.stand(),
        }
        self.stood_since = Instant::now();
        Ok(())
    }

    /// True where the processes of a step are paused.
    pub(super) fn is_in_frozen_step(&self) -> bool {
        matches!(self.stop, StopPlace::Frozen(_))
    }

    /// Kills a frozen step that is undone.
    pub(super) fn kill_taken_back(&mut self) -> Result<(), String> {
        match self.stop {
            StopPlace::Frozen(_) => self.end_frozen(undo_frozen),
            StopPlace::Before(_) | StopPlace::Failed(..) | StopPlace::End => Ok(()),
        }
    }
}
