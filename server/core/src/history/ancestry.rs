//! Which node stands on which. A branch only ever grows at its head, so its nodes are one chain in the order of
//! their numbers, and what stands above any node is told by a few branches, each up to some number.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::{Error, Result};
use crate::model::{BranchId, NodeId};

/// The nodes of a branch up to this one.
#[derive(Clone, Copy, Debug)]
struct BranchSegment {
    branch: BranchId,
    upto: NodeId,
}

/// A node and everything above it: its own branch first, then that from which it was forked, and so on.
#[derive(Clone, Debug)]
pub(crate) struct Lineage(Rc<[BranchSegment]>);

impl Lineage {
    /// Whether this node, made on this branch, is one of them.
    pub(crate) fn has(&self, branch: BranchId, node: NodeId) -> bool {
        let stretch = self.0.iter().find(|s| s.branch == branch);
        stretch.is_some_and(|s| node <= s.upto)
    }

    /// The branches that it goes along, each up to which node, newest first.
    pub(crate) fn stretches(&self) -> impl Iterator<Item = (BranchId, NodeId)> {
        self.0.iter().map(|s| (s.branch, s.upto))
    }
}

/// Answers questions of ancestry, remembering what it has read.
pub(crate) struct Ancestry<'c> {
    conn: &'c Connection,
    lines: RefCell<HashMap<NodeId, Lineage>>,
}

impl<'c> Ancestry<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Self {
        Self {
            conn,
            lines: RefCell::new(HashMap::new()),
        }
    }

    pub(crate) fn conn(&self) -> &'c Connection {
        self.conn
    }

    fn branch(&self, id: NodeId) -> Result<BranchId> {
        self.conn
            .prepare_cached("SELECT branch FROM node WHERE id = ?1")?
            .query_row([id], |r| r.get(0))
            .optional()?
            .ok_or_else(|| Error::NoRevision(id.to_string()))
    }

    pub(crate) fn line(&self, of: NodeId) -> Result<Lineage> {
        if let Some(line) = self.lines.borrow().get(&of) {
            return Ok(line.clone());
        }
        let mut stretches = Vec::new();
        let mut at = Some(of);
        while let Some(upto) = at {
            let branch = self.branch(upto)?;
            stretches.push(BranchSegment { branch, upto });
            let (fork, parent): (Option<NodeId>, Option<NodeId>) = self
                .conn
                .prepare_cached(
                    "SELECT fork_point, (SELECT parent FROM node WHERE branch = ?1 ORDER BY id LIMIT 1)
                     FROM branch WHERE id = ?1",
                )?
                .query_row([branch], |r| Ok((r.get(0)?, r.get(1)?)))?;
            if fork != parent {
                let what = format!("where branch {} begins", branch.0);
                return Err(super::rotten(&what).into());
            }
            at = fork;
        }
        let line = Lineage(stretches.into());
        self.lines.borrow_mut().insert(of, line.clone());
        Ok(line)
    }

    pub(crate) fn parent(&self, id: NodeId) -> Result<Option<NodeId>> {
        self.conn
            .prepare_cached("SELECT parent FROM node WHERE id = ?1")?
            .query_row([id], |r| r.get(0))
            .optional()?
            .ok_or_else(|| Error::NoRevision(id.to_string()))
    }

    /// Whether `ancestor` is `of` or stands above it.
    pub(crate) fn is_ancestor(&self, ancestor: NodeId, of: NodeId) -> Result<bool> {
        Ok(self.line(of)?.has(self.branch(ancestor)?, ancestor))
    }

    /// The nearest node that both stand on.
    pub(crate) fn common(&self, a: NodeId, b: NodeId) -> Result<Option<NodeId>> {
        let (a, b) = (self.line(a)?, self.line(b)?);
        Ok(a.0.iter().find_map(|s| {
            let other = b.0.iter().find(|o| o.branch == s.branch)?;
            Some(s.upto.min(other.upto))
        }))
    }

    /// The nodes after `base` up to `tip`, newest first; all of them where `base` is None. `base` stands above `tip`.
    pub(crate) fn after(&self, base: Option<NodeId>, tip: NodeId) -> Result<Vec<NodeId>> {
        let mut nodes = Vec::new();
        for stretch in self.line(tip)?.0.iter() {
            let on_it = match base {
                Some(base) if self.branch(base)? == stretch.branch => Some(base),
                _ => None,
            };
            let mut select = self.conn.prepare_cached(
                "SELECT id FROM node WHERE branch = ?1 AND id > ?2 AND id <= ?3 ORDER BY id DESC",
            )?;
            let above = on_it.map_or(0, |base| base.0);
            let rows =
                select.query_map(params![stretch.branch, above, stretch.upto], |r| r.get(0))?;
            for row in rows {
                nodes.push(row?);
            }
            if on_it.is_some() {
                break;
            }
        }
        Ok(nodes)
    }
}
