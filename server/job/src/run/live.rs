//! All that a job is between two steps, but for files: a value that a point keeps, and that a job continues from.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::expr::Value;
use crate::report::{StepEnd, StepName};
use crate::state::{JobState, StepOutcome};

use super::frame::Frame;
use super::open::{Post, ReachedOut};
use super::standing::StandingJob;

/// A job that stands, with what it reports at its end: a value from which another process continues.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveStop {
    pub live: LiveJob,
    /// Steps that have ended.
    pub ended: Vec<(StepName, StepEnd)>,
    /// Steps that have run with commands that reach out.
    #[serde(default)]
    reached: Vec<ReachedOut>,
    /// Programs that have run.
    programs: u64,
    /// The status before the last step counted.
    status_before: StepOutcome,
}

/// A job between two steps. Deadlines are kept as the time that is left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveJob {
    pub state: JobState,
    frames: Vec<Frame>,
    posts: BTreeMap<String, Post>,
    /// Problem matchers that steps have added.
    matchers: Vec<String>,
    #[serde(with = "time_left")]
    deadline: Option<Instant>,
}

impl StandingJob {
    /// The job as it is now.
    pub fn live(&self) -> LiveJob {
        LiveJob {
            state: self.run.state.clone(),
            frames: self.run.frames.clone(),
            posts: self.run.posts.clone(),
            matchers: self.run.matchers.texts(),
            deadline: self.run.deadline,
        }
    }

    /// The job as it is now, with the steps that have ended.
    pub fn live_stop(&self) -> LiveStop {
        LiveStop {
            live: self.live(),
            ended: self.run.ended.clone(),
            reached: self.run.reached.clone(),
            programs: self.run.programs,
            status_before: self.run.status_before,
        }
    }

    /// Continues from a stop, also from one of another process.
    pub fn set_live_stop(&mut self, stop: LiveStop) {
        self.set_live(stop.live);
        self.run.report().had_ended(&stop.ended);
        self.run.ended = stop.ended;
        self.run.reached = stop.reached;
        // numbers of programs are never used twice
        self.run.programs = self.run.programs.max(stop.programs);
        self.run.status_before = stop.status_before;
    }

    /// Continues from another moment. Processes, masks and files are not part of it.
    pub fn set_live(&mut self, live: LiveJob) {
        self.run.state = live.state;
        self.run.frames = live.frames;
        self.run.posts = live.posts;
        self.run.matchers.set(&live.matchers);
        self.run.deadline = live.deadline;
    }

    pub fn state(&self) -> &JobState {
        &self.run.state
    }

    pub fn state_mut(&mut self) -> &mut JobState {
        &mut self.run.state
    }

    /// Moves all deadlines, since no time passes for a job while nothing runs.
    pub fn stood_still(&mut self, time: Duration) {
        let moved = |at: &mut Option<Instant>| *at = at.and_then(|at| at.checked_add(time));
        moved(&mut self.run.deadline);
        for frame in &mut self.run.frames {
            moved(&mut frame.deadline);
            if let Some(composite) = &mut frame.composite {
                moved(&mut composite.open.deadline);
            }
        }
        if let Some(frozen) = &mut self.run.frozen {
            frozen.stood_still(time);
        }
        for post in self.run.posts.values_mut() {
            moved(&mut post.open.deadline);
        }
    }
}

/// Evaluates an expression as it was at another moment of the job, with or without `${{ }}`.
pub fn evaluate_at(job: &mut StandingJob, moment: &LiveJob, text: &str) -> Result<Value, String> {
    let run = &mut job.run;
    let state = std::mem::replace(&mut run.state, moment.state.clone());
    let frames = std::mem::replace(&mut run.frames, moment.frames.clone());
    let frozen = run.frozen.take();
    let value = job.evaluate_pending(text);
    job.run.state = state;
    job.run.frames = frames;
    job.run.frozen = frozen;
    value
}

impl LiveJob {
    /// The state as JSON. It also has the step that runs next by its id, the index of it in the job, and the steps after it.
    pub fn canonical(&self) -> serde_json::Value {
        let mut ahead = self.ids_ahead().into_iter();
        let (index, pending) = ahead.next().unzip();
        let queue: Vec<String> = ahead.map(|(_, id)| id).collect();
        let mut state = self.state.canonical();
        state["stepIndex"] = index.into();
        state["pending"] = pending.into();
        state["queue"] = queue.into();
        state.sort_all_objects();
        state
    }

    /// Results of the steps beside the one that runs next: of the job, or of its composite action. They are as the context `steps`
    /// has them. `canonical`: this moment as JSON.
    pub fn results_here(&self, canonical: &serde_json::Value) -> serde_json::Value {
        let frame = self.frames.last();
        let frame = frame.filter(|frame| frame.next < frame.steps.len());
        let post = || self.posts.get(self.state.post.last()?);
        let scope = match frame {
            Some(frame) => Some(&frame.scope),
            None => post().map(|post| &post.open.scope),
        };
        let results = canonical["steps"].get(scope.map_or("", String::as_str));
        results.cloned().unwrap_or_else(|| serde_json::json!({}))
    }

    /// Steps that have not run, then posts: each with the index of its step in the job. Inner steps have the ids above before theirs.
    fn ids_ahead(&self) -> Vec<(usize, String)> {
        let id_in = |scope: &str, id: &str| match scope {
            "" => id.to_owned(),
            scope => format!("{scope}.{id}"),
        };
        let mut ahead = Vec::new();
        for frame in self.frames.iter().rev() {
            for (place, step) in frame.steps.iter().enumerate().skip(frame.next) {
                let index = frame.path.first().copied().unwrap_or(place);
                ahead.push((index, id_in(&frame.scope, &step.id)));
            }
        }
        let posts = self.state.post.iter().rev();
        for open in posts.filter_map(|key| Some(&self.posts.get(key)?.open)) {
            let index = open.name.path.first().copied().unwrap_or_default();
            let id = id_in(&open.scope, &open.step.id);
            ahead.push((index, format!("post:{id}")));
        }
        ahead
    }
}

/// Deadlines as the milliseconds that are left.
pub(super) mod time_left {
    use super::{Deserialize as _, Duration, Instant, Serialize as _};
    use serde::{Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub fn serialize<S: Serializer>(at: &Option<Instant>, to: S) -> Result<S::Ok, S::Error> {
        let left = at.map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        left.serialize(to)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<Instant>, D::Error> {
        let left: Option<u64> = Option::deserialize(from)?;
        Ok(left.and_then(|left| Instant::now().checked_add(Duration::from_millis(left))))
    }
}

/// The steps of a frame, which copies share.
pub(super) mod shared_steps {
    use super::{Arc, Deserialize as _, Serialize as _};
    use crate::workflow::WorkflowStep;
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(
        steps: &Arc<Vec<WorkflowStep>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        steps.as_ref().serialize(to)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Arc<Vec<WorkflowStep>>, D::Error> {
        Vec::deserialize(from).map(Arc::new)
    }
}

/// Values of `github` within an action, by the names that this program gives them.
pub(super) mod github_names {
    use super::{Deserialize as _, Serialize as _};
    use serde::{Deserializer, Serializer, de};

    const NAMES: [&str; 4] = ["action", "action_path", "action_ref", "action_repository"];

    pub fn serialize<S: Serializer>(
        pairs: &[(&'static str, String)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        pairs.serialize(to)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(
        from: D,
    ) -> Result<Vec<(&'static str, String)>, D::Error> {
        let pairs: Vec<(String, String)> = Vec::deserialize(from)?;
        let named = pairs.into_iter().map(|(name, value)| {
            let known = NAMES.into_iter().find(|known| *known == name);
            let known = known.ok_or_else(|| de::Error::custom(format!("unknown name {name}")))?;
            Ok((known, value))
        });
        named.collect()
    }
}
