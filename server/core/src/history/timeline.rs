//! The history for display: rows of the timeline, and operations.

use rusqlite::{Connection, Row};

use crate::error::Result;
use crate::model::{
    BranchId, Call, CallId, Change, Node, NodeId, OpId, RootId, Session, SessionId, Turn, TurnId,
};
use crate::store::tables::node_text::Unsaved;

/// One row of the timeline.
#[derive(Clone, Debug)]
pub struct Entry {
    pub node: Node,
    pub branch: String,
    pub tags: Vec<String>,
    /// Kept by `gc`.
    pub pinned: bool,
    pub session: Option<Session>,
    pub turn: Option<Turn>,
    pub call: Option<Call>,
    pub changes: Vec<EntryChange>,
    /// True if it has edits and none of them is in force any more. Checked at the head, or at the
    /// head of its own branch if the node is not an ancestor of the head.
    pub taken_out: bool,
    /// The operation of a rewind.
    pub operation: Option<Operation>,
    /// Unsaved text at that moment, besides the state on disk.
    pub unsaved: Vec<Unsaved>,
}

#[derive(Clone, Debug)]
pub struct EntryChange {
    pub change: Change,
    pub added: usize,
    pub removed: usize,
    pub binary: bool,
}

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

impl OpKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Rewind => "rewind",
            Self::Revert => "revert",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Switch => "switch",
            Self::Fork => "fork",
            Self::Branch => "branch",
            Self::Tag => "tag",
            Self::Save => "save",
        }
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

    fn parse(name: &str) -> Self {
        match name {
            "revert" => Self::Revert,
            "undo" => Self::Undo,
            "redo" => Self::Redo,
            "switch" => Self::Switch,
            "fork" => Self::Fork,
            "branch" => Self::Branch,
            "tag" => Self::Tag,
            "save" => Self::Save,
            _ => Self::Rewind,
        }
    }
}

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

#[derive(Clone, Debug)]
pub struct Operation {
    pub id: OpId,
    pub kind: OpKind,
    pub node: Option<NodeId>,
    pub target: String,
    pub time: i64,
    pub state: OpState,
    /// The operation that an undo or redo is for.
    pub of: Option<OpId>,
    pub files: usize,
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

pub(crate) fn session(conn: &Connection, id: SessionId) -> Result<Session> {
    Ok(conn
        .prepare_cached("SELECT id, agent, native, transcript FROM session WHERE id = ?1")?
        .query_row([id], |r| {
            Ok(Session {
                id: r.get(0)?,
                agent: r.get(1)?,
                native: r.get(2)?,
                transcript: r.get(3)?,
            })
        })?)
}

pub(crate) fn turn(conn: &Connection, id: TurnId) -> Result<Turn> {
    Ok(conn
        .prepare_cached("SELECT id, number, session, prompt, node FROM turn WHERE id = ?1")?
        .query_row([id], |r| {
            Ok(Turn {
                id: r.get(0)?,
                number: r.get(1)?,
                session: r.get(2)?,
                prompt: r.get(3)?,
                node: r.get(4)?,
            })
        })?)
}

pub(crate) fn call(conn: &Connection, id: CallId) -> Result<Call> {
    Ok(conn
        .prepare_cached(
            "SELECT id, session, turn, native, subagent, tool, iteration, grp FROM call WHERE id = ?1",
        )?
        .query_row([id], |r| {
            Ok(Call {
                id: r.get(0)?,
                session: r.get(1)?,
                turn: r.get(2)?,
                native: r.get(3)?,
                subagent: r.get(4)?,
                tool: r.get(5)?,
                iteration: r.get(6)?,
                group: r.get(7)?,
            })
        })?)
}

const OPERATION: &str = "SELECT o.id, o.kind, o.node, o.target, o.time, o.state, o.of,
    (SELECT COUNT(*) FROM journal_file f WHERE f.operation = o.id
       AND (f.before_path IS NOT f.after_path OR f.before_image IS NOT f.after_image)),
    (SELECT MAX(u.id) FROM operation u WHERE u.of = o.id AND u.kind = 'undo' AND u.state IN ('done','incomplete')
       AND NOT EXISTS (SELECT 1 FROM operation r WHERE r.of = o.id AND r.kind = 'redo' AND r.id > u.id
                       AND r.state IN ('done','incomplete'))),
    o.detail, o.root, o.branch, o.to_branch FROM operation o";

fn operation_from(r: &Row<'_>) -> rusqlite::Result<Operation> {
    let state: String = r.get(5)?;
    Ok(Operation {
        id: r.get(0)?,
        kind: OpKind::parse(&r.get::<_, String>(1)?),
        node: r.get(2)?,
        target: r.get(3)?,
        time: r.get(4)?,
        state: match state.as_str() {
            "done" => OpState::Done,
            "incomplete" => OpState::Incomplete,
            "rolled back" => OpState::RolledBack,
            _ => OpState::Open,
        },
        of: r.get(6)?,
        files: r.get(7)?,
        undone_by: r.get(8)?,
        detail: r.get(9)?,
        root: r.get(10)?,
        branch: r.get(11)?,
        to_branch: r.get(12)?,
    })
}

pub(crate) fn operations(conn: &Connection) -> Result<Vec<Operation>> {
    let mut select = conn.prepare_cached(&format!("{OPERATION} ORDER BY o.id DESC"))?;
    let rows = select.query_map([], operation_from)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(crate) fn operation(conn: &Connection, id: OpId) -> Result<Operation> {
    Ok(conn
        .prepare_cached(&format!("{OPERATION} WHERE o.id = ?1"))?
        .query_row([id], operation_from)?)
}
