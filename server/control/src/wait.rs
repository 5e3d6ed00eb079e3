//! The one wait of all that holds, and of all that waits for an answer: the bell of the database, the end of the reader of this
//! process, and a timer. Nothing is written meanwhile, and no transaction is open.

#[cfg(target_os = "linux")]
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Control;
use backstitch_core::{Error, Result};

/// Maximum interval between two looks, even if no bell rang: a holder that died commits nothing.
const TICK: Duration = Duration::from_millis(250);
/// The same for the holder itself, which has no other holder's death to notice.
const TICK_OF_HOLDER: Duration = Duration::from_secs(1);
/// The same where no bell can be watched.
const TICK_UNWATCHED: Duration = Duration::from_millis(20);
/// The same while a person waits for an answer, who may call it off.
const TICK_CANCELLABLE: Duration = Duration::from_millis(50);

/// The reason for which a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// The bell, or the timer.
    Something,
    /// Nobody reads the standard output of this process any longer.
    HangUp,
}

/// A watch of the bell, from its making on: nothing that is committed later is missed.
#[derive(Debug)]
pub struct BellWatch {
    #[cfg(target_os = "linux")]
    bell: Option<OwnedFd>,
}

impl BellWatch {
    /// Watches the bells in a directory.
    #[cfg(target_os = "linux")]
    pub fn of(dir: &Path) -> Self {
        use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let bell = inotify::init(flags).ok().filter(|bell| {
            // the directory, since the file may not be there yet
            inotify::add_watch(bell, dir, WatchFlags::MODIFY | WatchFlags::CREATE).is_ok()
        });
        Self { bell }
    }

    #[cfg(not(target_os = "linux"))]
    pub fn of(_dir: &Path) -> Self {
        Self {}
    }

    /// False where nothing can be watched, for instance before the directory exists.
    pub fn is_watching(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.bell.is_some();
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Waits for the bell, for at most one tick and not beyond `until`.
    pub fn wait(&self, until: Option<Instant>) {
        self.wait_for(until, TICK, false);
    }

    /// As `wait`, for the process that holds the pause.
    pub fn wait_as_holder(&self, until: Option<Instant>) -> Wakeup {
        self.wait_for(until, TICK_OF_HOLDER, false)
    }

    /// As `wait`. Ends also once nobody reads the standard output of this process.
    pub fn wait_beside_reader(&self, until: Option<Instant>) -> Wakeup {
        self.wait_for(until, TICK, true)
    }

    fn wait_for(&self, until: Option<Instant>, tick: Duration, has_reader: bool) -> Wakeup {
        #[cfg(target_os = "linux")]
        let bell = self.bell.as_ref();
        #[cfg(not(target_os = "linux"))]
        let bell: Option<&std::os::fd::OwnedFd> = None;
        let tick = bell.map_or(TICK_UNWATCHED, |_| tick);
        let left = until.map(|at| at.saturating_duration_since(Instant::now()));
        let tick = left.map_or(tick, |left| left.min(tick));
        let stdout = std::io::stdout();
        let mut fds = Vec::new();
        if has_reader {
            fds.push(PollFd::new(&stdout, PollFlags::empty()));
        }
        if let Some(bell) = bell {
            fds.push(PollFd::new(bell, PollFlags::IN));
        }
        let timeout = Timespec {
            tv_sec: i64::try_from(tick.as_secs()).unwrap_or(0),
            tv_nsec: i64::from(tick.subsec_nanos()),
        };
        // an interrupted wait is a short one
        let _ = poll(&mut fds, Some(&timeout));
        let is_gone = has_reader
            && fds
                .first()
                .is_some_and(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR));
        #[cfg(target_os = "linux")]
        if let Some(bell) = bell {
            let mut buffer = [0; 4096];
            while rustix::io::read(bell.as_fd(), &mut buffer).is_ok_and(|read| read > 0) {}
        }
        if is_gone {
            Wakeup::HangUp
        } else {
            Wakeup::Something
        }
    }
}

impl Control {
    /// Watches for news from now on.
    pub fn watch(&self) -> BellWatch {
        BellWatch::of(&self.dir)
    }

    /// Looks until there is an answer. `is_over`: asked from time to time; true ends the wait.
    pub(super) fn wait_for<T>(
        &self,
        is_over: &dyn Fn() -> bool,
        mut look: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let watch = self.watch();
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            if is_over() {
                return Err(Error::CalledOff);
            }
            watch.wait_for(None, TICK_CANCELLABLE, false);
        }
    }
}
