//! The history as people read it: rows of the timeline with everything needed to print them.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Ancestry, Here, branches, changes_of_node, head, in_force, node};
use crate::error::{Error, Result};
use crate::model::{
    BranchId, Call, CallId, Change, ChangeId, FileId, FileState, Node, NodeId, OpId, RelPath, Role,
    RootId, Session, SessionId, Turn, TurnId,
};
use crate::store::Store;

#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    pub limit: Option<usize>,
    /// The agent's own id of a session, or a start of it.
    pub session: Option<String>,
    pub path: Option<RelPath>,
    /// Every branch, not only the chain of the head.
    pub all_branches: bool,
}

/// One row of the timeline.
#[derive(Clone, Debug)]
pub struct Entry {
    pub node: Node,
    pub branch: String,
    pub tags: Vec<String>,
    pub session: Option<Session>,
    pub turn: Option<Turn>,
    pub call: Option<Call>,
    pub changes: Vec<EntryChange>,
    /// It has edits, and none of them is in force at the head any more.
    pub taken_out: bool,
    /// For a rewind: what it was.
    pub operation: Option<Operation>,
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
        }
    }

    /// Whether it only named something: no file moved.
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
            _ => Self::Rewind,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpState {
    /// Under way, or cut off: the next start of Backstitch finishes it.
    Open,
    Done,
    /// Some paths were left alone, since another writer had them.
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
    /// What an undo or redo is about.
    pub of: Option<OpId>,
    pub files: usize,
    pub undone_by: Option<OpId>,
    /// What was left undone, and why; empty where nothing was.
    pub detail: String,
    pub root: RootId,
    /// The branch that it was done on.
    pub branch: BranchId,
    /// A switch: the branch that it led to.
    pub to_branch: Option<BranchId>,
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

/// Rows of the timeline, newest first.
pub(crate) fn log(store: &Store, here: Here, filter: &LogFilter) -> Result<Vec<Entry>> {
    let conn = &store.conn;
    let limit = filter.limit.unwrap_or(usize::MAX);
    if let Some(name) = &filter.session {
        let known: bool = conn
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM session WHERE substr(native, 1, length(?1)) = ?1)",
            )?
            .query_row([name], |r| r.get(0))?;
        if !known {
            return Err(Error::NotFound {
                what: "session",
                name: name.clone(),
            });
        }
    }
    let mut rows = Rows::new(store, here)?;
    let mut entries = Vec::new();
    let keep = |id: NodeId| -> Result<bool> {
        if let Some(wanted) = &filter.session {
            let native: Option<String> = conn
                .prepare_cached(
                    "SELECT s.native FROM node n JOIN session s ON s.id = n.session WHERE n.id = ?1",
                )?
                .query_row([id], |r| r.get(0))
                .optional()?;
            if !native.is_some_and(|n| n.starts_with(wanted.as_str())) {
                return Ok(false);
            }
        }
        if let Some(path) = &filter.path {
            let within = |s: &FileState| s.as_ref().is_some_and(|p| p.path.within(path.bytes()));
            return Ok(changes_of_node(conn, id)?
                .iter()
                .any(|c| within(&c.before) || within(&c.after)));
        }
        Ok(true)
    };
    if filter.all_branches {
        let mut select = conn.prepare("SELECT id FROM node ORDER BY id DESC")?;
        let mut ids = select.query([])?;
        while let Some(row) = ids.next()? {
            let id = row.get(0)?;
            if entries.len() < limit && keep(id)? {
                entries.push(rows.entry(id)?);
            }
        }
    } else {
        let ancestry = Ancestry::new(conn);
        let mut at = head(conn, here.branch)?;
        while let Some(id) = at {
            if entries.len() >= limit {
                break;
            }
            if keep(id)? {
                entries.push(rows.entry(id)?);
            }
            at = ancestry.parent(id)?;
        }
    }
    Ok(entries)
}

pub(crate) fn entry(store: &Store, here: Here, id: NodeId) -> Result<Entry> {
    Rows::new(store, here)?.entry(id)
}

/// Makes rows, remembering what several of them need.
struct Rows<'a> {
    store: &'a Store,
    ancestry: Ancestry<'a>,
    head: Option<NodeId>,
    branches: HashMap<BranchId, String>,
    in_force: HashMap<FileId, BTreeSet<ChangeId>>,
}

impl<'a> Rows<'a> {
    fn new(store: &'a Store, here: Here) -> Result<Self> {
        let branches = branches::list(&store.conn, here)?
            .into_iter()
            .map(|b| (b.id, b.name))
            .collect();
        Ok(Self {
            store,
            ancestry: Ancestry::new(&store.conn),
            head: head(&store.conn, here.branch)?,
            branches,
            in_force: HashMap::new(),
        })
    }

    fn entry(&mut self, id: NodeId) -> Result<Entry> {
        let conn = &self.store.conn;
        let node = node(conn, id)?;
        let mut changes = changes_of_node(conn, id)?;
        // a restore moves the edits of files, too, that are neither there before nor after it
        changes.retain(|c| c.before.is_some() || c.after.is_some());
        let mut edits = 0;
        let mut standing = 0;
        if let Some(head) = self.head {
            for change in changes.iter().filter(|c| c.role == Role::Edit) {
                edits += 1;
                if !self.in_force.contains_key(&change.file) {
                    let set = in_force(&self.ancestry, change.file, head)?;
                    self.in_force.insert(change.file, set);
                }
                standing += usize::from(self.in_force[&change.file].contains(&change.id));
            }
        }
        let mut select =
            conn.prepare_cached("SELECT name FROM tag WHERE node = ?1 ORDER BY name")?;
        let tags = select
            .query_map([id], |r| r.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let made_by: Option<OpId> = conn
            .prepare_cached("SELECT id FROM operation WHERE node = ?1")?
            .query_row(params![id], |r| r.get(0))
            .optional()?;
        Ok(Entry {
            branch: self.branches.get(&node.branch).cloned().unwrap_or_default(),
            tags,
            session: node.session.map(|s| session(conn, s)).transpose()?,
            turn: node.turn.map(|t| turn(conn, t)).transpose()?,
            call: node.call.map(|c| call(conn, c)).transpose()?,
            changes: changes.into_iter().map(|c| self.counted(c)).collect(),
            taken_out: edits > 0 && standing == 0,
            operation: made_by.map(|o| operation(conn, o)).transpose()?,
            node,
        })
    }

    fn counted(&self, change: Change) -> EntryChange {
        let bytes = |state: &FileState| -> Result<Vec<u8>> {
            match state.as_ref().and_then(|p| p.image.content()) {
                Some(content) => self.store.content(&content),
                None => Ok(Vec::new()),
            }
        };
        let content = |state: &FileState| state.as_ref().and_then(|p| p.image.content());
        if content(&change.before) == content(&change.after) {
            return EntryChange {
                change,
                added: 0,
                removed: 0,
                binary: false,
            };
        }
        // a damaged content costs its own counts, not the timeline; `verify` names it
        let (added, removed, binary) = match (bytes(&change.before), bytes(&change.after)) {
            (Ok(old), Ok(new)) => crate::diff::count(&old, &new),
            _ => (0, 0, true),
        };
        EntryChange {
            change,
            added,
            removed,
            binary,
        }
    }
}
