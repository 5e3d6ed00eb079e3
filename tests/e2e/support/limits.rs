//! How long a test waits, on a machine that others use, too.

use std::num::NonZero;
use std::time::Duration;
use std::{fs, thread};

/// The longest wait for an event. Every such wait ends with the event; this limit only turns a hang into a failure.
pub const EVENT_TIMEOUT: Duration = Duration::from_secs(25);

/// An upper limit of a duration that the product promises: the limit on an idle machine, and as many times that as there
/// are processes that compete for each processor.
pub fn at_most(limit: Duration) -> Duration {
    limit.mul_f64(competition())
}

/// Runnable processes per processor: now, or on average over the last minute. At least 1.
fn competition() -> f64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let processors = u16::try_from(processors).map_or(1.0, f64::from);
    runnable(&load).map_or(1.0, |runnable| (runnable / processors).max(1.0))
}

/// From `average-1 average-5 average-15 runnable/all last-pid`.
fn runnable(load: &str) -> Option<f64> {
    let mut words = load.split(' ');
    let average: f64 = words.next()?.parse().ok()?;
    let (now, _) = words.nth(2)?.split_once('/')?;
    Some(average.max(now.parse().ok()?))
}

#[test]
fn the_load_is_read() {
    assert_eq!(runnable("1.50 0.90 0.20 3/412 9133\n"), Some(3.0));
    assert_eq!(runnable("7.25 0.90 0.20 3/412 9133\n"), Some(7.25));
    assert_eq!(runnable(""), None);
    assert!(at_most(EVENT_TIMEOUT) >= EVENT_TIMEOUT);
}
