//! Times of a CI job's files: a restore sets contents and modes, and the times follow by the log of the run.

use rustix::fs::FileType;

use super::Restore;
use crate::engine::Engine;
use crate::error::Result;
use crate::model::RelPath;
use crate::store::Durable;
use crate::worktree::{file_state, past_times};

/// A moment in the log of times of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeMark(pub i64);

impl Restore<&Engine> {
    /// Returns the moment of the last scan. Take it right after a scan.
    pub fn time_mark(&self) -> Result<TimeMark> {
        past_times::newest(&self.engine.store.conn).map(TimeMark)
    }
}

impl Restore<&mut Engine> {
    /// Sets the times of all files and directories as they were at a mark, after a restore of the files. Returns how many
    /// were set. May be repeated, also after it was cut off.
    pub fn set_times(&mut self, mark: TimeMark) -> Result<usize> {
        // the restore changed times of directories
        self.engine.capture_mut().record_changes()?;
        let root = self.engine.here.root;
        let wanted = past_times::at(&self.engine.store.conn, root, mark.0)?;
        let mut set = Vec::new();
        for (path, mtime) in wanted {
            let Some(mtime) = mtime else { continue };
            if self.set_time(&path, mtime)? {
                set.push(path);
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

    /// Sets the time of a path. Returns false if it has it, or is gone.
    fn set_time(&self, path: &RelPath, mtime: i64) -> Result<bool> {
        let Some(place) = self.engine.root.place(path)? else {
            return Ok(false);
        };
        let differs = self
            .engine
            .root
            .stat(path)
            .is_some_and(|stat| stat.mtime != mtime);
        if differs {
            place.set_modified(mtime)?;
        }
        Ok(differs)
    }
}
