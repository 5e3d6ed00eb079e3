//! Silence at a pause that this process holds: the rules are applied in time, with words for the model.

use std::time::{Duration, Instant};

use backstitch_control::{
    Control, HeldCall, NOBODY_WATCHES, PauseDecision, PauseId, Silence, SilenceClock, SilenceRules,
    SilentOutcome, TIME_LIMIT, now,
};
use backstitch_core::config::{Config, Unattended};
use backstitch_core::{Result, Workspace};

use super::words;

/// The limits of a pause, as its holder knows them.
#[derive(Clone, Copy, Debug)]
pub struct SilenceLimits {
    rules: SilenceRules,
    /// The beginning of the hold, in microseconds since 1970.
    began: i64,
    /// The holder gives no answer after this time.
    limit: Option<i64>,
}

/// The state of a pause that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum SilentState {
    /// It is held. No rule speaks before this time.
    Held { until: Option<Instant> },
    /// A rule has decided, or a person was faster.
    Decided,
    /// The call is denied for now, with these words for the model.
    Parked { message: String },
}

impl SilenceLimits {
    /// `unattended`: the rule of its breakpoint. `began`, `limit`: in microseconds since 1970.
    pub fn new(
        workspace: &Workspace,
        unattended: Option<Unattended>,
        began: i64,
        limit: Option<i64>,
    ) -> Self {
        let config = Config::of(workspace);
        let rules = SilenceRules {
            unattended: unattended.unwrap_or_else(|| config.pause_unattended()),
            on_timeout: config.pause_on_timeout(),
            timeout: config.pause_timeout(),
        };
        Self {
            rules,
            began,
            limit,
        }
    }

    /// Looks at a pause that is held, and decides on it if a rule says so.
    pub fn look(&self, control: &Control, id: PauseId, held: &HeldCall) -> Result<SilentState> {
        let now = now();
        let clock = SilenceClock {
            began: self.began,
            touched: control.pauses().touched(id)?,
            is_seen: control.pauses().is_acknowledged(id)?,
            limit: self.limit,
        };
        let waited = Duration::from_micros((now - self.began).max(0).unsigned_abs());
        let silence = clock.silence(&self.rules, now);
        let (decision, rule) = match silence.map(|one| (one, self.rules.outcome(one, held))) {
            None | Some((_, SilentOutcome::Hold)) => {
                let left = clock.next(&self.rules, now).map(|at| (at - now).max(0));
                let left = left.map(|left| Duration::from_micros(left.unsigned_abs()));
                let until = left.and_then(|left| Instant::now().checked_add(left));
                return Ok(SilentState::Held { until });
            }
            Some((_, SilentOutcome::Park)) => {
                let message = words::timed_out(&held.why, waited);
                return Ok(SilentState::Parked { message });
            }
            Some((silence, SilentOutcome::Continue)) => {
                (PauseDecision::Continue, rule_name(silence))
            }
            Some((silence, SilentOutcome::Ask)) => (PauseDecision::Ask, rule_name(silence)),
            Some((silence, SilentOutcome::Deny)) => {
                let message = match silence {
                    Silence::Unseen if held.breakpoint.is_some() => words::unattended(&held.why),
                    Silence::Unseen => words::nobody_watches(),
                    Silence::TimeUp => words::nobody_answered(),
                };
                (PauseDecision::Deny { message }, rule_name(silence))
            }
        };
        control.pauses().decide_alone(id, &decision, rule)?;
        Ok(SilentState::Decided)
    }
}

fn rule_name(silence: Silence) -> &'static str {
    match silence {
        Silence::Unseen => NOBODY_WATCHES,
        Silence::TimeUp => TIME_LIMIT,
    }
}
