//! What a scan has come by so far: small amounts in memory, more in a pack file.

use std::collections::HashSet;
use std::path::Path;

use super::{Findings, Found, Materialized};
use crate::error::{Error, Result};
use crate::model::{ContentId, Image, RelPath};
use crate::store::{PackWriter, Packed};
use crate::worktree::disk::DiskEntry;
use crate::worktree::git::clean_index::{Attributes, Candidate};

/// Contents found up to this size in all go into the database; more goes to a pack file.
const INLINE_TOTAL: usize = 1 << 20;
/// From this size on a version of what is known is stored against the one before, which is in the database, however much
/// is found: a change of it would cost its whole size each time.
pub(super) const LARGE: usize = 256 << 10;
/// So much of such is held at a time; they are coded while others wait to write.
pub(super) const LARGE_TOTAL: usize = 16 << 20;

#[derive(Default)]
pub(super) struct Gathered<'k> {
    pub(super) out: Findings,
    /// FileState paths that the walk came by.
    pub(super) met: Vec<&'k RelPath>,
    /// Directories, with whether a file was seen in them.
    pub(super) dirs: Vec<(Vec<u8>, bool)>,
    pub(super) held: usize,
    /// Versions of large contents: none goes to the pack.
    pub(super) large: Vec<Found>,
    pub(super) pack: Option<PackWriter>,
    pub(super) packed: HashSet<ContentId>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) attributes: Vec<Attributes>,
    /// Files that are not any more what git has.
    pub(super) wanted: Vec<(RelPath, Image)>,
    /// What was seen is not to be relied on.
    pub(super) unsure: bool,
    pub(super) failed: Option<Error>,
}

impl Gathered<'_> {
    /// Keeps small amounts in memory, spills to a pack file beyond.
    pub(super) fn take(
        &mut self,
        path: RelPath,
        look: DiskEntry,
        packed: Option<Packed>,
        store: &Path,
    ) {
        let DiskEntry {
            image, stat, bytes, ..
        } = look;
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

    /// The same with a version of a large content.
    pub(super) fn take_version(&mut self, path: RelPath, look: DiskEntry) {
        self.out.coverage.captured += 1;
        self.large.push(Found {
            path,
            image: look.image,
            stat: look.stat,
            bytes: look.bytes,
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
        for owned in &mut self.out.owned {
            held.extend(owned.own.content().zip(owned.bytes.take()));
        }
        held.into_iter()
            .try_for_each(|(id, bytes)| self.pack(&Packed::new(id, bytes), store))
    }

    /// The same for what was git's.
    pub(super) fn own(&mut self, mut owned: Materialized, store: &Path) -> Result<()> {
        self.held += owned.bytes.as_ref().map_or(0, Vec::len);
        let bytes = owned.bytes.take_if(|_| self.pack.is_some());
        let packed = owned.own.content().zip(bytes);
        self.out.owned.push(owned);
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
