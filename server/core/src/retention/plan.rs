//! Selects the checkpoints that may be squashed, and groups them into ranges. Reads the history once; the decision
//! itself is pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Connection;

use crate::capture;
use crate::error::Result;
use crate::model::{BranchId, NodeId, TurnId};
use crate::store::tables::node::CheckpointRow;
use crate::store::tables::{
    branch, call, change, journal, moved, node, operation, root, tag, turn,
};

/// Constraints between checkpoints.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Ordered by id.
    pub nodes: Vec<CheckpointRow>,
    /// Checkpoints that stay whatever their age: heads, fork points, tagged and pinned ones, and those that an
    /// unfinished operation needs.
    retained: HashSet<NodeId>,
    /// Pairs of a restore and a checkpoint whose edit it moved. The restore is meaningless without that checkpoint.
    moves: Vec<(NodeId, NodeId)>,
    /// Pairs of checkpoints that are squashed together or not at all: an operation and its undo.
    pairs: Vec<(NodeId, NodeId)>,
    /// Changes whenever any of the above may have changed.
    stamp: Stamp,
}

/// Detects changes to the tables that were read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stamp(Vec<i64>);

impl Stamp {
    fn read(conn: &Connection) -> Result<Self> {
        let (pinned, newest_pin) = tag::pin_stamp(conn)?;
        Ok(Self(vec![
            moved::newest(conn)?,
            pinned,
            newest_pin,
            tag::stamp(conn)?,
            branch::stamp(conn)?,
            root::last_nodes(conn)?.iter().map(|node| node.0).sum(),
            operation::newest(conn)?.map_or(0, |op| op.0),
            operation::count_finished(conn)?,
        ]))
    }
}

impl Facts {
    pub(super) fn read(conn: &Connection) -> Result<Self> {
        let stamp = Stamp::read(conn)?;
        let mut facts = Self {
            nodes: node::checkpoints(conn)?,
            stamp,
            ..Self::default()
        };
        facts.read_retained(conn)?;
        facts.read_moves(conn)?;
        facts.pairs = operation::paired_nodes(conn)?;
        Ok(facts)
    }

    pub(super) fn is_unchanged(&self, conn: &Connection) -> Result<bool> {
        Ok(Stamp::read(conn)? == self.stamp)
    }

    fn read_retained(&mut self, conn: &Connection) -> Result<()> {
        self.retained = node::retained(conn)?;
        self.retained.extend(root::last_nodes(conn)?);
        self.retained.extend(operation::retained_nodes(conn)?);
        // turns are numbered after the newest one; agents work in the others
        let active = capture::inactive_before();
        self.retained.extend(turn::current_starts(conn, active)?);
        self.retained.extend(call::nodes_of_open(conn, active)?);
        Ok(())
    }

    fn read_moves(&mut self, conn: &Connection) -> Result<()> {
        self.moves = moved::node_pairs(conn)?;
        // a part chosen by the user is recorded as the user's edit; the journal has the edits it would have moved
        for moves in journal::decided(conn)? {
            for member in moves.taken_out.iter().chain(&moves.put_back) {
                let node = change::node_of(conn, *member)?;
                self.moves.extend(node.map(|node| (moves.node, node)));
            }
        }
        Ok(())
    }

    /// Retains these nodes, too.
    pub(super) fn retain_also(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        self.retained.extend(nodes);
    }

    /// Returns the ranges to squash, oldest first. A range holds adjacent checkpoints of one branch that
    /// `is_wanted` accepts and that no retained checkpoint needs. Turns are squashed whole or not at all.
    pub(super) fn ranges(&self, is_wanted: impl Fn(&CheckpointRow) -> bool) -> Vec<SquashRange> {
        let mut kept: HashSet<NodeId> = self.retained.clone();
        kept.extend(self.nodes.iter().filter(|n| !is_wanted(n)).map(|n| n.id));
        let mut turns: HashMap<TurnId, Vec<NodeId>> = HashMap::new();
        for node in &self.nodes {
            if let Some(turn) = node.turn {
                turns.entry(turn).or_default().push(node.id);
            }
        }
        loop {
            let before = kept.len();
            let range_of = self.number_ranges(&kept);
            // agents work concurrently: the checkpoints of one turn may be in several ranges
            for nodes in turns.values() {
                if nodes.iter().any(|n| kept.contains(n)) {
                    kept.extend(nodes);
                }
            }
            for (restore, moved) in &self.moves {
                match (range_of.get(restore), range_of.get(moved)) {
                    (Some(a), Some(b)) if a == b => {}
                    // a squashed restore could not name the edits it moved in a retained checkpoint
                    _ => kept.extend([restore, moved]),
                }
            }
            for (a, b) in &self.pairs {
                if kept.contains(a) != kept.contains(b) {
                    kept.extend([a, b]);
                }
            }
            if kept.len() == before {
                return self.collected(&range_of);
            }
        }
    }

    /// Numbers the ranges between retained checkpoints. Retained checkpoints are in no range.
    fn number_ranges(&self, kept: &HashSet<NodeId>) -> HashMap<NodeId, usize> {
        let mut open: HashMap<BranchId, usize> = HashMap::new();
        let mut next = 0;
        let mut range_of = HashMap::new();
        for node in &self.nodes {
            if kept.contains(&node.id) {
                open.remove(&node.branch);
                continue;
            }
            let range = *open.entry(node.branch).or_insert_with(|| {
                next += 1;
                next
            });
            range_of.insert(node.id, range);
        }
        range_of
    }

    fn collected(&self, range_of: &HashMap<NodeId, usize>) -> Vec<SquashRange> {
        let mut collected: BTreeMap<usize, Vec<CheckpointRow>> = BTreeMap::new();
        for node in &self.nodes {
            if let Some(range) = range_of.get(&node.id) {
                collected.entry(*range).or_default().push(*node);
            }
        }
        collected
            .into_values()
            // squashing a single checkpoint frees nothing
            .filter(|nodes| nodes.len() > 1 || nodes.iter().any(|n| n.squashable_alone))
            .map(|nodes| self.older_part(&nodes))
            .collect()
    }

    /// Returns the older part of a long range, so that a transaction stays short. The cut separates no pair of
    /// checkpoints that belong together.
    fn older_part(&self, nodes: &[CheckpointRow]) -> SquashRange {
        let at: HashMap<NodeId, usize> = nodes.iter().enumerate().map(|(i, n)| (n.id, i)).collect();
        // the last position that must be on the same side of a cut as this one
        let mut last_related: Vec<usize> = (0..nodes.len()).collect();
        for (a, b) in self.moves.iter().chain(&self.pairs) {
            if let (Some(a), Some(b)) = (at.get(a), at.get(b)) {
                let (first, last) = (*a.min(b), *a.max(b));
                last_related[first] = last_related[first].max(last);
            }
        }
        let (mut reached, mut end) = (0, nodes.len());
        for (i, reach) in last_related.iter().enumerate() {
            reached = reached.max(*reach);
            if reached == i && i + 1 >= MAX_RANGE {
                end = i + 1;
                break;
            }
        }
        SquashRange {
            nodes: nodes[..end].iter().map(|n| n.id).collect(),
        }
    }
}

/// Approximate number of checkpoints to squash in one transaction.
const MAX_RANGE: usize = 300;

/// Adjacent checkpoints of one branch, oldest first.
#[derive(Debug)]
pub(super) struct SquashRange {
    pub nodes: Vec<NodeId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds facts with one branch per hundred ids. `turns` are ranges of ids.
    fn facts(nodes: &[i64], turns: &[(i64, i64)]) -> Facts {
        let nodes = nodes.iter().map(|id| CheckpointRow {
            id: NodeId(*id),
            branch: BranchId(id / 100),
            turn: (1..)
                .zip(turns)
                .find(|(_, (a, b))| (a..=b).contains(&id))
                .map(|(n, _)| TurnId(n)),
            time: *id,
            squashable_alone: false,
        });
        Facts {
            nodes: nodes.collect(),
            ..Facts::default()
        }
    }

    fn ranges(facts: &Facts, before: i64) -> Vec<Vec<i64>> {
        let all = facts.ranges(|n| n.time < before);
        all.iter()
            .map(|s| s.nodes.iter().map(|n| n.0).collect())
            .collect()
    }

    #[test]
    fn retained_checkpoints_split_ranges() {
        let mut facts = facts(&[1, 2, 3, 4, 5, 6, 7, 100, 101], &[]);
        facts.retained.insert(NodeId(3));
        facts.retained.insert(NodeId(101));
        assert_eq!(ranges(&facts, 7), [vec![1, 2], vec![4, 5, 6]]);
        assert_eq!(ranges(&facts, 1), [[0; 0]; 0]);
    }

    #[test]
    fn turns_are_squashed_whole() {
        let mut facts = facts(&[1, 2, 3, 4, 5, 6, 7, 8], &[(1, 2), (4, 6)]);
        facts.retained.insert(NodeId(5));
        assert_eq!(ranges(&facts, 9), [vec![1, 2, 3], vec![7, 8]]);
        facts.retained.insert(NodeId(1));
        assert_eq!(ranges(&facts, 9), [[7, 8]]);
    }

    #[test]
    fn concurrent_turns_are_squashed_in_parts() {
        let mut facts = facts(&[1, 2, 3, 4, 5, 6, 7], &[(3, 3)]);
        for n in [0, 1, 3, 4, 5, 6] {
            facts.nodes[n].turn = Some(TurnId(2 + i64::try_from(n % 2).expect("small")));
        }
        facts.retained.insert(NodeId(3));
        assert_eq!(ranges(&facts, 9), [vec![1, 2], vec![4, 5, 6, 7]]);
    }

    #[test]
    fn a_retained_restore_retains_the_edits_it_moved() {
        let mut facts = facts(&[1, 2, 3, 4, 5, 6, 7, 8], &[]);
        // both are squashed
        facts.moves.push((NodeId(3), NodeId(2)));
        assert_eq!(ranges(&facts, 9), [[1, 2, 3, 4, 5, 6, 7, 8]]);
        // the restore stays
        facts.moves.push((NodeId(8), NodeId(5)));
        facts.retained.insert(NodeId(8));
        assert_eq!(ranges(&facts, 9), [vec![1, 2, 3, 4], vec![6, 7]]);
        // a retained edit retains its restores, and those retain their other edits
        facts.moves.push((NodeId(5), NodeId(1)));
        assert_eq!(ranges(&facts, 9), [vec![2, 3, 4], vec![6, 7]]);
        // an operation and its undo
        facts.pairs.push((NodeId(1), NodeId(3)));
        assert_eq!(ranges(&facts, 9), [[6, 7]]);
        // a single checkpoint is squashed if that frees something
        facts.nodes[3].squashable_alone = true;
        assert_eq!(ranges(&facts, 9), [vec![4], vec![6, 7]]);
    }

    #[test]
    fn a_long_range_is_cut_between_related_checkpoints() {
        let most = i64::try_from(MAX_RANGE).expect("small");
        let ids: Vec<i64> = (1..=most * 3).collect();
        let mut facts = facts(&[], &[]);
        facts.nodes = ids
            .iter()
            .map(|id| CheckpointRow {
                id: NodeId(*id),
                branch: BranchId(0),
                turn: None,
                time: 0,
                squashable_alone: false,
            })
            .collect();
        let first = |facts: &Facts| facts.ranges(|_| true)[0].nodes.len();
        assert_eq!(first(&facts), MAX_RANGE);
        facts.moves.push((NodeId(most + 7), NodeId(most - 1)));
        assert_eq!(first(&facts), MAX_RANGE + 7);
        facts.pairs.push((NodeId(most + 7), NodeId(most * 2)));
        assert_eq!(first(&facts), MAX_RANGE * 2);
    }
}
