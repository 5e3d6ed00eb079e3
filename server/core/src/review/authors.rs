//! The agent's turn that each unreviewed hunk comes from.

use std::ops::Deref;
use std::ops::Range;

use super::Reviews;
use super::carry;
use super::replay::FollowedFile;
use super::{ReviewAuthor, ReviewHunk};
use crate::blame::{Against, By};
use crate::diff::{LineChange, lines};
use crate::engine::Engine;
use crate::error::Result;
use crate::history;
use crate::model::{FileVersion, NodeId};
use crate::store::tables::{session, turn};

impl<E: Deref<Target = Engine>> Reviews<E> {
    /// Adds lines and authors to hunks.
    pub(super) fn with_authors(
        &self,
        followed: &FollowedFile,
        hunks: &[LineChange],
        (old, new): (&[u8], &[u8]),
        head: NodeId,
    ) -> Result<Vec<ReviewHunk>> {
        let blame = match &followed.current() {
            // the authors are a help only: a file that blame refuses is reviewed all the same
            Some(placed) if !hunks.is_empty() => self
                .engine
                .blamer()
                .blame(&placed.path, Against::Node(head))
                .ok(),
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
                    letter: work.session.id.letter(),
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
        followed: &FollowedFile,
        removed: &[Vec<u8>],
    ) -> Result<Option<ReviewAuthor>> {
        let conn = &self.engine.store.conn;
        for (change, _) in followed.changes.iter().rev() {
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
                letter: session.id.letter(),
                turn: turn.map(|turn| (turn.number, turn.prompt)),
                node: change.node,
            }));
        }
        Ok(None)
    }
}
