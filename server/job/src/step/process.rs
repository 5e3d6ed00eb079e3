//! A step's process, as the run sees it: its start under a supervisor, its output, its end, and what it leaves behind.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid};

use super::descendants::{StepProcess, processes, signal_all};
use super::left_processes::supervised;
use super::stop::StopRequest;
use super::wire::{StepProgram, SupervisorOrder, SupervisorWord};
use crate::report::Stream;

/// Bytes of one read from a pipe.
const CHUNK: usize = 64 * 1024;
/// Time for which the end of a run waits for the end of a step's processes.
const END_TIMEOUT: Duration = Duration::from_secs(6);

/// The command line that starts a supervisor: this program, with its hidden command.
#[derive(Clone, Debug)]
pub struct SupervisorCommand {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// Its hidden command for a built-in action; the file of the call comes last.
    pub builtin: Vec<OsString>,
    /// Variable by which another process knows the run of a supervisor.
    pub run: Option<(String, String)>,
}

/// A supervisor that waits for its program. It is started ahead of its step, which then need not wait for it.
#[derive(Debug)]
pub struct Ready(Leftovers);

/// The end of a step's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnding {
    Exited(i32),
    Killed(i32),
    /// `timeout-minutes` was over; the program has been ended.
    TimedOut,
    /// The user ended the job; the program has been ended.
    Cancelled,
    /// The supervisor was killed, and all processes of the step with it.
    SupervisorLost,
}

/// Processes that a step has left running, such as a server. Its end ends them.
#[derive(Debug)]
pub struct Leftovers {
    child: Child,
    socket: UnixStream,
}

/// The end of a step's program, and the processes that it left running.
#[derive(Debug)]
pub struct ProgramEnd {
    pub ending: ProgramEnding,
    pub leftovers: Leftovers,
}

/// A program that runs under its supervisor.
pub struct RunningProgram {
    leftovers: Leftovers,
    watch: ProgramWatch,
}

/// A program that is stopped, with all processes below its supervisor. Its end ends them.
pub struct FrozenProgram(RunningProgram);

/// The reason for which a wait for a program is over.
#[derive(Debug)]
pub enum ProgramWait {
    Ended(ProgramEnd),
    Frozen(FrozenProgram),
}

/// Receiver of a step's output. It also gets what leftovers print after the end of the step.
pub trait OutputSink: Send {
    fn output(&mut self, stream: Stream, bytes: &[u8]);
}

/// Limits of one step.
#[derive(Debug)]
pub struct ProgramLimits<'a> {
    pub deadline: Option<Instant>,
    pub stop: &'a StopRequest,
    /// Wishes that came before the decision to start the program: they are not about it.
    pub heeded: u8,
}

/// Makes this process the parent of processes whose own parents end, so that those of a killed supervisor can be ended.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

/// Ends the processes that a killed supervisor left to this one: all below it but the supervisors that are known.
pub fn end_orphans<'a>(known: impl Iterator<Item = &'a Leftovers>) {
    let known: Vec<u32> = known.map(|left| left.child.id()).collect();
    let since = Instant::now();
    while since.elapsed() < END_TIMEOUT {
        if matches!(signal_all(getpid(), Signal::KILL, &known), Ok(0) | Err(_)) {
            return;
        }
    }
}

impl SupervisorCommand {
    /// The same for the run in a directory.
    #[must_use]
    pub fn for_run(&self, dir: &Path) -> SupervisorCommand {
        SupervisorCommand {
            run: Some(supervised(dir)),
            ..self.clone()
        }
    }

    pub fn start(&self) -> io::Result<Ready> {
        let (socket, theirs) = UnixStream::pair()?;
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .envs(self.run.clone())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Ready(Leftovers { child, socket }))
    }
}

impl Ready {
    /// True while it waits for its program.
    pub fn waits(&mut self) -> bool {
        matches!(self.0.child.try_wait(), Ok(None))
    }

    pub fn leftovers(&self) -> &Leftovers {
        &self.0
    }

    /// Starts a program.
    pub fn start(
        self,
        program: &StepProgram,
        limits: &ProgramLimits,
    ) -> io::Result<RunningProgram> {
        let Ready(mut leftovers) = self;
        program.write(&mut leftovers.socket)?;
        let stdout = leftovers.child.stdout.take().map(OwnedFd::from);
        let stderr = leftovers.child.stderr.take().map(OwnedFd::from);
        let pipes = OutputPipes::of([(Stream::Stdout, stdout), (Stream::Stderr, stderr)])?;
        let watch = ProgramWatch {
            pipes,
            socket: leftovers.socket.try_clone()?,
            words: Vec::new(),
            deadline: limits.deadline,
            wishes: limits.heeded.saturating_add(1),
            stop: limits.stop.clone(),
            asked: None,
            freezes: false,
            is_frozen: false,
            ending: None,
        };
        Ok(RunningProgram { leftovers, watch })
    }
}

impl RunningProgram {
    /// Waits until the program ends or is frozen, and gives its output to the sink. The error is about the start: `NotFound` if
    /// the program or the directory is not there.
    pub fn wait(self, sink: &Arc<Mutex<dyn OutputSink>>) -> io::Result<ProgramWait> {
        let RunningProgram {
            mut leftovers,
            mut watch,
        } = self;
        // another wait may have taken the bell
        watch.heed_wishes();
        while watch.ending.is_none() && !watch.is_frozen {
            watch.step(&mut |stream, bytes| lock(sink).output(stream, bytes))?;
        }
        if watch.ending.is_none() {
            watch
                .pipes
                .read_rest(&mut |stream, bytes| lock(sink).output(stream, bytes));
            return Ok(ProgramWait::Frozen(FrozenProgram(RunningProgram {
                leftovers,
                watch,
            })));
        }
        if watch.freezes || watch.is_frozen {
            // it ended before; what it left continues
            watch.order(SupervisorOrder::Thaw);
        }
        let ending = watch.finish(&mut |stream, bytes| lock(sink).output(stream, bytes));
        let ending = match ending {
            Some(Ok(ending)) => ending,
            Some(Err(number)) => return Err(io::Error::from_raw_os_error(number)),
            None => ProgramEnding::SupervisorLost,
        };
        if watch.asked.is_some() {
            leftovers.end();
        }
        if !watch.pipes.is_empty() {
            watch.pipes.drain_to(sink)?;
        }
        Ok(ProgramWait::Ended(ProgramEnd { ending, leftovers }))
    }
}

impl FrozenProgram {
    pub fn leftovers(&self) -> &Leftovers {
        &self.0.leftovers
    }

    /// Lets the program continue.
    pub fn thaw(mut self) -> RunningProgram {
        self.0.watch.is_frozen = false;
        self.0.watch.order(SupervisorOrder::Thaw);
        self.0
    }

    /// Kills the program, and all that it has started.
    pub fn kill(mut self) -> RunningProgram {
        self.0.watch.is_frozen = false;
        self.0.watch.order(SupervisorOrder::End);
        self.0
    }

    /// Moves the deadline: this time is not the program's.
    pub fn stood_still(&mut self, time: Duration) {
        let deadline = &mut self.0.watch.deadline;
        *deadline = deadline.and_then(|at| at.checked_add(time));
    }
}

impl std::fmt::Debug for RunningProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningProgram").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for FrozenProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FrozenProgram")
            .field(&self.0.leftovers)
            .finish()
    }
}

/// The wait for a step.
struct ProgramWatch {
    pipes: OutputPipes,
    socket: UnixStream,
    /// Bytes of a word that is not whole yet.
    words: Vec<u8>,
    deadline: Option<Instant>,
    /// The step is asked to end at so many wishes, and killed at one more.
    wishes: u8,
    stop: StopRequest,
    asked: Option<ProgramEnding>,
    /// The supervisor was ordered to freeze, and has not answered.
    freezes: bool,
    is_frozen: bool,
    /// The supervisor's word: an ending, or the number of the error that prevented the start.
    ending: Option<Result<ProgramEnding, i32>>,
}

impl ProgramWatch {
    /// Waits for one event, and handles it.
    fn step(&mut self, output: &mut dyn FnMut(Stream, &[u8])) -> io::Result<()> {
        let timeout = self
            .deadline
            .map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        let mut fds = vec![
            PollFd::new(&self.socket, PollFlags::IN),
            PollFd::new(self.stop.wish_pipe(), PollFlags::IN),
        ];
        fds.extend(
            self.pipes
                .open
                .iter()
                .map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN)),
        );
        match poll(&mut fds, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            polled => polled?,
        };
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        self.pipes.read(&ready[2..], output);
        if ready[1] {
            self.stop.quiet();
        }
        self.heed_wishes();
        if self.deadline.is_some_and(|at| at <= Instant::now()) {
            self.deadline = None;
            self.ask(ProgramEnding::TimedOut, SupervisorOrder::Cancel);
        }
        if ready[0] {
            self.hear();
        }
        Ok(())
    }

    fn heed_wishes(&mut self) {
        // a program that is asked to end must be able to
        if self.asked.is_none() && !self.freezes && self.stop.heed_freeze() {
            self.freezes = true;
            self.order(SupervisorOrder::Freeze);
        }
        let wishes = self.stop.wishes();
        if wishes > self.wishes {
            self.ask(ProgramEnding::Cancelled, SupervisorOrder::End);
        } else if wishes == self.wishes && self.asked != Some(ProgramEnding::Cancelled) {
            self.ask(ProgramEnding::Cancelled, SupervisorOrder::Cancel);
        }
    }

    fn ask(&mut self, why: ProgramEnding, order: SupervisorOrder) {
        self.asked = Some(why);
        self.order(order);
    }

    fn order(&mut self, order: SupervisorOrder) {
        // a supervisor that has ended closes the socket, which is heard
        let _ = self.socket.write_all(&[order.byte()]);
    }

    /// Reads words of the supervisor.
    fn hear(&mut self) {
        let mut bytes = [0; 64];
        match self.socket.read(&mut bytes) {
            Ok(0) | Err(_) => self.ending = self.ending.or(Some(Ok(ProgramEnding::SupervisorLost))),
            Ok(count) => self.words.extend_from_slice(&bytes[..count]),
        }
        while let Some(word) = self.words.first_chunk::<5>().copied() {
            self.words.drain(..5);
            match SupervisorWord::of(word) {
                Some(SupervisorWord::Exited(code)) => {
                    self.ending = Some(Ok(ProgramEnding::Exited(code)));
                }
                Some(SupervisorWord::Killed(signal)) => {
                    self.ending = Some(Ok(ProgramEnding::Killed(signal)));
                }
                Some(SupervisorWord::Failed(number)) => self.ending = Some(Err(number)),
                Some(SupervisorWord::Frozen(_)) => {
                    (self.freezes, self.is_frozen) = (false, true);
                }
                Some(SupervisorWord::Started(_)) | None => {}
            }
        }
    }

    /// The ending, after the output that was in the pipes when the program ended.
    fn finish(
        &mut self,
        output: &mut dyn FnMut(Stream, &[u8]),
    ) -> Option<Result<ProgramEnding, i32>> {
        self.pipes.read_rest(output);
        match (self.asked, self.ending) {
            (Some(asked), Some(Ok(_))) => Some(Ok(asked)),
            (_, ending) => ending,
        }
    }
}

/// The pipes of a step that are not at their end.
struct OutputPipes {
    open: Vec<(Stream, File)>,
}

impl OutputPipes {
    fn of(pipes: [(Stream, Option<OwnedFd>); 2]) -> io::Result<OutputPipes> {
        let mut open = Vec::new();
        for (stream, pipe) in pipes {
            if let Some(pipe) = pipe {
                rustix::io::ioctl_fionbio(&pipe, true)?;
                open.push((stream, File::from(pipe)));
            }
        }
        Ok(OutputPipes { open })
    }

    fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Reads once from each pipe that is ready.
    fn read(&mut self, ready: &[bool], output: &mut dyn FnMut(Stream, &[u8])) {
        let mut chunk = vec![0; CHUNK];
        let mut ready = ready.iter();
        self.open.retain_mut(|(stream, pipe)| {
            if !ready.next().copied().unwrap_or_default() {
                return true;
            }
            read_once(*stream, pipe, &mut chunk, output).is_some()
        });
    }

    /// Reads the bytes that are in the pipes now. Later output of leftovers is not waited for.
    fn read_rest(&mut self, output: &mut dyn FnMut(Stream, &[u8])) {
        let mut chunk = vec![0; CHUNK];
        self.open.retain_mut(|(stream, pipe)| {
            let mut left = rustix::io::ioctl_fionread(&*pipe).unwrap_or(0);
            while left > 0 {
                match read_once(*stream, pipe, &mut chunk, output) {
                    None => return false,
                    Some(0) => break,
                    Some(count) => left = left.saturating_sub(count as u64),
                }
            }
            // the end of the pipe is seen by one more read
            read_end(pipe)
        });
    }

    /// Reads on in the background, so that no leftover waits at a full pipe.
    fn drain_to(self, sink: &Arc<Mutex<dyn OutputSink>>) -> io::Result<()> {
        for (stream, mut pipe) in self.open {
            rustix::io::ioctl_fionbio(&pipe, false)?;
            let sink = Arc::clone(sink);
            thread::Builder::new()
                .name("leftovers".to_owned())
                .spawn(move || {
                    let mut chunk = vec![0; CHUNK];
                    while let Some(count) =
                        read_once(stream, &mut pipe, &mut chunk, &mut |stream, bytes| {
                            lock(&sink).output(stream, bytes);
                        })
                    {
                        if count == 0 {
                            thread::yield_now();
                        }
                    }
                })?;
        }
        Ok(())
    }
}

/// Bytes that a read gave; 0 if there are none now, none at the end.
fn read_once(
    stream: Stream,
    pipe: &mut File,
    chunk: &mut [u8],
    output: &mut dyn FnMut(Stream, &[u8]),
) -> Option<usize> {
    match pipe.read(chunk) {
        Ok(0) => None,
        Ok(count) => {
            output(stream, &chunk[..count]);
            Some(count)
        }
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            Some(0)
        }
        Err(_) => None,
    }
}

/// True if a pipe that is empty now is open still.
fn read_end(pipe: &File) -> bool {
    let mut fds = [PollFd::new(pipe, PollFlags::IN)];
    let now = Timespec::default();
    let hung_up = poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(PollFlags::HUP);
    !hung_up
}

fn lock<'a>(sink: &'a Arc<Mutex<dyn OutputSink>>) -> MutexGuard<'a, dyn OutputSink + 'static> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Leftovers {
    /// True if no process of the step runs.
    pub fn are_gone(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// The processes of the step that run.
    pub fn processes(&self) -> Vec<StepProcess> {
        let pid = i32::try_from(self.child.id()).ok();
        let pid = pid.and_then(rustix::process::Pid::from_raw);
        // without a process table nothing is known
        pid.map(|pid| processes(pid).unwrap_or_default())
            .unwrap_or_default()
    }

    /// Ends all processes of the step.
    pub fn end(&mut self) {
        if self.are_gone() {
            return;
        }
        let _ = self.socket.write_all(&[SupervisorOrder::End.byte()]);
        let _ = self.socket.shutdown(Shutdown::Write);
        let _ = self.socket.set_read_timeout(Some(END_TIMEOUT));
        let mut rest = [0; 64];
        // the socket ends with the supervisor
        while matches!(self.socket.read(&mut rest), Ok(count) if count > 0) {}
        if !self.are_gone() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        self.end();
    }
}
