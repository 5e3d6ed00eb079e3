//! Edits that a rewind moves: all that are in force here and not at the target, as far as their author is concerned.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::authors::{AuthorFilter, OwnStep, find_session, uncertain};
use super::{EditPlan, SetDelta};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, OpKind};
use crate::model::{FileId, FileVersion, Kind, Node, NodeId};
use crate::restore::Restore;
use crate::restore::types::{Gap, GapKind, Request};
use crate::store::tables::branch;
use crate::worktree::file_state;

impl<E: Deref<Target = Engine>> Restore<E> {
    pub(super) fn rewind_edits(
        &self,
        r: &Request,
        ancestry: &Ancestry<'_>,
        target: NodeId,
        head: NodeId,
    ) -> Result<EditPlan> {
        let mut rewind = RewindSearch::new(&self.engine, r, ancestry, (target, head))?;
        for file in rewind.files()? {
            rewind.file(file)?;
        }
        if rewind.on_other_branch && rewind.is_whole_state {
            rewind.note_only_in_other_roots()?;
        }
        Ok(EditPlan {
            target: target.to_string(),
            kind: OpKind::Rewind,
            of: None,
            node: Some(target),
            moves: rewind.moves,
            gaps: rewind.gaps,
            nothing: None,
        })
    }
}

/// Search for the edits that a rewind moves, file by file.
struct RewindSearch<'a> {
    engine: &'a Engine,
    r: &'a Request,
    ancestry: &'a Ancestry<'a>,
    target: NodeId,
    head: NodeId,
    authors: AuthorFilter,
    /// True if the target is not in the history of the current state.
    on_other_branch: bool,
    /// True if the rewind makes the whole state equal the target's.
    is_whole_state: bool,
    moves: BTreeMap<FileId, SetDelta>,
    gaps: Vec<Gap>,
}

impl<'a> RewindSearch<'a> {
    fn new(
        engine: &'a Engine,
        r: &'a Request,
        ancestry: &'a Ancestry<'a>,
        (target, head): (NodeId, NodeId),
    ) -> Result<Self> {
        let conn = &engine.store.conn;
        let node = history::node(conn, target)?;
        let on_other_branch = !ancestry.is_ancestor(target, head)?;
        if !r.exact && r.session.is_none() && on_other_branch {
            return Err(Error::refused(
                format!(
                    "{target} is not in the history of the current state, but on another branch"
                ),
                Hint::OtherLine {
                    node: target,
                    branch: branch::name(conn, node.branch)?,
                },
            ));
        }
        Ok(Self {
            authors: authors(engine, r, &node)?,
            engine,
            r,
            ancestry,
            target,
            head,
            on_other_branch,
            is_whole_state: r.exact && r.session.is_none(),
            moves: BTreeMap::new(),
            gaps: Vec::new(),
        })
    }

    /// Returns the files that may differ between the present and the target.
    fn files(&self) -> Result<BTreeSet<FileId>> {
        let known = self.engine.history();
        let mut files = known.files_between(self.ancestry, self.head, self.target)?;
        if self.on_other_branch && self.is_whole_state {
            files.extend(known.adopted_between(self.ancestry, self.head, self.target)?);
        }
        Ok(files)
    }

    /// Adds the moves of one file, or the gap if its state at the target is not known.
    fn file(&mut self, file: FileId) -> Result<()> {
        let known = self.engine.history();
        let (ancestry, target, head) = (self.ancestry, self.target, self.head);
        // a file known only on this branch has no state at a target on another one
        let known_then = known.known_at(ancestry, file, target)?;
        if self.on_other_branch && !known_then {
            let stays = known.state_known(ancestry, file, head)?;
            self.gaps.extend(stays.map(|stays| Gap {
                path: Some(stays.path.bytes().to_vec()),
                kind: GapKind::Unknown,
                detail: format!("its state at {target} is not known; it stays as it is"),
            }));
            return Ok(());
        }
        let moves = self.moves_of(file)?;
        let stands = history::state_at(ancestry, file, head)?;
        // a file that a rewind brought from another branch was absent before
        let is_unknown = !known_then && known.seen_at(ancestry, file, head)?;
        if is_unknown && (self.r.exact || stands.is_some()) {
            let is_moved = self.r.exact || !moves.is_empty();
            self.gaps.push(unknown_state(stands, target, is_moved));
        }
        self.moves.insert(file, moves);
        Ok(())
    }

    /// Compares the sets in force of one file here and at the target.
    fn moves_of(&mut self, file: FileId) -> Result<SetDelta> {
        let (ancestry, conn) = (self.ancestry, &self.engine.store.conn);
        let now = history::in_force(ancestry, file, self.head)?;
        let at_target = history::in_force(ancestry, file, self.target)?;
        let mut moves = SetDelta::default();
        let mut own_step = OwnStep::default();
        for (from, other, taking_out) in [(&now, &at_target, true), (&at_target, &now, false)] {
            for id in from.difference(other) {
                let change = history::change(conn, *id)?;
                let edits = || now.difference(&at_target);
                match own_step.author(conn, &self.authors, &change, edits)? {
                    Some(sure) if sure || self.r.take_uncertain => {
                        if taking_out {
                            moves.take_out.insert(*id)
                        } else {
                            moves.put_back.insert(*id)
                        };
                    }
                    Some(_) if taking_out => self.gaps.push(uncertain(&change)),
                    _ => {}
                }
            }
        }
        let may_arrive = self.is_whole_state && self.on_other_branch && at_target.is_empty();
        if may_arrive && !self.engine.history().seen_at(ancestry, file, self.head)? {
            moves.arrives = history::state_at(ancestry, file, self.target)?;
        }
        Ok(moves)
    }

    /// Adds gaps for files at the target that were first captured in another root and never changed there.
    fn note_only_in_other_roots(&mut self) -> Result<()> {
        let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
        for (path, row) in file_state::adopted_elsewhere(conn, root)? {
            let Some(since) = row.since else { continue };
            if self.ancestry.is_ancestor(since, self.target)?
                && !self.ancestry.is_ancestor(since, self.head)?
            {
                self.gaps.push(Gap {
                    path: Some(path.bytes().to_vec()),
                    kind: GapKind::Unknown,
                    detail: "it was first captured in another directory; it is not restored here"
                        .to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Returns the authors whose edits a rewind to this checkpoint moves.
fn authors(engine: &Engine, r: &Request, node: &Node) -> Result<AuthorFilter> {
    let filter = match (&r.session, r.exact, node.kind, node.session) {
        (Some(name), ..) => AuthorFilter::Session(find_session(&engine.store.conn, name)?),
        (None, true, ..) => AuthorFilter::Everyone,
        (None, false, Kind::Turn | Kind::Step, Some(session)) if !r.all_sessions => {
            AuthorFilter::Session(session)
        }
        _ => AuthorFilter::Agents,
    };
    Ok(filter)
}

/// Gap for a file whose state at the target is not known. `is_moved`: the rewind changes it nevertheless.
fn unknown_state(stands: FileVersion, target: NodeId, is_moved: bool) -> Gap {
    let outcome = if is_moved {
        "the earliest known one is restored"
    } else {
        "it stays as it is"
    };
    Gap {
        path: stands.map(|placed| placed.path.bytes().to_vec()),
        kind: GapKind::Unknown,
        detail: format!("its state at {target} is not known; {outcome}"),
    }
}
