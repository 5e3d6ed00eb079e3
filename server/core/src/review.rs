//! Review: the work of agents that the user has not looked at yet. Owns the reviewed state of each file; `replay` moves
//! it, `carry` is the pure part for texts, `since` answers comparisons, the table `reviewed` holds what the user accepted.
//!
//! A file starts as reviewed in the state before its first recorded change. The user's own changes and rewinds move the
//! reviewed state on, changes of agents do not. The difference between it and the current state is left to review. A
//! file is followed by its identity, so the review survives renames; a branch inherits the reviews before its fork point.
//!
//! A review may also start at a checkpoint: then all changes since, by any author, are left until the user keeps them.

mod authors;
mod carry;
mod replay;
mod since;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::ops::Range;

use crate::compare::Delta;
use crate::diff::LineChange;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::history::Ancestry;
use crate::model::{ChangeId, ContentId, FileId, FileVersion, NodeId, Placed, RelPath};
use crate::store::tables::changed_files;
use crate::store::tables::reviewed::{self, KeptLines, NewReviewed, ReviewedRow};
use crate::store::{self, Durable};
use replay::{FollowedFile, Reviewed};
pub use since::{KeptBase, KeptSince};

/// The files, or the lines of one file, to review.
#[derive(Clone, Debug, Default)]
pub struct ReviewSelection {
    /// Files and directories; empty: everything.
    pub paths: Vec<RelPath>,
    /// Lines of the shown text, from 0. Only hunks at these lines count.
    pub lines: Option<Range<usize>>,
    /// The document that the lines belong to, instead of the shown text.
    pub document: Option<ReviewDocument>,
    /// Compare with this checkpoint. All changes since count, by any author.
    pub since: Option<NodeId>,
    /// The state that was shown, instead of the current one.
    pub shown: Option<ShownState>,
}

/// A text in an editor.
#[derive(Clone, Debug)]
pub struct ReviewDocument {
    pub text: Vec<u8>,
    /// The content of the file that it was made from. The file may have changed since.
    pub base: Option<ContentId>,
}

/// Names the state of a file that a list has shown: its newest change then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownState(pub ChangeId);

/// A file with work that is not reviewed.
#[derive(Clone, Debug)]
pub struct ReviewFile {
    /// From the reviewed state to the shown state. The content of the reviewed state may not be in the store.
    pub delta: Delta,
    /// The unreviewed hunks; none if a side is not a text.
    pub hunks: Vec<ReviewHunk>,
    /// True if a side is binary, too large, or was not captured.
    pub binary: bool,
    /// True if the lines are the same, and their ends differ.
    pub line_ends: bool,
    pub shown: ShownState,
}

#[derive(Clone, Debug)]
pub struct ReviewHunk {
    /// 0-based lines of the reviewed text.
    pub old: Range<usize>,
    /// 0-based lines of the current text.
    pub new: Range<usize>,
    /// The lines with their terminators.
    pub removed: Vec<Vec<u8>>,
    pub added: Vec<Vec<u8>>,
    /// None: unknown.
    pub author: Option<ReviewAuthor>,
}

/// The agent's turn that a hunk comes from; for several turns the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewAuthor {
    pub agent: String,
    /// The agent's own id of its session.
    pub session: String,
    /// Letter of the session.
    pub letter: String,
    /// The turn's number and prompt.
    pub turn: Option<(i64, String)>,
    pub node: NodeId,
}

/// A selected file: the state that it is compared with, and the state that is shown.
struct FileReview {
    file: FollowedFile,
    base: Reviewed,
    shown: ShownState,
    state: FileVersion,
}

/// The differences of a comparison.
enum Differences {
    /// The sides cannot be compared by lines.
    Whole,
    Lines {
        old: Vec<u8>,
        new: Vec<u8>,
        /// The selected hunks.
        hunks: Vec<LineChange>,
        /// True if the texts differ in nothing but line ends.
        line_ends: bool,
    },
}

/// A review to record: the accepted state, and its lines with their two texts.
struct NewReview {
    file: FileId,
    change: ChangeId,
    accepted: Reviewed,
    lines: Option<(Vec<u8>, Vec<u8>)>,
    /// The row that counts again when this one is undone.
    earlier: Option<i64>,
    /// A content of the file, against which texts are stored.
    near: Option<ContentId>,
}

/// The changes of agents that the user has not reviewed. `E` is `&Engine` for questions, `&mut Engine` for the rest.
#[derive(Clone, Copy, Debug)]
pub struct Reviews<E> {
    engine: E,
}

impl Engine {
    /// Review of the changes that agents made: questions.
    pub fn reviews(&self) -> Reviews<&Self> {
        Reviews { engine: self }
    }

    /// Review of the changes that agents made.
    pub fn reviews_mut(&mut self) -> Reviews<&mut Self> {
        Reviews { engine: self }
    }
}

impl Reviews<&mut Engine> {
    /// Returns the files with unreviewed work, by path. The disk is scanned first.
    pub fn review(&mut self, selection: &ReviewSelection) -> Result<Vec<ReviewFile>> {
        self.engine.capture_mut().record_changes()?;
        self.unreviewed(selection)
    }

    /// Marks the selected files or hunks as reviewed. Returns them as they were before.
    pub fn keep_reviewed(&mut self, selection: &ReviewSelection) -> Result<Vec<ReviewFile>> {
        self.engine.capture_mut().record_changes()?;
        let Some(head) = self.engine.history().head()? else {
            return Ok(Vec::new());
        };
        let mut kept = Vec::new();
        let mut reviews = Vec::new();
        for compared in self.compared(head, selection)? {
            let (file, shown) = (&compared.file, compared.shown.0);
            // a later state was kept meanwhile
            let is_late = file.reviews.last().is_some_and(|row| row.change > shown);
            let Some(differences) = self.differences(&compared, selection)? else {
                continue;
            };
            if is_late {
                continue;
            }
            let near = compared.state.as_ref().and_then(|p| p.image.content());
            let (accepted, lines) = match (&selection.lines, &differences) {
                (None, _) => (Reviewed::recorded(compared.state.clone()), None),
                (
                    Some(_),
                    Differences::Lines {
                        old, new, hunks, ..
                    },
                ) if !hunks.is_empty() => {
                    let accepted = self.accepted(&compared, new, hunks)?;
                    let without = carry::without(old, new, hunks);
                    (accepted, Some((without, new.clone())))
                }
                _ => continue,
            };
            reviews.push(NewReview {
                file: file.file,
                change: shown,
                accepted,
                lines,
                earlier: file.reviews.last().map(|row| row.id),
                near,
            });
            kept.push(self.listed(&compared, differences, head)?);
        }
        self.record_reviews(head, &reviews, &[])?;
        sort(&mut kept);
        Ok(kept)
    }

    /// Takes reviews back: the last one of each selected file; with `since` all later ones; with `lines` those of the hunks
    /// at these lines. Returns the selected files that are not reviewed after that.
    pub fn unkeep_reviewed(&mut self, selection: &ReviewSelection) -> Result<Vec<ReviewFile>> {
        self.engine.capture_mut().record_changes()?;
        let Some(head) = self.engine.history().head()? else {
            return Ok(Vec::new());
        };
        let (mut reviews, mut back) = (Vec::new(), Vec::new());
        for compared in self.compared(head, selection)? {
            let file = &compared.file;
            if selection.lines.is_some() {
                reviews.extend(self.without_lines(&compared, selection)?);
                continue;
            }
            let count = match selection.since {
                None => 1,
                Some(since) => {
                    let start = file.newest_at(since);
                    file.reviews_after(start, file.newest()).len()
                }
            };
            if count == 0 || file.reviews.is_empty() {
                continue;
            }
            let left = file.reviews.len().saturating_sub(count);
            let earlier = left.checked_sub(1).map(|at| file.reviews[at].clone());
            back.push((file.file, earlier));
        }
        self.record_reviews(head, &reviews, &back)?;
        self.unreviewed(selection)
    }
}

impl<E: Deref<Target = Engine>> Reviews<E> {
    /// Records reviews, and those that count again.
    fn record_reviews(
        &self,
        head: NodeId,
        reviews: &[NewReview],
        back: &[(FileId, Option<ReviewedRow>)],
    ) -> Result<()> {
        if reviews.is_empty() && back.is_empty() {
            return Ok(());
        }
        let (branch, dir) = (self.engine.here.branch, &self.engine.store.dir);
        self.engine.store.write(Durable::Process, |conn| {
            for review in reviews {
                let put = |text: &[u8]| store::put(conn, dir, text, review.near);
                if let Some(text) = &review.accepted.text {
                    put(text)?;
                }
                let lines = match &review.lines {
                    None => None,
                    Some((from, to)) => Some(KeptLines {
                        from: put(from)?,
                        to: put(to)?,
                    }),
                };
                reviewed::insert(
                    conn,
                    &NewReviewed {
                        file: review.file,
                        branch,
                        node: head,
                        change: review.change,
                        state: &review.accepted.state,
                        earlier: review.earlier,
                        lines,
                    },
                )?;
            }
            for (file, earlier) in back {
                let row = earlier.as_ref();
                reviewed::insert(
                    conn,
                    &NewReviewed {
                        file: *file,
                        branch,
                        node: head,
                        change: row.map_or(ChangeId(0), |row| row.change),
                        state: row.map_or(&None, |row| &row.state),
                        earlier: row.and_then(|row| row.earlier),
                        lines: row.and_then(|row| row.lines),
                    },
                )?;
            }
            Ok(())
        })
    }

    fn unreviewed(&self, selection: &ReviewSelection) -> Result<Vec<ReviewFile>> {
        let Some(head) = self.engine.history().head()? else {
            return Ok(Vec::new());
        };
        let mut files = Vec::new();
        for compared in self.compared(head, selection)? {
            if let Some(differences) = self.differences(&compared, selection)? {
                files.push(self.listed(&compared, differences, head)?);
            }
        }
        sort(&mut files);
        Ok(files)
    }

    /// Returns the selected files that changed on the chain of `head`, each with the state that it is compared with.
    fn compared(&self, head: NodeId, selection: &ReviewSelection) -> Result<Vec<FileReview>> {
        let _moment = self.engine.store.reading()?;
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        let line = ancestry.line(head)?;
        let files = match selection.since {
            Some(since) => self
                .engine
                .history()
                .files_between(&ancestry, since, head)?,
            None => self.files_of_agents(head)?,
        };
        let mut all = Vec::new();
        for file in files {
            let file = FollowedFile::load(conn, &line, self.engine.here.branch, file)?;
            let current = file.current();
            let base = selection
                .document
                .as_ref()
                .and_then(|document| document.base);
            let state = |id| file.newest_with(id).map(ShownState);
            let shown = selection.shown.or_else(|| base.and_then(state));
            let shown = shown.unwrap_or(ShownState(file.newest()));
            let is_selected = |state: &FileVersion| {
                selection.paths.is_empty()
                    || state.as_ref().is_some_and(|placed| {
                        let mut paths = selection.paths.iter();
                        paths.any(|dir| placed.path.within(dir.bytes()))
                    })
            };
            let base = match selection.since {
                Some(since) => self.base_since(&file, since, shown.0)?,
                None => self.reviewed_at(&file, shown.0)?,
            };
            if !is_selected(&base.state) && !is_selected(&current) {
                continue;
            }
            if selection.shown.is_some() && !file.has(shown.0) {
                return Err(Error::refused(
                    "the state that was shown is no longer in the history",
                    "look at the file again",
                ));
            }
            all.push(FileReview {
                base,
                shown,
                state: file.state_after(shown.0),
                file,
            });
        }
        Ok(all)
    }

    /// Returns the files that agents changed on the chain of `head`.
    fn files_of_agents(&self, head: NodeId) -> Result<BTreeSet<FileId>> {
        let conn = &self.engine.store.conn;
        let line = Ancestry::new(conn).line(head)?;
        let mut files = BTreeSet::new();
        for (file, branch, first) in changed_files::by_agents(conn)? {
            if line.has(branch, first) {
                files.insert(file);
            }
        }
        Ok(files)
    }

    /// Returns the selected differences of a file; None: everything selected is reviewed.
    fn differences(
        &self,
        compared: &FileReview,
        selection: &ReviewSelection,
    ) -> Result<Option<Differences>> {
        let (base, state) = (&compared.base, &compared.state);
        if base.state == *state {
            return Ok(None);
        }
        let Some((old, new)) = self.text_of_reviewed(base)?.zip(self.text_of_state(state)?) else {
            return Ok(Some(Differences::Whole));
        };
        // the user replaced, or kept, everything that the agent wrote in its new file
        if base.state.is_none() && base.text.is_some() && old == new {
            return Ok(None);
        }
        let mut hunks = carry::pending(&old, &new);
        let line_ends = hunks.is_empty() && old != new;
        if let Some(lines) = &selection.lines {
            let lines = lines_of(selection, &new, lines);
            hunks.retain(|hunk| carry::is_at(hunk, &lines));
            if hunks.is_empty() {
                return Ok(None);
            }
        }
        Ok(Some(Differences::Lines {
            old,
            new,
            hunks,
            line_ends,
        }))
    }

    fn listed(
        &self,
        compared: &FileReview,
        differences: Differences,
        head: NodeId,
    ) -> Result<ReviewFile> {
        let binary = matches!(differences, Differences::Whole);
        let (hunks, line_ends) = match differences {
            Differences::Whole => (Vec::new(), false),
            Differences::Lines {
                old,
                new,
                hunks,
                line_ends,
            } => {
                let hunks = self.with_authors(&compared.file, &hunks, (&old, &new), head)?;
                (hunks, line_ends)
            }
        };
        Ok(ReviewFile {
            delta: Delta {
                old: compared.base.state.clone(),
                new: compared.state.clone(),
            },
            hunks,
            binary,
            line_ends,
            shown: compared.shown,
        })
    }

    /// Returns the reviewed state once hunks of the shown text are accepted.
    fn accepted(
        &self,
        compared: &FileReview,
        new: &[u8],
        hunks: &[LineChange],
    ) -> Result<Reviewed> {
        let mut accepted = self.reviewed_at(&compared.file, compared.shown.0)?;
        let old = self.text_of_reviewed(&accepted)?.unwrap_or_default();
        let at: Vec<Range<usize>> = hunks.iter().map(|hunk| hunk.new.clone()).collect();
        let text = carry::accepted(&old, new, &at);
        if text == new {
            return Ok(Reviewed::recorded(compared.state.clone()));
        }
        if accepted.state.is_none() {
            accepted.state.clone_from(&compared.state);
        }
        accepted.set_text(text);
        Ok(accepted)
    }

    /// Returns the review that undoes what was kept at lines; None: nothing there was kept.
    fn without_lines(
        &self,
        compared: &FileReview,
        selection: &ReviewSelection,
    ) -> Result<Option<NewReview>> {
        let file = &compared.file;
        let (Some(lines), Some(last)) = (&selection.lines, file.reviews.last()) else {
            return Ok(None);
        };
        let original = match selection.since {
            Some(since) => Reviewed::recorded(file.state_after(file.newest_at(since))),
            None => self.never_reviewed(file)?,
        };
        let current = file.current();
        let texts = self.text_of_reviewed(&original)?;
        let Some((old, new)) = texts.zip(self.text_of_state(&current)?) else {
            return Ok(None);
        };
        let lines = lines_of(selection, &new, lines);
        let mut hunks = carry::pending(&old, &new);
        hunks.retain(|hunk| carry::is_at(hunk, &lines));
        let mut left = self.reviewed_at(file, file.newest())?;
        let Some(reviewed) = self.text_of_reviewed(&left)? else {
            return Ok(None);
        };
        let without = carry::without(&old, &new, &hunks);
        let text = carry::carried(&reviewed, &new, &without);
        if hunks.is_empty() {
            return Ok(None);
        }
        if text != reviewed {
            if left.state.is_none() {
                left.state.clone_from(&current);
            }
            left.set_text(text);
        }
        Ok(Some(NewReview {
            file: file.file,
            change: file.newest(),
            accepted: left,
            lines: Some((new, without)),
            earlier: Some(last.id),
            near: current.as_ref().and_then(|p| p.image.content()),
        }))
    }

    fn text_of_state(&self, state: &FileVersion) -> Result<Option<Vec<u8>>> {
        match state {
            Some(Placed { image, .. }) => self.text_of_image(image),
            None => Ok(Some(Vec::new())),
        }
    }
}

/// Returns the selected lines as lines of the shown text.
fn lines_of(selection: &ReviewSelection, shown: &[u8], lines: &Range<usize>) -> Range<usize> {
    match &selection.document {
        Some(document) => carry::mapped(shown, &document.text, lines),
        None => lines.clone(),
    }
}

fn sort(files: &mut [ReviewFile]) {
    files.sort_by(|a, b| path(a).cmp(&path(b)));
}

/// Returns the current path, or that of the reviewed state if the file is deleted.
fn path(file: &ReviewFile) -> Option<&RelPath> {
    let placed = file.delta.new.as_ref().or(file.delta.old.as_ref());
    placed.map(|placed| &placed.path)
}
