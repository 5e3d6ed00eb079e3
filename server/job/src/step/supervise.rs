//! The supervisor of a step: the process between a run and the step's program (`backstitch job step`).
//!
//! It is a subreaper, so every process that the step starts stays below it, by whichever way it left its parent. Its standard input
//! is a socket to the run. The end of that socket, when the run ends or is killed, ends all of them.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process_group, wait};

use super::descendants::{freeze, signal_all, thaw};
use super::wire::{StepProgram, SupervisorOrder, SupervisorWord};

/// Time from the first signal of a cancellation to the second, as for GitHub's runner.
const TERMINATE_AFTER: Duration = Duration::from_millis(7500);
/// Time from the second signal to the kill.
const KILL_AFTER: Duration = Duration::from_millis(2500);
/// Pause between two looks for processes that a kill has not ended yet.
const KILL_RETRY: Duration = Duration::from_millis(5);
/// Time after which processes that cannot be killed, such as those of another user, are left alone.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs as the supervisor: reads a program from the socket, starts it, and carries out orders until no process is left.
pub fn supervise() -> io::Result<()> {
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // the run gets a Ctrl-C of the terminal, and decides
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let Some(program) = StepProgram::read(&mut socket)? else {
        return Ok(());
    };
    match start(&program) {
        Ok(main) => {
            // a run that was killed meanwhile hears nothing, and its end is the next thing to see
            let _ = socket.write_all(&SupervisorWord::Started(main.as_raw_nonzero().get()).bytes());
            let mut supervisor = Supervisor::of(main, socket)?;
            let ran = supervisor.run();
            // none of the step's processes outlives it
            ran.or_else(|_| supervisor.end())
        }
        Err(error) => {
            let number = error.raw_os_error().unwrap_or(0);
            socket.write_all(&SupervisorWord::Failed(number).bytes())
        }
    }
}

fn start(program: &StepProgram) -> io::Result<Pid> {
    let child = Command::new(&program.program)
        .args(&program.arguments)
        .current_dir(&program.directory)
        .env_clear()
        .envs(
            program
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("a process without an id"))
}

struct Supervisor {
    main: Pid,
    socket: UnixStream,
    /// Gets a byte when no process is left.
    gone: UnixStream,
    /// The next signal of a cancellation, and its time.
    next_signal: Option<(Instant, Signal)>,
}

impl Supervisor {
    fn of(main: Pid, socket: UnixStream) -> io::Result<Supervisor> {
        let (gone, reaper) = UnixStream::pair()?;
        let words = socket.try_clone()?;
        thread::Builder::new()
            .name("reaper".to_owned())
            .spawn(move || reap(main, words, reaper))?;
        Ok(Supervisor {
            main,
            socket,
            gone,
            next_signal: None,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        loop {
            let timeout = self
                .next_signal
                .map(|(at, _)| timespec(at.saturating_duration_since(Instant::now())));
            let mut fds = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::new(&self.gone, PollFlags::IN),
            ];
            match poll(&mut fds, timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                polled => polled?,
            };
            let (order, gone) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if gone {
                return Ok(());
            }
            if order {
                let mut byte = [0];
                match self.socket.read(&mut byte) {
                    // the run has ended, maybe by a kill
                    Ok(0) | Err(_) => return self.end(),
                    Ok(_) => self.carry_out(SupervisorOrder::of(byte[0]))?,
                }
            }
            if let Some((at, signal)) = self.next_signal
                && at <= Instant::now()
            {
                self.send_next(signal)?;
            }
        }
    }

    fn carry_out(&mut self, order: Option<SupervisorOrder>) -> io::Result<()> {
        let this = getpid();
        match order {
            Some(SupervisorOrder::Cancel) => self.send_next(Signal::INT)?,
            Some(SupervisorOrder::End) => self.end()?,
            Some(SupervisorOrder::Freeze) => {
                let frozen = freeze(this)?.len();
                let count = i32::try_from(frozen).unwrap_or(i32::MAX);
                self.socket
                    .write_all(&SupervisorWord::Frozen(count).bytes())?;
            }
            Some(SupervisorOrder::Thaw) => thaw(this)?,
            None => {}
        }
        Ok(())
    }

    /// Sends a signal of a cancellation, and plans the next one.
    fn send_next(&mut self, signal: Signal) -> io::Result<()> {
        let now = Instant::now();
        self.next_signal = match signal {
            Signal::INT => Some((now + TERMINATE_AFTER, Signal::TERM)),
            Signal::TERM => Some((now + KILL_AFTER, Signal::KILL)),
            _ => None,
        };
        if signal == Signal::KILL {
            return self.end();
        }
        let _ = kill_process_group(self.main, signal);
        // a frozen process gets no signal
        thaw(getpid())
    }

    /// Kills every descendant, and waits until none is left.
    fn end(&mut self) -> io::Result<()> {
        let since = Instant::now();
        loop {
            let _ = kill_process_group(self.main, Signal::KILL);
            let left = freeze(getpid())?;
            if left.is_empty() || since.elapsed() > KILL_TIMEOUT {
                return Ok(());
            }
            signal_all(getpid(), Signal::KILL, &[])?;
            // the reaper's word, or another look
            let mut fds = [PollFd::new(&self.gone, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&timespec(KILL_RETRY)));
        }
    }
}

/// Waits for every process below this one, and tells the end of the main one.
fn reap(main: Pid, mut words: UnixStream, mut gone: UnixStream) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == main => {
                let word = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => SupervisorWord::Exited(code),
                    (None, Some(signal)) => SupervisorWord::Killed(signal),
                    (None, None) => continue,
                };
                // a run that has ended hears nothing
                let _ = words.write_all(&word.bytes());
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    let _ = gone.write_all(b"g");
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}
