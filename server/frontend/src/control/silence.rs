//! Silence at a pause that this process holds: the rules are applied in time, with words for the model.

use std::time::{Duration, Instant};

use backstitch_control::{
    Control, HeldCall, NOBODY_WATCHES, PauseDecision, PauseId, Silence, SilenceClock, SilenceRules,
    SilentOutcome, TIME_LIMIT, WaitResult, now,
};
use backstitch_core::config::{Config, Unattended};
use backstitch_core::{Result, Workspace};

use super::words;

/// The limits of a pause, as its holder knows them.
#[derive(Clone, Copy, Debug)]
pub struct SilenceLimits {
    rules: SilenceRules,
    /// The beginning of the hold.
    began: Instant,
    /// The holder gives no answer after this time.
    limit: Option<Instant>,
}

/// The end of a hold.
#[derive(Clone, Debug, PartialEq)]
pub enum HoldEnd {
    Decided(PauseDecision),
    /// The call is denied for now, with these words for the model.
    Parked {
        message: String,
    },
    /// The agent no longer waits for an answer.
    AgentGone,
    /// Another process ended the pause.
    Ended,
    /// The holder does not wait any longer now.
    TimedOut,
}

/// The state of a pause that was looked at.
#[derive(Clone, Debug, PartialEq)]
enum SilentState {
    /// It is held. No rule speaks before this time.
    Held { until: Option<Instant> },
    /// A rule has decided, or a person was faster.
    Decided,
    /// The call is denied for now, with these words for the model.
    Parked { message: String },
}

impl SilenceLimits {
    /// `unattended`: the rule of its breakpoint.
    pub fn new(
        workspace: &Workspace,
        unattended: Option<Unattended>,
        began: Instant,
        limit: Option<Instant>,
    ) -> Self {
        let config = Config::of(workspace);
        let rules = SilenceRules {
            unattended: unattended.unwrap_or_else(|| config.choice()),
            on_timeout: config.choice(),
            timeout: config.pause_timeout(),
        };
        Self {
            rules,
            began,
            limit,
        }
    }

    /// The one loop of all holders: waits for the decision on a pause, and lets the rules speak in time. `until`: the end of the
    /// wait. `wait`: waits for the decision until a moment.
    pub fn hold(
        &self,
        control: &Control,
        (id, held): (PauseId, &HeldCall),
        until: Option<Instant>,
        mut wait: impl FnMut(Option<Instant>) -> Result<WaitResult>,
    ) -> Result<HoldEnd> {
        loop {
            let next = match self.look(control, id, held)? {
                SilentState::Held { until } => until,
                // the row says it
                SilentState::Decided => None,
                SilentState::Parked { message } => return Ok(HoldEnd::Parked { message }),
            };
            match wait(next.into_iter().chain(until).min())? {
                WaitResult::Decided(decision) => return Ok(HoldEnd::Decided(decision)),
                WaitResult::AgentGone => return Ok(HoldEnd::AgentGone),
                WaitResult::Ended => return Ok(HoldEnd::Ended),
                WaitResult::Timeout | WaitResult::Eval => {}
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(HoldEnd::TimedOut);
            }
        }
    }

    /// Looks at a pause that is held, and decides on it if a rule says so.
    fn look(&self, control: &Control, id: PauseId, held: &HeldCall) -> Result<SilentState> {
        let now = Instant::now();
        let clock = SilenceClock {
            held: now.saturating_duration_since(self.began),
            idle: control.pauses().touched(id)?.map(age),
            is_seen: control.pauses().is_acknowledged(id)?,
            left: self.limit.map(|at| at.saturating_duration_since(now)),
        };
        let silence = clock.silence(&self.rules);
        let (decision, rule) = match silence.map(|one| (one, self.rules.outcome(one, held))) {
            None | Some((_, SilentOutcome::Hold)) => {
                let next = clock.next(&self.rules);
                let until = next.and_then(|left| now.checked_add(left));
                return Ok(SilentState::Held { until });
            }
            Some((_, SilentOutcome::Park)) => {
                let message = words::timed_out(&held.why, clock.held);
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

/// Time since a moment, in microseconds since 1970, by the clock of the machine.
pub fn age(time: i64) -> Duration {
    Duration::from_micros((now() - time).max(0).unsigned_abs())
}

fn rule_name(silence: Silence) -> &'static str {
    match silence {
        Silence::Unseen => NOBODY_WATCHES,
        Silence::TimeUp => TIME_LIMIT,
    }
}
