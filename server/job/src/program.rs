//! Short runs of programs whose answer a run needs, such as `node --version`. Each has a time limit and a limited answer.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// Bytes of an answer that are read.
const MAX_ANSWER: u64 = 1024 * 1024;

/// Answer of a program that has ended.
#[derive(Debug)]
pub(crate) struct ProgramAnswer {
    pub is_success: bool,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a program without input. After the limit it is killed with all of its group, and the error says so.
pub(crate) fn run(mut command: Command, limit: Duration) -> io::Result<ProgramAnswer> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (sender, receiver) = mpsc::channel();
    let answers = [reader(stdout), reader(stderr)];
    std::thread::spawn(move || {
        let texts = answers.map(|thread| thread.join().unwrap_or_default());
        let _ = sender.send(texts);
    });
    let texts = receiver.recv_timeout(limit);
    if texts.is_err()
        && let Some(group) = group
    {
        // a child that left the group is not ended; it has nothing of the run
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = wait(&mut child)?;
    let [stdout, stderr] = texts.map_err(|_| {
        let reason = format!("no answer within {} s", limit.as_secs());
        io::Error::new(io::ErrorKind::TimedOut, reason)
    })?;
    Ok(ProgramAnswer {
        is_success: status,
        stdout,
        stderr,
    })
}

fn wait(child: &mut Child) -> io::Result<bool> {
    Ok(child.wait()?.success())
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(MAX_ANSWER).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
