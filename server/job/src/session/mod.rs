//! A job that a person steps through. It stands before a step, or after one that failed. Each forward command makes a point
//! before the step that it commits to. A step back restores a point: files, times, environment, outputs and contexts.

mod attempts;
mod by_hand;
mod db;
mod dir_watch;
mod edits;
mod forward;
mod frozen;
mod history;
mod keep;
mod kept;
mod listing;
mod notes;
mod points;
mod restore;
mod resume;
mod shell;
mod skipped;
mod source_merge;
mod sources;
mod terminal;
mod undo;
mod values;
mod wanted;

use std::path::PathBuf;
use std::time::Instant;

use backstitch_core::Engine;

use crate::expr::{self, Value};
use crate::report::{JobEnd, StepEnd, StepName};
use crate::run::{EarlyEnd, JobRun, KeptJob, PendingStep, StandingJob, plain_name};

pub use attempts::{StepAttempt, StepAttempts};
pub use by_hand::{GivenContext, evaluate_before, set_given};
use db::RunDb;
pub use edits::take_edits_by_word;
pub use forward::Forward;
pub use frozen::FrozenStop;
use history::RunHistory;
use kept::BeforeRestore;
pub use notes::{NoteListener, SessionNotes};
pub use points::{JobPoint, LEFT_OUT, PointChoice, PointList};
pub use restore::{Restored, gap_lines, restart};
pub use resume::{CannotResume, ResumableRun, is_resumable};
pub use shell::ShellEnd;
use skipped::{SkippedStops, StopsBefore};
use sources::SeenSources;
pub use terminal::{new_terminal_folder, run_terminal_shell, wait_for_terminal};
pub use undo::UndoneRestore;
use values::ByHand;

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

impl StopPlace {
    /// Depth of the step where the job stands: 1 for one of the job.
    fn depth(&self) -> usize {
        match self {
            StopPlace::Before(step) => step.depth(),
            StopPlace::Frozen(frozen) => frozen.step.depth(),
            StopPlace::Failed(name, _) => name.path.len(),
            StopPlace::End => 1,
        }
    }
}

/// A job, its points, and the place where it stands.
#[derive(Debug)]
pub struct JobSession {
    run: StandingJob,
    history: RunHistory,
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
    attempts: StepAttempts,
    /// The user's files as they were seen last.
    seen: SeenSources,
    notes: SessionNotes,
    by_hand: Vec<ByHand>,
    skipped_stops: SkippedStops,
    /// Edits of the user's files are taken up by `:sync` alone.
    waits_for_sync: bool,
    /// The directory to which the last shell command went.
    shell_directory: Option<PathBuf>,
}

/// Stops before these steps as well where they are passed over.
pub fn stop_before_skipped(session: &mut JobSession, stops: StopsBefore) {
    session.skipped_stops = SkippedStops::of(stops);
}

/// Steps that have points.
pub fn choice_of_points(session: &JobSession) -> &PointChoice {
    &session.choice
}

impl JobSession {
    /// Begins a job: it stands before its first step. Err: the end of a job whose history cannot be kept.
    pub fn begin(run: JobRun, choice: PointChoice) -> Result<JobSession, Box<JobEnd>> {
        let run = StandingJob::begin(run);
        let open = || -> Result<(RunHistory, RunDb), String> {
            let db = RunDb::create(&run.place().dir)?;
            let job = KeptJob::of(&run).map_err(|error| error.to_string())?;
            db.begin(&job)?;
            Ok((RunHistory::open(run.place())?, db))
        };
        let (history, db) = match open() {
            Ok(opened) => opened,
            Err(reason) => return Err(Box::new(run.finish(Some(EarlyEnd::Failed(reason))))),
        };
        let mut session = JobSession::of(run, history, db, choice);
        let job = session.run.job_name().name.clone();
        let told = session.history.job_begins(&job);
        session.stand();
        if let Err(reason) = told.and_then(|()| session.keep()) {
            return Err(Box::new(session.finish(Some(reason))));
        }
        Ok(session)
    }

    fn of(run: StandingJob, history: RunHistory, db: RunDb, choice: PointChoice) -> JobSession {
        JobSession {
            db,
            history,
            points: PointList::default(),
            choice,
            undo: None,
            cut: Vec::new(),
            stop: StopPlace::End,
            stood_since: Instant::now(),
            attempts: StepAttempts::default(),
            seen: SeenSources::default(),
            notes: SessionNotes::default(),
            by_hand: Vec::new(),
            skipped_stops: SkippedStops::default(),
            waits_for_sync: false,
            shell_directory: None,
            run,
        }
    }

    pub fn stop(&self) -> &StopPlace {
        &self.stop
    }

    pub fn points(&self) -> &PointList {
        &self.points
    }

    pub fn notes(&mut self) -> &mut SessionNotes {
        &mut self.notes
    }

    pub fn job(&self) -> &StandingJob {
        &self.run
    }

    pub fn engine(&self) -> &Engine {
        self.history.engine()
    }

    /// The number of the start of the step where the job stands: the next one before a step, else the last one. From 1 (J24).
    pub fn attempt(&self) -> Option<u32> {
        match &self.stop {
            StopPlace::Before(step) => Some(self.attempts.next(&step.name, self.points.all())),
            StopPlace::Frozen(_) | StopPlace::Failed(..) => {
                self.points.all().last().map(|point| point.attempt)
            }
            StopPlace::End => None,
        }
    }

    /// The starts of steps that have ended.
    pub fn attempts(&self) -> &StepAttempts {
        &self.attempts
    }

    /// Names of the steps that have run, and of those of the job that have not.
    pub fn step_names(&self) -> Vec<String> {
        let ran = self
            .attempts
            .all()
            .iter()
            .map(|attempt| attempt.step.name.clone());
        let ahead = self.run.steps_ahead().here.into_iter();
        let ahead = ahead.filter_map(|(_, step)| plain_name(&step));
        let mut names: Vec<String> = ran.chain(ahead).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Ends the job, with all that its steps left running. With a reason it has failed. A job that has not come to its end is
    /// cancelled, unless a step has failed.
    pub fn finish(mut self, reason: Option<String>) -> JobEnd {
        if let Err(error) = self.history.job_ends() {
            // the result of the job does not depend on it
            self.log(&format!(
                "the end of the job is not in the history: {error}"
            ));
        }
        let left = match &self.stop {
            StopPlace::End => None,
            StopPlace::Before(step) => Some(&step.name.name),
            StopPlace::Frozen(frozen) => Some(&frozen.name.name),
            StopPlace::Failed(name, _) => Some(&name.name),
        };
        let left = left.map(|step| EarlyEnd::Left(format!("left at '{step}'")));
        self.run.finish(reason.map(EarlyEnd::Failed).or(left))
    }

    /// Stands before the next step whose condition holds. Steps that are passed over get their result.
    fn stand(&mut self) {
        self.stood_since = Instant::now();
        loop {
            match self.run.pending() {
                None => self.stop = StopPlace::End,
                Some(step) if step.is_passed_over() && !self.skipped_stops.are_at(&step.name) => {
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
            && let Some(step) = self.run.pending()
        {
            self.stop = StopPlace::Before(Box::new(step));
        }
    }

    /// Moves the deadlines of the job by the time since a moment, as nothing of it ran then.
    fn stood_since(&mut self, moment: Instant) {
        self.run.stood_still(moment.elapsed());
        self.stood_since = Instant::now();
    }
}

/// A value as people read it: a text as it is, all else as JSON.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => expr::Value::to_json(other),
    }
}
