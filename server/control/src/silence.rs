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

/// The times by which a silence is reported, all measured from now: no jump of the clock shortens or lengthens a hold.
#[derive(Clone, Copy, Debug)]
pub struct SilenceClock {
    /// Time since the hold began.
    pub held: Duration,
    /// Time since a person last worked on the pause.
    pub idle: Option<Duration>,
    /// A front end has shown it.
    pub is_seen: bool,
    /// Time after which the holder can give no answer.
    pub left: Option<Duration>,
}

impl SilenceClock {
    /// Returns the silence that is there.
    pub fn silence(&self, rules: &SilenceRules) -> Option<Silence> {
        if self.end(rules) == Some(Duration::ZERO) {
            return Some(Silence::TimeUp);
        }
        let is_unseen = !self.is_seen && self.held >= ACK_TIME;
        is_unseen.then_some(Silence::Unseen)
    }

    /// Returns the time until the next silence. None: there is none by itself.
    pub fn next(&self, rules: &SilenceRules) -> Option<Duration> {
        let unseen = ACK_TIME.checked_sub(self.held);
        let unseen = unseen.filter(|left| !self.is_seen && !left.is_zero());
        unseen.into_iter().chain(self.end(rules)).min()
    }

    /// Each work on the pause starts its limit anew, but not the holder's.
    fn end(&self, rules: &SilenceRules) -> Option<Duration> {
        let since = self.idle.map_or(self.held, |idle| idle.min(self.held));
        let end = rules.timeout.map(|time| time.saturating_sub(since));
        end.into_iter().chain(self.left).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A subject, a moment, what it can receive, and the outcomes: unseen with ask, hold, deny, allow; time up with deny, ask,
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
        for &subject in Subject::ALL {
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
        let after = |ms: u64| SilenceClock {
            held: Duration::from_millis(ms),
            idle: None,
            is_seen: false,
            left: None,
        };
        let ms = |ms: u64| Some(Duration::from_millis(ms));
        assert_eq!(after(0).silence(&rules), None);
        assert_eq!(after(0).next(&rules), ms(500));
        assert_eq!(after(1000).silence(&rules), Some(Silence::Unseen));
        assert_eq!(after(1000).next(&rules), ms(9000));
        assert_eq!(after(10_000).silence(&rules), Some(Silence::TimeUp));
        let seen = |held, idle| SilenceClock {
            is_seen: true,
            idle: ms(idle),
            ..after(held)
        };
        assert_eq!(seen(14_000, 9000).silence(&rules), None);
        assert_eq!(seen(15_000, 10_000).silence(&rules), Some(Silence::TimeUp));
        let limited = |left| SilenceClock {
            left: ms(left),
            ..seen(12_000, 0)
        };
        assert_eq!(limited(1).silence(&rules), None);
        assert_eq!(limited(1).next(&rules), ms(1));
        assert_eq!(limited(0).silence(&rules), Some(Silence::TimeUp));
        // work on a pause before this holder had it
        assert_eq!(seen(1000, 50_000).next(&rules), ms(9000));
        let unlimited = SilenceRules {
            timeout: None,
            ..rules
        };
        assert_eq!(seen(500_000, 1).next(&unlimited), None);
    }
}
