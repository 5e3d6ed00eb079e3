//! Steps that run: each forward command makes a point before the step that it commits to.

use std::time::Instant;

use crate::report::{StepEnd, StepName};
use crate::run::{PendingStep, StepsAhead, plain_name, tell_checkpoint};
use crate::state::StepOutcome;

use super::by_hand::set_again;
use super::edits::check_agreed;
use super::history::{RecordedFiles, micros_now};
use super::kept::RunWork;
use super::points::{JobPoint, LEFT_OUT};
use super::restore::Restored;
use super::wanted::WantedStep;
use super::{JobSession, StopPlace};

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

impl JobSession {
    /// Goes forward. A step that fails ends it. Nothing runs before a person has agreed to additions of the workflow.
    pub fn forward(&mut self, way: Forward) -> Result<(), String> {
        check_agreed(self)?;
        self.stood_since(self.stood_since);
        if let StopPlace::Frozen(frozen) = &self.stop {
            let step = frozen.step.clone();
            return self.go(way, step.depth(), Some(step));
        }
        self.take_up();
        let passes_over = matches!(&self.stop, StopPlace::Before(step) if step.is_passed_over());
        let has_failed = matches!(&self.stop, StopPlace::Failed(..));
        if passes_over && self.run.pending().is_some_and(|step| step.is_passed_over()) {
            self.run.run_next();
        }
        if passes_over || has_failed {
            self.stand();
            // a stop before a step that is passed over is left without a step that runs
            let is_left = passes_over && self.skipped_stops.are_wanted();
            let is_next = is_left && matches!(way, Forward::Over | Forward::Into);
            if is_next || matches!(&self.stop, StopPlace::Before(step) if step.is_passed_over()) {
                return Ok(());
            }
        }
        if has_failed && matches!(&self.stop, StopPlace::End) {
            // nothing runs after the failure
            return Ok(());
        }
        let StopPlace::Before(first) = &self.stop else {
            return Err("The job has ended. Step back with `b`: steps after that place, new ones too, run then.".to_owned());
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
            if is_there || is_paused || next.is_passed_over() {
                return Ok(());
            }
        }
    }

    /// Makes the point of a step that begins now (S1-001).
    fn commit(&mut self, step: &PendingStep) -> Result<(), String> {
        self.history.step_begins(step, &self.run)?;
        (self.undo, self.cut) = (None, Vec::new());
        self.by_hand.clear();
        self.shell_directory = None;
        if !has_point(self, step)? {
            self.points.commit_without(&step.name.name);
            return self.save(&RunWork::WithoutPoint(step.name.name.clone()));
        }
        let files = self.history.present()?;
        let node = files.node();
        let attempt = self.attempts.next(&step.name, self.points.all());
        add_point(self, step, files, attempt);
        for removed in self.points.keep(self.choice.keep) {
            self.log(&format!(
                "removed checkpoint before '{}': jobs.keep is {}",
                removed.step.name, self.choice.keep
            ));
        }
        let state = self.run.state();
        let (env, path) = (state.env.len(), state.path.len());
        let place = self.points.all().len() - 1;
        tell_checkpoint(&self.run, &step.name, place, attempt);
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
        let began = micros_now() / 1_000_000;
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
        self.seen
            .begin(&mut self.run, self.history.engine(), began)?;
        Ok(ended)
    }

    /// Tells the history the end of a step, and keeps the start with its files.
    pub(super) fn close_call(&mut self, step: &PendingStep, failed: bool) -> Result<(), String> {
        self.history.step_ends(step, &self.run, failed)?;
        let after = self.history.present()?.node();
        self.attempts.note(&step.name, self.points.all(), after);
        Ok(())
    }

    /// Goes back before the last step, to run it once more.
    pub fn before_again(&mut self) -> Result<Restored, String> {
        self.points.check_last(&self.choice)?;
        check_agreed(self)?;
        self.back(1)
    }

    /// Runs the last step once more, with the files as they are now, and what the person has set since. All else is as at its first
    /// start.
    pub fn retry(&mut self) -> Result<(), String> {
        self.points.check_last(&self.choice)?;
        check_agreed(self)?;
        let place = self.points.back(1, self.stop.depth());
        let place = place.ok_or_else(|| "No step has run, so none can be run again.".to_owned())?;
        let point = self.points.all()[place].clone();
        let by_hand = std::mem::take(&mut self.by_hand);
        self.kill_taken_back()?;
        self.run.end_programs_after(point.programs);
        self.run.set_live(point.live);
        self.stood_since(point.at);
        self.run.taken_back(point.ended);
        self.points.restored(place);
        set_again(self, by_hand);
        for sentence in self.run.take_up_workflow() {
            self.notes.add(self.run.mask(&sentence));
        }
        self.stand();
        self.forward(Forward::Over)
    }

    /// Leaves out steps up to one, by its id, its name, or its number. One that is not ahead has its point restored.
    pub fn go_to(&mut self, wanted: &str) -> Result<Option<Restored>, String> {
        self.take_up();
        let step = WantedStep::new(wanted);
        let StepsAhead {
            here: ahead,
            around,
            ..
        } = self.run.steps_ahead();
        let found = ahead
            .iter()
            .position(|(path, one)| step.is_ahead(path, one));
        if found.is_some() && matches!(self.stop, StopPlace::Frozen(_)) {
            return Err("A step is frozen: let it continue (c), or end it (:kill), before steps are left out.".to_owned());
        }
        if let Some(count) = found {
            let (path, found) = &ahead[count];
            leave_out(self, count)?;
            if !matches!(&self.stop, StopPlace::Before(next) if next.name.path == *path) {
                let name = plain_name(found);
                let name = name.as_deref().unwrap_or(&found.id);
                let sentence = format!(
                    "'{name}' is passed over: its condition does not hold. `:outcome success` before it lets the step that failed count as one that did not."
                );
                self.notes.add(self.run.mask(&sentence));
            }
            return Ok(None);
        }
        // names within a composite action are those of steps beside the next one
        let beside = ahead.first().map(|(path, _)| path.len());
        let depths = [beside.unwrap_or(1), 1];
        let points = self.points.all();
        let place = depths.into_iter().find_map(|depth| {
            points
                .iter()
                .rposition(|point| point.depth() == depth && step.is(&point.step))
        });
        let place = place.or_else(|| points.iter().rposition(|point| step.is(&point.step)));
        let outer = ahead.iter().find_map(|(path, _)| step.outer_number(path));
        let is_around = around.iter().any(|(path, one)| step.is_ahead(path, one));
        let place = place.ok_or_else(|| match outer {
            _ if is_around => format!("{wanted}: the step is ahead, around the composite action in which the job stands. Go out of it first (o)."),
            Some(outer) => format!("{wanted}: the step {outer} has not begun, so none in it is known. Go to {outer} (:goto {outer}), and step into it (s)."),
            None => format!("{wanted}: no such step is ahead, or has a checkpoint. Name it by its id, its name, or its number: 4, or 4.2 in a composite action."),
        })?;
        self.restore(place).map(Some)
    }

    /// Leaves the next step out, or lets the step that failed count as skipped.
    pub fn skip(&mut self) -> Result<(), String> {
        match &self.stop {
            StopPlace::Before(_) => leave_out(self, 1),
            StopPlace::Failed(..) => self.set_outcome(StepOutcome::Skipped),
            StopPlace::Frozen(_) => {
                Err("A step is frozen: end it (:kill) before it is left out.".to_owned())
            }
            StopPlace::End => Err("The job has ended: no step is left.".to_owned()),
        }
    }
}

/// True if the person wants a checkpoint before a step.
fn has_point(session: &mut JobSession, step: &PendingStep) -> Result<bool, String> {
    let run = &mut session.run;
    let mut evaluate = |text: &str| run.evaluate_pending(text);
    session.choice.has_point(&step.name, &mut evaluate)
}

/// Makes the point of a step.
fn add_point(session: &mut JobSession, step: &PendingStep, files: RecordedFiles, attempt: u32) {
    let (programs, ended) = session.run.counts();
    session.points.commit(JobPoint {
        step: step.name.clone(),
        files,
        live: session.run.live(),
        created: micros_now(),
        programs,
        ended,
        at: Instant::now(),
        attempt,
    });
}

/// Leaves out so many steps. A step back leads to before the first of them.
fn leave_out(session: &mut JobSession, count: usize) -> Result<(), String> {
    if let StopPlace::Before(step) = &session.stop
        && count > 0
    {
        let step = (**step).clone();
        if has_point(session, &step)? {
            let files = session.history.record_files()?;
            add_point(session, &step, files, LEFT_OUT);
            (session.undo, session.cut) = (None, Vec::new());
            session.by_hand.clear();
        }
    }
    session.stood_since(session.stood_since);
    for _ in 0..count {
        session.run.leave_out();
    }
    session.stand();
    Ok(())
}
