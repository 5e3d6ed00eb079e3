//! Waiting for the decision on a held call: the bell of the database, the agent's end, and a timer.

use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Control;
use super::pause::{PauseDecision, PauseId, PauseState};
use crate::error::Result;
use crate::store::Lock;

/// Interval at which the row is read even if no bell rang.
const TICK: Duration = Duration::from_millis(250);
/// The same where no bell can be watched.
const TICK_UNWATCHED: Duration = Duration::from_millis(20);

/// A call that this process holds, or waits for beside the hook that does.
#[derive(Debug)]
pub struct Hold {
    pub id: PauseId,
    /// True if this process evaluates what is asked at the pause.
    pub evaluates: bool,
    /// Taken while this process is the holder. The kernel frees it when the process dies.
    lock: Option<Lock>,
}

/// Time at which a wait ends without a decision.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    /// None: no limit.
    pub at: Option<Instant>,
}

/// The end of a wait.
#[derive(Clone, Debug, PartialEq)]
pub enum Waited {
    Decided(PauseDecision),
    /// An input waits for its evaluation.
    Eval,
    /// The time is up.
    Timeout,
    /// The agent reads the answer no more.
    AgentGone,
    /// The pause was ended by another process.
    Ended(PauseState),
}

impl Hold {
    pub(super) fn new(id: PauseId, lock: Option<Lock>) -> Self {
        Self {
            id,
            evaluates: false,
            lock,
        }
    }

    /// Waits for the decision. No transaction is open meanwhile, and nothing is written.
    pub fn wait(&mut self, control: &Control, wake: Wake) -> Result<Waited> {
        let watch = BellWatch::of(&control.dir);
        loop {
            if self.lock.is_none() {
                // the first hook of this event may have died
                self.lock = control.try_lock(self.id)?;
            }
            match control.pause(self.id)? {
                None => return Ok(Waited::Ended(PauseState::Ended)),
                Some(pause) => match (pause.state, pause.decision) {
                    (
                        PauseState::Held | PauseState::Decided | PauseState::Answered,
                        Some(decision),
                    ) => return Ok(Waited::Decided(decision)),
                    (PauseState::Held | PauseState::Decided, None) => {
                        if self.evaluates && self.lock.is_some() && control.has_eval(self.id)? {
                            return Ok(Waited::Eval);
                        }
                    }
                    (state, _) => return Ok(Waited::Ended(state)),
                },
            }
            let left = wake
                .at
                .map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(Waited::Timeout);
            }
            if watch.wait(left) == Heard::HangUp {
                return Ok(Waited::AgentGone);
            }
        }
    }
}

/// A wait's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// The bell, or the timer.
    Something,
    /// Nobody reads the standard output of this process any more.
    HangUp,
}

/// The sources of news that a wait listens to.
#[derive(Debug)]
struct BellWatch {
    #[cfg(target_os = "linux")]
    bell: Option<std::os::fd::OwnedFd>,
}

impl BellWatch {
    #[cfg(target_os = "linux")]
    fn of(dir: &Path) -> Self {
        use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let bell = inotify::init(flags).ok().filter(|bell| {
            // the directory, since the file may not be there yet
            inotify::add_watch(bell, dir, WatchFlags::MODIFY | WatchFlags::CREATE).is_ok()
        });
        Self { bell }
    }

    #[cfg(not(target_os = "linux"))]
    fn of(_dir: &Path) -> Self {
        Self {}
    }

    /// Waits for the bell, for at most one tick.
    fn wait(&self, left: Option<Duration>) -> Heard {
        #[cfg(target_os = "linux")]
        let (bell, tick) = match &self.bell {
            Some(bell) => (Some(bell), TICK),
            None => (None, TICK_UNWATCHED),
        };
        #[cfg(not(target_os = "linux"))]
        let (bell, tick): (Option<&std::os::fd::OwnedFd>, _) = (None, TICK_UNWATCHED);
        let tick = left.map_or(tick, |left| left.min(tick));
        let stdout = std::io::stdout();
        let mut fds = vec![PollFd::new(&stdout, PollFlags::empty())];
        if let Some(bell) = bell {
            fds.push(PollFd::new(bell, PollFlags::IN));
        }
        let timeout = Timespec {
            tv_sec: i64::try_from(tick.as_secs()).unwrap_or(0),
            tv_nsec: i64::from(tick.subsec_nanos()),
        };
        // an interrupted wait is a short one
        let _ = poll(&mut fds, Some(&timeout));
        let gone = fds
            .first()
            .is_some_and(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR));
        if let Some(bell) = bell {
            let mut buffer = [0; 4096];
            while rustix::io::read(bell.as_fd(), &mut buffer).is_ok_and(|read| read > 0) {}
        }
        if gone {
            Heard::HangUp
        } else {
            Heard::Something
        }
    }
}
