//! A step as a person names it.

use crate::report::{StepName, StepPart};
use crate::run::plain_name;
use crate::workflow::WorkflowStep;

/// The id of a step, its name, or its number: `4` of the job, `4.2` within a composite action.
#[derive(Debug)]
pub(super) struct WantedStep<'a> {
    text: &'a str,
    /// Places from 0, if the text is a number.
    path: Option<Vec<usize>>,
}

impl<'a> WantedStep<'a> {
    pub fn new(text: &'a str) -> WantedStep<'a> {
        let place = |number: &str| number.parse::<usize>().ok()?.checked_sub(1);
        WantedStep {
            text,
            path: text.split('.').map(place).collect(),
        }
    }

    /// The number of the step around the meant one, if that is the one with this path.
    pub fn outer_number(&self, outer: &[usize]) -> Option<String> {
        let (_, above) = self.path.as_ref()?.split_last()?;
        let numbers = outer.iter().map(|place| (place + 1).to_string());
        (above == outer).then(|| numbers.collect::<Vec<_>>().join("."))
    }

    /// True for a step that has run. Its pre and its post have names alone.
    pub fn is(&self, step: &StepName) -> bool {
        let is_meant = step.id == self.text || self.path.as_ref() == Some(&step.path);
        step.name == self.text || step.part == StepPart::Main && is_meant
    }

    /// True for a step that has not run.
    pub fn is_ahead(&self, path: &[usize], step: &WorkflowStep) -> bool {
        step.id == self.text
            || plain_name(step).as_deref() == Some(self.text)
            || self.path.as_deref() == Some(path)
    }
}
