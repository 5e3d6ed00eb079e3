//! Times of a CI job's files: a restore sets contents and modes, and the times follow by the log of the run.

use rustix::fs::FileType;

use std::ops::Deref;

use crate::engine::Engine;
use crate::error::Result;
use crate::model::{Reason, RelPath};
use crate::store::Durable;
use crate::store::tables::root::scan;
use crate::worktree::disk::Stat;
use crate::worktree::past_times::PastTime;
use crate::worktree::{file_state, past_times};

/// A moment in the log of times of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeMark(pub i64);

/// Times of the files and directories of a run. `E` is `&Engine` for questions, `&mut Engine` for the rest.
#[derive(Clone, Copy, Debug)]
pub struct Times<E> {
    engine: E,
}

impl Engine {
    /// Times of a run: questions.
    pub fn times(&self) -> Times<&Self> {
        Times { engine: self }
    }

    /// Times of a run.
    pub fn times_mut(&mut self) -> Times<&mut Self> {
        Times { engine: self }
    }
}

impl<E: Deref<Target = Engine>> Times<E> {
    /// Returns the moment of the last scan. Take it right after a scan.
    pub fn mark(&self) -> Result<TimeMark> {
        past_times::newest(&self.engine.store.conn).map(TimeMark)
    }

    /// Returns the paths that the last scan could not read.
    pub fn unread(&self) -> Result<Vec<RelPath>> {
        let coverage = scan::coverage(&self.engine.store.conn, self.engine.here.root)?;
        let unread = coverage.items.into_iter();
        let unread = unread.filter(|item| item.reason == Reason::Unreadable);
        Ok(unread.filter_map(|item| RelPath::new(item.path)).collect())
    }
}

impl Times<&mut Engine> {
    /// Sets the times of all files and directories as they were at a mark, after a restore of the files. Returns how many
    /// were set. May be repeated, also after it was cut off.
    pub fn set(&mut self, mark: TimeMark) -> Result<usize> {
        // the restore changed times of directories
        self.engine.capture_mut().record_changes()?;
        let root = self.engine.here.root;
        let wanted = past_times::at(&self.engine.store.conn, root, mark.0)?;
        let mut set = Vec::new();
        for past in wanted {
            if self.set_time(&past)? {
                set.push(past.path);
            }
        }
        crate::fault::point("times set");
        let disk = &self.engine.root;
        self.engine.store.write(Durable::Power, |conn| {
            for path in &set {
                let Some(stat) = disk.stat(path) else {
                    continue;
                };
                if stat.kind() == FileType::Directory {
                    past_times::set_dir(conn, root, path, stat.mtime)?;
                } else if let Some(known) = file_state::row(conn, root, path)? {
                    file_state::update_stat(conn, root, path, known.generation, &stat)?;
                }
            }
            Ok(())
        })?;
        Ok(set.len())
    }

    /// Sets the time of a path, and removes a pipe that was not there. Returns false if nothing was to be set.
    fn set_time(&self, past: &PastTime) -> Result<bool> {
        // a path that is gone may have a file above it by now
        let stat = self.engine.root.stat(&past.path);
        let is_one = |stat: &Stat| (stat.kind() == FileType::Directory) == past.is_dir;
        let Some(stat) = stat.filter(is_one) else {
            return Ok(false);
        };
        let Some(place) = self.engine.root.place(&past.path)? else {
            return Ok(false);
        };
        let Some(mtime) = past.mtime else {
            // a pipe or a socket has no content, so the restore left it
            if matches!(stat.kind(), FileType::Fifo | FileType::Socket) {
                place.remove()?;
            }
            return Ok(false);
        };
        if stat.mtime == mtime {
            return Ok(false);
        }
        place.separate()?;
        place.set_modified(mtime)?;
        Ok(true)
    }
}
