//! Pages of the timeline: the nodes that a filter selects, newest first. Owns the choice of the
//! index, so that a page costs the same in a long history as in a short one.

use rusqlite::Connection;

use super::ancestry::Lineage;
use super::queries::History;
use super::rows::{NewCounts, Rows};
use super::timeline::Entry;
use super::{Ancestry, branches, full_text, head};
use crate::error::{Error, Result};
use crate::model::{Here, Kind, NodeId, RelPath, SessionId};
use crate::store::Store;
use crate::store::tables::node_page::{self, NodeFilter, NodeSource};
use crate::store::tables::{changed_files, node, session};

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

/// Passes rows of the timeline on, newest first, and returns the line counts computed for them. Only one row is in
/// memory at a time.
pub(crate) fn log_each<E: From<Error>>(
    store: &Store,
    here: Here,
    filter: &LogFilter,
    mut take: impl FnMut(Entry) -> std::result::Result<(), E>,
) -> std::result::Result<NewCounts, E> {
    let branch = match &filter.branch {
        Some(name) => branches::find(&store.conn, name)?,
        None => here.branch,
    };
    let mut rows = Rows::of_branch(store, here, branch)?;
    for id in find(&store.conn, here, filter)? {
        take(rows.entry(id)?)?;
    }
    Ok(rows.new)
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

impl History<'_> {
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
        Ok(FileCheckpoints {
            count: nodes.len().min(most),
            more: nodes.len() > most,
            newest: match nodes.first() {
                Some(newest) => node::time_of(conn, *newest)?,
                None => None,
            },
        })
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
    let sorted_nodes = match &filter.path {
        Some(path) => sorted_nodes_of_path(conn, path)?,
        None => None,
    };
    // the sorted nodes of a path need no check, unless the words select the nodes
    let is_path_known = sorted_nodes.is_some() && match_query.is_none();
    let mut page = LogPage {
        conn,
        limit: filter.limit.unwrap_or(usize::MAX),
        line: line.as_ref(),
        filter: NodeFilter {
            before: filter.before,
            since: filter.since,
            until: filter.until,
            kind: filter.kind,
            sessions: sessions.as_deref(),
            path: filter.path.as_ref().filter(|_| !is_path_known),
        },
        nodes: Vec::new(),
    };
    let is_rare = |kind: &Kind| !matches!(kind, Kind::Step | Kind::Turn);
    match (
        match_query,
        sorted_nodes,
        sessions.as_deref(),
        filter.kind.filter(is_rare),
    ) {
        (Some(match_query), ..) => page.fetch(NodeSource::Words(&match_query))?,
        (None, Some(nodes), ..) => {
            for node in nodes {
                page.fetch(NodeSource::One(node))?;
            }
        }
        (None, None, Some([session]), _) => page.fetch(NodeSource::Session(*session))?,
        (None, None, _, Some(kind)) => page.fetch(NodeSource::RareKind(kind))?,
        (None, None, ..) => match &line {
            None => page.fetch(NodeSource::All)?,
            Some(line) => {
                for (branch, upto) in line.segments() {
                    page.fetch(NodeSource::Segment(branch, upto))?;
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
    filter: NodeFilter<'a>,
    nodes: Vec<NodeId>,
}

impl LogPage<'_> {
    fn fetch(&mut self, source: NodeSource<'_>) -> Result<()> {
        if self.nodes.len() >= self.limit {
            return Ok(());
        }
        let (line, limit, nodes) = (self.line, self.limit, &mut self.nodes);
        node_page::read(self.conn, source, &self.filter, |node, branch| {
            if line.is_none_or(|line| line.has(branch, node)) {
                nodes.push(node);
            }
            nodes.len() < limit
        })
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
        let found = session::named(conn, prefix)?;
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

/// Returns the nodes that changed a path, newest first, or None if there are too many.
fn sorted_nodes_of_path(conn: &Connection, path: &RelPath) -> Result<Option<Vec<NodeId>>> {
    let mut nodes = changed_files::nodes_of_path(conn, path, MAX_SORTED)?;
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
            let listed = s.engine.history().log(&filter).expect("a timeline");
            for most in 0..listed.len() + 2 {
                let counted = s
                    .engine
                    .history()
                    .checkpoints_of(&path, most)
                    .expect("counted");
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
