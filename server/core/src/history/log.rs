//! Pages of the timeline: the nodes that a filter selects, newest first. Owns the choice of the
//! index, so that a page costs the same in a long history as in a short one.

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::ancestry::Lineage;
use super::rows::{NewCounts, Rows};
use super::timeline::Entry;
use super::{Ancestry, branches, full_text, head};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::Here;
use crate::model::{BranchId, Kind, NodeId, RelPath, SessionId};
use crate::store::Store;
use crate::store::tables::session;

/// Filter for checkpoints. All fields that are set must match.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    pub limit: Option<usize>,
    /// The agent's own id of a session, or a prefix of it.
    pub session: Option<String>,
    /// The agent's name.
    pub agent: Option<String>,
    /// Checkpoints that changed this file, or a file below this directory.
    pub path: Option<RelPath>,
    /// All of these words in a prompt, a label or a tool input; `wor*` matches any ending.
    pub text: Option<String>,
    pub kind: Option<Kind>,
    /// The ancestors of this branch's head instead of the current one's.
    pub branch: Option<String>,
    /// Microseconds since 1970, inclusive.
    pub since: Option<i64>,
    pub until: Option<i64>,
    /// Only checkpoints older than this one, for the next page.
    pub before: Option<NodeId>,
    /// Every branch, not only the ancestors of one head.
    pub all_branches: bool,
}

/// Up to this many nodes of a path are read from the index and sorted. With more, they are so dense
/// that scanning from the newest node fills a page quickly.
const MAX_SORTED: usize = 4096;

/// Returns rows of the timeline, newest first, and the line counts computed for them.
pub(crate) fn log(
    store: &Store,
    here: Here,
    filter: &LogFilter,
) -> Result<(Vec<Entry>, NewCounts)> {
    let mut rows = Rows::new(store, here)?;
    let entries = find(&store.conn, here, filter)?
        .into_iter()
        .map(|id| rows.entry(id))
        .collect::<Result<_>>()?;
    Ok((entries, rows.new))
}

pub(crate) fn entry(store: &Store, here: Here, id: NodeId) -> Result<(Entry, NewCounts)> {
    let mut rows = Rows::new(store, here)?;
    let entry = rows.entry(id)?;
    Ok((entry, rows.new))
}

/// Checkpoints of a file, without their changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCheckpoints {
    /// At most the requested number.
    pub count: usize,
    /// True if there are more.
    pub more: bool,
    /// Time of the newest one, in microseconds since 1970.
    pub newest: Option<i64>,
}

impl Engine {
    /// Counts the checkpoints of the current branch that changed a file or a file below a
    /// directory, up to `most`. Unlike `log`, reads no contents.
    pub fn checkpoints_of(&self, path: &RelPath, most: usize) -> Result<FileCheckpoints> {
        let _moment = self.store.reading()?;
        let filter = LogFilter {
            path: Some(path.clone()),
            limit: Some(most.saturating_add(1)),
            ..LogFilter::default()
        };
        let conn = &self.store.conn;
        let nodes = find(conn, self.here, &filter)?;
        let time = |node: &NodeId| -> Result<i64> {
            let mut select = conn.prepare_cached("SELECT time FROM node WHERE id = ?1")?;
            Ok(select.query_row([node], |r| r.get(0))?)
        };
        Ok(FileCheckpoints {
            count: nodes.len().min(most),
            more: nodes.len() > most,
            newest: nodes.first().map(time).transpose()?,
        })
    }
}

/// Conditions on a node `n`, joined by AND.
#[derive(Clone, Debug, Default)]
struct Terms {
    sql: String,
    values: Vec<Value>,
}

impl Terms {
    fn add(&mut self, sql: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.values.extend(values);
    }
}

fn find(conn: &Connection, here: Here, filter: &LogFilter) -> Result<Vec<NodeId>> {
    let sessions = sessions(conn, filter)?;
    let branch = match &filter.branch {
        Some(name) => branches::find(conn, name)?,
        None => here.branch,
    };
    let match_query = filter
        .text
        .as_deref()
        .map(full_text::match_query)
        .transpose()?;
    let line = match head(conn, branch)? {
        None => return Ok(Vec::new()),
        Some(_) if filter.all_branches => None,
        Some(head) => Some(Ancestry::new(conn).line(head)?),
    };
    let mut terms = Terms::default();
    if let Some(before) = filter.before {
        terms.add("n.id < ?", [Value::Integer(before.0)]);
    }
    if let Some(since) = filter.since {
        terms.add("n.time >= ?", [Value::Integer(since)]);
    }
    if let Some(until) = filter.until {
        terms.add("n.time <= ?", [Value::Integer(until)]);
    }
    if let Some(kind) = filter.kind {
        terms.add("n.kind = ?", [Value::Text(kind.name().to_owned())]);
    }
    if let Some(sessions) = &sessions {
        let ids: Vec<String> = sessions.iter().map(|s| s.0.to_string()).collect();
        terms.add(&format!("n.session IN ({})", ids.join(",")), []);
    }
    let sorted_nodes = match &filter.path {
        Some(path) => sorted_nodes_of_path(conn, path)?,
        None => None,
    };
    if let (Some(path), None) = (&filter.path, &sorted_nodes) {
        terms.add(&format!("EXISTS ({CHANGES_PATH})"), span(path));
    }
    let mut page = LogPage {
        conn,
        limit: filter.limit.unwrap_or(usize::MAX),
        line: line.as_ref(),
        nodes: Vec::new(),
    };
    let is_rare = |kind: &Kind| !matches!(kind, Kind::Step | Kind::Turn);
    match (
        match_query,
        sorted_nodes,
        sessions.as_deref(),
        filter.kind.filter(is_rare),
    ) {
        (Some(match_query), sorted_nodes, ..) => {
            if let (Some(path), Some(_)) = (&filter.path, &sorted_nodes) {
                terms.add(&format!("EXISTS ({CHANGES_PATH})"), span(path));
            }
            let from = "words CROSS JOIN node n ON n.id = words.rowid WHERE words MATCH ?";
            page.fetch(from, [Value::Text(match_query)], &terms, "words.rowid")?;
        }
        (None, Some(nodes), ..) => {
            for node in nodes {
                page.fetch(
                    "node n WHERE n.id = ?",
                    [Value::Integer(node)],
                    &terms,
                    "n.id",
                )?;
            }
        }
        (None, None, Some([session]), _) => {
            let from = "node n INDEXED BY node_session WHERE n.session = ?";
            page.fetch(from, [Value::Integer(session.0)], &terms, "n.id")?;
        }
        (None, None, _, Some(kind)) => {
            let from =
                "node n INDEXED BY node_rare WHERE n.kind NOT IN ('step', 'turn') AND n.kind = ?";
            page.fetch(from, [Value::Text(kind.name().to_owned())], &terms, "n.id")?;
        }
        (None, None, ..) => match &line {
            None => page.fetch("node n NOT INDEXED WHERE TRUE", [], &terms, "n.id")?,
            Some(line) => {
                for (branch, upto) in line.segments() {
                    let from = "node n INDEXED BY node_branch WHERE n.branch = ? AND n.id <= ?";
                    let place = [Value::Integer(branch.0), Value::Integer(upto.0)];
                    page.fetch(from, place, &terms, "n.id")?;
                }
            }
        },
    }
    Ok(page.nodes)
}

/// Nodes found so far, newest first.
struct LogPage<'a> {
    conn: &'a Connection,
    limit: usize,
    /// Only ancestors in this lineage.
    line: Option<&'a Lineage>,
    nodes: Vec<NodeId>,
}

impl LogPage<'_> {
    fn fetch(
        &mut self,
        from: &str,
        values: impl IntoIterator<Item = Value>,
        terms: &Terms,
        order: &str,
    ) -> Result<()> {
        if self.nodes.len() >= self.limit {
            return Ok(());
        }
        let sql = format!(
            "SELECT n.id, n.branch FROM {from}{} ORDER BY {order} DESC",
            terms.sql
        );
        let values = values.into_iter().chain(terms.values.iter().cloned());
        let mut select = self.conn.prepare_cached(&sql)?;
        let mut rows = select.query(params_from_iter(values))?;
        while self.nodes.len() < self.limit {
            let Some(row) = rows.next()? else { break };
            let (node, branch): (NodeId, BranchId) = (row.get(0)?, row.get(1)?);
            if self.line.is_none_or(|line| line.has(branch, node)) {
                self.nodes.push(node);
            }
        }
        Ok(())
    }
}

/// Finds the sessions with a name.
type Find<'a> = dyn Fn(&str) -> Result<Vec<SessionId>> + 'a;

/// Returns the requested sessions; None: all.
fn sessions(conn: &Connection, filter: &LogFilter) -> Result<Option<Vec<SessionId>>> {
    let matching = |what: &'static str, name: &Option<String>, find: &Find<'_>| {
        let Some(name) = name else { return Ok(None) };
        let found = find(name)?;
        if found.is_empty() {
            let name = name.clone();
            return Err(Error::NotFound { what, name });
        }
        Ok(Some(found))
    };
    let by_id = matching("session", &filter.session, &|prefix| {
        let found = session::with_prefix(conn, prefix)?;
        Ok(found.into_iter().map(|(id, _)| id).collect())
    })?;
    let by_agent = matching("agent", &filter.agent, &|agent| {
        session::of_agent(conn, agent)
    })?;
    Ok(match (by_id, by_agent) {
        (Some(a), Some(b)) => Some(a.into_iter().filter(|s| b.contains(s)).collect()),
        (a, b) => a.or(b),
    })
}

/// Matches if node `n` changed a path (?1) or a path between two others.
const CHANGES_PATH: &str = "SELECT 1 FROM change c INDEXED BY change_node WHERE c.node = n.id AND (
    c.after_path = ? OR (c.after_path > ? AND c.after_path < ?)
    OR c.before_path = ? OR (c.before_path > ? AND c.before_path < ?))";

/// The path and the bounds of all paths below it, twice.
fn span(path: &RelPath) -> [Value; 6] {
    let [exact, from, to] = bounds(path).map(Value::Blob);
    [exact.clone(), from.clone(), to.clone(), exact, from, to]
}

fn bounds(path: &RelPath) -> [Vec<u8>; 3] {
    let with = |end: u8| [path.bytes(), &[end]].concat();
    [path.bytes().to_vec(), with(b'/'), with(b'/' + 1)]
}

/// Returns the nodes that changed a path, newest first, or None if there are too many.
fn sorted_nodes_of_path(conn: &Connection, path: &RelPath) -> Result<Option<Vec<i64>>> {
    let [exact, from, to] = bounds(path);
    let mut select = conn.prepare_cached(
        "SELECT node FROM change WHERE after_path = ?1
         UNION ALL SELECT node FROM change WHERE after_path > ?2 AND after_path < ?3
         UNION ALL SELECT node FROM change INDEXED BY change_left
           WHERE before_path IS NOT NULL AND before_path IS NOT after_path AND before_path = ?1
         UNION ALL SELECT node FROM change INDEXED BY change_left
           WHERE before_path IS NOT NULL AND before_path IS NOT after_path AND before_path > ?2 AND before_path < ?3
         LIMIT ?4",
    )?;
    let most = i64::try_from(MAX_SORTED).unwrap_or(i64::MAX);
    let mut nodes: Vec<i64> = select
        .query_map(params![exact, from, to, most], |r| r.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if nodes.len() == MAX_SORTED {
        return Ok(None);
    }
    nodes.sort_unstable_by(|a, b| b.cmp(a));
    nodes.dedup();
    Ok(Some(nodes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restore::tests::Scene;

    /// The count equals the timeline's: for a file, a directory, a missing path, and with a limit.
    #[test]
    fn checkpoint_counts_equal_the_timeline() {
        let mut s = Scene::new(&[("a.txt", "one\n"), ("dir/b.txt", "other\n")]);
        for turn in ["first", "second", "third"] {
            s.prompt(turn);
            s.edit("a.txt", &format!("{turn}\n"));
            s.edit("dir/b.txt", &format!("{turn}\n"));
        }
        for path in ["a.txt", "dir", "dir/b.txt", "none.txt"] {
            let path = RelPath::new(path).expect("a path");
            let filter = LogFilter {
                path: Some(path.clone()),
                ..LogFilter::default()
            };
            let listed = s.engine.log(&filter).expect("a timeline");
            for most in 0..listed.len() + 2 {
                let counted = s.engine.checkpoints_of(&path, most).expect("counted");
                let expected = FileCheckpoints {
                    count: listed.len().min(most),
                    more: listed.len() > most,
                    newest: listed.first().map(|entry| entry.node.time),
                };
                assert_eq!(counted, expected, "{path:?}, at most {most}");
            }
        }
    }
}
