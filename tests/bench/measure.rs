//! Times of two operations, measured alternately so that other load on the machine affects both.

use std::time::{Duration, Instant};

use anyhow::Result;

/// Rounds before those that count, which warm the caches.
const WARM_UP: usize = 2;

/// Times, ascending.
#[derive(Debug, Clone, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    /// Percentile of the times, in milliseconds.
    fn at(&self, percent: usize) -> f64 {
        let place = (self.0.len() * percent / 100).min(self.0.len() - 1);
        self.0[place].as_secs_f64() * 1000.0
    }

    pub fn median(&self) -> f64 {
        self.at(50)
    }

    pub fn p99(&self) -> f64 {
        self.at(99)
    }
}

/// Runs both alternately, this many times each. A run returns its own time, since only it knows which part counts.
pub fn alternating(
    runs: usize,
    mut ours: impl FnMut() -> Result<Duration>,
    mut limit: impl FnMut() -> Result<Duration>,
) -> Result<(Times, Times)> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..WARM_UP + runs {
        a.push(ours()?);
        b.push(limit()?);
    }
    let sorted = |times: Vec<Duration>| Times::of(times[WARM_UP..].to_vec());
    Ok((sorted(a), sorted(b)))
}

/// Runs both three times, without warm-up rounds: for slow operations.
pub fn alternating_slow(
    mut ours: impl FnMut() -> Result<Duration>,
    mut limit: impl FnMut() -> Result<Duration>,
) -> Result<(Times, Times)> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        a.push(ours()?);
        b.push(limit()?);
    }
    Ok((Times::of(a), Times::of(b)))
}

/// Returns the time that this work takes.
pub fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed())
}
