//! Conflicts of a plan, their regions, and the ways to resolve them.

use serde::{Deserialize, Serialize};

use crate::model::RelPath;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnConflict {
    #[default]
    Fail,
    Markers,
    Current,
    Target,
}

impl OnConflict {
    pub const ALL: [Self; 4] = [Self::Fail, Self::Markers, Self::Current, Self::Target];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Markers => "markers",
            Self::Current => "current",
            Self::Target => "target",
        }
    }

    /// Resolution of a conflict under this choice. None: the conflict stays open.
    pub(in crate::restore) fn resolution(self) -> Option<Resolution> {
        match self {
            Self::Fail => None,
            Self::Markers => Some(Resolution::Markers),
            Self::Current => Some(Resolution::Current),
            Self::Target => Some(Resolution::Target),
        }
    }
}

/// Reason why a file cannot be restored without a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub path: RelPath,
    /// Description of the conflict for people.
    pub reason: String,
    pub hunks: Vec<ConflictSpan>,
    /// None: unresolved, and the plan is not applied.
    pub resolution: Option<Resolution>,
    /// True if the system does not let the file be replaced: it can only be left as it is.
    pub is_fixed: bool,
}

impl Conflict {
    /// Takes in another conflict of the same file. Regions that overlap or touch on the kept side become one.
    fn join(&mut self, other: &mut Self) {
        if !self.reason.split("; ").any(|reason| reason == other.reason) {
            self.reason = format!("{}; {}", self.reason, other.reason);
        }
        for hunk in other.hunks.drain(..) {
            let touches =
                |own: &&mut ConflictSpan| own.kept.0 <= hunk.kept.1 && hunk.kept.0 <= own.kept.1;
            match self.hunks.iter_mut().find(touches) {
                Some(own) => {
                    let union = |a: (usize, usize), b: (usize, usize)| (a.0.min(b.0), a.1.max(b.1));
                    own.kept = union(own.kept, hunk.kept);
                    own.target = union(own.target, hunk.target);
                }
                None => self.hunks.push(hunk),
            }
        }
        self.hunks.sort_by_key(|hunk| hunk.kept);
        self.is_fixed |= other.is_fixed;
        // one that is open keeps the file open; a file that is left alone has nothing of the others
        self.resolution = match (self.resolution, other.resolution) {
            (None, _) | (_, None) => None,
            (Some(Resolution::Left), _) | (_, Some(Resolution::Left)) => Some(Resolution::Left),
            (own, _) => own,
        };
    }
}

/// Resolution of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Write both sides into the file, between conflict markers.
    Markers,
    /// Keep the current lines where the sides conflict.
    Current,
    /// Use the target's lines where the sides conflict.
    Target,
    /// Leave the whole file as it is.
    Left,
}

impl Resolution {
    pub fn name(self) -> &'static str {
        match self {
            Self::Markers => "markers",
            Self::Current => "current",
            Self::Target => "target",
            Self::Left => "left",
        }
    }
}

/// 0-based line ranges (start, end) of one conflicting region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConflictSpan {
    /// Range in the target's state.
    pub target: (usize, usize),
    /// Range in the state made by the edit that stays.
    pub kept: (usize, usize),
}

/// Sorts the conflicts by path and joins those of one file. A file is decided as a whole, and several edits that conflict
/// with the same lines are one place for the user.
pub(in crate::restore) fn one_per_file(conflicts: &mut Vec<Conflict>) {
    conflicts.sort_by(|a, b| a.path.cmp(&b.path));
    conflicts.dedup_by(|next, first| {
        let is_same = next.path == first.path;
        if is_same {
            first.join(next);
        }
        is_same
    });
}
