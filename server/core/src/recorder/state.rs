//! State of a recorder between its two threads.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::model::RelPath;
use crate::worktree::dir_cache::WALK;
use crate::worktree::dirty::{Dirty, Extent};

/// Paths that were touched, and the progress of their scans. The threads of a recorder share it.
#[derive(Debug)]
pub(super) struct RecorderState {
    pub dirty: Dirty,
    /// Files with several names, which may be written through another name.
    pub linked: BTreeSet<RelPath>,
    /// Directories that cannot be watched.
    pub unwatched: BTreeSet<RelPath>,
    /// Known files that neither a walk nor a watch reaches: ignored by now.
    pub unvisited: BTreeSet<RelPath>,
    /// Times of the oldest and the newest touch that is not yet scanned.
    pub since: Option<(Instant, Instant)>,
    /// True if an agent without hooks has written its chat history since the last scan.
    pub chat_history: bool,
    /// True if the watches are set, so that clean paths stay clean.
    pub watches_set: bool,
    /// State of the full scan since the watches were set.
    pub full_scan: FullScan,
    /// Time of the last full walk.
    pub walked: Instant,
    /// Number of watched directories.
    pub directories: usize,
    pub watch_ended: bool,
}

/// Progress of the full scan that setting watches requires: a watch does not report what happened before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FullScan {
    /// Not scanned yet. Every query has to walk until then, so this scan runs at once and records nothing.
    NotScanned,
    /// Scanned; the findings are recorded once there is quiet.
    Scanned,
    #[default]
    Recorded,
}

impl RecorderState {
    pub fn new() -> Self {
        Self {
            dirty: Dirty::all(),
            linked: BTreeSet::new(),
            unwatched: BTreeSet::new(),
            unvisited: BTreeSet::new(),
            since: None,
            chat_history: false,
            watches_set: false,
            full_scan: FullScan::Recorded,
            walked: Instant::now(),
            directories: 0,
            watch_ended: false,
        }
    }

    pub fn touched(&mut self) {
        let now = Instant::now();
        let (first, _) = self.since.unwrap_or((now, now));
        self.since = Some((first, now));
    }

    /// Returns the paths that may differ from their rows: all paths until everything is watched, and once per `WALK`.
    pub fn extent(&self) -> Extent {
        if !self.watches_set || self.walked.elapsed() > WALK {
            return Extent::All;
        }
        match self.dirty.extent() {
            Extent::Only(mut touched) => {
                touched.trees.extend(self.unwatched.iter().cloned());
                touched.paths.extend(self.unvisited.iter().cloned());
                Extent::Only(touched)
            }
            Extent::All => Extent::All,
        }
    }
}
