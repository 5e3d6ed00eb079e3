//! The thread that owns the job: it carries out commands in their order, and publishes each stop.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};

use backstitch_job::report::{JobEnd, JobName, StepName};
use backstitch_job::run::{EarlyEnd, JobDriver, JobRun, LineText, StandingJob, WorkflowAdditions};
use backstitch_job::session::{
    Forward, JobSession, PointChoice, Restored, StopPlace, restart, stop_before_skipped,
    take_edits_by_word,
};
use backstitch_job::state::StepOutcome;
use dapts::OutputEventCategory;
use serde_json::{Value, json};

use super::evaluate::{AfterAnswer, JobQuestion, answer};
use super::failures::{FailureKind, StepFacts, StopFailure};
use super::going::{arrive_first, go, point_at, reverse, run_out};
use super::launch::{ContinuedRun, LaunchedRun, POINTS};
use super::progress::ShownProgress;
use super::shared::{JOB_THREAD, SharedJob, StopReason};
use super::view::{JobView, own_file, place_words};
use crate::jobs::launch::announcement::{SeenCommands, added_lines};
use crate::jobs::words::{LineEffect, restored_text};

/// A command of a client to a job that stands.
#[derive(Debug)]
pub enum MachineCommand {
    Go(Forward),
    /// So many checkpoints back.
    Back(usize),
    Reverse,
    /// To a checkpoint.
    Restore(usize),
    /// To the beginning, as a further attempt.
    Restart,
    /// To the step at a line: back to its checkpoint, or ahead.
    Goto(PathBuf, u32),
    /// A line of the console, an expression, or a new value.
    Ask(JobQuestion),
    /// Ends the job: steps that run always still run.
    End,
}

/// Drives one job by the commands of a client.
pub struct ClientDriver {
    pub shared: Arc<SharedJob>,
    pub commands: Mutex<Receiver<MachineCommand>>,
    pub job: String,
    pub place: (PathBuf, u32),
    /// Steps that have checkpoints. Those of a run that continues are its own.
    pub choice: Option<PointChoice>,
    /// Edits of files are taken up at each command forward.
    pub takes_edits: bool,
    pub stop_on_entry: bool,
    pub stop_at_end: bool,
    /// Commands that reach out and that the person has before them now. Going on agrees to them.
    pub unseen: Mutex<Vec<(SeenCommands, Vec<LineText>)>>,
}

impl JobDriver for ClientDriver {
    fn drives(&self, job: &JobName) -> bool {
        job.is_within(&self.job)
    }

    fn drive(&self, job: JobRun) -> JobEnd {
        let choice = self.choice.clone();
        let choice = choice.map_or_else(|| PointChoice::new(POINTS, &[], 1), Ok);
        let choice = match choice {
            Ok(choice) => choice,
            Err(reason) => return StandingJob::begin(job).finish(Some(EarlyEnd::Failed(reason))),
        };
        let mut session = match JobSession::begin(job, choice) {
            Ok(session) => session,
            Err(end) => return *end,
        };
        let driven = self.run(&mut session);
        session.finish(driven.err())
    }
}

impl ClientDriver {
    /// Carries out commands until the job ends. The error is the reason of a failure of the job's own keeping.
    pub fn run(&self, session: &mut JobSession) -> Result<(), String> {
        let client = self.shared.client.clone();
        session.notes().hear(Box::new(move |text| client.say(text)));
        let (root, shared) = (
            session.job().repository().root.clone(),
            Arc::clone(&self.shared),
        );
        let is_wanted = move |step: &StepName| !shared.breakpoints().at(step, &root).is_empty();
        stop_before_skipped(session, Box::new(is_wanted));
        if !self.takes_edits {
            take_edits_by_word(session);
        }
        let commands = self.commands.lock();
        let commands = commands.unwrap_or_else(PoisonError::into_inner);
        let mut agreed: Option<WorkflowAdditions> = None;
        if let Some(job) = &mut self.shared.breakpoints().job {
            job.stands_in(session.job().job_name());
        }
        if self.stop_on_entry {
            self.stopped(session, &StopReason::of("entry"), None);
        } else if let Some(reason) = arrive_first(session, &self.shared) {
            self.stopped(session, &reason, None);
        } else if !self.forward(session, Forward::On, &mut agreed)? {
            return Ok(());
        }
        loop {
            let command = if self.shared.is_leaving() {
                match commands.try_recv() {
                    Ok(command @ (MachineCommand::Ask(_) | MachineCommand::End)) => command,
                    // the end comes before a way that was asked for ahead of it
                    Ok(_) => continue,
                    // the client asked for the end while a line of its console ran
                    Err(TryRecvError::Empty) => return run_out(session).map(drop),
                    // it has left
                    Err(TryRecvError::Disconnected) => return Ok(()),
                }
            } else {
                match commands.recv() {
                    Ok(command) => command,
                    // the client has left
                    Err(RecvError) => return Ok(()),
                }
            };
            if !self.carry_out(session, command, &mut agreed)? {
                return Ok(());
            }
        }
    }

    /// The person continues, and has seen the commands that reach out.
    fn agree(&self) {
        let unseen = self.unseen.lock();
        let mut unseen = unseen.unwrap_or_else(PoisonError::into_inner);
        for (seen, commands) in unseen.drain(..) {
            seen.add(&commands);
        }
    }

    /// False at the end of the job.
    fn carry_out(
        &self,
        session: &mut JobSession,
        command: MachineCommand,
        agreed: &mut Option<WorkflowAdditions>,
    ) -> Result<bool, String> {
        match command {
            MachineCommand::Go(_) if matches!(session.stop(), StopPlace::End) => return Ok(false),
            MachineCommand::Go(way) => return self.forward(session, way, agreed),
            MachineCommand::Back(steps) => {
                let restored = self.restoring(|| session.back(steps));
                self.went_back(session, restored, &StopReason::of("step"))?;
            }
            MachineCommand::Restore(place) => {
                let restored = self.restoring(|| session.restore(place));
                self.went_back(session, restored, &StopReason::of("restart"))?;
            }
            MachineCommand::Reverse => match self.restoring(|| reverse(session, &self.shared)) {
                Ok((restored, reason)) => self.went_back(session, Ok(restored), &reason)?,
                Err(error) => self.went_back(session, Err(error), &StopReason::of("step"))?,
            },
            MachineCommand::Restart => match self.restoring(|| restart(session)).transpose() {
                Some(restored) => self.went_back(session, restored, &StopReason::of("restart"))?,
                None => self.stopped(session, &StopReason::of("restart"), None),
            },
            MachineCommand::Goto(file, line) => {
                let went = self.go_to(session, &file, line);
                session.keep()?;
                self.stopped(session, &StopReason::of("goto"), went.err());
            }
            MachineCommand::Ask(asked) => return self.ask(session, &asked),
            MachineCommand::End => {
                run_out(session)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Does the work of a restore. A client hears of one that takes long.
    fn restoring<T>(&self, restore: impl FnOnce() -> T) -> T {
        let _progress = ShownProgress::of(&self.shared, "Restoring files");
        restore()
    }

    /// Answers a question. False at the end of the job.
    fn ask(&self, session: &mut JobSession, asked: &JobQuestion) -> Result<bool, String> {
        let changes = asked.may_change();
        // at the end the word is refused, and nothing runs
        let runs = asked.effect() == LineEffect::Runs && !matches!(session.stop(), StopPlace::End);
        let client = &self.shared.client;
        let continued = json!({"threadId": JOB_THREAD, "allThreadsContinued": true});
        if runs {
            self.agree();
            client.event("continued", &continued);
        }
        let (reply, answered) = answer(session, &self.shared, asked);
        if changes {
            session.keep()?;
        }
        if changes && matches!(answered, AfterAnswer::Stays) {
            self.shared.refresh(self.view_of(session, None));
            self.shared.stands();
        }
        match reply.result {
            Ok(body) => client.respond(reply.request, reply.command, Some(body)),
            Err(reason) => client.refuse(reply.request, reply.command, &reason),
        }
        match answered {
            AfterAnswer::Quit => return Ok(false),
            AfterAnswer::Moved => {
                if !runs {
                    // no request of the protocol moved the job
                    client.event("continued", &continued);
                }
                let failure = StopFailure::at(session.stop(), &StepFacts::default());
                let mut failure = failure.into_iter();
                let failed = failure.find(|one| one.kind == FailureKind::Failed);
                let reason = failed.map(StopReason::failed);
                let reason = reason.unwrap_or_else(|| StopReason::of("step"));
                self.stopped(session, &reason, None);
            }
            // nothing has run, and the client takes the job for running
            AfterAnswer::Stays if runs => self.stopped(session, &StopReason::of("step"), None),
            AfterAnswer::Stays if changes => {
                let areas = json!({"areas": ["variables"], "threadId": JOB_THREAD});
                client.event("invalidated", &areas);
                self.shared.stop_again();
            }
            AfterAnswer::Stays => {}
        }
        Ok(true)
    }

    /// False at the end of the job.
    fn forward(
        &self,
        session: &mut JobSession,
        way: Forward,
        agreed: &mut Option<WorkflowAdditions>,
    ) -> Result<bool, String> {
        self.agree();
        if let Some(added) = session.additions() {
            let is_known = agreed.as_ref() == Some(&added);
            if !is_known {
                let lines = added_lines(&added);
                let text = session.job().mask(&lines.join("\n"));
                *agreed = Some(added);
                let text = format!("{text}\nNothing has run. Continue once more to agree to this.");
                self.stopped(session, &StopReason::of("pause"), Some(text));
                return Ok(true);
            }
            session.agree(&added);
        }
        match go(session, &self.shared, way) {
            Ok(Some(reason)) => self.stopped(session, &reason, None),
            Ok(None) => {
                // a job that has run through needs nobody at its end
                let is_through =
                    way == Forward::On && session.job().state().status() == StepOutcome::Success;
                if self.shared.is_leaving() || is_through && !self.stop_at_end {
                    return Ok(false);
                }
                self.stopped(session, &StopReason::of("step"), None);
            }
            Err(error) => {
                session.keep()?;
                self.stopped(session, &StopReason::of("pause"), Some(error));
            }
        }
        Ok(true)
    }

    fn went_back(
        &self,
        session: &mut JobSession,
        restored: Result<Restored, String>,
        reason: &StopReason,
    ) -> Result<(), String> {
        session.keep()?;
        let text = match restored {
            Ok(restored) => session.job().mask(&restored_text(session, &restored)),
            Err(error) => session.job().mask(&error),
        };
        self.shared.client.say(&text);
        let description = format!("stepped back: {}", place_words(session.stop()));
        let description = session.job().mask(&description);
        self.publish(session, None);
        self.shared.stopped(reason, &description);
        Ok(())
    }

    fn go_to(
        &self,
        session: &mut JobSession,
        file: &std::path::Path,
        line: u32,
    ) -> Result<(), String> {
        if let Some(place) = point_at(session, file, line) {
            let restored = self.restoring(|| session.restore(place))?;
            let text = restored_text(session, &restored);
            self.shared.client.say(&session.job().mask(&text));
            return Ok(());
        }
        let root = session.job().repository().root.clone();
        let ahead = session.job().steps_ahead().here;
        let is_here = match session.stop() {
            StopPlace::Before(step) => own_file(&root, &step.name.file) == file,
            StopPlace::Failed(name, _) => own_file(&root, &name.file) == file,
            StopPlace::Frozen(_) | StopPlace::End => false,
        };
        let mut here = ahead.iter().filter(|_| is_here);
        let found = here.find(|(_, step)| step.range.start.line == line);
        let (path, _) = found
            .ok_or_else(|| format!("No step that is ahead or has run begins at line {line}."))?;
        let numbers: Vec<String> = path.iter().map(|place| (place + 1).to_string()).collect();
        session.go_to(&numbers.join(".")).map(drop)
    }

    /// Publishes the stop, and tells it. `text`: lines for the console.
    fn stopped(&self, session: &mut JobSession, reason: &StopReason, text: Option<String>) {
        if let Some(text) = text {
            let line = format!("{}\n", session.job().mask(text.trim_end()));
            self.shared
                .client
                .output(OutputEventCategory::Console, &line);
        }
        let description = place_words(session.stop());
        let description = session.job().mask(&description);
        let failure = reason.failure.clone();
        self.publish(session, failure);
        self.shared.stopped(reason, &description);
    }

    fn publish(&self, session: &mut JobSession, failure: Option<StopFailure>) {
        let view = self.view_of(session, failure);
        self.shared.publish(view);
    }

    /// `failure`: the one at which the job has stopped, if the place alone does not tell it.
    fn view_of(&self, session: &mut JobSession, failure: Option<StopFailure>) -> JobView {
        let here = || StopFailure::at(session.stop(), &StepFacts::default()).into_iter();
        let failure = failure.or_else(|| here().next());
        JobView::of(session, &self.place, failure)
    }

    /// Stands before all jobs, until the client lets them run. False if it ends the run.
    fn agrees(&self) -> bool {
        let commands = self.commands.lock();
        let commands = commands.unwrap_or_else(PoisonError::into_inner);
        let description = "before the jobs that it needs: some of their commands reach out. Continue to agree to this";
        loop {
            let view = JobView::of_job(self.job.clone(), self.place.clone());
            self.shared.publish(view);
            self.shared.stopped(&StopReason::of("entry"), description);
            let reason = "The job has not begun: continue, or end it.";
            match commands.recv() {
                Ok(MachineCommand::Go(_)) => {
                    self.agree();
                    return true;
                }
                Ok(MachineCommand::End) | Err(RecvError) => return false,
                Ok(MachineCommand::Ask(asked)) => {
                    let (request, command) = asked.request();
                    self.shared.client.refuse(request, command, reason);
                }
                Ok(
                    MachineCommand::Back(_)
                    | MachineCommand::Reverse
                    | MachineCommand::Restore(_)
                    | MachineCommand::Restart
                    | MachineCommand::Goto(..),
                ) => self.shared.client.say(reason),
            }
        }
    }
}

/// Runs a launched workflow to its end, and tells the client. `drives`: the client steps through the job.
pub fn run(launched: LaunchedRun, driver: ClientDriver, drives: bool, shared: &SharedJob) {
    if launched.reaches_before && !driver.agrees() {
        tell_end(shared, 1);
        return;
    }
    let mut setup = launched.setup;
    setup.driver = drives.then(|| Arc::new(driver) as Arc<dyn JobDriver>);
    let ended = setup.run();
    let code = match &ended {
        Ok(end) => exit_code(end.result()),
        Err(reason) => {
            let reason = setup.masks.apply(reason);
            shared
                .client
                .output(OutputEventCategory::Stderr, &format!("{reason}\n"));
            1
        }
    };
    tell_end(shared, code);
}

/// Continues a run that another process has left, to its end.
pub fn run_continued(continued: ContinuedRun, driver: &ClientDriver, shared: &SharedJob) {
    let masks = continued.process.masks.clone();
    let opened = continued
        .taken
        .open(continued.process, (POINTS, continued.keep));
    let code = match opened {
        Ok((mut session, notes, close)) => {
            shared.client.say(&masks.apply(&notes.join(" ")));
            let driven = driver.run(&mut session);
            exit_code(session.close(driven.err(), close).result)
        }
        Err(reason) => {
            let reason = masks.apply(&reason);
            shared
                .client
                .say(&format!("The run does not continue: {reason}"));
            1
        }
    };
    tell_end(shared, code);
}

fn exit_code(result: StepOutcome) -> u8 {
    match result {
        StepOutcome::Success | StepOutcome::Skipped => 0,
        StepOutcome::Failure | StepOutcome::Cancelled => 1,
    }
}

fn tell_end(shared: &SharedJob, code: u8) {
    shared.ended();
    shared.client.event("exited", &json!({"exitCode": code}));
    shared.client.event("terminated", &Value::Null);
}
