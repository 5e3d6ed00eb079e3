//! Authors of the edits that a plan moves, and of those that it leaves: whose work goes, and whose stays. Reads
//! the history, and decides nothing.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use rusqlite::Connection;

use super::Restore;
use super::returns::without_returns;
use super::types::{Conflict, FilePlan, Goal, Plan, Request};
use crate::engine::Engine;
use crate::error::Result;
use crate::history::{self, Ancestry, OperationSubject, subject};
use crate::model::{
    Change, ChangeId, FileId, Kind, NodeId, RelPath, Session, SessionId, Turn, TurnId,
};
use crate::store;
use crate::store::tables::{changed_files, session, turn};

/// Time after which an agent that reports nothing is not taken to be in a turn, in microseconds.
const SILENCE: i64 = 10 * 60 * 1_000_000;

/// A turn of an agent, or its steps that belong to no turn.
#[derive(Clone, Debug)]
pub struct PlannedTurn {
    pub session: Session,
    pub turn: Option<Turn>,
    /// The turn's checkpoint; without a turn, the newest step's.
    pub node: NodeId,
    pub time: i64,
    /// True if the plan moves only a part of its edits.
    pub is_part: bool,
}

/// Authors of the edits that a plan concerns.
#[derive(Clone, Debug, Default)]
pub struct PlannedWork {
    /// Turns whose edits are undone, or done again by a redo; newest first.
    pub takes: Vec<PlannedTurn>,
    /// Turns whose edits are undone once the conflicts in their files are decided; newest first.
    pub undecided: Vec<PlannedTurn>,
    /// Later turns whose edits stay, in the same files and in others; newest first.
    pub stays: Vec<PlannedTurn>,
    /// Changed files in which later edits of the user stay.
    pub own_stay: Vec<RelPath>,
    /// Files whose later edits by the user are undone, too.
    pub own_go: Vec<RelPath>,
    /// Concerned files with unsaved text, and the name of the editor that has it.
    pub unsaved: Vec<(RelPath, String)>,
    /// True if the edits in `takes` and `own_go` are done again, as by the undo of a rewind.
    pub brings_back: bool,
    /// True if a tool call of an agent is under way.
    pub is_agent_at_work: bool,
    /// True if a turn has not ended, as far as is known: its agent was heard of a short time ago.
    pub is_turn_open: bool,
}

/// The turns of agents' edits, each with its newest node.
#[derive(Default)]
struct TurnsOfEdits {
    agents: BTreeMap<(SessionId, Option<TurnId>), NodeId>,
    /// Turns of which only a part is meant.
    parts: BTreeSet<TurnId>,
}

impl TurnsOfEdits {
    /// Adds an edit. Returns false if it is not an agent's.
    fn add(&mut self, conn: &Connection, change: &Change) -> Result<bool> {
        let Some(session) = change.origin.session else {
            return Ok(false);
        };
        let node = history::node(conn, change.node)?;
        let turn = node.turn.filter(|_| node.session == Some(session));
        let newest = self.agents.entry((session, turn)).or_insert(change.node);
        *newest = (*newest).max(change.node);
        Ok(true)
    }

    /// Returns the turn of an edit, if it is an agent's.
    fn turn_of(conn: &Connection, change: &Change) -> Result<Option<TurnId>> {
        let node = history::node(conn, change.node)?;
        Ok(node.turn.filter(|_| node.session == change.origin.session))
    }

    /// Returns the turns, newest first.
    fn turns(self, conn: &Connection) -> Result<Vec<PlannedTurn>> {
        let mut turns = Vec::new();
        for ((session, turn), newest) in self.agents {
            let turn = turn.map(|id| turn::row(conn, id)).transpose()?;
            let node = turn.as_ref().map_or(newest, |turn| turn.node);
            let is_part = turn
                .as_ref()
                .is_some_and(|turn| self.parts.contains(&turn.id));
            turns.push(PlannedTurn {
                is_part,
                session: session::row(conn, session)?,
                turn,
                node,
                time: history::node(conn, node)?.time,
            });
        }
        turns.sort_by_key(|turn| std::cmp::Reverse(turn.node));
        Ok(turns)
    }
}

/// Returns the conflicts in the file of a change.
fn conflicts<'p>(plan: &'p Plan, change: &'p Change) -> impl Iterator<Item = &'p Conflict> {
    plan.conflicts.iter().filter(|conflict| {
        let mut placed = [&change.before, &change.after].into_iter().flatten();
        placed.any(|placed| placed.path == conflict.path)
    })
}

impl<E: Deref<Target = Engine>> Restore<E> {
    /// Returns the authors of the edits that a plan moves and leaves.
    pub fn planned_work(&self, request: &Request, plan: &Plan) -> Result<PlannedWork> {
        let _moment = self.engine.store.reading()?;
        let conn = &self.engine.store.conn;
        let (mut takes, mut own_go) = (TurnsOfEdits::default(), BTreeSet::new());
        let (mut returns, mut goes) = (false, false);
        for file in &plan.files {
            let put_back = file.put_back.iter().map(|id| (id, true));
            let moved = file.taken_out.iter().map(|id| (id, false)).chain(put_back);
            for (id, is_put_back) in moved {
                let change = history::change(conn, *id)?;
                // an edit that a restore of some lines made: without it, the lines are back
                let by_restore = history::node(conn, change.node)?.kind == Kind::Rewind;
                let is_return = is_put_back != by_restore;
                returns |= is_return;
                goes |= !is_return;
                if by_restore {
                    continue;
                }
                let placed = file.before.as_ref().or(file.after.as_ref());
                if !takes.add(conn, &change)?
                    && !change.origin.is_uncertain()
                    && let Some(placed) = placed
                {
                    own_go.insert(placed.path.clone());
                }
            }
        }
        let brings_back = returns && !goes;
        self.find_parts(request, plan, brings_back, &mut takes)?;
        let mut work = PlannedWork {
            takes: takes.turns(conn)?,
            own_go: own_go.into_iter().collect(),
            brings_back,
            is_agent_at_work: self.engine.capture().open_calls()? > 0,
            is_turn_open: session::any_in_turn(
                conn,
                self.engine.here.root,
                store::now() - SILENCE,
            )?,
            ..PlannedWork::default()
        };
        if let Goal::Rewind(target) = request.goal {
            self.add_staying(request, plan, target, &mut work)?;
        }
        let documents = plan.documents.iter().filter(|d| d.text.is_some());
        let documents = documents.map(|d| (d.path.clone(), d.editor.name.clone()));
        let held = plan.held.iter();
        let held = held.map(|(editor, path)| (path.clone(), editor.name.clone()));
        let unsaved: BTreeSet<(RelPath, String)> = documents.chain(held).collect();
        work.unsaved = unsaved.into_iter().collect();
        Ok(work)
    }

    /// Finds the turns of which the plan leaves some edits as they are: in force where others are undone, any where
    /// others are brought back. Edits in files whose conflicts are not decided do not count.
    fn find_parts(
        &self,
        request: &Request,
        plan: &Plan,
        brings_back: bool,
        takes: &mut TurnsOfEdits,
    ) -> Result<()> {
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        let moved = |file: &'_ FilePlan| -> Vec<ChangeId> {
            file.taken_out
                .iter()
                .chain(&file.put_back)
                .copied()
                .collect()
        };
        let all: BTreeSet<ChangeId> = plan.files.iter().flat_map(moved).collect();
        // chosen lines: the rest of each edit stays
        let by_lines: BTreeSet<ChangeId> = plan
            .files
            .iter()
            .filter(|file| file.as_user && !request.hunks.is_empty())
            .flat_map(moved)
            .collect();
        let mut stays: BTreeMap<FileId, BTreeSet<ChangeId>> = BTreeMap::new();
        let turns: BTreeSet<TurnId> = takes.agents.keys().filter_map(|(_, turn)| *turn).collect();
        for turn in turns {
            for (id, _) in changed_files::edits_of_steps(conn, turn)? {
                if takes.parts.contains(&turn) {
                    break;
                }
                if all.contains(&id) {
                    if by_lines.contains(&id) {
                        takes.parts.insert(turn);
                    }
                    continue;
                }
                let change = history::change(conn, id)?;
                if TurnsOfEdits::turn_of(conn, &change)? != Some(turn) {
                    continue;
                }
                if conflicts(plan, &change).next().is_some() {
                    continue;
                }
                let stays = match stays.entry(change.file) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => {
                        let now = history::in_force(&ancestry, change.file, plan.head)?;
                        let stay = now.difference(&all).copied().collect();
                        entry.insert(without_returns(conn, change.file, &now, &stay)?)
                    }
                };
                // brought back: neither what is in force already nor what stays undone returns now
                if brings_back || stays.contains(&id) {
                    takes.parts.insert(turn);
                }
            }
        }
        Ok(())
    }

    /// Adds the edits since the target that a rewind leaves in force.
    fn add_staying(
        &self,
        request: &Request,
        plan: &Plan,
        target: NodeId,
        work: &mut PlannedWork,
    ) -> Result<()> {
        let conn = &self.engine.store.conn;
        let ancestry = Ancestry::new(conn);
        if !ancestry.is_ancestor(target, plan.head)? {
            return Ok(());
        }
        let moved: BTreeMap<FileId, BTreeSet<ChangeId>> = plan
            .files
            .iter()
            .map(|f| (f.file, f.taken_out.iter().copied().collect()))
            .collect();
        let (mut stays, mut own) = (TurnsOfEdits::default(), BTreeSet::new());
        let mut undecided = TurnsOfEdits::default();
        let files = self
            .engine
            .history()
            .files_between(&ancestry, plan.head, target)?;
        for file in files {
            let now = history::in_force(&ancestry, file, plan.head)?;
            let then = history::in_force(&ancestry, file, target)?;
            let planned = moved.get(&file);
            let stands = history::state_at(&ancestry, file, plan.head)?;
            let in_scope = request.paths.is_empty()
                || stands.as_ref().is_some_and(|placed| {
                    let mut scopes = request.paths.iter();
                    scopes.any(|scope| placed.path.within(scope.bytes()))
                });
            let mut stay: BTreeSet<ChangeId> = match planned {
                Some(out) => now.difference(out).copied().collect(),
                None => now.clone(),
            };
            if !in_scope || stay.is_subset(&then) {
                continue;
            }
            if planned.is_some() {
                stay = without_returns(conn, file, &now, &stay)?;
            }
            for id in stay.difference(&then) {
                let change = history::change(conn, *id)?;
                // everybody's work is to go: this waits for a decision
                if request.all_sessions
                    && change.origin.session.is_some()
                    && conflicts(plan, &change).any(|conflict| conflict.resolution.is_none())
                {
                    continue;
                }
                if plan.undecided.contains(id) {
                    undecided.add(conn, &change)?;
                    continue;
                }
                if !stays.add(conn, &change)?
                    && planned.is_some()
                    && !change.origin.is_uncertain()
                    && let Some(placed) = &stands
                {
                    own.insert(placed.path.clone());
                }
            }
        }
        work.undecided = undecided.turns(conn)?;
        work.stays = stays.turns(conn)?;
        work.own_stay = own.into_iter().collect();
        Ok(())
    }

    /// Returns the subject of a plan.
    pub fn subject(&self, plan: &Plan) -> Result<OperationSubject> {
        let (conn, here) = (&self.engine.store.conn, self.engine.here);
        // a plan to undo is of the kind Undo, whatever it undoes
        subject::find(conn, here, plan.kind, (&plan.target, &plan.limits), plan.of)
    }
}
