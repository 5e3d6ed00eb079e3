//! Runs that continue after the end of their process: a kill of the debugger, of the machine, or of a step.

use std::path::{Path, PathBuf};

use crate::place::{self, RunEntry, RunPlace, RunRecord, RunStatus};
use crate::report::JobEnd;
use crate::run::{JobRun, KeptJob, KeptSecrets, RunClose, RunProcess, StandingJob};
use crate::step::left_processes::end_left_processes;

use super::attempts::StepAttempts;
use super::db::{KeptSession, RunDb};
use super::history::RunHistory;
use super::kept::RunWork;
use super::points::{PointChoice, PointList};
use super::{JobSession, Restored, gap_lines};

/// The reason for which a run does not continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotResume {
    #[error("the run {id} has ended ({status})")]
    Ended {
        id: String,
        status: &'static str,
        /// The workflow and the job, for a new run.
        again: (String, String),
    },
    #[error("process {owner} holds the run {id}")]
    Held { id: String, owner: String },
    #[error(
        "the run {0} has no checkpoints: it ran without stops, or was cut off before its first one"
    )]
    NoPoints(String),
    #[error("the repository {root} of the run {id} is gone")]
    NoRepository { id: String, root: PathBuf },
    #[error("processes of the run {id} do not end: {pids}")]
    Processes { id: String, pids: String },
    #[error("the run {id} cannot be read: {reason}")]
    Damaged { id: String, reason: String },
}

/// A run that this process holds, before it continues.
#[derive(Debug)]
pub struct ResumableRun {
    place: RunPlace,
    record: RunRecord,
    db: RunDb,
    kept: KeptSession,
    job: KeptJob,
    secrets: KeptSecrets,
}

/// True if `job debug --resume` continues a run.
pub fn is_resumable(run: &RunEntry) -> bool {
    run.is_cut_off() && !run.is_held && super::db::has_session(&run.dir)
}

impl ResumableRun {
    /// Takes a run, and ends the processes that it has left.
    pub fn take(run: &RunEntry) -> Result<ResumableRun, CannotResume> {
        let id = || run.id.clone();
        let damaged = |reason: String| CannotResume::Damaged { id: id(), reason };
        let record = run.record.clone().map_err(damaged)?;
        if record.status != RunStatus::Running {
            return Err(CannotResume::Ended {
                id: id(),
                status: record.status.word(),
                again: (record.workflow, record.job),
            });
        }
        let held = || {
            let owner = place::owner(&run.dir);
            let owner = owner.map_or_else(|| "another".to_owned(), |pid| pid.to_string());
            CannotResume::Held { id: id(), owner }
        };
        if run.is_held {
            return Err(held());
        }
        let db = RunDb::open(&run.dir).map_err(damaged)?;
        let mut db = db.ok_or_else(|| CannotResume::NoPoints(id()))?;
        let job = db.job().map_err(damaged)?;
        let (job, secrets) = job.ok_or_else(|| CannotResume::NoPoints(id()))?;
        if !job.root().is_dir() {
            let root = job.root().to_owned();
            return Err(CannotResume::NoRepository { id: id(), root });
        }
        let place = job.hold(&run.dir).map_err(|error| {
            if error.kind() == std::io::ErrorKind::WouldBlock {
                return held();
            }
            damaged(error.to_string())
        })?;
        end_left_processes(&run.dir).map_err(|pids| {
            let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
            let pids = pids.join(", ");
            CannotResume::Processes { id: id(), pids }
        })?;
        // the run is held: nobody writes it now
        let kept = db.session().map_err(damaged)?;
        let kept = kept.ok_or_else(|| CannotResume::NoPoints(id()))?;
        Ok(ResumableRun {
            place,
            record,
            db,
            kept,
            job,
            secrets,
        })
    }

    pub fn job(&self) -> &KeptJob {
        &self.job
    }

    /// Opens the run in this process, and finishes what was cut off. Returns the session, sentences about what was cut off, and the
    /// end of the run's record. Err: a sentence. `points`: the name of their choice, and the number of those that are kept.
    pub fn open(
        self,
        process: RunProcess,
        points: (&'static str, usize),
    ) -> Result<(JobSession, Vec<String>, RunClose), String> {
        let (name, keep) = points;
        let choice = PointChoice::new(name, &self.kept.stop.only, keep)?;
        let run = self.job.open(self.secrets, self.place, process)?;
        let close = RunClose::of(&run, self.record);
        let (session, notes) = JobSession::resume(run, self.db, self.kept, choice)?;
        Ok((session, notes, close))
    }
}

impl JobSession {
    fn resume(
        run: JobRun,
        db: RunDb,
        kept: KeptSession,
        choice: PointChoice,
    ) -> Result<(JobSession, Vec<String>), String> {
        let run = StandingJob::continued(run);
        let history = RunHistory::open(run.place())?;
        let mut session = JobSession::of(run, history, db, choice);
        session.run.set_live_stop(kept.stop.stop);
        session.points = PointList::new(kept.points, kept.stop.at_last);
        session.points.set_passed(kept.stop.passed);
        session.cut = kept.cut;
        session.undo = kept.stop.undo;
        session.by_hand = kept.stop.by_hand;
        session.attempts = StepAttempts::new(kept.stop.attempts);
        let note = session.finish_work(kept.work, kept.stop.failed)?;
        session.save(&RunWork::Standing)?;
        Ok((session, note.into_iter().collect()))
    }

    /// Finishes the work of the last process, or undoes it. Returns a sentence about it.
    fn finish_work(
        &mut self,
        work: RunWork,
        failed: Option<(crate::report::StepName, crate::report::StepEnd)>,
    ) -> Result<Option<String>, String> {
        let mut stayed = String::new();
        let mut said = |restored: Restored, session: &JobSession| {
            let point = &session.points.all()[restored.place];
            stayed = restored.stayed();
            format!(
                "checkpoint [{}] before '{}' is restored",
                restored.place, point.step.name
            )
        };
        let note = match work {
            RunWork::Standing => {
                self.stand_at(failed);
                None
            }
            RunWork::Shell => {
                self.stand_at(failed);
                Some(
                    "A command of yours was cut off: files stay as it left them, and the variables that it set are lost."
                        .to_owned(),
                )
            }
            RunWork::Step => {
                let last = self.points.all().len().saturating_sub(1);
                let restored = self.finish_restore(last)?;
                Some(format!(
                    "The step was cut off: {}. The history has what it left.",
                    said(restored, self)
                ))
            }
            RunWork::WithoutPoint(name) => {
                let last = self.points.all().len().checked_sub(1);
                let place = if let Some(last) = last {
                    let restored = self.finish_restore(last)?;
                    format!("{}. The history has what it left", said(restored, self))
                } else {
                    self.stand_at(failed);
                    "files stay as it left them".to_owned()
                };
                Some(format!(
                    "The step '{name}' was cut off, and has no checkpoint: {place}."
                ))
            }
            RunWork::Restore(place) => {
                let restored = self.finish_restore(place)?;
                Some(format!(
                    "A step back was cut off, and is finished: {}.",
                    said(restored, self)
                ))
            }
            RunWork::Undo => {
                stayed = gap_lines(&self.finish_undo()?.gaps);
                Some("The undo of a step back was cut off, and is finished.".to_owned())
            }
        };
        Ok(note.map(|note| note + &self.run.mask(&stayed)))
    }

    /// Ends the job, and writes its end into the record.
    pub fn close(self, reason: Option<String>, close: RunClose) -> JobEnd {
        let dir: PathBuf = Path::to_owned(&self.run.place().dir);
        let end = self.finish(reason);
        close.close(end, &dir)
    }
}
