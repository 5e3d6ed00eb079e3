//! Writes the tree of a node to another directory, and returns the file states for it.

use std::collections::BTreeSet;
use std::ops::Deref;

use super::Forks;
use crate::engine::{Engine, Progress};
use crate::error::{Context, Result};
use crate::history::Ancestry;
use crate::model::{FileId, Image, NodeId, Opaque, RelPath};
use crate::restore::directories::noted_at;
use crate::restore::{Gap, GapKind, gap_of};
use crate::store::tables::file;
use crate::store::tables::root::scan;
use crate::worktree::directories::NotedDirs;
use crate::worktree::disk::{Content, NO_STAT, Root};
use crate::worktree::file_state::{self, FileState};
use crate::worktree::recorded_vcs::RecordedVcs;

/// From this many files on, the whole file system is synced instead of each file.
const SYNC_ALL: usize = 2000;

/// Result of writing a tree.
#[derive(Clone, Debug, Default)]
pub struct WrittenTree {
    pub files: u64,
    /// Files left out because their contents were not captured.
    pub gaps: Vec<Gap>,
}

impl WrittenTree {
    /// Paths that the new directory does not know. Files below a replaced directory are known there: the first scan
    /// records that they are gone.
    pub(super) fn left_out(&self) -> BTreeSet<&[u8]> {
        let not_captured = self.gaps.iter().filter(|g| g.kind != GapKind::Unknown);
        not_captured.filter_map(|g| g.path.as_deref()).collect()
    }
}

impl<E: Deref<Target = Engine>> Forks<E> {
    /// Writes the tree of a node. A file whose content was not captured is copied from disk, if the node is the head
    /// and the file is unchanged since the last scan.
    pub(super) fn write_tree(
        &self,
        node: NodeId,
        target: &Root,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<WrittenTree> {
        let into = &target.path;
        let current = self.engine.history().head()? == Some(node);
        let tree = self.engine.history().tree_at(node)?;
        let total = Some(tree.len() as u64);
        let one_by_one = tree.len() < SYNC_ALL;
        let mut out = WrittenTree::default();
        let paths: BTreeSet<RelPath> = tree.keys().cloned().collect();
        let engine = &*self.engine;
        let vcs_dirs =
            RecordedVcs::new(&engine.store.conn, &engine.root, engine.here).dirs_of(&paths)?;
        for (done, (path, image)) in (1..).zip(&tree) {
            if vcs_dirs.contains_key(path) {
                out.gaps.push(Gap {
                    path: Some(path.bytes().to_vec()),
                    kind: GapKind::VersionControl,
                    detail: "it belongs to version control; it is left out".into(),
                });
                continue;
            }
            // a scan had not looked yet at what a call has replaced
            if std::iter::successors(path.parent(), RelPath::parent)
                .any(|dir| tree.contains_key(&dir))
            {
                out.gaps.push(Gap {
                    path: Some(path.bytes().to_vec()),
                    kind: GapKind::Unknown,
                    detail: "a file had replaced its directory; it is left out".into(),
                });
                continue;
            }
            let written = if let Image::Opaque(why) = image {
                let copied = if current && *why == Opaque::TooLarge {
                    self.copy(path, target)?
                } else {
                    None
                };
                if copied.is_none() {
                    out.gaps.push(Gap {
                        path: Some(path.bytes().to_vec()),
                        kind: gap_of(*why),
                        detail: "its content was not captured; it is left out".into(),
                    });
                }
                copied
            } else {
                self.write_file(path, image, target)?
            };
            if !matches!(image, Image::Opaque(_)) || written.is_some() {
                out.files += 1;
            }
            if let Some(file) = written.filter(|_| one_by_one) {
                file.sync_all().at("sync", &into.join(path.to_path()))?;
            }
            progress(Progress {
                what: "writing",
                done,
                total,
            });
        }
        self.write_dirs(node, target)?;
        if !one_by_one {
            target.sync()?;
        }
        Ok(out)
    }

    /// Makes the directories of a node that its files do not tell.
    fn write_dirs(&self, node: NodeId, target: &Root) -> Result<()> {
        let conn = &self.engine.store.conn;
        let noted = scan::noted_dirs::<NotedDirs>(conn, self.engine.here.root)?;
        let (Some(noted), Some(head)) = (noted, self.engine.history().head()?) else {
            return Ok(());
        };
        for (dir, mode) in noted_at(&Ancestry::new(conn), (&noted, head), node)? {
            // a file may be there, or where a directory above it is needed
            target.make_dir(&dir, mode).ok();
        }
        Ok(())
    }

    fn write_file(
        &self,
        path: &RelPath,
        image: &Image,
        target: &Root,
    ) -> Result<Option<std::fs::File>> {
        let Some(content) = image.content() else {
            return Ok(None);
        };
        target.make_parents(path)?;
        let row = file_state::get(&self.engine.store.conn, self.engine.here.root, path)?;
        let same = row.is_some_and(|row| row.image.content() == Some(content));
        let here = self.engine.root.place(path).ok().flatten();
        let like = here.as_ref().filter(|_| same);
        match target.place(path)? {
            Some(place) => {
                let read: Content<'_> = &|take| self.engine.store.read(&content, take);
                let created = place.create_unsynced(image, read, like, here.as_ref())?;
                Ok(created.file)
            }
            None => Ok(None),
        }
    }

    /// Copies a file from disk. None: it changed since the last scan.
    fn copy(&self, path: &RelPath, target: &Root) -> Result<Option<std::fs::File>> {
        let Some(row) = file_state::get(&self.engine.store.conn, self.engine.here.root, path)?
        else {
            return Ok(None);
        };
        let Some(from) = self.engine.root.place(path).ok().flatten() else {
            return Ok(None);
        };
        if row.image != Image::Opaque(Opaque::TooLarge) {
            return Ok(None);
        }
        target.make_parents(path)?;
        match target.place(path)? {
            Some(to) => to.copy_unsynced(&from, &row.stat),
            None => Ok(None),
        }
    }

    /// Returns the file states of a directory to which the tree of a node was just written.
    pub(super) fn rows_at(&self, node: NodeId) -> Result<Vec<(RelPath, FileState)>> {
        let conn = &self.engine.store.conn;
        let mut rows = Vec::new();
        for (path, (image, file)) in self.engine.history().placed_at(node)? {
            let since = match file {
                Some(file) => file::since(conn, file)?,
                None => {
                    file_state::row(conn, self.engine.here.root, &path)?.and_then(|row| row.since)
                }
            };
            let row = FileState {
                image,
                file,
                since,
                generation: 0,
                stat: NO_STAT,
            };
            rows.push((path, row));
        }
        Ok(rows)
    }

    /// Returns files that do not exist at a node, with the path where they would be recreated.
    pub(super) fn absent_at(
        &self,
        node: NodeId,
        rows: &[(RelPath, FileState)],
    ) -> Result<Vec<(RelPath, FileId)>> {
        let conn = &self.engine.store.conn;
        let there: BTreeSet<FileId> = rows.iter().filter_map(|(_, row)| row.file).collect();
        let paths: BTreeSet<&RelPath> = rows.iter().map(|(path, _)| path).collect();
        let ancestry = Ancestry::new(conn);
        let mut absent = file::gone(conn, self.engine.here.root)?;
        absent.extend(
            file_state::all(conn, self.engine.here.root)?
                .into_iter()
                .filter_map(|(path, row)| Some((path, row.file?))),
        );
        let mut kept = Vec::new();
        for (path, file) in absent {
            if !there.contains(&file)
                && !paths.contains(&path)
                && self.engine.history().known_at(&ancestry, file, node)?
            {
                kept.push((path, file));
            }
        }
        Ok(kept)
    }
}
