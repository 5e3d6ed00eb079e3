//! Results of a running scan: small amounts in memory, more in a pack file.

use std::collections::HashSet;
use std::path::Path;

use rustc_hash::FxHashSet;

use super::findings::{Findings, Found, Materialized};
use crate::error::{Error, Result};
use crate::model::{ContentId, Image, RelPath};
use crate::store::{PackWriter, Packed};
use crate::worktree::clean_index::{Attributes, Candidate};
use crate::worktree::disk::DiskEntry;

/// Contents up to this total size go into the database; more goes into a pack file.
const INLINE_TOTAL: usize = 1 << 20;
/// From this size on a changed content is always stored as a delta against its previous version in the database. It
/// would otherwise cost its whole size at each change.
pub(super) const LARGE: usize = 256 << 10;
/// Memory limit for these contents. They are encoded while other writers wait.
pub(super) const LARGE_TOTAL: usize = 16 << 20;

#[derive(Default)]
pub(super) struct Gathered<'k> {
    pub(super) out: Findings,
    /// Known paths that the walk visited.
    pub(super) visited: Vec<&'k RelPath>,
    /// Directories of version control, which are not scanned.
    pub(super) vcs_dirs: FxHashSet<RelPath>,
    /// Entries of version control that the walk met.
    pub(super) vcs_entries: Vec<RelPath>,
    /// Directories, with true if they have a file.
    pub(super) dirs: Vec<(Vec<u8>, bool)>,
    /// Times of the directories that the walk met, if the root keeps them.
    pub(super) dir_times: Vec<(RelPath, i64)>,
    /// Linked worktrees that the walk did not enter.
    pub(super) worktrees: Vec<RelPath>,
    /// Directories with other permission bits than usual.
    pub(super) odd_dirs: Vec<(Vec<u8>, u32)>,
    pub(super) held: usize,
    /// Changed large contents: none goes to the pack.
    pub(super) large: Vec<Found>,
    pub(super) pack: Option<PackWriter>,
    pub(super) packed: HashSet<ContentId>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) attributes: Vec<Attributes>,
    /// Git-backed files whose content is to be read from git.
    pub(super) to_materialize: Vec<(RelPath, Image)>,
    /// The directory cache is not reliable.
    pub(super) cache_unreliable: bool,
    pub(super) failed: Option<Error>,
}

impl Gathered<'_> {
    /// Adds a directory, with true if it has a file, and its permission bits if they are not the usual ones.
    pub(super) fn add_dir(&mut self, path: &[u8], has_file: bool, odd_mode: Option<u32>) {
        self.dirs.push((path.to_vec(), has_file));
        self.odd_dirs
            .extend(odd_mode.map(|mode| (path.to_vec(), mode)));
    }

    /// Keeps small amounts in memory, spills to a pack file beyond.
    pub(super) fn take(
        &mut self,
        path: RelPath,
        entry: DiskEntry,
        packed: Option<Packed>,
        store: &Path,
    ) {
        let DiskEntry {
            image, stat, bytes, ..
        } = entry;
        self.out.coverage.captured += 1;
        let mut found = Found {
            path,
            image,
            stat,
            bytes,
        };
        let stored = if let Some(packed) = packed {
            self.pack(&packed, store)
        } else {
            self.held += found.bytes.as_ref().map_or(0, Vec::len);
            if self.held > INLINE_TOTAL {
                self.spill(&mut found, store)
            } else {
                Ok(())
            }
        };
        if let Err(e) = stored {
            self.failed.get_or_insert(e);
        }
        self.out.found.push(found);
    }

    /// Adds a changed large content.
    pub(super) fn take_version(&mut self, path: RelPath, entry: DiskEntry) {
        self.out.coverage.captured += 1;
        self.large.push(Found {
            path,
            image: entry.image,
            stat: entry.stat,
            bytes: entry.bytes,
        });
    }

    pub(super) fn spill(&mut self, found: &mut Found, store: &Path) -> Result<()> {
        self.spill_all(store)?;
        match found.image.content().zip(found.bytes.take()) {
            Some((id, bytes)) => self.pack(&Packed::new(id, bytes), store),
            None => Ok(()),
        }
    }

    pub(super) fn spill_all(&mut self, store: &Path) -> Result<()> {
        let mut held = Vec::new();
        for found in &mut self.out.found {
            held.extend(found.image.content().zip(found.bytes.take()));
        }
        for materialized in &mut self.out.materialized {
            held.extend(materialized.own.content().zip(materialized.bytes.take()));
        }
        held.into_iter()
            .try_for_each(|(id, bytes)| self.pack(&Packed::new(id, bytes), store))
    }

    /// Adds content that was git-backed.
    pub(super) fn add_materialized(
        &mut self,
        mut materialized: Materialized,
        store: &Path,
    ) -> Result<()> {
        self.held += materialized.bytes.as_ref().map_or(0, Vec::len);
        let bytes = materialized.bytes.take_if(|_| self.pack.is_some());
        let packed = materialized.own.content().zip(bytes);
        self.out.materialized.push(materialized);
        if let Some((id, bytes)) = packed {
            return self.pack(&Packed::new(id, bytes), store);
        }
        if self.held <= INLINE_TOTAL {
            return Ok(());
        }
        self.spill_all(store)
    }

    pub(super) fn pack(&mut self, packed: &Packed, store: &Path) -> Result<()> {
        if !self.packed.insert(packed.id) {
            return Ok(());
        }
        if self.pack.is_none() {
            self.pack = Some(PackWriter::create(store, crate::store::now())?);
        }
        match &mut self.pack {
            Some(pack) => pack.add(packed),
            None => Ok(()),
        }
    }
}
