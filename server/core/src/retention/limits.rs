//! Limits of a history: age, number of checkpoints, size.

use crate::config::Config;
use crate::store;

pub(super) const DAY: i64 = 24 * 3600 * 1_000_000;
/// A tenth of the limit stays free, so that the next checkpoint does not exceed it again.
pub(super) const HEADROOM: u64 = 10;

/// Limits of the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Maximum age in days. None: no limit.
    pub days: Option<u64>,
    /// Maximum number of checkpoints.
    pub checkpoints: Option<u64>,
    /// Maximum size of the store. The oldest checkpoints are squashed first.
    pub bytes: Option<u64>,
    /// Background run: squashes as soon as the size comes near its limit, so that it is never reached. For their age it
    /// squashes neither what was recorded since the last run nor the newest turns.
    pub early: bool,
    /// Also squashes checkpoints that are too old by the clock alone, which may have been wrong.
    pub trust_clock: bool,
}

impl Limits {
    pub(super) fn of(config: &Config) -> Self {
        Self {
            days: Some(config.keep_days()),
            checkpoints: config.most_checkpoints(),
            bytes: config.most_bytes(),
            early: false,
            trust_clock: false,
        }
    }

    /// The more generous of both limits.
    pub(super) fn or(self, other: Self) -> Self {
        let larger = |a: Option<u64>, b: Option<u64>| Some(a?.max(b?));
        Self {
            days: larger(self.days, other.days),
            checkpoints: larger(self.checkpoints, other.checkpoints),
            bytes: larger(self.bytes, other.bytes),
            early: self.early,
            trust_clock: self.trust_clock,
        }
    }

    /// Maximum number of checkpoints, if there is one.
    pub(super) fn most_checkpoints(&self) -> Option<u64> {
        self.checkpoints.filter(|most| *most > 0)
    }

    /// Maximum age in microseconds. None: no limit.
    pub(super) fn max_age(&self) -> Option<i64> {
        self.days
            .and_then(|days| i64::try_from(days).ok()?.checked_mul(DAY))
    }

    /// Time before which checkpoints are too old, in microseconds since 1970.
    pub(super) fn oldest_kept(&self) -> i64 {
        let age = self.max_age();
        age.map_or(i64::MIN, |age| store::now().saturating_sub(age))
    }
}

/// True if a size is near its limit.
pub fn near(size: u64, most: u64) -> bool {
    size >= most - most / HEADROOM
}
