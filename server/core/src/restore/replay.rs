//! Builds one file's content for a wanted set of edits. Uses a recorded state, or merges the missing edits onto
//! the recorded state of the longest prefix of the set. Writes nothing.

use std::collections::BTreeSet;

use super::file_merge::{FileMerge, LineMerge, TOO_LONG};
use super::line_check::LineOrigins;
use super::returns::without_returns;
use super::types::{Conflict, ConflictSpan, OnConflict};
use crate::content::is_text;
use crate::diff::{Interner, changes, lines};
use crate::error::Result;
use crate::history::{self, SetHash};
use crate::merge::{ConflictHunk, ConflictKind, Favor, merge3};
use crate::model::{
    Change, ChangeId, ContentId, FileId, FileVersion, Image, Opaque, Placed, RelPath,
};
use crate::store::Store;

/// Result of building a wanted set.
#[derive(Debug, Default)]
pub(super) struct MergeOutcome {
    pub state: FileVersion,
    pub merged: bool,
    /// The content of `state`, where the store does not have it.
    pub content: Option<Vec<u8>>,
    /// Conflicts found. `state` is the result of the chosen resolution.
    pub conflicts: Vec<Conflict>,
    /// Reason, if a content that the merge needs was not captured.
    pub opaque: Option<Opaque>,
}

impl MergeOutcome {
    /// A recorded state, not merged.
    fn recorded(state: FileVersion) -> Self {
        Self {
            opaque: opaque(&state),
            state,
            ..Self::default()
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Replay<'a> {
    pub store: &'a Store,
    pub file: FileId,
    pub current: &'a FileVersion,
    /// Edits in force now.
    pub now: &'a BTreeSet<ChangeId>,
    /// Edits that are to be in force, oldest first.
    pub wanted: &'a BTreeSet<ChangeId>,
    pub on_conflict: OnConflict,
    /// Label of the target's side in conflict markers.
    pub target: &'a str,
}

/// A state under construction. `bytes` is set once it is merged.
#[derive(Clone)]
struct Draft {
    state: FileVersion,
    bytes: Option<Vec<u8>>,
}

impl Draft {
    /// A recorded state, not merged.
    fn recorded(state: &FileVersion) -> Self {
        Self {
            state: state.clone(),
            bytes: None,
        }
    }
}

/// Consecutive edits of which each begins at the state in which the one before it ended. They merge as one edit.
struct EditRun<'a> {
    before: &'a FileVersion,
    after: &'a FileVersion,
    /// True if the edits are put back, so that they belong to the target's side.
    returning: bool,
}

/// Result of merging one run of edits.
enum MergeStep {
    Clean(Draft),
    /// The two sides conflict. The draft is the result of the chosen resolution.
    Conflict(Draft, Conflict),
    /// The two sides conflict, and the file must be left as it is.
    Unresolvable(Conflict),
}

/// A text from which two others both differ in each region in which they differ from each other.
fn common(one: &[u8], other: &[u8]) -> Vec<u8> {
    let (old, new) = (lines(one), lines(other));
    let mut names = Interner::default();
    let (old_ids, new_ids) = (names.intern(&old), names.intern(&new));
    let end: &[u8] = if one.ends_with(b"\r\n") {
        b"\r\n"
    } else {
        b"\n"
    };
    let mut gap = b"=======".to_vec();
    while [one, other]
        .iter()
        .any(|text| text.windows(gap.len()).any(|part| part == gap))
    {
        gap.push(b'=');
    }
    let mut text = Vec::new();
    let mut at = 0;
    for change in changes(&old_ids, &new_ids) {
        text.extend(old[at..change.old.start].concat());
        text.extend([gap.as_slice(), end].concat());
        at = change.old.end;
    }
    text.extend(old[at..].concat());
    text
}

/// Describes a conflict for people.
pub(super) fn describe(kind: ConflictKind) -> &'static str {
    match kind {
        ConflictKind::Binary => "both sides changed a binary file",
        ConflictKind::Insertions => "both sides inserted different lines at one place",
        ConflictKind::Moved => "a line removed on one side was moved on the other",
        ConflictKind::LineEndings => "both sides changed its line endings",
        ConflictKind::FinalNewline => "both sides changed its final newline",
        ConflictKind::Overlap => "both sides changed the same lines",
    }
}

impl Replay<'_> {
    pub(super) fn run(&self) -> Result<MergeOutcome> {
        let outcome = self.steps()?;
        if self.on_conflict == OnConflict::Markers
            && self.loses_markers(&outcome)?
            && let Some(asked_again) = self.sides(&outcome)?
        {
            return Ok(asked_again);
        }
        Ok(outcome)
    }

    /// True if an edit that came after a conflict took its markers out: the user decided the same conflict before, and that
    /// rewind was undone.
    fn loses_markers(&self, outcome: &MergeOutcome) -> Result<bool> {
        let wanted: usize = outcome.conflicts.iter().map(|c| c.hunks.len()).sum();
        if wanted == 0 || !outcome.merged || outcome.state.is_none() {
            return Ok(false);
        }
        let bytes = self.bytes(&Draft {
            state: outcome.state.clone(),
            bytes: outcome.content.clone(),
        })?;
        let begins = [self.target, "current"].map(|side| format!("<<<<<<< {side}"));
        let is_marker = |line: &&[u8]| {
            let mut all = begins.iter();
            all.any(|begin| line.starts_with(begin.as_bytes()))
        };
        Ok(lines(&bytes).iter().filter(|line| is_marker(line)).count() < wanted)
    }

    /// Both ways to decide all conflicts, with markers where they differ. None where that cannot be said in lines.
    fn sides(&self, outcome: &MergeOutcome) -> Result<Option<MergeOutcome>> {
        let side = |on_conflict| -> Result<Option<(Placed, Vec<u8>)>> {
            let side = Self {
                on_conflict,
                ..*self
            };
            let outcome = side.steps()?;
            let bytes = side.bytes(&Draft {
                state: outcome.state.clone(),
                bytes: outcome.content,
            })?;
            let placed = outcome
                .state
                .filter(|p| matches!(p.image, Image::File { .. }));
            Ok(placed
                .filter(|_| is_text(&bytes))
                .map(|placed| (placed, bytes)))
        };
        let (Some((older, target)), Some((mut placed, kept))) =
            (side(OnConflict::Target)?, side(OnConflict::Current)?)
        else {
            return Ok(None);
        };
        let (Image::File { mode, .. }, Some(first)) = (placed.image, outcome.conflicts.first())
        else {
            return Ok(None);
        };
        if older.path != placed.path || target == kept {
            return Ok(None);
        }
        let favor = Favor::Markers {
            ours: self.target,
            theirs: "current",
        };
        let merge = merge3(&common(&target, &kept), &target, &kept, favor);
        let span = |c: &ConflictHunk| ConflictSpan {
            target: (c.ours.start, c.ours.end),
            kept: (c.theirs.start, c.theirs.end),
        };
        placed.image = Image::File {
            mode,
            content: ContentId::of(&merge.bytes),
            size: merge.bytes.len() as u64,
        };
        Ok(Some(MergeOutcome {
            state: Some(placed),
            merged: true,
            content: Some(merge.bytes),
            conflicts: vec![Conflict {
                hunks: merge.conflicts.iter().map(span).collect(),
                ..first.clone()
            }],
            opaque: None,
        }))
    }

    /// One way to decide, edit by edit.
    fn steps(&self) -> Result<MergeOutcome> {
        let conn = &self.store.conn;
        if let Some(state) = history::version(conn, self.file, SetHash::of(self.wanted))? {
            return Ok(MergeOutcome::recorded(state));
        }
        let left = without_returns(conn, self.file, self.now, self.wanted)?;
        let wanted: Vec<Change> = left
            .iter()
            .map(|id| history::change(conn, *id))
            .collect::<Result<_>>()?;
        let (from, state) = self.base(&wanted)?;
        let rest = &wanted[from..];
        if rest.is_empty() {
            return Ok(MergeOutcome::recorded(state));
        }
        let unkept = rest
            .iter()
            .flat_map(|c| [&c.before, &c.after])
            .chain([&state])
            .find_map(opaque);
        if let Some(why) = unkept {
            return Ok(MergeOutcome {
                opaque: Some(why),
                ..MergeOutcome::recorded(state)
            });
        }
        let (built, mut conflicts) = self.merge_runs(rest, state)?;
        let Some(built) = built else {
            return Ok(self.unchanged(conflicts));
        };
        if conflicts.is_empty()
            && let Some(conflict) = self.check(&wanted, &built)?
        {
            conflicts.push(conflict);
            if self.on_conflict != OnConflict::Target {
                return Ok(self.unchanged(conflicts));
            }
        }
        Ok(MergeOutcome {
            merged: true,
            content: built.bytes,
            conflicts,
            ..MergeOutcome::recorded(built.state)
        })
    }

    /// The recorded state to merge onto, and the number of wanted edits that it has: that of their longest prefix.
    fn base(&self, wanted: &[Change]) -> Result<(usize, FileVersion)> {
        let conn = &self.store.conn;
        let mut set = SetHash::EMPTY;
        let mut from = 0;
        let mut state = history::version(conn, self.file, set)?.flatten();
        for (at, change) in wanted.iter().enumerate() {
            set = set.toggled(change.id);
            if let Some(found) = history::version(conn, self.file, set)? {
                (from, state) = (at + 1, found);
            }
        }
        // a deletion that stays overrides everything before it
        let deleted = wanted
            .iter()
            .rposition(|c| c.after.is_none() && self.now.contains(&c.id));
        if let Some(at) = deleted.filter(|at| *at >= from) {
            (from, state) = (at + 1, None);
        }
        Ok((from, state))
    }

    /// Merges edits onto a state, run by run. Returns the conflicts, and no draft if the file must be left as it is.
    fn merge_runs(
        &self,
        edits: &[Change],
        state: FileVersion,
    ) -> Result<(Option<Draft>, Vec<Conflict>)> {
        let mut built = Draft { state, bytes: None };
        let mut conflicts = Vec::new();
        let mut at = 0;
        while at < edits.len() {
            let mut end = at;
            while end + 1 < edits.len() && edits[end].after == edits[end + 1].before {
                end += 1;
            }
            let run = EditRun {
                before: &edits[at].before,
                after: &edits[end].after,
                returning: edits[at..=end].iter().all(|c| !self.now.contains(&c.id)),
            };
            match self.merge_run(built, &run)? {
                MergeStep::Clean(next) => built = next,
                MergeStep::Conflict(next, conflict) => {
                    built = next;
                    conflicts.push(conflict);
                }
                MergeStep::Unresolvable(conflict) => {
                    conflicts.push(conflict);
                    return Ok((None, conflicts));
                }
            }
            at = end + 1;
        }
        Ok((Some(built), conflicts))
    }

    /// The file as it is, with the conflicts that prevent its change.
    fn unchanged(&self, conflicts: Vec<Conflict>) -> MergeOutcome {
        MergeOutcome {
            conflicts,
            ..MergeOutcome::recorded(self.current.clone())
        }
    }

    fn bytes(&self, built: &Draft) -> Result<Vec<u8>> {
        match (
            &built.bytes,
            built.state.as_ref().and_then(|p| p.image.content()),
        ) {
            (Some(bytes), _) => Ok(bytes.clone()),
            (None, Some(content)) => self.store.content(&content),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// Merges a run of edits onto `built`.
    fn merge_run(&self, built: Draft, run: &EditRun<'_>) -> Result<MergeStep> {
        match FileMerge::decide(run.before, &built.state, run.after) {
            FileMerge::Ours(state) => Ok(MergeStep::Clean(Draft { state, ..built })),
            FileMerge::Theirs(state) => Ok(MergeStep::Clean(Draft::recorded(&state))),
            FileMerge::OneSide { at, reason } => {
                let conflict = self.conflict(&at, reason, Vec::new());
                Ok(self.choose(conflict, built, run))
            }
            FileMerge::Lines(merge) => self.merge_lines(&built, run, merge),
        }
    }

    /// Merges both contents by lines.
    fn merge_lines(&self, built: &Draft, run: &EditRun<'_>, merge: LineMerge) -> Result<MergeStep> {
        let base_bytes = match merge.base {
            Image::File { content, .. } => self.store.content(&content)?,
            _ => Vec::new(),
        };
        let our_bytes = self.bytes(built)?;
        let their_bytes = self.bytes(&Draft::recorded(run.after))?;
        let favor = favored_side(self.on_conflict, run.returning, self.target);
        let merged = merge3(&base_bytes, &our_bytes, &their_bytes, favor);
        let chosen_mode = match favor {
            Favor::Theirs => merge.their_mode,
            Favor::Ours | Favor::Markers { .. } => merge.our_mode,
        };
        let conflict = line_conflict(&merge, &merged.conflicts)
            .map(|reason| self.conflict(&merge.at, reason, spans(&merged.conflicts, run)));
        let image = Image::File {
            mode: merge.mode.unwrap_or(chosen_mode),
            content: ContentId::of(&merged.bytes),
            size: merged.bytes.len() as u64,
        };
        let path = merge.path;
        let next = Draft {
            state: Some(Placed { path, image }),
            bytes: Some(merged.bytes),
        };
        // a binary file cannot hold markers, and no side may be dropped instead
        let is_binary = |c: &ConflictHunk| c.kind == ConflictKind::Binary;
        let needs_choice =
            self.on_conflict == OnConflict::Markers && merged.conflicts.iter().any(is_binary);
        Ok(match conflict {
            None => MergeStep::Clean(next),
            Some(conflict) if needs_choice => MergeStep::Unresolvable(conflict),
            Some(conflict) => MergeStep::Conflict(next, conflict),
        })
    }

    /// A conflict at the file's current path, or at `path` if the file does not exist now.
    fn conflict(&self, path: &RelPath, reason: &str, hunks: Vec<ConflictSpan>) -> Conflict {
        let current = self.current.as_ref().map(|placed| &placed.path);
        Conflict {
            path: current.unwrap_or(path).clone(),
            reason: reason.into(),
            hunks,
            resolution: None,
            is_fixed: false,
        }
    }

    /// Resolves a conflict without lines: takes one side as a whole.
    fn choose(&self, conflict: Conflict, built: Draft, run: &EditRun<'_>) -> MergeStep {
        match self.on_conflict {
            OnConflict::Target if run.returning => {
                MergeStep::Conflict(Draft::recorded(run.after), conflict)
            }
            OnConflict::Target => MergeStep::Conflict(built, conflict),
            OnConflict::Fail | OnConflict::Markers | OnConflict::Current => {
                MergeStep::Unresolvable(conflict)
            }
        }
    }

    /// Checks a merge before it is offered. No line written only by edits that are taken out may remain, and no
    /// current line written only by edits that stay may be lost.
    fn check(&self, wanted: &[Change], built: &Draft) -> Result<Option<Conflict>> {
        let (Some(result), Some(current)) = (&built.state, self.current) else {
            return Ok(None);
        };
        let conflict = |path: &RelPath, reason: String| Conflict {
            path: path.clone(),
            reason,
            hunks: Vec::new(),
            resolution: None,
            is_fixed: false,
        };
        let states = [result, current];
        match states.iter().find(|placed| placed.image.is_too_long()) {
            // nothing was merged: the result is a recorded state
            Some(_) if built.bytes.is_none() => return Ok(None),
            Some(long) => return Ok(Some(conflict(&long.path, TOO_LONG.into()))),
            None => {}
        }
        let result_bytes = self.bytes(built)?;
        let current_bytes = self.bytes(&Draft::recorded(self.current))?;
        let origins = self.line_origins(wanted)?;
        let wrong = origins.wrong_line(&current_bytes, &result_bytes);
        Ok(wrong.map(|line| conflict(&result.path, line.reason())))
    }

    /// Origins of the file's lines, by the wanted edits and the edits that are taken out.
    fn line_origins(&self, wanted: &[Change]) -> Result<LineOrigins> {
        let conn = &self.store.conn;
        // a file that is too large has no lines here
        let bytes = |state: &FileVersion| match state {
            Some(placed) if placed.image.is_too_long() => Ok(Vec::new()),
            _ => self.bytes(&Draft::recorded(state)),
        };
        let start = history::version(conn, self.file, SetHash::EMPTY)?.flatten();
        let mut origins = LineOrigins::new(&bytes(&start)?);
        for change in wanted {
            origins.add_kept(&bytes(&change.before)?, &bytes(&change.after)?);
        }
        for id in self.now.difference(self.wanted) {
            let change = history::change(conn, *id)?;
            origins.add_taken_out(&bytes(&change.before)?, &bytes(&change.after)?);
        }
        Ok(origins)
    }
}

/// Side that a merge by lines takes in conflicts. The edit is `theirs`; if it returns, it is the target's side.
fn favored_side(on_conflict: OnConflict, returning: bool, target: &str) -> Favor<'_> {
    match (on_conflict, returning) {
        (OnConflict::Markers, true) => Favor::Markers {
            ours: "current",
            theirs: target,
        },
        (OnConflict::Markers, false) => Favor::Markers {
            ours: target,
            theirs: "current",
        },
        (OnConflict::Current, false) | (OnConflict::Target, true) => Favor::Theirs,
        _ => Favor::Ours,
    }
}

/// Reason why a merge by lines is a conflict. None if it is clean.
fn line_conflict(merge: &LineMerge, conflicts: &[ConflictHunk]) -> Option<&'static str> {
    match conflicts.first() {
        None if merge.mode.is_some() => None,
        _ if merge.both_created => Some("both sides created it, with different content"),
        None => Some("both sides changed its mode"),
        Some(first) => Some(describe(first.kind)),
    }
}

/// Conflicting lines of the target's side and of the side that stays.
fn spans(conflicts: &[ConflictHunk], run: &EditRun<'_>) -> Vec<ConflictSpan> {
    let span = |c: &ConflictHunk| {
        let (ours, theirs) = ((c.ours.start, c.ours.end), (c.theirs.start, c.theirs.end));
        let (target, kept) = if run.returning {
            (theirs, ours)
        } else {
            (ours, theirs)
        };
        ConflictSpan { target, kept }
    };
    conflicts.iter().map(span).collect()
}

fn opaque(state: &FileVersion) -> Option<Opaque> {
    match state.as_ref()?.image {
        Image::Opaque(why) => Some(why),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mode: Option<u32>, both_created: bool) -> LineMerge {
        let path = RelPath::new("a").expect("a path");
        LineMerge {
            at: path.clone(),
            path,
            base: Image::Absent,
            our_mode: 0o644,
            their_mode: 0o755,
            mode,
            both_created,
        }
    }

    fn overlap() -> ConflictHunk {
        ConflictHunk {
            base: 0..1,
            ours: 1..2,
            theirs: 3..5,
            kind: ConflictKind::Overlap,
        }
    }

    #[test]
    fn the_favored_side_follows_the_direction_of_the_edit() {
        let side = |on_conflict, returning| favored_side(on_conflict, returning, "t1");
        assert_eq!(side(OnConflict::Target, true), Favor::Theirs);
        assert_eq!(side(OnConflict::Target, false), Favor::Ours);
        assert_eq!(side(OnConflict::Current, true), Favor::Ours);
        assert_eq!(side(OnConflict::Current, false), Favor::Theirs);
        assert_eq!(side(OnConflict::Fail, false), Favor::Ours);
        let (ours, theirs) = ("current", "t1");
        assert_eq!(
            side(OnConflict::Markers, true),
            Favor::Markers { ours, theirs }
        );
        let (ours, theirs) = ("t1", "current");
        assert_eq!(
            side(OnConflict::Markers, false),
            Favor::Markers { ours, theirs }
        );
    }

    #[test]
    fn a_merge_by_lines_is_clean_without_conflicting_lines_and_modes() {
        assert_eq!(line_conflict(&lines(Some(0o644), false), &[]), None);
        assert_eq!(line_conflict(&lines(Some(0o644), true), &[]), None);
        let changed_mode = line_conflict(&lines(None, false), &[]);
        assert_eq!(changed_mode, Some("both sides changed its mode"));
        let created = Some("both sides created it, with different content");
        assert_eq!(line_conflict(&lines(None, true), &[]), created);
        assert_eq!(
            line_conflict(&lines(Some(0o644), true), &[overlap()]),
            created
        );
        assert_eq!(
            line_conflict(&lines(Some(0o644), false), &[overlap()]),
            Some("both sides changed the same lines")
        );
    }

    #[test]
    fn spans_name_the_side_of_the_target_by_the_direction_of_the_edit() {
        let of = |returning| {
            let run = EditRun {
                before: &None,
                after: &None,
                returning,
            };
            spans(&[overlap()], &run)
        };
        let (target, kept) = ((1, 2), (3, 5));
        assert_eq!(of(false), [ConflictSpan { target, kept }]);
        let (target, kept) = ((3, 5), (1, 2));
        assert_eq!(of(true), [ConflictSpan { target, kept }]);
    }
}
