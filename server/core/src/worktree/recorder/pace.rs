//! How often what nobody tells of is recorded: soon after a single change, seldom where something writes all the
//! time, so that a log file does not fill the history. Pure.

use std::time::{Duration, Instant};

/// However long something goes on writing.
const SELDOM: Duration = Duration::from_mins(1);
/// After so much peace, the next is a single change again.
const PEACE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Pace {
    least: Duration,
    pause: Duration,
    last: Option<Instant>,
}

impl Pace {
    pub(super) fn new(least: Duration) -> Self {
        Self {
            least,
            pause: least,
            last: None,
        }
    }

    /// Something was recorded by a look that began then.
    pub(super) fn recorded(&mut self, now: Instant) {
        let goes_on = |last: Instant| now.saturating_duration_since(last) < self.pause * 2 + PEACE;
        self.pause = if self.last.is_some_and(goes_on) {
            (self.pause * 2).min(SELDOM)
        } else {
            self.least
        };
        self.last = Some(now);
    }

    /// A moment at which to look, or a later one.
    pub(super) fn not_before(&self, due: Instant) -> Instant {
        self.last.map_or(due, |last| due.max(last + self.pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writes_all_the_time_is_recorded_seldom() {
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
        // after some peace a change is recorded at once
        let later = now + Duration::from_mins(5);
        assert_eq!(pace.not_before(later), later);
        pace.recorded(later);
        let next = later + Duration::from_millis(300);
        assert_eq!(pace.not_before(next), next);
    }
}
