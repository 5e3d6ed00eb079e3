//! Git's index: which files git considers equal to their blobs. It is believed only if the stat proves that nothing
//! happened to the file since git checked it; unclear files are read instead.

use gix_hash::ObjectId;
use gix_index::entry::{Flags, Mode, Stage};
use rustix::fs::FileType;

use crate::git::objects::Repository;
use crate::model::RelPath;
use crate::worktree::disk::Stat;

/// The largest allocation that an index file may cause; anybody may have written the file.
const MAX_ALLOCATION: usize = 1 << 30;
pub(crate) const ATTRIBUTES: &[u8] = b".gitattributes";

/// A parsed index.
#[derive(Debug)]
pub(crate) struct Index {
    state: gix_index::State,
    /// Modification time of the oldest of its files, in nanoseconds since 1970.
    written: i64,
}

impl Index {
    /// None if there is no index or it cannot be read.
    pub(crate) fn read(repository: &Repository) -> Option<Self> {
        let path = repository.dir.join("index");
        let options = gix_index::decode::Options {
            // threads cost more than they save in a process of a few milliseconds
            thread_limit: Some(1),
            alloc_limit_bytes: Some(MAX_ALLOCATION),
            ..Default::default()
        };
        // taken before the index is read: a newer index then only proves less
        let written = oldest_mtime(repository)?;
        // a fifo would never end
        if !path.metadata().ok()?.is_file() {
            return None;
        }
        let file = gix_index::File::at(path, repository.kind(), true, options).ok()?;
        Some(Self {
            state: file.into_parts().0,
            written,
        })
    }

    /// Returns the blob that a file equals as far as its stat proves, with its position among the entries. The caller
    /// checks the conversions that git applies on checkout.
    pub(crate) fn clean(&self, path: &RelPath, stat: &Stat) -> Option<(usize, ObjectId)> {
        if stat.racy || stat.kind() != FileType::RegularFile {
            return None;
        }
        let (path, stage) = (path.bytes().into(), Stage::Unconflicted);
        let at = self.state.entry_index_by_path_and_stage(path, stage)?;
        let entry = self.state.entries().get(at)?;
        let plain = entry.mode == Mode::FILE || entry.mode == Mode::FILE_EXECUTABLE;
        if !plain
            || entry
                .flags
                .intersects(Flags::INTENT_TO_ADD | Flags::SKIP_WORKTREE)
        {
            return None;
        }
        let nanos = |time: gix_index::entry::stat::Time| {
            i64::from(time.secs) * 1_000_000_000 + i64::from(time.nsecs)
        };
        let low = |wide: i64| u32::try_from(wide & 0xffff_ffff).ok();
        let s = &entry.stat;
        let same = (nanos(s.mtime), nanos(s.ctime)) == (stat.mtime, stat.ctime)
            && Some(s.size) == low(stat.size)
            && Some(s.ino) == low(stat.inode);
        (same && stat.is_older_than(self.written)).then_some((at, entry.id))
    }

    /// True if the index has this blob at this path, so that git keeps the blob.
    pub(crate) fn holds(&self, path: &RelPath, object: &ObjectId) -> bool {
        self.state
            .entry_by_path_and_stage(path.bytes().into(), Stage::Unconflicted)
            .is_some_and(|entry| entry.id == *object)
    }

    /// Returns the total size of all files as recorded by git.
    pub(crate) fn bytes(&self) -> u64 {
        let sizes = self.state.entries().iter().map(|entry| entry.stat.size);
        sizes.map(u64::from).sum()
    }

    /// Returns all files that git tracks, with their blobs.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&[u8], ObjectId)> {
        self.state
            .entries()
            .iter()
            .map(|entry| (entry.path(&self.state).as_ref(), entry.id))
    }
}

/// Returns the modification time of the oldest file that the index consists of.
fn oldest_mtime(repository: &Repository) -> Option<i64> {
    let nanos = |meta: &std::fs::Metadata| {
        use std::os::unix::fs::MetadataExt;
        meta.mtime() * 1_000_000_000 + meta.mtime_nsec()
    };
    let own = nanos(&std::fs::metadata(repository.dir.join("index")).ok()?);
    let shared = std::fs::read_dir(&repository.dir)
        .ok()?
        .flatten()
        .filter(|e| {
            e.file_name()
                .as_encoded_bytes()
                .starts_with(b"sharedindex.")
        })
        .filter_map(|e| e.metadata().ok())
        .map(|meta| nanos(&meta));
    shared.chain([own]).min()
}

/// Identifies a version of the index. Empty if there is no index.
pub(crate) fn signature(repository: &Repository) -> String {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(repository.dir.join("index")).map_or_else(
        |_| String::new(),
        |m| format!("{}.{} {} {}", m.mtime(), m.mtime_nsec(), m.size(), m.ino()),
    )
}
