//! The pages of the timeline: which nodes a filter lets through, newest first. Owns the choice of the index
//! that leads to them, so that a page costs the same in a long history as in a short one.

use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::ancestry::Lineage;
use super::rows::{NewCounts, Rows};
use super::timeline::Entry;
use super::{Ancestry, Here, branches, full_text, head};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{BranchId, Kind, NodeId, RelPath, SessionId};
use crate::store::Store;

/// Which checkpoints to list; all that is set must hold.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    pub limit: Option<usize>,
    /// The agent's own id of a session, or a start of it.
    pub session: Option<String>,
    /// The agent's name.
    pub agent: Option<String>,
    /// What changed this file, or something below this directory.
    pub path: Option<RelPath>,
    /// All of these words in a prompt, a label or the input of a tool; `wor*` finds every end.
    pub text: Option<String>,
    pub kind: Option<Kind>,
    /// The chain of this branch's head, instead of that of the current one.
    pub branch: Option<String>,
    /// Microseconds since 1970, both included.
    pub since: Option<i64>,
    pub until: Option<i64>,
    /// Only those older than this one: the next page.
    pub before: Option<NodeId>,
    /// Every branch, not only the chain of a head.
    pub all_branches: bool,
}

/// Up to so many nodes of a path are taken from the index and sorted; where there are more, they stand so
/// dense that going through the newest finds a page soon.
const FEW: usize = 4096;

/// Rows of the timeline, newest first, and the counts that had to be made for them.
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

/// The checkpoints of a file, without what each of them changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfFile {
    /// No more than were asked for.
    pub count: usize,
    /// There are more.
    pub more: bool,
    /// When the newest was made, in microseconds since 1970.
    pub newest: Option<i64>,
}

impl Engine {
    /// How many checkpoints of the current branch's chain changed a file or something below a directory; counts
    /// up to `most`. Reads no content, where `log` counts lines.
    pub fn checkpoints_of(&self, path: &RelPath, most: usize) -> Result<OfFile> {
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
        Ok(OfFile {
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
    let question = filter
        .text
        .as_deref()
        .map(full_text::question)
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
    let few = match &filter.path {
        Some(path) => few_of_path(conn, path)?,
        None => None,
    };
    if let (Some(path), None) = (&filter.path, &few) {
        terms.add(&format!("EXISTS ({OF_NODE})"), span(path));
    }
    let mut page = LogPage {
        conn,
        limit: filter.limit.unwrap_or(usize::MAX),
        line: line.as_ref(),
        nodes: Vec::new(),
    };
    let rare = |kind: &Kind| !matches!(kind, Kind::Step | Kind::Turn);
    match (question, few, sessions.as_deref(), filter.kind.filter(rare)) {
        (Some(question), few, ..) => {
            if let (Some(path), Some(_)) = (&filter.path, &few) {
                terms.add(&format!("EXISTS ({OF_NODE})"), span(path));
            }
            let from = "words CROSS JOIN node n ON n.id = words.rowid WHERE words MATCH ?";
            page.take(from, [Value::Text(question)], &terms, "words.rowid")?;
        }
        (None, Some(nodes), ..) => {
            for node in nodes {
                page.take(
                    "node n WHERE n.id = ?",
                    [Value::Integer(node)],
                    &terms,
                    "n.id",
                )?;
            }
        }
        (None, None, Some([session]), _) => {
            let from = "node n INDEXED BY node_session WHERE n.session = ?";
            page.take(from, [Value::Integer(session.0)], &terms, "n.id")?;
        }
        (None, None, _, Some(kind)) => {
            let from =
                "node n INDEXED BY node_rare WHERE n.kind NOT IN ('step', 'turn') AND n.kind = ?";
            page.take(from, [Value::Text(kind.name().to_owned())], &terms, "n.id")?;
        }
        (None, None, ..) => match &line {
            None => page.take("node n NOT INDEXED WHERE TRUE", [], &terms, "n.id")?,
            Some(line) => {
                for (branch, upto) in line.stretches() {
                    let from = "node n INDEXED BY node_branch WHERE n.branch = ? AND n.id <= ?";
                    let place = [Value::Integer(branch.0), Value::Integer(upto.0)];
                    page.take(from, place, &terms, "n.id")?;
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
    /// Only what stands on this.
    line: Option<&'a Lineage>,
    nodes: Vec<NodeId>,
}

impl LogPage<'_> {
    fn take(
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

/// The sessions that are asked for; None: all.
fn sessions(conn: &Connection, filter: &LogFilter) -> Result<Option<Vec<SessionId>>> {
    let known =
        |what: &'static str, name: &Option<String>, sql: &str| -> Result<Option<Vec<SessionId>>> {
            let Some(name) = name else { return Ok(None) };
            let mut select = conn.prepare_cached(sql)?;
            let found: Vec<SessionId> = select
                .query_map([name], |r| r.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            if found.is_empty() {
                let name = name.clone();
                return Err(Error::NotFound { what, name });
            }
            Ok(Some(found))
        };
    let by_id = known(
        "session",
        &filter.session,
        "SELECT id FROM session WHERE substr(native, 1, length(?1)) = ?1",
    )?;
    let by_agent = known(
        "agent",
        &filter.agent,
        "SELECT id FROM session WHERE agent = ?1",
    )?;
    Ok(match (by_id, by_agent) {
        (Some(a), Some(b)) => Some(a.into_iter().filter(|s| b.contains(s)).collect()),
        (a, b) => a.or(b),
    })
}

/// Whether a change of the node `n` is about a path (?1) or something between two others.
const OF_NODE: &str = "SELECT 1 FROM change c INDEXED BY change_node WHERE c.node = n.id AND (
    c.after_path = ? OR (c.after_path > ? AND c.after_path < ?)
    OR c.before_path = ? OR (c.before_path > ? AND c.before_path < ?))";

/// The path, and what all below it lies between; twice.
fn span(path: &RelPath) -> [Value; 6] {
    let [exact, from, to] = bounds(path).map(Value::Blob);
    [exact.clone(), from.clone(), to.clone(), exact, from, to]
}

fn bounds(path: &RelPath) -> [Vec<u8>; 3] {
    let with = |end: u8| [path.bytes(), &[end]].concat();
    [path.bytes().to_vec(), with(b'/'), with(b'/' + 1)]
}

/// The nodes that changed a path, newest first. None: there are many.
fn few_of_path(conn: &Connection, path: &RelPath) -> Result<Option<Vec<i64>>> {
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
    let most = i64::try_from(FEW).unwrap_or(i64::MAX);
    let mut nodes: Vec<i64> = select
        .query_map(params![exact, from, to, most], |r| r.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if nodes.len() == FEW {
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

    /// As the timeline has them: of a file, of a directory, of what is not there, and no further than asked.
    #[test]
    fn checkpoints_are_counted_as_the_timeline_lists_them() {
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
                let expected = OfFile {
                    count: listed.len().min(most),
                    more: listed.len() > most,
                    newest: listed.first().map(|entry| entry.node.time),
                };
                assert_eq!(counted, expected, "{path:?}, at most {most}");
            }
        }
    }
}
