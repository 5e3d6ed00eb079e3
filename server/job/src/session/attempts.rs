//! The starts of steps: each one is counted and kept, also when a step back undoes it, so that two can be compared.

use backstitch_core::model::NodeId;
use serde::{Deserialize, Serialize};

use crate::report::StepName;

use super::{JobSession, StopPlace};

/// A start of a step that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepAttempt {
    pub step: StepName,
    /// From 1.
    pub number: u32,
    before: i64,
    after: i64,
}

impl StepAttempt {
    /// The files before it.
    pub fn before(&self) -> NodeId {
        NodeId(self.before)
    }

    /// The files after it.
    pub fn after(&self) -> NodeId {
        NodeId(self.after)
    }
}

impl JobSession {
    /// The number of the start that a step would have now.
    pub(super) fn next_attempt(&self, step: &StepName) -> u32 {
        let is_same = |known: &StepName| known.path == step.path && known.part == step.part;
        let points = self
            .points
            .all()
            .iter()
            .filter(|point| is_same(&point.step));
        let ended = self
            .attempts
            .iter()
            .filter(|attempt| is_same(&attempt.step));
        let numbers = points
            .map(|point| point.attempt)
            .chain(ended.map(|attempt| attempt.number));
        numbers.max().map_or(1, |last| last + 1)
    }

    /// The number of the start of the step where the job stands: the next one before a step, else the last one. From 1 (J24).
    pub fn attempt(&self) -> Option<u32> {
        match &self.stop {
            StopPlace::Before(step) => Some(self.next_attempt(&step.name)),
            StopPlace::Frozen(_) | StopPlace::Failed(..) => {
                self.points.all().last().map(|point| point.attempt)
            }
            StopPlace::End => None,
        }
    }

    /// Keeps a start that has ended, with the checkpoints of its files.
    pub(super) fn note_attempt(&mut self, step: &StepName) -> Result<(), String> {
        let after = self
            .engine
            .history()
            .head()
            .map_err(|error| error.to_string())?;
        if let (Some(point), Some(after)) = (self.points.all().last(), after)
            && point.step.path == step.path
        {
            self.attempts.push(StepAttempt {
                step: step.clone(),
                number: point.attempt,
                before: point.node().0,
                after: after.0,
            });
        }
        Ok(())
    }

    /// The starts of a step, by its id, its name, or its number from 1; without a name those of the step that ended last.
    pub fn attempts_of(&self, wanted: &str) -> Vec<&StepAttempt> {
        let last = self.attempts.last().map(|attempt| &attempt.step);
        let is_wanted = |step: &StepName| match wanted {
            "" => last.is_some_and(|last| last.path == step.path && last.part == step.part),
            wanted => {
                let number = step.path.first().map(|place| place + 1);
                let is_numbered = step.path.len() == 1 && wanted.parse().ok() == number;
                step.id == wanted || step.name == wanted || is_numbered
            }
        };
        let all = self.attempts.iter();
        all.filter(|attempt| is_wanted(&attempt.step)).collect()
    }

    /// Names of the steps that have run, and of those of the job that have not.
    pub fn step_names(&self) -> Vec<String> {
        let ran = self
            .attempts
            .iter()
            .map(|attempt| attempt.step.name.clone());
        let ahead = self.run.names_ahead().into_iter();
        let mut names: Vec<String> = ran.chain(ahead).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Leaves the next step out, or lets the step that failed count as skipped.
    pub fn skip(&mut self) -> Result<(), String> {
        match &self.stop {
            StopPlace::Before(_) => {
                self.stood_since(self.stood_since);
                self.run.leave_out();
                self.stand();
                Ok(())
            }
            StopPlace::Failed(..) => self.set_outcome(crate::state::StepOutcome::Skipped),
            StopPlace::Frozen(_) => {
                Err("A step is frozen: end it (:kill) before it is left out.".to_owned())
            }
            StopPlace::End => Err("The job has ended: no step is left.".to_owned()),
        }
    }
}
