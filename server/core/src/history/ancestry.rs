//! Ancestry of nodes. A branch only grows at its head, so its nodes form a chain in the order of
//! their ids. The ancestors of a node are therefore a few branch segments, each up to some id.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::model::{BranchId, NodeId};
use crate::store::tables::{branch, node};

/// The nodes of a branch up to this one.
#[derive(Clone, Copy, Debug)]
struct BranchSegment {
    branch: BranchId,
    upto: NodeId,
}

/// A node and its ancestors: its own branch first, then the branch it was forked from, and so on.
#[derive(Clone, Debug)]
pub(crate) struct Lineage(Rc<[BranchSegment]>);

impl Lineage {
    /// True if this node, made on this branch, belongs to the lineage.
    pub(crate) fn has(&self, branch: BranchId, node: NodeId) -> bool {
        let segment = self.0.iter().find(|s| s.branch == branch);
        segment.is_some_and(|s| node <= s.upto)
    }

    /// Returns the branches of the lineage with their last node, newest first.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (BranchId, NodeId)> {
        self.0.iter().map(|s| (s.branch, s.upto))
    }
}

/// Answers ancestry questions, with a cache of lineages.
pub(crate) struct Ancestry<'c> {
    conn: &'c Connection,
    lineages: RefCell<HashMap<NodeId, Lineage>>,
}

impl<'c> Ancestry<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Self {
        Self {
            conn,
            lineages: RefCell::new(HashMap::new()),
        }
    }

    pub(crate) fn conn(&self) -> &'c Connection {
        self.conn
    }

    fn branch(&self, id: NodeId) -> Result<BranchId> {
        let branch = node::branch_of(self.conn, id)?;
        branch.ok_or_else(|| Error::NoRevision(id.to_string()))
    }

    pub(crate) fn line(&self, of: NodeId) -> Result<Lineage> {
        if let Some(line) = self.lineages.borrow().get(&of) {
            return Ok(line.clone());
        }
        let mut segments = Vec::new();
        let mut next = Some(of);
        while let Some(upto) = next {
            let branch = self.branch(upto)?;
            segments.push(BranchSegment { branch, upto });
            let (fork, parent) = branch::starts(self.conn, branch)?;
            if fork != parent {
                let what = format!("the start of branch {}", branch.0);
                return Err(super::damaged(&what).into());
            }
            next = fork;
        }
        let line = Lineage(segments.into());
        self.lineages.borrow_mut().insert(of, line.clone());
        Ok(line)
    }

    pub(crate) fn parent(&self, id: NodeId) -> Result<Option<NodeId>> {
        node::parent_of(self.conn, id)
    }

    /// True if `ancestor` is `of` or one of its ancestors.
    pub(crate) fn is_ancestor(&self, ancestor: NodeId, of: NodeId) -> Result<bool> {
        Ok(self.line(of)?.has(self.branch(ancestor)?, ancestor))
    }

    /// Returns the nearest common ancestor.
    pub(crate) fn common(&self, a: NodeId, b: NodeId) -> Result<Option<NodeId>> {
        let (a, b) = (self.line(a)?, self.line(b)?);
        Ok(a.0.iter().find_map(|s| {
            let matching = b.0.iter().find(|o| o.branch == s.branch)?;
            Some(s.upto.min(matching.upto))
        }))
    }

    /// Returns the nodes after `base` up to `tip`, newest first, or all of them without a base.
    /// `base` must be an ancestor of `tip`.
    pub(crate) fn after(&self, base: Option<NodeId>, tip: NodeId) -> Result<Vec<NodeId>> {
        let mut nodes = Vec::new();
        for segment in self.line(tip)?.0.iter() {
            let base_here = match base {
                Some(base) if self.branch(base)? == segment.branch => Some(base),
                _ => None,
            };
            let (branch, upto) = (segment.branch, segment.upto);
            nodes.extend(node::of_segment(self.conn, branch, base_here, upto)?);
            if base_here.is_some() {
                break;
            }
        }
        Ok(nodes)
    }
}
