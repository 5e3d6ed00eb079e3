//! Review: the work of agents that the user has not looked at yet. Owns the reviewed state of each file and moves it;
//! `carry` is the pure part for texts, the table `reviewed` holds what the user accepted.
//!
//! A file starts as reviewed in the state before its first recorded change. The user's own changes and rewinds move the
//! reviewed state on, changes of agents do not. The difference between it and the current state is left to review. A
//! file is followed by its identity, so the review survives renames; a branch takes over the reviews before its fork point.

mod carry;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::blame::{Against, By};
use crate::compare::Delta;
use crate::content::is_text;
use crate::diff::{LineChange, lines};
use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry, SetHash};
use crate::model::{
    Change, ChangeId, ContentId, FileId, FileVersion, Image, NodeId, Origin, Placed, RelPath, Role,
};
use crate::store::tables::reviewed::{self, NewReviewed, ReviewedRow};
use crate::store::tables::{changed_files, session, turn};
use crate::store::{self, Durable};

/// The files, or the lines of one file, to review.
#[derive(Clone, Debug, Default)]
pub struct ReviewSelection {
    /// Files and directories; empty: everything.
    pub paths: Vec<RelPath>,
    /// Lines of the current text, from 0. Only hunks at these lines count.
    pub lines: Option<Range<usize>>,
}

/// A file with work of agents that is not reviewed.
#[derive(Clone, Debug)]
pub struct ReviewFile {
    /// From the reviewed state to the current state. The content of the reviewed state may not be in the store.
    pub delta: Delta,
    /// The unreviewed hunks; none if a side is no text.
    pub hunks: Vec<ReviewHunk>,
    /// True if a side is binary, too large, or was not captured.
    pub binary: bool,
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
    /// The turn's number and prompt.
    pub turn: Option<(i64, String)>,
    pub node: NodeId,
}

/// A reviewed state.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reviewed {
    state: FileVersion,
    /// The text, if the store may not have it. Without a state it holds the lines that the user wrote in a file of an
    /// agent.
    text: Option<Vec<u8>>,
}

/// A file with its changes on the current chain.
struct ReviewedFile {
    file: FileId,
    reviewed: Reviewed,
    current: FileVersion,
    /// The changes on the chain, oldest first.
    changes: Vec<Change>,
    row: Option<ReviewedRow>,
}

impl Engine {
    /// Returns the files with unreviewed work of agents, by path. The disk is scanned first.
    pub fn review(&mut self, selection: &ReviewSelection) -> Result<Vec<ReviewFile>> {
        self.record_changes()?;
        self.unreviewed(selection)
    }

    /// Marks the selected files or hunks as reviewed. Returns them as they were before.
    pub fn keep_reviewed(&mut self, selection: &ReviewSelection) -> Result<Vec<ReviewFile>> {
        self.record_changes()?;
        let Some(head) = self.head()? else {
            return Ok(Vec::new());
        };
        let mut kept = Vec::new();
        let mut rows = Vec::new();
        for followed in self.followed(head, selection)? {
            let Some(file) = self.shown(&followed, selection, head)? else {
                continue;
            };
            let accepted = match &selection.lines {
                Some(_) if file.binary || file.hunks.is_empty() => continue,
                Some(lines) => self.accepted(&followed, lines)?,
                None => Reviewed::recorded(followed.current.clone()),
            };
            rows.push((followed, accepted));
            kept.push(file);
        }
        let (branch, dir) = (self.here.branch, &self.store.dir);
        self.store.write(Durable::Process, |conn| {
            for (followed, accepted) in &rows {
                if let Some(text) = &accepted.text {
                    let base = followed.current.as_ref().and_then(|p| p.image.content());
                    store::put(conn, dir, text, base)?;
                }
                reviewed::insert(
                    conn,
                    &NewReviewed {
                        file: followed.file,
                        branch,
                        node: head,
                        change: followed.changes.last().map_or(ChangeId(0), |c| c.id),
                        state: &accepted.state,
                        earlier: followed.row.as_ref().map(|row| row.id),
                    },
                )?;
            }
            Ok(())
        })?;
        sort(&mut kept);
        Ok(kept)
    }

    /// Takes back the last review of each selected file. Returns the selected files that are not reviewed after that.
    pub fn unkeep_reviewed(&mut self, selection: &ReviewSelection) -> Result<Vec<ReviewFile>> {
        self.record_changes()?;
        let Some(head) = self.head()? else {
            return Ok(Vec::new());
        };
        let mut rows = Vec::new();
        for followed in self.followed(head, selection)? {
            let Some(row) = followed.row.filter(|row| row.change.0 > 0) else {
                continue;
            };
            let earlier = match row.earlier {
                Some(id) => reviewed::row(&self.store.conn, id)?,
                None => None,
            };
            rows.push((followed.file, earlier));
        }
        let branch = self.here.branch;
        self.store.write(Durable::Process, |conn| {
            for (file, earlier) in &rows {
                let (change, state, before) = match earlier {
                    Some(row) => (row.change, &row.state, row.earlier),
                    None => (ChangeId(0), &None, None),
                };
                reviewed::insert(
                    conn,
                    &NewReviewed {
                        file: *file,
                        branch,
                        node: head,
                        change,
                        state,
                        earlier: before,
                    },
                )?;
            }
            Ok(())
        })?;
        self.unreviewed(selection)
    }

    fn unreviewed(&self, selection: &ReviewSelection) -> Result<Vec<ReviewFile>> {
        let Some(head) = self.head()? else {
            return Ok(Vec::new());
        };
        let mut files = Vec::new();
        for followed in self.followed(head, selection)? {
            files.extend(self.shown(&followed, selection, head)?);
        }
        sort(&mut files);
        Ok(files)
    }

    /// Returns the selected files that agents changed on the chain of `head`, with their reviewed states.
    fn followed(&self, head: NodeId, selection: &ReviewSelection) -> Result<Vec<ReviewedFile>> {
        let _moment = self.store.reading()?;
        let (conn, here) = (&self.store.conn, self.here.branch);
        let ancestry = Ancestry::new(conn);
        let line = ancestry.line(head)?;
        let mut files = BTreeSet::new();
        for (file, branch, first) in changed_files::by_agents(conn)? {
            if line.has(branch, first) {
                files.insert(file);
            }
        }
        let mut all = Vec::new();
        for file in files {
            let rows = reviewed::rows(conn, file)?.into_iter();
            // the head of a branch without nodes of its own is a node of another branch
            let counts = |row: &ReviewedRow| row.branch == here || line.has(row.branch, row.node);
            let row = rows.into_iter().find(counts);
            let mut changes = Vec::new();
            for (change, set) in history::changes_with_sets(conn, file)? {
                if line.has(history::branch_of(conn, change.node)?, change.node) {
                    changes.push((change, set));
                }
            }
            let kept = row.as_ref().filter(|row| row.change.0 > 0);
            let (after, start) = if let Some(row) = kept {
                (row.change, row.state.clone())
            } else {
                let first = history::version(conn, file, SetHash::EMPTY)?;
                (ChangeId(0), first.flatten())
            };
            let reviewed = self.replay(Reviewed::recorded(start), after, &changes)?;
            let current = history::state_at(&ancestry, file, head)?;
            let is_selected = |state: &FileVersion| {
                selection.paths.is_empty()
                    || state.as_ref().is_some_and(|placed| {
                        let mut paths = selection.paths.iter();
                        paths.any(|dir| placed.path.within(dir.bytes()))
                    })
            };
            if is_selected(&reviewed.state) || is_selected(&current) {
                all.push(ReviewedFile {
                    file,
                    reviewed,
                    current,
                    changes: changes.into_iter().map(|(change, _)| change).collect(),
                    row,
                });
            }
        }
        Ok(all)
    }

    /// Moves a reviewed state through the changes after `after`. A restore to a set of edits that was seen on the way has
    /// the reviewed state of that moment, so that the undo of a rewind brings unreviewed work back as unreviewed.
    fn replay(
        &self,
        start: Reviewed,
        after: ChangeId,
        changes: &[(Change, SetHash)],
    ) -> Result<Reviewed> {
        let done = changes.iter().take_while(|(c, _)| c.id <= after);
        let first = done.last().map_or(SetHash::EMPTY, |(_, set)| *set);
        let mut reviewed = start;
        let mut seen = HashMap::from([(first, reviewed.clone())]);
        for (change, set) in changes.iter().filter(|(c, _)| c.id > after) {
            let is_agents = |id: &ChangeId| {
                let mut members = changes.iter().map(|(c, _)| c);
                members.any(|c| c.id == *id && is_by_agent(&c.origin))
            };
            if change.role == Role::Restore {
                if let Some(known) = seen.get(set) {
                    reviewed = known.clone();
                    continue;
                }
                let (_, put_back) = history::moved_by(&self.store.conn, change.id)?;
                if !put_back.iter().any(is_agents) {
                    reviewed = self.carried(reviewed, change)?;
                }
            } else if !is_by_agent(&change.origin) {
                reviewed = self.carried(reviewed, change)?;
            }
            seen.insert(*set, reviewed.clone());
        }
        Ok(reviewed)
    }

    /// Returns the reviewed state after a change of the user.
    fn carried(&self, reviewed: Reviewed, change: &Change) -> Result<Reviewed> {
        if reviewed.state == change.before && (reviewed.text.is_none() || reviewed.state.is_some())
        {
            return Ok(Reviewed::recorded(change.after.clone()));
        }
        let (Some(before), Some(after)) = (&change.before, &change.after) else {
            // the user created or deleted the file
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

    /// Returns the reviewed state once the hunks at these lines are accepted.
    fn accepted(&self, followed: &ReviewedFile, lines: &Range<usize>) -> Result<Reviewed> {
        let old = self
            .text_of_reviewed(&followed.reviewed)?
            .unwrap_or_default();
        let current = match &followed.current {
            Some(placed) => self.text_of_image(&placed.image)?.unwrap_or_default(),
            None => Vec::new(),
        };
        let text = carry::accepted(&old, &current, lines);
        if text == current {
            return Ok(Reviewed::recorded(followed.current.clone()));
        }
        let mut accepted = followed.reviewed.clone();
        if accepted.state.is_none() {
            accepted.state.clone_from(&followed.current);
        }
        accepted.set_text(text);
        Ok(accepted)
    }

    /// Returns a file with its unreviewed hunks; None: everything selected is reviewed.
    fn shown(
        &self,
        followed: &ReviewedFile,
        selection: &ReviewSelection,
        head: NodeId,
    ) -> Result<Option<ReviewFile>> {
        let (reviewed, current) = (&followed.reviewed, &followed.current);
        if reviewed.state == *current {
            return Ok(None);
        }
        let new = match current {
            Some(placed) => self.text_of_image(&placed.image)?,
            None => Some(Vec::new()),
        };
        let texts = self.text_of_reviewed(reviewed)?.zip(new);
        let delta = Delta {
            old: reviewed.state.clone(),
            new: current.clone(),
        };
        let Some((old, new)) = texts else {
            return Ok(Some(ReviewFile {
                delta,
                hunks: Vec::new(),
                binary: true,
            }));
        };
        // the user replaced everything that the agent wrote in its new file
        if reviewed.state.is_none() && reviewed.text.is_some() && old == new {
            return Ok(None);
        }
        let hunks = carry::pending(&old, &new);
        let at = |hunk: &&LineChange| {
            let lines = selection.lines.as_ref();
            lines.is_none_or(|lines| carry::is_at(hunk, lines))
        };
        let hunks: Vec<LineChange> = hunks.iter().filter(at).cloned().collect();
        if hunks.is_empty() && selection.lines.is_some() {
            return Ok(None);
        }
        let hunks = self.with_authors(followed, &hunks, (&old, &new), head)?;
        Ok(Some(ReviewFile {
            delta,
            hunks,
            binary: false,
        }))
    }

    fn with_authors(
        &self,
        followed: &ReviewedFile,
        hunks: &[LineChange],
        (old, new): (&[u8], &[u8]),
        head: NodeId,
    ) -> Result<Vec<ReviewHunk>> {
        let blame = match &followed.current {
            // the authors are a help only: a file that blame refuses is reviewed all the same
            Some(placed) if !hunks.is_empty() => self.blame(&placed.path, Against::Node(head)).ok(),
            _ => None,
        };
        let (old_lines, new_lines) = (lines(old), lines(new));
        let mut all = Vec::new();
        for hunk in hunks {
            let part = |lines: &[&[u8]], range: &Range<usize>| -> Vec<Vec<u8>> {
                let part = lines.get(range.clone()).unwrap_or_default();
                part.iter().map(|line| line.to_vec()).collect()
            };
            let removed = part(&old_lines, &hunk.old);
            let runs = blame.iter().flat_map(|blame| &blame.runs);
            let written = runs.filter(|run| {
                run.start <= hunk.new.end
                    && hunk.new.start + 1 < run.start + run.count
                    && !hunk.new.is_empty()
            });
            let written = written.filter_map(|run| match &run.author.by {
                By::Agent(work) => Some(ReviewAuthor {
                    agent: work.session.agent.clone(),
                    session: work.session.native.clone(),
                    turn: work.turn.as_ref().map(|t| (t.number, t.prompt.clone())),
                    node: run.author.node?,
                }),
                _ => None,
            });
            let author = match written.max_by_key(|author| author.node) {
                None => self.remover(followed, &removed)?,
                author => author,
            };
            all.push(ReviewHunk {
                old: hunk.old.clone(),
                new: hunk.new.clone(),
                added: part(&new_lines, &hunk.new),
                removed,
                author,
            });
        }
        Ok(all)
    }

    /// Returns the author of the newest change of an agent that removed these lines.
    fn remover(
        &self,
        followed: &ReviewedFile,
        removed: &[Vec<u8>],
    ) -> Result<Option<ReviewAuthor>> {
        let conn = &self.store.conn;
        for change in followed.changes.iter().rev() {
            let Some(session) = change.origin.session else {
                continue;
            };
            let text = |state: &FileVersion| match state {
                Some(placed) => self.text_of_image(&placed.image),
                None => Ok(Some(Vec::new())),
            };
            let (Some(before), Some(after)) = (text(&change.before)?, text(&change.after)?) else {
                continue;
            };
            let before_lines = lines(&before);
            let removes = |hunk: &LineChange| {
                let gone = before_lines.get(hunk.old.clone()).unwrap_or_default();
                removed
                    .first()
                    .is_some_and(|line| gone.contains(&line.as_slice()))
            };
            if !carry::pending(&before, &after).iter().any(removes) {
                continue;
            }
            let session = session::row(conn, session)?;
            let turn = history::node(conn, change.node)?.turn;
            let turn = turn.map(|turn| turn::row(conn, turn)).transpose()?;
            return Ok(Some(ReviewAuthor {
                agent: session.agent,
                session: session.native,
                turn: turn.map(|turn| (turn.number, turn.prompt)),
                node: change.node,
            }));
        }
        Ok(None)
    }

    /// Returns the text of an image; None if it has none that can be compared by lines.
    fn text_of_image(&self, image: &Image) -> Result<Option<Vec<u8>>> {
        match image {
            Image::Absent => Ok(Some(Vec::new())),
            Image::File { content, .. } if !image.is_too_long() => {
                Ok(Some(self.store.content(content)?).filter(|text| is_text(text)))
            }
            _ => Ok(None),
        }
    }

    fn text_of_reviewed(&self, reviewed: &Reviewed) -> Result<Option<Vec<u8>>> {
        match (&reviewed.text, &reviewed.state) {
            (Some(text), _) => Ok(Some(text.clone())),
            (None, Some(placed)) => self.text_of_image(&placed.image),
            (None, None) => Ok(Some(Vec::new())),
        }
    }
}

impl Reviewed {
    /// A state whose content the store has.
    fn recorded(state: FileVersion) -> Self {
        Self { state, text: None }
    }

    fn set_text(&mut self, text: Vec<u8>) {
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

fn sort(files: &mut [ReviewFile]) {
    files.sort_by(|a, b| path(a).cmp(&path(b)));
}

/// Returns the current path, or that of the reviewed state if the file is deleted.
fn path(file: &ReviewFile) -> Option<&RelPath> {
    let placed = file.delta.new.as_ref().or(file.delta.old.as_ref());
    placed.map(|placed| &placed.path)
}
