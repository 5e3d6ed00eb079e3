//! A job that a person steps through. It stands before a step, or after one that failed. Each forward command makes a point
//! before the step that it commits to. A step back restores a point: files, times, environment, outputs and contexts.

mod attempts;
mod by_hand;
mod db;
mod edits;
mod frozen;
mod history;
mod keep;
mod kept;
mod points;
mod resume;
mod shell;
mod sources;
mod undo;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use backstitch_core::Engine;
use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use backstitch_core::restore::Gap;

use crate::expr::{self, Value};
use crate::report::{JobEnd, StepEnd, StepName, StepPart};
use crate::run::{JobRun, KeptJob, PendingStep, StandingJob};
use crate::state::StepOutcome;
use crate::workflow::StepAction;

pub use attempts::StepAttempt;
use db::RunDb;
pub use frozen::FrozenStop;
use history::engine_of;
use kept::{BeforeRestore, RunWork};
pub use points::{JobPoint, PointChoice, PointList};
pub use resume::{CannotResume, ResumableRun, is_resumable};
pub use shell::ShellEnd;
use sources::SeenSources;
pub use undo::UndoneRestore;

/// The agent and the tool under which the history of a run has its steps.
const AGENT: &str = "job";
const STEP_TOOL: &str = "step";

/// The place where a job stands.
#[derive(Clone, Debug)]
pub enum StopPlace {
    /// Before a step, which has not begun.
    Before(Box<PendingStep>),
    /// In a step whose processes are frozen.
    Frozen(Box<FrozenStop>),
    /// After a step that failed. Nothing has followed from it yet.
    Failed(StepName, StepEnd),
    /// After the last step and the last post.
    End,
}

/// Ways forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// Over the next step, with all that is in it.
    Over,
    /// Into the steps of a composite action.
    Into,
    /// To the step after the composite action, or the end.
    Out,
    /// To the next step that fails, or the end.
    On,
}

/// A restore of a point.
#[derive(Clone, Debug)]
pub struct Restored {
    /// Place of the point in the list.
    pub place: usize,
    /// Files and directories that changed.
    pub changed: usize,
    /// Variables that changed.
    pub variables: usize,
    /// Paths that stayed as they were, each with the reason.
    pub gaps: Vec<Gap>,
    /// Steps after the point that have no point: they are undone, too.
    pub passed: Vec<String>,
}

/// A job, its points, and the place where it stands.
#[derive(Debug)]
pub struct JobSession {
    run: StandingJob,
    engine: Engine,
    db: RunDb,
    points: PointList,
    /// Steps that have points, and the number of them.
    choice: PointChoice,
    /// The place before the last restore, until a step runs, and the points that it cut.
    undo: Option<BeforeRestore>,
    cut: Vec<JobPoint>,
    stop: StopPlace,
    /// The time since which the job stands.
    stood_since: Instant,
    /// Starts of steps that have ended, also those that a step back undid.
    attempts: Vec<StepAttempt>,
    /// The number of the last call, which its end has too.
    calls: i64,
    /// The user's files as they were seen last.
    seen: SeenSources,
    /// Sentences about edits that were taken up, until they are shown.
    notes: Vec<String>,
}

impl JobSession {
    /// Begins a job: it stands before its first step. Err: the end of a job whose history cannot be kept.
    pub fn begin(run: JobRun, choice: PointChoice) -> Result<JobSession, Box<JobEnd>> {
        let run = StandingJob::begin(run);
        let open = || -> Result<(Engine, RunDb), String> {
            let db = RunDb::create(&run.place().dir)?;
            let job = KeptJob::of(&run).map_err(|error| error.to_string())?;
            db.begin(&job)?;
            Ok((engine_of(run.place())?, db))
        };
        let (engine, db) = match open() {
            Ok(opened) => opened,
            Err(reason) => return Err(Box::new(run.finish(Some(reason)))),
        };
        let mut session = JobSession::of(run, engine, db, choice);
        let told = session.record_event(EventKind::Prompt {
            text: session.run.job_name().name.clone(),
            synthetic: false,
        });
        session.stand();
        if let Err(reason) = told.and_then(|()| session.keep()) {
            return Err(Box::new(session.finish(Some(reason))));
        }
        Ok(session)
    }

    fn of(run: StandingJob, engine: Engine, db: RunDb, choice: PointChoice) -> JobSession {
        JobSession {
            db,
            engine,
            points: PointList::default(),
            choice,
            undo: None,
            cut: Vec::new(),
            stop: StopPlace::End,
            stood_since: Instant::now(),
            attempts: Vec::new(),
            // a session that continues the run counts on
            calls: seconds_now(),
            seen: SeenSources::default(),
            notes: Vec::new(),
            run,
        }
    }

    pub fn stop(&self) -> &StopPlace {
        &self.stop
    }

    pub fn points(&self) -> &PointList {
        &self.points
    }

    pub fn job(&self) -> &StandingJob {
        &self.run
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Ends the job, with all that its steps left running. With a reason it has failed.
    pub fn finish(self, reason: Option<String>) -> JobEnd {
        self.run.finish(reason)
    }

    /// The step that a forward command would run.
    fn pending(&mut self) -> Option<PendingStep> {
        self.run.pending()
    }

    /// Stands before the next step whose condition holds. Steps that are passed over get their result.
    fn stand(&mut self) {
        self.stood_since = Instant::now();
        loop {
            match self.pending() {
                None => self.stop = StopPlace::End,
                Some(step) if step.is_passed_over() => {
                    self.run.run_next();
                    continue;
                }
                Some(step) => self.stop = StopPlace::Before(Box::new(step)),
            }
            return;
        }
    }

    /// Sees the step again before which the job stands: what it finds has changed.
    fn refresh(&mut self) {
        if let StopPlace::Before(_) = &self.stop
            && let Some(step) = self.pending()
        {
            self.stop = StopPlace::Before(Box::new(step));
        }
    }

    /// Moves the deadlines of the job by the time since a moment, as nothing of it ran then.
    fn stood_since(&mut self, moment: Instant) {
        self.run.stood_still(moment.elapsed());
        self.stood_since = Instant::now();
    }

    /// Goes forward. A step that fails ends it.
    pub fn forward(&mut self, way: Forward) -> Result<(), String> {
        self.stood_since(self.stood_since);
        if let StopPlace::Frozen(frozen) = &self.stop {
            let step = frozen.step.clone();
            return self.go(way, step.depth(), Some(step));
        }
        self.take_up();
        let passes_over = matches!(&self.stop, StopPlace::Before(step) if step.is_passed_over());
        let has_failed = matches!(&self.stop, StopPlace::Failed(..));
        if passes_over || has_failed {
            self.stand();
        }
        if has_failed && matches!(&self.stop, StopPlace::End) {
            // nothing runs after the failure
            return Ok(());
        }
        let StopPlace::Before(first) = &self.stop else {
            return Err("The job has ended: only a step back leads on.".to_owned());
        };
        let depth = first.depth();
        self.go(way, depth, None)
    }

    /// Runs steps until the way ends, the frozen one first.
    fn go(
        &mut self,
        way: Forward,
        depth: usize,
        mut frozen: Option<PendingStep>,
    ) -> Result<(), String> {
        loop {
            // a frozen step ends as a whole
            let (step, enters) = if let Some(frozen) = frozen.take() {
                (frozen, false)
            } else {
                let StopPlace::Before(step) = &self.stop else {
                    return Ok(());
                };
                let step = (**step).clone();
                self.commit(&step)?;
                let enters = matches!(way, Forward::Into | Forward::On) && step.may_be_entered();
                (step, enters)
            };
            let ended = self.run_step(&step, enters)?;
            if self.is_frozen(&step) {
                return Ok(());
            }
            let is_paused = self.run.set_may_freeze(false);
            if let Some((name, mut end)) = ended
                && matches!(
                    end.conclusion,
                    StepOutcome::Failure | StepOutcome::Cancelled
                )
                && !(way == Forward::On && self.run.is_within_continued())
            {
                if end.conclusion == StepOutcome::Cancelled {
                    // the person ended the step, not the job
                    self.run.forgive_stop();
                    self.run.set_conclusion(&name, StepOutcome::Failure);
                    end.conclusion = StepOutcome::Failure;
                }
                self.stop = StopPlace::Failed(name, end);
                self.stood_since = Instant::now();
                return Ok(());
            }
            self.stand();
            let StopPlace::Before(next) = &self.stop else {
                return Ok(());
            };
            let is_there = match way {
                Forward::Over | Forward::Into => true,
                Forward::Out => next.depth() < depth,
                Forward::On => false,
            };
            if is_there || is_paused {
                return Ok(());
            }
        }
    }

    /// Makes the point of a step that begins now (S1-001).
    fn commit(&mut self, step: &PendingStep) -> Result<(), String> {
        self.calls += 1;
        self.record_event(EventKind::Before(self.call_of(step)))?;
        (self.undo, self.cut) = (None, Vec::new());
        if !self.has_point(step)? {
            self.points.commit_without(&step.name.name);
            return self.save(&RunWork::WithoutPoint(step.name.name.clone()));
        }
        let (node, times) = self.present()?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let attempt = self.next_attempt(&step.name);
        self.points.commit(JobPoint {
            step: step.name.clone(),
            node: node.0,
            times: times.0,
            live: self.run.live(),
            created: i64::try_from(since.unwrap_or_default().as_micros()).unwrap_or(i64::MAX),
            programs: self.run.programs(),
            ended: self.run.ended(),
            at: Instant::now(),
            attempt,
        });
        for removed in self.points.keep(self.choice.keep) {
            self.log(&format!(
                "removed checkpoint before '{}': jobs.keep is {}",
                removed.step.name, self.choice.keep
            ));
        }
        let state = self.run.state();
        let (env, path) = (state.env.len(), state.path.len());
        let place = self.points.all().len() - 1;
        self.log(&format!(
            "checkpoint [{place}] before '{}': {env} variables, {path} directories of PATH, files {node}",
            step.name.name
        ));
        self.save(&RunWork::Step)
    }

    /// Runs a step to its end, or into its first inner step. Returns its end.
    fn run_step(
        &mut self,
        step: &PendingStep,
        enters: bool,
    ) -> Result<Option<(StepName, StepEnd)>, String> {
        let depth = step.depth();
        let is_own = |(name, _): &(StepName, StepEnd)| name.path.len() <= depth;
        let began = seconds_now();
        self.run.take_last();
        self.run.set_may_freeze(true);
        if self.run.frozen().is_some() {
            self.run.thaw();
        } else {
            self.run.run_next();
        }
        let mut ended = self.run.take_last().filter(is_own);
        while !enters && ended.is_none() && self.run.frozen().is_none() {
            match self.run.pending() {
                Some(inner) if inner.depth() > depth => {
                    self.run.run_next();
                    self.run.take_last();
                }
                _ => break,
            }
        }
        if self.run.frozen().is_some() {
            return Ok(None);
        }
        if ended.is_none() && !enters {
            // leaving the composite action gives its end
            self.run.pending();
            ended = self.run.take_last();
        }
        let failed = matches!(&ended, Some((_, end)) if end.outcome == StepOutcome::Failure);
        self.close_call(step, failed)?;
        self.seen.begin(&mut self.run, &self.engine, began)?;
        Ok(ended)
    }

    /// Tells the history the end of a step.
    fn close_call(&mut self, step: &PendingStep, failed: bool) -> Result<(), String> {
        self.record_event(EventKind::After {
            call: self.call_of(step),
            report: ToolReport::default(),
            failed,
        })?;
        self.note_attempt(&step.name)
    }

    /// Goes so many points back.
    pub fn back(&mut self, steps: usize) -> Result<Restored, String> {
        let depth = match &self.stop {
            StopPlace::Before(step) => step.depth(),
            StopPlace::Frozen(frozen) => frozen.step.depth(),
            StopPlace::Failed(name, _) => name.path.len(),
            StopPlace::End => 1,
        };
        let available = self.points.available().len();
        if available == 0 {
            return Err("There is no checkpoint to go back to: no step has run.".to_owned());
        }
        let place = self.points.back(steps, depth).ok_or_else(|| {
            format!("{steps} steps back are too many; checkpoints to go back to: {available}.")
        })?;
        self.restore(place)
    }

    /// Goes back to the point at this place.
    pub fn restore(&mut self, place: usize) -> Result<Restored, String> {
        let count = self.points.all().len();
        let point = self.points.all().get(place).cloned().ok_or_else(|| {
            format!(
                "There is no checkpoint [{place}]: they have the numbers 0 to {}.",
                count.saturating_sub(1)
            )
        })?;
        self.kill_taken_back()?;
        self.run.end_programs_after(point.programs);
        self.undo = Some(self.before_restore()?);
        self.cut.clear();
        self.save(&RunWork::Restore(place))?;
        self.finish_restore(place)
    }

    /// Restores a point, or does the rest of a restore that was cut off.
    fn finish_restore(&mut self, place: usize) -> Result<Restored, String> {
        let missing = || format!("The checkpoint [{place}] is missing in the run.");
        let point = self.points.all().get(place).cloned().ok_or_else(missing)?;
        let applied = self.restore_files(point.node(), point.times())?;
        let variables = differing(&self.run, &point);
        self.run.set_live(point.live.clone());
        self.stood_since(point.at);
        self.run.taken_back(point.ended);
        let (cut, passed) = self.points.restored(place);
        self.cut = cut;
        self.take_up_workflow();
        self.stand();
        self.log(&format!(
            "restored checkpoint [{place}] before '{}'",
            point.step.name
        ));
        self.save(&RunWork::Standing)?;
        let mut gaps = applied.plan.gaps;
        // pipes went with the times
        gaps.retain(|gap| {
            let path = gap
                .path
                .as_deref()
                .map(|path| Path::new(OsStr::from_bytes(path)));
            path.is_none_or(|path| self.engine.root().join(path).symlink_metadata().is_ok())
        });
        Ok(Restored {
            place,
            changed: applied.plan.actions.len(),
            variables,
            gaps,
            passed,
        })
    }

    /// Runs the last step once more, with the files as they were before it.
    pub fn again(&mut self) -> Result<Restored, String> {
        self.points.check_last()?;
        let restored = self.back(1)?;
        self.forward(Forward::Over)?;
        Ok(restored)
    }

    /// Runs the last step once more, with the files as they are now, and all else as at its first start.
    pub fn retry(&mut self) -> Result<(), String> {
        self.points.check_last()?;
        let place = self.points.available().len().checked_sub(1);
        let place = place.ok_or_else(|| "No step has run, so none can be run again.".to_owned())?;
        let point = self.points.all()[place].clone();
        self.kill_taken_back()?;
        self.run.end_programs_after(point.programs);
        self.run.set_live(point.live);
        self.stood_since(point.at);
        self.run.taken_back(point.ended);
        self.points.restored(place);
        self.take_up_workflow();
        self.stand();
        self.forward(Forward::Over)
    }

    /// The state as JSON with sorted keys and without a clock, so that two runs of the same steps have equal texts.
    pub fn canonical(&self) -> serde_json::Value {
        let state = self.run.state();
        let pairs = |pairs: &crate::state::EnvVariables| -> serde_json::Value {
            let all: std::collections::BTreeMap<_, _> = pairs.iter().collect();
            serde_json::json!(all)
        };
        let mut steps = std::collections::BTreeMap::new();
        for (scope, results) in &state.steps {
            let mut all = std::collections::BTreeMap::new();
            for (id, result) in results {
                let one = serde_json::json!({
                    "conclusion": result.conclusion,
                    "outcome": result.outcome,
                    "outputs": pairs(&result.outputs),
                });
                all.insert(id, one);
            }
            steps.insert(scope, all);
        }
        let kept: std::collections::BTreeMap<_, _> = state
            .state
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(key, values)| (key, pairs(values)))
            .collect();
        serde_json::json!({
            "env": pairs(&state.env),
            "job": {"result": state.result, "status": state.status},
            "path": state.path,
            "post": state.post,
            "state": kept,
            "steps": steps,
        })
    }

    /// Leaves out steps up to one, by its id, its name, or its number from 1.
    pub fn go_to(&mut self, wanted: &str) -> Result<(), String> {
        self.take_up();
        let ahead = self.run.places_ahead();
        let found = ahead
            .iter()
            .position(|(place, step)| crate::run::step_matches(step, *place, wanted));
        if found.is_some() && matches!(self.stop, StopPlace::Frozen(_)) {
            return Err("A step is frozen: let it continue (c), or end it (:kill), before steps are left out.".to_owned());
        }
        if let Some(count) = found {
            self.stood_since(self.stood_since);
            for _ in 0..count {
                self.run.leave_out();
            }
            self.stand();
            return Ok(());
        }
        let is_one = |point: &JobPoint| {
            let number = point.step.path.first().map(|place| place + 1);
            point.depth() == 1
                && (point.step.id == wanted
                    || point.step.name == wanted
                    || wanted.parse() == Ok(number.unwrap_or_default()))
        };
        let place = self.points.all().iter().rposition(is_one).ok_or_else(|| {
            format!("{wanted}: no such step; name it by its id, its name, or its number from 1")
        })?;
        self.restore(place).map(drop)
    }

    fn record_event(&mut self, kind: EventKind) -> Result<(), String> {
        let event = AgentEvent {
            agent: AGENT.to_owned(),
            session: self.run.place().id.clone(),
            transcript: None,
            prompt_id: None,
            subagent: None,
            cwd: Some(self.run.place().files.clone()),
            process: None,
            other_hooks: None,
            name: String::new(),
            kind,
        };
        let recorded = self.engine.capture_mut().record(&event);
        recorded.map(drop).map_err(|error| error.to_string())
    }

    fn call_of(&self, step: &PendingStep) -> ToolCall {
        let text = match &step.step.action {
            StepAction::Run { script, .. } => script.display(),
            StepAction::Uses { uses, .. } => uses.value.clone(),
            StepAction::Background(key) => key.value.clone(),
        };
        let input = serde_json::json!({
            "description": step.name.name,
            "command": self.run.mask(&text),
        });
        let part = match step.name.part {
            StepPart::Pre => "pre-",
            StepPart::Main => "",
            StepPart::Post => "post-",
        };
        ToolCall {
            id: Some(format!("{part}{}-{}", step.name.key(), self.calls)),
            tool: STEP_TOOL.to_owned(),
            input: input.to_string().into_bytes(),
            effect: Effect::Any { background: false },
        }
    }
}

/// Seconds since 1970.
fn seconds_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_secs()).unwrap_or(i64::MAX)
}

/// Number of variables whose values a restore changes.
fn differing(run: &StandingJob, point: &JobPoint) -> usize {
    let (now, then) = (&run.state().env, &point.live.state.env);
    let changed = now
        .iter()
        .filter(|(name, value)| then.get(name) != Some(value));
    let gone = then.iter().filter(|(name, _)| now.get(name).is_none());
    changed.count() + gone.count()
}

/// A value as people read it: a text as it is, all else as JSON.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => expr::Value::to_json(other),
    }
}
