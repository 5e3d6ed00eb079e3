//! Squashes a range of checkpoints into its last one, with their combined changes. The files after it stay the same,
//! and all sets of edits in force are rewritten to match.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::Connection;

use super::plan::SquashRange;
use crate::error::Result;
use crate::history::{self, Ancestry};
use crate::model::{
    Certainty, Change, ChangeId, Coverage, CoverageItem, FileId, NodeId, Origin, Reason, Role,
    SessionId, Squashed,
};
use crate::store::tables::change::{self, MergedChange};
use crate::store::tables::id_list::IdList;
use crate::store::tables::{
    blame, call, counted, event, file, hunks, journal, moved, node, node_text, operation,
    pending_save, reserved, session, turn, version, words,
};
use crate::worktree::{directories, file_state};

/// Result of squashing a range.
pub(super) enum SquashOutcome {
    Done,
    /// The range stays as it is.
    Left,
    /// The facts of the plan are out of date.
    Stale,
}

/// Squashes one range. The caller must roll back unless the result is `Done`: the range is inconsistent, or an agent
/// has begun a call of it after `alive`.
pub(super) fn squash(conn: &Connection, range: &SquashRange, alive: i64) -> Result<SquashOutcome> {
    let Some((into, gone)) = range.nodes.split_last() else {
        return Ok(SquashOutcome::Left);
    };
    let all: HashSet<NodeId> = range.nodes.iter().copied().collect();
    let (summary, coverage) = summary(conn, range)?;
    let mut files: BTreeMap<FileId, Vec<Change>> = BTreeMap::new();
    for node in &range.nodes {
        for change in history::changes_of_node(conn, *node)? {
            files.entry(change.file).or_default().push(change);
        }
    }
    let ancestry = Ancestry::new(conn);
    for (file, mut changes) in files {
        changes.sort_unstable_by_key(|c| c.id);
        if !merge_changes(conn, &ancestry, file, &changes, &all, *into)? {
            return Ok(SquashOutcome::Left);
        }
    }
    fill_temp_tables(conn, &range.nodes)?;
    if call::any_open(conn, IdList::SquashedCalls, alive)? {
        return Ok(SquashOutcome::Stale);
    }
    move_references(conn, *into)?;
    delete_attached(conn)?;
    replace_nodes(conn, &range.nodes, *into, gone, (&summary, &coverage))?;
    Ok(SquashOutcome::Done)
}

/// Maximum number of coverage items that a squashed checkpoint keeps.
const MAX_ITEMS: usize = 500;

/// Returns the combined counts and coverage of the range.
fn summary(conn: &Connection, range: &SquashRange) -> Result<(Squashed, Coverage)> {
    let mut out = Squashed::default();
    let (mut coverage, mut known, mut more) = (Coverage::default(), HashSet::new(), 0_usize);
    let mut noted = Vec::new();
    let mut turns = BTreeSet::new();
    let mut agents = BTreeSet::new();
    for id in &range.nodes {
        let node = history::node(conn, *id)?;
        coverage.captured += node.coverage.captured;
        coverage.ignored = node.coverage.ignored;
        noted.extend_from_slice(node.coverage.noted_changes());
        coverage.directories.extend(node.coverage.directories);
        for item in node.coverage.items {
            if !known.insert((item.path.clone(), item.reason, item.detail.clone())) {
                continue;
            }
            if coverage.items.len() < MAX_ITEMS {
                coverage.items.push(item);
            } else {
                more += 1;
            }
        }
        let single = Squashed {
            checkpoints: 1,
            since: node.time,
            ..Squashed::default()
        };
        let one = node.squashed.unwrap_or(single);
        out.checkpoints += one.checkpoints;
        out.turns += one.turns;
        out.since = earliest(out.since, one.since);
        agents.extend(one.agents);
        turns.extend(node.turn.map(|turn| turn.0));
        if let Some(session) = node.session {
            agents.insert(session::row(conn, session)?.agent);
        }
    }
    coverage.directories = directories::joined(std::mem::take(&mut coverage.directories));
    coverage.set_noted(directories::joined(noted));
    out.turns += turns.len() as u64;
    out.agents = agents.into_iter().collect();
    if more > 0 {
        coverage.items.push(CoverageItem {
            path: b".".to_vec(),
            reason: Reason::Failed,
            detail: format!("{more} more were not captured; their names were not kept"),
        });
    }
    Ok((out, coverage))
}

fn earliest(a: i64, b: i64) -> i64 {
    if a == 0 { b } else { a.min(b) }
}

/// Merges the changes of one file into one edit or none. Returns `false` if they are inconsistent.
fn merge_changes(
    conn: &Connection,
    ancestry: &Ancestry<'_>,
    file: FileId,
    changes: &[Change],
    all: &HashSet<NodeId>,
    into: NodeId,
) -> Result<bool> {
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
        return Ok(true);
    };
    let mut in_force: BTreeSet<ChangeId> = BTreeSet::new();
    let ids: HashSet<ChangeId> = changes.iter().map(|c| c.id).collect();
    for change in changes {
        if change.role == Role::Edit {
            in_force.insert(change.id);
            continue;
        }
        let (taken_out, put_back) = history::moved_by(conn, change.id)?;
        if taken_out.iter().chain(&put_back).any(|m| !ids.contains(m)) {
            return Ok(false);
        }
        for member in taken_out {
            in_force.remove(&member);
        }
        in_force.extend(put_back);
    }
    let is_change = first.before != last.after;
    if is_change && in_force.is_empty() {
        // equal sets must have equal states, so the record is inconsistent
        return Ok(false);
    }
    let kept = in_force.last().copied().filter(|_| is_change);
    let before = change::set_after(conn, last.id)?.without(&in_force);
    // members to remove from the sets of all later changes
    let dropped: BTreeSet<ChangeId> = in_force
        .iter()
        .copied()
        .filter(|member| Some(*member) != kept)
        .collect();
    let alone = changes.len() == 1 && kept == Some(first.id);
    let merged: Vec<ChangeId> = changes.iter().map(|c| c.id).collect();
    let deleted = || merged.iter().copied().filter(|id| Some(*id) != kept);
    for change in deleted() {
        moved::delete_of_restore(conn, change)?;
        delete_cached(conn, change)?;
    }
    for change in deleted() {
        change::delete(conn, change)?;
    }
    if let Some(kept) = kept {
        let members: Vec<&Change> = changes
            .iter()
            .filter(|c| in_force.contains(&c.id))
            .collect();
        let made_dirs = first
            .before
            .is_none()
            .then(|| changes.iter().map(|c| c.made_dirs).max());
        let merged = MergedChange {
            node: into,
            before: &first.before,
            after: &last.after,
            origin: origin(&members),
            made_dirs: made_dirs.flatten().unwrap_or(0),
            set: before.toggled(kept),
        };
        change::replace(conn, kept, &merged)?;
    }
    if alone {
        return Ok(true);
    }
    if let Some(kept) = kept {
        delete_cached(conn, kept)?;
    }
    rewrite_sets(conn, ancestry, file, all, into, &dropped)?;
    Ok(true)
}

/// Deletes the cached lines of a change.
fn delete_cached(conn: &Connection, change: ChangeId) -> Result<()> {
    counted::delete(conn, change)?;
    hunks::delete(conn, change)
}

/// Origin of a merged edit: the session of its members if they share one. It belongs to no step.
fn origin(members: &[&Change]) -> Origin {
    let sessions: BTreeSet<Option<SessionId>> = members.iter().map(|c| c.origin.session).collect();
    let sure = members.iter().all(|c| !c.origin.is_uncertain());
    match (sessions.len(), sessions.first(), sure) {
        (1, Some(None), true) => Origin::USER,
        (1, Some(session), true) => Origin {
            session: *session,
            call: None,
            session_certainty: Certainty::Certain,
            step_certainty: Certainty::Uncertain,
        },
        _ => Origin {
            session: None,
            call: None,
            session_certainty: Certainty::Uncertain,
            step_certainty: Certainty::Uncertain,
        },
    }
}

/// Removes the dropped members from the sets of later changes, and rebuilds the recorded states from the changes
/// that are left.
fn rewrite_sets(
    conn: &Connection,
    ancestry: &Ancestry<'_>,
    file: FileId,
    all: &HashSet<NodeId>,
    into: NodeId,
    dropped: &BTreeSet<ChangeId>,
) -> Result<()> {
    let mut states = Vec::new();
    for (change, set) in history::changes_with_sets(conn, file)? {
        let above = !all.contains(&change.node) && ancestry.is_ancestor(into, change.node)?;
        let now = if above { set.without(dropped) } else { set };
        if now != set {
            change::set_set(conn, change.id, now)?;
        }
        states.push((now, change.after));
    }
    blame::delete_of_file(conn, file)?;
    version::delete_edited(conn, file)?;
    for (set, state) in states {
        version::insert(conn, file, set, &state)?;
    }
    Ok(())
}

/// Points references of files to their first checkpoint at the checkpoint that is left.
fn move_references(conn: &Connection, into: NodeId) -> Result<()> {
    file_state::move_since(conn, IdList::SquashedNodes, into)?;
    file::move_since(conn, IdList::SquashedNodes, into)?;
    file::move_adopted(conn, IdList::SquashedNodes, into)
}

/// Fills temporary tables with the ids of the squashed checkpoints and the rows deleted with them. This scans each
/// table once; an index by checkpoint would cost every hook.
fn fill_temp_tables(conn: &Connection, nodes: &[NodeId]) -> Result<()> {
    for list in [
        IdList::SquashedTurns,
        IdList::SquashedCalls,
        IdList::SquashedOperations,
    ] {
        list.begin(conn)?;
    }
    node::list_squashed(conn, nodes)?;
    // all checkpoints of a turn are squashed, but maybe in several ranges
    turn::list_squashed(conn)?;
    call::list_squashed(conn)?;
    operation::list_squashed(conn)?;
    Ok(())
}

/// Deletes turns, tool calls, operations and unsaved text of the squashed checkpoints.
fn delete_attached(conn: &Connection) -> Result<()> {
    delete_operations(conn, IdList::SquashedOperations)?;
    let (turns, calls) = (IdList::SquashedTurns, IdList::SquashedCalls);
    node::detach(conn, IdList::SquashedNodes, turns, calls)?;
    change::detach_calls(conn, calls)?;
    call::dissolve_groups(conn, calls)?;
    event::detach_turns(conn, turns)?;
    delete_calls(conn, calls)?;
    call::detach_turns(conn, turns)?;
    turn::delete(conn, turns)?;
    node_text::delete(conn, IdList::SquashedNodes)?;
    words::delete(conn, IdList::SquashedNodes)
}

/// Deletes calls with their events and reserved paths.
pub(super) fn delete_calls(conn: &Connection, calls: IdList) -> Result<()> {
    event::delete_of_calls(conn, calls)?;
    reserved::delete(conn, calls)?;
    call::delete(conn, calls)
}

/// Deletes operations with their journals.
pub(super) fn delete_operations(conn: &Connection, operations: IdList) -> Result<()> {
    journal::delete(conn, operations)?;
    pending_save::detach_operations(conn, operations)?;
    operation::delete(conn, operations)
}

fn replace_nodes(
    conn: &Connection,
    nodes: &[NodeId],
    into: NodeId,
    gone: &[NodeId],
    (summary, coverage): (&Squashed, &Coverage),
) -> Result<()> {
    let Some(first) = nodes.first() else {
        return Ok(());
    };
    node::squash_into(conn, into, *first, (summary, coverage))?;
    gone.iter().rev().try_for_each(|id| node::delete(conn, *id))
}
