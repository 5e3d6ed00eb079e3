//! Stops before steps that are passed over, since their conditions do not hold.

use std::fmt;

use crate::report::StepName;

use super::JobSession;

/// Says of a step that the job stops before it.
type StopsBefore = Box<dyn Fn(&StepName) -> bool + Send>;

/// Steps before which a job stops although they are passed over. None without a debugger.
#[derive(Default)]
pub(super) struct SkippedStops(Option<StopsBefore>);

impl SkippedStops {
    /// True for a session that has any.
    pub fn are_wanted(&self) -> bool {
        self.0.is_some()
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

/// Stops before these steps as well where they are passed over.
pub fn stop_before_skipped(session: &mut JobSession, stops: StopsBefore) {
    session.skipped_stops = SkippedStops(Some(stops));
}
