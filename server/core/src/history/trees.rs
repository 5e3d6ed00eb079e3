//! The tracked tree and single files as they were at a node.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::Ancestry;
use super::queries::History;
use crate::error::Result;
use crate::history;
use crate::model::{FileId, FileVersion, Image, NodeId, Placed, RelPath};
use crate::store::tables::{changed_files, file};
use crate::worktree::backed_content;
use crate::worktree::file_state;

pub type Tree = BTreeMap<RelPath, Image>;

impl History<'_> {
    /// Returns the whole tracked tree at a node, without files that were not known at the time.
    pub fn tree_at(&self, id: NodeId) -> Result<Tree> {
        let _moment = self.store.reading()?;
        let (conn, root) = (&self.store.conn, self.here.root);
        let placed = self.placed_at(id)?.into_iter();
        placed
            .map(|(path, (image, _))| {
                let image = backed_content::materialize(conn, root, &path, image)?;
                Ok((path, image))
            })
            .collect()
    }

    /// Returns all paths of the tracked tree at a node.
    pub fn paths_at(&self, id: NodeId) -> Result<Vec<RelPath>> {
        let _moment = self.store.reading()?;
        Ok(self.placed_at(id)?.into_keys().collect())
    }

    /// Like `tree_at`, but leaves contents that only git has as `Image::InGit`.
    pub(crate) fn placed_at(
        &self,
        id: NodeId,
    ) -> Result<BTreeMap<RelPath, (Image, Option<FileId>)>> {
        let conn = &self.store.conn;
        let ancestry = Ancestry::new(conn);
        let mut tree: BTreeMap<RelPath, (Image, Option<FileId>)> = BTreeMap::new();
        for (path, row) in file_state::all(conn, self.here.root)? {
            let known_then = match (row.file, row.since) {
                (None, Some(since)) => ancestry.is_ancestor(since, id)?,
                _ => true,
            };
            if known_then {
                tree.insert(path, (row.image, row.file));
            }
        }
        for (path, row) in file_state::adopted_elsewhere(conn, self.here.root)? {
            if row
                .since
                .map_or(Ok(false), |since| ancestry.is_ancestor(since, id))?
            {
                tree.entry(path).or_insert((row.image, None));
            }
        }
        let Some(head) = self.head()? else {
            return Ok(tree);
        };
        let mut moved = self.files_between(&ancestry, head, id)?;
        moved.extend(self.adopted_between(&ancestry, head, id)?);
        tree.retain(|_, (_, file)| file.is_none_or(|f| !moved.contains(&f)));
        for file in moved {
            if !self.known_at(&ancestry, file, id)? {
                continue;
            }
            if let Some(Placed { path, image }) = history::state_at(&ancestry, file, id)? {
                tree.insert(path, (image, Some(file)));
            }
        }
        Ok(tree)
    }

    /// True if a file's state was known at a node.
    pub(crate) fn known_at(
        &self,
        ancestry: &Ancestry<'_>,
        file: FileId,
        node: NodeId,
    ) -> Result<bool> {
        // an exact rewind may have brought it here from the branch on which it was first captured
        Ok(self.seen_at(ancestry, file, node)? || history::is_changed(ancestry, file, node)?)
    }

    /// True if a file was first captured at an ancestor of a node, or was always known.
    pub(crate) fn seen_at(
        &self,
        ancestry: &Ancestry<'_>,
        file: FileId,
        node: NodeId,
    ) -> Result<bool> {
        match file::since(&self.store.conn, file)? {
            Some(since) => ancestry.is_ancestor(since, node),
            None => Ok(true),
        }
    }

    /// Returns a file's state at a node, or none if it was not known there.
    pub(crate) fn state_known(
        &self,
        ancestry: &Ancestry<'_>,
        file: FileId,
        node: NodeId,
    ) -> Result<FileVersion> {
        if self.known_at(ancestry, file, node)? {
            history::state_at(ancestry, file, node)
        } else {
            Ok(None)
        }
    }

    /// Returns files with changes between two nodes.
    pub(crate) fn files_between(
        &self,
        ancestry: &Ancestry<'_>,
        a: NodeId,
        b: NodeId,
    ) -> Result<BTreeSet<FileId>> {
        self.named_between(ancestry, (a, b), changed_files::of_node)
    }

    /// Returns files with an identity that were first captured between two nodes.
    pub(crate) fn adopted_between(
        &self,
        ancestry: &Ancestry<'_>,
        a: NodeId,
        b: NodeId,
    ) -> Result<BTreeSet<FileId>> {
        self.named_between(ancestry, (a, b), file::adopted_at)
    }

    fn named_between(
        &self,
        ancestry: &Ancestry<'_>,
        (a, b): (NodeId, NodeId),
        of_node: fn(&Connection, NodeId) -> Result<Vec<FileId>>,
    ) -> Result<BTreeSet<FileId>> {
        let common = ancestry.common(a, b)?;
        let mut files = BTreeSet::new();
        for node in ancestry
            .after(common, a)?
            .into_iter()
            .chain(ancestry.after(common, b)?)
        {
            files.extend(of_node(&self.store.conn, node)?);
        }
        Ok(files)
    }

    pub fn image_at(&self, id: NodeId, path: &RelPath) -> Result<Image> {
        let tree = self.placed_at(id)?;
        let image = tree.get(path).map_or(Image::Absent, |(image, _)| *image);
        backed_content::materialize(&self.store.conn, self.here.root, path, image)
    }

    /// True if a path that is tracked now was first captured after a node.
    pub fn is_unknown_at(&self, path: &RelPath, node: NodeId) -> Result<bool> {
        let row = file_state::get(&self.store.conn, self.here.root, path)?;
        let ancestry = Ancestry::new(&self.store.conn);
        row.and_then(|row| row.since)
            .map_or(Ok(false), |since| Ok(!ancestry.is_ancestor(since, node)?))
    }
}
