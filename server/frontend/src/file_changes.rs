//! A changed file with both its contents, for diffs on the command line and in editors. Reads contents through the
//! engine, which also computes the diffs.

use std::ops::Range;

use backstitch_core::diff::{self, CONTEXT, FileDiff, Side};
use backstitch_core::model::{ContentId, FileVersion, Image, Opaque, Placed, RelPath};
use backstitch_core::restore::{Action, Plan};
use backstitch_core::{Delta, Engine, KeptBase, KeptSince, Result};
use backstitch_protocol::{ChangedFile, Hunk, NotKept, Text};

use crate::render::{self, PathChange};
use crate::to_protocol::{self, text};

/// A changed file with both contents in memory.
#[derive(Debug)]
pub struct FileChange {
    old: LoadedImage,
    new: LoadedImage,
    pub what: PathChange,
    pub path: Vec<u8>,
    pub from: Option<Vec<u8>>,
    /// Reason why a content was not captured.
    pub opaque: Option<Opaque>,
    /// True if a side is too large for a diff by lines. Neither side is in memory then.
    pub too_long: bool,
}

type LoadedImage = Option<(Vec<u8>, u32, Vec<u8>)>;

impl FileChange {
    pub fn load(engine: &Engine, delta: &Delta) -> Result<Self> {
        Self::read(delta, |id| engine.content(id))
    }

    /// The change that a plan makes to a file, as it will be recorded.
    pub fn planned(engine: &Engine, plan: &Plan, action: &Action) -> Result<Self> {
        let state = |path: &RelPath, image: Image| {
            let path = path.clone();
            (!image.is_absent()).then_some(Placed { path, image })
        };
        let from = action.from.as_ref().unwrap_or(&action.path);
        let delta = Delta {
            old: state(from, action.before),
            new: state(&action.path, action.after),
        };
        Self::read(&delta, |id| engine.restore().text_of(plan, id))
    }

    /// The change that a plan makes to a file, as the user sees it: an open document's text, saved or not, is the old
    /// side.
    pub fn planned_in_editor(engine: &Engine, plan: &Plan, action: &Action) -> Result<Self> {
        let mut changed = Self::planned(engine, plan, action)?;
        if let Some(edit) = plan.edits.iter().find(|edit| edit.path == action.path) {
            let sides = [(&mut changed.old, edit.from), (&mut changed.new, edit.to)];
            for (side, text) in sides {
                if let Some((_, _, bytes)) = side {
                    *bytes = engine.restore().text_of(plan, &text)?;
                }
            }
        }
        Ok(changed)
    }

    fn read(delta: &Delta, content: impl Fn(&ContentId) -> Result<Vec<u8>>) -> Result<Self> {
        let (path, from) = render::place(&delta.old, &delta.new);
        let too_long = [&delta.old, &delta.new]
            .into_iter()
            .flatten()
            .any(|placed| placed.image.is_too_long());
        let side = |state: &FileVersion| match state {
            Some(_) if too_long => Ok(None),
            state => side(state, &content),
        };
        let image = |state: &FileVersion| state.as_ref().and_then(|p| render::opaque(&p.image));
        Ok(Self {
            old: side(&delta.old)?,
            new: side(&delta.new)?,
            what: PathChange::of(&delta.old, &delta.new),
            path: path.to_vec(),
            from: from.map(<[u8]>::to_vec),
            opaque: image(&delta.old).or_else(|| image(&delta.new)),
            too_long,
        })
    }

    /// Replaces the new side by another text, such as an unsaved one. Returns false if nothing differs then.
    pub fn set_text(&mut self, text: Vec<u8>) -> bool {
        if self.too_long {
            return true;
        }
        if let Some((_, _, bytes)) = &mut self.new {
            *bytes = text;
        } else {
            let mode = self.old.as_ref().map_or(0o100_644, |(_, mode, _)| *mode);
            self.new = Some((self.path.clone(), mode, text));
            self.what = if self.old.is_some() {
                PathChange::Modify
            } else {
                PathChange::Create
            };
        }
        self.old != self.new
    }

    fn with<T>(&self, f: impl FnOnce(&FileDiff) -> T) -> T {
        f(&FileDiff {
            old: borrow(&self.old),
            new: borrow(&self.new),
        })
    }

    pub fn counts(&self) -> (usize, usize) {
        if self.is_binary() {
            (0, 0)
        } else {
            self.with(diff::line_counts)
        }
    }

    pub fn is_binary(&self) -> bool {
        self.opaque.is_some() || self.too_long || self.with(diff::is_binary)
    }

    pub fn patch(&self) -> Vec<u8> {
        if self.too_long {
            return self.too_long_line();
        }
        self.with(|d| diff::patch(d, CONTEXT))
    }

    /// Returns the one line that stands in place of a patch.
    fn too_long_line(&self) -> Vec<u8> {
        format!("# {} is too large to be compared by lines\n", self.name()).into_bytes()
    }

    pub fn words(&self) -> Vec<u8> {
        if self.too_long {
            return self.too_long_line();
        }
        self.with(diff::word_diff)
    }

    /// Returns both sides if they are text and together at most `longest` bytes.
    pub fn texts(&self, longest: usize) -> Option<[Option<String>; 2]> {
        let sides = [&self.old, &self.new];
        let length = |side: &&LoadedImage| side.as_ref().map_or(0, |(_, _, bytes)| bytes.len());
        if self.is_binary() || sides.iter().map(length).sum::<usize>() > longest {
            return None;
        }
        let text = |side: &LoadedImage| match side {
            None => Some(None),
            Some((_, _, bytes)) => std::str::from_utf8(bytes).ok().map(|t| Some(t.to_owned())),
        };
        Some([text(sides[0])?, text(sides[1])?])
    }

    /// Returns the old content; empty if there was no file.
    pub fn old_text(&self) -> &[u8] {
        self.old.as_ref().map_or(&[], |(_, _, bytes)| bytes)
    }

    /// Returns the ids of the hunks at these lines of the old side. A hunk that only adds lines is at its insertion
    /// point.
    pub fn hunks_at(&self, lines: &Range<usize>) -> Vec<String> {
        let is_there = |hunk: &diff::Hunk| {
            let old = &hunk.old;
            if old.is_empty() {
                lines.start <= old.start && old.start <= lines.end
            } else {
                old.start < lines.end && lines.start < old.end
            }
        };
        let hunks = self.with(diff::hunks).into_iter();
        hunks.filter(is_there).map(|hunk| hunk.id).collect()
    }

    /// Returns the path, with the previous one if it was renamed.
    pub fn name(&self) -> String {
        name(&self.path, self.from.as_deref())
    }

    /// Returns the file as the protocol has it, without the words that differ.
    pub fn shape(&self) -> ChangedFile {
        let (added, removed) = self.counts();
        let binary = self.is_binary();
        ChangedFile {
            path: text(&self.path),
            kind: to_protocol::change_kind(self.what),
            added,
            removed,
            binary,
            hunks: if binary { Vec::new() } else { self.hunks() },
            from: self.from.as_deref().map(text),
            not_kept: self.opaque.map(|why| match why {
                Opaque::TooLarge => NotKept::TooLarge,
                Opaque::Unreadable => NotKept::Unreadable,
                Opaque::Special => NotKept::Special,
            }),
            shown: None,
            kept: false,
        }
    }

    /// True if this is the change that a comparison has found.
    pub fn is_of(&self, kept: &KeptSince) -> bool {
        let is_at = |state: &FileVersion, path: &[u8]| {
            let placed = state.as_ref();
            placed.is_some_and(|placed| placed.path.bytes() == path)
        };
        is_at(&kept.now, &self.path) || (kept.now.is_none() && is_at(&kept.then, &self.path))
    }

    /// Marks the changes of `shape` that the user has kept: those without a difference from the base of the comparison.
    pub fn mark_kept(&self, base: &KeptBase, shape: &mut ChangedFile) {
        let left = match (&base.text, &self.new) {
            (Some(text), Some((path, mode, bytes))) => {
                let side = |bytes| {
                    Some(Side {
                        path,
                        mode: *mode,
                        bytes,
                    })
                };
                diff::hunks(&FileDiff {
                    old: side(text),
                    new: side(bytes),
                })
            }
            _ => Vec::new(),
        };
        let has_lines = base.text.is_some() && self.new.is_some();
        for hunk in &mut shape.hunks {
            let lines = hunk.new.0 - 1..hunk.new.0 - 1 + hunk.new.1;
            let touches = |left: &diff::Hunk| {
                if left.new.is_empty() || lines.is_empty() {
                    left.new.start <= lines.end && lines.start <= left.new.end
                } else {
                    left.new.start < lines.end && lines.start < left.new.end
                }
            };
            hunk.kept = if has_lines {
                !left.iter().any(touches)
            } else {
                base.is_current
            };
        }
        let is_moved = !matches!(self.what, PathChange::Create | PathChange::Modify);
        shape.kept = if shape.hunks.is_empty() {
            base.is_current
        } else {
            shape.hunks.iter().all(|h| h.kept) && (base.is_current || !is_moved)
        };
    }

    fn hunks(&self) -> Vec<Hunk> {
        let (old, new) = (lines(&self.old), lines(&self.new));
        let texts = |lines: &[&[u8]], range: &Range<usize>| -> Vec<Text> {
            let part = lines.get(range.clone()).unwrap_or_default();
            part.iter().map(|line| text(line)).collect()
        };
        let is_unended = |side: &LoadedImage, lines: &[&[u8]], range: &Range<usize>| {
            let ends = side
                .as_ref()
                .is_none_or(|(_, _, bytes)| bytes.ends_with(b"\n"));
            !ends && !range.is_empty() && range.end == lines.len()
        };
        let hunk = |hunk: diff::Hunk| Hunk {
            id: hunk.id,
            removed_no_newline: is_unended(&self.old, &old, &hunk.old),
            added_no_newline: is_unended(&self.new, &new, &hunk.new),
            old: (hunk.old.start + 1, hunk.old.len()),
            new: (hunk.new.start + 1, hunk.new.len()),
            removed: texts(&old, &hunk.old),
            added: texts(&new, &hunk.new),
            words: None,
            kept: false,
        };
        self.with(diff::hunks).into_iter().map(hunk).collect()
    }
}

fn borrow(side: &LoadedImage) -> Option<Side<'_>> {
    side.as_ref().map(|(path, mode, bytes)| Side {
        path,
        mode: *mode,
        bytes,
    })
}

fn side(
    state: &FileVersion,
    content: impl Fn(&ContentId) -> Result<Vec<u8>>,
) -> Result<LoadedImage> {
    let Some(placed) = state else { return Ok(None) };
    let (Some(id), Some(mode)) = (placed.image.content(), placed.image.git_mode()) else {
        return Ok(None);
    };
    Ok(Some((placed.path.bytes().to_vec(), mode, content(&id)?)))
}

fn lines(side: &LoadedImage) -> Vec<&[u8]> {
    let Some((_, _, bytes)) = side else {
        return Vec::new();
    };
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .collect()
}

/// Returns `path`, or `old → new`.
pub fn name(path: &[u8], from: Option<&[u8]>) -> String {
    match from {
        Some(from) => format!("{} → {}", render::path(from), render::path(path)),
        None => render::path(path),
    }
}

/// Difference between two images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    Lines(usize, usize),
    Binary,
    /// A content cannot be read: it was not captured, or not yet.
    Unknown,
}

/// Returns git's letter for the change that a plan makes to a file, and its lines.
pub fn difference(engine: &Engine, plan: &Plan, action: &Action) -> (Option<char>, Difference) {
    let Ok(changed) = FileChange::planned(engine, plan, action) else {
        return (None, Difference::Unknown);
    };
    let lines = if changed.opaque.is_some() {
        Difference::Unknown
    } else if changed.is_binary() {
        Difference::Binary
    } else {
        let (added, removed) = changed.counts();
        Difference::Lines(added, removed)
    };
    (Some(changed.what.letter()), lines)
}
