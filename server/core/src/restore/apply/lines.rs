//! Exchange of the paths of a journal, one after the other, and the meaning of each result for the restore.

use std::cell::RefCell;
use std::ops::Deref;

use crate::engine::{Engine, Progress};
use crate::error::Result;
use crate::hint::Hint;
use crate::model::{OpId, RelPath};
use crate::restore::Restore;
use crate::restore::exchange::{Exchange, ExchangeStep};
use crate::restore::journal::{self, JournalEntry};
use crate::restore::types::{Gap, GapKind};
use crate::store::Durable;

/// Result of exchanging the paths of a journal.
#[derive(Default)]
pub(super) struct ExchangedLines<'a> {
    /// Paths whose content is not from this run, so that rolling back must not touch them.
    pub not_ours: Vec<&'a RelPath>,
    pub failure: Option<ExchangeFailure>,
    /// Owners and attributes that files could not be given.
    pub lost: Vec<Gap>,
}

/// Reason why the exchange of a path ends the restore.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExchangeFailure {
    pub why: String,
    /// True if another process wrote to the path.
    by_writer: bool,
}

impl ExchangeFailure {
    /// Next step for the user. A switch moves all files, so it cannot leave one out.
    pub(super) fn hint(&self, is_switch: bool) -> Hint {
        match (self.by_writer, is_switch) {
            (true, true) => "stop the program that writes to it, and try again".into(),
            (true, false) => Hint::Writer,
            (false, true) => "fix that, and try again".into(),
            (false, false) => Hint::Fixed,
        }
    }
}

/// Effect of one path's exchange on the restore.
#[derive(Debug, PartialEq, Eq)]
enum LineOutcome {
    Exchanged,
    /// The path already had its new image.
    NotOurs,
    /// The path stays as it is, for this reason.
    Skipped(String),
    Failed(ExchangeFailure),
}

impl LineOutcome {
    /// Decides what an exchange means. While recovering, a path that cannot be exchanged is skipped, since the other
    /// paths are no longer as they were.
    fn of(path: &RelPath, step: Result<ExchangeStep>, recovering: bool) -> Self {
        match step {
            Ok(ExchangeStep::Done) => Self::Exchanged,
            Ok(ExchangeStep::Already) => Self::NotOurs,
            Ok(ExchangeStep::Surprise(why)) if recovering => Self::Skipped(why),
            Err(e) if recovering => Self::Skipped(e.to_string()),
            Ok(ExchangeStep::Surprise(why)) => Self::Failed(ExchangeFailure {
                why: format!("{} {why}", path.display()),
                by_writer: true,
            }),
            Err(e) => Self::Failed(ExchangeFailure {
                why: format!("{} cannot be restored: {e}", path.display()),
                by_writer: false,
            }),
        }
    }
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Exchanges path after path, until one fails.
    pub(super) fn exchange_all<'a>(
        &self,
        op: OpId,
        lines: &'a [JournalEntry],
        recovering: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ExchangedLines<'a>> {
        let total = Some(lines.len() as u64);
        // deletions make room for creations
        let (deletions, creations): (Vec<_>, Vec<_>) =
            lines.iter().partition(|l| l.after.is_absent());
        let mut done = 0;
        let mut exchanged = ExchangedLines::default();
        for line in deletions.into_iter().chain(creations) {
            if line.left {
                continue;
            }
            if exchanged.failure.is_some() {
                // never exchanged: there is nothing to roll back
                exchanged.not_ours.push(&line.path);
                continue;
            }
            crate::fault::point("before exchange");
            let exchange = Exchange {
                root: &self.engine.root,
                store: &self.engine.store,
                line,
                from: line.before,
                to: line.after,
                lost: RefCell::default(),
            };
            let step = exchange.run();
            crate::fault::point("after exchange");
            let lost = exchange.lost.into_inner().into_iter();
            exchanged.lost.extend(lost.map(|what| Gap {
                path: Some(line.path.bytes().to_vec()),
                kind: GapKind::Attributes,
                detail: what,
            }));
            match LineOutcome::of(&line.path, step, recovering) {
                LineOutcome::Exchanged => {}
                LineOutcome::NotOurs => exchanged.not_ours.push(&line.path),
                LineOutcome::Skipped(why) => self.engine.store.write(Durable::Power, |conn| {
                    journal::leave(conn, op, &line.path, &why)
                })?,
                LineOutcome::Failed(failure) => {
                    if failure.by_writer {
                        // already swapped back, or never exchanged
                        exchanged.not_ours.push(&line.path);
                    }
                    exchanged.failure = Some(failure);
                }
            }
            done += 1;
            progress(Progress {
                what: "restoring",
                done,
                total,
            });
        }
        Ok(exchanged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn outcome(step: Result<ExchangeStep>, recovering: bool) -> LineOutcome {
        let path = RelPath::new("a.txt").expect("a path");
        LineOutcome::of(&path, step, recovering)
    }

    fn surprise() -> ExchangeStep {
        ExchangeStep::Surprise("was changed by another process".into())
    }

    #[test]
    fn an_exchange_counts_as_ours_only_if_it_was_made_here() {
        for recovering in [false, true] {
            let done = outcome(Ok(ExchangeStep::Done), recovering);
            assert_eq!(done, LineOutcome::Exchanged);
            let already = outcome(Ok(ExchangeStep::Already), recovering);
            assert_eq!(already, LineOutcome::NotOurs);
        }
    }

    #[test]
    fn a_recovery_skips_the_path_that_another_process_changed() {
        let why = "was changed by another process".to_owned();
        assert_eq!(outcome(Ok(surprise()), true), LineOutcome::Skipped(why));
        let error = outcome(Err(Error::CalledOff), true);
        assert_eq!(error, LineOutcome::Skipped(Error::CalledOff.to_string()));
    }

    #[test]
    fn a_restore_ends_at_the_path_that_another_process_changed() {
        let failed = |step| match outcome(step, false) {
            LineOutcome::Failed(failure) => failure,
            other => panic!("{other:?}"),
        };
        let by_writer = failed(Ok(surprise()));
        assert!(by_writer.by_writer);
        assert_eq!(by_writer.why, "a.txt was changed by another process");
        let by_error = failed(Err(Error::CalledOff));
        assert!(!by_error.by_writer);
        assert!(by_error.why.starts_with("a.txt cannot be restored: "));
    }

    #[test]
    fn the_hint_offers_to_leave_a_path_out_except_in_a_switch() {
        let failure = |by_writer| ExchangeFailure {
            why: String::new(),
            by_writer,
        };
        assert!(matches!(failure(true).hint(false), Hint::Writer));
        assert!(!matches!(failure(true).hint(true), Hint::Writer));
        assert!(matches!(failure(false).hint(false), Hint::Fixed));
        assert!(!matches!(failure(false).hint(true), Hint::Fixed));
    }
}
