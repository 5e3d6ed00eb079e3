//! A command in the user's shell, within limits of time, memory and output. It runs in a child of the holder, which can be
//! killed without harm to the hold.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use backstitch_core::launch;
use backstitch_core::process::descendants;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};

/// Memory that each process of a command may write to, in bytes.
const COMMAND_MEMORY: u64 = 4 << 30;
/// Bytes of the output of a command that are kept.
const MAX_PRINTED: usize = 1 << 20;

/// Sets the limits of the commands of this process, and has it adopt the processes that they leave behind.
pub fn limit_this_process() {
    let limit = Rlimit {
        current: Some(COMMAND_MEMORY),
        maximum: Some(COMMAND_MEMORY),
    };
    // it is inherited; address space may be reserved without use, as by Node
    let _ = setrlimit(Resource::Data, limit);
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Kills all that a child has started, also what left its process group: it is the reaper of that.
pub fn kill_descendants(child: u32) {
    for (pid, _) in descendants(child, &[]).unwrap_or_default() {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Runs a command for a limited time. Returns what it printed, both streams in one, and its end. None: it continues.
pub fn run(
    shell: &str,
    command: &str,
    cwd: &Path,
    limit: Duration,
) -> std::io::Result<(String, Option<std::process::ExitStatus>)> {
    let until = Instant::now() + limit;
    let (mut reader, writer) = std::io::pipe()?;
    let mut started = launch::program(shell)?
        .args(["-c", command])
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    let (sender, chunks) = std::sync::mpsc::sync_channel(4);
    std::thread::spawn(move || {
        let mut chunk = [0; 8192];
        while let Ok(count @ 1..) = reader.read(&mut chunk) {
            if sender.send(chunk[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut printed = Vec::new();
    let mut left_out = 0;
    let is_over = loop {
        match chunks.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(chunk) => {
                let room = MAX_PRINTED.saturating_sub(printed.len()).min(chunk.len());
                printed.extend_from_slice(&chunk[..room]);
                left_out += chunk.len() - room;
            }
            Err(RecvTimeoutError::Disconnected) => break true,
            Err(RecvTimeoutError::Timeout) => break false,
        }
    };
    let status = if is_over { Some(started.wait()?) } else { None };
    let mut text = String::from_utf8_lossy(&printed).into_owned();
    if left_out > 0 {
        let _ = writeln!(text, "\n… {left_out} bytes more");
    }
    Ok((text, status))
}
