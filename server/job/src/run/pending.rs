//! The step that runs next: known before it begins, so that a job can stand before it.

use crate::report::{StepName, StepPart};
use crate::template::expand_text;
use crate::workflow::{StepAction, WorkflowStep};

use super::condition::holds;
use super::frame::Frame;
use super::job::{JobRun, is_chosen};
use super::open::OpenStep;
use super::script::{StepShell, step_shell};
use super::standing::StandingJob;
use super::step::close_skipped;
use super::uses::UsesText;

/// A step that has not begun.
#[derive(Clone, Debug)]
pub struct PendingStep {
    pub name: StepName,
    /// The step in its file.
    pub step: WorkflowStep,
    /// True if its condition holds now. Err: the reason why it cannot be evaluated.
    pub holds: Result<bool, String>,
    /// The script of a `run` step with the values of now. Err: the reason why it has none.
    pub script: Option<Result<String, String>>,
    /// The shell and the directory of a `run` step. None: its action has none, or the script's reason holds for them, too.
    pub shell: Option<StepShell>,
    /// Its action, if that is not on this machine.
    pub absent_action: Option<String>,
}

impl PendingStep {
    /// Depth of the frame: 1 for a step of the job.
    pub fn depth(&self) -> usize {
        self.name.path.len()
    }

    /// True if nothing would run: the condition does not hold.
    pub fn is_passed_over(&self) -> bool {
        matches!(self.holds, Ok(false))
    }

    /// True for a step that may have steps: it uses an action of a directory.
    pub fn may_be_entered(&self) -> bool {
        let StepAction::Uses { uses, .. } = &self.step.action else {
            return false;
        };
        self.name.part == StepPart::Main
            && !matches!(UsesText::parse(&uses.value), UsesText::Docker(_))
    }
}

impl StandingJob {
    /// The step that runs next. Composite actions that have ended are left before. None at the end of the job.
    pub fn pending(&mut self) -> Option<PendingStep> {
        loop {
            let frame = self.run.frames.last()?;
            if let Some((step, path)) = frame.next_step() {
                if is_chosen(&self.run, &step, &path) {
                    return Some(self.pending_step(&step, path));
                }
                self.run.frame().next += 1;
                continue;
            }
            if self.run.frames.len() == 1 {
                break;
            }
            self.run.leave_composite();
        }
        let post = self.run.posts.get(self.run.state.post.last()?)?;
        let mut open = post.open.clone();
        open.status = self.run.state.status();
        Some(PendingStep {
            name: open.name.clone(),
            step: open.step.clone(),
            holds: holds(&post.condition, &self.run.at_step(&open)),
            script: None,
            shell: None,
            absent_action: None,
        })
    }

    fn pending_step(&mut self, step: &WorkflowStep, path: Vec<usize>) -> PendingStep {
        let (open, error) = match self.run.open_with_env(step, path) {
            Ok(open) => (open, None),
            Err(failed) => (failed.0, Some(failed.1)),
        };
        let holds = error.map_or_else(|| holds(&step.condition, &self.run.at_step(&open)), Err);
        PendingStep {
            script: self.run.script_of(&open),
            shell: step_shell(&self.run, &open),
            absent_action: self.run.absent_action(step),
            name: open.name,
            step: step.clone(),
            holds,
        }
    }

    /// The environment that the pending step's program would have, or that of the frozen one, without its command files.
    pub(super) fn pending_open(&mut self) -> Option<OpenStep> {
        if let Some(frozen) = &self.run.frozen {
            return Some(frozen.open_now(&self.run.state.env));
        }
        let (step, path) = self.run.frames.last()?.next_step()?;
        match self.run.open_with_env(&step, path) {
            Ok(open) => Some(open),
            Err(failed) => Some(failed.0),
        }
    }

    /// Leaves the next step out: it is skipped.
    pub fn leave_out(&mut self) {
        let next = self.run.frames.last().and_then(Frame::next_step);
        if let Some((step, path)) = next {
            let opened = self.run.open_with_env(&step, path);
            let open = opened.unwrap_or_else(|failed| failed.0);
            close_skipped(&mut self.run, &open, "It was left out.".to_owned());
            self.run.frame().next += 1;
        } else if self.run.frames.len() == 1
            && let Some(key) = self.run.state.post.pop()
        {
            self.run.posts.remove(&key);
        }
    }
}

impl JobRun {
    fn script_of(&self, open: &OpenStep) -> Option<Result<String, String>> {
        let StepAction::Run { script, .. } = &open.step.action else {
            return None;
        };
        let script = expand_text(script, &self.at_step(open));
        Some(script.map_err(|error| error.message))
    }

    fn absent_action(&self, step: &WorkflowStep) -> Option<String> {
        let StepAction::Uses { uses, .. } = &step.action else {
            return None;
        };
        let UsesText::Remote(action) = UsesText::parse(&uses.value) else {
            return None;
        };
        let is_absent = self.setup.options.actions.lacks(&action);
        is_absent.then(|| uses.value.clone())
    }

    /// A step with its variables and its name. Err: the step, and the reason why its variables have no values.
    pub(super) fn open_with_env(
        &mut self,
        step: &WorkflowStep,
        path: Vec<usize>,
    ) -> Result<OpenStep, Box<(OpenStep, String)>> {
        let mut open = self.open(step, path);
        open.name.name = self.display_name(&open);
        if let Err(reason) = self.add_step_env(&mut open) {
            return Err(Box::new((open, reason)));
        }
        open.name.name = self.display_name(&open);
        Ok(open)
    }
}
