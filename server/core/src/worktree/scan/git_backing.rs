//! What a scan has to do with git: files that git vouches for are not read, and what git had of a file becomes the
//! store's own before anything else is recorded of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustc_hash::FxHashSet;

use super::{Found, Materialized, Scan};
use crate::error::{Error, Result};
use crate::model::{ContentId, Image, Opaque, Reason, RelPath, bytes_path};
use crate::worktree::disk::{DirListing, DiskEntry, read_small};
use crate::worktree::git::backed_content;
use crate::worktree::git::clean_index::{Attributes, CleanIndex};
use crate::worktree::git::index::ATTRIBUTES;
use crate::worktree::git::objects::{self, Repository};

impl Scan<'_> {
    pub(super) fn note_attributes(&self, full: &Path, dir: &[u8], listed: &DirListing) {
        let path = match dir {
            b"" => ATTRIBUTES.to_vec(),
            dir => [dir, b"/", ATTRIBUTES].concat(),
        };
        let text = read_small(&full.join(bytes_path(ATTRIBUTES)), false);
        let found = RelPath::new(path).zip(text).zip(listed.stat(ATTRIBUTES));
        if let Some(((path, text), stat)) = found {
            let attributes = Attributes { path, text, stat };
            self.gather().attributes.push(attributes);
        }
    }

    /// What git vouches for is known without being read; the rest of what it might have had is read.
    pub(super) fn borrow(
        &self,
        clean_index: &CleanIndex,
        deadline: Option<Instant>,
        threads: usize,
        late: &(dyn Fn() -> bool + Sync),
    ) {
        let (candidates, attributes) = {
            let mut all = self.gather();
            let attributes = std::mem::take(&mut all.attributes);
            (std::mem::take(&mut all.candidates), attributes)
        };
        let confirmed = clean_index.confirm(candidates, &attributes, self.root, deadline);
        let Some((lent, rest)) = confirmed else {
            return self.expired.store(true, Ordering::Relaxed);
        };
        {
            let mut all = self.gather();
            all.out.coverage.captured += lent.len() as u64;
            all.out.found.extend(lent.into_iter().map(|c| Found {
                image: Image::InGit {
                    mode: u32::try_from(c.stat.mode).unwrap_or(0o644) & 0o7777,
                    size: u64::try_from(c.stat.size).unwrap_or(0),
                    object: c.object,
                },
                path: c.path,
                stat: Some(c.stat),
                bytes: None,
            }));
        }
        let scan = self;
        std::thread::scope(|s| {
            for part in rest.chunks(rest.len().div_ceil(threads).max(1)) {
                s.spawn(move || {
                    for c in part {
                        if scan.expired.load(Ordering::Relaxed) || late() {
                            return scan.expired.store(true, Ordering::Relaxed);
                        }
                        let look = |image: &Image| scan.root.look_over(&c.path, image);
                        if scan.compare(c.path.clone(), &look).is_none() {
                            // the list of what was seen has it as sure
                            scan.gather().unsure = true;
                        }
                    }
                });
            }
        });
    }

    /// Asks git for what files were that are something else by now. What there is no time for stays as it is known.
    pub(super) fn fetch(
        &self,
        repositories: &[Repository],
        places: &[PathBuf],
        late: &(dyn Fn() -> bool + Sync),
    ) {
        let mut wanted = std::mem::take(&mut self.gather().wanted);
        wanted.sort_by(|a, b| a.0.cmp(&b.0));
        let mut failed = None;
        for repository in repositories {
            let objects: Vec<_> = wanted
                .iter()
                .filter_map(|(_, lent)| lent.object())
                .collect();
            if objects.is_empty() {
                return;
            }
            let mut left = Vec::new();
            let read = repository.blobs(&objects, |at, bytes| {
                let (path, lent) = &wanted[at];
                if late() || bytes.is_none() {
                    left.push((path.clone(), *lent));
                    return Ok(());
                }
                self.take_over(path, *lent, bytes).map_err(|e| {
                    // git has read it: where it cannot be stored, the look fails
                    self.gather().failed.get_or_insert(e);
                    Error::CalledOff
                })
            });
            match read {
                Ok(()) => wanted = left,
                // a git that does not work has lost nothing: these paths wait, the others do not
                Err(e @ Error::Io { .. }) => {
                    failed.get_or_insert(e.to_string());
                }
                Err(e) => {
                    self.gather().failed.get_or_insert(e);
                    return;
                }
            }
        }
        if late() || failed.is_some() {
            let left: FxHashSet<&RelPath> = wanted.iter().map(|(path, _)| path).collect();
            let mut all = self.gather();
            all.out.found.retain(|f| !left.contains(&f.path));
            for path in left.iter().filter(|_| failed.is_some()) {
                let said = failed.clone().unwrap_or_default();
                all.out.coverage.note(path.bytes(), Reason::Failed, said);
            }
            return self.expired.store(true, Ordering::Relaxed);
        }
        for (path, lent) in &wanted {
            let Image::InGit { object, size, .. } = lent else {
                continue;
            };
            let bytes = backed_content::on_disk(places, path, object, *size);
            if let Err(e) = self.take_over(path, *lent, bytes) {
                self.gather().failed.get_or_insert(e);
            }
        }
    }

    /// What was git's becomes the store's own.
    pub(super) fn take_over(
        &self,
        path: &RelPath,
        lent: Image,
        bytes: Option<Vec<u8>>,
    ) -> Result<()> {
        let Image::InGit { mode, .. } = lent else {
            return Ok(());
        };
        let own = bytes.as_ref().map(|bytes| Image::File {
            mode,
            content: ContentId::of(bytes),
            size: bytes.len() as u64,
        });
        let mut all = self.gather();
        if own.is_none() {
            let said = "what it was is not in git any more";
            all.out.coverage.note(path.bytes(), Reason::Failed, said);
        }
        let owned = Materialized {
            path: path.clone(),
            lent,
            own: own.unwrap_or(Image::Opaque(Opaque::Unreadable)),
            bytes,
        };
        all.own(owned, self.store)
    }

    /// Whether a file is what git has of it: then the look at it needs no more thought.
    pub(super) fn is_still_lent(&self, path: &RelPath, lent: Image, look: &DiskEntry) -> bool {
        let Image::InGit { mode, object, .. } = lent else {
            return false;
        };
        let bytes = look
            .bytes
            .as_ref()
            .filter(|bytes| objects::is(&object, bytes));
        let Some(bytes) = bytes.filter(|_| matches!(look.image, Image::File { .. })) else {
            self.gather().wanted.push((path.clone(), lent));
            return false;
        };
        let same_mode = matches!(look.image, Image::File { mode: now, .. } if now == mode);
        if same_mode && !self.stale_entries.contains(path) {
            let mut all = self.gather();
            all.out
                .stat_updates
                .extend(look.stat.map(|stat| (path.clone(), stat)));
            return true;
        }
        let bytes = self.keep.then(|| bytes.clone());
        if let Some(bytes) = bytes
            && let Err(e) = self.take_over(path, lent, Some(bytes))
        {
            self.gather().failed.get_or_insert(e);
        }
        same_mode
    }
}
