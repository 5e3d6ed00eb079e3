//! The list of points: moments before steps to which a job can go back.

use std::time::Instant;

use backstitch_core::model::NodeId;
use backstitch_core::restore::TimeMark;
use serde::{Deserialize, Serialize};

use crate::report::StepName;
use crate::run::LiveJob;

/// A moment before a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobPoint {
    /// The step that was about to run (S1-015, S1-016).
    pub step: StepName,
    /// The checkpoint of the files.
    pub node: i64,
    /// The moment in the log of times.
    pub times: i64,
    /// All but files (S1-024, S1-025).
    pub live: LiveJob,
    /// Microseconds since 1970, UTC (S1-026).
    pub created: i64,
    /// Programs that had run. Those that a later one left are ended by a step back.
    pub programs: u64,
    /// The moment, from which deadlines count: the time since then is not the job's.
    #[serde(skip, default = "Instant::now")]
    pub at: Instant,
    /// Steps that had ended.
    pub ended: usize,
    /// The number of this start of the step, from 1.
    pub attempt: u32,
}

impl JobPoint {
    pub fn node(&self) -> NodeId {
        NodeId(self.node)
    }

    pub fn times(&self) -> TimeMark {
        TimeMark(self.times)
    }

    /// Depth of the step: 1 for one of the job.
    pub fn depth(&self) -> usize {
        self.step.path.len()
    }
}

/// Points in their order, and the restored one.
#[derive(Clone, Debug, Default)]
pub struct PointList {
    all: Vec<JobPoint>,
    /// True if the job stands at the last point: a step back does not offer it, and a forward command replaces it.
    at_last: bool,
}

impl PointList {
    pub fn new(all: Vec<JobPoint>, at_last: bool) -> PointList {
        PointList { all, at_last }
    }

    pub fn all(&self) -> &[JobPoint] {
        &self.all
    }

    /// True if the job stands at the last point.
    pub fn is_at_last(&self) -> bool {
        self.at_last
    }

    /// Points to which a step back leads.
    pub fn available(&self) -> &[JobPoint] {
        let count = self.all.len() - usize::from(self.at_last);
        &self.all[..count]
    }

    /// The place of the point that so many steps back lead to. Points deeper than the step where the job stands count for their
    /// composite action.
    pub fn back(&self, steps: usize, depth: usize) -> Option<usize> {
        let places = self.available().iter().enumerate();
        let mut offered = places.rev().filter(|(_, point)| point.depth() <= depth);
        offered.nth(steps.checked_sub(1)?).map(|(place, _)| place)
    }

    /// The job commits to a step: a point that it stands at is replaced (S1-007).
    pub fn commit(&mut self, point: JobPoint) {
        if self.at_last {
            self.all.pop();
        }
        self.all.push(point);
        self.at_last = false;
    }

    /// Cuts what is above a point: the job stands at it.
    pub fn restored(&mut self, place: usize) {
        self.all.truncate(place + 1);
        self.at_last = !self.all.is_empty();
    }

    /// Removes the oldest points of the job beyond a number, each with those of its composite action. Returns how many.
    pub fn keep(&mut self, most: usize) -> usize {
        let before = self.all.len();
        let top = |point: &&JobPoint| point.depth() == 1;
        while self.all.iter().filter(top).count() > most.max(1) {
            let next = self.all.iter().skip(1).position(|point| point.depth() == 1);
            self.all.drain(..next.map_or(1, |next| next + 1));
        }
        before - self.all.len()
    }
}
