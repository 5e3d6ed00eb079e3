//! Decision about one file of a plan, from its states and conflicts alone. Pure.

use crate::model::{Opaque, RelPath};
use crate::restore::not_captured::opaque;
use crate::restore::types::{Conflict, FilePlan, OnConflict, Resolution};

/// Decision about one file of a plan, from its states and conflicts alone.
#[derive(Debug)]
pub(super) enum FileDecision {
    Unchanged,
    /// The file stays as it is, because a content that its restore needs was not captured.
    NotCaptured(RelPath, Opaque),
    /// Conflicts that the user has to decide first.
    Undecided(Vec<Conflict>),
    Change(Box<PlannedChange>),
}

/// Change of one file, before it is narrowed to the chosen hunks.
#[derive(Debug)]
pub(super) struct PlannedChange {
    pub part: FilePlan,
    /// Conflicts that the request resolves.
    pub conflicts: Vec<Conflict>,
    /// Path and reason, if the resolution leaves the whole file as it is.
    pub left: Option<(RelPath, String)>,
}

impl FileDecision {
    /// Decides about a file. `not_captured` is the reason why its new state cannot be built. `by_hunk`: the request
    /// names hunks, so conflicts elsewhere in the file do not prevent it.
    pub(super) fn of(
        part: FilePlan,
        not_captured: Option<Opaque>,
        conflicts: Vec<Conflict>,
        on_conflict: OnConflict,
        by_hunk: bool,
    ) -> Self {
        let stays = part.before == part.after;
        if let Some(why) = not_captured.or_else(|| opaque(&part.before)) {
            let placed = part.before.or(part.after).filter(|_| !stays);
            return placed.map_or(Self::Unchanged, |at| Self::NotCaptured(at.path, why));
        }
        let Some(chosen) = on_conflict.resolution() else {
            // with hunks, the conflicts are kept apart as `hunk_conflicts`
            return if conflicts.is_empty() || by_hunk {
                Self::change(part, Vec::new(), None)
            } else {
                Self::Undecided(conflicts)
            };
        };
        let is_left = stays && !part.merged;
        let left = conflicts
            .first()
            .zip(part.before.as_ref())
            .filter(|_| is_left)
            .map(|(conflict, placed)| (placed.path.clone(), conflict.reason.clone()));
        let resolution = Some(if is_left { Resolution::Left } else { chosen });
        let conflicts = conflicts.into_iter().map(|c| Conflict { resolution, ..c });
        Self::change(part, conflicts.collect(), left)
    }

    fn change(part: FilePlan, conflicts: Vec<Conflict>, left: Option<(RelPath, String)>) -> Self {
        Self::Change(Box::new(PlannedChange {
            part,
            conflicts,
            left,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ContentId, FileId, Image, Placed};

    const A: Image = Image::Symlink {
        content: ContentId([1; 32]),
    };
    const B: Image = Image::Symlink {
        content: ContentId([2; 32]),
    };
    const TOO_LARGE: Image = Image::Opaque(Opaque::TooLarge);

    fn part(before: Image, after: Image, conflicts: &[Conflict]) -> FilePlan {
        let at = |image| RelPath::new("a").map(|path| Placed { path, image });
        FilePlan {
            file: FileId(1),
            before: at(before),
            after: at(after),
            taken_out: Vec::new(),
            put_back: Vec::new(),
            as_user: !conflicts.is_empty(),
            merged: false,
            new_content: None,
        }
    }

    fn conflict() -> Vec<Conflict> {
        vec![Conflict {
            path: RelPath::new("a").expect("a path"),
            reason: "both sides changed it".into(),
            hunks: Vec::new(),
            resolution: None,
            is_fixed: false,
        }]
    }

    fn decide(
        (before, after): (Image, Image),
        conflicts: Vec<Conflict>,
        on_conflict: OnConflict,
        by_hunk: bool,
    ) -> FileDecision {
        let part = part(before, after, &conflicts);
        FileDecision::of(part, None, conflicts, on_conflict, by_hunk)
    }

    fn change(decision: FileDecision) -> PlannedChange {
        match decision {
            FileDecision::Change(change) => *change,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_without_conflicts_is_changed() {
        let change = change(decide((A, B), Vec::new(), OnConflict::Fail, false));
        assert!(change.conflicts.is_empty() && change.left.is_none());
        assert!(!change.part.as_user);
    }

    #[test]
    fn a_content_that_was_not_captured_leaves_the_file() {
        let decision = decide((TOO_LARGE, A), Vec::new(), OnConflict::Fail, false);
        assert!(
            matches!(&decision, FileDecision::NotCaptured(path, Opaque::TooLarge) if path.bytes() == b"a"),
            "{decision:?}"
        );
        let why = Some(Opaque::Unreadable);
        let decision = FileDecision::of(part(A, B, &[]), why, Vec::new(), OnConflict::Fail, false);
        assert!(
            matches!(decision, FileDecision::NotCaptured(_, Opaque::Unreadable)),
            "{decision:?}"
        );
        let decision = decide((TOO_LARGE, TOO_LARGE), Vec::new(), OnConflict::Fail, false);
        assert!(matches!(decision, FileDecision::Unchanged), "{decision:?}");
    }

    #[test]
    fn open_conflicts_prevent_the_change_unless_hunks_are_chosen() {
        let decision = decide((A, B), conflict(), OnConflict::Fail, false);
        let FileDecision::Undecided(open) = decision else {
            panic!("{decision:?}");
        };
        assert_eq!(open, conflict());
        let change = change(decide((A, B), conflict(), OnConflict::Fail, true));
        assert!(change.conflicts.is_empty() && change.part.as_user);
    }

    #[test]
    fn a_resolution_is_noted_at_each_conflict() {
        for (on_conflict, resolution) in [
            (OnConflict::Markers, Resolution::Markers),
            (OnConflict::Current, Resolution::Current),
            (OnConflict::Target, Resolution::Target),
        ] {
            let change = change(decide((A, B), conflict(), on_conflict, false));
            assert_eq!(change.conflicts[0].resolution, Some(resolution));
            assert_eq!(change.left, None);
        }
    }

    #[test]
    fn a_resolution_that_changes_nothing_leaves_the_file() {
        let change = change(decide((A, A), conflict(), OnConflict::Current, false));
        assert_eq!(change.conflicts[0].resolution, Some(Resolution::Left));
        let (path, why) = change.left.expect("it is left");
        assert_eq!(
            (path.bytes(), why.as_str()),
            (&b"a"[..], "both sides changed it")
        );
    }
}
