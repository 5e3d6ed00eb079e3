//! Pace at which unreported changes are recorded: soon after a single change, rarely during continuous writes, so that a
//! log file does not fill the history. Pure.

use std::time::{Duration, Instant};

/// Maximum pause between records during continuous writes.
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// After this much quiet the next change counts as a single change again.
const QUIET: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Pace {
    min_pause: Duration,
    pause: Duration,
    last: Option<Instant>,
}

impl Pace {
    pub(super) fn new(min_pause: Duration) -> Self {
        Self {
            min_pause,
            pause: min_pause,
            last: None,
        }
    }

    /// Notes that a scan begun at `now` recorded something.
    pub(super) fn recorded(&mut self, now: Instant) {
        let is_continuous =
            |last: Instant| now.saturating_duration_since(last) < self.pause * 2 + QUIET;
        self.pause = if self.last.is_some_and(is_continuous) {
            (self.pause * 2).min(MAX_PAUSE)
        } else {
            self.min_pause
        };
        self.last = Some(now);
    }

    /// Returns the earliest allowed time of a scan that is due at `due`.
    pub(super) fn not_before(&self, due: Instant) -> Instant {
        self.last.map_or(due, |last| due.max(last + self.pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continuous_writes_are_recorded_rarely() {
        let mut pace = Pace::new(Duration::from_millis(300));
        let mut now = Instant::now();
        let begin = now;
        let mut records = 0;
        while now < begin + Duration::from_hours(1) {
            now = pace.not_before(now + Duration::from_millis(300));
            pace.recorded(now);
            records += 1;
        }
        assert!((55..80).contains(&records), "{records} in an hour");
        // after some quiet a change is recorded at once
        let later = now + Duration::from_mins(5);
        assert_eq!(pace.not_before(later), later);
        pace.recorded(later);
        let next = later + Duration::from_millis(300);
        assert_eq!(pace.not_before(next), next);
    }
}
