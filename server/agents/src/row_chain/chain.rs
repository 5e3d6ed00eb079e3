//! The chain of parents: the rows that the model was shown at a place, and the branches of a record. Lines say nothing about
//! either: the agent rewinds, compacts and branches inside one file.

use std::collections::{HashMap, HashSet};

use super::format::RowFormat;
use super::rows::{LinkedRow, Parent, RowKind};
use crate::conversations::Refused;

/// Rows of a record with their branches.
#[derive(Debug)]
pub struct Chain<'a> {
    pub format: &'static dyn RowFormat,
    pub rows: Vec<LinkedRow<'a>>,
}

/// A prompt's place among the branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchPlace {
    pub row: usize,
    pub branch: usize,
    pub before: usize,
}

impl<'a> Chain<'a> {
    pub fn number(&self, id: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.id == id)
    }

    /// Returns the row at which the open branch ends: the newest that is kept.
    pub fn leaf(&self) -> Option<usize> {
        self.rows.iter().rposition(|row| row.kind != RowKind::Other)
    }

    pub fn parent(&self, row: usize) -> Option<usize> {
        match self.rows[row].parent {
            Parent::Row(parent) => Some(parent),
            Parent::None | Parent::Missing => None,
        }
    }

    /// Returns the first kept row on the way from a row, itself included, to the start of its chain.
    pub fn kept_from(&self, row: usize, is_kept: impl Fn(&LinkedRow<'a>) -> bool) -> Option<usize> {
        let parents = std::iter::successors(Some(row), |row| self.parent(*row));
        let mut path = parents.take(self.rows.len());
        path.find(|row| is_kept(&self.rows[*row]))
    }

    /// Returns the row before a row in the history, also across a compaction.
    fn before(&self, row: usize) -> Option<usize> {
        match self.rows[row].parent {
            Parent::Row(parent) => Some(parent),
            Parent::None => self.rows[row].earlier,
            Parent::Missing => None,
        }
    }

    /// Returns a row and all before it in the history, newest first. Stops where the chain bites its own tail.
    fn history(&self, from: usize) -> impl Iterator<Item = usize> {
        let most = self.rows.len();
        std::iter::successors(Some(from), |row| self.before(*row)).take(most)
    }

    /// Returns the prompts of the open branch in order, then those of the others, each once.
    pub fn prompts(&self) -> Vec<BranchPlace> {
        let mut branch_of: Vec<Option<usize>> = vec![None; self.rows.len()];
        let mut counts: Vec<usize> = vec![0; self.rows.len()];
        let mut places = Vec::new();
        let prompts = (0..self.rows.len()).rev();
        let prompts = prompts.filter(|row| self.rows[*row].is_prompt);
        let mut branch = 0;
        for tip in self.leaf().into_iter().chain(prompts) {
            if branch_of[tip].is_some() {
                continue;
            }
            let mut path = Vec::new();
            let mut known = None;
            for row in self.history(tip) {
                if branch_of[row].is_some() {
                    known = Some(row);
                    break;
                }
                branch_of[row] = Some(branch);
                path.push(row);
            }
            // number of prompts up to and including a row
            let mut count = known.map_or(0, |row| counts[row]);
            for row in path.into_iter().rev() {
                if self.rows[row].is_prompt {
                    let before = count;
                    count += 1;
                    places.push(BranchPlace {
                        row,
                        branch,
                        before,
                    });
                }
                counts[row] = count;
            }
            branch += 1;
        }
        places
    }

    /// Returns the rows that the model is shown at the end of a chain, in that order. Refused if one is missing or uncertain.
    pub fn context(&self, leaf: usize) -> Result<Vec<usize>, Refused> {
        let mut path = self.parents(leaf)?;
        path.reverse();
        let mut order = Vec::with_capacity(path.len());
        for row in &path {
            order.push(*row);
            // a compaction names the rows it kept: they stand before it in the file
            let kept = path
                .iter()
                .filter_map(|one| self.rows[*one].preserved.as_ref());
            for (_, rows) in kept.filter(|(anchor, _)| anchor == row) {
                order.extend(rows);
            }
        }
        let mut seen = HashSet::new();
        if !order.iter().all(|row| seen.insert(*row)) {
            return Err(self.broken(leaf, "has a row of its chain twice"));
        }
        if let Some(row) = order.iter().find(|row| self.rows[**row].is_contradicted) {
            return Err(self.broken(*row, "is there twice, with different texts"));
        }
        Ok(self.with_siblings(order, &seen))
    }

    /// Returns a row and its parents, newest first.
    fn parents(&self, leaf: usize) -> Result<Vec<usize>, Refused> {
        let mut path = vec![leaf];
        let mut at = leaf;
        loop {
            match self.rows[at].parent {
                Parent::None => return Ok(path),
                Parent::Missing => {
                    return Err(self.broken(at, "names a parent that is not there"));
                }
                Parent::Row(_) if path.len() > self.rows.len() => {
                    return Err(self.broken(leaf, "is its own ancestor"));
                }
                Parent::Row(parent) => at = parent,
            }
            path.push(at);
        }
    }

    pub fn broken(&self, row: usize, reason: &'static str) -> Refused {
        Refused::Broken {
            row: self.rows[row].id.to_owned(),
            reason,
        }
    }

    /// Adds the rows of parallel calls. Parts of one message are siblings, and so are the results of its calls. Only one of them is
    /// on the chain.
    fn with_siblings(&self, order: Vec<usize>, on_chain: &HashSet<usize>) -> Vec<usize> {
        let mut owners: HashMap<usize, usize> = HashMap::new();
        for (place, row) in order.iter().enumerate() {
            owners.insert(*row, place);
        }
        // nearly all chains have none: then no message needs to be parsed
        let is_beside = |(number, row): (usize, &LinkedRow<'a>)| {
            matches!(row.parent, Parent::Row(parent) if owners.contains_key(&parent))
                && !on_chain.contains(&number)
                && matches!(row.kind, RowKind::Assistant | RowKind::User)
                && !row.is_prompt
        };
        if !self.rows.iter().enumerate().any(is_beside) {
            return order;
        }
        let mut messages = HashSet::new();
        let mut calls = HashSet::new();
        let is_assistant = |row: &usize| self.rows[*row].kind == RowKind::Assistant;
        for row in order.iter().copied().filter(is_assistant) {
            let ids = self.format.ids(&self.rows[row]);
            messages.extend(ids.message);
            calls.extend(ids.calls);
        }
        let mut extra: Vec<(usize, usize)> = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let Parent::Row(parent) = row.parent else {
                continue;
            };
            let Some(owner) = owners.get(&parent).copied() else {
                continue;
            };
            if on_chain.contains(&number) || row.is_contradicted {
                continue;
            }
            let is_candidate = match row.kind {
                RowKind::Assistant => true,
                RowKind::User => !row.is_prompt,
                RowKind::Attachment | RowKind::System | RowKind::Other => false,
            };
            if !is_candidate {
                continue;
            }
            let ids = self.format.ids(row);
            let is_part = if row.kind == RowKind::Assistant {
                ids.message.is_some_and(|id| messages.contains(&id))
            } else {
                ids.results.iter().any(|id| calls.contains(id))
            };
            if is_part {
                if row.kind == RowKind::Assistant {
                    calls.extend(ids.calls);
                }
                owners.insert(number, owner);
                extra.push((owner, number));
            }
        }
        extra.sort_unstable();
        let mut extra = extra.into_iter().peekable();
        let mut whole = Vec::with_capacity(order.len() + extra.len());
        for (place, row) in order.into_iter().enumerate() {
            whole.push(row);
            while let Some((_, number)) = extra.next_if(|(owner, _)| *owner == place) {
                whole.push(number);
            }
        }
        whole
    }

    /// Returns the newest row of the branch on which a prompt is.
    pub fn end_of_branch(&self, prompt: usize) -> usize {
        let kept = (0..self.rows.len()).rev();
        let kept = kept.filter(|row| self.rows[*row].kind != RowKind::Other);
        // a row is below the prompt if its parent is; each row is asked once
        let mut below: Vec<Option<bool>> = vec![None; self.rows.len()];
        below[prompt] = Some(true);
        for tip in kept {
            let mut path = Vec::new();
            let mut answer = false;
            for row in self.history(tip) {
                if let Some(known) = below[row] {
                    answer = known;
                    break;
                }
                below[row] = Some(false);
                path.push(row);
            }
            for row in path {
                below[row] = Some(answer);
            }
            if answer {
                return tip;
            }
        }
        prompt
    }

    /// Returns the number of prompts in the history up to this row.
    pub fn count_prompts(&self, leaf: usize) -> usize {
        let prompts = self.history(leaf);
        prompts.filter(|row| self.rows[*row].is_prompt).count()
    }

    /// Returns the rows of the history from its first row to this one, in order, with those of parallel calls.
    pub fn whole_history(&self, leaf: usize) -> Vec<usize> {
        let mut order: Vec<usize> = self.history(leaf).collect();
        order.reverse();
        let on_chain = order.iter().copied().collect();
        self.with_siblings(order, &on_chain)
    }
}
