//! The reviewed state of a file: the last kept state, moved through the later changes. The same walk yields the base of a
//! comparison with a checkpoint, which has the kept changes since.

use std::collections::HashMap;
use std::ops::Deref;

use rusqlite::Connection;

use super::Reviews;
use super::carry;
use crate::content::is_text;
use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry, Lineage, SetHash};
use crate::model::{
    BranchId, Change, ChangeId, ContentId, FileId, FileVersion, Image, NodeId, Origin, Placed, Role,
};
use crate::store::tables::reviewed::{self, ReviewedRow};

/// A state that the user has reviewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reviewed {
    pub state: FileVersion,
    /// The text, if the store may not have it. Without a state it holds the lines that the user wrote, or kept, in a file
    /// of an agent.
    pub text: Option<Vec<u8>>,
}

/// A file with its changes and reviews on the current chain.
pub(super) struct FollowedFile {
    pub file: FileId,
    /// The state before the first change.
    first: FileVersion,
    /// The changes with the sets after them, oldest first.
    pub changes: Vec<(Change, SetHash)>,
    /// The reviews that were not taken back, oldest first.
    pub reviews: Vec<ReviewedRow>,
}

/// The changes that move a reviewed state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moves {
    /// Those of the user, and restores.
    Users,
    /// Restores alone: the user's changes are differences from the checkpoint, too.
    Restores,
}

impl FollowedFile {
    pub fn load(conn: &Connection, line: &Lineage, here: BranchId, file: FileId) -> Result<Self> {
        let rows = reviewed::rows(conn, file)?.into_iter();
        // the head of a branch without nodes of its own is a node of another branch
        let counts = |row: &ReviewedRow| row.branch == here || line.has(row.branch, row.node);
        let mut next = rows.into_iter().find(counts);
        let mut reviews = Vec::new();
        while let Some(row) = next {
            next = match row.earlier {
                // rows refer to older rows only
                Some(id) if id < row.id => reviewed::row(conn, id)?,
                _ => None,
            };
            if row.change.0 > 0 {
                reviews.push(row);
            }
        }
        reviews.reverse();
        let mut changes = Vec::new();
        for (change, set) in history::changes_with_sets(conn, file)? {
            if line.has(history::branch_of(conn, change.node)?, change.node) {
                changes.push((change, set));
            }
        }
        let first = history::version(conn, file, SetHash::EMPTY)?.flatten();
        Ok(Self {
            file,
            first,
            changes,
            reviews,
        })
    }

    /// Returns the state after a change, or before the first.
    pub fn state_after(&self, change: ChangeId) -> FileVersion {
        let until = self.changes.iter().take_while(|(c, _)| c.id <= change);
        until.last().map_or(&self.first, |(c, _)| &c.after).clone()
    }

    pub fn current(&self) -> FileVersion {
        self.state_after(self.newest())
    }

    pub fn newest(&self) -> ChangeId {
        self.changes.last().map_or(ChangeId(0), |(c, _)| c.id)
    }

    /// Returns the newest change to this content.
    pub fn newest_with(&self, content: ContentId) -> Option<ChangeId> {
        let has = |state: &FileVersion| {
            let placed = state.as_ref();
            placed.is_some_and(|placed| placed.image.content() == Some(content))
        };
        let mut newest_first = self.changes.iter().rev();
        newest_first.find(|(c, _)| has(&c.after)).map(|(c, _)| c.id)
    }

    pub fn has(&self, change: ChangeId) -> bool {
        self.changes.iter().any(|(c, _)| c.id == change)
    }

    /// Returns the reviews of later states than that after `change`, until that after `upto`.
    pub fn reviews_after(&self, change: ChangeId, upto: ChangeId) -> Vec<&ReviewedRow> {
        let rows = self.reviews.iter();
        rows.filter(|row| row.change > change && row.change <= upto)
            .collect()
    }

    /// Returns the newest change at a node of this chain; 0: the file did not change until then.
    pub fn newest_at(&self, node: NodeId) -> ChangeId {
        let until = self.changes.iter().take_while(|(c, _)| c.node <= node);
        until.last().map_or(ChangeId(0), |(c, _)| c.id)
    }
}

impl<E: Deref<Target = Engine>> Reviews<E> {
    /// Returns the reviewed state at the moment of a change.
    pub(super) fn reviewed_at(&self, file: &FollowedFile, upto: ChangeId) -> Result<Reviewed> {
        let (after, start) = match file.reviews.last() {
            Some(row) => (row.change, row.state.clone()),
            None => (ChangeId(0), file.first.clone()),
        };
        self.replay(
            file,
            (after, upto),
            Reviewed::recorded(start),
            &[],
            Moves::Users,
        )
    }

    /// The same as if the user had never reviewed the file.
    pub(super) fn never_reviewed(&self, file: &FollowedFile) -> Result<Reviewed> {
        let start = Reviewed::recorded(file.first.clone());
        self.replay(file, (ChangeId(0), file.newest()), start, &[], Moves::Users)
    }

    /// Returns the state at a checkpoint with the changes that the user kept since, until a change. Without `since` on the
    /// chain, reviews do not count.
    pub(super) fn base_since(
        &self,
        file: &FollowedFile,
        since: NodeId,
        upto: ChangeId,
    ) -> Result<Reviewed> {
        let ancestry = Ancestry::new(&self.engine.store.conn);
        if !self.is_on_chain(&ancestry, since)? {
            let state = history::state_at(&ancestry, file.file, since)?;
            return Ok(Reviewed::recorded(state));
        }
        let start = file.newest_at(since);
        let rows = file.reviews_after(start, upto);
        let state = Reviewed::recorded(file.state_after(start));
        if rows.is_empty() {
            return Ok(state);
        }
        self.replay(file, (start, upto), state, &rows, Moves::Restores)
    }

    pub(super) fn is_on_chain(&self, ancestry: &Ancestry<'_>, node: NodeId) -> Result<bool> {
        let Some(head) = self.engine.history().head()? else {
            return Ok(false);
        };
        let branch = history::branch_of(&self.engine.store.conn, node)?;
        Ok(ancestry.line(head)?.has(branch, node))
    }

    /// Moves a state through the changes after the first one named, until the second. A restore to a set of edits that was
    /// seen on the way has the state of that moment, so that the undo of a rewind brings unreviewed work back as unreviewed.
    /// So has a change of the user after which the file is as it was: git took it away and brought it back.
    fn replay(
        &self,
        file: &FollowedFile,
        (after, upto): (ChangeId, ChangeId),
        start: Reviewed,
        reviews: &[&ReviewedRow],
        moves: Moves,
    ) -> Result<Reviewed> {
        let changes = &file.changes;
        let done = changes.iter().take_while(|(c, _)| c.id <= after);
        let mut current_set = done.last().map_or(SetHash::EMPTY, |(_, set)| *set);
        let mut reviewed = start;
        let mut seen = HashMap::from([(current_set, reviewed.clone())]);
        // since the last restore, which may have taken edits out
        let mut states = HashMap::from([(file.state_after(after), reviewed.clone())]);
        let mut reviews = reviews.iter().peekable();
        let is_meant = |c: &Change| c.id > after && c.id <= upto;
        for (change, set) in changes.iter().filter(|(c, _)| is_meant(c)) {
            while let Some(row) = reviews.next_if(|row| row.change < change.id) {
                reviewed = self.with_review(reviewed, row)?;
                seen.insert(current_set, reviewed.clone());
                states.insert(file.state_after(row.change), reviewed.clone());
            }
            current_set = *set;
            let counts = |id: &ChangeId| {
                let mut members = changes.iter().map(|(c, _)| c);
                moves == Moves::Restores || members.any(|c| c.id == *id && is_by_agent(&c.origin))
            };
            if change.role == Role::Restore {
                states.clear();
                if let Some(known) = seen.get(set) {
                    reviewed = known.clone();
                    continue;
                }
                let (_, put_back) = history::moved_by(&self.engine.store.conn, change.id)?;
                if !put_back.iter().any(counts) {
                    reviewed = self.carried(reviewed, change, moves)?;
                }
            } else if moves == Moves::Users && !is_by_agent(&change.origin) {
                reviewed = match states.get(&change.after) {
                    Some(known) => known.clone(),
                    None => self.carried(reviewed, change, moves)?,
                };
            }
            seen.insert(*set, reviewed.clone());
            states.insert(change.after.clone(), reviewed.clone());
        }
        for row in reviews {
            reviewed = self.with_review(reviewed, row)?;
        }
        Ok(reviewed)
    }

    /// Returns a base with the changes of a review.
    fn with_review(&self, base: Reviewed, row: &ReviewedRow) -> Result<Reviewed> {
        let Some(lines) = row.lines else {
            return Ok(Reviewed::recorded(row.state.clone()));
        };
        let Some(text) = self.text_of_reviewed(&base)? else {
            return Ok(base);
        };
        let (from, to) = (
            self.engine.store.content(&lines.from)?,
            self.engine.store.content(&lines.to)?,
        );
        let mut kept = base;
        kept.set_text(carry::carried(&text, &from, &to));
        Ok(kept)
    }

    /// Returns the reviewed state after a change of the user.
    fn carried(&self, reviewed: Reviewed, change: &Change, moves: Moves) -> Result<Reviewed> {
        if reviewed.state == change.before && (reviewed.text.is_none() || reviewed.state.is_some())
        {
            return Ok(Reviewed::recorded(change.after.clone()));
        }
        let (Some(before), Some(after)) = (&change.before, &change.after) else {
            // the user created or deleted the file
            if moves == Moves::Restores {
                return Ok(reviewed);
            }
            return Ok(Reviewed::recorded(change.after.clone()));
        };
        let mut carried = reviewed;
        if let Some(placed) = &mut carried.state
            && before.path != after.path
        {
            placed.path = after.path.clone();
        }
        if before.image == after.image {
            return Ok(carried);
        }
        let old = self.text_of_reviewed(&carried)?;
        let (from, to) = (
            self.text_of_image(&before.image)?,
            self.text_of_image(&after.image)?,
        );
        match (old, from, to) {
            (Some(old), Some(from), Some(to)) => {
                let text = carry::carried(&old, &from, &to);
                if let Some(placed) = &mut carried.state
                    && let (Image::File { mode: old, .. }, Image::File { mode: new, .. }) =
                        (before.image, after.image)
                    && let Image::File { mode, .. } = &mut placed.image
                    && old != new
                {
                    *mode = new;
                }
                carried.set_text(text);
            }
            _ => {
                if let Some(placed) = &mut carried.state
                    && placed.image == before.image
                {
                    placed.image = after.image;
                }
            }
        }
        Ok(carried)
    }

    /// Returns the text of an image; None if it has none that can be compared by lines.
    pub(super) fn text_of_image(&self, image: &Image) -> Result<Option<Vec<u8>>> {
        match image {
            Image::Absent => Ok(Some(Vec::new())),
            Image::File { content, .. } if !image.is_too_long() => {
                Ok(Some(self.engine.store.content(content)?).filter(|text| is_text(text)))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn text_of_reviewed(&self, reviewed: &Reviewed) -> Result<Option<Vec<u8>>> {
        match (&reviewed.text, &reviewed.state) {
            (Some(text), _) => Ok(Some(text.clone())),
            (None, Some(placed)) => self.text_of_image(&placed.image),
            (None, None) => Ok(Some(Vec::new())),
        }
    }
}

impl Reviewed {
    /// A state whose content the store has.
    pub fn recorded(state: FileVersion) -> Self {
        Self { state, text: None }
    }

    pub fn set_text(&mut self, text: Vec<u8>) {
        if let Some(Placed {
            image: Image::File { content, size, .. },
            ..
        }) = &mut self.state
        {
            *content = ContentId::of(&text);
            *size = text.len() as u64;
        }
        self.text = Some(text);
    }
}

/// True unless the change is surely the user's.
fn is_by_agent(origin: &Origin) -> bool {
    origin.session.is_some() || origin.is_uncertain()
}
