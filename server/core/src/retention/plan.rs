//! What may go: which checkpoints nobody holds on to, and which of them are one stretch. Reads the history once;
//! deciding is pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Connection;

use crate::capture;
use crate::error::Result;
use crate::model::{BranchId, ChangeId, FileId, NodeId, OpId, TurnId};
use crate::store;

/// A checkpoint, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub id: NodeId,
    branch: BranchId,
    turn: Option<TurnId>,
    time: i64,
    /// Becomes one that stands for itself, where no other stands beside it: its turn or tool call goes.
    goes_alone: bool,
}

/// What holds on to what.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// By their numbers.
    pub nodes: Vec<Mark>,
    /// Stay whatever their age: heads, fork points, tagged and pinned ones, those that something under way needs.
    held: HashSet<NodeId>,
    /// A restore, and a checkpoint of which it moved an edit: without the second the first means nothing.
    moves: Vec<(NodeId, NodeId)>,
    /// Checkpoints of which neither may go without the other: an operation and what undid it.
    pairs: Vec<(NodeId, NodeId)>,
    /// Changes when any of the above may have changed.
    stamp: Stamp,
}

/// Tells whether what was read holds still.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stamp(Vec<i64>);

impl Stamp {
    fn read(conn: &Connection) -> Result<Self> {
        let queries = [
            "SELECT COALESCE(MAX(change), 0) FROM moved",
            "SELECT COALESCE(MAX(id), 0) FROM operation",
            "SELECT COUNT(*) FROM operation WHERE state NOT IN ('open', 'backwards', 'recorded')",
            "SELECT COALESCE(SUM(node), 0) FROM pin",
            "SELECT COALESCE(MAX(time), 0) FROM pin",
            "SELECT COALESCE(SUM(node), 0) FROM tag",
            "SELECT COALESCE(SUM(fork_point), 0) FROM branch",
            "SELECT COALESCE(SUM(stood), 0) FROM root",
        ];
        let read = queries.map(|sql| conn.prepare_cached(sql)?.query_row([], |r| r.get(0)));
        Ok(Self(
            read.into_iter().collect::<rusqlite::Result<Vec<i64>>>()?,
        ))
    }
}

impl Facts {
    pub(super) fn read(conn: &Connection) -> Result<Self> {
        let stamp = Stamp::read(conn)?;
        let mut select = conn.prepare_cached(
            "SELECT id, branch, turn, time, turn IS NOT NULL OR kind IN ('turn', 'step', 'rewind')
             FROM node ORDER BY id",
        )?;
        let nodes = select
            .query_map([], |r| {
                Ok(Mark {
                    id: r.get(0)?,
                    branch: r.get(1)?,
                    turn: r.get(2)?,
                    time: r.get(3)?,
                    goes_alone: r.get(4)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        let mut facts = Self {
            nodes,
            stamp,
            ..Self::default()
        };
        facts.read_held(conn)?;
        facts.read_moves(conn)?;
        facts.pairs = pairs(
            conn,
            "SELECT a.node, b.node FROM operation a JOIN operation b ON b.of = a.id
               WHERE a.node IS NOT NULL AND b.node IS NOT NULL
             UNION SELECT node, made FROM operation WHERE node IS NOT NULL AND made IS NOT NULL",
        )?;
        Ok(facts)
    }

    pub(super) fn hold_still(&self, conn: &Connection) -> Result<bool> {
        Ok(Stamp::read(conn)? == self.stamp)
    }

    fn read_held(&mut self, conn: &Connection) -> Result<()> {
        let mut select = conn.prepare_cached(
            "SELECT head FROM branch WHERE head IS NOT NULL
             UNION SELECT fork_point FROM branch WHERE fork_point IS NOT NULL
             UNION SELECT node FROM tag UNION SELECT node FROM pin
             UNION SELECT stood FROM root WHERE stood IS NOT NULL
             -- the state before everything
             UNION SELECT id FROM node WHERE parent IS NULL
             -- the newest turn: turns are numbered after it
             UNION SELECT node FROM turn WHERE number = (SELECT MAX(number) FROM turn)
             -- what agents are at
             UNION SELECT node FROM turn WHERE id IN (SELECT MAX(t.id) FROM turn t
               JOIN session s ON s.id = t.session WHERE s.seen > ?1 GROUP BY t.session)
             UNION SELECT t.node FROM call c JOIN turn t ON t.id = c.turn
               WHERE c.closed IS NULL AND c.opened > ?1
             UNION SELECT n.id FROM node n JOIN call c ON c.id = n.call
               WHERE c.closed IS NULL AND c.opened > ?1
             -- operations under way, and those that wait for a save
             UNION SELECT node FROM operation WHERE node IS NOT NULL AND (
               state IN ('open', 'backwards', 'recorded')
               OR id IN (SELECT operation FROM pending_save WHERE operation IS NOT NULL)
               -- when a directory came to its branch
               OR id IN (SELECT MAX(id) FROM operation WHERE to_branch IS NOT NULL GROUP BY root, to_branch))",
        )?;
        for node in select.query_map([capture::silent_since()], |r| r.get(0))? {
            self.held.insert(node?);
        }
        Ok(())
    }

    fn read_moves(&mut self, conn: &Connection) -> Result<()> {
        self.moves = pairs(
            conn,
            "SELECT DISTINCT r.node, e.node FROM moved m
             JOIN change r ON r.id = m.change JOIN change e ON e.id = m.member",
        )?;
        // a part that the user chose is an edit of the user; what it would have moved stands beside it
        let mut select = conn.prepare_cached(
            "SELECT o.node, f.taken_out, f.put_back, o.id, f.file FROM operation o
             JOIN journal_file f ON f.operation = o.id WHERE f.as_user <> 0 AND o.node IS NOT NULL",
        )?;
        let mut node_of = conn.prepare_cached("SELECT node FROM change WHERE id = ?1")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let by: NodeId = row.get(0)?;
            let (op, file): (OpId, FileId) = (row.get(3)?, row.get(4)?);
            for (at, column) in [(1, "taken_out"), (2, "put_back")] {
                let text: String = row.get(at)?;
                let name = || format!("{column} of file {} in journal_file of {op}", file.0);
                let members: Vec<ChangeId> = store::json(conn, name, &text)?;
                for member in members {
                    for node in node_of.query_map([member], |r| r.get(0))? {
                        self.moves.push((by, node?));
                    }
                }
            }
        }
        Ok(())
    }

    /// These stay, too.
    pub(super) fn hold(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        self.held.extend(nodes);
    }

    /// Checkpoints that may become one, oldest first: of those that are wanted, as `is_wanted` says, where they stand
    /// beside each other on a branch and nothing that stays needs one of them. Turns go whole or not at all.
    pub(super) fn stretches(&self, is_wanted: impl Fn(&Mark) -> bool) -> Vec<SquashRange> {
        let mut stays: HashSet<NodeId> = self.held.clone();
        stays.extend(self.nodes.iter().filter(|n| !is_wanted(n)).map(|n| n.id));
        let mut turns: HashMap<TurnId, Vec<NodeId>> = HashMap::new();
        for node in &self.nodes {
            if let Some(turn) = node.turn {
                turns.entry(turn).or_default().push(node.id);
            }
        }
        loop {
            let before = stays.len();
            let stretch_of = self.cut(&stays);
            // agents work beside each other: the checkpoints of one turn may go in several stretches
            for nodes in turns.values() {
                if nodes.iter().any(|n| stays.contains(n)) {
                    stays.extend(nodes);
                }
            }
            for (restore, moved) in &self.moves {
                match (stretch_of.get(restore), stretch_of.get(moved)) {
                    (Some(a), Some(b)) if a == b => {}
                    // one that goes could not say any more what it moved of one that stays
                    _ => stays.extend([restore, moved]),
                }
            }
            for (a, b) in &self.pairs {
                if stays.contains(a) != stays.contains(b) {
                    stays.extend([a, b]);
                }
            }
            if stays.len() == before {
                return self.gathered(&stretch_of);
            }
        }
    }

    /// Numbers the stretches between checkpoints that stay; those that stay are in none.
    fn cut(&self, stays: &HashSet<NodeId>) -> HashMap<NodeId, usize> {
        let mut open: HashMap<BranchId, usize> = HashMap::new();
        let mut next = 0;
        let mut stretch_of = HashMap::new();
        for node in &self.nodes {
            if stays.contains(&node.id) {
                open.remove(&node.branch);
                continue;
            }
            let stretch = *open.entry(node.branch).or_insert_with(|| {
                next += 1;
                next
            });
            stretch_of.insert(node.id, stretch);
        }
        stretch_of
    }

    fn gathered(&self, stretch_of: &HashMap<NodeId, usize>) -> Vec<SquashRange> {
        let mut gathered: BTreeMap<usize, Vec<Mark>> = BTreeMap::new();
        for node in &self.nodes {
            if let Some(stretch) = stretch_of.get(&node.id) {
                gathered.entry(*stretch).or_default().push(*node);
            }
        }
        gathered
            .into_values()
            // one alone takes as much room as before
            .filter(|nodes| nodes.len() > 1 || nodes.iter().any(|n| n.goes_alone))
            .map(|nodes| self.first_part(&nodes))
            .collect()
    }

    /// Of a long stretch its older part, so that nobody waits long for it: where no restore reaches from the one part
    /// into the other.
    fn first_part(&self, nodes: &[Mark]) -> SquashRange {
        let at: HashMap<NodeId, usize> = nodes.iter().enumerate().map(|(i, n)| (n.id, i)).collect();
        // until where a cut behind this position would cut something in two
        let mut reaches: Vec<usize> = (0..nodes.len()).collect();
        for (a, b) in self.moves.iter().chain(&self.pairs) {
            if let (Some(a), Some(b)) = (at.get(a), at.get(b)) {
                let (first, last) = (*a.min(b), *a.max(b));
                reaches[first] = reaches[first].max(last);
            }
        }
        let (mut reached, mut end) = (0, nodes.len());
        for (i, reach) in reaches.iter().enumerate() {
            reached = reached.max(*reach);
            if reached == i && i + 1 >= AT_ONCE {
                end = i + 1;
                break;
            }
        }
        SquashRange {
            nodes: nodes[..end].iter().map(|n| n.id).collect(),
        }
    }
}

/// Checkpoints that become one in one transaction, about.
const AT_ONCE: usize = 300;

/// Checkpoints beside each other on one branch, oldest first.
#[derive(Debug)]
pub(super) struct SquashRange {
    pub nodes: Vec<NodeId>,
}

impl Mark {
    pub(super) fn is_before(&self, time: i64) -> bool {
        self.time < time
    }
}

fn pairs(conn: &Connection, sql: &str) -> Result<Vec<(NodeId, NodeId)>> {
    let mut select = conn.prepare_cached(sql)?;
    let rows = select.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On one branch but for those from 100 on; `turns` are ranges of numbers.
    fn facts(nodes: &[i64], turns: &[(i64, i64)]) -> Facts {
        let nodes = nodes.iter().map(|id| Mark {
            id: NodeId(*id),
            branch: BranchId(id / 100),
            turn: (1..)
                .zip(turns)
                .find(|(_, (a, b))| (a..=b).contains(&id))
                .map(|(n, _)| TurnId(n)),
            time: *id,
            goes_alone: false,
        });
        Facts {
            nodes: nodes.collect(),
            ..Facts::default()
        }
    }

    fn stretches(facts: &Facts, before: i64) -> Vec<Vec<i64>> {
        let all = facts.stretches(|n| n.is_before(before));
        all.iter()
            .map(|s| s.nodes.iter().map(|n| n.0).collect())
            .collect()
    }

    #[test]
    fn what_is_held_parts_stretches() {
        let mut facts = facts(&[1, 2, 3, 4, 5, 6, 7, 100, 101], &[]);
        facts.held.insert(NodeId(3));
        facts.held.insert(NodeId(101));
        assert_eq!(stretches(&facts, 7), [vec![1, 2], vec![4, 5, 6]]);
        assert_eq!(stretches(&facts, 1), [[0; 0]; 0]);
    }

    #[test]
    fn turns_go_whole() {
        let mut facts = facts(&[1, 2, 3, 4, 5, 6, 7, 8], &[(1, 2), (4, 6)]);
        facts.held.insert(NodeId(5));
        assert_eq!(stretches(&facts, 9), [vec![1, 2, 3], vec![7, 8]]);
        facts.held.insert(NodeId(1));
        assert_eq!(stretches(&facts, 9), [[7, 8]]);
    }

    #[test]
    fn turns_beside_each_other_go_in_parts() {
        let mut facts = facts(&[1, 2, 3, 4, 5, 6, 7], &[(3, 3)]);
        for n in [0, 1, 3, 4, 5, 6] {
            facts.nodes[n].turn = Some(TurnId(2 + i64::try_from(n % 2).expect("small")));
        }
        facts.held.insert(NodeId(3));
        assert_eq!(stretches(&facts, 9), [vec![1, 2], vec![4, 5, 6, 7]]);
    }

    #[test]
    fn a_restore_that_stays_keeps_what_it_moved() {
        let mut facts = facts(&[1, 2, 3, 4, 5, 6, 7, 8], &[]);
        // both go
        facts.moves.push((NodeId(3), NodeId(2)));
        assert_eq!(stretches(&facts, 9), [[1, 2, 3, 4, 5, 6, 7, 8]]);
        // the restore stays
        facts.moves.push((NodeId(8), NodeId(5)));
        facts.held.insert(NodeId(8));
        assert_eq!(stretches(&facts, 9), [vec![1, 2, 3, 4], vec![6, 7]]);
        // what it moved stays, and so does who moved that, and what else was moved
        facts.moves.push((NodeId(5), NodeId(1)));
        assert_eq!(stretches(&facts, 9), [vec![2, 3, 4], vec![6, 7]]);
        // an operation and what undid it
        facts.pairs.push((NodeId(1), NodeId(3)));
        assert_eq!(stretches(&facts, 9), [[6, 7]]);
        // one alone goes where something goes with it
        facts.nodes[3].goes_alone = true;
        assert_eq!(stretches(&facts, 9), [vec![4], vec![6, 7]]);
    }

    #[test]
    fn a_long_stretch_goes_in_parts_that_cut_nothing() {
        let most = i64::try_from(AT_ONCE).expect("small");
        let ids: Vec<i64> = (1..=most * 3).collect();
        let mut facts = facts(&[], &[]);
        facts.nodes = ids
            .iter()
            .map(|id| Mark {
                id: NodeId(*id),
                branch: BranchId(0),
                turn: None,
                time: 0,
                goes_alone: false,
            })
            .collect();
        let first = |facts: &Facts| facts.stretches(|_| true)[0].nodes.len();
        assert_eq!(first(&facts), AT_ONCE);
        facts.moves.push((NodeId(most + 7), NodeId(most - 1)));
        assert_eq!(first(&facts), AT_ONCE + 7);
        facts.pairs.push((NodeId(most + 7), NodeId(most * 2)));
        assert_eq!(first(&facts), AT_ONCE * 2);
    }
}
