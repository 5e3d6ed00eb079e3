//! Stops before steps that are passed over, since their conditions do not hold.

use std::fmt;

use crate::report::StepName;

/// Says of a step that the job stops before it.
pub type StopsBefore = Box<dyn Fn(&StepName) -> bool + Send>;

/// Steps before which a job stops although they are passed over. None without a debugger.
#[derive(Default)]
pub(super) struct SkippedStops(Option<StopsBefore>);

impl SkippedStops {
    /// True for a session that has any.
    pub fn are_wanted(&self) -> bool {
        self.0.is_some()
    }

    pub fn of(stops: StopsBefore) -> SkippedStops {
        SkippedStops(Some(stops))
    }

    pub fn are_at(&self, step: &StepName) -> bool {
        self.0.as_ref().is_some_and(|stops| stops(step))
    }
}

impl fmt::Debug for SkippedStops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SkippedStops")
            .field(&self.0.is_some())
            .finish()
    }
}
