//! Locks of what is held: the kernel frees one when its holder dies.

use std::path::PathBuf;
use std::time::Duration;

use super::Control;
use super::pause::{Pause, PauseId, PauseState};
use backstitch_core::Result;
use backstitch_core::sqlite::{self, Lock};

/// Directory of the locks of held calls.
const HOLDS: &str = "holds";

/// Time after which a pause is lost that no bridge takes over. Its program has given up, and continues.
const ORPHAN: Duration = Duration::from_secs(20);

impl Control {
    pub(super) fn make_holds_dir(&self) -> Result<()> {
        sqlite::make_private_dir(&self.dir.join(HOLDS))
    }

    pub(super) fn lock_path(&self, id: PauseId) -> PathBuf {
        self.dir.join(HOLDS).join(format!("{id}.lock"))
    }

    /// True if no bridge has had the pause of a living program for a while. Requires its lock.
    pub(super) fn is_orphan(&self, pause: &Pause) -> bool {
        // a program that evaluates an expression looks at its bridge only afterwards
        let evaluates = pause.state == PauseState::Decided;
        let limit = if evaluates { ORPHAN * 15 } else { ORPHAN };
        let mark = self.lock_path(pause.id).with_extension("orphan");
        if let Ok(since) = std::fs::metadata(&mark).and_then(|found| found.modified()) {
            return since.elapsed().is_ok_and(|time| time > limit);
        }
        // the next look finds it
        let _ = std::fs::write(&mark, "");
        false
    }

    /// Notes that a bridge has the pause.
    pub(super) fn is_no_orphan(&self, id: PauseId) {
        std::fs::remove_file(self.lock_path(id).with_extension("orphan")).ok();
    }

    /// Takes the lock of a pause. None: another hook has it.
    pub(super) fn try_lock(&self, id: PauseId) -> Result<Option<Lock>> {
        sqlite::lock(&self.lock_path(id), true, Duration::ZERO)
    }

    /// As `try_lock`, for one whose holder is about to end.
    pub(super) fn wait_for_lock(&self, id: PauseId, limit: Duration) -> Result<Option<Lock>> {
        sqlite::lock(&self.lock_path(id), true, limit)
    }
}
