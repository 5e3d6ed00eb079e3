//! Git's index: which files git knows to be as one of its blobs is. It is believed only where the file system says that
//! nothing has happened to the file since git looked at it; what needs thought is read instead.

use gix_hash::ObjectId;
use gix_index::entry::{Flags, Mode, Stage};
use rustix::fs::FileType;

use super::objects::Repository;
use crate::model::RelPath;
use crate::worktree::disk::Stat;

/// The largest allocation that a file of anybody's may ask for.
const MOST: usize = 1 << 30;
pub(crate) const ATTRIBUTES: &[u8] = b".gitattributes";

/// What an index says.
#[derive(Debug)]
pub(crate) struct Index {
    state: gix_index::State,
    /// When the oldest of its files was written, in nanoseconds since 1970.
    written: i64,
}

impl Index {
    /// None where there is none, or none that can be read.
    pub(crate) fn read(repository: &Repository) -> Option<Self> {
        let path = repository.dir.join("index");
        let options = gix_index::decode::Options {
            // a process of a few milliseconds starts no threads for it
            thread_limit: Some(1),
            alloc_limit_bytes: Some(MOST),
            ..Default::default()
        };
        // of before it is read: a newer one then proves less, and nothing wrong
        let written = oldest(repository)?;
        let file = gix_index::File::at(path, repository.kind(), true, options).ok()?;
        Some(Self {
            state: file.into_parts().0,
            written,
        })
    }

    /// The blob that a file is, for sure as far as its stat tells, with its place among the entries. What git does to
    /// contents on their way to the disk is for the caller to think of.
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

    /// Whether a path is this blob for git, so that git keeps it.
    pub(crate) fn holds(&self, path: &RelPath, object: &ObjectId) -> bool {
        self.state
            .entry_by_path_and_stage(path.bytes().into(), Stage::Unconflicted)
            .is_some_and(|entry| entry.id == *object)
    }

    /// How large all files are together, as git saw them.
    pub(crate) fn bytes(&self) -> u64 {
        let sizes = self.state.entries().iter().map(|entry| entry.stat.size);
        sizes.map(u64::from).sum()
    }

    /// All files that git tracks, with their blobs.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&[u8], ObjectId)> {
        self.state
            .entries()
            .iter()
            .map(|entry| (entry.path(&self.state).as_ref(), entry.id))
    }
}

/// When the oldest of the files was written that an index is made of.
fn oldest(repository: &Repository) -> Option<i64> {
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

/// What tells whether an index is the one of before. Empty: there is none.
pub(crate) fn signature(repository: &Repository) -> String {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(repository.dir.join("index")).map_or_else(
        |_| String::new(),
        |m| format!("{}.{} {} {}", m.mtime(), m.mtime_nsec(), m.size(), m.ino()),
    )
}
