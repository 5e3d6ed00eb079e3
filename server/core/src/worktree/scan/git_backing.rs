//! Git during a scan: files that git vouches for are not read. Git-backed content is stored before any other change
//! of its file is recorded.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustc_hash::FxHashSet;

use super::{Found, Materialized, Scan};
use crate::error::{Error, Result};
use crate::git::backed;
use crate::git::objects::{self, Repository};
use crate::model::{ContentId, Image, Opaque, Reason, RelPath, bytes_path};
use crate::system::read_small;
use crate::worktree::clean_index::{Attributes, CleanIndex};
use crate::worktree::disk::{DirListing, DiskEntry};
use crate::worktree::git_index::ATTRIBUTES;

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

    /// Takes over the files that git's index vouches for without reading them; reads the other candidates.
    pub(super) fn confirm_clean(
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
        let Some((clean, rest)) = confirmed else {
            return self.expired.store(true, Ordering::Relaxed);
        };
        {
            let mut all = self.gather();
            all.out.coverage.captured += clean.len() as u64;
            all.out.found.extend(clean.into_iter().map(|c| Found {
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
                        let read = |image: &Image| scan.root.reread_entry(&c.path, image);
                        if scan.compare(c.path.clone(), &read).is_none() {
                            // the directory cache has this file as unchanged
                            scan.gather().cache_unreliable = true;
                        }
                    }
                });
            }
        });
    }

    /// Reads from git the earlier content of changed files. Files for which the time runs out keep their recorded
    /// state.
    pub(super) fn fetch_from_git(
        &self,
        repositories: &[Repository],
        work_trees: &[PathBuf],
        late: &(dyn Fn() -> bool + Sync),
    ) {
        let mut pending = std::mem::take(&mut self.gather().to_materialize);
        pending.sort_by(|a, b| a.0.cmp(&b.0));
        let mut failed = None;
        for repository in repositories {
            let objects: Vec<_> = pending
                .iter()
                .filter_map(|(_, backed)| backed.object())
                .collect();
            if objects.is_empty() {
                return;
            }
            let mut left = Vec::new();
            let read = repository.blobs(&objects, |at, bytes| {
                let (path, backed) = &pending[at];
                if late() || bytes.is_none() {
                    left.push((path.clone(), *backed));
                    return Ok(());
                }
                self.materialize(path, *backed, bytes).map_err(|e| {
                    // git has read the blob: if it cannot be stored, the scan fails
                    self.gather().failed.get_or_insert(e);
                    Error::CalledOff
                })
            });
            match read {
                Ok(()) => pending = left,
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
            let left: FxHashSet<&RelPath> = pending.iter().map(|(path, _)| path).collect();
            let mut all = self.gather();
            all.out.found.retain(|f| !left.contains(&f.path));
            for path in left.iter().filter(|_| failed.is_some()) {
                let message = failed.clone().unwrap_or_default();
                all.out.coverage.note(path.bytes(), Reason::Failed, message);
            }
            return self.expired.store(true, Ordering::Relaxed);
        }
        for (path, backed) in &pending {
            let Image::InGit { object, size, .. } = backed else {
                continue;
            };
            let bytes = backed::on_disk(work_trees, path, object, *size);
            if let Err(e) = self.materialize(path, *backed, bytes) {
                self.gather().failed.get_or_insert(e);
            }
        }
    }

    /// Adds git-backed content to what is to be stored.
    pub(super) fn materialize(
        &self,
        path: &RelPath,
        backed: Image,
        bytes: Option<Vec<u8>>,
    ) -> Result<()> {
        let Image::InGit { mode, .. } = backed else {
            return Ok(());
        };
        let own = bytes.as_ref().map(|bytes| Image::File {
            mode,
            content: ContentId::of(bytes),
            size: bytes.len() as u64,
        });
        let mut all = self.gather();
        if own.is_none() {
            let message = "its earlier content is no longer in git";
            all.out.coverage.note(path.bytes(), Reason::Failed, message);
        }
        let materialized = Materialized {
            path: path.clone(),
            backed,
            own: own.unwrap_or(Image::Opaque(Opaque::Unreadable)),
            bytes,
        };
        all.add_materialized(materialized, self.store)
    }

    /// True if a file still equals its git blob and needs no further check.
    pub(super) fn is_still_backed(&self, path: &RelPath, backed: Image, entry: &DiskEntry) -> bool {
        let Image::InGit { mode, object, .. } = backed else {
            return false;
        };
        let bytes = entry
            .bytes
            .as_ref()
            .filter(|bytes| objects::is_blob(&object, bytes));
        let Some(bytes) = bytes.filter(|_| matches!(entry.image, Image::File { .. })) else {
            self.gather().to_materialize.push((path.clone(), backed));
            return false;
        };
        let same_mode = matches!(entry.image, Image::File { mode: now, .. } if now == mode);
        if same_mode && !self.stale_entries.contains(path) {
            let mut all = self.gather();
            all.out
                .stat_updates
                .extend(entry.stat.map(|stat| (path.clone(), stat)));
            return true;
        }
        let bytes = self.store_contents.then(|| bytes.clone());
        if let Some(bytes) = bytes
            && let Err(e) = self.materialize(path, backed, Some(bytes))
        {
            self.gather().failed.get_or_insert(e);
        }
        same_mode
    }
}
