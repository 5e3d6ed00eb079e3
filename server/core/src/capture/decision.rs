//! Decisions on the differences that a scan found. Pure: the facts are read before, and the effects
//! come after.

use super::calls::{Attribution, Observation, Writer, Writers, by_silent_edit};
use super::transition::Transition;
use super::write_txn::ScanContext;
use crate::model::{CallId, Image, RelPath};
use crate::worktree::disk::Stat;
use crate::worktree::file_state::{FileState, Observed};
use crate::worktree::ignore_rules;
use crate::worktree::pending_saves::PendingSave;

/// The facts about a path whose image differs from its row.
#[derive(Clone, Debug)]
pub(super) struct PathFacts {
    pub path: RelPath,
    pub image: Image,
    pub stat: Option<Stat>,
    /// Stat of the directory above a file that is gone, where the time of the change matters.
    pub stat_above: Option<Stat>,
    pub row: Option<FileState>,
    /// The open edit call that has reserved the path.
    pub reserved: Option<Writer>,
    /// True if the input of the edit call that named the path leads to just this change.
    pub explained: bool,
    /// The author, if a hook of the agent's user has made the change, and nobody else may have.
    pub by_hook: Option<Attribution>,
    /// True if the content is in the store.
    pub stored: bool,
    /// True if the last scan could not have seen a path without a row.
    pub was_out_of_sight: bool,
    /// Number of directories that were made for the path.
    pub made_dirs: u32,
    pub waiting: Option<Waiting>,
}

/// A pending save of the recorded image, where the disk now has a third text.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub save: PendingSave,
    /// True if the text is closer to the disk's old text than to the outcome.
    pub based_on_disk: bool,
}

/// Treatment of one path in the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Postpone(Postponed),
    Adopt(Adopted),
    Record(Box<Transition>),
    Withdraw(Box<Withdrawal>),
}

/// A path that a later scan or call records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Postponed {
    pub path: RelPath,
    /// The image of a .gitignore whose rules this scan applied.
    pub applied_rules: Option<Image>,
}

/// A file whose earlier state is unknown. It gets a row, but no change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Adopted {
    pub path: RelPath,
    pub image: Image,
    pub stat: Option<Stat>,
}

/// An outcome that was never saved, since the file was written from its old text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Withdrawal {
    pub row: FileState,
    pub save: PendingSave,
    /// The text written since. None: the disk has its old text.
    pub written: Option<Written>,
}

/// A text that was written over the old text of the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub image: Image,
    pub stat: Option<Stat>,
    pub attribution: Attribution,
}

/// The facts that decide on the author of a change.
pub(super) struct Authors<'a> {
    pub context: &'a ScanContext,
    /// The observation for a change that no call has named.
    pub overall: Observation,
    pub writers: Writers,
}

impl Authors<'_> {
    /// True if the change is left to the call that has reserved the path, or is recorded apart from the scan.
    pub(super) fn leaves(&self, path: &RelPath, reserved: Option<Writer>) -> bool {
        reserved.is_some() && self.context.reserved_stay || self.context.left_out.contains(path)
    }

    /// Returns the author of a facts.
    pub(super) fn of(&self, facts: &PathFacts) -> Attribution {
        if facts.revealed().is_some() {
            // only the size limit was raised
            return Attribution::USER;
        }
        let stat = facts.stat.or(facts.stat_above);
        if let Some(over) = &self.context.over
            && stat.is_some_and(|stat| stat.is_changed_since(over.since.saturating_mul(1000)))
        {
            let doubt = over.doubt.filter(|doubt| {
                stat.is_some_and(|stat| !stat.is_changed_since(doubt.until.saturating_mul(1000)))
            });
            if let Some(doubt) = doubt {
                return self
                    .writers
                    .attribute(Observation::Unreported(doubt.session));
            }
            let mut others = self.writers.clone();
            others.calls.retain(|one| !over.calls.contains(&one.call));
            return others.attribute(Observation::Between);
        }
        let unreported = self.context.unreported.get(&facts.path);
        match (facts.reserved, unreported) {
            (Some(by), _) => by_silent_edit(by, facts.explained),
            (None, Some(by)) if facts.explained => {
                self.writers.attribute(Observation::Interrupted(*by))
            }
            (None, Some(by)) => self.writers.attribute(Observation::Unreported(by.session)),
            (None, None) => match self.context.idle_until {
                Some((call, until)) => self.beside(call, until, stat.as_ref()),
                None => self.unnamed(facts.by_hook),
            },
        }
    }

    /// Returns the author of a change at a path that no call has named.
    fn unnamed(&self, by_hook: Option<Attribution>) -> Attribution {
        let found = self.writers.attribute(self.overall);
        match by_hook {
            Some(by_hook) if found == Attribution::USER => by_hook,
            _ => found,
        }
    }

    /// True if the author of a change depends on its time.
    pub(super) fn ask_for_time(&self) -> bool {
        self.context.idle_until.is_some() || self.context.over.is_some()
    }

    /// Returns the author of a change beside a call that did nothing until a time.
    fn beside(&self, call: CallId, until: i64, stat: Option<&Stat>) -> Attribution {
        let mut others = self.writers.clone();
        others.calls.retain(|writer| writer.call != call);
        match stat {
            _ if until == i64::MAX => others.attribute(self.overall),
            Some(stat) if stat.is_older_than(until.saturating_mul(1000)) => {
                others.attribute(self.overall)
            }
            Some(_) => self.writers.attribute(self.overall),
            // nothing tells when
            None => Attribution {
                provisional: false,
                ..self.writers.attribute(self.overall)
            },
        }
    }
}

impl PathFacts {
    /// Returns the row if the file is unchanged and only became small enough to capture.
    fn revealed(&self) -> Option<&FileState> {
        let row = self.row.as_ref()?;
        row.is_revealed(self.image, self.stat.as_ref())
            .then_some(row)
    }

    /// True if the earlier state of the path is unknown, so that there is no change to record.
    pub(super) fn has_unknown_past(&self) -> bool {
        self.revealed().is_some_and(|row| row.file.is_none())
            || self.row.is_none() && self.was_out_of_sight
    }
}

/// True if the file holds ignore rules.
pub(super) fn is_rule_file(path: &RelPath) -> bool {
    path.split().1 == ignore_rules::FILE
}

/// Decides on a facts.
pub(super) fn decide(facts: PathFacts, authors: &Authors<'_>, observed_by: Observed) -> Decision {
    let leave = authors.leaves(&facts.path, facts.reserved);
    if leave || !facts.stored {
        // a rule file left to a call is not recorded yet, but this scan applied its rules
        let has_applied_rules = leave && facts.stored && is_rule_file(&facts.path);
        return Decision::Postpone(Postponed {
            applied_rules: has_applied_rules.then_some(facts.image),
            path: facts.path,
        });
    }
    if facts.has_unknown_past() {
        return Decision::Adopt(Adopted {
            path: facts.path,
            image: facts.image,
            stat: facts.stat,
        });
    }
    let attribution = authors.of(&facts);
    let PathFacts {
        path,
        image,
        stat,
        row,
        made_dirs,
        waiting,
        ..
    } = facts;
    // an agent, or a user who undid the outcome, started from the text on disk
    let starts_from_disk =
        |waiting: &Waiting| attribution.origin.session.is_some() || waiting.based_on_disk;
    match (row, waiting.filter(starts_from_disk)) {
        (Some(row), Some(Waiting { save, .. })) => Decision::Withdraw(Box::new(Withdrawal {
            written: (image != save.disk).then_some(Written {
                image,
                stat,
                attribution,
            }),
            row,
            save,
        })),
        (row, _) => Decision::Record(Box::new(Transition::new(
            &path,
            row.as_ref(),
            (image, stat),
            attribution,
            made_dirs,
            observed_by,
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::calls::by_hook;
    use crate::capture::write_txn::{CallsOver, Doubt};
    use crate::model::{ContentId, FileId, Opaque, SessionId};
    use crate::worktree::disk::NO_STAT;

    const EDIT: Writer = Writer {
        call: CallId(7),
        session: SessionId(3),
    };

    /// An edit call that never reported.
    const SILENT: Writer = Writer {
        call: CallId(8),
        session: SessionId(9),
    };

    fn path(s: &str) -> RelPath {
        RelPath::new(s).expect("a plain path")
    }

    fn file(text: &str) -> Image {
        Image::File {
            mode: 0o644,
            content: ContentId::of(text.as_bytes()),
            size: text.len() as u64,
        }
    }

    fn row(image: Image, file: Option<i64>) -> FileState {
        FileState {
            image,
            file: file.map(FileId),
            since: None,
            generation: 1,
            stat: NO_STAT,
        }
    }

    /// A new file `a.txt` in sight of the last scan.
    fn created() -> PathFacts {
        PathFacts {
            path: path("a.txt"),
            image: file("found"),
            stat: Some(NO_STAT),
            stat_above: None,
            row: None,
            reserved: None,
            explained: false,
            by_hook: None,
            stored: true,
            was_out_of_sight: false,
            made_dirs: 2,
            waiting: None,
        }
    }

    /// A changed file `a.txt`.
    fn changed() -> PathFacts {
        PathFacts {
            row: Some(row(file("recorded"), Some(5))),
            ..created()
        }
    }

    /// A file whose outcome was never saved, and which now has a third text.
    fn waiting(based_on_disk: bool) -> PathFacts {
        let save = PendingSave {
            id: 1,
            path: path("a.txt"),
            operation: None,
            disk: file("on disk"),
            wanted: file("recorded"),
            editor: "Helix".into(),
            pid: 1,
            time: 0,
        };
        PathFacts {
            waiting: Some(Waiting {
                save,
                based_on_disk,
            }),
            ..changed()
        }
    }

    /// Decides between calls, with nobody else at work.
    fn between(facts: PathFacts) -> Decision {
        within(facts, &ScanContext::between(), Observation::Between)
    }

    fn within(facts: PathFacts, context: &ScanContext, overall: Observation) -> Decision {
        let authors = Authors {
            context,
            overall,
            writers: Writers::default(),
        };
        decide(facts, &authors, Observed::ByWalk)
    }

    /// The author of a change beside an open call that did nothing until a time. `time`: of the change.
    fn beside_idle(until: i64, time: Option<i64>) -> Attribution {
        let call = Writer {
            call: CallId(7),
            session: SessionId(3),
        };
        let context = ScanContext {
            idle_until: Some((call.call, until)),
            ..ScanContext::between()
        };
        let authors = Authors {
            context: &context,
            overall: Observation::Between,
            writers: Writers {
                calls: vec![call],
                ..Writers::default()
            },
        };
        authors.of(&PathFacts {
            stat: time.map(|time| Stat {
                mtime: time * 1000 + 1,
                ctime: time * 1000 + 1,
                ..NO_STAT
            }),
            ..changed()
        })
    }

    #[test]
    fn a_change_before_a_call_began_is_the_users() {
        const SECOND: i64 = 1_000_000;
        let began = 100 * SECOND;
        assert_eq!(beside_idle(began, Some(99 * SECOND)), Attribution::USER);
        let by_call = beside_idle(began, Some(101 * SECOND));
        assert_eq!(by_call.origin.call, Some(CallId(7)));
        assert!(by_call.provisional);
        // nothing tells the time
        let unknown = beside_idle(began, None);
        assert_eq!(unknown.origin.session, Some(SessionId(3)));
        assert!(!unknown.provisional);
        // a call that starts only now
        for changed in [Some(99 * SECOND), Some(101 * SECOND), None] {
            assert_eq!(beside_idle(i64::MAX, changed), Attribution::USER);
        }
    }

    /// Nothing is the work of an interrupted command from some time after the interrupt on: the user's own edits stay theirs.
    #[test]
    fn a_change_long_after_an_interrupt_is_the_users() {
        const SECOND: i64 = 1_000_000;
        let by = |time: i64, until: Option<i64>| {
            let context = ScanContext {
                over: Some(CallsOver {
                    calls: [EDIT.call].into(),
                    since: 100 * SECOND,
                    doubt: until.map(|until| Doubt {
                        session: EDIT.session,
                        until,
                    }),
                }),
                ..ScanContext::between()
            };
            let authors = Authors {
                context: &context,
                overall: Observation::Interrupted(EDIT),
                writers: Writers {
                    calls: vec![EDIT],
                    ..Writers::default()
                },
            };
            authors.of(&PathFacts {
                stat: Some(Stat {
                    mtime: time * 1000 + 1,
                    ctime: time * 1000 + 1,
                    ..NO_STAT
                }),
                ..changed()
            })
        };
        let at_end = Writers::default().attribute(Observation::AtEndOf(EDIT));
        assert_eq!(by(99 * SECOND, None), at_end);
        assert_eq!(by(101 * SECOND, None), Attribution::USER);
        // the agent may have lived longer
        let unsure = Writers::default().attribute(Observation::Unreported(EDIT.session));
        assert_eq!(by(99 * SECOND, Some(i64::MAX)), at_end);
        assert_eq!(by(101 * SECOND, Some(i64::MAX)), unsure);
        assert_eq!(by(101 * SECOND, Some(110 * SECOND)), unsure);
        assert_eq!(by(111 * SECOND, Some(110 * SECOND)), Attribution::USER);
    }

    /// A formatter in the agent's own hooks changes the file after the call: that is the call's, unless anybody else writes.
    #[test]
    fn a_change_by_a_hook_is_its_calls_if_nobody_else_writes() {
        let context = ScanContext::between();
        let by = |calls: Vec<Writer>| {
            let authors = Authors {
                context: &context,
                overall: Observation::Between,
                writers: Writers {
                    calls,
                    ..Writers::default()
                },
            };
            authors.of(&PathFacts {
                by_hook: Some(by_hook(EDIT)),
                ..changed()
            })
        };
        assert_eq!(by(Vec::new()), by_hook(EDIT));
        let other = by(vec![SILENT]);
        assert_eq!(other.origin.session, Some(SILENT.session));
    }

    fn recorded(decision: Decision) -> Transition {
        match decision {
            Decision::Record(transition) => *transition,
            other => panic!("not recorded: {other:?}"),
        }
    }

    fn image(version: &crate::model::FileVersion) -> Option<Image> {
        version.as_ref().map(|placed| placed.image)
    }

    fn postponed(at: &str, applied_rules: Option<Image>) -> Decision {
        Decision::Postpone(Postponed {
            path: path(at),
            applied_rules,
        })
    }

    #[test]
    fn a_new_file_is_recorded_with_the_directories_made_for_it() {
        let transition = recorded(between(created()));
        assert_eq!((transition.before, transition.file), (None, None));
        assert_eq!(image(&transition.after), Some(file("found")));
        assert_eq!(transition.made_dirs, 2);
        assert_eq!(transition.attribution, Attribution::USER);
        assert_eq!(transition.observed_by, Observed::ByWalk);
    }

    #[test]
    fn a_changed_file_keeps_its_identity() {
        let transition = recorded(between(changed()));
        assert_eq!(image(&transition.before), Some(file("recorded")));
        assert_eq!(image(&transition.after), Some(file("found")));
        assert_eq!(transition.file, Some(FileId(5)));
        assert_eq!(transition.made_dirs, 0);
    }

    #[test]
    fn a_deleted_file_has_no_version_after() {
        let transition = recorded(between(PathFacts {
            image: Image::Absent,
            stat: None,
            ..changed()
        }));
        assert_eq!(image(&transition.before), Some(file("recorded")));
        assert_eq!(transition.after, None);
    }

    #[test]
    fn a_file_that_the_last_scan_could_not_see_is_adopted() {
        let decision = between(PathFacts {
            was_out_of_sight: true,
            ..created()
        });
        let adopted = Adopted {
            path: path("a.txt"),
            image: file("found"),
            stat: Some(NO_STAT),
        };
        assert_eq!(decision, Decision::Adopt(adopted));
        // a file with a row was seen
        recorded(between(PathFacts {
            was_out_of_sight: true,
            ..changed()
        }));
    }

    #[test]
    fn a_content_that_became_small_enough_to_capture_is_nobodys_change() {
        let too_large = |file| PathFacts {
            row: Some(row(Image::Opaque(Opaque::TooLarge), file)),
            ..created()
        };
        let unreported = Observation::Unreported(SessionId(3));
        let context = ScanContext::between();
        let decision = within(too_large(None), &context, unreported);
        assert!(matches!(decision, Decision::Adopt(_)), "{decision:?}");
        // its history continues
        let transition = recorded(within(too_large(Some(5)), &context, unreported));
        assert_eq!(transition.attribution, Attribution::USER);
        // another stat: the file was changed, too
        let transition = recorded(within(
            PathFacts {
                stat: Some(Stat { size: 1, ..NO_STAT }),
                ..too_large(None)
            },
            &context,
            unreported,
        ));
        assert_eq!(transition.attribution.origin.session, Some(SessionId(3)));
    }

    #[test]
    fn a_content_that_is_gone_waits_for_the_next_scan() {
        let decision = between(PathFacts {
            stored: false,
            ..changed()
        });
        assert_eq!(decision, postponed("a.txt", None));
    }

    #[test]
    fn a_reserved_path_is_left_to_its_call() {
        let reserved = |at: &str, stored| PathFacts {
            path: path(at),
            reserved: Some(EDIT),
            stored,
            ..changed()
        };
        assert_eq!(between(reserved("a.txt", false)), postponed("a.txt", None));
        // this scan has applied the new rules all the same
        let rules = "d/.gitignore";
        let expected = postponed(rules, Some(file("found")));
        assert_eq!(between(reserved(rules, true)), expected);
        assert_eq!(between(reserved(rules, false)), postponed(rules, None));
    }

    #[test]
    fn a_reserved_path_is_the_calls_provisionally_if_it_does_not_stay() {
        let context = ScanContext {
            reserved_stay: false,
            unreported: [(path("a.txt"), SILENT)].into(),
            ..ScanContext::between()
        };
        for explained in [true, false] {
            let facts = PathFacts {
                reserved: Some(EDIT),
                explained,
                ..changed()
            };
            let transition = recorded(within(facts, &context, Observation::Between));
            assert_eq!(transition.attribution, by_silent_edit(EDIT, explained));
        }
    }

    #[test]
    fn a_path_that_an_unreported_call_named_is_its_sessions() {
        let context = ScanContext {
            unreported: [(path("a.txt"), SILENT)].into(),
            ..ScanContext::between()
        };
        let at_end = Observation::AtEndOf(EDIT);
        let named = recorded(within(changed(), &context, at_end));
        let expected = Writers::default().attribute(Observation::Unreported(SessionId(9)));
        assert_eq!(named.attribution, expected);
        // its input leads to just this change
        let explained = PathFacts {
            explained: true,
            ..changed()
        };
        let named = recorded(within(explained, &context, at_end));
        let expected = Writers::default().attribute(Observation::Interrupted(SILENT));
        assert_eq!(named.attribution, expected);
        let other = PathFacts {
            path: path("b.txt"),
            ..changed()
        };
        let other = recorded(within(other, &context, at_end));
        assert_eq!(other.attribution, Writers::default().attribute(at_end));
    }

    #[test]
    fn an_outcome_is_withdrawn_if_the_text_was_written_over_that_of_the_disk() {
        let agent = Observation::AtEndOf(EDIT);
        let context = ScanContext::between();
        for (facts, overall) in [
            (waiting(false), agent),
            (waiting(true), Observation::Between),
        ] {
            let Decision::Withdraw(withdrawal) = within(facts, &context, overall) else {
                panic!("not withdrawn");
            };
            assert_eq!(withdrawal.row, row(file("recorded"), Some(5)));
            let written = Written {
                image: file("found"),
                stat: Some(NO_STAT),
                attribution: Writers::default().attribute(overall),
            };
            assert_eq!(withdrawal.written, Some(written));
        }
    }

    #[test]
    fn a_users_edit_of_the_outcome_is_recorded_after_it() {
        let transition = recorded(between(waiting(false)));
        assert_eq!(image(&transition.before), Some(file("recorded")));
        assert_eq!(image(&transition.after), Some(file("found")));
    }

    #[test]
    fn a_disk_with_its_old_text_has_no_change_beside_the_withdrawal() {
        let decision = between(PathFacts {
            image: file("on disk"),
            ..waiting(true)
        });
        let Decision::Withdraw(withdrawal) = decision else {
            panic!("not withdrawn: {decision:?}");
        };
        assert_eq!(withdrawal.written, None);
    }
}
