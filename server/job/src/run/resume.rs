//! A frozen step that continues, or is killed.

use std::sync::Arc;
use std::time::Duration;

use crate::report::{JobEnd, StepName};
use crate::step::StepProcess;
use crate::step::process::{FrozenProgram, Leftovers, RunningProgram};

use super::frozen::FrozenStep;
use super::job::{EarlyEnd, JobRun};
use super::open::Ran;
use super::standing::StandingJob;
use super::step::close_with;

/// Reason of a frozen step that was killed because the job stepped back.
const STEPPED_BACK: &str = "The step was frozen, and is undone by the step back.";

/// Lets a frozen step run on, until it ends or is frozen again. `reason`: it is cancelled for this, however its program ends.
fn resume(
    run: &mut JobRun,
    how: fn(FrozenProgram) -> RunningProgram,
    reason: Option<&'static str>,
) {
    let Some(frozen) = run.frozen.take() else {
        return;
    };
    let FrozenStep {
        open,
        program,
        output,
        then,
        env,
    } = frozen;
    run.report().step_thawed(&open.name);
    let ran = run.wait_for(&open, how(program), &Arc::clone(&output), then);
    let ran = ran.unwrap_or_else(|error| {
        let reason = format!("The step cannot be waited for: {error}");
        Some(Ran::failed(reason))
    });
    if let Some(frozen) = &mut run.frozen {
        frozen.env = env;
    }
    let ran = ran.map(|ran| match reason {
        Some(reason) => Ran::cancelled(reason),
        None => ran,
    });
    close_with(run, open, ran);
}

/// Kills the frozen step since the job steps back, so that nothing of it stays.
pub fn undo_frozen(job: &mut StandingJob) {
    resume(&mut job.run, FrozenProgram::kill, Some(STEPPED_BACK));
}

impl StandingJob {
    /// The step that is frozen.
    pub fn frozen(&self) -> Option<&StepName> {
        self.run.frozen.as_ref().map(|frozen| &frozen.open.name)
    }

    /// Time for which the frozen step ran.
    pub fn frozen_after(&self) -> Duration {
        let frozen = self.run.frozen.as_ref();
        frozen.map_or(Duration::ZERO, |frozen| frozen.open.began.elapsed())
    }

    /// Lets the frozen step continue, until it ends or is frozen again.
    pub fn thaw(&mut self) {
        resume(&mut self.run, FrozenProgram::thaw, None);
    }

    /// Kills the frozen step, with all that it has started. It fails.
    pub fn kill_frozen(&mut self) {
        resume(&mut self.run, FrozenProgram::kill, None);
    }

    /// Ends the job, with all that its steps left running.
    pub fn finish(mut self, early: Option<EarlyEnd>) -> JobEnd {
        self.kill_frozen();
        self.run.finish(early)
    }

    /// Says that a step which runs now may be frozen, or that none may. True if a wish to freeze came too late for its step.
    pub fn set_may_freeze(&self, may: bool) -> bool {
        self.run.setup.stop.set_may_freeze(may);
        !may && self.run.setup.stop.forget_freeze()
    }

    /// Processes of the frozen step, and those that steps left running.
    pub fn processes(&self) -> Vec<StepProcess> {
        let frozen = self.run.frozen.iter();
        let left = self.run.leftovers.iter().map(|(_, left)| left);
        let all = frozen.map(|frozen| frozen.program.leftovers()).chain(left);
        let mut all: Vec<StepProcess> = all.flat_map(Leftovers::processes).collect();
        for process in &mut all {
            process.command = self.mask(&process.command);
        }
        all
    }
}
