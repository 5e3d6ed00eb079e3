//! Table `operation`: restores, switches and named places, each with its state. Their journals are in `journal`.

use std::collections::HashSet;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::conversation;
use super::damage::{InRow, read_all, stored_as};
use super::id_list::IdList;
use crate::error::Result;
use crate::model::{BranchId, DirChange, Here, NodeId, OpId, RelPath, RootId, bytes_path};
use crate::store::{json, now, to_json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    Rewind,
    Revert,
    Undo,
    Redo,
    Switch,
    Fork,
    Branch,
    Tag,
    /// The outcome of a restore that waited for a save was written to disk.
    Save,
}
stored_as!(OpKind as text, "kind of an operation", {
    Rewind = "rewind",
    Revert = "revert",
    Undo = "undo",
    Redo = "redo",
    Switch = "switch",
    Fork = "fork",
    Branch = "branch",
    Tag = "tag",
    Save = "save",
});

impl OpKind {
    pub fn name(self) -> &'static str {
        self.stored()
    }

    /// True if it is not a step of the history: it only named something, or completed another
    /// operation.
    pub fn is_aside(self) -> bool {
        self.names_only() || self == Self::Save
    }

    /// True if it only named something and moved no file.
    pub fn names_only(self) -> bool {
        matches!(self, Self::Fork | Self::Branch | Self::Tag)
    }
}

/// State of an operation as the journal needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpPhase {
    /// Exchanging forwards.
    Open,
    /// Rolling the exchanges back.
    Backwards,
    /// The node is recorded. The temporary names remain to be removed.
    Recorded,
    Done,
    /// Some paths were skipped.
    Incomplete,
    RolledBack,
}
stored_as!(OpPhase as text, "state of an operation", {
    Open = "open",
    Backwards = "backwards",
    Recorded = "recorded",
    Done = "done",
    Incomplete = "incomplete",
    RolledBack = "rolled back",
});

/// State of an operation as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpState {
    /// In progress, or interrupted: the next start of Backstitch finishes it.
    Open,
    Done,
    /// Some paths were skipped, since another process was writing them.
    Incomplete,
    RolledBack,
}

impl OpState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Incomplete => "incomplete",
            Self::RolledBack => "rolled back",
        }
    }
}

impl From<OpPhase> for OpState {
    fn from(phase: OpPhase) -> Self {
        match phase {
            OpPhase::Open | OpPhase::Backwards | OpPhase::Recorded => Self::Open,
            OpPhase::Done => Self::Done,
            OpPhase::Incomplete => Self::Incomplete,
            OpPhase::RolledBack => Self::RolledBack,
        }
    }
}

/// The part of its target that a restore is limited to. The default is all of it.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RestoreLimits {
    /// Files or directories. Empty means all.
    pub paths: Vec<RelPath>,
    /// True if only some lines of the files were chosen.
    pub lines: bool,
}

impl RestoreLimits {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    fn to_column(&self) -> Result<String> {
        if self.is_none() {
            return Ok(String::new());
        }
        to_json(self)
    }
}

#[derive(Clone, Debug)]
pub struct Operation {
    pub id: OpId,
    pub kind: OpKind,
    pub node: Option<NodeId>,
    pub target: String,
    pub limits: RestoreLimits,
    pub time: i64,
    pub state: OpState,
    /// The operation that an undo or redo is for.
    pub of: Option<OpId>,
    pub files: usize,
    /// The undo of all of it. An undo that is limited to some files leaves it to be undone.
    pub undone_by: Option<OpId>,
    /// The parts that were skipped, and why; empty if none.
    pub detail: String,
    pub root: RootId,
    /// The branch that it was done on.
    pub branch: BranchId,
    /// For a switch: the target branch.
    pub to_branch: Option<BranchId>,
}

impl Operation {
    pub fn is_finished(&self) -> bool {
        matches!(self.state, OpState::Done | OpState::Incomplete)
    }
}

/// Condition for operations under way. It is the one of the index `operation_open`.
const UNFINISHED: &str = "state IN ('open', 'backwards', 'recorded')";

const SELECT: &str = "SELECT o.id, o.kind, o.node, o.target, o.time, o.state, o.of,
    (SELECT COUNT(*) FROM journal_file f WHERE f.operation = o.id
       AND (f.before_path IS NOT f.after_path OR f.before_image IS NOT f.after_image)),
    (SELECT MAX(u.id) FROM operation u WHERE u.of = o.id AND u.kind = 'undo' AND u.state IN ('done','incomplete')
       AND u.limits = '' AND NOT EXISTS (SELECT 1 FROM operation r WHERE r.of = o.id AND r.kind = 'redo' AND r.id > u.id
                       AND r.state IN ('done','incomplete'))),
    o.detail, o.root, o.branch, o.to_branch, o.limits FROM operation o";

fn read(r: &Row<'_>) -> rusqlite::Result<Operation> {
    Ok(Operation {
        id: r.get(0)?,
        kind: r.get(1)?,
        node: r.get(2)?,
        target: r.get(3)?,
        time: r.get(4)?,
        state: r.get::<_, OpPhase>(5)?.into(),
        of: r.get(6)?,
        files: r.get(7)?,
        undone_by: r.get(8)?,
        detail: r.get(9)?,
        root: r.get(10)?,
        branch: r.get(11)?,
        to_branch: r.get(12)?,
        limits: limits_at(r, 13)?,
    })
}

fn limits_at(r: &Row<'_>, column: usize) -> rusqlite::Result<RestoreLimits> {
    let text: String = r.get(column)?;
    if text.is_empty() {
        return Ok(RestoreLimits::default());
    }
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
    })
}

/// Returns all operations, newest first.
pub(crate) fn all(conn: &Connection) -> Result<Vec<Operation>> {
    let mut select = conn.prepare_cached(&format!("{SELECT} ORDER BY o.id DESC"))?;
    let rows = select.query([])?;
    read_all(conn, "operation", rows, read)
}

pub(crate) fn row(conn: &Connection, id: OpId) -> Result<Operation> {
    conn.prepare_cached(&format!("{SELECT} WHERE o.id = ?1"))?
        .query_row([id], read)
        .in_row(conn, || format!("row {} of table operation", id.0))
}

/// Reads every row. Returns the errors of damaged ones.
pub(crate) fn damaged(conn: &Connection) -> Result<Vec<crate::error::Error>> {
    let mut select = conn.prepare("SELECT id FROM operation ORDER BY id")?;
    let ids = select.query_map([], |r| r.get::<_, OpId>(0))?;
    let mut damaged = Vec::new();
    for id in ids {
        damaged.extend(row(conn, id?).err());
    }
    Ok(damaged)
}

pub(crate) fn exists(conn: &Connection, id: OpId) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM operation WHERE id = ?1")?
        .exists([id])?)
}

pub(crate) fn newest(conn: &Connection) -> Result<Option<OpId>> {
    Ok(conn
        .prepare_cached("SELECT MAX(id) FROM operation")?
        .query_row([], |r| r.get(0))?)
}

/// Counts the operations that are no longer under way.
pub(crate) fn count_finished(conn: &Connection) -> Result<i64> {
    let sql = format!("SELECT COUNT(*) FROM operation WHERE NOT ({UNFINISHED})");
    Ok(conn.prepare_cached(&sql)?.query_row([], |r| r.get(0))?)
}

/// Returns the restore that made a node, or the switch that left one on its way.
pub(crate) fn of_node(conn: &Connection, node: NodeId) -> Result<Option<OpId>> {
    Ok(conn
        .prepare_cached(
            "SELECT id FROM operation WHERE node = ?1 AND to_branch IS NULL
             UNION ALL SELECT id FROM operation WHERE made = ?1",
        )?
        .query_row([node], |r| r.get(0))
        .optional()?)
}

/// An operation to begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewOperation<'a> {
    pub kind: OpKind,
    pub of: Option<OpId>,
    pub target: &'a str,
    pub limits: &'a RestoreLimits,
    pub to_branch: Option<BranchId>,
    /// Directories that it makes, removes and changes.
    pub directories: &'a [DirChange],
    /// Name of the machine that may carry its journal out.
    pub machine: Option<&'a str>,
}

pub(crate) fn insert(conn: &Connection, here: Here, new: &NewOperation<'_>) -> Result<OpId> {
    conn.execute(
        "INSERT INTO operation (kind, root, branch, of, target, time, to_branch, machine, state, limits,
           directories)
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
        params![
            new.kind,
            here.root,
            here.branch,
            new.of,
            new.target,
            now(),
            new.to_branch,
            new.machine,
            OpPhase::Open,
            new.limits.to_column()?,
            match new.directories {
                [] => String::new(),
                all => to_json(&all)?,
            }
        ],
    )?;
    Ok(OpId(conn.last_insert_rowid()))
}

/// Returns the directories that an operation makes, removes and changes.
pub(crate) fn directories(conn: &Connection, op: OpId) -> Result<Vec<DirChange>> {
    let text: String = conn
        .prepare_cached("SELECT directories FROM operation WHERE id = ?1")?
        .query_row([op], |r| r.get(0))?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    json(conn, || format!("the directories of {op}"), &text)
}

/// Adds an operation that is done: it named something.
pub(crate) fn insert_done(
    conn: &Connection,
    here: Here,
    kind: OpKind,
    (target, detail): (&str, &str),
) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO operation (kind, root, branch, target, node, time, state, detail)
         VALUES (?1,?2,?3,?4,NULL,?5,?6,?7)",
    )?
    .execute(params![
        kind,
        here.root,
        here.branch,
        target,
        now(),
        OpPhase::Done,
        detail
    ])?;
    Ok(())
}

/// Operation under way.
#[derive(Clone, Debug)]
pub(crate) struct UnfinishedOperation {
    pub id: OpId,
    pub phase: OpPhase,
    /// Name of the machine that began it.
    pub machine: Option<String>,
}

/// Returns the oldest operation under way in a root.
pub(crate) fn unfinished(conn: &Connection, root: RootId) -> Result<Option<UnfinishedOperation>> {
    let read = |r: &Row<'_>| {
        Ok(UnfinishedOperation {
            id: r.get(0)?,
            phase: r.get(1)?,
            machine: r.get(2)?,
        })
    };
    let sql = format!(
        "SELECT id, state, machine FROM operation WHERE {UNFINISHED} AND root = ?1 ORDER BY id LIMIT 1"
    );
    conn.prepare_cached(&sql)?
        .query_row([root], read)
        .optional()
        .in_row(conn, || format!("an operation of root {}", root.0))
}

/// Returns an operation of any root whose files are being exchanged.
pub(crate) fn exchanging(conn: &Connection) -> Result<Option<OpId>> {
    Ok(conn
        .query_row(
            "SELECT id FROM operation WHERE state IN (?1, ?2)",
            [OpPhase::Open, OpPhase::Backwards],
            |r| r.get(0),
        )
        .optional()?)
}

/// Returns the path of a root with an operation under way.
pub(crate) fn unfinished_root(conn: &Connection) -> Result<Option<PathBuf>> {
    let sql = format!(
        "SELECT r.path FROM operation o JOIN root r ON r.id = o.root WHERE o.{UNFINISHED} LIMIT 1"
    );
    let path: Option<Vec<u8>> = conn
        .prepare_cached(&sql)?
        .query_row([], |r| r.get(0))
        .optional()?;
    Ok(path.map(|path| bytes_path(&path)))
}

/// True if an operation under way has no machine.
pub(crate) fn any_without_machine(conn: &Connection) -> Result<bool> {
    let sql = format!("SELECT 1 FROM operation WHERE {UNFINISHED} AND machine IS NULL LIMIT 1");
    Ok(conn.prepare_cached(&sql)?.exists([])?)
}

/// Gives the operations under way without a machine this one.
pub(crate) fn adopt(conn: &Connection, machine: Option<&str>) -> Result<()> {
    let sql = format!("UPDATE operation SET machine = ?1 WHERE {UNFINISHED} AND machine IS NULL");
    conn.prepare_cached(&sql)?.execute([machine])?;
    Ok(())
}

pub(crate) fn set_phase(conn: &Connection, op: OpId, phase: OpPhase) -> Result<()> {
    conn.prepare_cached("UPDATE operation SET state = ?2 WHERE id = ?1")?
        .execute(params![op, phase])?;
    Ok(())
}

pub(crate) fn set_outcome(conn: &Connection, op: OpId, phase: OpPhase, detail: &str) -> Result<()> {
    conn.prepare_cached("UPDATE operation SET state = ?2, detail = ?3 WHERE id = ?1")?
        .execute(params![op, phase, detail])?;
    Ok(())
}

/// Records the node of an operation. A switch has a target, and may have made another node.
pub(crate) fn set_recorded(
    conn: &Connection,
    op: OpId,
    (node, made): (NodeId, Option<NodeId>),
    detail: &str,
) -> Result<()> {
    conn.prepare_cached(
        "UPDATE operation SET node = ?2, made = ?3, state = ?4, detail = ?5 WHERE id = ?1",
    )?
    .execute(params![op, node, made, OpPhase::Recorded, detail])?;
    Ok(())
}

/// Ends an operation that was begun elsewhere, without a look at its journal.
pub(crate) fn disown(conn: &Connection, op: OpId, why: &str) -> Result<()> {
    conn.prepare_cached(
        "UPDATE operation SET detail = ?2, state = CASE WHEN node IS NULL THEN ?3 ELSE ?4 END WHERE id = ?1",
    )?
    .execute(params![op, why, OpPhase::RolledBack, OpPhase::Incomplete])?;
    Ok(())
}

/// Marks the fork that created a branch as rolled back.
pub(crate) fn roll_back_fork(conn: &Connection, branch: Option<BranchId>) -> Result<()> {
    conn.execute(
        "UPDATE operation SET state = ?2 WHERE id =
           (SELECT MAX(o.id) FROM operation o JOIN branch b ON b.name = o.target
            WHERE o.kind = ?3 AND b.id = ?1)",
        params![branch, OpPhase::RolledBack, OpKind::Fork],
    )?;
    Ok(())
}

/// Returns the nodes of operations that are under way, have a pending save, or brought a root to its branch.
pub(crate) fn retained_nodes(conn: &Connection) -> Result<HashSet<NodeId>> {
    let sql = format!(
        "SELECT node FROM operation WHERE node IS NOT NULL AND ({UNFINISHED}
           OR id IN (SELECT operation FROM pending_save WHERE operation IS NOT NULL)
           OR id IN (SELECT MAX(id) FROM operation WHERE to_branch IS NOT NULL GROUP BY root, to_branch))"
    );
    let mut select = conn.prepare_cached(&sql)?;
    let rows = select.query([])?;
    read_all(conn, "operation", rows, |r| r.get(0))
}

/// Returns pairs of nodes that belong together: of an operation and its undo or redo, and the two of a switch.
pub(crate) fn paired_nodes(conn: &Connection) -> Result<Vec<(NodeId, NodeId)>> {
    let mut select = conn.prepare_cached(
        "SELECT a.node, b.node FROM operation a JOIN operation b ON b.of = a.id
           WHERE a.node IS NOT NULL AND b.node IS NOT NULL
         UNION SELECT node, made FROM operation WHERE node IS NOT NULL AND made IS NOT NULL",
    )?;
    let rows = select.query([])?;
    read_all(conn, "operation", rows, |r| Ok((r.get(0)?, r.get(1)?)))
}

/// Lists the operations of squashed nodes.
pub(crate) fn list_squashed(conn: &Connection) -> Result<()> {
    let (into, nodes) = (
        IdList::SquashedOperations.table(),
        IdList::SquashedNodes.ids(),
    );
    conn.execute_batch(&format!(
        "INSERT INTO {into} SELECT id FROM main.operation WHERE node IN {nodes} OR made IN {nodes};"
    ))?;
    Ok(())
}

/// Lists the finished operations before a time that made no node, and that nothing names. The newest one stays, and so do
/// switches: they record when a directory came to its branch.
pub(crate) fn list_stray(conn: &Connection, time: i64) -> Result<()> {
    let into = IdList::StrayOperations.table();
    let sql = format!(
        "INSERT INTO {into} SELECT id FROM main.operation o WHERE time < ?1
           AND node IS NULL AND made IS NULL AND to_branch IS NULL AND NOT ({UNFINISHED})
           AND NOT EXISTS (SELECT 1 FROM main.operation u WHERE u.of = o.id)
           AND id NOT IN (SELECT operation FROM main.pending_save WHERE operation IS NOT NULL)
           AND id < (SELECT MAX(id) FROM main.operation)"
    );
    conn.execute(&sql, [time])?;
    Ok(())
}

/// Deletes operations whose journals and pending saves name them no longer.
pub(crate) fn delete(conn: &Connection, operations: IdList) -> Result<()> {
    let ids = operations.ids();
    conn.execute(
        &format!("UPDATE operation SET of = NULL WHERE of IN {ids}"),
        [],
    )?;
    conversation::forget_operations(conn, &ids)?;
    conn.execute(&format!("DELETE FROM operation WHERE id IN {ids}"), [])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index `operation_open` is used only for literals, so the statements above have them.
    #[test]
    fn literals_in_statements_are_the_values_of_the_enums() {
        let [open, backwards, recorded] =
            [OpPhase::Open, OpPhase::Backwards, OpPhase::Recorded].map(OpPhase::stored);
        assert_eq!(
            UNFINISHED,
            format!("state IN ('{open}', '{backwards}', '{recorded}')")
        );
        for kind in [OpKind::Undo, OpKind::Redo] {
            assert!(SELECT.contains(&format!(".kind = '{}'", kind.stored())));
        }
        let [done, incomplete] = [OpPhase::Done, OpPhase::Incomplete].map(OpPhase::stored);
        let finished = format!(".state IN ('{done}','{incomplete}')");
        assert_eq!(SELECT.matches(&finished).count(), 2);
    }

    #[test]
    fn the_states_for_people_have_the_stored_names() {
        for phase in [
            OpPhase::Open,
            OpPhase::Done,
            OpPhase::Incomplete,
            OpPhase::RolledBack,
        ] {
            assert_eq!(OpState::from(phase).name(), phase.stored());
        }
    }

    /// A conversation stays where the restore goes that it was made with, and no row refers to what is gone.
    #[test]
    fn operations_of_conversations_go() {
        let conn = crate::store::migrate::in_memory();
        conn.execute_batch(
            "PRAGMA foreign_keys=OFF;
             INSERT INTO conversation (id, turn, how, command, operation, created) VALUES (1, 1, 0, '{}', 7, 0), (2, 1, 0, '{}', 8, 0);",
        )
        .expect("rows");
        let list = IdList::SquashedOperations;
        list.begin(&conn).expect("a list");
        let table = list.table();
        conn.execute_batch(&format!("INSERT INTO {table} VALUES (7)"))
            .expect("an id");
        delete(&conn, list).expect("deleted");
        let left = conversation::made(&conn).expect("rows");
        let left: Vec<Option<OpId>> = left.iter().map(|row| row.operation).collect();
        assert_eq!(left, [Some(OpId(8)), None]);
    }

    #[test]
    fn a_damaged_operation_is_an_error_that_names_the_row() {
        let conn = crate::store::migrate::in_memory();
        conn.execute_batch(
            "INSERT INTO root (id, path) VALUES (1, x'2f61');
             INSERT INTO branch (id, name, created) VALUES (1, 'main', 0);
             INSERT INTO operation (id, kind, root, branch, target, time, state)
               VALUES (3, 'rewind', 1, 1, 't1', 0, 'done'), (4, 'bake', 1, 1, 't1', 0, 'done');",
        )
        .expect("rows");
        let said = all(&conn).expect_err("damage").to_string();
        assert!(
            said.ends_with(
                "row 4 of table operation is damaged: `bake` is no kind of an operation"
            ),
            "{said}"
        );
        assert!(row(&conn, OpId(3)).is_ok());
        conn.execute(
            "UPDATE operation SET kind = 'undo', state = '' WHERE id = 4",
            [],
        )
        .expect("a row");
        let found = damaged(&conn).expect("read");
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .to_string()
                .ends_with("`` is no state of an operation"),
            "{found:?}"
        );
    }
}
