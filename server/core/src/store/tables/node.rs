//! Table `node`: the nodes of the history.

use rusqlite::{Connection, params};

use super::id_list::IdList;
use super::query::{Table, execute, exists};
use crate::error::{Error, Result};
use crate::model::{
    BranchId, CallId, Coverage, GitHead, Here, Kind, Node, NodeId, RootId, SessionId, Squashed,
    TurnId,
};
use crate::store::{self, now, to_json};

pub(super) const NODE: Table = Table("node");

/// A node to add.
pub(crate) struct NewNode<'a> {
    pub kind: Kind,
    pub session: Option<SessionId>,
    pub turn: Option<TurnId>,
    pub call: Option<CallId>,
    pub label: Option<&'a str>,
    pub git: &'a GitHead,
    pub coverage: &'a Coverage,
}

/// Adds a node after its parent. The branch still has its old head.
pub(crate) fn insert(
    conn: &Connection,
    here: Here,
    parent: Option<NodeId>,
    new: &NewNode<'_>,
) -> Result<NodeId> {
    let depth: i64 = match parent {
        None => 0,
        Some(parent) => depth(conn, parent)? + 1,
    };
    let sql =
        "INSERT INTO node (parent, depth, kind, branch, root, session, turn, call, label, time,
           git_head, git_branch, coverage) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)";
    let values = params![
        parent,
        depth,
        new.kind,
        here.branch,
        here.root,
        new.session,
        new.turn,
        new.call,
        new.label,
        now(),
        new.git.head,
        new.git.branch,
        coverage_column(new.coverage)?
    ];
    execute(conn, sql, values)?;
    Ok(NodeId(conn.last_insert_rowid()))
}

pub(crate) fn set_coverage(conn: &Connection, id: NodeId, coverage: &Coverage) -> Result<()> {
    let sql = "UPDATE node SET coverage = ?2 WHERE id = ?1";
    execute(conn, sql, params![id, coverage_column(coverage)?])?;
    Ok(())
}

/// The default is stored as NULL.
fn coverage_column(coverage: &Coverage) -> Result<Option<String>> {
    let is_incomplete = *coverage != Coverage::default();
    is_incomplete.then(|| to_json(coverage)).transpose()
}

pub(crate) fn set_description(conn: &Connection, id: NodeId, description: &str) -> Result<()> {
    let sql = "UPDATE node SET description = ?2 WHERE id = ?1";
    execute(conn, sql, params![id, description])?;
    Ok(())
}

pub(crate) fn set_label(conn: &Connection, id: NodeId, label: &str) -> Result<()> {
    let sql = "UPDATE node SET label = ?2 WHERE id = ?1";
    execute(conn, sql, params![id, label])?;
    Ok(())
}

pub(crate) fn set_turn(conn: &Connection, id: NodeId, turn: TurnId) -> Result<()> {
    let sql = "UPDATE node SET turn = ?1 WHERE id = ?2";
    execute(conn, sql, params![turn, id])?;
    Ok(())
}

/// A node as stored.
pub(crate) struct NodeRow {
    pub node: Node,
    /// Time of the last whole scan of its root.
    pub scanned: Option<i64>,
}

pub(crate) fn get(conn: &Connection, id: NodeId) -> Result<Option<NodeRow>> {
    type Texts = (Option<String>, Option<String>);
    let sql = "SELECT id, parent, depth, kind, branch, session, turn, call, label, time, git_head, git_branch,
           coverage, (SELECT scanned FROM root WHERE root.id = node.root), description, squashed
         FROM node WHERE id = ?1";
    let found: Option<(NodeRow, Texts)> = NODE.first(conn, sql, [id], |r| {
        let node = Node {
            id: r.get(0)?,
            parent: r.get(1)?,
            depth: r.get(2)?,
            kind: r.get(3)?,
            branch: r.get(4)?,
            session: r.get(5)?,
            turn: r.get(6)?,
            call: r.get(7)?,
            label: r.get(8)?,
            description: r.get(14)?,
            time: r.get(9)?,
            git: GitHead {
                head: r.get(10)?,
                branch: r.get(11)?,
            },
            coverage: Coverage::default(),
            squashed: None,
        };
        let scanned = r.get(13)?;
        Ok((NodeRow { node, scanned }, (r.get(12)?, r.get(15)?)))
    })?;
    let Some((mut row, (coverage, squashed))) = found else {
        return Ok(None);
    };
    if let Some(text) = coverage {
        row.node.coverage = store::json(conn, || format!("the coverage of {id}"), &text)?;
    }
    if let Some(text) = squashed {
        let what = || format!("the squashed nodes of {id}");
        row.node.squashed = Some(store::json(conn, what, &text)?);
    }
    Ok(Some(row))
}

/// Returns the branch that a node was made on.
pub(crate) fn branch_of(conn: &Connection, id: NodeId) -> Result<Option<BranchId>> {
    NODE.value_of(conn, "SELECT branch FROM node WHERE id = ?1", &id)
}

/// Returns the directory that a node was made in.
pub(crate) fn root_of(conn: &Connection, id: NodeId) -> Result<Option<RootId>> {
    NODE.value_of(conn, "SELECT root FROM node WHERE id = ?1", &id)
}

/// Returns the parent of a node.
pub(crate) fn parent_of(conn: &Connection, id: NodeId) -> Result<Option<NodeId>> {
    let parent = NODE.value_of(conn, "SELECT parent FROM node WHERE id = ?1", &id)?;
    parent.ok_or_else(|| Error::NoRevision(id.to_string()))
}

/// Returns the time of a node in microseconds since 1970.
pub(crate) fn time_of(conn: &Connection, id: NodeId) -> Result<Option<i64>> {
    NODE.value_of(conn, "SELECT time FROM node WHERE id = ?1", &id)
}

fn depth(conn: &Connection, id: NodeId) -> Result<i64> {
    let depth = NODE.value_of(conn, "SELECT depth FROM node WHERE id = ?1", &id)?;
    depth.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
}

pub(crate) fn is_there(conn: &Connection, id: NodeId) -> Result<bool> {
    exists(conn, "SELECT 1 FROM node WHERE id = ?1", [id])
}

/// Returns up to `limit` nodes with this label, oldest first.
pub(crate) fn with_label(conn: &Connection, label: &str, limit: usize) -> Result<Vec<NodeId>> {
    let sql = "SELECT id FROM node WHERE label = ?1 ORDER BY id LIMIT ?2";
    NODE.column(conn, sql, params![label, limit])
}

/// Returns the nodes of a branch, oldest first.
pub(crate) fn of_branch(conn: &Connection, branch: BranchId) -> Result<Vec<NodeId>> {
    let sql = "SELECT id FROM node WHERE branch = ?1 ORDER BY id";
    NODE.column(conn, sql, [branch])
}

/// Returns the nodes of a branch after `after` up to `upto`, newest first.
pub(crate) fn of_segment(
    conn: &Connection,
    branch: BranchId,
    after: Option<NodeId>,
    upto: NodeId,
) -> Result<Vec<NodeId>> {
    let sql = "SELECT id FROM node WHERE branch = ?1 AND id > ?2 AND id <= ?3 ORDER BY id DESC";
    let after = after.unwrap_or(NodeId(0));
    NODE.column(conn, sql, params![branch, after, upto])
}

/// Returns the first node of a branch after this one.
pub(crate) fn first_after(
    conn: &Connection,
    branch: Option<BranchId>,
    after: Option<NodeId>,
) -> Result<Option<NodeId>> {
    let sql = "SELECT MIN(id) FROM node WHERE branch = ?1 AND id > ?2";
    NODE.number(conn, sql, params![branch, after])
}

/// Returns the steps of a node's turn, oldest first.
pub(crate) fn steps_beside(conn: &Connection, id: NodeId) -> Result<Vec<NodeId>> {
    let sql = "SELECT id FROM node WHERE turn = (SELECT turn FROM node WHERE id = ?1) AND kind = ?2
         ORDER BY id";
    NODE.column(conn, sql, params![id, Kind::Step])
}

/// Returns the nodes with the edits of a turn, oldest first.
pub(crate) fn edits_of_turn(conn: &Connection, turn: TurnId) -> Result<Vec<NodeId>> {
    let sql = "SELECT id FROM node WHERE turn = ?1 AND kind IN (?2, ?3) ORDER BY id";
    NODE.column(conn, sql, params![turn, Kind::Step, Kind::External])
}

/// Returns the newest node of a call.
pub(crate) fn of_call(conn: &Connection, call: CallId) -> Result<Option<NodeId>> {
    NODE.number(conn, "SELECT MAX(id) FROM node WHERE call = ?1", [call])
}

/// Returns the nodes of a call and of those that overlapped with it, oldest first.
pub(crate) fn of_call_group(conn: &Connection, call: CallId) -> Result<Vec<NodeId>> {
    let sql = "SELECT id FROM node WHERE call IN
           (SELECT id FROM call WHERE id = ?1 OR grp = (SELECT COALESCE(grp, id) FROM call WHERE id = ?1)
              OR id = (SELECT grp FROM call WHERE id = ?1))
         ORDER BY id";
    NODE.column(conn, sql, [call])
}

/// Returns the newest node.
pub(crate) fn newest(conn: &Connection) -> Result<Option<NodeId>> {
    NODE.number(conn, "SELECT MAX(id) FROM node", [])
}

/// Returns the newest node of those that have `count` newer ones.
pub(crate) fn newest_beyond(conn: &Connection, count: i64) -> Result<Option<NodeId>> {
    let sql = "SELECT id FROM node ORDER BY id DESC LIMIT 1 OFFSET ?1";
    NODE.first(conn, sql, [count], |r| r.get(0))
}

/// True if there are more nodes than this.
pub(crate) fn are_more_than(conn: &Connection, count: i64) -> Result<bool> {
    exists(conn, "SELECT 1 FROM node LIMIT 1 OFFSET ?1", [count])
}

pub(crate) fn count(conn: &Connection) -> Result<i64> {
    NODE.number(conn, "SELECT COUNT(*) FROM node", [])
}

/// Returns the number of nodes of each kind that has any, the most frequent one first.
pub(crate) fn count_by_kind(conn: &Connection) -> Result<Vec<(Kind, i64)>> {
    let sql = "SELECT kind, COUNT(*) FROM node GROUP BY kind ORDER BY 2 DESC, kind";
    NODE.all(conn, sql, [], |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Returns the number of nodes with which a history begins.
pub(crate) fn count_starts(conn: &Connection) -> Result<i64> {
    let sql = "SELECT COUNT(*) FROM node WHERE parent IS NULL AND kind = ?1";
    NODE.number(conn, sql, [Kind::Manual])
}

/// Returns the times of the oldest and the newest node.
pub(crate) fn time_span(conn: &Connection) -> Result<(Option<i64>, Option<i64>)> {
    let sql = "SELECT MIN(time), MAX(time) FROM node";
    NODE.one(conn, sql, [], |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Returns the time of the oldest node that may be squashed.
pub(crate) fn oldest_unsquashed(conn: &Connection) -> Result<Option<i64>> {
    let sql = "SELECT id, time FROM node WHERE squashed IS NULL AND parent IS NOT NULL ORDER BY id LIMIT 1";
    NODE.first(conn, sql, [], |r| r.get(1))
}

/// The columns of a node that retention needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckpointRow {
    pub id: NodeId,
    pub branch: BranchId,
    pub turn: Option<TurnId>,
    pub time: i64,
    /// True if squashing it alone frees something: its turn or tool call.
    pub squashable_alone: bool,
}

/// Returns all nodes, oldest first.
pub(crate) fn checkpoints(conn: &Connection) -> Result<Vec<CheckpointRow>> {
    let sql = "SELECT id, branch, turn, time, turn IS NOT NULL OR kind IN (?1, ?2, ?3)
         FROM node ORDER BY id";
    let kinds = [Kind::Turn, Kind::Step, Kind::Rewind];
    NODE.all(conn, sql, kinds, |r| {
        Ok(CheckpointRow {
            id: r.get(0)?,
            branch: r.get(1)?,
            turn: r.get(2)?,
            time: r.get(3)?,
            squashable_alone: r.get(4)?,
        })
    })
}

/// Returns the nodes that stay whatever their age, as far as the history itself says: those at the ends of branches,
/// with a tag or a pin, and the first states.
pub(crate) fn retained<C: FromIterator<NodeId>>(conn: &Connection) -> Result<C> {
    let sql = "SELECT head FROM branch WHERE head IS NOT NULL
         UNION SELECT fork_point FROM branch WHERE fork_point IS NOT NULL
         UNION SELECT node FROM tag UNION SELECT node FROM pin
         UNION SELECT id FROM node WHERE parent IS NULL";
    NODE.column(conn, sql, [])
}

/// Makes a node stand for those from `first` up to it.
pub(crate) fn squash_into(
    conn: &Connection,
    into: NodeId,
    first: NodeId,
    (summary, coverage): (&Squashed, &Coverage),
) -> Result<()> {
    let sql =
        "UPDATE node SET kind = ?5, label = NULL, description = NULL, squashed = ?3, coverage = ?4,
           parent = (SELECT parent FROM node WHERE id = ?2) WHERE id = ?1";
    let summary = to_json(summary)?;
    let values = params![
        into,
        first,
        summary,
        coverage_column(coverage)?,
        Kind::Squash
    ];
    execute(conn, sql, values)?;
    Ok(())
}

/// Fills `IdList::SquashedNodes` with these nodes.
pub(crate) fn list_squashed(conn: &Connection, nodes: &[NodeId]) -> Result<()> {
    let list = IdList::SquashedNodes;
    list.begin(conn)?;
    let sql = format!("INSERT INTO {} (id) VALUES (?1)", list.table());
    for node in nodes {
        execute(conn, &sql, [node])?;
    }
    Ok(())
}

/// Keeps nodes without their session, and without these turns and calls.
pub(crate) fn detach(conn: &Connection, nodes: IdList, turns: IdList, calls: IdList) -> Result<()> {
    for (column, key, ids) in [
        ("session", "id", nodes.ids()),
        ("turn", "turn", turns.ids()),
        ("call", "call", calls.ids()),
    ] {
        let sql = format!("UPDATE node SET {column} = NULL WHERE {key} IN {ids}");
        execute(conn, &sql, [])?;
    }
    Ok(())
}

pub(crate) fn delete(conn: &Connection, id: NodeId) -> Result<()> {
    execute(conn, "DELETE FROM node WHERE id = ?1", [id])?;
    Ok(())
}
