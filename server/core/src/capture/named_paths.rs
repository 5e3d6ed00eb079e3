//! Paths that a tool names: where they are, and what is on disk there.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::Capture;
use super::event::AgentEvent;
use super::write_txn::WriteTxn;
use crate::content::MAX_MERGE_BYTES;
use crate::engine::Engine;
use crate::error::Result;
use crate::model::{Coverage, Image, Reason, RelPath, RootId};
use crate::worktree::disk::{DiskEntry, Root, store_ahead};
use crate::worktree::file_state;
use crate::worktree::ignore_rules::ExcludePatterns;
use crate::worktree::pending_saves;

/// Location of a path that a tool names.
pub(super) enum NamedPath {
    Inside(RelPath),
    Outside(Vec<u8>, &'static str),
    /// Excluded by the settings and not recorded.
    Excluded(RelPath),
}

impl NamedPath {
    pub(super) fn inside(self) -> Option<RelPath> {
        match self {
            Self::Inside(path) => Some(path),
            Self::Outside(..) | Self::Excluded(_) => None,
        }
    }
}

pub(crate) const EXCLUDED: &str = "excluded by capture.exclude";

impl<E: Deref<Target = Engine>> Capture<E> {
    /// Reads the disk entry of a path, compared with its recorded state.
    pub(crate) fn disk_entry(&self, path: &RelPath) -> Result<DiskEntry> {
        read_entry(
            &self.engine.store.conn,
            self.engine.here.root,
            &self.engine.root,
            path,
        )
    }

    /// Reads a path as the record expects it, with pending saves applied.
    pub(crate) fn expected_entry(&self, path: &RelPath) -> Result<DiskEntry> {
        let mut entry = self.disk_entry_with_text(path)?;
        let pending = pending_saves::Pending::of(&self.engine.store.conn, self.engine.here.root)?;
        if let Some(p) = pending.get(path)
            && pending.overlay(path, p.wanted, &mut entry)
        {
            entry.bytes = p
                .wanted
                .content()
                .map(|c| self.engine.content(&c))
                .transpose()?;
        }
        Ok(entry)
    }

    /// Reads the disk entry with its text, also of a large file, unless it is too long to compare.
    pub(crate) fn disk_entry_with_text(&self, path: &RelPath) -> Result<DiskEntry> {
        let row = file_state::get(&self.engine.store.conn, self.engine.here.root, path)?;
        let before = row.map_or(Image::Absent, |row| row.image);
        self.engine
            .root
            .reread_entry_holding(path, &before, MAX_MERGE_BYTES)
    }

    /// Reads a disk entry that is about to be recorded. A large content is stored here, before the
    /// transaction.
    pub(crate) fn disk_entry_stored(&self, path: &RelPath) -> Result<DiskEntry> {
        let row = file_state::get(&self.engine.store.conn, self.engine.here.root, path)?;
        let before = row.map_or(Image::Absent, |row| row.image);
        let (root, store) = (&self.engine.root, &self.engine.store);
        let mut entry = root.reread_entry(path, &before)?;
        if !store_ahead(root, store, path, &mut entry, &before)? {
            entry = root.reread_entry(path, &before)?;
        }
        Ok(entry)
    }

    /// Locates a path that a tool names. A path that is already recorded is not excluded.
    fn named(
        &self,
        e: &AgentEvent,
        path: &Path,
        excluding: Option<&ExcludePatterns>,
    ) -> Result<Vec<NamedPath>> {
        let mut all = named(&self.engine.root, e.cwd.as_deref(), path);
        let Some(excluding) = excluding else {
            return Ok(all);
        };
        for named in &mut all {
            if let NamedPath::Inside(path) = named
                && excluding.holds(path)
                && file_state::row(&self.engine.store.conn, self.engine.here.root, path)?.is_none()
            {
                *named = NamedPath::Excluded(path.clone());
            }
        }
        Ok(all)
    }

    /// Reads the named paths that are captured. Returns them with the coverage of the others.
    pub(super) fn read_named(
        &self,
        e: &AgentEvent,
        paths: &[PathBuf],
    ) -> Result<(Vec<(RelPath, DiskEntry)>, Coverage)> {
        let mut entries = Vec::new();
        let mut coverage = Coverage::default();
        let excluding = self.engine.root.excluding();
        for path in paths {
            for named in self.named(e, path, excluding.as_ref())? {
                match named {
                    NamedPath::Inside(path) => {
                        let path = self.engine.root.as_listed(path);
                        let entry = self.disk_entry_stored(&path)?;
                        entries.push((path, entry));
                    }
                    NamedPath::Outside(path, why) => coverage.note(&path, Reason::Outside, why),
                    NamedPath::Excluded(path) => {
                        coverage.note(path.bytes(), Reason::Excluded, EXCLUDED);
                    }
                }
            }
        }
        Ok((entries, coverage))
    }
}

pub(super) fn read_entry(
    conn: &Connection,
    root: RootId,
    disk: &Root,
    path: &RelPath,
) -> Result<DiskEntry> {
    let row = file_state::get(conn, root, path)?;
    disk.reread_entry(path, &row.map_or(Image::Absent, |row| row.image))
}

/// Returns `entry` if it is still current, otherwise reads the path again.
pub(super) fn refresh_entry(
    txn: &WriteTxn<'_>,
    path: &RelPath,
    entry: DiskEntry,
) -> Result<DiskEntry> {
    if txn.is_unchanged(path, &entry.image, entry.stat) {
        return Ok(entry);
    }
    read_entry(txn.conn, txn.here.root, txn.root, path)
}

/// Resolves a named path: to the file itself and, through a link, to its target.
pub(super) fn places(root: &Path, cwd: Option<&Path>, path: &Path) -> Vec<PathBuf> {
    let full = match cwd {
        Some(cwd) if path.is_relative() => cwd.join(path),
        _ if path.is_relative() => root.join(path),
        _ => path.to_path_buf(),
    };
    // the existing part of the path is canonicalized; the tool is about to create the rest
    let real = |path: &Path| -> Option<PathBuf> {
        let mut missing = Vec::new();
        let mut at = path;
        loop {
            if let Ok(real) = at.canonicalize() {
                return Some(missing.iter().rev().fold(real, |p, name| p.join(name)));
            }
            missing.push(at.file_name()?.to_owned());
            at = at.parent()?;
        }
    };
    let mut places = Vec::new();
    let parent_real = full
        .parent()
        .and_then(real)
        .zip(full.file_name())
        .map(|(dir, name)| dir.join(name));
    for place in parent_real.into_iter().chain(real(&full)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Locates the places of a named path.
pub(super) fn named(root: &Root, cwd: Option<&Path>, path: &Path) -> Vec<NamedPath> {
    let inside = |place: &PathBuf| {
        let outside = |why| NamedPath::Outside(crate::model::os_bytes(place.as_os_str()), why);
        match place
            .strip_prefix(&root.path)
            .ok()
            .and_then(RelPath::from_path)
        {
            Some(path) => {
                if root.vcs_dir(&path).is_some() {
                    outside("inside a version-control folder")
                } else {
                    NamedPath::Inside(path)
                }
            }
            None => outside("outside the workspace"),
        }
    };
    places(&root.path, cwd, path).iter().map(inside).collect()
}
