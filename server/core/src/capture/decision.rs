//! Decisions on the differences that a scan found. Pure: the facts are read before, and the effects
//! come after.

use super::calls::{Attribution, Observation, Writer, Writers, by_open_edit};
use super::transition::Transition;
use super::write_txn::ScanContext;
use crate::model::{Image, RelPath};
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
    pub row: Option<FileState>,
    /// The open edit call that has reserved the path.
    pub reserved: Option<Writer>,
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

/// Everything that decides on the author of a facts.
pub(super) struct Authors<'a> {
    pub context: &'a ScanContext,
    /// The observation for a change that no call has named.
    pub overall: Observation,
    pub writers: Writers,
}

impl Authors<'_> {
    /// True if the change is left to the call that has reserved the path.
    pub(super) fn leaves_to_call(&self, reserved: Option<Writer>) -> bool {
        reserved.is_some() && self.context.reserved_stay
    }

    /// Returns the author of a facts.
    pub(super) fn of(&self, facts: &PathFacts) -> Attribution {
        if facts.revealed().is_some() {
            // only the size limit was raised
            return Attribution::USER;
        }
        let unreported = self.context.unreported.get(&facts.path);
        match (facts.reserved, unreported) {
            (Some(by), _) => by_open_edit(by),
            (None, Some(session)) => self.writers.attribute(Observation::Unreported(*session)),
            (None, None) => self.writers.attribute(self.overall),
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
    let leave = authors.leaves_to_call(facts.reserved);
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
