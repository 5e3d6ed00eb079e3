//! Table `node` for the timeline: nodes that a filter selects, newest first, read from the index that fits.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::changed_files::path_bounds;
use super::node::NODE;
use crate::error::Result;
use crate::model::{BranchId, Kind, NodeId, RelPath, SessionId};

/// Conditions on nodes. All that are set must hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeFilter<'a> {
    /// Only older ones.
    pub before: Option<NodeId>,
    /// Microseconds since 1970, inclusive.
    pub since: Option<i64>,
    pub until: Option<i64>,
    pub kind: Option<Kind>,
    pub sessions: Option<&'a [SessionId]>,
    /// The node changed this path, or one below it.
    pub path: Option<&'a RelPath>,
}

/// The nodes to filter, each by the index that finds them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeSource<'a> {
    All,
    One(NodeId),
    /// Nodes whose text matches a query of the full-text index.
    Words(&'a str),
    Session(SessionId),
    /// Nodes of a kind other than step and turn.
    RareKind(Kind),
    /// The nodes of a branch up to this one.
    Segment(BranchId, NodeId),
}

/// Clauses of a query with their values.
#[derive(Default)]
struct Clauses {
    sql: String,
    values: Vec<Value>,
}

impl Clauses {
    fn add(&mut self, sql: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(sql);
        self.values.extend(values);
    }
}

impl NodeSource<'_> {
    /// Returns the tables with the first condition, and the column for the order.
    fn clauses(self) -> (Clauses, &'static str) {
        let (sql, values) = match self {
            Self::All => ("node n NOT INDEXED WHERE TRUE", Vec::new()),
            Self::One(node) => ("node n WHERE n.id = ?", vec![Value::Integer(node.0)]),
            Self::Words(query) => (
                "words CROSS JOIN node n ON n.id = words.rowid WHERE words MATCH ?",
                vec![Value::Text(query.to_owned())],
            ),
            Self::Session(session) => (
                "node n INDEXED BY node_session WHERE n.session = ?",
                vec![Value::Integer(session.0)],
            ),
            Self::RareKind(kind) => (
                "node n INDEXED BY node_rare WHERE n.kind NOT IN ('step', 'turn') AND n.kind = ?",
                vec![Value::Text(kind.name().to_owned())],
            ),
            Self::Segment(branch, upto) => (
                "node n INDEXED BY node_branch WHERE n.branch = ? AND n.id <= ?",
                vec![Value::Integer(branch.0), Value::Integer(upto.0)],
            ),
        };
        let sql = sql.to_owned();
        let order = match self {
            Self::Words(_) => "words.rowid",
            _ => "n.id",
        };
        (Clauses { sql, values }, order)
    }
}

impl NodeFilter<'_> {
    fn add_to(&self, clauses: &mut Clauses) {
        if let Some(before) = self.before {
            clauses.add(" AND n.id < ?", [Value::Integer(before.0)]);
        }
        if let Some(since) = self.since {
            clauses.add(" AND n.time >= ?", [Value::Integer(since)]);
        }
        if let Some(until) = self.until {
            clauses.add(" AND n.time <= ?", [Value::Integer(until)]);
        }
        if let Some(kind) = self.kind {
            clauses.add(" AND n.kind = ?", [Value::Text(kind.name().to_owned())]);
        }
        if let Some(sessions) = self.sessions {
            let ids: Vec<String> = sessions.iter().map(|s| s.0.to_string()).collect();
            clauses.add(&format!(" AND n.session IN ({})", ids.join(",")), []);
        }
        if let Some(path) = self.path {
            let [exact, from, to] = path_bounds(path).map(Value::Blob);
            let twice = [exact.clone(), from.clone(), to.clone(), exact, from, to];
            clauses.add(
                " AND EXISTS (SELECT 1 FROM change c INDEXED BY change_node WHERE c.node = n.id AND (
                    c.after_path = ? OR (c.after_path > ? AND c.after_path < ?)
                    OR c.before_path = ? OR (c.before_path > ? AND c.before_path < ?)))",
                twice,
            );
        }
    }
}

/// Passes the selected nodes to `take`, newest first, each with its branch, until `take` returns false.
pub(crate) fn read(
    conn: &Connection,
    source: NodeSource<'_>,
    filter: &NodeFilter<'_>,
    mut take: impl FnMut(NodeId, BranchId) -> bool,
) -> Result<()> {
    let (mut clauses, order) = source.clauses();
    filter.add_to(&mut clauses);
    let sql = format!(
        "SELECT n.id, n.branch FROM {} ORDER BY {order} DESC",
        clauses.sql
    );
    NODE.find(conn, &sql, params_from_iter(clauses.values), |r| {
        Ok((!take(r.get(0)?, r.get(1)?)).then_some(()))
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index `node_rare` leaves out these kinds by their names.
    #[test]
    fn frequent_kinds_have_the_names_that_the_index_leaves_out() {
        assert_eq!((Kind::Step.name(), Kind::Turn.name()), ("step", "turn"));
    }
}
