//! `backstitch acp -- AGENT`: a proxy of the Agent Client Protocol, version 1. A client starts it in place of the agent. It
//! forwards every line byte for byte, records the turns and calls that it sees, and holds the agent's questions where a
//! breakpoint says so. An error of the record is a line on stderr and a gap; the traffic continues.

mod acts;
mod gated;
mod holds;
mod message;
mod names;
mod pump;
mod recording;
mod report;
mod session_calls;
mod tool_call;
mod traffic;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use backstitch_agents::ACP_MARK;
use backstitch_control::ProcessId;

use crate::host::agent_events::print;
use acts::ProxyAct;
use backstitch_core::launch;
use holds::Holds;
use message::AcpMessage;
use pump::{LineSink, PeerLine, forward};
use recording::{EventQueue, SessionWorkspaces};
use traffic::{Traffic, read_text};

/// Interval at which the agent's process is looked at.
const TICK: Duration = Duration::from_millis(20);
/// Time for which the rest of an agent's output is waited for: a process below it may keep the pipe open.
const LAST_OUTPUT: Duration = Duration::from_secs(2);
/// Time for which an agent may continue whose client is gone.
const CLIENT_GONE: Duration = Duration::from_secs(10);
/// Time from a polite signal to one that nothing survives.
const KILL_AFTER: Duration = Duration::from_secs(5);
/// Time for the last events.
const LAST_EVENTS: Duration = Duration::from_secs(10);

const TOO_LONG: &str = "acp: a message above 256 MiB was forwarded and not read";

/// The agent to start, and its place.
#[derive(Debug)]
pub struct AcpOptions {
    pub workspace: Option<PathBuf>,
    pub store_dir: Option<PathBuf>,
    pub command: Vec<OsString>,
}

/// Both directions.
#[derive(Clone, Debug)]
struct Proxy {
    traffic: Arc<Mutex<Traffic>>,
    recorder: Arc<EventQueue>,
    holds: Holds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    Client,
    Agent,
}

/// Runs the agent to its end. Returns its exit status.
pub fn run(options: AcpOptions) -> ExitCode {
    let Some((program, args)) = options.command.split_first() else {
        print("acp: no agent is named: `backstitch acp -- AGENT ARGS…`");
        return ExitCode::from(2);
    };
    let started = launch::program(&program.to_string_lossy()).and_then(|mut command| {
        command.args(args).env(ACP_MARK, "acp");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    });
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            print(&format!(
                "acp: {} cannot be started: {error}",
                Path::new(program).display()
            ));
            // as in a shell
            let is_absent = error.kind() == ErrorKind::NotFound;
            return ExitCode::from(if is_absent { 127 } else { 126 });
        }
    };
    forward_signals(child.id());
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return ExitCode::FAILURE;
    };
    let process = ProcessId::of(child.id());
    let (to_client, to_agent) = (LineSink::new(own_stdout()), LineSink::new(stdin));
    let traffic = Arc::new(Mutex::new(Traffic::new(Path::new(program))));
    let workspaces = SessionWorkspaces::new(options.workspace, options.store_dir);
    let (recorder, recorded) = EventQueue::start(workspaces.clone(), process);
    let proxy = Proxy {
        traffic: Arc::clone(&traffic),
        recorder: Arc::new(recorder),
        holds: Holds::new(
            workspaces,
            (to_client.clone(), to_agent.clone()),
            traffic,
            process,
        ),
    };
    let client_end = {
        let (proxy, out) = (proxy.clone(), to_agent);
        pump(move || {
            let _ = forward(own_stdin(), &out, |line| proxy.take(Peer::Client, line));
            out.close();
        })
    };
    let agent_end = {
        let (proxy, out) = (proxy.clone(), to_client.clone());
        pump(move || {
            let _ = forward(stdout, &out, |line| proxy.take(Peer::Agent, line));
        })
    };
    let status = wait(&mut child, &client_end);
    last_output(&agent_end, &to_client);
    proxy.end(&recorded);
    to_client.close();
    exit_code(status)
}

impl Proxy {
    /// Takes a line of a side. Returns it if it continues now.
    fn take(&self, side: Peer, line: PeerLine) -> Option<Vec<u8>> {
        let line = match line {
            PeerLine::Whole(line) => line,
            PeerLine::TooLong => {
                print(TOO_LONG);
                return None;
            }
        };
        let mut asks = None;
        for act in self.acts(side, &line) {
            match act {
                ProxyAct::Record(observed) => self.recorder.record(observed),
                ProxyAct::RecordDelayed(observed) => self.recorder.record_delayed(observed),
                ProxyAct::Withdraw(call) => self.recorder.withdraw(call),
                ProxyAct::RecordFirst(observed) => self.recorder.record_first(observed),
                ProxyAct::Say(text) => print(&text),
                ProxyAct::Cancel(session) => self.holds.give_up(Some(&session)),
                ProxyAct::Ask(question) => asks = Some(question),
            }
        }
        match asks {
            Some(question) => self.holds.ask(question, line),
            None => Some(line),
        }
    }

    /// Returns the consequences of a line. None may break the traffic.
    fn acts(&self, side: Peer, line: &[u8]) -> Vec<ProxyAct> {
        let Some(message) = AcpMessage::read(line) else {
            return Vec::new();
        };
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        match side {
            Peer::Client => traffic.take_of_client(&message, &read_text),
            Peer::Agent => traffic.take_of_agent(&message, &read_text),
        }
    }

    /// Ends the record: the agent has ended.
    fn end(self, recorded: &Receiver<()>) {
        self.holds.give_up(None);
        let until = Instant::now() + KILL_AFTER;
        while !self.holds.is_empty() && Instant::now() < until {
            thread::sleep(TICK);
        }
        let observed = self
            .traffic
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .end_all();
        for observed in observed {
            self.recorder.record(observed);
        }
        self.recorder.close();
        let _ = recorded.recv_timeout(LAST_EVENTS);
    }
}

/// Runs one direction. The receiver hears its end.
fn pump(run: impl FnOnce() + Send + 'static) -> Receiver<()> {
    let (ended, end): (Sender<()>, _) = channel();
    thread::spawn(move || {
        run();
        drop(ended);
    });
    end
}

fn is_over(end: &Receiver<()>, wait: Duration) -> bool {
    end.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected)
}

/// Waits for the end of the agent. One that outlives its client for long is ended.
fn wait(child: &mut Child, client_end: &Receiver<()>) -> Option<ExitStatus> {
    let mut gone_since: Option<Instant> = None;
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return Some(status),
            Err(_) => return None,
        }
        if is_over(client_end, TICK) {
            // a receiver that has heard the end does not wait
            thread::sleep(TICK);
            if client_is_gone() {
                let since = *gone_since.get_or_insert_with(Instant::now);
                if since.elapsed() > CLIENT_GONE + KILL_AFTER {
                    let _ = child.kill();
                } else if since.elapsed() > CLIENT_GONE {
                    terminate(child.id());
                }
            }
        }
    }
}

/// Waits for the rest of the agent's output, while it comes or waits for the client.
fn last_output(agent_end: &Receiver<()>, to_client: &LineSink) {
    let mut progress = to_client.progress();
    let mut since = Instant::now();
    while !is_over(agent_end, TICK) {
        let now = to_client.progress();
        if now != progress || now.1 {
            since = Instant::now();
            progress = now;
        }
        if since.elapsed() > LAST_OUTPUT || client_is_gone() {
            return;
        }
    }
}

/// Returns the agent's exit status as ours. A signal is reported as a shell tells it.
fn exit_code(status: Option<ExitStatus>) -> ExitCode {
    let Some(status) = status else {
        return ExitCode::FAILURE;
    };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    let code = status.code().unwrap_or(1);
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))
}

/// Passes the signals that end a process on to the agent. Its end is then ours.
#[cfg(unix)]
fn forward_signals(agent: u32) {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    for (number, signal) in [
        (signal_hook::consts::SIGTERM, rustix::process::Signal::TERM),
        (signal_hook::consts::SIGINT, rustix::process::Signal::INT),
        (signal_hook::consts::SIGHUP, rustix::process::Signal::HUP),
    ] {
        let Ok((mut heard, observed)) = UnixStream::pair() else {
            return;
        };
        if signal_hook::low_level::pipe::register(number, observed).is_err() {
            return;
        }
        thread::spawn(move || {
            let mut byte = [0];
            while heard.read(&mut byte).is_ok_and(|count| count > 0) {
                kill(agent, signal);
            }
        });
    }
}

#[cfg(not(unix))]
fn forward_signals(_agent: u32) {}

#[cfg(unix)]
fn kill(process: u32, signal: rustix::process::Signal) {
    let pid = i32::try_from(process).ok();
    if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(unix)]
fn terminate(process: u32) {
    kill(process, rustix::process::Signal::TERM);
}

#[cfg(not(unix))]
fn terminate(_process: u32) {}

/// True if nobody reads our stdout any longer.
#[cfg(unix)]
fn client_is_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdout = std::io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let polled = poll(&mut fds, Some(&Timespec::default()));
    let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    polled.is_ok() && fds[0].revents().intersects(gone)
}

#[cfg(not(unix))]
fn client_is_gone() -> bool {
    false
}

/// The standard streams without their own buffers: lines go out together where more of them are there.
#[cfg(unix)]
fn own_stdout() -> Box<dyn std::io::Write + Send> {
    use std::os::fd::AsFd as _;
    match std::io::stdout().as_fd().try_clone_to_owned() {
        Ok(own) => Box::new(std::fs::File::from(own)),
        Err(_) => Box::new(std::io::stdout()),
    }
}

#[cfg(unix)]
fn own_stdin() -> Box<dyn std::io::Read + Send> {
    use std::os::fd::AsFd as _;
    match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(own) => Box::new(std::fs::File::from(own)),
        Err(_) => Box::new(std::io::stdin()),
    }
}

#[cfg(not(unix))]
fn own_stdout() -> Box<dyn std::io::Write + Send> {
    Box::new(std::io::stdout())
}

#[cfg(not(unix))]
fn own_stdin() -> Box<dyn std::io::Read + Send> {
    Box::new(std::io::stdin())
}
