//! Commands on branches and tags, and trees written to other directories: a plain copy, or a second directory with
//! the same history.

mod materialize;
mod target;
mod tree;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use crate::config::Sources;
use crate::engine::{Engine, Progress};
use crate::error::{Context, Result};
use crate::history::{Ancestry, BranchInfo, OpKind, Tag, branches};
use crate::model::{BranchId, ConversationId, Here, NodeId};
use crate::places::{Workspace, WorkspaceKind};
use crate::store::Durable;
use crate::store::tables::root::{self, NewFork};
use crate::store::tables::{conversation, file, node, tag};
use crate::system::DirIdentity;
use crate::workspace;
use crate::worktree::disk::{NO_STAT, Root, Stat};
use crate::worktree::file_state::{self, FileState};
use crate::worktree::ignore_rules::Excludes;
use materialize::PendingFork;
pub(crate) use materialize::finish_left;
use target::ForkTarget;
pub use tree::WrittenTree;

/// A second directory that was forked off.
#[derive(Clone, Debug)]
pub struct Forked {
    pub branch: BranchInfo,
    pub root: PathBuf,
    pub written: WrittenTree,
}

/// A branch that is about to be created.
#[derive(Clone, Copy, Debug)]
pub struct BranchStart<'a> {
    pub name: &'a str,
    pub from: NodeId,
    pub description: Option<&'a str>,
    /// A conversation that was begun with it. It is whole once the branch is there.
    pub conversation: Option<ConversationId>,
}

impl<'a> BranchStart<'a> {
    pub fn new(name: &'a str, from: NodeId) -> Self {
        Self {
            name,
            from,
            description: None,
            conversation: None,
        }
    }
}

/// Branches, tags, and copies of a tree in other directories. `E` is `&Engine` for questions, `&mut Engine` for the rest.
#[derive(Clone, Copy, Debug)]
pub struct Forks<E> {
    engine: E,
}

impl Engine {
    /// Branches, tags, and copies of a tree: questions.
    pub fn forks(&self) -> Forks<&Self> {
        Forks { engine: self }
    }

    /// Branches, tags, and copies of a tree.
    pub fn forks_mut(&mut self) -> Forks<&mut Self> {
        Forks { engine: self }
    }
}

impl Forks<&mut Engine> {
    /// Creates a branch at a node. Does not switch to it.
    pub fn create_branch(&mut self, new: &BranchStart<'_>) -> Result<BranchInfo> {
        let here = self.engine.here;
        self.engine.store.write(Durable::Power, |conn| {
            let id = branches::fork(conn, here, new.name, new.from, new.description)?;
            join(conn, new, id)?;
            branches::info(conn, here, id)
        })
    }

    pub fn rename_branch(&mut self, from: &str, to: &str) -> Result<BranchInfo> {
        let here = self.engine.here;
        self.engine.store.write(Durable::Power, |conn| {
            let id = branches::find(conn, from)?;
            branches::rename(conn, id, to)?;
            branches::record(
                conn,
                here,
                OpKind::Branch,
                &format!("rename “{from}” to “{to}”"),
                None,
            )?;
            branches::info(conn, here, id)
        })
    }

    /// Deletes a branch's name and returns what it named. Its checkpoints stay.
    pub fn delete_branch(&mut self, name: &str) -> Result<BranchInfo> {
        let here = self.engine.here;
        self.engine.store.write(Durable::Power, |conn| {
            let deleted = branches::delete(conn, here, branches::find(conn, name)?)?;
            branches::record(
                conn,
                here,
                OpKind::Branch,
                &format!("delete {name}"),
                deleted.head,
            )?;
            Ok(deleted)
        })
    }

    pub fn tag(&mut self, name: &str, node: NodeId) -> Result<()> {
        let here = self.engine.here;
        self.engine.store.write(Durable::Power, |conn| {
            branches::tag(conn, name, node)?;
            branches::record(conn, here, OpKind::Tag, name, Some(node))
        })
    }

    /// Deletes a tag and returns its node.
    pub fn untag(&mut self, name: &str) -> Result<NodeId> {
        let here = self.engine.here;
        self.engine.store.write(Durable::Power, |conn| {
            let node = branches::untag(conn, name)?;
            branches::record(
                conn,
                here,
                OpKind::Tag,
                &format!("delete {name}"),
                Some(node),
            )?;
            Ok(node)
        })
    }

    /// Pins or unpins a node. Retention never squashes a pinned node. Returns `false` if nothing changed.
    pub fn pin(&mut self, node: NodeId, pinned: bool) -> Result<bool> {
        self.engine
            .store
            .write(Durable::Power, |conn| branches::pin(conn, node, pinned))
    }

    /// Creates a branch at a node, in its own directory: another root of this store. The directory appears only
    /// when it is complete; on failure nothing of it stays.
    pub fn fork_into(
        &mut self,
        new: &BranchStart<'_>,
        into: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Forked> {
        // refuse before writing anything
        let target = target::target_of_fork(self.engine, into)?;
        branches::check_name(&self.engine.store.conn, new.name)?;
        let shared = workspace::may_share(&target.path, &self.engine.store.dir)?;
        let pending = PendingFork::begin(&self.engine.store.dir, &target, shared)?;
        match self.fork_to(&pending, &target, new, progress) {
            Ok(forked) => {
                pending.finish(&self.engine.store)?;
                if let Some(identity) = DirIdentity::of(&forked.root) {
                    let workspace = Workspace {
                        root: forked.root.clone(),
                        store_dir: self.engine.store.dir.clone(),
                        shared: true,
                        kind: WorkspaceKind::Project,
                    };
                    // the first command in that directory does this, too
                    workspace.bind(identity, |_| Ok(true)).ok();
                }
                Ok(forked)
            }
            Err(error) => {
                pending.remove(&self.engine.store.dir);
                Err(error)
            }
        }
    }
}

impl<E: Deref<Target = Engine>> Forks<E> {
    pub fn branch(&self, name: &str) -> Result<BranchInfo> {
        let conn = &self.engine.store.conn;
        branches::info(conn, self.engine.here, branches::find(conn, name)?)
    }

    /// Returns the checkpoints made on a branch, oldest first.
    pub fn nodes_of(&self, branch: BranchId) -> Result<Vec<NodeId>> {
        node::of_branch(&self.engine.store.conn, branch)
    }

    pub fn tags(&self) -> Result<Vec<Tag>> {
        tag::all(&self.engine.store.conn)
    }

    /// Returns the nearest common ancestor of two nodes.
    pub fn ancestor(&self, a: NodeId, b: NodeId) -> Result<Option<NodeId>> {
        Ancestry::new(&self.engine.store.conn).common(a, b)
    }

    /// Writes the whole tracked tree at a node into an empty directory.
    pub fn materialize(
        &self,
        id: NodeId,
        into: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<WrittenTree> {
        let target = target::target(&self.engine, into)?;
        std::fs::create_dir_all(&target.path).at("make", into)?;
        self.write_tree(
            id,
            &Root::open(&target.path, Arc::clone(&self.engine.root.sources))?,
            progress,
        )
    }

    fn fork_to(
        &self,
        pending: &PendingFork,
        target: &ForkTarget,
        new: &BranchStart<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Forked> {
        let sources = Sources::at(&target.path, &pending.tree(), &self.engine.store.dir);
        let tree = Root::open(&pending.tree(), Arc::new(sources))?;
        let written = self.write_tree(new.from, &tree, progress)?;
        let left_out = written.left_out();
        crate::fault::point("fork written");
        let excludes = Excludes::read(&target.path, &tree.sources);
        // the rename to its final path keeps the identity
        let identity = if target.exists {
            DirIdentity::of(&target.path)
        } else {
            tree.identity()
        };
        let here = self.engine.here;
        let branch = self.engine.store.write(Durable::Power, |conn| {
            // within the transaction, since a file may have got its identity while the tree was written
            let rows = self.rows_at(new.from)?;
            let absent = self.absent_at(new.from, &rows)?;
            root::give_up(conn, &target.path)?;
            let branch = branches::create(conn, new.name, new.from, new.description)?;
            join(conn, new, branch)?;
            let fork = NewFork {
                path: &target.path,
                branch,
                identity,
                excludes: &excludes,
            };
            let root = root::insert_fork(conn, &fork)?;
            for (path, row) in &rows {
                // must not be recorded as deleted
                if left_out.contains(path.bytes()) {
                    continue;
                }
                let stat = tree.stat(path);
                let row = FileState {
                    stat: stat.map_or(NO_STAT, |s| Stat { racy: true, ..s }),
                    ..*row
                };
                file_state::put(conn, root, path, &row, file_state::Observed::ByWalk)?;
            }
            for (path, file) in &absent {
                file::set_gone(conn, root, *file, Some(path))?;
            }
            branches::record(conn, here, OpKind::Fork, new.name, Some(new.from))?;
            pending.commit(conn, root)?;
            // last, since a failure here rolls back the transaction
            workspace::share(&target.path, &self.engine.store.dir)?;
            crate::fault::point("shared");
            branches::info(conn, Here { root, ..here }, branch)
        })?;
        Ok(Forked {
            branch,
            root: target.path.clone(),
            written,
        })
    }
}

/// The conversation of a new branch is whole with it.
fn join(conn: &Connection, new: &BranchStart<'_>, branch: BranchId) -> Result<()> {
    match new.conversation {
        Some(conversation) => conversation::join_branch(conn, conversation, branch),
        None => Ok(()),
    }
}
