//! Builds one file's content for a wanted set of edits. Uses a recorded state, or merges the missing edits onto
//! the recorded state of the longest prefix of the set. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::types::{Conflict, ConflictSpan, OnConflict};
use crate::content::is_text;
use crate::diff::{Interner, changes, lines};
use crate::error::Result;
use crate::history::{self, SetHash};
use crate::merge::{ConflictHunk, ConflictKind, Favor, merge3};
use crate::model::{Change, ChangeId, ContentId, FileId, FileVersion, Image, Opaque, Placed};
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

const TOO_LONG: &str = "it is too large to merge line by line";

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
        let begins = [b"<<<<<<< target (".as_slice(), b"<<<<<<< kept"];
        let is_marker = |line: &&[u8]| begins.iter().any(|begin| line.starts_with(begin));
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
        let label = format!("target ({})", self.target);
        let favor = Favor::Markers {
            ours: &label,
            theirs: "kept",
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
        let done = |state: FileVersion| MergeOutcome {
            opaque: opaque(&state),
            state,
            merged: false,
            content: None,
            conflicts: Vec::new(),
        };
        if let Some(state) = history::version(conn, self.file, SetHash::of(self.wanted))? {
            return Ok(done(state));
        }
        let wanted: Vec<Change> = self
            .wanted
            .iter()
            .map(|id| history::change(conn, *id))
            .collect::<Result<_>>()?;
        // the recorded state of the longest prefix of the wanted set
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
        let rest = &wanted[from..];
        if rest.is_empty() {
            return Ok(done(state));
        }
        let unkept = rest
            .iter()
            .flat_map(|c| [&c.before, &c.after])
            .chain([&state])
            .find_map(opaque);
        if let Some(why) = unkept {
            return Ok(MergeOutcome {
                opaque: Some(why),
                ..done(state)
            });
        }
        let mut built = Draft { state, bytes: None };
        let mut conflicts = Vec::new();
        let mut at = 0;
        while at < rest.len() {
            let mut end = at;
            while end + 1 < rest.len() && rest[end].after == rest[end + 1].before {
                end += 1;
            }
            let run = &rest[at..=end];
            let returning = run.iter().all(|c| !self.now.contains(&c.id));
            match self.merge_run(built, &run[0].before, &run[run.len() - 1].after, returning)? {
                MergeStep::Clean(next) => built = next,
                MergeStep::Conflict(next, conflict) => {
                    built = next;
                    conflicts.push(conflict);
                }
                MergeStep::Unresolvable(conflict) => {
                    conflicts.push(conflict);
                    return Ok(MergeOutcome {
                        conflicts,
                        ..done(self.current.clone())
                    });
                }
            }
            at = end + 1;
        }
        if conflicts.is_empty()
            && let Some(conflict) = self.check(&wanted, &built)?
        {
            conflicts.push(conflict);
            if self.on_conflict != OnConflict::Target {
                return Ok(MergeOutcome {
                    conflicts,
                    ..done(self.current.clone())
                });
            }
        }
        Ok(MergeOutcome {
            merged: true,
            content: built.bytes,
            conflicts,
            ..done(built.state)
        })
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

    /// Merges the change from `base` to `edit` onto `built`. `returning`: the edit is put back, so it belongs to
    /// the target's side.
    fn merge_run(
        &self,
        built: Draft,
        base: &FileVersion,
        edit: &FileVersion,
        returning: bool,
    ) -> Result<MergeStep> {
        if built.state == *base {
            return Ok(MergeStep::Clean(Draft {
                state: edit.clone(),
                bytes: None,
            }));
        }
        if built.state == *edit || base == edit {
            return Ok(MergeStep::Clean(built));
        }
        let placed = self
            .current
            .as_ref()
            .or(built.state.as_ref())
            .or(edit.as_ref())
            .or(base.as_ref());
        let Some(path) = placed.map(|p| p.path.clone()) else {
            return Ok(MergeStep::Clean(built));
        };
        let conflict = |reason: &str, hunks| Conflict {
            path: path.clone(),
            reason: reason.into(),
            hunks,
            resolution: None,
        };
        match (&built.state, base, edit) {
            (None, None, Some(_)) => Ok(MergeStep::Clean(Draft {
                state: edit.clone(),
                bytes: None,
            })),
            (_, _, None) if built.state.is_none() => Ok(MergeStep::Clean(built)),
            (Some(_), _, None) => {
                let c = conflict(
                    "putting its deletion back would lose later edits",
                    Vec::new(),
                );
                Ok(self.choose(
                    c,
                    built,
                    Draft {
                        state: None,
                        bytes: None,
                    },
                    returning,
                ))
            }
            (None, Some(_), Some(_)) => {
                let c = conflict(
                    "the file would be deleted, but a later edit of it stays",
                    Vec::new(),
                );
                Ok(self.choose(
                    c,
                    built,
                    Draft {
                        state: edit.clone(),
                        bytes: None,
                    },
                    returning,
                ))
            }
            (Some(ours), base, Some(theirs)) => {
                let origin = base.as_ref();
                let path = match origin {
                    Some(base) if theirs.path == base.path => ours.path.clone(),
                    Some(base) if ours.path == base.path => theirs.path.clone(),
                    _ if ours.path == theirs.path => ours.path.clone(),
                    _ => {
                        let c = conflict("both sides renamed it, to different paths", Vec::new());
                        let other = Draft {
                            state: edit.clone(),
                            bytes: None,
                        };
                        return Ok(self.choose(c, built, other, returning));
                    }
                };
                let base_image = origin.map_or(Image::Absent, |b| b.image);
                let place = |image| {
                    Some(Placed {
                        path: path.clone(),
                        image,
                    })
                };
                if theirs.image == base_image {
                    return Ok(MergeStep::Clean(Draft {
                        state: place(ours.image),
                        bytes: built.bytes,
                    }));
                }
                if ours.image == base_image || ours.image == theirs.image {
                    return Ok(MergeStep::Clean(Draft {
                        state: place(theirs.image),
                        bytes: None,
                    }));
                }
                let (
                    Image::File { mode: our_mode, .. },
                    Image::File {
                        mode: their_mode, ..
                    },
                ) = (ours.image, theirs.image)
                else {
                    let c = conflict("both sides changed its type or its link target", Vec::new());
                    let other = Draft {
                        state: edit.clone(),
                        bytes: None,
                    };
                    return Ok(self.choose(c, built, other, returning));
                };
                if [base_image, ours.image, theirs.image]
                    .iter()
                    .any(Image::is_too_long)
                {
                    let other = Draft {
                        state: edit.clone(),
                        bytes: None,
                    };
                    return Ok(self.choose(
                        conflict(TOO_LONG, Vec::new()),
                        built,
                        other,
                        returning,
                    ));
                }
                let base_mode = match base_image {
                    Image::File { mode, .. } => mode,
                    _ => our_mode,
                };
                let base_bytes = match base_image.content() {
                    Some(content) if matches!(base_image, Image::File { .. }) => {
                        self.store.content(&content)?
                    }
                    _ => Vec::new(),
                };
                let our_bytes = self.bytes(&built)?;
                let their_bytes = self.bytes(&Draft {
                    state: edit.clone(),
                    bytes: None,
                })?;
                let target = format!("target ({})", self.target);
                let (ours_label, theirs_label) = if returning {
                    ("kept", target.as_str())
                } else {
                    (target.as_str(), "kept")
                };
                let favor = match (self.on_conflict, returning) {
                    (OnConflict::Markers, _) => Favor::Markers {
                        ours: ours_label,
                        theirs: theirs_label,
                    },
                    (OnConflict::Current, false) | (OnConflict::Target, true) => Favor::Theirs,
                    _ => Favor::Ours,
                };
                let merge = merge3(&base_bytes, &our_bytes, &their_bytes, favor);
                let mode = three_way(base_mode, our_mode, their_mode);
                let take_theirs = matches!(favor, Favor::Theirs);
                let image = Image::File {
                    mode: mode.unwrap_or(if take_theirs { their_mode } else { our_mode }),
                    content: ContentId::of(&merge.bytes),
                    size: merge.bytes.len() as u64,
                };
                let next = Draft {
                    state: place(image),
                    bytes: Some(merge.bytes),
                };
                if merge.conflicts.is_empty() && mode.is_some() {
                    return Ok(MergeStep::Clean(next));
                }
                let reason = match merge.conflicts.first().map(|c| c.kind) {
                    _ if origin.is_none() => "both sides created it, with different content",
                    None => "both sides changed its mode",
                    Some(kind) => describe(kind),
                };
                let hunks = merge
                    .conflicts
                    .iter()
                    .map(|c| {
                        let (ours, theirs) =
                            ((c.ours.start, c.ours.end), (c.theirs.start, c.theirs.end));
                        let (target, kept) = if returning {
                            (theirs, ours)
                        } else {
                            (ours, theirs)
                        };
                        ConflictSpan { target, kept }
                    })
                    .collect();
                let conflict = conflict(reason, hunks);
                // a binary file cannot hold markers, and no side may be dropped instead
                let binary = merge
                    .conflicts
                    .iter()
                    .any(|c| c.kind == ConflictKind::Binary);
                if binary && self.on_conflict == OnConflict::Markers {
                    return Ok(MergeStep::Unresolvable(conflict));
                }
                Ok(MergeStep::Conflict(next, conflict))
            }
            _ => Ok(MergeStep::Clean(built)),
        }
    }

    /// Resolves a conflict without lines: takes one side as a whole.
    fn choose(&self, conflict: Conflict, built: Draft, edit: Draft, returning: bool) -> MergeStep {
        match self.on_conflict {
            OnConflict::Target => {
                MergeStep::Conflict(if returning { edit } else { built }, conflict)
            }
            OnConflict::Fail | OnConflict::Markers | OnConflict::Current => {
                MergeStep::Unresolvable(conflict)
            }
        }
    }

    /// Checks a merge before it is offered. No line written only by edits that are taken out may remain, and no
    /// current line written only by edits that stay may be lost.
    fn check(&self, wanted: &[Change], built: &Draft) -> Result<Option<Conflict>> {
        let (Some(result), Some(_)) = (&built.state, self.current) else {
            return Ok(None);
        };
        let state_is_long = |state: &FileVersion| {
            let image = state.as_ref().map(|placed| placed.image);
            image.is_some_and(|image| image.is_too_long())
        };
        if built.bytes.is_none() && (state_is_long(&built.state) || state_is_long(self.current)) {
            // nothing was merged: the result is a recorded state
            return Ok(None);
        }
        if let Some(long) = [&built.state, self.current]
            .into_iter()
            .flatten()
            .find(|placed| placed.image.is_too_long())
        {
            return Ok(Some(Conflict {
                path: long.path.clone(),
                reason: TOO_LONG.into(),
                hunks: Vec::new(),
                resolution: None,
            }));
        }
        let result_bytes = self.bytes(built)?;
        let current_bytes = self.bytes(&Draft {
            state: self.current.clone(),
            bytes: None,
        })?;
        let after = LineBag::of(&result_bytes);
        let present = LineBag::of(&current_bytes);
        let state_bytes = |state: &FileVersion| {
            if state_is_long(state) {
                return Ok(Vec::new());
            }
            self.bytes(&Draft {
                state: state.clone(),
                bytes: None,
            })
        };
        let start =
            state_bytes(&history::version(&self.store.conn, self.file, SetHash::EMPTY)?.flatten())?;
        let mut kept_lines = LineBag::of(&start).owned();
        let mut taken_out_lines: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut removed_lines: BTreeSet<Vec<u8>> = BTreeSet::new();
        let taken_out: Vec<Change> = self
            .now
            .difference(self.wanted)
            .map(|id| history::change(&self.store.conn, *id))
            .collect::<Result<_>>()?;
        for (change, kept) in wanted
            .iter()
            .map(|c| (c, true))
            .chain(taken_out.iter().map(|c| (c, false)))
        {
            let (before, edited) = (state_bytes(&change.before)?, state_bytes(&change.after)?);
            let (before, edited) = (LineBag::of(&before), LineBag::of(&edited));
            for (line, count) in &edited.0 {
                if *count > before.count(line) {
                    if kept {
                        kept_lines.insert(line.to_vec())
                    } else {
                        taken_out_lines.insert(line.to_vec())
                    };
                }
            }
            // an edit taken out returns the lines it removed; an edit that stays keeps them removed
            if kept {
                for (line, count) in &before.0 {
                    if *count > edited.count(line) {
                        removed_lines.insert(line.to_vec());
                    }
                }
            }
        }
        let remains = after
            .0
            .keys()
            .find(|l| taken_out_lines.contains(**l) && !kept_lines.contains(**l));
        let lost = present.0.keys().find(|l| {
            after.count(l) == 0
                && kept_lines.contains(**l)
                && !taken_out_lines.contains(**l)
                && !removed_lines.contains(**l)
        });
        let path = result.path.clone();
        let excerpt = |line: &[u8]| {
            String::from_utf8_lossy(line)
                .trim()
                .chars()
                .take(60)
                .collect::<String>()
        };
        Ok(match (remains, lost) {
            (Some(line), _) => Some(Conflict {
                path,
                reason: format!(
                    "an edit that stays still contains a line that is taken out: “{}”",
                    excerpt(line)
                ),
                hunks: Vec::new(),
                resolution: None,
            }),
            (None, Some(line)) => Some(Conflict {
                path,
                reason: format!("a line that must stay would be lost: “{}”", excerpt(line)),
                hunks: Vec::new(),
                resolution: None,
            }),
            (None, None) => None,
        })
    }
}

/// Number of occurrences of each line that contains a letter or digit.
struct LineBag<'a>(BTreeMap<&'a [u8], usize>);

impl<'a> LineBag<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let mut counts = BTreeMap::new();
        for line in bytes.split(|b| *b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.iter().any(u8::is_ascii_alphanumeric) {
                *counts.entry(line).or_insert(0) += 1;
            }
        }
        Self(counts)
    }

    fn count(&self, line: &[u8]) -> usize {
        self.0.get(line).copied().unwrap_or(0)
    }

    fn owned(&self) -> BTreeSet<Vec<u8>> {
        self.0.keys().map(|l| l.to_vec()).collect()
    }
}

fn three_way(base: u32, ours: u32, theirs: u32) -> Option<u32> {
    if theirs == base || ours == theirs {
        Some(ours)
    } else if ours == base {
        Some(theirs)
    } else {
        None
    }
}

fn opaque(state: &FileVersion) -> Option<Opaque> {
    match state.as_ref()?.image {
        Image::Opaque(why) => Some(why),
        _ => None,
    }
}
