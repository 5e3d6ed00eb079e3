//! Layout of the history graph: the lane of each row, and the rows at which branches fork.
//! Pure; `log` draws the rows.
//!
//! A node has one parent, so lanes never join. The trunk is the current chain; it stays in the leftmost lane to
//! the end. Each branch is drawn whole at its fork point, so the number of lanes is the nesting depth of the
//! branches, not their number.

use std::collections::HashMap;

use backstitch_core::model::{BranchId, NodeId};
use backstitch_core::{BranchInfo, Entry};

/// Branches without their own row that are listed at their fork point.
const STUBS: usize = 3;
/// Maximum number of lanes. Branches that are nested deeper stay in the last one.
const LANES: usize = 8;

#[derive(Debug)]
pub enum GraphRow<'a> {
    Entry {
        entry: &'a Entry,
        lanes: String,
        /// True if nothing newer is in its lane.
        last: bool,
    },
    /// A note about branches, with the lanes before it.
    Note { lanes: String, note: Note<'a> },
}

#[derive(Debug)]
pub enum Note<'a> {
    /// The branch forks here; its rows follow in their own lane.
    Leaves(&'a BranchInfo),
    /// The rest of a branch that the trunk has left follows in its own lane.
    Continues(&'a BranchInfo),
    /// The trunk continues on this branch.
    Becomes(&'a BranchInfo),
    /// The branch forks here, and none of its rows is shown.
    Stub(&'a BranchInfo),
    MoreStubs(usize),
}

/// Turns rows upside down, so that the newest is the first.
pub fn newest_first(rows: &mut [GraphRow]) {
    rows.reverse();
    for row in rows {
        let (GraphRow::Entry { lanes, .. } | GraphRow::Note { lanes, .. }) = row;
        *lanes = lanes
            .chars()
            .map(|c| match c {
                '╰' => '╭',
                '╮' => '╯',
                other => other,
            })
            .collect();
    }
}

/// Returns the rows from old to new. `trunk` is a branch and its head.
pub fn rows<'a>(
    oldest_first: &[&'a Entry],
    branches: &'a [BranchInfo],
    trunk: Option<(BranchId, NodeId)>,
) -> Vec<GraphRow<'a>> {
    let forest = Forest::new(oldest_first, branches, trunk);
    let mut drawing = Drawing {
        forest: &forest,
        rows: Vec::new(),
    };
    // branches that forked before the first shown row
    for strand in forest.side.get(&None).into_iter().flatten() {
        drawing.note("", "┆ ", forest.beginning(strand, None));
        drawing.strand(strand, "┆ ", 1);
    }
    drawing.strand(&forest.trunk, "", 0);
    drawing.rows
}

struct Forest<'a> {
    branches: HashMap<BranchId, &'a BranchInfo>,
    /// Rows of each branch, oldest first.
    own: HashMap<BranchId, Vec<NodeId>>,
    by_name: HashMap<&'a str, BranchId>,
    trunk: Vec<&'a Entry>,
    /// Strands that fork at a row, oldest first.
    side: HashMap<Option<NodeId>, Vec<Vec<&'a Entry>>>,
    stubs: HashMap<NodeId, Vec<&'a BranchInfo>>,
}

impl<'a> Forest<'a> {
    fn new(
        oldest_first: &[&'a Entry],
        branches: &'a [BranchInfo],
        trunk: Option<(BranchId, NodeId)>,
    ) -> Self {
        let mut own: HashMap<BranchId, Vec<NodeId>> = HashMap::new();
        for entry in oldest_first {
            own.entry(entry.node.branch)
                .or_default()
                .push(entry.node.id);
        }
        let mut forest = Self {
            branches: branches.iter().map(|b| (b.id, b)).collect(),
            by_name: branches.iter().map(|b| (b.name.as_str(), b.id)).collect(),
            own,
            trunk: Vec::new(),
            side: HashMap::new(),
            stubs: HashMap::new(),
        };
        let mut upto = HashMap::new();
        let mut at = trunk;
        while let Some((branch, node)) = at {
            upto.insert(branch, node);
            at = forest.fork_of(branch);
        }
        let mut strands: Vec<Vec<&Entry>> = Vec::new();
        let mut of_branch: HashMap<BranchId, usize> = HashMap::new();
        for entry in oldest_first {
            let (branch, id) = (entry.node.branch, entry.node.id);
            if trunk.is_none() || upto.get(&branch).is_some_and(|upto| id <= *upto) {
                forest.trunk.push(entry);
                continue;
            }
            let strand = *of_branch.entry(branch).or_insert_with(|| {
                strands.push(Vec::new());
                strands.len() - 1
            });
            strands[strand].push(entry);
        }
        for strand in strands {
            let first = &strand[0].node;
            let anchor = forest.shown_before(first.branch, first.id);
            forest.side.entry(anchor).or_default().push(strand);
        }
        for branch in branches {
            if let Some(point) = branch.fork_point
                && branch.nodes > 0
                && !branch.deleted
                && !forest.own.contains_key(&branch.id)
                && oldest_first.iter().any(|e| e.node.id == point)
            {
                forest.stubs.entry(point).or_default().push(branch);
            }
        }
        forest
    }

    /// Returns the parent and the fork point of a branch.
    fn fork_of(&self, branch: BranchId) -> Option<(BranchId, NodeId)> {
        let branch = self.branches.get(&branch)?;
        let parent = self.by_name.get(branch.parent.as_deref()?)?;
        Some((*parent, branch.fork_point?))
    }

    /// Returns the nearest shown row above a node.
    fn shown_before(&self, branch: BranchId, node: NodeId) -> Option<NodeId> {
        let own = self.own.get(&branch).map_or(&[][..], Vec::as_slice);
        if let Some(before) = own[..own.partition_point(|id| *id < node)].last() {
            return Some(*before);
        }
        let (mut branch, mut upto) = self.fork_of(branch)?;
        loop {
            let own = self.own.get(&branch).map_or(&[][..], Vec::as_slice);
            if let Some(before) = own[..own.partition_point(|id| *id <= upto)].last() {
                return Some(*before);
            }
            (branch, upto) = self.fork_of(branch)?;
        }
    }

    /// Returns the note before the first row of a strand that forks from another.
    fn beginning(&self, strand: &[&'a Entry], from: Option<BranchId>) -> Option<Note<'a>> {
        let branch = self.branches.get(&strand.first()?.node.branch)?;
        Some(if from == Some(branch.id) {
            Note::Continues(branch)
        } else {
            Note::Leaves(branch)
        })
    }
}

struct Drawing<'f, 'a> {
    forest: &'f Forest<'a>,
    rows: Vec<GraphRow<'a>>,
}

impl<'a> Drawing<'_, 'a> {
    fn note(&mut self, lanes: &str, join: &str, note: Option<Note<'a>>) {
        let lanes = format!("{lanes}{join}");
        self.rows
            .extend(note.map(|note| GraphRow::Note { lanes, note }));
    }

    fn strand(&mut self, entries: &[&'a Entry], lanes: &str, depth: usize) {
        for (n, entry) in entries.iter().enumerate() {
            let next = entries.get(n + 1);
            let node = &entry.node;
            let none = Vec::new();
            let stubs = self
                .forest
                .stubs
                .get(&node.id)
                .map_or(&[][..], Vec::as_slice);
            let sides = self.forest.side.get(&Some(node.id)).unwrap_or(&none);
            let mut notes: Vec<Note> = stubs.iter().take(STUBS).map(|b| Note::Stub(b)).collect();
            if let Some(more) = stubs.len().checked_sub(STUBS).filter(|more| *more > 0) {
                notes.push(Note::MoreStubs(more));
            }
            let mut left = notes.len() + sides.len();
            self.rows.push(GraphRow::Entry {
                entry,
                lanes: lanes.to_owned(),
                last: next.is_none() && left == 0,
            });
            let mut ends = || {
                left -= 1;
                left == 0 && next.is_none()
            };
            for note in notes {
                let join = if ends() { "╰─ " } else { "├─ " };
                self.note(lanes, join, Some(note));
            }
            for side in sides {
                let ends = ends();
                let join = if ends { "╰─╮ " } else { "├─╮ " };
                self.note(lanes, join, self.forest.beginning(side, Some(node.branch)));
                let deeper = match (depth < LANES, ends) {
                    (false, _) => lanes.to_owned(),
                    (true, true) => format!("{lanes}  "),
                    (true, false) => format!("{lanes}│ "),
                };
                self.strand(side, &deeper, depth + 1);
            }
            if let Some(next) = next.filter(|next| next.node.branch != node.branch) {
                let branch = self.forest.branches.get(&next.node.branch);
                self.note(lanes, "├┄ ", branch.map(|b| Note::Becomes(b)));
            }
        }
    }
}
