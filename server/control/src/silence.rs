//! The rules for a pause that nobody answers: one for all subjects. Pure.

use std::time::Duration;

use super::breakpoint::CallMoment;
use super::pause::{Ability, HeldCall};
use super::subject::Subject;
use backstitch_core::config::{OnTimeout, Unattended};

/// Time in which a front end has to show a pause, else nobody sees it.
const ACK_TIME: Duration = Duration::from_millis(500);

/// The kind of a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// No front end shows the pause to a person.
    Unseen,
    /// Nobody has decided in time.
    TimeUp,
}

/// The user's settings for a silence; a breakpoint may have its own for a pause that nobody sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SilenceRules {
    pub unattended: Unattended,
    pub on_timeout: OnTimeout,
    /// None: no limit but the agent's own.
    pub timeout: Option<Duration>,
}

/// The end of a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilentOutcome {
    /// It stays held.
    Hold,
    Continue,
    /// The agent asks its own user.
    Ask,
    Deny,
    /// The call is denied for now, and a decision holds for its next try.
    Park,
}

impl SilenceRules {
    /// Returns the outcome for a pause. Nothing is let go that does nothing without a person's consent: a proposed rewind.
    pub fn outcome(&self, silence: Silence, held: &HeldCall) -> SilentOutcome {
        let (subject, can) = (held.subject, |ability| held.can.contains(&ability));
        let has_run = subject.is_tool() && held.moment == CallMoment::After;
        let is_proposal = subject == Subject::Proposal;
        match silence {
            Silence::Unseen => match self.unattended {
                Unattended::Allow if !is_proposal => SilentOutcome::Continue,
                Unattended::Ask if can(Ability::Ask) => SilentOutcome::Ask,
                Unattended::Deny if can(Ability::Deny) => SilentOutcome::Deny,
                // there is nothing to ask about or to deny
                Unattended::Ask | Unattended::Deny if has_run => SilentOutcome::Continue,
                Unattended::Ask | Unattended::Hold | Unattended::Deny | Unattended::Allow => {
                    SilentOutcome::Hold
                }
            },
            Silence::TimeUp => match self.on_timeout {
                OnTimeout::Allow if !is_proposal => SilentOutcome::Continue,
                OnTimeout::Ask if can(Ability::Ask) => SilentOutcome::Ask,
                OnTimeout::Allow | OnTimeout::Ask | OnTimeout::Deny if has_run => {
                    SilentOutcome::Continue
                }
                OnTimeout::Allow | OnTimeout::Ask | OnTimeout::Deny => {
                    if subject.is_tried_again() {
                        SilentOutcome::Park
                    } else {
                        SilentOutcome::Deny
                    }
                }
            },
        }
    }
}

/// The times by which a silence is told. In microseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct SilenceClock {
    /// The beginning of the hold.
    pub began: i64,
    /// A person last worked on the pause.
    pub touched: Option<i64>,
    /// A front end has shown it.
    pub is_seen: bool,
    /// The holder gives no answer after this time.
    pub limit: Option<i64>,
}

impl SilenceClock {
    /// Returns the silence that is there.
    pub fn silence(&self, rules: &SilenceRules, now: i64) -> Option<Silence> {
        if self.end(rules).is_some_and(|end| end <= now) {
            return Some(Silence::TimeUp);
        }
        let is_unseen = !self.is_seen && self.unseen_at() <= now;
        is_unseen.then_some(Silence::Unseen)
    }

    /// Returns the time of the next silence. None: there is none by itself.
    pub fn next(&self, rules: &SilenceRules, now: i64) -> Option<i64> {
        let unseen = Some(self.unseen_at()).filter(|at| !self.is_seen && *at > now);
        unseen.into_iter().chain(self.end(rules)).min()
    }

    fn unseen_at(&self) -> i64 {
        self.began.saturating_add(micros(ACK_TIME))
    }

    /// Each work on the pause starts its limit anew, but not the holder's.
    fn end(&self, rules: &SilenceRules) -> Option<i64> {
        let since = self.touched.map_or(self.began, |at| at.max(self.began));
        let end = rules.timeout.map(|time| since.saturating_add(micros(time)));
        end.into_iter().chain(self.limit).min()
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    /// A subject, a moment, what it can be told, and the outcomes: unseen with ask, hold, deny, allow; time up with deny, ask,
    /// allow.
    type Row = (Subject, CallMoment, &'static [Ability], &'static str);

    const TABLE: &[Row] = {
        use Ability::{Ask, Continue, Deny, Rewind};
        use CallMoment::{After, Before};
        use Subject::{Call, Edit, Program, Proposal};
        &[
            (
                Call,
                Before,
                &[Continue, Deny, Ask],
                "ask hold deny continue | park ask continue",
            ),
            (
                Call,
                Before,
                &[Continue, Deny],
                "hold hold deny continue | park park continue",
            ),
            (
                Call,
                Before,
                &[Continue],
                "hold hold hold continue | park park continue",
            ),
            (
                Call,
                After,
                &[Continue],
                "continue hold continue continue | continue continue continue",
            ),
            (
                Edit,
                Before,
                &[Continue, Deny],
                "hold hold deny continue | park park continue",
            ),
            (
                Program,
                Before,
                &[Continue, Deny],
                "hold hold deny continue | deny deny continue",
            ),
            (
                Program,
                After,
                &[Continue, Deny],
                "hold hold deny continue | deny deny continue",
            ),
            (
                Proposal,
                Before,
                &[Rewind, Deny],
                "hold hold deny hold | deny deny deny",
            ),
        ]
    };

    fn name(outcome: SilentOutcome) -> String {
        format!("{outcome:?}").to_lowercase()
    }

    #[test]
    fn each_subject_has_an_outcome_for_each_setting() {
        let rules = |unattended, on_timeout| SilenceRules {
            unattended,
            on_timeout,
            timeout: None,
        };
        for (subject, moment, can, expected) in TABLE {
            let held = HeldCall {
                subject: *subject,
                moment: *moment,
                can: can.to_vec(),
                ..HeldCall::default()
            };
            let unseen = Unattended::ALL
                .map(|one| name(rules(one, OnTimeout::Deny).outcome(Silence::Unseen, &held)));
            let late = OnTimeout::ALL
                .map(|one| name(rules(Unattended::Ask, one).outcome(Silence::TimeUp, &held)));
            let outcomes = format!("{} | {}", unseen.join(" "), late.join(" "));
            assert_eq!(outcomes, *expected, "{subject:?} {moment:?} {can:?}");
        }
        for subject in Subject::ALL {
            assert!(TABLE.iter().any(|row| row.0 == subject), "{subject:?}");
        }
    }

    #[test]
    fn silences_come_in_time() {
        let rules = SilenceRules {
            unattended: Unattended::Ask,
            on_timeout: OnTimeout::Deny,
            timeout: Some(Duration::from_secs(10)),
        };
        let clock = SilenceClock {
            began: 100 * SECOND,
            touched: None,
            is_seen: false,
            limit: None,
        };
        assert_eq!(clock.silence(&rules, 100 * SECOND), None);
        assert_eq!(
            clock.next(&rules, 100 * SECOND),
            Some(100 * SECOND + SECOND / 2)
        );
        assert_eq!(clock.silence(&rules, 101 * SECOND), Some(Silence::Unseen));
        assert_eq!(clock.next(&rules, 101 * SECOND), Some(110 * SECOND));
        assert_eq!(clock.silence(&rules, 110 * SECOND), Some(Silence::TimeUp));
        let seen = SilenceClock {
            is_seen: true,
            touched: Some(105 * SECOND),
            ..clock
        };
        assert_eq!(seen.silence(&rules, 114 * SECOND), None);
        assert_eq!(seen.silence(&rules, 115 * SECOND), Some(Silence::TimeUp));
        let limited = SilenceClock {
            limit: Some(112 * SECOND),
            ..seen
        };
        assert_eq!(limited.silence(&rules, 112 * SECOND), Some(Silence::TimeUp));
        // work on a pause before this holder had it
        let earlier = SilenceClock {
            touched: Some(50 * SECOND),
            ..clock
        };
        assert_eq!(earlier.silence(&rules, 101 * SECOND), Some(Silence::Unseen));
        let unlimited = SilenceRules {
            timeout: None,
            ..rules
        };
        assert_eq!(seen.next(&unlimited, 500 * SECOND), None);
    }
}
