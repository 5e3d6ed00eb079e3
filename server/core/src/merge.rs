//! Three-way merge of one file's content. Knows no paths, modes or history.
//!
//! Edits that merely touch are no conflict: a user's line directly below an agent's block is the
//! everyday case. Line endings and the final newline merge apart from the lines.

mod conflict;
mod region;
mod sides;
#[cfg(test)]
mod tests;
mod text;

use std::collections::HashMap;

use crate::content::is_text;
use crate::diff::{Interner, changes, lines};
use region::{Region, Take, regions};
use sides::Sides;
use text::{Ending, Property, UniformText, three_way};

pub use conflict::{ConflictHunk, ConflictKind};

/// Result where both sides changed the same region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Favor<'a> {
    Ours,
    Theirs,
    /// Both, between conflict markers with these labels. Binary content, line endings and the final
    /// newline stay ours.
    Markers {
        ours: &'a str,
        theirs: &'a str,
    },
}

/// The merged content; clean if `conflicts` is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    pub bytes: Vec<u8>,
    /// In the order of the base's lines, then those of the whole text.
    pub conflicts: Vec<ConflictHunk>,
}

impl Merge {
    fn clean(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            conflicts: Vec::new(),
        }
    }
}

/// Merges the changes of `ours` and `theirs` since `base`.
///
/// `favor` only decides the bytes of conflicts. The rest and the list of conflicts are the same for
/// every value.
pub fn merge3(base: &[u8], ours: &[u8], theirs: &[u8], favor: Favor<'_>) -> Merge {
    if ours == theirs || base == theirs {
        return Merge::clean(ours);
    }
    if base == ours {
        return Merge::clean(theirs);
    }
    let all = [base, ours, theirs];
    if !all.iter().all(|bytes| is_text(bytes)) {
        return Merge {
            bytes: match favor {
                Favor::Theirs => theirs.to_vec(),
                Favor::Ours | Favor::Markers { .. } => ours.to_vec(),
            },
            conflicts: vec![ConflictHunk {
                base: 0..lines(base).len(),
                ours: 0..lines(ours).len(),
                theirs: 0..lines(theirs).len(),
                kind: ConflictKind::Binary,
            }],
        };
    }
    if let [Some(base), Some(ours), Some(theirs)] = all.map(UniformText::unmixed) {
        return merge_unmixed(&base, &ours, &theirs, favor);
    }
    let merged = merge_lines(&lines(base), &lines(ours), &lines(theirs), favor);
    Merge {
        bytes: join_mixed(&merged.lines),
        conflicts: merged.conflicts,
    }
}

fn merge_unmixed(
    base: &UniformText,
    ours: &UniformText,
    theirs: &UniformText,
    favor: Favor,
) -> Merge {
    let merged = merge_lines(&base.lines, &ours.lines, &theirs.lines, favor);
    let mut conflicts = merged.conflicts;
    let [base_len, ours_len, theirs_len] = [base, ours, theirs].map(|text| text.lines.len());

    let ending = match three_way(base.ending, ours.ending, theirs.ending) {
        Property::Agreed(ending) => ending.unwrap_or(Ending::Lf),
        Property::Differing { ours, theirs } => {
            conflicts.push(ConflictHunk {
                base: 0..base_len,
                ours: 0..ours_len,
                theirs: 0..theirs_len,
                kind: ConflictKind::LineEndings,
            });
            by_favor(favor, ours, theirs)
        }
    };
    let final_newline =
        match three_way(base.final_newline, ours.final_newline, theirs.final_newline) {
            Property::Agreed(newline) => newline.unwrap_or(true),
            Property::Differing { ours, theirs } => {
                conflicts.push(ConflictHunk {
                    base: base_len.saturating_sub(1)..base_len,
                    ours: ours_len.saturating_sub(1)..ours_len,
                    theirs: theirs_len.saturating_sub(1)..theirs_len,
                    kind: ConflictKind::FinalNewline,
                });
                by_favor(favor, ours, theirs)
            }
        };

    let mut bytes = Vec::new();
    let count = merged.lines.len();
    for (at, line) in merged.lines.iter().enumerate() {
        bytes.extend_from_slice(line.bytes());
        // an empty line consists only of its terminator, and a marker is always a whole line
        let needs_terminator = line.bytes().is_empty() || matches!(line, MergedLine::Marker(_));
        if at + 1 < count || final_newline || needs_terminator {
            bytes.extend_from_slice(ending.bytes());
        }
    }
    Merge { bytes, conflicts }
}

fn by_favor<T>(favor: Favor, ours: T, theirs: T) -> T {
    match favor {
        Favor::Theirs => theirs,
        Favor::Ours | Favor::Markers { .. } => ours,
    }
}

/// Joins lines with their own terminators. A line without one is never joined to the next.
fn join_mixed(lines: &[MergedLine]) -> Vec<u8> {
    let first = lines
        .iter()
        .find_map(|line| terminator(line.bytes()))
        .unwrap_or(b"\n");
    let mut bytes = Vec::new();
    let mut latest = first;
    for (at, line) in lines.iter().enumerate() {
        bytes.extend_from_slice(line.bytes());
        match terminator(line.bytes()) {
            Some(own) => latest = own,
            None if at + 1 < lines.len() || matches!(line, MergedLine::Marker(_)) => {
                bytes.extend_from_slice(latest);
            }
            None => {}
        }
    }
    bytes
}

fn terminator(line: &[u8]) -> Option<&'static [u8]> {
    if line.ends_with(b"\r\n") {
        Some(b"\r\n")
    } else if line.ends_with(b"\n") {
        Some(b"\n")
    } else {
        None
    }
}

enum MergedLine<'t> {
    Text(&'t [u8]),
    Marker(String),
}

impl MergedLine<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(bytes) => bytes,
            Self::Marker(text) => text.as_bytes(),
        }
    }
}

struct MergedLines<'t> {
    lines: Vec<MergedLine<'t>>,
    conflicts: Vec<ConflictHunk>,
}

fn merge_lines<'t>(
    base: &[&'t [u8]],
    ours: &[&'t [u8]],
    theirs: &[&'t [u8]],
    favor: Favor,
) -> MergedLines<'t> {
    let mut interner = Interner::default();
    let sides = Sides {
        base: interner.intern(base),
        ours: interner.intern(ours),
        theirs: interner.intern(theirs),
        interner,
    };
    let mut plan = regions(
        &sides,
        &changes(&sides.base, &sides.ours),
        &changes(&sides.base, &sides.theirs),
    );
    find_moves(&sides, &mut plan);

    let mut out = Vec::with_capacity(ours.len().max(theirs.len()));
    let text = |id: &u32| MergedLine::Text(sides.interner.get(*id));
    let mut at = 0;
    for region in &plan {
        out.extend(sides.base[at..region.base.start].iter().map(text));
        at = region.base.end;
        let ours = sides.ours[region.ours.clone()].iter().map(text);
        let theirs = sides.theirs[region.theirs.clone()].iter().map(text);
        match (region.take, favor) {
            (Take::Ours | Take::Both, _) | (Take::Conflict(_), Favor::Ours) => out.extend(ours),
            (Take::Theirs, _) | (Take::Conflict(_), Favor::Theirs) => out.extend(theirs),
            (
                Take::Conflict(_),
                Favor::Markers {
                    ours: our_label,
                    theirs: their_label,
                },
            ) => {
                out.push(MergedLine::Marker(format!("<<<<<<< {our_label}")));
                out.extend(ours);
                out.push(MergedLine::Marker("=======".to_owned()));
                out.extend(theirs);
                out.push(MergedLine::Marker(format!(">>>>>>> {their_label}")));
            }
        }
    }
    out.extend(sides.base[at..].iter().map(text));

    let conflicts = plan.iter().filter_map(Region::conflict).collect();
    MergedLines {
        lines: out,
        conflicts,
    }
}

/// Occurrences of a line in each text.
#[derive(Clone, Copy, Default)]
struct Occurrences {
    base: usize,
    ours: usize,
    theirs: usize,
    result: usize,
}

/// Turns insertions into conflicts if they restore or duplicate a line that both sides removed.
///
/// One side removed the line, the other moved it. Line by line both deletions are the same edit and
/// the insertion is clean. But the result would contain a line whose removal was intended.
fn find_moves(sides: &Sides, plan: &mut [Region]) {
    if plan.iter().any(|region| region.conflict().is_some()) {
        return;
    }
    let mut counts: HashMap<u32, Occurrences> = plan
        .iter()
        .filter(|region| region.take == Take::Both)
        .flat_map(|region| &sides.base[region.base.clone()])
        .filter(|&&id| sides.is_distinctive(id))
        .map(|&id| (id, Occurrences::default()))
        .collect();
    if counts.is_empty() {
        return;
    }

    let mut count = |ids: &[u32], add: fn(&mut Occurrences)| {
        for id in ids {
            if let Some(counts) = counts.get_mut(id) {
                add(counts);
            }
        }
    };
    count(&sides.base, |counts| counts.base += 1);
    count(&sides.ours, |counts| counts.ours += 1);
    count(&sides.theirs, |counts| counts.theirs += 1);
    let mut at = 0;
    for region in &*plan {
        count(&sides.base[at..region.base.start], |c| c.result += 1);
        count(region.taken(sides), |counts| counts.result += 1);
        at = region.base.end;
    }
    count(&sides.base[at..], |counts| counts.result += 1);

    for region in plan {
        let unexplained = |counts: &Occurrences| match region.take {
            Take::Theirs => counts.result > counts.ours + counts.theirs.saturating_sub(counts.base),
            Take::Ours => counts.result > counts.theirs + counts.ours.saturating_sub(counts.base),
            Take::Both | Take::Conflict(_) => false,
        };
        let moved_here = region
            .taken(sides)
            .iter()
            .any(|id| counts.get(id).is_some_and(unexplained));
        if moved_here {
            region.take = Take::Conflict(ConflictKind::Moved);
        }
    }
}
