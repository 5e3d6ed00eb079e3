//! The starts of steps: each one is counted and kept, also when a step back undoes it, so that two can be compared.

use backstitch_core::model::NodeId;
use serde::{Deserialize, Serialize};

use crate::report::StepName;

use super::points::JobPoint;
use super::wanted::WantedStep;

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

/// Starts of steps that have ended, also those that a step back undid.
#[derive(Debug, Default)]
pub struct StepAttempts(Vec<StepAttempt>);

/// True for a step and an earlier start of it. An edit of the workflow may have given it another place.
fn is_same_step(known: &StepName, step: &StepName) -> bool {
    let has_id = !step.id.starts_with("__");
    let is_named = !step.name.starts_with("Run ") && known.path.len() == step.path.len();
    known.part == step.part
        && match (known.path == step.path, known.name == step.name) {
            (true, true) => true,
            (true, false) => has_id && known.id == step.id,
            (false, true) => is_named || has_id && known.id == step.id,
            (false, false) => false,
        }
}

impl StepAttempts {
    pub fn new(all: Vec<StepAttempt>) -> StepAttempts {
        StepAttempts(all)
    }

    pub fn all(&self) -> &[StepAttempt] {
        &self.0
    }

    /// The number of the start that a step would have now. From 1.
    pub fn next(&self, step: &StepName, points: &[JobPoint]) -> u32 {
        let is_same = |known: &StepName| is_same_step(known, step);
        let points = points.iter().filter(|point| is_same(&point.step));
        let ended = self.0.iter().filter(|attempt| is_same(&attempt.step));
        let numbers = points
            .map(|point| point.attempt)
            .chain(ended.map(|attempt| attempt.number));
        numbers.max().map_or(1, |last| last + 1)
    }

    /// Keeps a start that has ended, if it has a point, with the checkpoint of the files after it.
    pub fn note(&mut self, step: &StepName, points: &[JobPoint], after: NodeId) {
        if let Some(point) = points.last().filter(|point| point.step.path == step.path) {
            self.0.push(StepAttempt {
                step: step.clone(),
                number: point.attempt,
                before: point.files.node().0,
                after: after.0,
            });
        }
    }

    /// The starts of a step, by its id, its name, or its number from 1; without a name those of the step that ended last.
    pub fn of(&self, wanted: &str) -> Vec<&StepAttempt> {
        let last = self.0.last().map(|attempt| &attempt.step);
        let is_wanted = |step: &StepName| match wanted {
            "" => last.is_some_and(|last| is_same_step(step, last)),
            wanted => WantedStep::new(wanted).is(step),
        };
        let all = self.0.iter();
        all.filter(|attempt| is_wanted(&attempt.step)).collect()
    }
}
